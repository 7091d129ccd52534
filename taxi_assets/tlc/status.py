"""A year in one picture: what has become of each month of each service, from landed file to stored table.

`cell_of` is pure: what is known of a month, to one word. Around it stand gathering the facts, each source asked once
for all months, and the picture as the UI shows it; cli/ shows it on a terminal. What counts as done is decided in
month_records.py, for the sensor and for this.
"""

# Without postponed annotations, which Dagster doesn't resolve for `context`.

import hashlib
import warnings
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from enum import StrEnum
from functools import cache
from typing import Final

import dagster as dg

from taxi_assets.check_history import CheckState, in_words, latest_states, only_warned
from taxi_assets.contracts import Contract
from taxi_assets.lake.failures import one_clear_failure
from taxi_assets.lake.lake import Lake
from taxi_assets.landing import Landing
from taxi_assets.markdown import markdown_of
from taxi_assets.months import Month, parse_months
from taxi_assets.tlc.assets import keys_for
from taxi_assets.tlc.blocked_months import BLOCKED_MONTHS, blocked_months, says_blocked
from taxi_assets.tlc.bronze.trips import BRONZE_TRIPS
from taxi_assets.tlc.checks import check_keys, steps_of_tables
from taxi_assets.tlc.month_records import done_steps, last_to_make, not_made_good, runs_of_checks, sources_of_silver
from taxi_assets.tlc.silver.trips import SILVER_TRIPS
from taxi_assets.tlc.trip_files import ServiceMonth, TripFiles
from taxi_assets.vocabulary import Service

STATUS: Final = dg.AssetKey(["tlc_landing", "status"])
"""The asset whose last observation shows the picture in the UI."""

_PICTURE: Final = "months"
_MONTHS_UNTIL_PUBLISHED: Final = 2


class State(StrEnum):
    """What has become of a service's month, from the best to what isn't there."""

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


MEANINGS: Final[Mapping[State, str]] = {
    State.OK: "stored in silver, and all checks of the month's tables passed",
    State.WARNINGS: (
        "stored, and so many checks of its tables, or of those that services share, warn: "
        "taxi-assets checks --failed MONTH"
    ),
    State.ERRORS: "stored, and so many of those checks failed as errors: taxi-assets checks --failed MONTH",
    State.STALE: (
        "stored, but from another file than landing's, or one that isn't on record, or bronze lacks it: "
        "materialize it again"
    ),
    State.FAILED: (
        "its last run failed at it, or was cancelled or killed: "
        "each table is as it was before, or as that run stored it. Materialize it again: it says why"
    ),
    State.TWO_FILES: "several files stand in landing, and which holds the month can't be told: move the others away",
    State.LANDED: "its file stands in landing and nothing is stored yet: materialize it",
    State.BLOCKED: f"declared known to be bad in landing's {BLOCKED_MONTHS}: passed by until its line there is deleted",
    State.NOT_IN_LANDING: "there is no file in landing, and nothing is stored",
    State.NOT_PUBLISHED: "not to be expected yet: TLC publishes a month about two months after its end",
}

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


@dataclass(frozen=True, slots=True)
class Cell:
    """The state of a service's month; how many of its checks warn or fail as errors, and why it is blocked."""

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
    """What a landing holds at one moment: the files of months, and of the months that are blocked why they are."""

    landing: Landing
    files: TripFiles
    blocked: Mapping[ServiceMonth, str]

    @classmethod
    def of(cls, landing: Landing, instance: dg.DagsterInstance) -> "InLanding":
        """Look into a landing. Raises LandingError if it, or its list of blocked months, can't be read."""
        return cls(landing, TripFiles.of(landing.files()), blocked_months(landing, instance))


@dataclass(frozen=True, slots=True)
class Facts:
    """What is known of some months: from a listing of landing, the Delta logs and the instance's records.

    `stored` is what silver holds, `in_bronze` what bronze does. `sources` is the file that a stored month came from,
    `failed` are months whose last run did, `blocked` why some are. `warnings` and `errors` count the checks that didn't
    pass.
    """

    landed: TripFiles
    blocked: Mapping[ServiceMonth, str]
    stored: Collection[ServiceMonth]
    in_bronze: Collection[ServiceMonth]
    sources: Mapping[ServiceMonth, str]
    failed: Collection[ServiceMonth]
    warnings: Mapping[ServiceMonth, int]
    errors: Mapping[ServiceMonth, int]


