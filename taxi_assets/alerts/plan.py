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

from taxi_assets.alerts import wording
from taxi_assets.alerts.facts import Batch, RunFact, Severity, TickFact
from taxi_assets.alerts.lateness import InTable, Lateness, tables_kept
from taxi_assets.alerts.messages import FEW
from taxi_assets.alerts.notices import Kind, Notice, Subject, Told
from taxi_assets.alerts.routes import Route
from taxi_assets.calendars import Period, parse_periods
from taxi_assets.errors import UsageError

LONGEST_WAIT: Final = 15 * 60.0
"""Seconds after which what belongs to a backfill is told, though more of its runs are to end."""
QUIET: Final = 15 * 60.0
"""Seconds without another period of a table after which what it lacks is late: it may be loaded, by whatever means."""
LOOK_BACK: Final = 1_000
"""So many places of the event log are read again: on Postgres an event may appear after one of a later place."""


@dataclass(frozen=True, slots=True)
class Facts:
    """What has happened since the last look. `lateness` is how it is now; None: it isn't known.

    `unread` are the paths of files in landing whose names are nearly read, each with a name that is; None: they aren't
    known.
    """

    now: float
    runs: Sequence[RunFact] = ()
    ticks: Sequence[TickFact] = ()
    lateness: Lateness | None = None
    unread: Mapping[str, str] | None = None


@dataclass(frozen=True, slots=True)
class State:
    """What is known: how far the event log was read, what is open, and what each route is still to be sent.

    `newest` is the newest period stored in each table, and since when it is; None before the first look at them.
    """

    start: int
    place: int
    recent: Mapping[str, int] = field(default_factory=dict)
    ticks: Mapping[str, float] = field(default_factory=dict)
    open: Mapping[Subject, Severity] = field(default_factory=dict)
    pending: Mapping[str, tuple[Notice, ...]] = field(default_factory=dict)
    newest: Mapping[str, tuple[str, float]] | None = None

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
    newest = state.newest
    for run in facts.runs:
        _tell_of_run(told, run, ui)
    for tick in facts.ticks:
        subject = Subject(Kind.TICK, tick.name, "", "")
        if tick.failed:
            told.failed([subject], Severity.ERROR, wording.of_tick(tick, ui))
        else:
            told.well([subject], f"The {tick.kind} {tick.name} ticks again.")
    if facts.unread is not None:
        _tell_of_names(told, facts.unread)
    kept = _kept(told.open, facts.runs)
    before = {name: _without_late(told, notices, kept) for name, notices in state.pending.items()}
    if facts.lateness is not None:
        newest = _newest(facts.lateness, state.newest, facts.now)
        _tell_of_lateness(told, facts.lateness, kept, newest)
    places = {**state.recent, **{run.run_id: run.place for run in facts.runs}}
    place = max([state.place, *(run.place for run in facts.runs)])
    after = replace(
        state,
        place=place,
        recent={run_id: at for run_id, at in places.items() if at > place - LOOK_BACK},
        ticks={**state.ticks, **{tick.name: tick.at for tick in facts.ticks}},
        open=told.open,
        newest=newest,
    )
    pending = {}
    for route in routes:
        notices = (*before.get(route.name, ()), *(notice for notice in told.notices if route.takes(notice)))
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
            "newest": state.newest,
        },
        separators=(",", ":"),
    )


def load(cursor: str) -> State:
    """Read a cursor that `dump` wrote, of former versions, too: they knew no `newest`, and joined a run's failures."""
    known: dict[str, Any] = json.loads(cursor)
    newest = known.get("newest")
    return State(
        start=known["start"],
        place=known["place"],
        recent=known["recent"],
        ticks=known["ticks"],
        open={one: Severity(parts[-1]) for parts in known["open"] for one in Subject.load(parts[:-1]).apart()},
        pending={name: tuple(map(Notice.load, notices)) for name, notices in known["pending"].items()},
        newest=newest and {table: (period, since) for table, (period, since) in newest.items()},
    )


@dataclass
class _Told:
    """What is open, and what there is to tell, as one fact after the other is looked at."""

    open: dict[Subject, Severity]
    now: float
    notices: list[Notice] = field(default_factory=list)

    def failed(self, subjects: Sequence[Subject], severity: Severity, told: Told, batch: Batch = ()) -> None:
        """Tell of failures in one notice, but for those that are open; one that has become worse is told again."""
        fresh = self.fresh(subjects, severity)
        if not fresh:
            return
        self.open.update(dict.fromkeys(fresh, severity))
        subject = Subject.together(fresh)
        self.notices.append(Notice(subject, severity, False, told.says, told.text, told.link, self.now, batch, told.do))

    def fresh(self, subjects: Sequence[Subject], severity: Severity) -> list[Subject]:
        """Return those of some failures that are to be told."""
        return [subject for subject in subjects if self.open.get(subject) not in {severity, Severity.ERROR}]

    def well(self, subjects: Sequence[Subject], says: str, link: str = "", batch: Batch = ()) -> None:
        """Tell in one notice that those of some failures which were open are well again, as bad as the worst was."""
        over = {subject: self.open.pop(subject) for subject in subjects if subject in self.open}
        if over:
            severity = Severity.ERROR if Severity.ERROR in over.values() else Severity.WARNING
            text = f"{says}\nRun: {link}" if link else says
            self.notices.append(Notice(Subject.together([*over]), severity, True, says, text, link, self.now, batch))


