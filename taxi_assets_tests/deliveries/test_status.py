"""The picture of a year: what a cell says, which months are shown, and how the UI comes to see it.

Months that are run, re-issued or damaged in between are in test_status_runs.py.
"""

from __future__ import annotations

from pathlib import Path

import dagster as dg
import pytest

from taxi_assets.calendars import Calendar, Month
from taxi_assets.cli.terminal import STATUS_STYLES
from taxi_assets.contracts import Contract, Frame
from taxi_assets.definitions import build_defs
from taxi_assets.deliveries.landed import sorted_out
from taxi_assets.deliveries.sensor import landing_sensor
from taxi_assets.deliveries.status import (
    Cell,
    Facts,
    Picture,
    State,
    as_markdown,
    cell_of,
    draw,
    meanings,
    periods_to_show,
)
from taxi_assets.landing import LandedFile, Landing
from taxi_assets.places import landing_of
from taxi_assets.tlc import TLC
from taxi_assets.tlc.bronze.trips import BRONZE_TRIPS
from taxi_assets.tlc.silver.trips import SILVER_TRIPS
from taxi_assets.tlc.vocabulary import Service
from taxi_assets_tests.scenario import BLOCKED_MONTHS, MONTH, POLARS, STATUS, Workspace, bronze, judged, trips

pytestmark = pytest.mark.fast

GREEN = (Service.GREEN, MONTH)
NOW = Month(2024, 6)
NOWHERE = Landing("/nowhere", {})
FILE = "green_tripdata_2024-01.parquet"


def known(
    *paths: str,
    stored: bool = False,
    in_bronze: bool = True,
    source: str = f"{FILE}@1",
    failed: bool = False,
    warnings: int = 0,
    errors: int = 0,
    blocked: str = "",
) -> Facts:
    """Return the facts of green January, whose files are all in their first version."""
    return Facts(
        landed=sorted_out(TLC, NOWHERE, [LandedFile(path, 1, "1") for path in paths]),
        blocked={GREEN: blocked} if blocked else {},
        stored={GREEN} if stored else set(),
        in_bronze={GREEN} if stored and in_bronze else set(),
        sources={GREEN: source} if stored else {},
        failed={GREEN} if failed else set(),
        warnings={GREEN: warnings},
        errors={GREEN: errors},
    )


# One cell


@pytest.mark.parametrize(
    ("facts", "cell"),
    [
        (known(), Cell(State.NOT_IN_LANDING)),
        (known(FILE), Cell(State.LANDED)),
        (known(FILE, stored=True), Cell(State.OK)),
        (known(FILE, stored=True, warnings=3), Cell(State.WARNINGS, 3)),
        (known(FILE, stored=True, warnings=3, errors=1), Cell(State.ERRORS, 3, 1)),
        (known(FILE, stored=True, source=f"{FILE}@0", warnings=3), Cell(State.STALE)),
        (known(FILE, f"again/{FILE}", stored=True, failed=True), Cell(State.TWO_FILES)),
        (known(FILE, failed=True), Cell(State.FAILED)),
        (known(FILE, stored=True, source=f"{FILE}@0", failed=True, errors=3), Cell(State.FAILED)),
        (known(FILE, stored=True, in_bronze=False), Cell(State.STALE)),
        (known(stored=True), Cell(State.OK)),
        (known(stored=True, warnings=1), Cell(State.WARNINGS, 1)),
        (known(failed=True), Cell(State.NOT_IN_LANDING)),
        (known(FILE, blocked="Bad."), Cell(State.BLOCKED, reason="Bad.")),
        (known(FILE, stored=True, failed=True, warnings=1, blocked="Bad."), Cell(State.BLOCKED, reason="Bad.")),
    ],
    ids=[
        "nothing", "a file", "stored", "warnings", "an error", "another version", "two files", "a run that failed",
        "re-issued, and failed", "bronze no longer holds it", "the file of a stored month is gone",
        "and of one whose checks warn", "and of one that never was stored", "blocked",
        "blocked, whatever became of it before",
    ],
)  # fmt: skip
def test_a_cell_says_what_a_person_has_to_see_to(facts: Facts, cell: Cell) -> None:
    assert cell_of(TLC, facts, GREEN, NOW) == cell


def test_a_month_is_stale_that_silver_holds_and_bronze_doesnt(workspace: Workspace) -> None:
    def store(contract: type[Contract], rows: Frame) -> None:
        POLARS.replace(contract, workspace.lake.location(contract), rows, {"source_month": MONTH.first_day})

    def state() -> State:
        found = workspace.in_landing
        return draw(found, workspace.lake, workspace.instance, [MONTH]).cells[GREEN].state

    store(SILVER_TRIPS[Service.GREEN], judged(Service.GREEN, trips(3)).kept)
    assert state() is State.STALE
    store(BRONZE_TRIPS[Service.GREEN], bronze(Service.GREEN, trips(3)))
    assert state() is State.OK


