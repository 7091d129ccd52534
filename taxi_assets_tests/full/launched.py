"""What an engineer asks of Dagster in the UI: runs, backfills and the sensor's runs, launched and waited for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from taxi_assets_tests.full.processes import MINUTE, Home, Server, wait_for

REPOSITORY = {"repositoryName": "__repository__", "repositoryLocationName": "taxi_assets"}
OVER = {"SUCCESS", "FAILURE", "CANCELED"}
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
_LAUNCH_RUNS = """
mutation ($runs: [ExecutionParams!]!) {
  launchMultipleRuns(executionParamsList: $runs) {
    ... on LaunchMultipleRunsResult { launchMultipleRunsResult { ... on LaunchRunSuccess { run { runId } } } }
    ... on PythonError { message }
  }
}"""
START_SENSOR = """
mutation ($sensor: SensorSelector!) { startSensor(sensorSelector: $sensor) { __typename } }"""
TICKS = """
query ($sensor: SensorSelector!) {
  sensorOrError(sensorSelector: $sensor) { ... on Sensor { sensorState { ticks { status runIds skipReason } } } }
}"""
_RUNS = """
query ($filter: RunsFilter) {
  runsOrError(filter: $filter) {
    ... on Runs { results { runId status rootRunId startTime endTime tags { key value } assetSelection { path } } }
  }
}"""

_PASSED_BY = """
query ($partitions: [String!]) {
  assetOrError(assetKey: {path: ["tlc_bronze", "green_trips"]}) { ... on Asset {
    assetObservations(partitions: $partitions) { metadataEntries { ... on TextMetadataEntry { text } } }
} } }"""


@dataclass(frozen=True)
class Dagster:
    """A web server beside a running daemon, and the home that both work on."""

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

    def launch_runs(self, job: str, months: Sequence[str], **tags: str) -> list[str]:
        """Launch runs of a job together, one for each month, and return their ids."""
        runs = [
            {
                "selector": {**REPOSITORY, "jobName": job},
                "executionMetadata": {
                    "tags": [
                        {"key": key, "value": value} for key, value in {"dagster/partition": month, **tags}.items()
                    ]
                },
            }
            for month in months
        ]
        launched = self.server.ask(_LAUNCH_RUNS, runs=runs)["launchMultipleRuns"]
        return [one["run"]["runId"] for one in launched["launchMultipleRunsResult"]]

    def ends_of(self, run_ids: Sequence[str]) -> tuple[list[dict[str, Any]], int]:
        """Wait until runs have ended; return them, and the most of them that were seen going on at once."""
        most = 0

        def ended() -> list[dict[str, Any]] | None:
            nonlocal most
            runs = self._runs({"runIds": run_ids})
            most = max(most, sum(run["status"] in {"STARTING", "STARTED"} for run in runs))
            return runs if all(run["status"] in OVER for run in runs) else None

        return wait_for(ended, f"{len(run_ids)} runs; the server's log: {self.server.log}", 8 * MINUTE), most

    def why_passed_by(self, month: str) -> list[str]:
        """List what the UI shows with a month of green's bronze of why it was passed by, the newest first."""
        found = self.server.ask(_PASSED_BY, partitions=[month])["assetOrError"]["assetObservations"]
        return [entry["text"] for observed in found for entry in observed["metadataEntries"] if "text" in entry]

    def ticks_with_runs(self) -> list[dict[str, Any]]:
        """List the sensor's ticks that requested runs, the newest first."""
        ticks = self.server.ask(TICKS, sensor=SENSOR)["sensorOrError"]["sensorState"]["ticks"]
        assert all(tick["status"] != "FAILURE" for tick in ticks), ticks
        return [tick for tick in ticks if tick["runIds"]]

    def start_sensor(self, name: str = SENSOR["sensorName"]) -> None:
        """Switch a sensor on: landing's, unless told otherwise."""
        self.server.ask(START_SENSOR, sensor={**SENSOR, "sensorName": name})

    def runs_tagged(self, key: str, value: str) -> list[dict[str, Any]]:
        """List the runs that have a tag, the newest first, each with its tags as a dictionary."""
        return self._runs({"tags": [{"key": key, "value": value}]})

    def _runs(self, wanted: Mapping[str, Any]) -> list[dict[str, Any]]:
        runs = self.server.ask(_RUNS, filter=wanted)["runsOrError"]["results"]
        return [{**run, "tags": {tag["key"]: tag["value"] for tag in run["tags"]}} for run in runs]

    def runs_of_the_sensor(self) -> list[dict[str, Any]]:
        """List the runs that the sensor requested, the newest first."""
        return self.runs_tagged("dagster/sensor_name", "tlc_landing")

    def finished_runs_of_the_sensor(self, count: int) -> list[dict[str, Any]]:
        """Wait until that many runs have ended, and return all there are."""

        def ended() -> list[dict[str, Any]] | None:
            runs = self.runs_of_the_sensor()
            over = [run for run in runs if run["status"] in OVER]
            return runs if len(over) >= count else None

        return wait_for(ended, f"{count} runs of the sensor; the server's log: {self.server.log}", 3 * MINUTE)
