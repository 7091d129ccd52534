"""One good month from landed files to gold: what stands in the tables, and what Dagster was told about it."""

from __future__ import annotations

import hashlib
from decimal import Decimal
from typing import Any

import dagster as dg
import pytest

from taxi_assets.check_history import latest_results
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
from taxi_assets_tests.lake.conftest import RunMonth
from taxi_assets_tests.scenario import MONTH, keys_for

pytestmark = pytest.mark.fast


def test_every_row_of_the_files_stands_in_bronze_and_once_in_silver(month: RunMonth) -> None:
    counts = {
        (layer, service): month.workspace.table(tables[service]).height
        for layer, tables in (("bronze", BRONZE_TRIPS), ("kept", SILVER_TRIPS), ("quarantined", QUARANTINES))
        for service in METERED
    }
    assert counts == {
        ("bronze", Service.GREEN): 20, ("kept", Service.GREEN): 18, ("quarantined", Service.GREEN): 2,
        ("bronze", Service.YELLOW): 10, ("kept", Service.YELLOW): 9, ("quarantined", Service.YELLOW): 1,
    }  # fmt: skip


def test_gold_sums_the_kept_trips_of_both_services(month: RunMonth) -> None:
    # Each kept trip cost 20 dollars with a fare of 12, all of one day and begun between noon and one.
    zones = month.workspace.table(FactTopZones)
    assert sorted(zones.select("service_type", "trip_count", "total_revenue", "avg_fare", "revenue_rank").rows()) == [
        ("green", 18, Decimal("360.00"), Decimal("12.00"), 1),
        ("yellow", 9, Decimal("180.00"), Decimal("12.00"), 1),
    ]
    hours = month.workspace.table(FactTripsBoroughHour)
    assert sorted(
        hours.select("service_type", "pickup_hour", "pickup_borough", "trip_count", "total_revenue").rows()
    ) == [
        ("green", 12, "Queens", 18, Decimal("360.00")),
        ("yellow", 12, "Queens", 9, Decimal("180.00")),
    ]
    days = month.workspace.table(NycTaxiDaily)
    assert sorted(days.select("service_type", "trip_count", "repeat_count").rows()) == [
        ("green", 18, 0),
        ("yellow", 9, 0),
    ]


def test_the_dimensions_hold_tlcs_265_zones_and_7_payment_codes(month: RunMonth) -> None:
    assert month.workspace.table(Zones).height == 265
    assert month.workspace.table(DimZone).height == 265
    assert month.workspace.table(DimPayment).height == 7


def test_every_check_is_recorded_as_a_result_of_the_months_partition(month: RunMonth) -> None:
    every = sorted(build_defs(month.workspace.settings).resolve_asset_graph().asset_check_keys)
    keys = [key for key in every if key.asset_key in keys_for(METERED)]
    results = latest_results(month.workspace.instance, keys, str(MONTH))
    assert [(result.table, result.name) for result in results] == [(".".join(k.asset_key.path), k.name) for k in keys]
    assert latest_results(month.workspace.instance, keys, "2024-02") == []


def test_only_the_rules_over_their_tolerance_warn_and_the_run_is_green(month: RunMonth) -> None:
    keys = sorted(build_defs(month.workspace.settings).resolve_asset_graph().asset_check_keys)
    results = latest_results(month.workspace.instance, keys, str(MONTH))
    # One refund among 20 is over 2 %, one trip without distance under 8 %; one duplicate among 10 is over 0.1 %.
    assert {(r.table, r.name): (r.status, r.rows_failing) for r in results if r.status != "passed"} == {
        ("tlc_silver.green_trips", "positive_fare_amount"): ("warned", 1),
        ("tlc_silver.yellow_trips", "not_an_exact_duplicate"): ("warned", 1),
    }


def test_a_rules_result_carries_counts_share_tolerance_and_example_rows(month: RunMonth) -> None:
    (found,) = (
        check
        for check in month.result.get_asset_check_evaluations()
        if check.check_name == "positive_trip_distance" and check.asset_key == asset_key(SILVER_TRIPS[Service.GREEN])
    )
    assert found.passed
    assert {name: found.metadata[name].value for name in ("rows", "rows_failing", "share", "tolerance")} == {
        "rows": 20, "rows_failing": 1, "share": 0.05, "tolerance": 0.08,
    }  # fmt: skip
    examples = found.metadata["examples"]
    assert isinstance(examples, dg.TableMetadataValue)
    assert [record.data for record in examples.records] == [
        {
            "source_row": 19,
            "vendor_id": 1,
            "pickup_datetime": "2024-01-10 12:00:00",
            "pickup_location_id": 132,
            "trip_distance": 0.0,
        }
    ]


