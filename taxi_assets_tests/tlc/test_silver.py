"""Claims about the silver trips: which columns they have, and what stands in those that bronze hasn't.

Which rows get there is claimed in test_rules.py. Spark takes seconds a frame, however small, so trips that have nothing
to do with each other stand in one.
"""

# Times are wall clock, without a zone.
# ruff: noqa: DTZ001

from __future__ import annotations

from datetime import date, datetime, timedelta
from decimal import Decimal
from functools import cache
from typing import Any

import dagster as dg
import polars as pl
import pytest

from taxi_assets.engines import Engine, conform
from taxi_assets.lake.passed_by import PassedBy
from taxi_assets.tlc.bronze.trips import BRONZE_TRIPS
from taxi_assets.tlc.silver.green_trips import green_trips
from taxi_assets.tlc.silver.trips import QUARANTINES, SILVER_TRIPS
from taxi_assets.tlc.silver.yellow_trips import yellow_trips
from taxi_assets.tlc.vocabulary import METERED, Service
from taxi_assets_tests.scenario import bronze, collected, enriched, judged, trip, zones

BOTH = pytest.mark.parametrize("service", METERED)
NOON = datetime(2024, 1, 10, 12)
MONEY, SHARE = pl.Decimal(10, 2), pl.Decimal(10, 4)


def silver(engine: Engine, service: Service, *rows: dict[str, Any]) -> pl.DataFrame:
    """Return rows as silver stores them, in the file's order."""
    return collected(conform(SILVER_TRIPS[service], enriched(service, rows, engine=engine))).sort("source_row")


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


# What a service's trips alone can have.
OWN: dict[Service, dict[str, Any]] = {
    Service.YELLOW: {"airport_fee": 1.75},
    Service.GREEN: {"ehail_fee": 0.25, "trip_type": 2},
}


@cache
def usual_and_with_own(engine: Engine, service: Service) -> pl.DataFrame:
    """Return the rows of a usual trip and of one that has what its service alone has."""
    return silver(engine, service, trip(), trip(**OWN[service]))


@BOTH
def test_silver_has_the_designs_columns_in_its_order_and_exact_types(engine: Engine, service: Service) -> None:
    assert list(usual_and_with_own(engine, service).schema.items()) == list(columns_of(service).items())


