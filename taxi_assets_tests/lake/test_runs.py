"""Months run one after the other into one lake: what a run touches, what it leaves alone, and what stops it."""

from __future__ import annotations

import json
from pathlib import Path

import dagster as dg
import polars as pl
import pytest

from taxi_assets.calendars import Month
from taxi_assets.check_history import CheckResult, latest_results
from taxi_assets.contracts import Contract
from taxi_assets.definitions import build_defs
from taxi_assets.lake.metadata import WITHIN_PUBLISH_LIMIT, asset_key
from taxi_assets.tlc.bronze.trips import BRONZE_TRIPS
from taxi_assets.tlc.bronze.zones import Zones
from taxi_assets.tlc.gold.fact_top_zones import FactTopZones
from taxi_assets.tlc.gold.fact_trips_borough_hour import FactTripsBoroughHour
from taxi_assets.tlc.gold.nyc_taxi_daily import NycTaxiDaily
from taxi_assets.tlc.silver.dim_payment import DimPayment
from taxi_assets.tlc.silver.dim_zone import DimZone
from taxi_assets.tlc.silver.trips import QUARANTINES, SILVER_TRIPS
from taxi_assets.tlc.vocabulary import METERED, Service
from taxi_assets_tests.scenario import MONTH, Workspace, in_file_columns, trip, trips

pytestmark = pytest.mark.full

NEXT = MONTH.next()
GOLD: tuple[type[Contract], ...] = (FactTripsBoroughHour, FactTopZones, NycTaxiDaily)
# Those of taxis: what runs here are months of these.
BY_MONTH: tuple[type[Contract], ...] = (
    *(trips[service] for trips in (BRONZE_TRIPS, SILVER_TRIPS, QUARANTINES) for service in METERED),
    Zones,
    *GOLD,
)
TABLES: tuple[type[Contract], ...] = (*BY_MONTH, DimZone, DimPayment)


def trips_of(month: Month, count: int, **changes: object) -> list[dict[str, object]]:
    """Return trips of some month; every tenth has no distance and is quarantined."""
    moved = []
    for number, row in enumerate(trips(count, **changes)):
        times = {
            name: row[name].replace(year=month.year, month=month.number)
            for name in ("pickup_datetime", "dropoff_datetime")
        }
        moved.append({**row, **times, "trip_distance": 0.0 if number % 10 == 9 else row["trip_distance"]})
    return moved


def content(workspace: Workspace, tables: tuple[type[Contract], ...] = TABLES) -> dict[str, pl.DataFrame]:
    """Return all rows of tables, but for when they were ingested."""
    found = {}
    for table in tables:
        if workspace.lake.location(table).version() is not None:
            rows = workspace.table(table).drop("ingested_at", strict=False)
            found[table.stored_as().key] = rows.sort([name for name in rows.columns if name != "failed_rules"])
    return found


def files(workspace: Workspace, month: Month) -> set[str]:
    """Return the paths of the data files of a month, of all tables, by their Delta logs."""
    found: set[str] = set()
    for table in BY_MONTH:
        delta = workspace.lake.location(table).open()
        if delta is not None:
            found |= {path for path in delta.file_uris() if f"source_month={month.first_day}" in path}
    return found


def good(result: dg.ExecuteInProcessResult, workspace: Workspace) -> None:
    assert result.success, workspace.failures(result)


def history(workspace: Workspace, month: Month) -> dict[tuple[str, str], CheckResult]:
    keys = sorted(build_defs(workspace.settings).resolve_asset_graph().asset_check_keys)
    return {(result.table, result.name): result for result in latest_results(workspace.instance, keys, str(month))}


def test_running_a_month_again_leaves_every_table_as_it_was(workspace: Workspace) -> None:
    for service in METERED:
        workspace.land(service, trips_of(MONTH, 20))
    good(workspace.run(), workspace)
    before = content(workspace)
    good(workspace.run(), workspace)
    after = content(workspace)
    assert before.keys() == after.keys() == {table.stored_as().key for table in TABLES}
    assert all(before[name].equals(after[name]) for name in before)


def test_a_run_of_a_month_touches_no_file_of_another(workspace: Workspace) -> None:
    for month in (MONTH, NEXT):
        for service in METERED:
            workspace.land(service, trips_of(month, 20), month)
        good(workspace.run(month=month), workspace)
    mine, others = files(workspace, NEXT), files(workspace, MONTH)
    assert len(mine) == len(others) == len(BY_MONTH)
    good(workspace.run(month=NEXT), workspace)
    assert files(workspace, MONTH) == others
    assert files(workspace, NEXT).isdisjoint(mine)


