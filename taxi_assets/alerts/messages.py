"""Messages: a few notices in full, or a digest of many, with a title. How each thing is worded is wording.py's."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from taxi_assets.alerts.facts import Severity
from taxi_assets.alerts.notices import Kind, Notice, Subject
from taxi_assets.alerts.texts import LONGEST_PATH, LONGEST_VALUE, for_months, month_of, quoted, span_of, spec_of_any
from taxi_assets.catalogs import all_catalogs

FEW: Final = 5
"""So many notices are told in full in one message; more are a digest."""

_MOST_NAMED: Final = 3
_MOST_LINES: Final = 25


@dataclass(frozen=True, slots=True)
class Message:
    """What a route is sent."""

    title: str
    body: str
    tone: Literal["warning", "error", "well"]


def messages_of(notices: Collection[Notice], ui: str) -> Iterator[tuple[Message, list[Notice]]]:
    """Put notices into at most two messages: what went wrong, and what is well again."""
    for well in (False, True):
        chosen = [notice for notice in notices if notice.well is well]
        if chosen:
            # Of what waited among many there may be no more than a line left.
            few = all(notice.text for notice in chosen) and len(chosen) <= FEW
            body = "\n\n".join(notice.text for notice in chosen) if few else _digest(chosen, ui)
            error = any(notice.severity is Severity.ERROR for notice in chosen)
            yield Message(_title(chosen), body, "well" if well else "error" if error else "warning"), chosen


def _title(notices: Sequence[Notice]) -> str:
    worst = "well again" if notices[0].well else max(notices, key=lambda one: one.severity is Severity.ERROR).severity
    if len(notices) == 1:
        return f"[{worst}] {_about(notices[0].subject, *_state(notices[0].subject))}"
    counts = [
        f"{words}: {count}"
        for kind, words in _COUNTED.items()
        if (count := sum(_count(notice.subject) for notice in notices if notice.subject.kind is kind))
    ]
    return f"[{worst}] {', '.join(counts)}"


_COUNTED: Final = {
    Kind.RUN: "failed runs",
    Kind.CHECK: "failed checks",
    Kind.LATE: "late deliveries",
    Kind.FILE: "files not read",
    Kind.TICK: "failed sensors",
}


def _count(subject: Subject) -> int:
    return len(subject.periods) if subject.kind is Kind.LATE else 1


def _state(subject: Subject) -> tuple[str, str]:
    """Return what a subject is about, for which periods, and what is the matter."""
    names = subject.names
    what = ", ".join(names) if len(names) <= _MOST_NAMED else f"{names[0]} and {len(names) - 1} more"
    matter = {
        Kind.CHECK: subject.check,
        Kind.RUN: "run failed",
        Kind.LATE: "late",
        Kind.FILE: "not read",
        Kind.TICK: "tick failed",
    }
    return quoted(what, LONGEST_PATH), matter[subject.kind]


def _about(subject: Subject, what: str, matter: str) -> str:
    months = subject.month.split(":") if subject.kind is Kind.LATE else [subject.month]
    return f"{what} {span_of(months)}: {matter}".replace(" : ", ": ")


def _digest(notices: Sequence[Notice], ui: str) -> str:
    """Tell of many: a line for each table and check, with its months and the last of them in words."""
    groups: dict[tuple[Kind, str, str], list[Notice]] = {}
    for notice in notices:
        kind, what, _, check = notice.subject
        # Names that are off have nothing in common but that; there is one thing to do about them all.
        groups.setdefault((kind, "" if kind is Kind.FILE else what, check), []).append(notice)
    # The worst first, and of those the most frequent.
    ordered = sorted(
        groups.values(), key=lambda group: (all(one.severity is Severity.WARNING for one in group), -len(group))
    )
    lines = [_line(group) for group in ordered[:_MOST_LINES]]
    left = sum(len(group) for group in ordered[_MOST_LINES:])
    if left:
        lines.append(f"... and {left} more of {len(ordered) - _MOST_LINES} tables and checks.")
    lines.append(f"All runs: {ui}/runs")
    if notices[0].well:
        return "\n".join(lines)
    look = "taxi-assets checks MONTH shows all checks of a month"
    names = [name for notice in notices for name in notice.subject.names]
    first, *_ = all_catalogs()
    for catalog in all_catalogs():
        if any(name.startswith(f"{catalog.name}_") for name in names):
            status = "taxi-assets status" if catalog is first else f"taxi-assets status --catalog {catalog.name}"
            look += f"; {status} shows what has become of each {catalog.calendar.kind.word}"
    return "\n".join([*lines, f"More: {look}."])


def _line(group: Sequence[Notice]) -> str:
    """Tell of what is the matter with a table in some months, why with the last of them, and what to do about all."""
    last = max(group, key=lambda notice: notice.subject.month)
    says = last.says
    if last.well:
        return f"- {says if len(group) == 1 else f'{_of_many(group, last)}: well again.'} {last.link}".rstrip()
    about = _about(last.subject, *_state(last.subject)) if len(group) == 1 else _of_many(group, last)
    months = sorted({notice.subject.month for notice in group})
    # Causes name files, and files their months, in one of two ways.
    causes = len({notice.says.replace("_", "-").replace(notice.subject.month, "") for notice in group})
    if len(months) > 1:
        says = f"{month_of(last.subject.month)}: {says}"
    if says and not says.endswith((".", "…")):
        says += "."
    if causes > 1 and last.subject.kind is Kind.RUN:
        says += f" ({causes} causes in all.)"
    do = f" Do: {for_months(last.do, spec_of_any(months))}." if last.do else ""
    return f"- [{last.severity}] {about}. {says}{do} {last.link}".rstrip()


def _of_many(group: Sequence[Notice], last: Notice) -> str:
    """Say what a group is about: so many months of a table, or so many files."""
    what, matter = _state(last.subject)
    if last.subject.kind is Kind.FILE:
        paths = sorted(notice.subject.what for notice in group)
        shown = ", ".join(quoted(path, LONGEST_VALUE) for path in paths[:_MOST_NAMED])
        more = f" and {len(paths) - _MOST_NAMED} more" if len(paths) > _MOST_NAMED else ""
        return f"{len(paths)} files: {shown}{more}: {matter}"
    months = sorted({notice.subject.month for notice in group})
    return f"{what}: {matter}: {len(months)} months, {span_of(months)}"
