"""Alerts in words: what is wrong, how much of it, where to look, and what to do. Plain text, whatever data holds.

A notice tells of one thing. A route is sent a message of a few notices in full, or a digest of many. Whatever comes
from files, errors or people goes through `quoted`.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final, Literal, NamedTuple

import dagster as dg

from taxi_assets.alerts.facts import Batch, CheckFact, RunFact, Severity, TickFact
from taxi_assets.alerts.lateness import Late, table_of
from taxi_assets.catalogs import CATALOGS
from taxi_assets.commands import to_materialize
from taxi_assets.errors import UsageError
from taxi_assets.months import Month, parse_months

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
_MOST_SPANS: Final = 5
_LONGEST_VALUE: Final = 60
_LONGEST_PATH: Final = 160
_LONGEST_CAUSE: Final = 800
_LONGEST_LINE: Final = 240
_MONTHS: Final = "{months}"
"""Stands in what there is to do for the months that it is to be done for: a digest has one command for them all."""

# What a service that is sent plain text may act on all the same: mentions of people, roles and channels, and links.
_ACTED_ON: Final = re.compile(r"@|<(?=\S)|:(?=//)|(?<=\])\(|(?<=\bwww)\.|(?<=\bmailto):", re.IGNORECASE)


class Kind(StrEnum):
    """What a notice is about: a check, a run, late months, a file's name, or a tick of a sensor or a schedule."""

    CHECK = "check"
    RUN = "run"
    LATE = "late"
    FILE = "file"
    TICK = "tick"


class Subject(NamedTuple):
    """What makes a failure the same one: what failed (a table, a check, a sensor), for which months, in which check.

    What failed in one run is told together: as the subject of a notice, `what` has commas between. `month` is one, or a
    range of what is late, as 2024-01:2024-06.
    """

    kind: Kind
    what: str
    month: str
    check: str

    @classmethod
    def load(cls, parts: Sequence[str]) -> Subject:
        """Read a subject from its parts."""
        kind, what, month, check = parts
        return cls(Kind(kind), what, month, check)

    @classmethod
    def together(cls, subjects: Sequence[Subject]) -> Subject:
        """Return the subject of a notice that tells of several of a run's."""
        return subjects[0]._replace(what=",".join(subject.what for subject in subjects))

    def apart(self) -> list[Subject]:
        """Return the subjects that this one tells of."""
        return [self._replace(what=name) for name in self.names]

    @property
    def names(self) -> list[str]:
        """What failed, one by one. Other names than a run's may hold commas."""
        return self.what.split(",") if self.kind is Kind.RUN else [self.what]

    @property
    def groups(self) -> set[str]:
        """The asset groups that it concerns; none, if it is about no table."""
        tables = [] if self.kind is Kind.FILE else self.names
        return {table.partition("/")[0] for table in tables if "/" in table}

    @property
    def months(self) -> list[Month]:
        """The months that are late."""
        return parse_months([self.month])


@dataclass(frozen=True, slots=True)
class Told:
    """What there is to say of a failure: in a line, in full, what to do, and the link to where it can be seen."""

    says: str
    text: str
    do: str
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
    do: str = ""

    def dump(self) -> list[Any]:
        """Write it as JSON's lists and texts."""
        return [self.subject, self.severity, self.well, self.says, self.text, self.link, self.at, self.batch, self.do]

    @classmethod
    def load(cls, parts: Sequence[Any]) -> Notice:
        """Read what `dump` wrote, of former versions, too: they wrote no `do`."""
        subject, severity, well, says, text, link, at, batch, *do = parts
        tags = tuple((name, value) for name, value in batch)
        return cls(Subject.load(subject), Severity(severity), well, says, text, link, at, tags, *do)


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
    month = _month(check.month)
    where = f"{check.name} of {check.table}"
    ended, do = "is green", AFTER_A_CHECK
    look = f"taxi-assets checks {_MONTHS}"
    if run.ended is dg.DagsterEventType.RUN_CANCELED:
        ended = "was cancelled"
        look = _again(run)
        do = f"its tables are as they were before, or as it stored them; to have them whole, {_for(look, month)}."
    lines = [
        f"{check.severity.upper()}: the check {where} failed for {month}. The run {ended}.",
        _found(check),
        *_examples(check),
        f"Run: {link_of(run, ui)}",
        f"What to do: {do} All checks: taxi-assets checks {month}",
    ]
    return Told(quoted(check.says, _LONGEST_LINE), "\n".join(lines), look, link_of(run, ui))


