"""The nightly job of maintenance: what a run tells of each table, and that one that fails leaves the others."""

from __future__ import annotations

from pathlib import Path

import dagster as dg
import pytest

from taxi_assets.catalogs import contracts
from taxi_assets.definitions import build_defs, defs
from taxi_assets.jobs import MAINTENANCE
from taxi_assets.lake.metadata import asset_key
from taxi_assets.tlc.silver.green_trips import GreenTrips
from taxi_assets.tlc.silver.yellow_trips import YellowTrips
from taxi_assets.tlc.vocabulary import Service
from taxi_assets_tests.scenario import Workspace, trips

pytestmark = pytest.mark.full


@pytest.fixture
def stored(workspace: Workspace) -> Workspace:
    """A lake with a month of two services."""
    for service in (Service.GREEN, Service.YELLOW):
        workspace.land(service, trips(5))
    result = workspace.run()
    assert result.success, workspace.failures(result)
    return workspace


def run_maintenance(workspace: Workspace) -> dg.ExecuteInProcessResult:
    job = build_defs(workspace.settings).resolve_job_def(MAINTENANCE)
    return job.execute_in_process(instance=workspace.instance, raise_on_error=False)


def test_the_job_shows_what_it_did_beside_each_table(stored: Workspace) -> None:
    result = run_maintenance(stored)

    assert result.success, stored.failures(result)
    (record,) = stored.instance.fetch_observations(asset_key(GreenTrips), limit=10).records
    assert record.asset_observation is not None
    figures = {name: value.value for name, value in record.asset_observation.metadata.items()}
    assert figures["files_before"] == figures["files_after"] == 1
    assert figures["version_after"] == stored.lake.location(GreenTrips).version()
    assert {"bytes_before", "bytes_after", "log_entries_before", "log_entries_after"} <= figures.keys()
    assert figures["files_to_delete_by_dry_run"] == figures["files_deleted"] == 0


def test_a_table_that_fails_leaves_the_others_and_the_run_says_which(stored: Workspace) -> None:
    damaged = Path(stored.lake.location(GreenTrips).uri) / "_delta_log" / "00000000000000000001.json"
    damaged.write_text('{"torn')

    result = run_maintenance(stored)

    assert [event.step_key for event in result.all_events if event.is_step_failure] == [
        "maintain__tlc_silver__green_trips"
    ]
    assert "green_trips" in stored.failures(result)[0]
    assert stored.instance.fetch_observations(asset_key(YellowTrips), limit=1).records


def test_the_job_has_a_step_for_each_table() -> None:
    steps = {f"maintain__{'__'.join(contract.stored_as().path)}" for contract in contracts()}

    assert {node.name for node in defs.resolve_job_def(MAINTENANCE).nodes} == steps


def test_the_schedule_is_nightly_in_a_zone_that_it_names_and_off_until_it_is_switched_on() -> None:
    schedule = defs.resolve_schedule_def("nightly_maintenance")

    assert (schedule.job_name, schedule.cron_schedule, schedule.execution_timezone, schedule.default_status) == (
        MAINTENANCE,
        "0 4 * * *",
        "UTC",
        dg.DefaultScheduleStatus.STOPPED,
    )