@dataclass(frozen=True, slots=True)
class Picture:
    """A cell for each service of each month."""

    months: Sequence[Month]
    cells: Mapping[ServiceMonth, Cell]

    def states(self) -> list[State]:
        """List the states that occur, for a legend."""
        found = {cell.state for cell in self.cells.values()}
        return [state for state in State if state in found]

    def reasons(self) -> list[str]:
        """Say of each month that is blocked why."""
        return [says_blocked(key, cell.reason) for key, cell in self.cells.items() if cell.state is State.BLOCKED]

    def services(self) -> list[Service]:
        """List the services of which something is there, in whichever of the months."""
        there = {service for (service, _), cell in self.cells.items() if cell.state not in _NOTHING}
        return [service for service in Service if service in there]


def cell_of(facts: Facts, service: Service, month: Month, today: date) -> Cell:
    """Say in one word what has become of a service's month; of several, the one that a person has to see to."""
    key = (service, month)
    if key in facts.blocked:
        return Cell(State.BLOCKED, reason=facts.blocked[key])
    files, stored = facts.landed.by_month.get(key, ()), key in facts.stored
    if len(files) > 1:
        return Cell(State.TWO_FILES)
    if not files and not stored:
        return Cell(State.NOT_PUBLISHED if is_awaited(month, today) else State.NOT_IN_LANDING)
    if key in facts.failed or not stored:
        return Cell(State.FAILED if key in facts.failed else State.LANDED)
    if key not in facts.in_bronze or (files and facts.sources.get(key) != files[0].file.version):
        return Cell(State.STALE)
    warnings, errors = facts.warnings.get(key, 0), facts.errors.get(key, 0)
    state = State.ERRORS if errors else State.WARNINGS if warnings else State.OK
    return Cell(state, warnings, errors)


def months_to_show(known: Iterable[Month], today: date) -> list[Month]:
    """Return twelve months: up to this one, if anything is known of them, or else up to the newest that is known."""
    now = Month.of(today)
    # A file of a month to come has a wrong name, and is never read.
    newest = max((month for month in known if month <= now), default=now)
    last = now if newest > _a_year_before(now) else newest
    return parse_months([f"{_a_year_before(last).next()}:{last}"])


def draw(found: InLanding, lake: Lake, instance: dg.DagsterInstance, months: Sequence[Month] = ()) -> Picture:
    """Draw the picture of some months; of `months_to_show`, if none is named."""
    today = datetime.now(UTC).date()
    stored = stored_months(lake)
    months = months or months_to_show((month for _, month in (*found.files.by_month, *stored)), today)
    wanted = [(service, month) for month in months for service in Service]
    states = latest_states(instance, check_keys(found.landing), [str(month) for month in months])
    warned = only_warned(instance, states)
    facts = Facts(
        landed=found.files,
        blocked=found.blocked,
        stored=stored,
        in_bronze=stored_months(lake, BRONZE_TRIPS),
        sources=sources_of_silver(instance, wanted),
        failed=_failed(instance, found.landing, states),
        warnings=_count(warned),
        errors=_count(state for state in states if state.failed and state not in warned),
    )
    return Picture(months, {(service, month): cell_of(facts, service, month, today) for service, month in wanted})


def stored_months(lake: Lake, tables: Mapping[Service, type[Contract]] = SILVER_TRIPS) -> set[ServiceMonth]:
    """Return the months that stand in the services' tables of a layer."""
    return {
        (service, Month.of(date.fromisoformat(first_day)))
        for service, contract in tables.items()
        for (first_day,) in map(dict.values, lake.location(contract).stored_partitions())
    }