def of_run(run: RunFact, ui: str, names: Sequence[str]) -> Told:
    """Say where a run failed and why, and which of its checks had failed. `names` are those that aren't told of yet."""
    of_month = f" of {_month(run.month)}" if run.month else ""
    causes = list(dict.fromkeys(run.why[name] for name in names if name in run.why)) or list(run.causes)
    failing = sorted(
        (check for check in run.checks if not check.passed),
        key=lambda check: (check.severity is Severity.WARNING, -check.figures.get("rows_failing", 0)),
    )
    first, *others = [quoted(cause, _LONGEST_CAUSE) for cause in causes]
    lines = [
        f"ERROR: the run{of_month} failed at {', '.join(names)}.",
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
    again = _again(run)
    lines += [
        f"Run: {link_of(run, ui)}",
        f"What to do: what the cause says; then {_for(again, _month(run.month))}",
    ]
    says = quoted(causes[0], _LONGEST_LINE) + (f" And {len(others)} more." if others else "")
    return Told(says, "\n".join(lines), f"what the cause says; then {again}", link_of(run, ui))


def after_all(names: Iterable[str], run: RunFact) -> str:
    """Say that a run made good what others had failed at."""
    of_month = f" {_month(run.month)}" if run.month else ""
    stored, others = [], []
    for name in names:
        table, _, check = name.partition(":")
        if "/" not in table:
            others.append(f"{table}{of_month} ended well.")
        elif not check:
            stored.append(table)
        else:
            others.append(f"The check {check} of {table} holds again{of_month and f' for{of_month}'}.")
    are = "are" if len(stored) > 1 else "is"
    return " ".join([*([f"{_and(stored)}{of_month} {are} stored after all."] if stored else []), *others])


def of_tick(tick: TickFact, ui: str) -> Told:
    """Say of what a sensor or a schedule failed."""
    link = f"{ui}/automation"
    lines = [
        f"ERROR: the {tick.kind} {tick.name} failed. Until it ticks again, it requests nothing.",
        f"Cause: {quoted(tick.says, _LONGEST_CAUSE)}",
        f"Its ticks: {link}",
        "What to do: what the cause says. It tries again by itself.",
    ]
    do = "what the cause says; it tries again by itself"
    return Told(quoted(tick.says, _LONGEST_LINE), "\n".join(lines), do, link)


def of_late(late: Late) -> Told:
    """Say which months are missing, and how to come by them."""
    months = [str(month) for month in late.months]
    count = f"{len(months)} months, " if len(months) > 1 else ""
    says = "TLC publishes a month about two months after it."
    do = []
    if late.landed:
        landed = [str(month) for month in late.landed]
        (command,) = to_materialize(_spec(landed), [table_of(late.service)])
        stand = "its file stands" if len(months) == 1 else f"files of {len(landed)} stand"
        do.append(f"{stand} in landing: {command}")
    absent = [month for month in months if Month.parse(month) not in late.landed]
    if absent:
        do.append(f"taxi-assets fetch {late.service} {_spec(absent)}; if it says 'not published', TLC is late")
    lacks = f"{table_of(late.service)} lacks {count}{_span(months)}, which should be stored by now"
    text = f"WARNING: {lacks}: {says}\nWhat to do: {'. '.join(do)}"
    return Told(f"It should be stored by now: {says}", text, ". ".join(do))


def of_unread(path: str) -> Told:
    """Say that a file's name is nearly one that is read, and what to call it."""
    says = "Its name is nearly a month's file's, or its service is unknown: it is never read."
    do = f"rename it, if it is a month's, as in {CATALOGS[0].file_name}; or else move it away"
    return Told(says, f"WARNING: {quoted(path, _LONGEST_PATH)} stands in landing. {says}\nWhat to do: {do}", do)


def gone_or_renamed(path: str) -> str:
    """Say that a file whose name wasn't read is there no longer."""
    return f"{quoted(path, _LONGEST_PATH)} stands in landing no longer, or under another name."


def holds_again(check: CheckFact) -> str:
    """Say that a check passes that had failed."""
    says = quoted(check.says, _LONGEST_LINE)
    return f"{check.name} of {check.table} holds again for {_month(check.month)}{f': {says}' if says else '.'}"


def has_come(subject: Subject) -> str:
    """Say that months which were late are stored."""
    months = [str(month) for month in subject.months]
    return f"{subject.what} has {'all that was late of ' if len(months) > 1 else ''}{_span(months)}."


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
    """Return a text as one line of bounded length, without control characters. What is cut ends with a word and …."""
    return _cut(_one_line(text, longest), longest)


def quoted(text: str, longest: int) -> str:
    """Return a text that comes from a file, an error or a person as it may stand in any message.

    It is printable, and calls nobody and leads nowhere: services act on mentions and links even in plain text. What
    they would act on is put into brackets: [@]everyone, https[:]//example.org.
    """
    return _cut(_ACTED_ON.sub(r"[\g<0>]", _one_line(text, longest)), longest)


def _one_line(text: str, longest: int) -> str:
    line = " ".join("".join(letter if letter.isprintable() else " " for letter in text[: 2 * longest]).split())
    return line if len(text) <= 2 * longest else f"{line} …"


def _cut(line: str, longest: int) -> str:
    if len(line) <= longest:
        return line
    begin = line[: longest - 1]
    words = begin if line[longest - 1] == " " else begin.rpartition(" ")[0]
    # Within a word only where there is no other place, as in one that has no end.
    return f"{(words if len(words) >= longest // 2 else begin).rstrip()}…"


def _month(text: str) -> str:
    # It is a run's tag, which whoever launches a run can write.
    return quoted(text, _LONGEST_VALUE)


def _again(run: RunFact) -> str:
    """Say how what a run was for is run again; a job that isn't of a month has no command."""
    commands = to_materialize(_MONTHS, run.concerns) if run.month else []
    # Dagster's own job of what is picked in the UI can't be launched by its name.
    again = f"launch {run.job} again" if not run.job.startswith("__") else "start it again in the UI"
    return " and ".join(commands) or again


def _for(do: str, months: str) -> str:
    return do.replace(_MONTHS, months)


def _and(names: Sequence[str]) -> str:
    *others, last = names
    return f"{', '.join(others)} and {last}" if others else last


def _found(check: CheckFact) -> str:
    """Say what a check found: counts and shares where it has them, or else in its own words."""
    figures = check.figures
    if not {"rows_failing", "rows", "share", "tolerance"} <= figures.keys():
        return f"Found: {quoted(check.says, _LONGEST_LINE)}"
    count, of = figures["rows_failing"], figures["rows"]
    return f"Rows that break it: {count:,} of {of:,}, {figures['share']:.3%}; tolerance {figures['tolerance']:.3%}"


def _examples(check: CheckFact | None) -> list[str]:
    """Show a few of the rows that break a check."""
    if check is None or not check.examples:
        return []
    return [f"Examples of {check.name}:", *(f"  {_row(example)}" for example in check.examples[:_MOST_EXAMPLES])]


def _row(example: Mapping[str, Any]) -> str:
    return ", ".join(
        f"{quoted(name, _LONGEST_VALUE)} {quoted(str(value), _LONGEST_VALUE)}" for name, value in example.items()
    )


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
    Kind.LATE: "late months",
    Kind.FILE: "files not read",
    Kind.TICK: "failed sensors",
}