@pytest.mark.parametrize(
    ("now", "state"),
    [
        (Month(2023, 12), State.NOT_PUBLISHED),
        (Month(2024, 1), State.NOT_PUBLISHED),
        (Month(2024, 3), State.NOT_PUBLISHED),
        (Month(2024, 4), State.NOT_IN_LANDING),
    ],
)
def test_a_month_isnt_missed_until_two_months_after_its_end(now: Month, state: State) -> None:
    assert cell_of(TLC, known(), GREEN, now).state is state


def test_nothing_is_expected_from_before_a_feed_began() -> None:
    assert cell_of(TLC, known(), (Service.GREEN, Month(2013, 7)), NOW).state is State.NOT_PUBLISHED
    assert cell_of(TLC, known(), (Service.GREEN, Month(2013, 8)), NOW).state is State.NOT_IN_LANDING


def test_a_file_that_is_there_early_has_landed() -> None:
    assert cell_of(TLC, known(FILE), GREEN, Month(2024, 2)).state is State.LANDED


def test_every_state_has_a_meaning_and_a_colour() -> None:
    assert set(meanings(TLC)) == set(State) <= set(STATUS_STYLES)


# Which months


@pytest.mark.parametrize(
    ("newest", "first", "last"),
    [
        ("2024-05", "2023-07", "2024-06"),
        ("2023-07", "2023-07", "2024-06"),
        ("2023-06", "2022-07", "2023-06"),
        ("2019-12", "2019-01", "2019-12"),
    ],
)
def test_twelve_months_are_shown_up_to_this_one_or_to_the_newest_known(newest: str, first: str, last: str) -> None:
    shown = periods_to_show([Month.parse(newest), Month(2015, 1)], NOW)
    assert (str(shown[0]), str(shown[-1]), len(shown)) == (first, last, 12)


def test_of_an_empty_lake_the_months_up_to_this_one_are_shown() -> None:
    assert periods_to_show([], NOW)[-1] == NOW


def test_a_file_that_is_named_for_a_month_to_come_doesnt_decide_which_are_shown() -> None:
    assert periods_to_show([Month(2015, 1), Month(2099, 1)], NOW)[-1] == Month(2015, 1)


# In the UI


def shown(workspace: Workspace) -> str:
    """Return what the asset's last observation shows."""
    (record,) = workspace.instance.fetch_observations(STATUS, limit=1).records
    assert record.asset_observation is not None
    found = record.asset_observation.metadata["months"]
    assert isinstance(found, dg.MarkdownMetadataValue)
    return str(found.value)


def tick(workspace: Workspace) -> dg.SensorResult:
    """Let the sensor look, and record what it observed as Dagster's daemon does."""
    resources = {"landing": landing_of(workspace.settings), "lake": workspace.lake}
    result = landing_sensor(TLC)(dg.build_sensor_context(instance=workspace.instance, resources=resources))
    assert isinstance(result, dg.SensorResult)
    for event in result.asset_events:
        workspace.instance.report_runless_asset_event(event)
    return result


def pictures(result: dg.SensorResult) -> int:
    """Count the pictures that a tick has drawn."""
    return sum(isinstance(event, dg.AssetObservation) for event in result.asset_events)


def test_observing_the_asset_shows_a_row_for_each_month_and_says_what_its_words_mean(workspace: Workspace) -> None:
    workspace.land(Service.GREEN, trips(10))
    everything = build_defs(workspace.settings).resolve_implicit_global_asset_job_def()
    assert everything.execute_in_process(instance=workspace.instance, asset_selection=[STATUS]).success
    header, _, *rows = [line for line in shown(workspace).splitlines() if line.startswith("|")]
    assert header == "| month | green |"
    assert len(rows) == 12
    assert rows[-2:] == ["| 2023-12 | ○ |", "| 2024-01 | ↓ landed |"]
    assert f"- ↓ **landed**: {meanings(TLC)[State.LANDED]}" in shown(workspace)
    assert f"- ○ **not in landing**: {meanings(TLC)[State.NOT_IN_LANDING]}" in shown(workspace)
    assert "**stale**" not in shown(workspace)


def test_of_services_of_which_nothing_is_there_the_picture_in_the_ui_is_silent() -> None:
    def picture(*found: State) -> str:
        months = [Month(2024, number + 1) for number in range(len(found))]
        cells = {(service, month): Cell(State.NOT_IN_LANDING) for service in Service for month in months}
        return as_markdown(
            Picture(TLC, months, cells | {(Service.GREEN, months[n]): Cell(s) for n, s in enumerate(found)})
        )

    assert picture(State.NOT_PUBLISHED, State.BLOCKED).startswith("| month | green |\n|---|---|\n| 2024-01 | · |\n")
    assert picture(State.NOT_PUBLISHED, State.NOT_IN_LANDING) == (
        "Nothing stands in landing, and nothing is stored, from 2024-01 to 2024-02."
    )