def as_markdown(picture: Picture) -> str:
    """Write a picture as a table with its legend, without services of which nothing is there."""
    services = picture.services()
    shown = Picture(picture.months, {key: cell for key, cell in picture.cells.items() if key[0] in services})
    if not services:
        return f"Nothing stands in landing, and nothing is stored, from {picture.months[0]} to {picture.months[-1]}."
    return "\n".join([
        f"| month | {' | '.join(services)} |",
        f"|---|{'---|' * len(services)}",
        *(
            f"| {month} | {' | '.join(_short(picture.cells[service, month]) for service in services)} |"
            for month in picture.months
        ),
        "",
        *(f"- {_SYMBOLS[state]} **{state}**: {MEANINGS[state]}" for state in shown.states()),
        *(f"- {markdown_of(reason)}" for reason in picture.reasons()),
    ])  # fmt: skip


def _short(cell: Cell) -> str:
    """Write a cell by its symbol, and in words where there is something."""
    return cell.symbol if cell.state in _NOTHING else f"{cell.symbol} {cell}"


def news(instance: dg.DagsterInstance, picture: Picture) -> list[dg.AssetObservation]:
    """Return an observation that shows a picture, or none if the last one shows the same."""
    text = as_markdown(picture)
    for record in instance.fetch_observations(STATUS, limit=1).records:
        shown = record.asset_observation and record.asset_observation.metadata.get(_PICTURE)
        if shown and shown.value == text:
            return []
    return [dg.AssetObservation(STATUS, metadata={_PICTURE: dg.MetadataValue.md(text)})]


warnings.filterwarnings("ignore", category=dg.BetaWarning, message="Function `observable_source_asset`")


@dg.observable_source_asset(
    key=STATUS,
    group_name=STATUS.path[0],
    description=(
        "A year in one picture: which months of which service have landed, are sound, have checks that warn or failed, "
        "or aren't there. Observe it to draw it anew; the sensor tlc_landing does so when something has changed. No "
        "table is made of it: were it upstream of any, each change of a month would show all months as out of date."
    ),
    tags={"catalog": "tlc", "layer": "landing"},
)
def landing_status(
    context: dg.OpExecutionContext, landing: dg.ResourceParam[Landing], lake: dg.ResourceParam[Lake]
) -> dg.ObserveResult:
    with one_clear_failure("/".join(STATUS.path)):
        picture = draw(InLanding.of(landing, context.instance), lake, context.instance)
    text = as_markdown(picture)
    version = hashlib.sha256(text.encode()).hexdigest()
    return dg.ObserveResult(data_version=dg.DataVersion(version), metadata={_PICTURE: dg.MetadataValue.md(text)})


def is_awaited(month: Month, today: date) -> bool:
    """Whether it is too early to miss a month."""
    for _ in range(_MONTHS_UNTIL_PUBLISHED + 1):
        month = month.next()
    return month > Month.of(today)


def _a_year_before(month: Month) -> Month:
    return Month(month.year - 1, month.number)


def _failed(instance: dg.DagsterInstance, landing: Landing, states: Iterable[CheckState]) -> set[ServiceMonth]:
    """Find the months whose last run failed and left a table of theirs, or one made of it, not as it was to be.

    A run that is to store a table plans the table's checks first of all. It may have failed at another service's table,
    and what it left undone may have been done by a later run for another service.
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
    done, steps = done_steps(instance, failed), steps_of_tables(landing)
    its_run_failed, undone = set[ServiceMonth](), set[ServiceMonth]()
    for (table, key), run_id in makers.items():
        if run_id not in failed:
            continue
        services = _services_of(table)
        own = len(services) == 1
        if own:
            its_run_failed.add((services[0], Month.parse(key)))
        # A check of a table that services share may have failed for one of them; it is counted as an error.
        needed = steps[table].all if own else steps[table].making
        if not needed <= done[run_id]:
            undone |= {(service, Month.parse(key)) for service in services}
    return its_run_failed & undone


def _count(states: Iterable[CheckState]) -> Counter[ServiceMonth]:
    """Count checks by service and month; one of a table that services share is each one's."""
    return Counter(
        (service, Month.parse(state.partition_key)) for state in states for service in _services_of(state.key.asset_key)
    )


@cache
def _services_of(table: dg.AssetKey) -> list[Service]:
    return [service for service in Service if table in keys_for([service])]
