"""A month of for-hire vehicles from landed files to gold, and beside taxis: what is run, stored and checked."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from decimal import Decimal
from typing import Any

import dagster as dg
import pytest

from taxi_assets.calendars import Month
from taxi_assets.lake.metadata import asset_key
from taxi_assets.tlc.bronze.drift import drift_checks
from taxi_assets.tlc.bronze.trips import BRONZE_TRIPS
from taxi_assets.tlc.gold.fact_top_zones import FactTopZones
from taxi_assets.tlc.gold.nyc_taxi_daily import NycTaxiDaily
from taxi_assets.tlc.silver.dim_base import DimBase
from taxi_assets.tlc.silver.dim_license import DimLicense
from taxi_assets.tlc.silver.dim_payment import DimPayment
from taxi_assets.tlc.silver.trips import QUARANTINES, SILVER_TRIPS
from taxi_assets.tlc.vocabulary import FOR_HIRE, METERED, Service
from taxi_assets_tests.lake.conftest import RunMonth
from taxi_assets_tests.scenario import USUAL, Workspace, keys_for, trip

pytestmark = pytest.mark.fast


def rows_of(service: Service, count: int, first: int = 0, **changes: Any) -> list[dict[str, Any]]:
    """Return trips of a service, a minute apart, without what differs from trip to trip."""
    start = trip()["pickup_datetime"]
    return [
        USUAL[service](**{
            "pickup_datetime": start + timedelta(minutes=number),
            "dropoff_datetime": start + timedelta(minutes=number + 10),
            **({"request_datetime": None, "on_scene_datetime": None} if service is Service.FHVHV else {}),
            **changes,
        })
        for number in range(first, first + count)
    ]  # fmt: skip


@pytest.fixture(scope="module")
def month(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunMonth]:
    """Return a month of fhv and fhvhv that has been run. Tests must not change it."""
    with dg.DagsterInstance.ephemeral() as instance:
        workspace = Workspace.below(tmp_path_factory.mktemp("month"), instance)
        fhv = [
            *rows_of(Service.FHV, 4),
            *rows_of(Service.FHV, 2, 4, pickup_location_id=None, dropoff_datetime=None, dispatching_base_num="b00002 "),
            *rows_of(Service.FHV, 1, 6, dispatching_base_num="none"),
        ]
        fhvhv = [*rows_of(Service.FHVHV, 5), *rows_of(Service.FHVHV, 1, 5, base_passenger_fare=-20.0)]
        workspace.land(Service.FHV, fhv)
        workspace.land(Service.FHVHV, fhvhv)
        result = workspace.run(*FOR_HIRE)
        assert result.success, workspace.failures(result)
        yield RunMonth(workspace, result)


def test_every_row_is_kept_or_quarantined(month: RunMonth) -> None:
    assert {
        service: (
            month.workspace.table(SILVER_TRIPS[service]).height,
            month.workspace.table(QUARANTINES[service]).height,
        )
        for service in FOR_HIRE
    } == {Service.FHV: (6, 1), Service.FHVHV: (5, 1)}


def test_all_checks_of_the_stored_tables_hold(month: RunMonth) -> None:
    results = month.result.get_asset_check_evaluations()
    assert {check.check_name for check in results if not check.passed} == {
        "base_number_format", "positive_base_passenger_fare",
    }  # fmt: skip
    names = {(check.asset_key.path[1], check.check_name) for check in results}
    assert {
        ("fhv_trips", "no_orphans_in_dim_base"),
        ("fhvhv_trips", "no_orphans_in_dim_base"),
        ("fhvhv_trips", "no_orphans_in_dim_license"),
        ("fact_top_zones", "reconciles_with_silver"),
        ("dim_base", "unique_keys"),
    } <= names


def test_gold_has_high_volume_revenue_and_for_hire_counts(month: RunMonth) -> None:
    zones = month.workspace.table(FactTopZones)
    columns = ("service_type", "pickup_location_id", "trip_count", "total_revenue", "revenue_rank")
    assert sorted(zones.select(columns).rows(), key=str) == [
        ("fhv", 132, 4, None, None),
        ("fhv", None, 2, None, None),
        ("fhvhv", 132, 5, Decimal("157.50"), 1),
    ]
    days = month.workspace.table(NycTaxiDaily)
    assert sorted(days.select("service_type", "trip_count").rows()) == [("fhv", 6), ("fhvhv", 5)]


def test_the_dimensions_that_these_services_name_are_made_and_no_other(month: RunMonth) -> None:
    assert month.workspace.table(DimBase).select("base_num", "company").rows() == [
        ("B00001", None), ("B00002", None), ("B03404", "Uber"), ("NONE", None),
    ]  # fmt: skip
    assert month.workspace.table(DimLicense).height == 4
    assert month.workspace.lake.location(DimPayment).version() is None


def test_a_service_alone_is_run_with_the_dimensions_that_it_names(workspace: Workspace) -> None:
    workspace.land(Service.FHV, rows_of(Service.FHV, 3))

    result = workspace.run(Service.FHV)

    assert result.success, workspace.failures(result)
    assert workspace.table(NycTaxiDaily).select("service_type", "trip_count").rows() == [("fhv", 3)]
    assert workspace.table(DimBase).height == 1
    assert workspace.lake.location(DimLicense).version() is None


def test_drift_is_looked_for_in_licences_and_amounts_where_there_are_any() -> None:
    found = {
        service: {check.name: check.description for check in drift_checks(BRONZE_TRIPS[service])}
        for service in FOR_HIRE
    }

    assert "hvfhs_license_num" in found[Service.FHVHV]["no_new_codes"]
    for amount in ("base_passenger_fare", "trip_miles", "driver_pay", "tips"):
        assert amount in found[Service.FHVHV]["means_as_before"]
    assert "means_as_before" not in found[Service.FHV]


def test_taxis_are_run_without_bases_and_licences() -> None:
    keys = set(keys_for(METERED))
    assert not keys & {asset_key(DimBase), asset_key(DimLicense)}
    assert asset_key(DimPayment) in keys


def test_a_base_keeps_the_company_of_the_newest_month_in_whatever_order_months_are_run(workspace: Workspace) -> None:
    february = Month(2024, 2)
    for month, number in ((february, "HV0005"), (Month(2024, 1), "HV0003")):
        shift = timedelta(days=31 if month == february else 0)
        rows = [
            row | {name: row[name] + shift for name in ("pickup_datetime", "dropoff_datetime")}
            for row in rows_of(Service.FHVHV, 2, hvfhs_license_num=number)
        ]
        workspace.land(Service.FHVHV, rows, month)
        result = workspace.run(Service.FHVHV, month=month)
        assert result.success, workspace.failures(result)

    assert workspace.table(DimBase).select("base_num", "company", "source_month").rows() == [
        ("B03404", "Lyft", february.first_day)
    ]