def _tell_of_run(told: _Told, run: RunFact, ui: str) -> None:
    link = wording.link_of(run, ui)
    failed = run.ended is dg.DagsterEventType.RUN_FAILURE
    green = run.ended is dg.DagsterEventType.RUN_SUCCESS
    passed = set()
    for check in run.checks:
        subject = Subject(Kind.CHECK, check.table, check.month, check.name)
        if check.passed and not green and check.table not in run.stored:
            # It held for rows that weren't published; of those that are stored it says nothing.
            continue
        if check.passed:
            passed.add(f"{check.table}:{check.name}")
            told.well([subject], wording.holds_again(check), link, run.batch)
        elif not failed:
            # Those of a run that failed are told with it, in one message.
            told.failed([subject], check.severity, wording.of_check(check, run, ui), run.batch)
    # Each by itself: what one run failed at may be mended by several, and by some that fail at something else.
    good = {*run.stored, *passed, *([run.job] if green else [])}.difference(run.failed)
    mended = [one for one in told.open if one.kind is Kind.RUN and one.month == run.month and one.what in good]
    if mended:
        told.well(mended, wording.after_all([one.what for one in mended], run), link, run.batch)
    if failed and not run.will_retry:
        subjects = [Subject(Kind.RUN, name, run.month, "") for name in run.failed]
        fresh = told.fresh(subjects, Severity.ERROR)
        if fresh:
            told.failed(fresh, Severity.ERROR, wording.of_run(run, ui, [one.what for one in fresh]), run.batch)


def _tell_of_names(told: _Told, unread: Mapping[str, str]) -> None:
    for path, example in sorted(unread.items()):
        told.failed([Subject(Kind.FILE, path, "", "")], Severity.WARNING, wording.of_unread(path, example))
    for subject in [one for one in told.open if one.kind is Kind.FILE and one.what not in unread]:
        told.well([subject], wording.gone_or_renamed(subject.what))


def _kept(is_open: Collection[Subject], runs: Iterable[RunFact]) -> set[InTable]:
    """Return what isn't stored because something failed that is told of, or that Dagster does once more."""
    kept = {(name, one.month) for one in is_open if one.kind is Kind.RUN for name in one.names}
    # A table that feeds share has failing checks for the sake of those that are stored.
    kept |= {(one.what, one.month) for one in is_open if one.kind is Kind.CHECK and len(tables_kept(one.what)) == 1}
    kept |= {(name, run.month) for run in runs if run.will_retry for name in run.failed}
    return {(table, period) for name, text in kept for period in _periods(text) for table in tables_kept(name)}


def _periods(text: str) -> list[Period]:
    try:
        return parse_periods([text])
    except UsageError:
        # A run of something else than a period, or of none.
        return []


def _without_late(told: _Told, notices: tuple[Notice, ...], kept: Collection[InTable]) -> tuple[Notice, ...]:
    """Take back what is still to be told of periods as late, if by now it is known why they aren't stored."""
    gone = [
        notice
        for notice in notices
        if notice.subject.kind is Kind.LATE
        and not notice.well
        and any((notice.subject.what, period) in kept for period in notice.subject.periods)
    ]
    for notice in gone:
        told.open.pop(notice.subject, None)
    return tuple(notice for notice in notices if notice not in gone)


def _newest(
    lateness: Lateness, before: Mapping[str, tuple[str, float]] | None, now: float
) -> dict[str, tuple[str, float]]:
    newest = {}
    for table, period in lateness.newest().items():
        # Before the first look nobody knows; nothing has happened for as long as is told of.
        period_before, since = (before or {}).get(table, ("", now))
        same = period_before == str(period)
        newest[table] = (str(period), now - QUIET if before is None else since if same else now)
    return newest


def _tell_of_lateness(
    told: _Told, lateness: Lateness, kept: Collection[InTable], newest: Mapping[str, tuple[str, float]]
) -> None:
    for subject in [one for one in told.open if one.kind is Kind.LATE]:
        left = {(subject.what, period) for period in subject.periods}.difference(lateness.blocked)
        if not left:
            # None is there, and nobody waits for one any more: neither late nor well.
            told.open.pop(subject)
        elif left.issubset(lateness.stored):
            told.well([subject], wording.has_come(subject))
    for one in lateness.late:
        late = one.without([period for table, period in kept if table == one.table])
        _, since = newest[late.table]
        if late.table in lateness.loading or not late.periods or since + QUIET > told.now:
            continue
        first, last = late.periods[0], late.periods[-1]
        # Those behind what is told of aren't told until it is there.
        if not any(one.kind is Kind.LATE and one.what == late.table and one.periods[-1] >= first for one in told.open):
            span = str(first) if first == last else f"{first}:{last}"
            told.failed([Subject(Kind.LATE, late.table, span, "")], Severity.WARNING, wording.of_late(late))