def _count(subject: Subject) -> int:
    return len(subject.months) if subject.kind is Kind.LATE else 1


def _state(subject: Subject) -> tuple[str, str]:
    """Return what a subject is about, for which months, and what is the matter."""
    names = subject.names
    what = ", ".join(names) if len(names) <= _MOST_NAMED else f"{names[0]} and {len(names) - 1} more"
    matter = {
        Kind.CHECK: subject.check,
        Kind.RUN: "run failed",
        Kind.LATE: "late",
        Kind.FILE: "not read",
        Kind.TICK: "tick failed",
    }
    return quoted(what, _LONGEST_PATH), matter[subject.kind]


def _about(subject: Subject, what: str, matter: str) -> str:
    months = subject.month.split(":") if subject.kind is Kind.LATE else [subject.month]
    return f"{what} {_span(months)}: {matter}".replace(" : ", ": ")


def _span(months: Sequence[str]) -> str:
    """Write months as people say them, from the first to the last."""
    first, last = _month(months[0]), _month(months[-1])
    return first if first == last else f"{first} to {last}"


def _spec(months: Collection[str]) -> str:
    """Write months as commands take them: ranges where there are any, and no more of them than can be read."""
    spans: list[list[Month]] = []
    for month in parse_months(months):
        if spans and spans[-1][-1].next() == month:
            spans[-1].append(month)
        else:
            spans.append([month])
    texts = [str(span[0]) if len(span) == 1 else f"{span[0]}:{span[-1]}" for span in spans]
    return " ".join([*texts[:_MOST_SPANS], *(["..."] if len(texts) > _MOST_SPANS else [])])


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
    if any(name.startswith("tlc_") for notice in notices for name in notice.subject.names):
        look += "; taxi-assets status shows what has become of TLC's months"
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
        says = f"{_month(last.subject.month)}: {says}"
    if says and not says.endswith((".", "…")):
        says += "."
    if causes > 1 and last.subject.kind is Kind.RUN:
        says += f" ({causes} causes in all.)"
    do = f" Do: {_for(last.do, _spec_of_any(months))}." if last.do else ""
    return f"- [{last.severity}] {about}. {says}{do} {last.link}".rstrip()


def _of_many(group: Sequence[Notice], last: Notice) -> str:
    """Say what a group is about: so many months of a table, or so many files."""
    what, matter = _state(last.subject)
    if last.subject.kind is Kind.FILE:
        paths = sorted(notice.subject.what for notice in group)
        shown = ", ".join(quoted(path, _LONGEST_VALUE) for path in paths[:_MOST_NAMED])
        more = f" and {len(paths) - _MOST_NAMED} more" if len(paths) > _MOST_NAMED else ""
        return f"{len(paths)} files: {shown}{more}: {matter}"
    months = sorted({notice.subject.month for notice in group})
    return f"{what}: {matter}: {len(months)} months, {_span(months)}"


def _spec_of_any(months: Sequence[str]) -> str:
    """Write months as commands take them, as far as they are months."""
    try:
        return _spec(months)
    except UsageError:
        return " ".join(_month(month) for month in months[:_MOST_SPANS])
