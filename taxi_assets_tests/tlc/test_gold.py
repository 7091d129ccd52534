"""Claims about the gold tables: small months whose counts, averages, revenue and ranks were worked out by hand.

That a stored month agrees with an independent SQL on its file is claimed in the full tier. Spark takes seconds a frame,
however small, so hours that have nothing to do with each other stand in one, and a frame serves more than one test.
"""

# Times are wall clock, without a zone.
# ruff: noqa: DTZ001

from __future__ import annotations

from datetime import date, datetime, timedelta
from decimal import Decimal
from functools import cache
from typing import Any

import narwhals.stable.v1 as nw
import polars as pl
import pytest

from taxi_assets.contracts import Frame, validate
from taxi_assets.engines import Engine, conform
from taxi_assets.tlc.gold.fact_top_zones import FactTopZones, ranked_by_revenue
from taxi_assets.tlc.gold.fact_trips_borough_hour import FactTripsBoroughHour, by_borough_and_hour
from taxi_assets.tlc.gold.nyc_taxi_daily import NycTaxiDaily, by_day
from taxi_assets.tlc.gold.trips import stack
from taxi_assets.tlc.silver.trips import SILVER_TRIPS
from taxi_assets.tlc.vocabulary import METERED, Service
from taxi_assets_tests.scenario import collected, enriched, trip

JANUARY = date(2024, 1, 1)
NOON = datetime(2024, 1, 10, 12)


def silver(
    engine: Engine, yellow: list[dict[str, Any]] | None = None, green: list[dict[str, Any]] | None = None
) -> Frame:
    """Return trips as silver stores them, stacked; a service that isn't given is absent."""
    given = {Service.YELLOW: yellow, Service.GREEN: green}
    frames = {
        str(service): conform(SILVER_TRIPS[service], enriched(service, rows, engine=engine))
        for service, rows in given.items()
        if rows is not None
    }
    yellows, greens = (SILVER_TRIPS[service].column_names() for service in METERED)
    return stack(frames, [name for name in yellows if name in greens])


def at(pickup: datetime, **changes: Any) -> dict[str, Any]:
    """Return a trip of ten minutes that begins at some time."""
    return trip(pickup_datetime=pickup, dropoff_datetime=pickup + timedelta(minutes=10), **changes)


@cache
def one_trip(engine: Engine) -> Frame:
    """Return a month that has a yellow trip, and no green file."""
    return silver(engine, yellow=[trip()])


@cache
def no_trips(engine: Engine) -> Frame:
    return silver(engine, green=[])


def hours(trips: Frame) -> pl.DataFrame:
    return _stored(FactTripsBoroughHour, by_borough_and_hour(trips))


def zones(trips: Frame) -> pl.DataFrame:
    return _stored(FactTopZones, ranked_by_revenue(trips))


def days(trips: Frame) -> pl.DataFrame:
    return _stored(NycTaxiDaily, by_day(trips))


def _stored(contract: Any, frame: Frame) -> pl.DataFrame:
    rows = conform(contract, frame)
    assert validate(contract, rows) == []
    return collected(rows)


def usd(amount: str) -> Decimal:
    return Decimal(amount)


# --- fact_trips_borough_hour


