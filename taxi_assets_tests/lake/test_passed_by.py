"""Runs of months that are blocked or not in landing: nothing of them is stored, nothing fails, the rest is complete."""

from __future__ import annotations

from pathlib import Path

import dagster as dg
import pytest

from taxi_assets.instance import open_instance
from taxi_assets.lake.metadata import asset_key
from taxi_assets.tlc.bronze.trips import BRONZE_TRIPS
from taxi_assets.tlc.bronze.zones import Zones
from taxi_assets.tlc.gold.nyc_taxi_daily import NycTaxiDaily
from taxi_assets.tlc.silver.dim_base import DimBase
from taxi_assets.tlc.silver.dim_payment import DimPayment
from taxi_assets.tlc.silver.dim_zone import DimZone
from taxi_assets.tlc.silver.trips import QUARANTINES, SILVER_TRIPS
from taxi_assets.tlc.vocabulary import Service
from taxi_assets_tests.scenario import BLOCKED_MONTHS, MONTH, Workspace, keys_for, trips

pytestmark = pytest.mark.full

GREEN = (BRONZE_TRIPS[Service.GREEN], SILVER_TRIPS[Service.GREEN], QUARANTINES[Service.GREEN])


def good(result: dg.ExecuteInProcessResult, workspace: Workspace) -> None:
    assert result.success, workspace.failures(result)


def block(workspace: Workspace, line: str = f"green {MONTH} Fares are in cents.") -> None:
    (workspace.landing / BLOCKED_MONTHS).write_text(line)


def stored_by(result: dg.ExecuteInProcessResult) -> set[str]:
    return {event.asset_key.to_user_string() for event in result.get_asset_materialization_events() if event.asset_key}


def checked_by(result: dg.ExecuteInProcessResult) -> set[str]:
    return {evaluation.asset_key.to_user_string() for evaluation in result.get_asset_check_evaluations()}


def reasons(workspace: Workspace, service: Service) -> list[str]:
    """Return why months of a service's bronze were passed by, as the UI shows it with the partition, newest first."""
    asked = dg.AssetRecordsFilter(asset_key(BRONZE_TRIPS[service]), asset_partitions=[str(MONTH)])
    found = [record.asset_observation for record in workspace.instance.fetch_observations(asked, limit=10).records]
    return [str(observed.metadata["passed_by"].value) for observed in found if observed]


def test_of_a_blocked_month_nothing_is_stored_or_checked_and_the_run_says_why_and_is_green(
    workspace: Workspace,
) -> None:
    workspace.land(Service.GREEN, trips(10))
    block(workspace)
    result = workspace.run(Service.GREEN)
    good(result, workspace)
    assert stored_by(result) == checked_by(result) == {asset_key(Zones).to_user_string()}
    assert reasons(workspace, Service.GREEN) == [
        "green 2024-01 is blocked (blocked_months.txt): Fares are in cents. Its tables stay as they are."
    ]


def test_a_run_of_all_services_stores_those_that_are_there_and_gold_and_dimensions_of_these(
    workspace: Workspace,
) -> None:
    workspace.land(Service.GREEN, trips(10))
    workspace.land(Service.YELLOW, trips(12))
    block(workspace)
    result = workspace.run(*Service)
    good(result, workspace)
    yellow = [asset_key(tables[Service.YELLOW]) for tables in (BRONZE_TRIPS, SILVER_TRIPS, QUARANTINES)]
    stored = {key.to_user_string() for key in (*yellow, asset_key(DimZone), asset_key(DimPayment))}
    assert stored <= stored_by(result)
    assert not stored_by(result) & {asset_key(table).to_user_string() for table in (*GREEN, DimBase)}
    assert stored_by(result) == checked_by(result)
    assert set(workspace.table(NycTaxiDaily)["service_type"]) == {"yellow"}
    assert "There is no fhv file for 2024-01" in reasons(workspace, Service.FHV)[0]


def test_a_month_that_no_service_has_is_a_green_run_that_stores_its_zones_alone(workspace: Workspace) -> None:
    result = workspace.run(*Service)
    good(result, workspace)
    assert stored_by(result) == {asset_key(Zones).to_user_string()}


def test_a_stored_month_that_is_blocked_stays_as_it_is_in_every_table(workspace: Workspace) -> None:
    workspace.land(Service.GREEN, trips(10))
    good(workspace.run(Service.GREEN), workspace)
    tables = (*GREEN, NycTaxiDaily, DimZone)
    before = {table: workspace.table(table) for table in tables}
    workspace.land(Service.GREEN, trips(11, fare_amount=1300.0))
    block(workspace)
    result = workspace.run(Service.GREEN)
    good(result, workspace)
    assert not stored_by(result) & {asset_key(table).to_user_string() for table in GREEN}
    assert all(workspace.table(table).equals(before[table]) for table in tables)


def test_a_month_that_is_blocked_no_more_is_stored(workspace: Workspace) -> None:
    workspace.land(Service.GREEN, trips(10))
    block(workspace)
    good(workspace.run(Service.GREEN), workspace)
    block(workspace, "")
    good(workspace.run(Service.GREEN), workspace)
    assert workspace.table(NycTaxiDaily)["trip_count"].sum() == 10


def test_gold_alone_of_a_month_that_isnt_stored_is_still_an_error(workspace: Workspace) -> None:
    result = workspace.run_alone(NycTaxiDaily)
    assert not result.success
    assert "Materialize that partition of one of them first" in workspace.failures(result)[0]


def test_a_run_that_goes_on_where_another_one_failed_knows_what_that_one_passed_by(tmp_path: Path) -> None:
    with open_instance(str(tmp_path / "home")) as instance:
        workspace = Workspace.below(tmp_path, instance)
        block(workspace)
        # Silver needs bronze, which is passed by, and zones, whose step fails.
        lookup = workspace.landing / "taxi_zone_lookup.csv"
        lookup.write_text("no,lookup\n1,2\n")
        job, tags = workspace.job, {"dagster/partition": str(MONTH)}
        first = dg.execute_job(job, instance, tags=tags, asset_selection=keys_for([Service.GREEN]))
        assert not first.success
        assert len(reasons(workspace, Service.GREEN)) == 1
        # It fails once more, so that what was passed by stands two runs back.
        again = dg.ReexecutionOptions.from_failure(first.run_id, instance)
        second = dg.execute_job(job, instance, tags=tags, reexecution_options=again)
        assert not second.success
        lookup.unlink()
        again = dg.ReexecutionOptions.from_failure(second.run_id, instance)
        third = dg.execute_job(job, instance, tags=tags, reexecution_options=again)
        assert [event.message for event in third.all_events if event.is_step_failure] == []
        assert third.success
        assert len(reasons(workspace, Service.GREEN)) == 1
        assert {event.asset_key for event in third.all_events if event.is_step_materialization} == {asset_key(Zones)}
