"""What happened, in words: what is wrong, how much of it, where to look, and what to do.

It is plain text: whatever comes from files, errors or people goes through `quoted`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

import dagster as dg

from taxi_assets.alerts.facts import CheckFact, RunFact, Severity, TickFact
from taxi_assets.alerts.notices import Subject, Told
from taxi_assets.alerts.texts import LONGEST_PATH, LONGEST_VALUE, MONTHS, for_months, month_of, quoted, span_of, spec_of
from taxi_assets.commands import to_materialize
from taxi_assets.deliveries.lateness import Late

AFTER_A_CHECK: Final = (
    "the month is stored, and rows that the rule quarantines are in the quarantine table. If the file is wrong, land a "
    "good one and run the month again; if the data is what it is, look at the rule's reason and tolerance."
)
"""What to do about a check that failed in a run that is green."""

_BRING: Final = "see why its source brings no file, or block it"
_MOST_EXAMPLES: Final = 3
_MOST_CHECKS: Final = 3
_LONGEST_CAUSE: Final = 800
_LONGEST_LINE: Final = 240


def link_of(run: RunFact, ui: str) -> str:
    """Return where the UI shows a run."""
    return f"{ui}/runs/{run.run_id}"


def of_check(check: CheckFact, run: RunFact, ui: str) -> Told:
    """Say what a check found in a run that is green all the same, or that was cancelled after it."""
    month = month_of(check.month)
    where = f"{check.name} of {check.table}"
    ended, do = "is green", AFTER_A_CHECK
    look = f"taxi-assets checks {MONTHS}"
    if run.ended is dg.DagsterEventType.RUN_CANCELED:
        ended = "was cancelled"
        look = _again(run)
        do = f"its tables are as they were before, or as it stored them; to have them whole, {for_months(look, month)}."
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
    of_month = f" of {month_of(run.month)}" if run.month else ""
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
        f"What to do: what the cause says; then {for_months(again, month_of(run.month))}",
    ]
    says = quoted(causes[0], _LONGEST_LINE) + (f" And {len(others)} more." if others else "")
    return Told(says, "\n".join(lines), f"what the cause says; then {again}", link_of(run, ui))


def after_all(names: Iterable[str], run: RunFact) -> str:
    """Say that a run made good what others had failed at."""
    of_month = f" {month_of(run.month)}" if run.month else ""
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
    """Say what is missing, and how to come by it."""
    periods = [str(period) for period in late.periods]
    count = f"{len(periods)} {late.periods[0].word}s, " if len(periods) > 1 else ""
    comes = f": {late.feed.comes}." if late.feed.comes else "."
    do = []
    if late.landed:
        landed = [str(period) for period in late.landed]
        (command,) = to_materialize(spec_of(landed), [late.table])
        stand = "its file stands" if len(periods) == 1 else f"files of {len(landed)} stand"
        do.append(f"{stand} in landing: {command}")
    absent = [str(period) for period in late.periods if period not in late.landed]
    if absent:
        do.append((late.feed.how_to_get or _BRING).format(periods=spec_of(absent)))
    text = f"WARNING: {late.table} lacks {count}{span_of(periods)}, which should be stored by now{comes}"
    return Told(f"It should be stored by now{comes}", f"{text}\nWhat to do: {'. '.join(do)}", ". ".join(do))


def of_unread(path: str, example: str) -> Told:
    """Say that a file's name is nearly one that is read, and what to call it."""
    says = "Its name is nearly one that is read, or what it is of is unknown: it is never read."
    do = f"rename it, if it is to be read, as in {example}; or else move it away"
    return Told(says, f"WARNING: {quoted(path, LONGEST_PATH)} stands in landing. {says}\nWhat to do: {do}", do)


def gone_or_renamed(path: str) -> str:
    """Say that a file whose name wasn't read is there no longer."""
    return f"{quoted(path, LONGEST_PATH)} stands in landing no longer, or under another name."


def holds_again(check: CheckFact) -> str:
    """Say that a check passes that had failed."""
    says = quoted(check.says, _LONGEST_LINE)
    return f"{check.name} of {check.table} holds again for {month_of(check.month)}{f': {says}' if says else '.'}"


def has_come(subject: Subject) -> str:
    """Say that what was late is stored."""
    periods = [str(period) for period in subject.periods]
    return f"{subject.what} has {'all that was late of ' if len(periods) > 1 else ''}{span_of(periods)}."


def _again(run: RunFact) -> str:
    """Say how what a run was for is run again; a job that isn't of a month has no command."""
    commands = to_materialize(MONTHS, run.concerns) if run.month else []
    # Dagster's own job of what is picked in the UI can't be launched by its name.
    again = f"launch {run.job} again" if not run.job.startswith("__") else "start it again in the UI"
    return " and ".join(commands) or again


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
        f"{quoted(name, LONGEST_VALUE)} {quoted(str(value), LONGEST_VALUE)}" for name, value in example.items()
    )
