"""Checks of what is stored, run alone on a lake that was damaged by hand: which damage fails which, and no others."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

import dagster as dg
import polars as pl
import pytest
from deltalake import DeltaTable, write_deltalake

from taxi_assets.check_history import latest_results
from taxi_assets.contracts import Contract
from taxi_assets.definitions import build_defs
from taxi_assets.lake.metadata import asset_key
from taxi_assets.places import lake_of, landing_of
from taxi_assets.settings import Settings
from taxi_assets.tlc.bronze.green_trips import GreenTrips
from taxi_assets.tlc.bronze.zones import Zones
from taxi_assets.tlc.checks import all_checks
from taxi_assets.tlc.gold.fact_top_zones import FactTopZones
from taxi_assets.tlc.gold.fact_trips_borough_hour import FactTripsBoroughHour
from taxi_assets.tlc.gold.nyc_taxi_daily import NycTaxiDaily
from taxi_assets.tlc.silver.dim_zone import DimZone
from taxi_assets.tlc.silver.green_trips import GreenTrips as SilverGreenTrips
from taxi_assets.tlc.silver.green_trips import GreenTripsQuarantine
from taxi_assets_tests.lake.conftest import RunMonth
from taxi_assets_tests.scenario import MONTH

pytestmark = pytest.mark.full

RECONCILED = {
    f"{name}: reconciles_with_silver" for name in ("fact_top_zones", "fact_trips_borough_hour", "nyc_taxi_daily")
}


@pytest.fixture
def settings(month: RunMonth, tmp_path: Path) -> Settings:
    """A copy of the month's lake, to be damaged."""
    shutil.copytree(month.workspace.settings.lake_root, tmp_path / "lake")
    return month.workspace.settings.model_copy(update={"lake_root": str(tmp_path / "lake")})


def add_row(settings: Settings, contract: type[Contract], **changes: Any) -> None:
    """Append the first row of a table to it once more, with some values changed."""
    table = DeltaTable(lake_of(settings).location(contract).uri)
    row = pl.from_arrow(table.to_pyarrow_table()).head(1)  # type: ignore[union-attr]
    changed = row.with_columns(pl.lit(value).cast(row.schema[name]).alias(name) for name, value in changes.items())
    write_deltalake(table, changed.to_arrow(), mode="append")


def run_checks(
    settings: Settings, instance: dg.DagsterInstance, layer: str = ""
) -> tuple[bool, dict[str, dg.AssetCheckEvaluation]]:
    """Run the checks of all tables that there are (of a layer) alone: whether that went well, and which failed."""
    every = {key for check in all_checks(landing_of(settings)) for key in check.check_keys}
    there = {key for key in every if Path(settings.lake_root, *key.asset_key.path, "_delta_log").exists()}
    keys = {key for key in there if layer in key.asset_key.path[0]}
    job = (
        build_defs(settings).resolve_job_def("tlc_month").get_subset(asset_selection=set(), asset_check_selection=keys)
    )
    tags = {"dagster/partition": str(MONTH)}
    result = job.execute_in_process(instance=instance, tags=tags, raise_on_error=False)
    found = result.get_asset_check_evaluations()
    assert found
    return result.success, {f"{one.asset_key.path[-1]}: {one.check_name}": one for one in found if not one.passed}


def test_nothing_fails_on_a_lake_that_is_whole(settings: Settings, instance: dg.DagsterInstance) -> None:
    assert run_checks(settings, instance) == (True, {})


@pytest.mark.parametrize(
    ("damage", "failing"),
    [
        (lambda s: add_row(s, GreenTrips), {"green_trips: rows_accounted_for"}),
        (lambda s: add_row(s, GreenTripsQuarantine), {"green_trips: rows_accounted_for"}),
        (lambda s: add_row(s, SilverGreenTrips), {"green_trips: rows_accounted_for"}),
        (
            lambda s: add_row(s, SilverGreenTrips, fare_amount=-1),
            {"green_trips: rows_accounted_for", "green_trips: matches_contract"},
        ),
        (
            lambda s: add_row(s, SilverGreenTrips, pickup_zone=None),
            {"green_trips: rows_accounted_for", "green_trips: matches_contract"},
        ),
        (
            lambda s: add_row(s, SilverGreenTrips, pickup_location_id=999),
            {"green_trips: rows_accounted_for", "green_trips: no_orphans_in_dim_zone"},
        ),
        (
            lambda s: add_row(s, SilverGreenTrips, payment_type=42),
            {"green_trips: rows_accounted_for", "green_trips: no_orphans_in_dim_payment"},
        ),
        (lambda s: add_row(s, Zones), {"zones: unique_keys"}),
        (lambda s: add_row(s, DimZone), {"dim_zone: unique_keys"}),
        (lambda s: add_row(s, DimZone, location_id=None), {"dim_zone: matches_contract"}),
        (lambda s: add_row(s, FactTopZones), {"fact_top_zones: unique_keys", "fact_top_zones: reconciles_with_silver"}),
        (
            lambda s: add_row(s, FactTopZones, pickup_location_id=7, trip_count=0, total_revenue="0.01"),
            {"fact_top_zones: reconciles_with_silver"},
        ),
        (lambda s: add_row(s, NycTaxiDaily, trip_date=date(2024, 1, 31)), {"nyc_taxi_daily: reconciles_with_silver"}),
        (
            lambda s: add_row(s, FactTripsBoroughHour, pickup_borough="Atlantis", trip_count=0, total_revenue=0),
            {"fact_trips_borough_hour: no_orphans_in_zones"},
        ),
        (
            lambda s: add_row(s, FactTopZones, source_month=date(2024, 2, 1)),
            set(),
        ),
    ],
    ids=[
        "a row more in bronze",
        "a row more in quarantine",
        "a row more in silver",
        "silver breaks a rule",
        "silver lacks a value",
        "silver names no zone",
        "silver names no payment",
        "a zone twice",
        "a member twice",
        "a member without key",
        "gold's row twice",
        "a cent too much",
        "a day too much",
        "a borough of no zone",
        "damage to another month",
    ],
)
def test_damage_fails_just_the_checks_that_are_about_it(
    settings: Settings, instance: dg.DagsterInstance, damage: Callable[[Settings], None], failing: set[str]
) -> None:
    damage(settings)
    success, failed = run_checks(settings, instance)
    assert set(failed) == failing
    assert success == (not failing)
    assert all(one.severity is dg.AssetCheckSeverity.ERROR and one.blocking for one in failed.values())


