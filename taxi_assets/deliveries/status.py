"""A year in one picture: what has become of each period of each feed, from landed file to stored table.

`cell_of` is pure: what is known of a delivery, to one word. Around it stand gathering the facts, each source asked once
for all periods, and the picture as the UI shows it; cli/ shows it on a terminal. What counts as done is decided in
records.py, for the sensor and for this.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from enum import StrEnum
from typing import Final

import dagster as dg

from taxi_assets.calendars import Period
from taxi_assets.catalog import Catalog
from taxi_assets.check_history import CheckState, in_words, latest_states, only_warned
from taxi_assets.contracts import Contract
from taxi_assets.deliveries.blocked import blocked_in, says_blocked
from taxi_assets.deliveries.landed import Delivery, Landed, identity, look
from taxi_assets.deliveries.records import done_steps, last_to_make, not_made_good, runs_of_checks, sources_of_silver
from taxi_assets.deliveries.steps import check_keys, steps_of_tables
from taxi_assets.lake.lake import Lake
from taxi_assets.landing import Landing
from taxi_assets.markdown import markdown_of


class State(StrEnum):
    """What has become of a delivery, from the best to what isn't there."""

    OK = "ok"
    WARNINGS = "warnings"
    ERRORS = "errors"
    STALE = "stale"
    FAILED = "failed"
    TWO_FILES = "two files"
    LANDED = "landed"
    BLOCKED = "blocked"
    NOT_IN_LANDING = "not in landing"
    NOT_PUBLISHED = "not published"


_SYMBOLS: Final[Mapping[State, str]] = {
    State.OK: "✓",
    State.WARNINGS: "⚠",
    State.ERRORS: "✗",
    State.STALE: "↻",
    State.FAILED: "✗",
    State.TWO_FILES: "✗",
    State.LANDED: "↓",
    State.BLOCKED: "■",
    State.NOT_IN_LANDING: "○",
    State.NOT_PUBLISHED: "·",
}
_NOTHING: Final = {State.NOT_IN_LANDING, State.NOT_PUBLISHED}
# What programs were told before warnings were told from errors.
_FOR_PROGRAMS: Final[Mapping[State, str]] = {
    State.OK: "materialized",
    State.WARNINGS: "checks failing",
    State.ERRORS: "checks failing",
}


def meanings(catalog: Catalog) -> dict[State, str]:
    """Say what each state means, and what to do about it."""
    word = catalog.calendar.kind.word
    failed = f"taxi-assets checks --failed {word.upper()}"
    comes = {feed.comes for feed in catalog.feeds if feed.comes}
    return {
        State.OK: f"stored in silver, and all checks of the {word}'s tables passed",
        State.WARNINGS: (
            f"stored, and so many checks of its tables, or of those that {catalog.feed_word}s share, warn: {failed}"
        ),
        State.ERRORS: f"stored, and so many of those checks failed as errors: {failed}",
        State.STALE: (
            "stored, but from another file than landing's, or one that isn't on record, or bronze lacks it: "
            "materialize it again"
        ),
        State.FAILED: (
            "its last run failed at it, or was cancelled or killed: "
            "each table is as it was before, or as that run stored it. Materialize it again: it says why"
        ),
        State.TWO_FILES: (
            f"several files stand in landing, and which holds the {word} can't be told: move the others away"
        ),
        State.LANDED: "its file stands in landing and nothing is stored yet: materialize it",
        State.BLOCKED: (
            f"declared known to be bad in landing's {catalog.blocked_list}: passed by until its line there is deleted"
        ),
        State.NOT_IN_LANDING: "there is no file in landing, and nothing is stored",
        State.NOT_PUBLISHED: ": ".join(["not to be expected, yet or at all", *sorted(comes)]),
    }


@dataclass(frozen=True, slots=True)
class Cell:
    """The state of a delivery; how many of its checks warn or fail as errors, and why it is blocked."""

    state: State
    warnings: int = 0
    errors: int = 0
    reason: str = ""

    def __str__(self) -> str:
        return in_words(self.errors, self.warnings) or str(self.state)

    @property
    def status(self) -> str:
        """The state's name for programs: ``materialized``, ``checks failing``, or that of any other state."""
        return _FOR_PROGRAMS.get(self.state, str(self.state))

    @property
    def symbol(self) -> str:
        """One character that stands for the state."""
        return _SYMBOLS[self.state]


