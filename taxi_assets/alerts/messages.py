"""Alerts in words: what is wrong, how much of it, where to look, and what to do. Plain text, whatever data holds.

A notice tells of one thing. A route is sent a message of a few notices in full, or a digest of many.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final, Literal, NamedTuple

import dagster as dg

from taxi_assets.alerts.facts import Batch, CheckFact, RunFact, Severity, TickFact
from taxi_assets.alerts.lateness import Late, table_of
from taxi_assets.commands import to_materialize

FEW: Final = 5
"""So many notices are told in full in one message; more are a digest."""
AFTER_A_CHECK: Final = (
    "the month is stored, and rows that the rule quarantines are in the quarantine table. If the file is wrong, land a "
    "good one and run the month again; if the data is what it is, look at the rule's reason and tolerance."
)
"""What to do about a check that failed in a run that is green."""

_MOST_EXAMPLES: Final = 3
_MOST_CHECKS: Final = 3
_MOST_NAMED: Final = 3
_MOST_LINES: Final = 25
_LONGEST_VALUE: Final = 60
_LONGEST_CAUSE: Final = 800
_LONGEST_LINE: Final = 240


class Kind(StrEnum):
    """What a notice is about: a check, a run, a month that is late, or a tick of a sensor or a schedule."""

    CHECK = "check"
    RUN = "run"
    LATE = "late"
    TICK = "tick"


class Subject(NamedTuple):
    """What makes a failure the same one: what failed (a table, several, a sensor), for which month, in which check."""

    kind: Kind
    what: str
    month: str
    check: str

    @classmethod
    def load(cls, parts: Sequence[str]) -> Subject:
        """Read a subject from its parts."""
        kind, what, month, check = parts
        return cls(Kind(kind), what, month, check)

    @property
    def groups(self) -> set[str]:
        """The asset groups that it concerns; none, if it is about no table."""
        return {table.partition("/")[0] for table in self.what.split(",") if "/" in table}


@dataclass(frozen=True, slots=True)
class Told:
    """What there is to say of a failure: in a line, in full, and the link to where it can be seen."""

    says: str
    text: str
    link: str = ""


@dataclass(frozen=True, slots=True)
class Notice:
    """Something to be told: of a failure, or that it is over. `at` is when it was known, in seconds."""

    subject: Subject
    severity: Severity
    well: bool
    says: str
    text: str
    link: str
    at: float
    batch: Batch = ()

    def dump(self) -> list[Any]:
        """Write it as JSON's lists and texts."""
        return [self.subject, self.severity, self.well, self.says, self.text, self.link, self.at, self.batch]

    @classmethod
    def load(cls, parts: Sequence[Any]) -> Notice:
        """Read what `dump` wrote."""
        subject, severity, well, says, text, link, at, batch = parts
        tags = tuple((name, value) for name, value in batch)
        return cls(Subject.load(subject), Severity(severity), well, says, text, link, at, tags)


@dataclass(frozen=True, slots=True)
class Message:
    """What a route is sent."""

    title: str
    body: str
    tone: Literal["warning", "error", "well"]


def link_of(run: RunFact, ui: str) -> str:
    """Return where the UI shows a run."""
    return f"{ui}/runs/{run.run_id}"


def of_check(check: CheckFact, run: RunFact, ui: str) -> Told:
    """Say what a check found in a run that is green all the same, or that was cancelled after it."""
    where = f"{check.name} of {check.table}"
    ended, do = "is green", AFTER_A_CHECK
    if run.ended is dg.DagsterEventType.RUN_CANCELED:
        ended = "was cancelled"
        do = f"its tables are as they were before, or as it stored them; to have them whole, {_again(run)}."
    lines = [
        f"{check.severity.upper()}: the check {where} failed for {check.month}. The run {ended}.",
        _found(check),
        *_examples(check),
        f"Run: {link_of(run, ui)}",
        f"What to do: {do} All checks: taxi-assets checks {check.month}",
    ]
    return Told(printable(check.says, _LONGEST_LINE), "\n".join(lines), link_of(run, ui))


def of_run(run: RunFact, ui: str) -> Told:
    """Say where a run failed and why, and which of its checks had failed."""
    of_month = f" of {run.month}" if run.month else ""
    first, *others = [printable(cause, _LONGEST_CAUSE) for cause in run.causes]
    failing = sorted(
        (check for check in run.checks if not check.passed),
        key=lambda check: (check.severity is Severity.WARNING, -check.figures.get("rows_failing", 0)),
    )
    lines = [
        f"ERROR: the run{of_month} failed at {', '.join(run.failed)}.",
        f"Cause: {first}",
        *(f"And: {cause}" for cause in others),
    ]
    if run.not_stored:
        lines.append(f"Not made, as they depend on it: {', '.join(sorted(run.not_stored))}")
    lines += [
        f"Check {check.name} of {check.table} failed ({check.severity}). {_found(check)}"
        for check in failing[:_MOST_CHECKS]
    ]
    lines += _examples(next((check for check in failing if check.examples), None))
    if len(failing) > _MOST_CHECKS:
        lines.append(f"{len(failing) - _MOST_CHECKS} more checks failed.")
    lines += [
        f"Run: {link_of(run, ui)}",
        f"What to do: what the cause says; then {_again(run)}",
    ]
    return Told(printable(run.causes[0], _LONGEST_LINE), "\n".join(lines), link_of(run, ui))