def test_gold_is_not_checked_where_silver_fails_its_check(settings: Settings, instance: dg.DagsterInstance) -> None:
    add_row(settings, SilverGreenTrips)
    assert set(run_checks(settings, instance)[1]) == {"green_trips: rows_accounted_for"}
    assert set(run_checks(settings, instance, layer="gold")[1]) == RECONCILED


def test_a_failing_check_says_in_figures_what_is_wrong(settings: Settings, instance: dg.DagsterInstance) -> None:
    add_row(settings, SilverGreenTrips, fare_amount=-1, total_amount="0.01")
    _, failed = run_checks(settings, instance, layer="silver")
    assert failed["green_trips: matches_contract"].description == "1 rows break positive_fare_amount"
    # Of green's 20 rows 18 were kept and 2 quarantined; green's 18 and yellow's 9 trips cost 20 dollars each.
    assert failed["green_trips: rows_accounted_for"].description == "bronze 20; kept 19; quarantined 2"
    _, failed = run_checks(settings, instance, layer="gold")
    figures = {name: value.value for name, value in failed["fact_top_zones: reconciles_with_silver"].metadata.items()}
    assert figures == {
        "gold_trips": 27,
        "silver_trips": 28,
        "gold_revenue": "540.00",
        "silver_revenue": "540.01",
        "silver_trips_without_total": 0,
    }


def run_alone(settings: Settings, instance: dg.DagsterInstance, table: type[Contract]) -> dg.ExecuteInProcessResult:
    """Run the stored checks of a table as "Execute all" in the UI does: of no partition."""
    keys = {
        key
        for check in all_checks(landing_of(settings))
        for key in check.check_keys
        if key.asset_key == asset_key(table)
    }
    job = build_defs(settings).resolve_implicit_global_asset_job_def()
    subset = job.get_subset(asset_selection=set(), asset_check_selection=keys)
    return subset.execute_in_process(instance=instance, raise_on_error=False)


def test_checks_of_no_partition_look_at_the_newest_that_is_stored_and_are_recorded_as_of_it(
    settings: Settings, instance: dg.DagsterInstance
) -> None:
    result = run_alone(settings, instance, SilverGreenTrips)
    assert result.success
    keys = {evaluation.asset_check_key for evaluation in result.get_asset_check_evaluations()}
    assert len(keys) == 4
    found = latest_results(instance, sorted(keys), str(MONTH))
    assert [one.status for one in found] == ["passed"] * 4
    assert {one.says.partition(": ")[0] for one in found} == {f"{MONTH}, the newest that is stored"}
    latest = instance.event_log_storage.get_latest_asset_check_execution_by_key(sorted(keys))
    assert {record.partition for record in latest.values()} == {str(MONTH)}


def test_a_check_of_no_partition_that_fails_fails_its_run_and_is_recorded_for_the_month(
    settings: Settings, instance: dg.DagsterInstance
) -> None:
    add_row(settings, SilverGreenTrips)
    result = run_alone(settings, instance, SilverGreenTrips)
    assert not result.success
    (key,) = {one.asset_check_key for one in result.get_asset_check_evaluations() if not one.passed}
    assert key.name == "rows_accounted_for"
    (found,) = latest_results(instance, [key], str(MONTH))
    assert (found.status, found.says.partition(": ")[2]) == ("failed", "bronze 20; kept 19; quarantined 2")


def test_a_check_of_no_partition_of_a_table_that_holds_nothing_is_one_line(
    settings: Settings, instance: dg.DagsterInstance
) -> None:
    shutil.rmtree(Path(settings.lake_root, *asset_key(SilverGreenTrips).path))
    result = run_alone(settings, instance, SilverGreenTrips)
    (failed,) = (event for event in result.all_events if event.is_step_failure)
    assert failed.step_failure_data.user_failure_data.description == (  # type: ignore[union-attr]
        "tlc_silver/green_trips holds nothing to be checked yet. Materialize a partition first."
    )
