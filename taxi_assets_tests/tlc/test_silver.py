"""Claims about the silver trips: which columns they have, and what stands in those that bronze hasn't.

Which rows get there is claimed in test_rules.py.
"""

# Times are wall clock, without a zone.
# ruff: noqa: DTZ001

from __future__ import annotations

from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any

import dagster as dg
import polars as pl
import pytest

from taxi_assets.engines import conform
from taxi_assets.tlc.bronze.trips import BRONZE_TRIPS
from taxi_assets.tlc.silver.green_trips import green_trips
from taxi_assets.tlc.silver.trips import QUARANTINES, SILVER_TRIPS
from taxi_assets.tlc.silver.yellow_trips import yellow_trips
from taxi_assets.vocabulary import Service
from taxi_assets_tests.scenario import bronze, enriched, judged, trip, zones

pytestmark = pytest.mark.fast

BOTH = pytest.mark.parametrize("service", list(Service))
NOON = datetime(2024, 1, 10, 12)
MONEY, SHARE = pl.Decimal(10, 2), pl.Decimal(10, 4)


def silver(service: Service, *rows: dict[str, Any]) -> pl.DataFrame:
    """Return the rows that are kept, as silver stores them."""
    stored: pl.DataFrame = conform(SILVER_TRIPS[service], judged(service, rows).kept).collect().to_native()
    return stored


def stored(name: str, changes: list[dict[str, Any]], service: Service = Service.GREEN) -> list[Any]:
    """Return one column as silver stores it, of trips that differ from the usual one in some columns."""
    found: list[Any] = silver(service, *(trip(**change) for change in changes))[name].to_list()
    return found


def columns_of(service: Service) -> dict[str, Any]:
    """Return silver's columns and types as the design lists them."""
    own = {
        Service.YELLOW: {"airport_fee": MONEY},
        Service.GREEN: {"ehail_fee": MONEY, "trip_type": pl.Int32},
    }
    return {
        "vendor_id": pl.Int32,
        "pickup_datetime": pl.Datetime("us"),
        "dropoff_datetime": pl.Datetime("us"),
        "pickup_date": pl.Date,
        "pickup_hour": pl.Int32,
        "pickup_day_of_week": pl.Int32,
        "pickup_location_id": pl.Int32,
        "dropoff_location_id": pl.Int32,
        "pickup_borough": pl.String,
        "pickup_zone": pl.String,
        "dropoff_borough": pl.String,
        "dropoff_zone": pl.String,
        "rate_code_id": pl.Int32,
        "payment_type": pl.Int32,
        "payment_name": pl.String,
        "passenger_count": pl.Int32,
        "trip_distance": pl.Decimal(10, 2),
        "duration_min": pl.Decimal(12, 2),
        "fare_amount": MONEY,
        "extra": MONEY,
        "mta_tax": MONEY,
        "tip_amount": MONEY,
        "tolls_amount": MONEY,
        "improvement_surcharge": MONEY,
        "congestion_surcharge": MONEY,
        **own[service],
        "cbd_congestion_fee": MONEY,
        "total_amount": MONEY,
        "fare_per_mile": SHARE,
        "store_and_fwd_flag": pl.String,
        "is_repeat": pl.Boolean,
        "is_reversed": pl.Boolean,
        "source_file": pl.String,
        "source_row": pl.Int64,
        "source_month": pl.Date,
    }


@BOTH
def test_silver_has_the_designs_columns_in_its_order_and_exact_types(service: Service) -> None:
    assert list(silver(service, trip()).schema.items()) == list(columns_of(service).items())


@BOTH
def test_a_trip_is_stored_with_its_names_times_and_ratios(service: Service) -> None:
    own = {Service.YELLOW: {"airport_fee": None}, Service.GREEN: {"ehail_fee": None, "trip_type": None}}

    assert silver(service, trip()).rows(named=True) == [
        {
            "vendor_id": 2,
            "pickup_datetime": NOON,
            "dropoff_datetime": NOON + timedelta(minutes=10),
            "pickup_date": date(2024, 1, 10),
            "pickup_hour": 12,
            "pickup_day_of_week": 3,
            "pickup_location_id": 132,
            "dropoff_location_id": 161,
            "pickup_borough": "Queens",
            "pickup_zone": "JFK Airport",
            "dropoff_borough": "Manhattan",
            "dropoff_zone": "Midtown Center",
            "rate_code_id": 1,
            "payment_type": 1,
            "payment_name": "Credit card",
            "passenger_count": 1,
            "trip_distance": Decimal("2.00"),
            "duration_min": Decimal("10.00"),
            "fare_amount": Decimal("12.00"),
            "extra": Decimal("1.00"),
            "mta_tax": Decimal("0.50"),
            "tip_amount": Decimal("3.00"),
            "tolls_amount": Decimal("0.00"),
            "improvement_surcharge": Decimal("1.00"),
            "congestion_surcharge": Decimal("2.50"),
            **own[service],
            "cbd_congestion_fee": Decimal("0.00"),
            "total_amount": Decimal("20.00"),
            "fare_per_mile": Decimal("6.0000"),
            "store_and_fwd_flag": "N",
            "is_repeat": False,
            "is_reversed": False,
            "source_file": f"{service}.parquet",
            "source_row": 1,
            "source_month": date(2024, 1, 1),
        }
    ]


