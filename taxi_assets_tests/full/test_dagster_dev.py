"""What needs Dagster's daemon: backfills as the UI launches them, and the sensor, on what `make ui` starts."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

from taxi_assets.months import Month
from taxi_assets.sample import write_month
from taxi_assets.tlc.blocked_months import BLOCKED_MONTHS
from taxi_assets.tlc.catalog import keys_for
from taxi_assets.vocabulary import Service
from taxi_assets_tests.full.conftest import SevenMonths
from taxi_assets_tests.full.processes import (
    MINUTE,
    Home,
    Server,
    assert_equal_contents,
    contents,
    first_day,
    serving,
    wait_for,
)

pytestmark = pytest.mark.full

OF_ASSETS, OF_A_JOB = ("2021-01", "2021-02"), ("2022-02", "2022-03")
REPOSITORY = {"repositoryName": "__repository__", "repositoryLocationName": "taxi_assets"}
SENSOR = {**REPOSITORY, "sensorName": "tlc_landing"}

_LAUNCH = """
mutation ($backfill: LaunchBackfillParams!) {
  launchPartitionBackfill(backfillParams: $backfill) {
    __typename
    ... on LaunchBackfillSuccess { backfillId }
    ... on PythonError { message }
  }
}"""
_BACKFILL = """
query ($id: String!) { partitionBackfillOrError(backfillId: $id) { ... on PartitionBackfill { status } } }"""
_START_SENSOR = """
mutation ($sensor: SensorSelector!) { startSensor(sensorSelector: $sensor) { __typename } }"""
_TICKS = """
query ($sensor: SensorSelector!) {
  sensorOrError(sensorSelector: $sensor) { ... on Sensor { sensorState { ticks { status runIds skipReason } } } }
}"""
_RUNS = """
query ($filter: RunsFilter) {
  runsOrError(filter: $filter) {
    ... on Runs { results { runId status tags { key value } assetSelection { path } } }
  }
}"""
_STATUS = """
{ assetOrError(assetKey: {path: ["tlc_landing", "status"]}) { ... on Asset {
    assetObservations(limit: 1) { metadataEntries { ... on MarkdownMetadataEntry { mdStr } } }
} } }"""

_PASSED_BY = """
query ($partitions: [String!]) {
  assetOrError(assetKey: {path: ["tlc_bronze", "green_trips"]}) { ... on Asset {
    assetObservations(partitions: $partitions) { metadataEntries { ... on TextMetadataEntry { text } } }
} } }"""


@dataclass(frozen=True)
class Dev:
    """A running `dagster dev`, and the home that it works on."""

    server: Server
    home: Home

    def launch_backfill(self, **parameters: Any) -> str:
        """Launch a backfill, and return its id."""
        launched = self.server.ask(_LAUNCH, backfill=parameters)["launchPartitionBackfill"]
        assert launched["__typename"] == "LaunchBackfillSuccess", launched
        return str(launched["backfillId"])

    def end_of_backfill(self, backfill_id: str) -> str:
        """Wait for a backfill's end, and return its status."""

        def ended() -> str | None:
            found = self.server.ask(_BACKFILL, id=backfill_id)["partitionBackfillOrError"]
            return str(found["status"]) if found["status"].startswith(("COMPLETED", "CANCELED", "FAILED")) else None

        return wait_for(ended, f"the backfill; the server's log: {self.server.log}", 4 * MINUTE)

    def why_passed_by(self, month: str) -> list[str]:
        """List what the UI shows with a month of green's bronze of why it was passed by, the newest first."""
        found = self.server.ask(_PASSED_BY, partitions=[month])["assetOrError"]["assetObservations"]
        return [entry["text"] for observed in found for entry in observed["metadataEntries"] if "text" in entry]

    def ticks_with_runs(self) -> list[dict[str, Any]]:
        """List the sensor's ticks that requested runs, the newest first."""
        ticks = self.server.ask(_TICKS, sensor=SENSOR)["sensorOrError"]["sensorState"]["ticks"]
        assert all(tick["status"] != "FAILURE" for tick in ticks), ticks
        return [tick for tick in ticks if tick["runIds"]]

    def runs_of_the_sensor(self) -> list[dict[str, Any]]:
        """List the runs that the sensor requested, the newest first, each with its tags as a dictionary."""
        wanted = {"tags": [{"key": "dagster/sensor_name", "value": "tlc_landing"}]}
        runs = self.server.ask(_RUNS, filter=wanted)["runsOrError"]["results"]
        return [{**run, "tags": {tag["key"]: tag["value"] for tag in run["tags"]}} for run in runs]

    def finished_runs_of_the_sensor(self, count: int) -> list[dict[str, Any]]:
        """Wait until that many runs have ended, and return all there are."""

        def ended() -> list[dict[str, Any]] | None:
            runs = self.runs_of_the_sensor()
            over = [run for run in runs if run["status"] in {"SUCCESS", "FAILURE", "CANCELED"}]
            return runs if len(over) >= count else None

        return wait_for(ended, f"{count} runs of the sensor; the server's log: {self.server.log}", 3 * MINUTE)