def test_a_shorter_file_of_the_month_takes_the_place_of_the_longer_one(workspace: Workspace) -> None:
    for count in (20, 10):
        workspace.land(Service.GREEN, trips_of(MONTH, count))
        good(workspace.run(Service.GREEN), workspace)
    assert workspace.table(BRONZE_TRIPS[Service.GREEN]).height == 10
    assert workspace.table(SILVER_TRIPS[Service.GREEN]).height == 9
    assert workspace.table(FactTopZones)["trip_count"].to_list() == [9]
    version = workspace.instance.get_latest_materialization_event(asset_key(FactTopZones))
    assert version is not None
    assert version.asset_materialization is not None
    assert version.asset_materialization.metadata["table_version"].value == 2


def test_over_the_publish_limit_the_month_stays_as_it_was_and_the_run_fails(workspace: Workspace) -> None:
    workspace.land(Service.GREEN, trips_of(MONTH, 20))
    good(workspace.run(Service.GREEN), workspace)
    published = (SILVER_TRIPS[Service.GREEN], QUARANTINES[Service.GREEN], *GOLD)
    before = content(workspace, published)
    workspace.land(Service.GREEN, [*trips(9), *trips(11, fare_amount=-1.0, vendor_id=1)])
    result = workspace.run(Service.GREEN)
    assert not result.success
    (message,) = workspace.failures(result)
    assert message.startswith("11 of 20 rows (55.00%) for tlc_silver/green_trips break rules")
    assert "publish limit of 50%" in message
    assert "positive_fare_amount (11)" in message
    assert "Nothing was published" in message
    after = content(workspace, published)
    assert all(before[name].equals(after[name]) for name in before)


def test_over_the_publish_limit_the_limit_and_the_rules_are_recorded_and_nothing_downstream_runs(
    workspace: Workspace,
) -> None:
    workspace.land(Service.GREEN, [*trips(9), *trips(11, fare_amount=-1.0, vendor_id=1)])
    result = workspace.run(Service.GREEN)
    found = history(workspace, MONTH)
    assert found["tlc_silver.green_trips", WITHIN_PUBLISH_LIMIT].status == "failed"
    assert found["tlc_silver.green_trips", "positive_fare_amount"].status == "warned"
    assert found["tlc_silver.green_trips", "positive_fare_amount"].rows_failing == 11
    assert found["tlc_silver.green_trips", "pickup_in_file_month"].status == "passed"
    assert [found["tlc_gold.fact_top_zones", name].status for name in ("unique_keys", "reconciles_with_silver")] == [
        "not run"
    ] * 2
    materialized = {
        event.asset_key for event in result.all_events if event.event_type is dg.DagsterEventType.ASSET_MATERIALIZATION
    }
    assert not materialized & {
        asset_key(table) for table in (SILVER_TRIPS[Service.GREEN], QUARANTINES[Service.GREEN], *GOLD)
    }


def test_a_month_just_within_the_publish_limit_is_published(workspace: Workspace) -> None:
    workspace.land(Service.GREEN, [*trips(10), *trips(10, fare_amount=-1.0, vendor_id=1)])
    good(workspace.run(Service.GREEN), workspace)
    assert workspace.table(SILVER_TRIPS[Service.GREEN]).height == 10
    assert workspace.table(QUARANTINES[Service.GREEN]).height == 10


def test_another_month_runs_after_one_that_was_over_the_limit(workspace: Workspace) -> None:
    workspace.land(Service.GREEN, trips(20, fare_amount=-1.0))
    assert not workspace.run(Service.GREEN).success
    workspace.land(Service.GREEN, trips_of(NEXT, 20), NEXT)
    good(workspace.run(Service.GREEN, month=NEXT), workspace)
    assert workspace.table(NycTaxiDaily)["source_month"].unique().to_list() == [NEXT.first_day]


def test_a_bad_service_doesnt_keep_the_other_service_from_its_silver(workspace: Workspace) -> None:
    workspace.land(Service.YELLOW, trips_of(MONTH, 20))
    workspace.land(Service.GREEN, trips(20, fare_amount=-1.0))
    assert not workspace.run().success
    assert workspace.table(SILVER_TRIPS[Service.YELLOW]).height == 18


def test_gold_holds_one_service_until_the_other_arrives_and_says_so(workspace: Workspace) -> None:
    workspace.land(Service.GREEN, trips_of(MONTH, 20))
    good(workspace.run(Service.GREEN), workspace)
    assert [workspace.table(table)["service_type"].unique().to_list() for table in GOLD] == [["green"]] * 3
    alone = content(workspace, GOLD)

    def told() -> tuple[object, object]:
        event = workspace.instance.get_latest_materialization_event(asset_key(FactTopZones))
        assert event is not None
        assert event.asset_materialization is not None
        metadata = event.asset_materialization.metadata
        return metadata["services"].value, metadata["services_without_this_month"].value

    assert told() == (["green"], ["fhv", "fhvhv", "yellow"])
    workspace.land(Service.YELLOW, trips_of(MONTH, 10))
    good(workspace.run(Service.YELLOW), workspace)
    assert [sorted(workspace.table(table)["service_type"].unique()) for table in GOLD] == [["green", "yellow"]] * 3
    assert sorted(map(str, told()[0])) == ["green", "yellow"]  # type: ignore[call-overload]
    for table in GOLD:
        green = workspace.table(table).filter(pl.col("service_type") == "green")
        assert green.equals(alone[table.stored_as().key])