@BOTH
def test_each_services_own_columns_are_stored(service: Service) -> None:
    own = {Service.YELLOW: {"airport_fee": 1.75}, Service.GREEN: {"ehail_fee": 0.25, "trip_type": 2}}[service]

    for name, value in own.items():
        assert stored(name, [own], service) == [value]


def test_amounts_are_rounded_half_up_to_the_cent() -> None:
    cents = {12.345: "12.35", 1.005: "1.01", 2.675: "2.68", 12.344: "12.34", -1.005: "-1.01"}

    assert stored("tip_amount", [{"tip_amount": amount} for amount in cents]) == [Decimal(c) for c in cents.values()]


def test_a_duration_is_minutes_rounded_half_up_of_whole_seconds() -> None:
    minutes = {90.0: "1.50", 600.0: "10.00", 20.0: "0.33", 1.0: "0.02", 86_400.0: "1440.00", 1.9: "0.02"}
    rows = [{"dropoff_datetime": NOON + timedelta(seconds=seconds)} for seconds in minutes]

    assert stored("duration_min", rows) == [Decimal(m) for m in minutes.values()]


def test_the_longest_duration_that_two_times_can_have_fits() -> None:
    days = (date(9999, 12, 31) - date(2024, 1, 10)).days

    assert stored("duration_min", [{"dropoff_datetime": datetime(9999, 12, 31, 12)}]) == [days * 1_440]


def test_the_fare_per_mile_has_four_places_rounded_half_up_and_is_null_from_a_million() -> None:
    ratios = {
        (10.0, 3.0): Decimal("3.3333"),
        (2.0, 3.0): Decimal("0.6667"),
        (0.01, 8.0): Decimal("0.0013"),
        (9_999.99, 0.01): Decimal("999999.0000"),
        (10_000.0, 0.01): None,
        (999_999.99, 0.01): None,
    }
    rows = [{"fare_amount": fare, "trip_distance": distance} for fare, distance in ratios]

    assert stored("fare_per_mile", rows) == list(ratios.values())


def test_date_hour_and_iso_weekday_are_the_pickups() -> None:
    monday, sunday = datetime(2024, 1, 1), datetime(2024, 1, 7, 23, 59, 59, 999_999)
    rows = [trip(pickup_datetime=day, dropoff_datetime=day + timedelta(minutes=10)) for day in (monday, sunday)]

    found = silver(Service.YELLOW, *rows).select("pickup_date", "pickup_hour", "pickup_day_of_week")

    assert found.rows() == [(date(2024, 1, 1), 0, 1), (date(2024, 1, 7), 23, 7)]


@pytest.mark.parametrize("end", ["pickup", "dropoff"])
def test_a_zone_has_the_lookups_names_or_is_unknown(end: str) -> None:
    rows = [trip(**{f"{end}_location_id": zone}) for zone in (270, 264, 265)]

    found = silver(Service.GREEN, *rows).select(f"{end}_location_id", f"{end}_borough", f"{end}_zone")

    assert found.rows() == [(270, "Unknown", "Unknown"), (264, "Unknown", "N/A"), (265, "Brooklyn", "Zone 265")]


def test_a_payment_code_has_tlcs_name_or_is_unknown() -> None:
    names = {0: "Flex Fare trip", 2: "Cash", 6: "Voided trip", 9: "Unknown", None: None}

    assert stored("payment_name", [{"payment_type": code} for code in names]) == list(names.values())


@BOTH
def test_all_of_bronze_is_still_there_to_be_quarantined(service: Service) -> None:
    rows = [trip(), trip(fare_amount=None), trip(pickup_datetime=None), trip(fare_amount=None)]
    names = list(BRONZE_TRIPS[service].column_names())

    with_more = enriched(service, rows).select(*names).collect().to_native()

    assert with_more.equals(bronze(service, rows).collect().to_native().select(names))


@BOTH
def test_a_quarantined_row_stands_as_bronze_has_it_with_the_rules_that_it_broke(service: Service) -> None:
    bad = trip(fare_amount=-0.001, tip_amount=1e12, _rescued_data='{"mood":"good"}')
    contract = QUARANTINES[service]

    (row,) = conform(contract, judged(service, [bad]).quarantined).collect().to_native().rows(named=True)

    (as_in_bronze,) = bronze(service, [bad]).collect().to_native().rows(named=True)
    assert row == as_in_bronze | {"failed_rules": ["values_fit_their_types", "positive_fare_amount"]}
    place = contract.column_names().index("failed_rules")
    assert contract.column_names()[place - 1] == "_rescued_data"
    assert [name for name in contract.column_names() if name != "failed_rules"] == list(
        BRONZE_TRIPS[service].column_names()
    )


@pytest.mark.parametrize(
    ("asset", "service", "fee"),
    [(yellow_trips, Service.YELLOW, "airport_fee"), (green_trips, Service.GREEN, "ehail_fee")],
    ids=["yellow", "green"],
)
def test_the_asset_counts_its_services_own_fee_into_the_total(
    asset: dg.AssetsDefinition, service: Service, fee: str
) -> None:
    counted = {fee: 1.75, "total_amount": 21.75}
    rows = [trip(**counted), trip(**counted, passenger_count=2), trip(**{fee: 1.75})]

    results = [
        made for made in asset(trips=bronze(service, rows), zones=zones()) if isinstance(made, dg.AssetCheckResult)
    ]

    (of_total,) = (result for result in results if result.check_name == "total_is_sum_of_parts")
    assert of_total.metadata["rows_failing"].value == 1
