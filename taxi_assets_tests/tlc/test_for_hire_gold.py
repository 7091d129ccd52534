"""Claims about for-hire vehicles in gold: fhvhv with its revenue, fhv in counts alone, both beside the taxis.

Counts, averages, revenue and ranks of small months were worked out by hand.
"""

# Times are wall clock, without a zone.
# ruff: noqa: DTZ001

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, datetime, timedelta
from decimal import Decimal
from functools import cache
from typing import Any

import polars as pl

from taxi_assets.contracts import Contract, Frame, duplicated_keys, validate
from taxi_assets.engines import Engine, conform
from taxi_assets.tlc.gold.fact_top_zones import FactTopZones, ranked_by_revenue
from taxi_assets.tlc.gold.fact_trips_borough_hour import FactTripsBoroughHour, by_borough_and_hour
from taxi_assets.tlc.gold.nyc_taxi_daily import NycTaxiDaily, by_day
from taxi_assets.tlc.gold.trips import stack
from taxi_assets.tlc.silver.passenger_total import PARTS_OF_TOTAL
from taxi_assets.tlc.silver.trips import SILVER_TRIPS
from taxi_assets.tlc.vocabulary import Service
from taxi_assets_tests.scenario import collected, enriched, high_volume, hired, trip

NOON = datetime(2024, 1, 10, 12)
DAY = date(2024, 1, 10)
COLUMNS = (
    "pickup_date", "pickup_hour", "pickup_location_id", "pickup_borough", "pickup_zone", "trip_distance", "fare_amount",
    "tip_amount", "total_amount", "is_repeat", "source_month",
)  # fmt: skip


def at(minutes: int) -> dict[str, Any]:
    pickup = NOON + timedelta(minutes=minutes)
    return {"pickup_datetime": pickup, "dropoff_datetime": pickup + timedelta(minutes=10)}


def stacked(engine: Engine, rows: dict[Service, Sequence[dict[str, Any]]]) -> Frame:
    """Return trips as silver stores them, of several services under each other."""
    frames = {
        str(service): conform(SILVER_TRIPS[service], enriched(service, trips, engine=engine))
        for service, trips in rows.items()
    }
    return stack(frames, COLUMNS)


@cache
def month(engine: Engine) -> Frame:
    """Return a month of three services: two taxi trips, four high-volume ones and four for-hire ones."""
    return stacked(
        engine,
        {
            Service.YELLOW: [trip(), trip(**at(1), trip_distance=2.01)],
            Service.FHVHV: [
                # 31.50 and 40.25; 2.125 and 2.126 miles are 2.1255 on average, and so 2.13.
                high_volume(),
                high_volume(**at(1), base_passenger_fare=28.75, trip_miles=2.126, tips=3.01),
                high_volume(**at(2), pickup_location_id=161, base_passenger_fare=90.0),
                # The second once more, at another fare.
                high_volume(**at(1), base_passenger_fare=8.75),
            ],
            Service.FHV: [
                hired(),
                hired(dispatching_base_num="B00002", dropoff_datetime=None),
                hired(pickup_location_id=None, dropoff_datetime=None),
                hired(pickup_location_id=None, dropoff_datetime=None),
            ],
        },
    )


def table(contract: type[Contract], frame: Frame) -> pl.DataFrame:
    rows = conform(contract, frame)
    assert validate(contract, rows) == []
    assert duplicated_keys(contract, rows) == 0
    return collected(rows)


def usd(amount: str) -> Decimal:
    return Decimal(amount)


def test_an_hour_has_the_revenue_of_high_volume_trips_and_the_number_of_for_hire_ones(engine: Engine) -> None:
    found = table(FactTripsBoroughHour, by_borough_and_hour(month(engine)))

    names = ("service_type", "pickup_borough", "trip_count", "avg_distance", "avg_fare", "avg_tip", "total_revenue")
    assert found.select(names).rows() == [
        ("fhv", "Queens", 2, None, None, None, None),
        ("fhv", "Unknown", 2, None, None, None, None),
        ("fhvhv", "Manhattan", 1, usd("2.13"), usd("90.00"), usd("3.00"), usd("101.50")),
        # Fares 20, 28.75 and 8.75; tips 3, 3.01 and 3; miles 2.125, 2.126 and 2.125, together 6.376.
        ("fhvhv", "Queens", 3, usd("2.13"), usd("19.17"), usd("3.00"), usd("92.01")),
        ("yellow", "Queens", 2, usd("2.01"), usd("12.00"), usd("3.00"), usd("40.00")),
    ]


def test_miles_of_three_decimals_average_to_two_rounded_half_up(engine: Engine) -> None:
    # 6.015, 6.014 and 4.25: a third of the first is 2.005, of the second 2.00467; half of the last 2.125.
    miles = {0: (2.004, 2.004, 2.007), 60: (2.004, 2.004, 2.006), 120: (2.124, 2.126)}
    rows = [
        high_volume(**at(start + n), trip_miles=some) for start, all_ in miles.items() for n, some in enumerate(all_)
    ]

    found = table(FactTripsBoroughHour, by_borough_and_hour(stacked(engine, {Service.FHVHV: rows})))

    assert found.sort("pickup_hour")["avg_distance"].to_list() == [usd("2.01"), usd("2.00"), usd("2.13")]


def test_zones_of_high_volume_trips_are_ranked_by_revenue_and_those_of_for_hire_ones_not_at_all(engine: Engine) -> None:
    found = table(FactTopZones, ranked_by_revenue(month(engine)))

    names = ("service_type", "pickup_location_id", "borough", "zone", "trip_count", "total_revenue", "revenue_rank")
    assert sorted(found.select(names).rows(), key=str) == [
        ("fhv", 132, "Queens", "JFK Airport", 2, None, None),
        ("fhv", None, "Unknown", "Unknown", 2, None, None),
        ("fhvhv", 132, "Queens", "JFK Airport", 3, usd("92.01"), 2),
        ("fhvhv", 161, "Manhattan", "Midtown Center", 1, usd("101.50"), 1),
        ("yellow", 132, "Queens", "JFK Airport", 2, usd("40.00"), 1),
    ]


def test_a_day_leaves_repeats_out_and_has_no_fare_of_for_hire_trips(engine: Engine) -> None:
    found = table(NycTaxiDaily, by_day(month(engine)))

    # Of fhvhv the fares 20, 28.75 and 90; of fhv no row without a dropoff is a repeat.
    assert found.select("service_type", "trip_date", "trip_count", "avg_fare", "repeat_count").rows() == [
        ("fhv", DAY, 4, None, 0),
        ("fhvhv", DAY, 3, usd("46.25"), 1),
        ("yellow", DAY, 2, usd("12.00"), 0),
    ]


def test_a_high_volume_month_without_fares_is_counted_and_has_no_revenue(engine: Engine) -> None:
    without = dict.fromkeys((*PARTS_OF_TOTAL, "trip_miles", "trip_time", "driver_pay"))
    trips = stacked(engine, {Service.FHVHV: [high_volume(**at(n), **without) for n in range(2)]})

    hours = table(FactTripsBoroughHour, by_borough_and_hour(trips))
    zones = table(FactTopZones, ranked_by_revenue(trips))

    averages = ("trip_count", "avg_distance", "avg_fare", "avg_tip", "total_revenue")
    assert hours.select(averages).rows() == [(2, None, None, None, None)]
    assert zones.select("trip_count", "total_revenue", "revenue_rank").rows() == [(2, None, None)]
