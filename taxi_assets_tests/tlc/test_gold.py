"""Claims about the gold tables: small months whose counts, averages, revenue and ranks were worked out by hand.

That a stored month agrees with an independent SQL on its file is claimed in the full tier.
"""

# Times are wall clock, without a zone.
# ruff: noqa: DTZ001

from __future__ import annotations

from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any

import narwhals.stable.v1 as nw
import polars as pl
import pytest

from taxi_assets.contracts import validate
from taxi_assets.engines import conform
from taxi_assets.tlc.gold.fact_top_zones import FactTopZones, ranked_by_revenue
from taxi_assets.tlc.gold.fact_trips_borough_hour import FactTripsBoroughHour, by_borough_and_hour
from taxi_assets.tlc.gold.nyc_taxi_daily import NycTaxiDaily, by_day
from taxi_assets.tlc.gold.trips import stack
from taxi_assets.tlc.silver.trips import SILVER_TRIPS
from taxi_assets.vocabulary import Service
from taxi_assets_tests.scenario import enriched, trip

pytestmark = pytest.mark.fast

JANUARY = date(2024, 1, 1)
NOON = datetime(2024, 1, 10, 12)


def silver(yellow: list[dict[str, Any]] | None = None, green: list[dict[str, Any]] | None = None) -> nw.LazyFrame:
    """Return trips as silver stores them, stacked; a service that isn't given is absent."""
    given = {Service.YELLOW: yellow, Service.GREEN: green}
    frames = {
        str(service): conform(SILVER_TRIPS[service], enriched(service, rows))
        for service, rows in given.items()
        if rows is not None
    }
    yellows, greens = (SILVER_TRIPS[service].column_names() for service in Service)
    return stack(frames, [name for name in yellows if name in greens])


def at(pickup: datetime, **changes: Any) -> dict[str, Any]:
    """Return a trip of ten minutes that begins at some time."""
    return trip(pickup_datetime=pickup, dropoff_datetime=pickup + timedelta(minutes=10), **changes)


def hours(trips: nw.LazyFrame) -> pl.DataFrame:
    return _stored(FactTripsBoroughHour, by_borough_and_hour(trips))


def zones(trips: nw.LazyFrame) -> pl.DataFrame:
    return _stored(FactTopZones, ranked_by_revenue(trips))


def days(trips: nw.LazyFrame) -> pl.DataFrame:
    return _stored(NycTaxiDaily, by_day(trips))


def _stored(contract: Any, frame: nw.LazyFrame) -> pl.DataFrame:
    rows = conform(contract, frame)
    assert validate(contract, rows) == []
    stored: pl.DataFrame = rows.collect().to_native()
    return stored


def usd(amount: str) -> Decimal:
    return Decimal(amount)


# --- fact_trips_borough_hour


def test_each_service_date_hour_and_borough_is_one_row() -> None:
    found = hours(
        silver(
            yellow=[
                at(NOON),
                at(NOON + timedelta(minutes=59), total_amount=22.5),
                at(NOON + timedelta(minutes=60)),
                at(NOON, pickup_location_id=161),
                at(NOON + timedelta(days=1)),
            ],
            green=[at(NOON)],
        )
    )

    names = ("service_type", "pickup_date", "pickup_hour", "pickup_borough", "trip_count", "total_revenue")
    assert found.select(names).rows() == [
        ("green", date(2024, 1, 10), 12, "Queens", 1, usd("20.00")),
        ("yellow", date(2024, 1, 10), 12, "Manhattan", 1, usd("20.00")),
        ("yellow", date(2024, 1, 10), 12, "Queens", 2, usd("42.50")),
        ("yellow", date(2024, 1, 10), 13, "Queens", 1, usd("20.00")),
        ("yellow", date(2024, 1, 11), 12, "Queens", 1, usd("20.00")),
    ]


def test_averages_are_rounded_half_up_to_two_places() -> None:
    # Sums of two: 0.03 USD, 4.05 miles, 3.33 USD; the halves are 0.015, 2.025 and 1.665.
    found = hours(
        silver(
            green=[
                at(NOON, fare_amount=0.01, trip_distance=2.02, tip_amount=1.66),
                at(NOON, fare_amount=0.02, trip_distance=2.03, tip_amount=1.67),
            ]
        )
    )

    assert found.select("avg_fare", "avg_distance", "avg_tip").rows() == [(usd("0.02"), usd("2.03"), usd("1.67"))]


def test_an_average_just_below_the_half_is_rounded_down() -> None:
    # 12.00 + 12.00 + 12.01 + 12.00 are 48.01, a quarter of that 12.0025; a third of 36.01 is 12.00333.
    assert hours(silver(green=[at(NOON, fare_amount=fare) for fare in (12.0, 12.0, 12.01, 12.0)]))[
        "avg_fare"
    ].item() == usd("12.00")
    assert hours(silver(green=[at(NOON, fare_amount=fare) for fare in (12.0, 12.0, 12.01)]))["avg_fare"].item() == usd(
        "12.00"
    )


def test_a_trip_without_a_tip_or_a_total_counts_as_one_of_nothing() -> None:
    found = hours(silver(green=[at(NOON, tip_amount=None, total_amount=None), at(NOON)]))

    assert found.select("trip_count", "avg_tip", "total_revenue").rows() == [(2, usd("1.50"), usd("20.00"))]