@dataclass(frozen=True, slots=True)
class InLanding:
    """What a catalog's landing holds at one moment: the files of feeds, and of what is blocked why it is."""

    catalog: Catalog
    landing: Landing
    landed: Landed
    blocked: Mapping[Delivery, str]

    @classmethod
    def of(cls, catalog: Catalog, landing: Landing, instance: dg.DagsterInstance) -> InLanding:
        """Look into a landing. Raises LandingError if it, or its list of what is blocked, can't be read."""
        return cls(catalog, landing, look(catalog, landing), blocked_in(catalog, landing, instance))


@dataclass(frozen=True, slots=True)
class Facts:
    """What is known of some deliveries: from a listing of landing, the Delta logs and the instance's records.

    `stored` is what silver holds, `in_bronze` what bronze does. `sources` is which files a stored period came from,
    `failed` are those whose last run did, `blocked` why some are. `warnings` and `errors` count the checks that didn't
    pass.
    """

    landed: Landed
    blocked: Mapping[Delivery, str] = field(default_factory=dict)
    stored: Collection[Delivery] = ()
    in_bronze: Collection[Delivery] = ()
    sources: Mapping[Delivery, str] = field(default_factory=dict)
    failed: Collection[Delivery] = ()
    warnings: Mapping[Delivery, int] = field(default_factory=dict)
    errors: Mapping[Delivery, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Picture:
    """A cell for each feed of each period; `unusable` says why files aren't, of which it isn't known what they hold."""

    catalog: Catalog
    periods: Sequence[Period]
    cells: Mapping[Delivery, Cell]
    unusable: Sequence[str] = ()

    def states(self) -> list[State]:
        """List the states that occur, for a legend."""
        found = {cell.state for cell in self.cells.values()}
        return [state for state in State if state in found]

    def reasons(self) -> list[str]:
        """Say of each delivery that is blocked why."""
        return [
            says_blocked(self.catalog, delivery, cell.reason)
            for delivery, cell in self.cells.items()
            if cell.state is State.BLOCKED
        ]

    def feeds(self) -> list[str]:
        """List the feeds of which something is there, in whichever of the periods."""
        there = {feed for (feed, _), cell in self.cells.items() if cell.state not in _NOTHING}
        return [feed for feed in self.catalog.feed_names if feed in there]


def cell_of(catalog: Catalog, facts: Facts, delivery: Delivery, now: Period) -> Cell:
    """Say in one word what has become of a delivery; of several, the one that a person has to see to."""
    feed = catalog.feed(delivery[0])
    if delivery in facts.blocked:
        return Cell(State.BLOCKED, reason=facts.blocked[delivery])
    files, stored = facts.landed.files.get(delivery, ()), delivery in facts.stored
    if len(files) > 1 and feed.periods_in is None:
        return Cell(State.TWO_FILES)
    if not files and not stored:
        return Cell(State.NOT_PUBLISHED if feed.is_awaited(delivery[1], now) else State.NOT_IN_LANDING)
    if delivery in facts.failed or not stored:
        return Cell(State.FAILED if delivery in facts.failed else State.LANDED)
    if delivery not in facts.in_bronze or (files and facts.sources.get(delivery) != identity(files)):
        return Cell(State.STALE)
    warnings, errors = facts.warnings.get(delivery, 0), facts.errors.get(delivery, 0)
    state = State.ERRORS if errors else State.WARNINGS if warnings else State.OK
    return Cell(state, warnings, errors)


def periods_to_show(known: Iterable[Period], now: Period) -> list[Period]:
    """Return as many periods as make a picture: up to now, if anything is known of them, or else up to the newest."""
    # A file of a period to come has a wrong name, and is never read.
    newest = max((period for period in known if period <= now), default=now)
    latest = _up_to(now)
    return latest if newest >= latest[0] else _up_to(newest)


def draw(found: InLanding, lake: Lake, instance: dg.DagsterInstance, periods: Sequence[Period] = ()) -> Picture:
    """Draw the picture of some periods; of `periods_to_show`, if none is named."""
    catalog = found.catalog
    now = catalog.calendar.now()
    stored = stored_deliveries(catalog, lake)
    periods = periods or periods_to_show((period for _, period in (*found.landed.files, *stored)), now)
    wanted = [(feed, period) for period in periods for feed in catalog.feed_names]
    states = latest_states(instance, check_keys(catalog, found.landing), [str(period) for period in periods])
    warned = only_warned(instance, states)
    facts = Facts(
        landed=found.landed,
        blocked=found.blocked,
        stored=stored,
        in_bronze=in_bronze(catalog, lake),
        sources=sources_of_silver(instance, catalog, wanted),
        failed=_failed(instance, found, states),
        warnings=_count(catalog, warned),
        errors=_count(catalog, (state for state in states if state.failed and state not in warned)),
    )
    cells = {delivery: cell_of(catalog, facts, delivery, now) for delivery in wanted}
    return Picture(catalog, periods, cells, [why for whys in found.landed.unusable.values() for why in whys])


def stored_deliveries(catalog: Catalog, lake: Lake) -> set[Delivery]:
    """Return what is stored of the feeds of a catalog: the periods that stand in their silver tables."""
    return _stored(catalog, lake, {feed: tables.silver for feed, tables in catalog.load().feeds.items()})


def in_bronze(catalog: Catalog, lake: Lake) -> set[Delivery]:
    """Return the periods that stand in the bronze tables of a catalog's feeds."""
    return _stored(catalog, lake, {feed: tables.bronze for feed, tables in catalog.load().feeds.items()})


def as_markdown(picture: Picture) -> str:
    """Write a picture as a table with its legend, without feeds of which nothing is there."""
    feeds, unusable = picture.feeds(), [f"- {markdown_of(why)}" for why in picture.unusable]
    if not feeds:
        nothing = "Nothing stands in landing, and nothing is stored,"
        return "\n".join([f"{nothing} from {picture.periods[0]} to {picture.periods[-1]}.", *unusable])
    cells = {delivery: cell for delivery, cell in picture.cells.items() if delivery[0] in feeds}
    shown, says = Picture(picture.catalog, picture.periods, cells), meanings(picture.catalog)
    return "\n".join([
        f"| {picture.catalog.calendar.kind.word} | {' | '.join(feeds)} |",
        f"|---|{'---|' * len(feeds)}",
        *(
            f"| {period} | {' | '.join(_short(picture.cells[feed, period]) for feed in feeds)} |"
            for period in picture.periods
        ),
        "",
        *(f"- {_SYMBOLS[state]} **{state}**: {says[state]}" for state in shown.states()),
        *(f"- {markdown_of(reason)}" for reason in picture.reasons()),
        *unusable,
    ])  # fmt: skip


def _short(cell: Cell) -> str:
    """Write a cell by its symbol, and in words where there is something."""
    return cell.symbol if cell.state in _NOTHING else f"{cell.symbol} {cell}"


def _stored(catalog: Catalog, lake: Lake, tables: Mapping[str, type[Contract]]) -> set[Delivery]:
    column, kind = catalog.calendar.column, catalog.calendar.kind
    return {
        (feed, kind.of(date.fromisoformat(partition[column])))
        for feed, contract in tables.items()
        for partition in lake.location(contract).stored_partitions()
    }


def _up_to(last: Period) -> list[Period]:
    """Return as many periods as make a picture, the last one included."""
    first = last.plus(1 - last.shown)
    return [first.plus(count) for count in range(last.shown)]


def _failed(instance: dg.DagsterInstance, found: InLanding, states: Iterable[CheckState]) -> set[Delivery]:
    """Find the deliveries whose last run failed and left a table of theirs, or one made of it, not as it was to be.

    A run that is to store a table plans the table's checks first of all. It may have failed at another feed's table,
    and what it left undone may have been done by a later run for another feed.
    """
    last: dict[tuple[dg.AssetKey, str], CheckState] = {}
    for state in states:
        of_table = (state.key.asset_key, state.partition_key)
        last[of_table] = max(last.get(of_table, state), state, key=lambda known: known.place)
    of_checks = runs_of_checks(instance, {state.run_id for state in last.values()})
    makers = {
        (table, key): last_to_make(instance, table, key) if state.run_id in of_checks else state.run_id
        for (table, key), state in last.items()
    }
    failed = not_made_good(instance, {run_id for run_id in makers.values() if run_id})
    done, steps = done_steps(instance, failed), steps_of_tables(found.catalog, found.landing)
    contents, period_of = found.catalog.load(), found.catalog.calendar.period
    its_run_failed, undone = set[Delivery](), set[Delivery]()
    for (table, key), run_id in makers.items():
        if run_id not in failed:
            continue
        feeds = contents.feeds_of(table)
        own = len(feeds) == 1
        if own:
            its_run_failed.add((feeds[0], period_of(key)))
        # A check of a table that feeds share may have failed for one of them; it is counted as an error.
        needed = steps[table].all if own else steps[table].making
        if not needed <= done[run_id]:
            undone |= {(feed, period_of(key)) for feed in feeds}
    return its_run_failed & undone


def _count(catalog: Catalog, states: Iterable[CheckState]) -> Counter[Delivery]:
    """Count checks by feed and period; one of a table that feeds share is each one's."""
    contents = catalog.load()
    return Counter(
        (feed, catalog.calendar.period(state.partition_key))
        for state in states
        for feed in contents.feeds_of(state.key.asset_key)
    )