def of_tick(tick: TickFact, ui: str) -> Told:
    """Say of what a sensor or a schedule failed."""
    link = f"{ui}/automation"
    lines = [
        f"ERROR: the {tick.kind} {tick.name} failed. Until it ticks again, it requests nothing.",
        f"Cause: {printable(tick.says, _LONGEST_CAUSE)}",
        f"Its ticks: {link}",
        "What to do: what the cause says. It tries again by itself.",
    ]
    return Told(printable(tick.says, _LONGEST_LINE), "\n".join(lines), link)


def of_late(late: Late) -> Told:
    """Say which month is missing, and how to come by it."""
    service, month = late.service_month
    says = f"{month} of {service} should be stored by now: TLC publishes a month about two months after it."
    if late.landed:
        (command,) = to_materialize(str(month), [table_of(service)])
        do = f"its file stands in landing: {command}"
    else:
        do = f"taxi-assets fetch {service} {month}; if it says 'not published', TLC is late"
    return Told(says, f"WARNING: {table_of(service)}: {says}\nWhat to do: {do}")


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


def printable(text: str, longest: int) -> str:
    """Return a text that comes from data or from an error as one line of bounded length, without control characters."""
    line = " ".join("".join(letter if letter.isprintable() else " " for letter in text[: 2 * longest]).split())
    return line if len(line) <= longest else f"{line[: longest - 1]}…"


def _again(run: RunFact) -> str:
    """Say how what a run was for is run again; a job that isn't of a month has no command."""
    commands = to_materialize(run.month, run.concerns) if run.month else []
    return " and ".join(commands) or f"launch {run.job} again"


def _found(check: CheckFact) -> str:
    """Say what a check found: counts and shares where it has them, or else in its own words."""
    figures = check.figures
    if not {"rows_failing", "rows", "share", "tolerance"} <= figures.keys():
        return f"Found: {printable(check.says, _LONGEST_LINE)}"
    count, of = figures["rows_failing"], figures["rows"]
    return f"Rows that break it: {count:,} of {of:,}, {figures['share']:.3%}; tolerance {figures['tolerance']:.3%}"


def _examples(check: CheckFact | None) -> list[str]:
    """Show a few of the rows that break a check."""
    if check is None or not check.examples:
        return []
    return [f"Examples of {check.name}:", *(f"  {_row(example)}" for example in check.examples[:_MOST_EXAMPLES])]


def _row(example: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} {printable(str(value), _LONGEST_VALUE)}" for name, value in example.items())


def _title(notices: Sequence[Notice]) -> str:
    worst = "well again" if notices[0].well else max(notices, key=lambda one: one.severity is Severity.ERROR).severity
    if len(notices) == 1:
        return f"[{worst}] {_about(notices[0].subject)}"
    counts = [
        f"{words}: {count}"
        for kind, words in _COUNTED.items()
        if (count := sum(notice.subject.kind is kind for notice in notices))
    ]
    return f"[{worst}] {', '.join(counts)}"


_COUNTED: Final = {
    Kind.RUN: "failed runs",
    Kind.CHECK: "failed checks",
    Kind.LATE: "late months",
    Kind.TICK: "failed sensors",
}


def _about(subject: Subject) -> str:
    tables = subject.what.split(",")
    what = ", ".join(tables) if len(tables) <= _MOST_NAMED else f"{tables[0]} and {len(tables) - 1} more"
    words = {
        Kind.CHECK: f"{what} {subject.month}: {subject.check}",
        Kind.RUN: f"{what} {subject.month}: run failed".replace("  ", " "),
        Kind.LATE: f"{what} {subject.month}: late",
        Kind.TICK: f"{what}: tick failed",
    }
    return words[subject.kind]


def _digest(notices: Sequence[Notice], ui: str) -> str:
    """Tell of many: a line for each table and check, with its months and the last of them in words."""
    groups: dict[tuple[Kind, str, str], list[Notice]] = {}
    for notice in notices:
        groups.setdefault((notice.subject.kind, notice.subject.what, notice.subject.check), []).append(notice)
    # The worst first, and of those the most frequent.
    ordered = sorted(
        groups.values(), key=lambda group: (all(one.severity is Severity.WARNING for one in group), -len(group))
    )
    lines = [_line(group) for group in ordered[:_MOST_LINES]]
    left = sum(len(group) for group in ordered[_MOST_LINES:])
    if left:
        lines.append(f"... and {left} more of {len(ordered) - _MOST_LINES} tables and checks.")
    look = "taxi-assets checks MONTH shows all checks of a month"
    if any(name.startswith("tlc_") for notice in notices for name in notice.subject.what.split(",")):
        look += "; taxi-assets status shows what has become of TLC's months"
    return "\n".join([*lines, f"All runs: {ui}/runs", f"What to do: {look}."])


def _line(group: Sequence[Notice]) -> str:
    months = sorted({notice.subject.month for notice in group})
    last = max(group, key=lambda notice: notice.subject.month)
    name = f"{last.subject.what}: {last.subject.check}" if last.subject.check else last.subject.what
    span = f"{len(months)} months, {months[0]} to {months[-1]}" if len(months) > 1 else months[0] or "now"
    return f"- [{last.severity}] {name}: {span}. {last.subject.month}: {last.says} {last.link}".replace(" : ", " ")
