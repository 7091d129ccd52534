"""What is to be told to whom: from what has happened and what is known, to notices, and what is known afterwards.

Pure, and without a clock of its own. What failed stays open until it is well again, so that neither is told twice; what
a route hasn't been sent yet is kept for it.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

import dagster as dg

from taxi_assets.alerts import messages
from taxi_assets.alerts.facts import Batch, RunFact, Severity, TickFact
from taxi_assets.alerts.lateness import Lateness, table_of
from taxi_assets.alerts.messages import FEW, Kind, Notice, Subject
from taxi_assets.alerts.routes import Route
from taxi_assets.tlc.trip_files import ServiceMonth

LONGEST_WAIT: Final = 15 * 60.0
"""Seconds after which what belongs to a backfill is told, though more of its runs are to end."""
LOOK_BACK: Final = 1_000
"""So many places of the event log are read again: on Postgres an event may appear after one of a later place."""


@dataclass(frozen=True, slots=True)
class Facts:
    """What has happened since the last look. `lateness` is how it is now; None: it isn't known."""

    now: float
    runs: Sequence[RunFact] = ()
    ticks: Sequence[TickFact] = ()
    lateness: Lateness | None = None


@dataclass(frozen=True, slots=True)
class State:
    """What is known: how far the event log was read, what is open, and what each route is still to be sent."""

    start: int
    place: int
    recent: Mapping[str, int] = field(default_factory=dict)
    ticks: Mapping[str, float] = field(default_factory=dict)
    open: Mapping[Subject, Severity] = field(default_factory=dict)
    pending: Mapping[str, tuple[Notice, ...]] = field(default_factory=dict)

    @property
    def look_from(self) -> int:
        """The place in the event log from which on it is to be read; `recent` are the runs that are known there."""
        return max(self.start, self.place - LOOK_BACK)

    def in_log_up_to(self, last: int) -> State:
        """Return what is known of an event log that ends here: it begins anew when runs are wiped."""
        if last >= self.place:
            return self
        return replace(self, place=last, start=self.start if self.start <= last else 0)

    def batches(self) -> set[Batch]:
        """Return the batches that pending notices belong to."""
        return {notice.batch for notices in self.pending.values() for notice in notices}

    def due(self, route: str, going_on: Collection[Batch], now: float) -> tuple[Notice, ...]:
        """Return what a route is to be sent now: nothing of what goes on, unless some of it has waited for long."""
        pending = self.pending.get(route, ())
        waiting = [notice for notice in pending if notice.batch in going_on]
        if any(notice.at + LONGEST_WAIT <= now for notice in waiting):
            return pending
        return tuple(notice for notice in pending if notice.batch not in going_on)

    def sent(self, route: str, notices: Collection[Notice]) -> State:
        """Return what is known once a route has been sent some of its notices."""
        gone = set(notices)
        left = tuple(notice for notice in self.pending.get(route, ()) if notice not in gone)
        others = {name: notices for name, notices in self.pending.items() if name != route}
        return replace(self, pending={**others, route: left} if left else others)


def plan(facts: Facts, state: State, routes: Iterable[Route], ui: str) -> State:
    """Return what is known after some facts, with the notices that follow from them pending for their routes.

    What is pending for a route that there is no longer is dropped.
    """
    told = _Told(dict(state.open), facts.now)
    for run in facts.runs:
        _tell_of_run(told, run, ui)
    for tick in facts.ticks:
        subject = Subject(Kind.TICK, tick.name, "", "")
        if tick.failed:
            told.failed(subject, Severity.ERROR, messages.of_tick(tick, ui))
        else:
            told.well(subject, f"The {tick.kind} {tick.name} ticks again.")
    if facts.lateness is not None:
        _tell_of_lateness(told, facts.lateness)
    places = {**state.recent, **{run.run_id: run.place for run in facts.runs}}
    place = max([state.place, *(run.place for run in facts.runs)])
    after = replace(
        state,
        place=place,
        recent={run_id: at for run_id, at in places.items() if at > place - LOOK_BACK},
        ticks={**state.ticks, **{tick.name: tick.at for tick in facts.ticks}},
        open=told.open,
    )
    pending = {}
    for route in routes:
        notices = (*state.pending.get(route.name, ()), *(notice for notice in told.notices if route.takes(notice)))
        # More than a few are told in a digest, which has no room for all that there is to say of each.
        pending[route.name] = notices if len(notices) <= FEW else tuple(replace(one, text="") for one in notices)
    return replace(after, pending={name: notices for name, notices in pending.items() if notices})