def in_types_until_2023_01(rows: list[dict[str, object]]) -> pl.DataFrame:
    doubles = ["RatecodeID", "payment_type", "passenger_count"]
    return in_file_columns(Service.GREEN, rows).with_columns(
        pl.col(doubles).cast(pl.Float64), trip_type=pl.lit(1.0), ehail_fee=pl.lit(None)
    )


def in_types_from_2023_02(rows: list[dict[str, object]]) -> pl.DataFrame:
    whole = ["VendorID", "PULocationID", "DOLocationID"]
    return in_file_columns(Service.GREEN, rows).with_columns(
        pl.col(whole).cast(pl.Int32), trip_type=pl.lit(1, pl.Int64), ehail_fee=pl.lit(None, pl.Float64)
    )


def test_months_of_both_eras_types_give_equal_tables_in_either_order(
    tmp_path: Path, instance: dg.DagsterInstance
) -> None:
    old, new = Month(2023, 1), Month(2023, 2)
    found = []
    for number, order in enumerate([(old, new), (new, old)]):
        (tmp_path / str(number)).mkdir()
        workspace = Workspace.below(tmp_path / str(number), instance)
        for month, table in (
            (old, in_types_until_2023_01(trips_of(old, 20))),
            (new, in_types_from_2023_02(trips_of(new, 30))),
        ):
            table.write_parquet(workspace.landing / f"green_tripdata_{month}.parquet")
        for month in order:
            good(workspace.run(Service.GREEN, month=month), workspace)
        # The fingerprint and the path are the file's, and the same for both.
        found.append(content(workspace))
    first, second = found
    assert first.keys() == second.keys()
    assert [name for name in first if not first[name].equals(second[name])] == []
    assert first["tlc_silver/green_trips"].height == 18 + 27
    bronze = first["tlc_bronze/green_trips"]
    assert bronze["payment_type"].unique().to_list() == bronze["trip_type"].unique().to_list() == [1]


def test_a_newer_lookup_in_landing_names_the_zones_of_the_months_that_run_with_it(workspace: Workspace) -> None:
    for month in (MONTH, NEXT):
        workspace.land(Service.GREEN, trips_of(month, 10), month)
    good(workspace.run(Service.GREEN), workspace)
    (workspace.landing / "taxi_zone_lookup.csv").write_text(
        '"LocationID","Borough","Zone","service_zone"\n'
        '132,"Queens","Idlewild","Airports"\n161,"Manhattan","Midtown","Yellow Zone"\n'
    )
    good(workspace.run(Service.GREEN, month=NEXT), workspace)
    named = (
        workspace.table(SILVER_TRIPS[Service.GREEN]).select("source_month", "pickup_zone").unique().sort("source_month")
    )
    assert named.rows() == [(MONTH.first_day, "JFK Airport"), (NEXT.first_day, "Idlewild")]
    zones = workspace.table(DimZone)
    assert zones.height == 265
    assert zones.filter(pl.col("location_id") == 132)["zone"].to_list() == ["Idlewild"]


def test_a_zone_and_a_code_that_tlcs_lists_lack_become_unknown_members_of_the_dimensions(workspace: Workspace) -> None:
    workspace.land(Service.GREEN, [*trips_of(MONTH, 10), trip(pickup_location_id=999, payment_type=42)])
    good(workspace.run(Service.GREEN), workspace)
    assert workspace.table(DimZone).filter(pl.col("location_id") == 999)["zone"].to_list() == ["Unknown"]
    assert workspace.table(DimPayment).filter(pl.col("payment_type") == 42)["payment_name"].to_list() == ["Unknown"]
    found = history(workspace, MONTH)
    assert found["tlc_silver.green_trips", "known_zones"].status == "warned"
    assert found["tlc_silver.green_trips", "no_orphans_in_dim_zone"].status == "passed"


def test_the_log_of_each_stored_file_counts_its_rows_and_bounds_its_values(workspace: Workspace) -> None:
    # Without statistics readers can't skip files, and row counts can't be read from the log.
    workspace.land(Service.GREEN, trips_of(MONTH, 10, fare_amount=12.5))
    good(workspace.run(Service.GREEN), workspace)
    folder = Path(workspace.lake.location(SILVER_TRIPS[Service.GREEN]).uri) / "_delta_log"
    (added,) = (
        json.loads(line)["add"]
        for log in folder.glob("*.json")
        for line in log.read_text().splitlines()
        if "add" in json.loads(line)
    )
    statistics = json.loads(added["stats"])
    assert added["partitionValues"] == {"source_month": "2024-01-01"}
    assert statistics["numRecords"] == 9
    assert statistics["minValues"]["fare_amount"] == statistics["maxValues"]["fare_amount"] == 12.5
    assert statistics["nullCount"]["ehail_fee"] == 9