def test_each_service_date_hour_and_borough_is_one_row(engine: Engine) -> None:
    found = hours(
        silver(
            engine,
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


# What is changed of the usual trips of one hour, and the hour's row in some columns; claim by claim.
IN_AN_HOUR: dict[str, tuple[list[dict[str, Any]], dict[str, Any]]] = {
    # Sums of two: 0.03 USD, 4.05 miles, 3.33 USD; the halves are 0.015, 2.025 and 1.665.
    "averages are rounded half up to two places": (
        [
            {"fare_amount": 0.01, "trip_distance": 2.02, "tip_amount": 1.66},
            {"fare_amount": 0.02, "trip_distance": 2.03, "tip_amount": 1.67},
        ],
        {"avg_fare": usd("0.02"), "avg_distance": usd("2.03"), "avg_tip": usd("1.67")},
    ),
    # 12.00 + 12.00 + 12.01 + 12.00 are 48.01, a quarter of that 12.0025; a third of 36.01 is 12.00333.
    "an average of four just below the half is rounded down": (
        [{"fare_amount": fare} for fare in (12.0, 12.0, 12.01, 12.0)],
        {"avg_fare": usd("12.00")},
    ),
    "an average of three just below the half is rounded down": (
        [{"fare_amount": fare} for fare in (12.0, 12.0, 12.01)],
        {"avg_fare": usd("12.00")},
    ),
    "a trip without a tip or a total counts as one of nothing": (
        [{"tip_amount": None, "total_amount": None}, {}],
        {"trip_count": 2, "avg_tip": usd("1.50"), "total_revenue": usd("20.00")},
    ),
    "an hour whose trips all lack a tip has no average of them": (
        [{"tip_amount": None}],
        {"trip_count": 1, "avg_tip": None, "total_revenue": usd("20.00")},
    ),
    "an hour whose trips all lack a total has no revenue": (
        [{"total_amount": None}] * 2,
        {"trip_count": 2, "avg_tip": usd("3.00"), "total_revenue": None},
    ),
    "tips and totals of nothing are no missing ones": (
        [{"tip_amount": 0.0, "total_amount": 0.0}],
        {"trip_count": 1, "avg_tip": usd("0.00"), "total_revenue": usd("0.00")},
    ),
    "negative tips average half away from zero": (
        [{"tip_amount": -0.01}, {"tip_amount": -0.02}],
        {"avg_tip": usd("-0.02")},
    ),
    # A double of that size still has cents, but a sum of many no longer would.
    "revenue of large totals is exact": (
        [{"total_amount": 99_999_999.99}] * 3,
        {"total_revenue": usd("299999999.97")},
    ),
}


@cache
def hours_by_claims(engine: Engine) -> dict[str, dict[str, Any]]:
    """Return for each claim the row of its hour; all hours stand in one frame."""
    begins = {claim: NOON + timedelta(hours=number) for number, claim in enumerate(IN_AN_HOUR)}
    found = hours(
        silver(
            engine,
            green=[at(begins[claim], **changes) for claim, (trips, _) in IN_AN_HOUR.items() for changes in trips],
        )
    )
    return dict(zip(begins, found.sort("pickup_date", "pickup_hour").to_dicts(), strict=True))


@pytest.mark.parametrize("claim", IN_AN_HOUR)
def test_an_hour_is_aggregated_as_claimed(engine: Engine, claim: str) -> None:
    _, expected = IN_AN_HOUR[claim]
    row = hours_by_claims(engine)[claim]

    assert {name: row[name] for name in expected} == expected


def test_the_hourly_table_has_the_designs_columns_and_types(engine: Engine) -> None:
    assert list(hours(one_trip(engine)).schema.items()) == [
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


def test_zones_are_ranked_by_revenue_within_their_service_and_equal_revenue_has_equal_rank(engine: Engine) -> None:
    found = zones(
        silver(
            engine,
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


def test_a_zone_without_any_total_has_no_revenue_and_no_rank(engine: Engine) -> None:
    found = zones(
        silver(
            engine,
            yellow=[
                trip(pickup_location_id=7, total_amount=None),
                trip(pickup_location_id=132, total_amount=None),
                trip(pickup_location_id=132, total_amount=5.0),
                trip(pickup_location_id=161, total_amount=-1.0),
            ],
            green=[trip(pickup_location_id=7, total_amount=None)],
        )
    )

    names = ("service_type", "pickup_location_id", "trip_count", "total_revenue", "avg_fare", "revenue_rank")
    assert found.select(names).sort("service_type", "pickup_location_id").rows() == [
        ("green", 7, 1, None, usd("12.00"), None),
        ("yellow", 7, 1, None, usd("12.00"), None),
        ("yellow", 132, 2, usd("5.00"), usd("12.00"), 1),
        ("yellow", 161, 1, usd("-1.00"), usd("12.00"), 2),
    ]


def test_a_zone_carries_its_names_and_average_fare(engine: Engine) -> None:
    found = zones(silver(engine, yellow=[trip(fare_amount=0.01), trip(fare_amount=0.02), trip(pickup_location_id=270)]))

    names = ("pickup_location_id", "borough", "zone", "avg_fare", "source_month")
    assert found.select(names).sort("pickup_location_id").rows() == [
        (132, "Queens", "JFK Airport", usd("0.02"), JANUARY),
        (270, "Unknown", "Unknown", usd("12.00"), JANUARY),
    ]


def test_the_zones_table_has_the_designs_columns_and_types(engine: Engine) -> None:
    assert list(zones(one_trip(engine)).schema.items()) == [
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


def test_a_day_counts_its_trips_and_leaves_repeats_out_of_count_and_average(engine: Engine) -> None:
    found = days(
        silver(
            engine,
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


def test_a_day_that_has_only_repeats_has_no_average(engine: Engine) -> None:
    repeats = silver(engine, green=[at(NOON), at(NOON)]).filter(nw.col("is_repeat"))

    assert days(repeats).rows() == [("green", date(2024, 1, 10), 0, None, 1, JANUARY)]


def test_the_daily_table_has_the_designs_columns_and_types(engine: Engine) -> None:
    assert list(days(one_trip(engine)).schema.items()) == [
        ("service_type", pl.String),
        ("trip_date", pl.Date),
        ("trip_count", pl.Int64),
        ("avg_fare", pl.Decimal(10, 2)),
        ("repeat_count", pl.Int64),
        ("source_month", pl.Date),
    ]


# --- all of them


@pytest.mark.parametrize("table", [hours, zones, days])
def test_a_service_without_the_month_contributes_no_rows(engine: Engine, table: Any) -> None:
    assert table(one_trip(engine))["service_type"].unique().to_list() == ["yellow"]


@pytest.mark.parametrize("table", [hours, zones, days])
def test_a_month_without_trips_has_no_rows(engine: Engine, table: Any) -> None:
    assert table(no_trips(engine)).height == 0