def test_the_publish_limit_has_a_result_for_each_service(month: RunMonth) -> None:
    found = {
        check.asset_key: check
        for check in month.result.get_asset_check_evaluations()
        if check.check_name == WITHIN_PUBLISH_LIMIT
    }
    assert {key.path[1]: check.metadata["rows_quarantined"].value for key, check in found.items()} == {
        "green_trips": 2,
        "yellow_trips": 1,
    }
    assert all(check.passed and check.severity is dg.AssetCheckSeverity.ERROR for check in found.values())


@pytest.mark.parametrize("contract", [BRONZE_TRIPS[Service.GREEN], SILVER_TRIPS[Service.GREEN], DimZone, FactTopZones])
def test_a_materialization_tells_rows_version_bytes_path_and_described_columns(month: RunMonth, contract: type) -> None:
    event = month.workspace.instance.get_latest_materialization_event(asset_key(contract))
    assert event is not None
    assert event.asset_materialization is not None
    metadata = event.asset_materialization.metadata
    stored = month.workspace.table(contract)
    location = month.workspace.lake.location(contract)
    assert metadata["dagster/partition_row_count"].value == stored.height
    assert metadata["dagster/row_count"].value == stored.height
    assert metadata["table_version"].value == location.version() == 1
    assert metadata["bytes_written"].value > 0
    assert metadata["path"].value == metadata["dagster/uri"].value == location.uri
    columns = metadata["dagster/column_schema"].value.columns
    assert [column.name for column in columns] == stored.columns
    assert all(column.description for column in columns)


def test_bronzes_data_version_is_the_fingerprint_of_the_files_bytes(month: RunMonth) -> None:
    data = (month.workspace.landing / "green_tripdata_2024-01.parquet").read_bytes()
    fingerprint = hashlib.sha256(data).hexdigest()
    event = month.workspace.instance.get_latest_materialization_event(asset_key(BRONZE_TRIPS[Service.GREEN]))
    assert event is not None
    assert event.asset_materialization is not None
    assert event.asset_materialization.tags is not None
    assert event.asset_materialization.tags["dagster/data_version"] == fingerprint
    assert set(month.workspace.table(BRONZE_TRIPS[Service.GREEN])["source_fingerprint"]) == {fingerprint}


def test_every_materialization_carries_its_assets_code_version(month: RunMonth) -> None:
    for key in keys_for(METERED):
        event = month.workspace.instance.get_latest_materialization_event(key)
        assert event is not None
        assert event.asset_materialization is not None
        declared = build_defs(month.workspace.settings).resolve_asset_graph().get(key).code_version
        assert (event.asset_materialization.tags or {})["dagster/code_version"] == declared


def test_no_event_of_a_run_tells_how_storage_is_reached(month: RunMonth) -> None:
    # `provider` is the one storage option that is set here; options as a whole must not reach an event.
    records = month.workspace.instance.all_logs(month.result.run_id)
    assert records
    assert not [record for record in records if "storage_options" in str(record) or "LocalConfig" in str(record)]


def metadata_of(month: RunMonth, table: type[Contract]) -> dict[str, Any]:
    """Return what the month's run has told Dagster of a table, as plain values; tables as lists of rows."""
    (found,) = (
        event.event_specific_data.materialization.metadata  # type: ignore[union-attr]
        for event in month.result.get_asset_materialization_events()
        if event.asset_key == asset_key(table)
    )
    return {
        name: [record.data for record in one.records] if isinstance(one, dg.TableMetadataValue) else one.value
        for name, one in found.items()
    }


def test_the_quarantine_tells_how_many_rows_each_rule_refused_and_shows_some(month: RunMonth) -> None:
    told = metadata_of(month, QUARANTINES[Service.GREEN])
    assert told["rows_by_rule"] == [
        {"rule": "positive_fare_amount", "rows": 1}, {"rule": "positive_trip_distance", "rows": 1},
    ]  # fmt: skip
    shown = [(row["source_row"], row["failed_rules"], row["fare_amount"]) for row in told["sample_rows"]]
    assert shown == [(19, "positive_trip_distance", 12.0), (20, "positive_fare_amount", -12.0)]


def test_a_silver_month_links_to_its_quarantine(month: RunMonth) -> None:
    assert metadata_of(month, SILVER_TRIPS[Service.GREEN])["quarantine"] == asset_key(QUARANTINES[Service.GREEN])


@pytest.mark.parametrize("table", [FactTopZones, FactTripsBoroughHour, NycTaxiDaily])
def test_a_gold_month_tells_figures_to_plot(month: RunMonth, table: type[Contract]) -> None:
    # Of 30 rows 27 are kept, of 20 dollars each with a fare of 12.
    told = metadata_of(month, table)
    figures = {name: told.get(name) for name in ("trips", "revenue", "average_fare", "quarantined_share")}
    revenue = None if table is NycTaxiDaily else 540.0
    assert figures == {"trips": 27, "revenue": revenue, "average_fare": 12.0, "quarantined_share": 0.1}