@BOTH
def test_a_trip_is_stored_with_its_names_times_and_ratios(engine: Engine, service: Service) -> None:
    assert usual_and_with_own(engine, service)[:1].to_dicts() == [
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
            **dict.fromkeys(OWN[service]),
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
def test_each_services_own_columns_are_stored(engine: Engine, service: Service) -> None:
    assert usual_and_with_own(engine, service)[1:].select(list(OWN[service])).to_dicts() == [OWN[service]]


# What is changed of a usual trip, and what silver stores then in some columns; claim by claim.
STORED: dict[str, list[tuple[dict[str, Any], dict[str, Any]]]] = {
    "amounts are rounded half up to the cent": [
        ({"tip_amount": amount}, {"tip_amount": Decimal(cents)})
        for amount, cents in (
            (12.345, "12.35"),
            (1.005, "1.01"),
            (2.675, "2.68"),
            (12.344, "12.34"),
            (-1.005, "-1.01"),
            (-0.004, "0.00"),
            (99_999_999.99, "99999999.99"),
        )
    ],
    "a duration is minutes rounded half up of whole seconds": [
        ({"dropoff_datetime": NOON + timedelta(seconds=seconds)}, {"duration_min": Decimal(minutes)})
        for seconds, minutes in (
            (90.0, "1.50"),
            (600.0, "10.00"),
            (20.0, "0.33"),
            (1.0, "0.02"),
            (86_400.0, "1440.00"),
            (1.9, "0.02"),
            (0.000001, "0.00"),
        )
    ],
    "the longest duration that two times can have fits": [
        (
            {"dropoff_datetime": datetime(9999, 12, 31, 12)},
            {"duration_min": (date(9999, 12, 31) - date(2024, 1, 10)).days * 1_440},
        )
    ],
    "the fare per mile has four places, rounded half up, and is null from a million": [
        ({"fare_amount": fare, "trip_distance": distance}, {"fare_per_mile": ratio})
        for fare, distance, ratio in (
            (10.0, 3.0, Decimal("3.3333")),
            (2.0, 3.0, Decimal("0.6667")),
            (0.01, 8.0, Decimal("0.0013")),
            (9_999.99, 0.01, Decimal("999999.0000")),
            (10_000.0, 0.01, None),
            (999_999.99, 0.01, None),
        )
    ],
    "date, hour and ISO weekday are the pickup's": [
        (
            {"pickup_datetime": pickup, "dropoff_datetime": pickup + timedelta(minutes=10)},
            {"pickup_date": pickup.date(), "pickup_hour": hour, "pickup_day_of_week": weekday},
        )
        for pickup, hour, weekday in (
            (datetime(2024, 1, 1), 0, 1),
            (datetime(2024, 1, 3, 12), 12, 3),
            (datetime(2024, 1, 7, 23, 59, 59, 999_999), 23, 7),
        )
    ],
    **{
        f"a {end} zone has the lookup's names or is unknown": [
            (
                {f"{end}_location_id": zone},
                {f"{end}_location_id": zone, f"{end}_borough": borough, f"{end}_zone": name},
            )
            for zone, borough, name in (
                (270, "Unknown", "Unknown"),
                (264, "Unknown", "N/A"),
                (265, "Brooklyn", "Zone 265"),
                (0, "Unknown", "Unknown"),
            )
        ]
        for end in ("pickup", "dropoff")
    },
    "a payment code has TLC's name or is unknown": [
        ({"payment_type": code}, {"payment_name": name})
        for code, name in (
            (0, "Flex Fare trip"),
            (2, "Cash"),
            (6, "Voided trip"),
            (9, "Unknown"),
            (-1, "Unknown"),
            (None, None),
        )
    ],
}


@cache
def stored_by_claims(engine: Engine) -> dict[str, list[dict[str, Any]]]:
    """Return for each claim the rows that silver stores of its trips; all of them stand in one frame."""
    cases = [(claim, changes) for claim, cases in STORED.items() for changes, _ in cases]
    found: dict[str, list[dict[str, Any]]] = {}
    rows = silver(engine, Service.GREEN, *(trip(**changes) for _, changes in cases)).to_dicts()
    for (claim, _), row in zip(cases, rows, strict=True):
        found.setdefault(claim, []).append(row)
    return found


@pytest.mark.parametrize("claim", STORED)
def test_each_trip_is_stored_as_claimed(engine: Engine, claim: str) -> None:
    rows = stored_by_claims(engine)[claim]

    found = [{name: row[name] for name in expected} for row, (_, expected) in zip(rows, STORED[claim], strict=True)]
    assert found == [expected for _, expected in STORED[claim]]


@BOTH
def test_all_of_bronze_is_still_there_to_be_quarantined(engine: Engine, service: Service) -> None:
    rows = [trip(), trip(fare_amount=None), trip(pickup_datetime=None), trip(fare_amount=None)]
    names = list(BRONZE_TRIPS[service].column_names())

    with_more = collected(enriched(service, rows, engine=engine).select(*names)).sort("source_row")

    assert with_more.equals(collected(bronze(service, rows)).select(names))


@BOTH
def test_a_quarantined_row_stands_as_bronze_has_it_with_the_rules_that_it_broke(
    engine: Engine, service: Service
) -> None:
    bad = trip(fare_amount=-0.001, tip_amount=1e12, _rescued_data='{"mood":"good"}')
    contract = QUARANTINES[service]

    (row,) = collected(conform(contract, judged(service, [bad], engine=engine).quarantined)).to_dicts()

    (as_in_bronze,) = collected(bronze(service, [bad])).to_dicts()
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
    engine: Engine, asset: dg.AssetsDefinition, service: Service, fee: str
) -> None:
    counted = {fee: 1.75, "total_amount": 21.75}
    rows = [trip(**counted), trip(**counted, passenger_count=2), trip(**{fee: 1.75})]

    made = asset(trips=bronze(service, rows, engine=engine), zones=zones(engine), passed_by=PassedBy())

    results = [result for result in made if isinstance(result, dg.AssetCheckResult)]
    (of_total,) = (result for result in results if result.check_name == "total_is_sum_of_parts")
    assert of_total.metadata["rows_failing"].value == 1
