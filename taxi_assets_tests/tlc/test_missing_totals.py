"""A month whose trips lack totals, from the files to gold and the metric view: what is counted, and what is no sum."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date, datetime, timedelta
from decimal import Decimal
from math import nan
from typing import Any

import dagster as dg
import pytest

from taxi_assets.lake.metadata import asset_key
from taxi_assets.metrics import answer, load_view, shipped_views
from taxi_assets.tlc.bronze.trips import BRONZE_TRIPS
from taxi_assets.tlc.gold.fact_top_zones import FactTopZones
from taxi_assets.tlc.gold.fact_trips_borough_hour import FactTripsBoroughHour
from taxi_assets.tlc.silver.trips import QUARANTINES, SILVER_TRIPS
from taxi_assets.tlc.vocabulary import Service
from taxi_assets_tests.lake.conftest import RunMonth
from taxi_assets_tests.scenario import Workspace, high_volume, trip, trips

pytestmark = pytest.mark.fast

NO_TOTAL = {"total_amount": None}
NEXT_DAY = datetime(2024, 1, 11, 12)  # noqa: DTZ001


@pytest.fixture(scope="module")
def month(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunMonth]:
    """Return a month that has been run. Tests must not change it."""
    with dg.DagsterInstance.ephemeral() as instance:
        workspace = Workspace.below(tmp_path_factory.mktemp("month"), instance)
        next_day = trip(pickup_datetime=NEXT_DAY, dropoff_datetime=NEXT_DAY + timedelta(minutes=9), total_amount=40.0)
        no_number = trip(vendor_id=1, total_amount=nan)
        workspace.land(Service.YELLOW, [*trips(10, **NO_TOTAL), {**next_day, "pickup_location_id": 161}, no_number])
        elsewhere = {"pickup_location_id": 161, **NO_TOTAL}
        workspace.land(Service.GREEN, [*trips(1), *trips(2, vendor_id=1, **NO_TOTAL), *trips(2, **elsewhere)])
        without = high_volume(base_passenger_fare=None, originating_base_num="B00001")
        workspace.land(Service.FHVHV, [high_volume(), without])
        result = workspace.run(Service.YELLOW, Service.GREEN, Service.FHVHV)
        assert result.success, workspace.failures(result)
        yield RunMonth(workspace, result)


def check(month: RunMonth, contract: Any, name: str) -> dg.AssetCheckEvaluation:
    (found,) = (
        one
        for one in month.result.get_asset_check_evaluations()
        if (one.asset_key, one.check_name) == (asset_key(contract), name)
    )
    return found


def figures(found: dg.AssetCheckEvaluation, *names: str) -> tuple[Any, ...]:
    return tuple(found.metadata[name].value for name in names)


@pytest.mark.parametrize(
    ("service", "rule", "rows"),
    [
        (Service.YELLOW, "total_amount_present", 11),
        (Service.GREEN, "total_amount_present", 4),
        (Service.FHVHV, "base_passenger_fare_present", 1),
    ],
)
def test_a_rule_warns_of_the_rows_without_a_total(month: RunMonth, service: Service, rule: str, rows: int) -> None:
    found = check(month, SILVER_TRIPS[service], rule)

    assert (found.passed, found.severity) == (False, dg.AssetCheckSeverity.WARN)
    assert figures(found, "rows_failing") == (rows,)


def test_a_total_that_is_no_number_is_rescued_and_its_row_quarantined(month: RunMonth) -> None:
    bronze = month.workspace.table(BRONZE_TRIPS[Service.YELLOW]).sort("source_row")
    held = month.workspace.table(QUARANTINES[Service.YELLOW])

    assert bronze["_rescued_data"].to_list() == [None] * 11 + ['{"total_amount":"NaN"}']
    assert held.select("source_row", "total_amount", "failed_rules").rows() == [(12, None, ["values_fit_their_types"])]
    assert figures(check(month, SILVER_TRIPS[Service.YELLOW], "values_fit_their_types"), "rows_failing") == (1,)


def test_gold_has_no_revenue_where_no_trip_has_a_total(month: RunMonth) -> None:
    hours = month.workspace.table(FactTripsBoroughHour)
    zones = month.workspace.table(FactTopZones)

    names = ("service_type", "pickup_borough", "trip_count", "avg_fare", "avg_tip", "total_revenue")
    fare, tip = Decimal("12.00"), Decimal("3.00")
    assert sorted(hours.select(names).rows()) == [
        # Of one fare, and of two tips.
        ("fhvhv", "Queens", 2, Decimal("20.00"), tip, Decimal("31.50")),
        ("green", "Manhattan", 2, fare, tip, None),
        ("green", "Queens", 3, fare, tip, Decimal("20.00")),
        ("yellow", "Manhattan", 1, fare, tip, Decimal("40.00")),
        ("yellow", "Queens", 10, fare, tip, None),
    ]
    assert sorted(zones.select("service_type", "zone", "total_revenue", "revenue_rank").rows()) == [
        ("fhvhv", "JFK Airport", Decimal("31.50"), 1),
        ("green", "JFK Airport", Decimal("20.00"), 1),
        ("green", "Midtown Center", None, None),
        ("yellow", "JFK Airport", None, None),
        ("yellow", "Midtown Center", Decimal("40.00"), 1),
    ]


@pytest.mark.parametrize("contract", [FactTripsBoroughHour, FactTopZones])
def test_gold_is_reconciled_with_silver_and_the_trips_without_a_total_are_counted(
    month: RunMonth, contract: Any
) -> None:
    found = check(month, contract, "reconciles_with_silver")

    assert found.passed
    names = ("gold_trips", "silver_trips", "gold_revenue", "silver_revenue", "silver_trips_without_total")
    assert figures(found, *names) == (18, 18, "91.50", "91.50", 15)


def test_a_month_without_any_total_is_reconciled_to_have_none(workspace: Workspace) -> None:
    workspace.land(Service.GREEN, trips(3, **NO_TOTAL))
    result = workspace.run(Service.GREEN)
    assert result.success

    found = check(RunMonth(workspace, result), FactTopZones, "reconciles_with_silver")
    assert found.passed
    names = ("gold_trips", "gold_revenue", "silver_revenue", "silver_trips_without_total")
    assert figures(found, *names) == (3, "none", "none", 3)


def test_the_metric_view_has_no_revenue_of_trips_without_a_total(month: RunMonth) -> None:
    tables = {FactTripsBoroughHour.stored_as().sql_name: FactTripsBoroughHour}
    view = load_view(shipped_views()["tlc_daily"], {name: table.column_names() for name, table in tables.items()})
    measures = ("trips", "revenue", "revenue_per_trip", "trailing_7day_revenue")

    found = answer(month.workspace.lake, tables, view, measures, ("service", "day"))
    assert [tuple(row.values()) for row in found] == [
        ("fhvhv", date(2024, 1, 10), 2, Decimal("31.50"), 15.75, None),
        # Of the three in Queens: those in Manhattan are in no revenue, and so in no average of it.
        ("green", date(2024, 1, 10), 5, Decimal("20.00"), pytest.approx(20 / 3), None),
        ("yellow", date(2024, 1, 10), 10, None, None, None),
        ("yellow", date(2024, 1, 11), 1, Decimal("40.00"), 40.0, None),
    ]
