"""What needs Dagster's daemon: backfills as the UI launches them, and the sensor, on what `make ui` starts."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

from taxi_assets.calendars import Month
from taxi_assets.sample import write_month
from taxi_assets.tlc.vocabulary import Service
from taxi_assets_tests.full.conftest import SevenMonths
from taxi_assets_tests.full.launched import REPOSITORY, Dagster
from taxi_assets_tests.full.processes import (
    MAKE_UI,
    Home,
    assert_equal_contents,
    contents,
    first_day,
    report_of,
    serving,
)
from taxi_assets_tests.scenario import BLOCKED_MONTHS, keys_for

pytestmark = pytest.mark.full

OF_ASSETS, OF_A_JOB = ("2021-01", "2021-02"), ("2022-02", "2022-03")

_STATUS = """
{ assetOrError(assetKey: {path: ["tlc_landing", "status"]}) { ... on Asset {
    assetObservations(limit: 100) { metadataEntries { ... on MarkdownMetadataEntry { mdStr } } }
} } }"""


@pytest.fixture(scope="module")
def dev(real_data: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Dagster]:
    """Return what `make ui` starts on four real months that have landed."""
    home = Home.below(tmp_path_factory.mktemp("dagster-dev"))
    for month in (*OF_ASSETS, *OF_A_JOB):
        shutil.copy(real_data / "tlc" / "parquet" / f"green_tripdata_{month}.parquet", home.landing)
    shutil.copy(str(files("taxi_assets") / "dagster.yaml"), home.dagster)
    with serving(home, *MAKE_UI) as server:
        yield Dagster(server, home)


@pytest.fixture(scope="module")
def backfilled(dev: Dagster) -> dict[str, str]:
    """Backfill two months by choosing assets and two by a job, as the UI offers it, and return how each ended."""
    assets = [{"path": list(key.path)} for key in keys_for([Service.GREEN])]
    job = {"partitionSetName": "tlc_green_partition_set", "repositorySelector": REPOSITORY}
    launched = {
        "assets": dev.launch_backfill(assetSelection=assets, partitionNames=list(OF_ASSETS)),
        "job": dev.launch_backfill(selector=job, partitionNames=list(OF_A_JOB)),
    }
    return {name: dev.end_of_backfill(backfill_id) for name, backfill_id in launched.items()}


def test_a_backfill_over_a_range_gives_the_same_tables_as_one_month_after_the_other(
    backfilled: dict[str, str], dev: Dagster, seven_months: SevenMonths
) -> None:
    months = [*OF_ASSETS, *OF_A_JOB]

    assert backfilled == {"assets": "COMPLETED_SUCCESS", "job": "COMPLETED_SUCCESS"}
    assert_equal_contents(contents(dev.home.lake, months), contents(seven_months.home.lake, months))


@pytest.mark.parametrize(
    ("how", "ends"), [("job", "COMPLETED_SUCCESS"), ("assets", "COMPLETED_FAILED")], ids=["job", "assets"]
)
def test_a_backfill_over_a_blocked_and_an_unpublished_month_ends_with_green_runs_and_says_of_both_why(
    dev: Dagster, how: str, ends: str
) -> None:
    good, blocked, unpublished = months = ("2023-05", "2023-06", "2023-07")
    write_month(dev.home.landing, Service.GREEN, Month.parse(good), 2_000)
    write_month(dev.home.landing, Service.GREEN, Month.parse(blocked), 2_000)
    (dev.home.landing / BLOCKED_MONTHS).write_text(f"green {blocked} Fares are in cents.")
    # Of assets that are chosen one by one Dagster calls failed what no run has stored, though each run is green.
    chosen: dict[str, dict[str, Any]] = {
        "job": {"selector": {"partitionSetName": "tlc_month_partition_set", "repositorySelector": REPOSITORY}},
        "assets": {"assetSelection": [{"path": list(key.path)} for key in keys_for([Service.GREEN])]},
    }

    backfill = dev.launch_backfill(**chosen[how], partitionNames=list(months))

    assert dev.end_of_backfill(backfill) == ends
    assert [run["status"] for run in dev.runs_tagged("dagster/backfill", backfill)] == ["SUCCESS"] * 3
    stored = contents(dev.home.lake, list(months))
    for table in ("tlc_bronze/green_trips", "tlc_silver/green_trips", "tlc_gold/nyc_taxi_daily"):
        assert set(stored[table]["source_month"]) == {first_day(good)}, table
    assert dev.why_passed_by(good) == []
    assert "green 2023-06 is blocked (blocked_months.txt): Fares are in cents." in dev.why_passed_by(blocked)[0]
    assert "There is no green file for 2023-07" in dev.why_passed_by(unpublished)[0]


@pytest.mark.usefixtures("backfilled")
def test_the_sensor_requests_just_what_landed_since_and_once_more_what_is_issued_again(dev: Dagster) -> None:
    for service, month in (
        (Service.GREEN, Month(2024, 1)),
        (Service.GREEN, Month(2024, 2)),
        (Service.YELLOW, Month(2024, 2)),
    ):
        write_month(dev.home.landing, service, month, 2_000)

    dev.start_sensor()
    first = dev.finished_runs_of_the_sensor(2)

    assert sorted((run["tags"]["dagster/partition"], run["tags"]["feeds"]) for run in first) == [
        ("2024-01", "green"),
        ("2024-02", "green,yellow"),
    ]
    assert {run["status"] for run in first} == {"SUCCESS"}
    assert [len(tick["runIds"]) for tick in dev.ticks_with_runs()] == [2]
    # The newest come first. Once the runs have ended, a later tick may have drawn the picture anew.
    *_, first_picture = dev.server.ask(_STATUS)["assetOrError"]["assetObservations"]
    assert "| 2024-02 | ↓ landed | ↓ landed |" in first_picture["metadataEntries"][0]["mdStr"]

    write_month(dev.home.landing, Service.YELLOW, Month(2024, 2), 1_000, seed=1)
    runs = dev.finished_runs_of_the_sensor(3)

    assert [len(tick["runIds"]) for tick in dev.ticks_with_runs()] == [1, 2]
    again = runs[0]
    assert (again["tags"]["dagster/partition"], again["tags"]["feeds"], again["status"]) == (
        "2024-02",
        "yellow",
        "SUCCESS",
    )
    assert ["tlc_bronze", "green_trips"] not in [key["path"] for key in again["assetSelection"]]
    stored = contents(dev.home.lake, ["2024-02"])
    assert stored["tlc_bronze/yellow_trips"].height == 1_000
    assert stored["tlc_bronze/green_trips"].height == 2_000


def test_runs_of_the_ui_and_of_the_command_line_of_one_month_at_once_leave_it_whole_and_once(dev: Dagster) -> None:
    month, rows = "2023-09", 20_000
    write_month(dev.home.landing, Service.GREEN, Month.parse(month), rows)

    # The queue lets one of the UI's go first; the command line doesn't ask it.
    launched = dev.launch_runs("tlc_green", [month, month])
    started = [dev.home.start("materialize", "--json", "--service", "green", month) for _ in range(2)]

    reports = [report_of(process) for process in started]
    ended, _ = dev.ends_of(launched)
    assert [run["status"] for run in ended] == ["SUCCESS"] * 2
    assert [(report["state"], report["failures"]) for (report,) in reports] == [("done", [])] * 2
    stored = contents(dev.home.lake, [month])
    silver = stored["tlc_silver/green_trips"].height + stored["tlc_silver/green_trips_quarantine"].height
    assert stored["tlc_bronze/green_trips"].height == silver == rows
    checks = dev.home.report("checks", month)
    assert {row["status"] for row in checks if row["table"].startswith("tlc_gold")} == {"passed"}