def test_negative_tips_average_half_away_from_zero() -> None:
    assert hours(silver(green=[at(NOON, tip_amount=-0.01), at(NOON, tip_amount=-0.02)]))["avg_tip"].item() == usd(
        "-0.02"
    )


def test_the_hourly_table_has_the_designs_columns_and_types() -> None:
    assert list(hours(silver(green=[trip()])).schema.items()) == [
        ("service_type", pl.String),
        ("pickup_date", pl.Date),
        ("pickup_hour", pl.Int32),
        ("pickup_borough", pl.String),
        ("trip_count", pl.Int64),
        ("avg_distance", pl.Decimal(10, 2)),
        ("avg_fare", pl.Decimal(10, 2)),
        ("avg_tip", pl.Decimal(10, 2)),
        ("total_revenue", pl.Decimal(18, 2)),
        ("source_month", pl.Date),
    ]


# --- fact_top_zones


def test_zones_are_ranked_by_revenue_within_their_service_and_equal_revenue_has_equal_rank() -> None:
    found = zones(
        silver(
            yellow=[
                trip(pickup_location_id=132, total_amount=5.0),
                trip(pickup_location_id=132, total_amount=5.0),
                trip(pickup_location_id=161, total_amount=10.0),
                trip(pickup_location_id=7, total_amount=9.99),
                trip(pickup_location_id=264, total_amount=30.0),
            ],
            green=[trip(pickup_location_id=7, total_amount=1.0)],
        )
    )

    assert found.select("service_type", "pickup_location_id", "trip_count", "total_revenue", "revenue_rank").rows() == [
        ("green", 7, 1, usd("1.00"), 1),
        ("yellow", 264, 1, usd("30.00"), 1),
        ("yellow", 132, 2, usd("10.00"), 2),
        ("yellow", 161, 1, usd("10.00"), 2),
        ("yellow", 7, 1, usd("9.99"), 4),
    ]


def test_a_zone_carries_its_names_and_average_fare() -> None:
    found = zones(silver(yellow=[trip(fare_amount=0.01), trip(fare_amount=0.02), trip(pickup_location_id=270)]))

    names = ("pickup_location_id", "borough", "zone", "avg_fare", "source_month")
    assert found.select(names).sort("pickup_location_id").rows() == [
        (132, "Queens", "JFK Airport", usd("0.02"), JANUARY),
        (270, "Unknown", "Unknown", usd("12.00"), JANUARY),
    ]


def test_the_zones_table_has_the_designs_columns_and_types() -> None:
    assert list(zones(silver(green=[trip()])).schema.items()) == [
        ("service_type", pl.String),
        ("pickup_location_id", pl.Int32),
        ("borough", pl.String),
        ("zone", pl.String),
        ("trip_count", pl.Int64),
        ("total_revenue", pl.Decimal(18, 2)),
        ("avg_fare", pl.Decimal(10, 2)),
        ("revenue_rank", pl.Int32),
        ("source_month", pl.Date),
    ]


# --- nyc_taxi_daily


def test_a_day_counts_its_trips_and_leaves_repeats_out_of_count_and_average() -> None:
    found = days(
        silver(
            yellow=[
                at(NOON, fare_amount=0.01),
                at(NOON, fare_amount=500.0),
                at(NOON, fare_amount=500.0),
                at(NOON + timedelta(minutes=1), fare_amount=0.02),
                at(NOON + timedelta(days=1)),
            ],
            green=[at(NOON)],
        )
    )

    assert found.rows() == [
        ("green", date(2024, 1, 10), 1, usd("12.00"), 0, JANUARY),
        ("yellow", date(2024, 1, 10), 2, usd("0.02"), 2, JANUARY),
        ("yellow", date(2024, 1, 11), 1, usd("12.00"), 0, JANUARY),
    ]


def test_a_day_that_has_only_repeats_has_no_average() -> None:
    repeats = silver(green=[at(NOON), at(NOON)]).filter(nw.col("is_repeat"))

    assert days(repeats).rows() == [("green", date(2024, 1, 10), 0, None, 1, JANUARY)]


def test_the_daily_table_has_the_designs_columns_and_types() -> None:
    assert list(days(silver(green=[trip()])).schema.items()) == [
        ("service_type", pl.String),
        ("trip_date", pl.Date),
        ("trip_count", pl.Int64),
        ("avg_fare", pl.Decimal(10, 2)),
        ("repeat_count", pl.Int64),
        ("source_month", pl.Date),
    ]


# --- all of them


@pytest.mark.parametrize("table", [hours, zones, days])
def test_a_service_without_the_month_contributes_no_rows(table: Any) -> None:
    assert table(silver(yellow=[trip()]))["service_type"].unique().to_list() == ["yellow"]


@pytest.mark.parametrize("table", [hours, zones, days])
def test_a_month_without_trips_has_no_rows(table: Any) -> None:
    assert table(silver(green=[])).height == 0


def test_revenue_of_large_totals_is_exact() -> None:
    # 99,999,999.99 three times: a double of that size still has cents, but a sum of many no longer would.
    found = hours(silver(yellow=[at(NOON, total_amount=99_999_999.99)] * 3))

    assert found["total_revenue"].item() == usd("299999999.97")