def dump(state: State) -> str:
    """Write what is known as a sensor's cursor."""
    return json.dumps(
        {
            "start": state.start,
            "place": state.place,
            "recent": state.recent,
            "ticks": state.ticks,
            "open": [[*subject, severity] for subject, severity in state.open.items()],
            "pending": {name: [notice.dump() for notice in notices] for name, notices in state.pending.items()},
        },
        separators=(",", ":"),
    )


def load(cursor: str) -> State:
    """Read a cursor that `dump` wrote."""
    known: dict[str, Any] = json.loads(cursor)
    return State(
        start=known["start"],
        place=known["place"],
        recent=known["recent"],
        ticks=known["ticks"],
        open={Subject.load(parts[:-1]): Severity(parts[-1]) for parts in known["open"]},
        pending={name: tuple(map(Notice.load, notices)) for name, notices in known["pending"].items()},
    )


@dataclass
class _Told:
    """What is open, and what there is to tell, as one fact after the other is looked at."""

    open: dict[Subject, Severity]
    now: float
    notices: list[Notice] = field(default_factory=list)

    def failed(self, subject: Subject, severity: Severity, told: messages.Told, batch: Batch = ()) -> None:
        """Tell of a failure, unless it is open; one that has become worse is told again."""
        if self.open.get(subject) in {severity, Severity.ERROR}:
            return
        self.open[subject] = severity
        self.notices.append(Notice(subject, severity, False, told.says, told.text, told.link, self.now, batch))

    def well(self, subject: Subject, says: str, link: str = "", batch: Batch = ()) -> None:
        """Tell that what was open is well again, as bad as it was."""
        severity = self.open.pop(subject, None)
        if severity is not None:
            text = f"{says}\nRun: {link}" if link else says
            self.notices.append(Notice(subject, severity, True, says, text, link, self.now, batch))


def _tell_of_run(told: _Told, run: RunFact, ui: str) -> None:
    link = messages.link_of(run, ui)
    failed = run.ended is dg.DagsterEventType.RUN_FAILURE
    green = run.ended is dg.DagsterEventType.RUN_SUCCESS
    for check in run.checks:
        subject = Subject(Kind.CHECK, check.table, check.month, check.name)
        if check.passed and not green and check.table not in run.stored:
            # It held for rows that weren't published; of those that are stored it says nothing.
            continue
        if check.passed:
            says = f"{check.name} of {check.table} holds again for {check.month}: {check.says}"
            told.well(subject, says, link, run.batch)
        elif not failed:
            # Those of a run that failed are told with it, in one message.
            told.failed(subject, check.severity, messages.of_check(check, run, ui), run.batch)
    if failed and not run.will_retry:
        subject = Subject(Kind.RUN, ",".join(run.failed), run.month, "")
        told.failed(subject, Severity.ERROR, messages.of_run(run, ui), run.batch)
    if green:
        passed = {f"{check.table}:{check.name}" for check in run.checks if check.passed}
        good = run.stored | passed | {run.job}
        for subject in [one for one in told.open if one.kind is Kind.RUN and one.month == run.month]:
            if good.issuperset(subject.what.split(",")):
                says = f"A run made {subject.what} {subject.month} after all."
                told.well(subject, says, link, run.batch)


def _tell_of_lateness(told: _Told, lateness: Lateness) -> None:
    for subject in map(_lateness_of, lateness.stored):
        told.well(subject, f"{subject.what} has {subject.month}.")
    for subject in map(_lateness_of, lateness.blocked):
        # It isn't there, and nobody waits for it any more: neither late nor well.
        told.open.pop(subject, None)
    for late in lateness.late:
        told.failed(_lateness_of(late.service_month), Severity.WARNING, messages.of_late(late))


def _lateness_of(service_month: ServiceMonth) -> Subject:
    service, month = service_month
    return Subject(Kind.LATE, table_of(service), str(month), "")