@pytest.fixture(scope="module")
def dev(real_data: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Dev]:
    """Return a `dagster dev` on four real months that have landed, configured as `make ui` does it."""
    home = Home.below(tmp_path_factory.mktemp("dagster-dev"))
    for month in (*OF_ASSETS, *OF_A_JOB):
        shutil.copy(real_data / "tlc" / "parquet" / f"green_tripdata_{month}.parquet", home.landing)
    shutil.copy(str(files("taxi_assets") / "dagster.yaml"), home.dagster)
    with serving(home, "dagster", "dev") as server:
        yield Dev(server, home)


@pytest.fixture(scope="module")
def backfilled(dev: Dev) -> dict[str, str]:
    """Backfill two months by choosing assets and two by a job, as the UI offers it, and return how each ended."""
    assets = [{"path": list(key.path)} for key in keys_for([Service.GREEN])]
    job = {"partitionSetName": "tlc_green_partition_set", "repositorySelector": REPOSITORY}
    launched = {
        "assets": dev.launch_backfill(assetSelection=assets, partitionNames=list(OF_ASSETS)),
        "job": dev.launch_backfill(selector=job, partitionNames=list(OF_A_JOB)),
    }
    return {name: dev.end_of_backfill(backfill_id) for name, backfill_id in launched.items()}


def test_a_backfill_over_a_range_gives_the_same_tables_as_one_month_after_the_other(
    backfilled: dict[str, str], dev: Dev, seven_months: SevenMonths
) -> None:
    months = [*OF_ASSETS, *OF_A_JOB]

    assert backfilled == {"assets": "COMPLETED_SUCCESS", "job": "COMPLETED_SUCCESS"}
    assert_equal_contents(contents(dev.home.lake, months), contents(seven_months.home.lake, months))


@pytest.mark.parametrize(
    ("how", "ends"), [("job", "COMPLETED_SUCCESS"), ("assets", "COMPLETED_FAILED")], ids=["job", "assets"]
)
def test_a_backfill_over_a_blocked_and_an_unpublished_month_ends_with_green_runs_and_says_of_both_why(
    dev: Dev, how: str, ends: str
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
    tags = {"tags": [{"key": "dagster/backfill", "value": backfill}]}
    runs = dev.server.ask(_RUNS, filter=tags)["runsOrError"]["results"]
    assert [run["status"] for run in runs] == ["SUCCESS"] * 3
    stored = contents(dev.home.lake, list(months))
    for table in ("tlc_bronze/green_trips", "tlc_silver/green_trips", "tlc_gold/nyc_taxi_daily"):
        assert set(stored[table]["source_month"]) == {first_day(good)}, table
    assert dev.why_passed_by(good) == []
    assert "green 2023-06 is blocked (blocked_months.txt): Fares are in cents." in dev.why_passed_by(blocked)[0]
    assert "There is no green file for 2023-07" in dev.why_passed_by(unpublished)[0]


@pytest.mark.usefixtures("backfilled")
def test_the_sensor_requests_just_what_landed_since_and_once_more_what_is_issued_again(dev: Dev) -> None:
    for service, month in (
        (Service.GREEN, Month(2024, 1)),
        (Service.GREEN, Month(2024, 2)),
        (Service.YELLOW, Month(2024, 2)),
    ):
        write_month(dev.home.landing, service, month, 2_000)

    dev.server.ask(_START_SENSOR, sensor=SENSOR)
    first = dev.finished_runs_of_the_sensor(2)

    assert sorted((run["tags"]["dagster/partition"], run["tags"]["services"]) for run in first) == [
        ("2024-01", "green"),
        ("2024-02", "green,yellow"),
    ]
    assert {run["status"] for run in first} == {"SUCCESS"}
    assert [len(tick["runIds"]) for tick in dev.ticks_with_runs()] == [2]
    (observed,) = dev.server.ask(_STATUS)["assetOrError"]["assetObservations"]
    assert "| 2024-02 | landed | landed |" in observed["metadataEntries"][0]["mdStr"]

    write_month(dev.home.landing, Service.YELLOW, Month(2024, 2), 1_000, seed=1)
    runs = dev.finished_runs_of_the_sensor(3)

    assert [len(tick["runIds"]) for tick in dev.ticks_with_runs()] == [1, 2]
    again = runs[0]
    assert (again["tags"]["dagster/partition"], again["tags"]["services"], again["status"]) == (
        "2024-02",
        "yellow",
        "SUCCESS",
    )
    assert ["tlc_bronze", "green_trips"] not in [key["path"] for key in again["assetSelection"]]
    stored = contents(dev.home.lake, ["2024-02"])
    assert stored["tlc_bronze/yellow_trips"].height == 1_000
    assert stored["tlc_bronze/green_trips"].height == 2_000