def test_every_state_has_a_symbol_in_the_picture() -> None:
    assert {Cell(state).symbol for state in State} == set("✓⚠✗↻↓■○·")


@pytest.mark.parametrize(
    ("cell", "words", "status"),
    [
        (Cell(State.OK), "ok", "materialized"),
        (Cell(State.WARNINGS, 1), "1 warning", "checks failing"),
        (Cell(State.WARNINGS, 3), "3 warnings", "checks failing"),
        (Cell(State.ERRORS, 0, 1), "1 error", "checks failing"),
        (Cell(State.ERRORS, 1, 2), "2 errors, 1 warning", "checks failing"),
        (Cell(State.FAILED), "failed", "failed"),
    ],
)
def test_warnings_and_errors_are_told_apart_by_words_and_programs_are_told_as_before(
    cell: Cell, words: str, status: str
) -> None:
    assert (str(cell), cell.status) == (words, status)


def test_the_picture_says_of_a_blocked_month_why(workspace: Workspace) -> None:
    workspace.land(Service.GREEN, trips(10))
    (workspace.landing / BLOCKED_MONTHS).write_text("green 2024-01 Fares are in cents.\ngreen 2023-11 Withdrawn.")
    tick(workspace)
    assert "| 2024-01 | ■ blocked |" in shown(workspace)
    assert "- green 2024-01 is blocked (blocked_months.txt): Fares are in cents." in shown(workspace)
    assert "- green 2023-11 is blocked (blocked_months.txt): Withdrawn." in shown(workspace)


def test_the_sensor_keeps_the_picture_up_to_date_and_writes_none_that_is_the_same(workspace: Workspace) -> None:
    workspace.land(Service.GREEN, [*trips(10), *trips(1, payment_type=42, vendor_id=1)])
    assert pictures(tick(workspace)) == 1
    assert "| ↓ landed |" in shown(workspace)
    assert pictures(tick(workspace)) == 0
    ran = workspace.run(Service.GREEN)
    assert ran.success, workspace.failures(ran)
    assert pictures(tick(workspace)) == 1
    assert "| ⚠ 1 warning |" in shown(workspace)


def said_late(result: dg.SensorResult) -> list[tuple[bool, str | None]]:
    """Return what a tick says of what is late."""
    return [(one.passed, one.description) for one in result.asset_events if isinstance(one, dg.AssetCheckEvaluation)]


def test_the_sensor_keeps_the_check_of_what_is_late_up_to_date(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Calendar, "now", lambda _self: Month(2024, 5))
    workspace.land(Service.GREEN, trips(10))
    assert said_late(tick(workspace)) == [(True, "All that should be stored by now is stored.")]
    assert workspace.run(Service.GREEN).success
    assert said_late(tick(workspace)) == [(False, "tlc_silver/green_trips lacks 2024-02.")]
    assert said_late(tick(workspace)) == []
    (workspace.landing / BLOCKED_MONTHS).write_text("green 2024-02 withdrawn")
    assert said_late(tick(workspace)) == [(True, "All that should be stored by now is stored.")]


def test_the_check_of_what_is_late_warns_where_it_is_run_in_the_ui(workspace: Workspace) -> None:
    workspace.land(Service.GREEN, trips(10))
    assert workspace.run(Service.GREEN).success
    everything = build_defs(workspace.settings).resolve_implicit_global_asset_job_def()
    key = dg.AssetCheckKey(STATUS, "nothing_late")
    job = everything.get_subset(asset_selection=set(), asset_check_selection={key})
    (evaluation,) = job.execute_in_process(instance=workspace.instance).get_asset_check_evaluations()
    assert (evaluation.passed, evaluation.severity) == (False, dg.AssetCheckSeverity.WARN)
    assert "tlc_silver/green_trips lacks 2024-02, 2024-03, " in str(evaluation.description)


def test_a_picture_that_cant_be_drawn_doesnt_keep_months_waiting(workspace: Workspace) -> None:
    workspace.land(Service.GREEN, trips(10))
    log = Path(workspace.lake.location(SILVER_TRIPS[Service.YELLOW]).uri) / "_delta_log"
    log.mkdir(parents=True)
    (log / "00000000000000000000.json").write_text('{"cut off')
    result = tick(workspace)
    assert [request.partition_key for request in result.run_requests or []] == [str(MONTH)]
    assert result.asset_events == []


def test_the_asset_is_found_in_the_code_location_by_its_group(workspace: Workspace) -> None:
    node = build_defs(workspace.settings).resolve_asset_graph().get(STATUS)
    assert (node.group_name, node.is_observable, node.is_materializable) == ("tlc_landing", True, False)
    assert node.tags["layer"] == "landing"
