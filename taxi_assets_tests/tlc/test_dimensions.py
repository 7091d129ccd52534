"""Claims about the dimensions: they hold all that their lists hold, and whatever else a month's trips name."""

from __future__ import annotations

from datetime import date

import narwhals.stable.v1 as nw
import polars as pl
import pytest

from taxi_assets.contracts import duplicated_keys, orphaned_keys
from taxi_assets.engines import conform
from taxi_assets.tlc.silver.dim_base import DimBase, bases
from taxi_assets.tlc.silver.dim_license import DimLicense, licenses
from taxi_assets.tlc.silver.dim_payment import DimPayment, listed_and_seen
from taxi_assets.tlc.silver.dim_zone import DimZone, with_unlisted
from taxi_assets.tlc.vocabulary import Service
from taxi_assets_tests.scenario import MONTH, bronze, high_volume, hired, trip

pytestmark = pytest.mark.fast

JANUARY = date(2024, 1, 1)


def lookup(*rows: tuple[int, str, str, str | None]) -> nw.LazyFrame:
    """Return a month's zone lookup as bronze has it."""
    schema = {"location_id": pl.Int32, "borough": pl.String, "zone": pl.String, "service_zone": pl.String}
    listed = pl.LazyFrame(list(rows), schema=schema, orient="row")
    return nw.from_native(listed.with_columns(pl.lit(JANUARY).alias("source_month"), pl.lit("x").alias("source_file")))


JFK = (132, "Queens", "JFK Airport", "Airports")
MIDTOWN = (161, "Manhattan", "Midtown Center", "Yellow Zone")
OUTSIDE = (265, "Outside of NYC", "N/A", None)


def zones(frame: nw.LazyFrame) -> pl.DataFrame:
    stored: pl.DataFrame = conform(DimZone, frame).collect().to_native()
    return stored.sort("location_id")


def payments(*trips: nw.LazyFrame) -> pl.DataFrame:
    stored: pl.DataFrame = conform(DimPayment, listed_and_seen(trips, MONTH)).collect().to_native()
    return stored.sort("payment_type")


def test_the_zones_of_the_lookup_are_all_there_whether_or_not_a_trip_names_them() -> None:
    found = zones(
        with_unlisted(lookup(JFK, MIDTOWN, OUTSIDE), [bronze(Service.GREEN, [trip(dropoff_location_id=132)])])
    )

    assert found.rows() == [(*zone, JANUARY) for zone in (JFK, MIDTOWN, OUTSIDE)]
    assert dict(found.schema) == {
        "location_id": pl.Int32,
        "borough": pl.String,
        "zone": pl.String,
        "service_zone": pl.String,
        "source_month": pl.Date,
    }


def test_a_zone_that_only_trips_name_is_added_once_as_unknown() -> None:
    yellow = bronze(Service.YELLOW, [trip(pickup_location_id=270), trip(dropoff_location_id=270)])
    green = bronze(Service.GREEN, [trip(pickup_location_id=270, dropoff_location_id=0), trip()])

    found = with_unlisted(lookup(JFK, MIDTOWN), [yellow, green])

    unknown = ("Unknown", "Unknown", "Unknown", JANUARY)
    assert zones(found).rows() == [(0, *unknown), (*JFK, JANUARY), (*MIDTOWN, JANUARY), (270, *unknown)]
    assert duplicated_keys(DimZone, found) == 0


def test_trips_without_a_zone_add_none() -> None:
    nowhere = bronze(Service.GREEN, [trip(pickup_location_id=None, dropoff_location_id=None)])

    assert zones(with_unlisted(lookup(JFK), [nowhere])).rows() == [(*JFK, JANUARY)]


def test_every_zone_of_a_trip_is_in_the_dimension() -> None:
    trips = bronze(
        Service.GREEN, [trip(pickup_location_id=zone, dropoff_location_id=300 - zone) for zone in range(300)]
    )

    dimension = with_unlisted(lookup(JFK), [trips])

    for end in ("pickup", "dropoff"):
        assert orphaned_keys(trips, f"{end}_location_id", dimension, "location_id") == []


def test_the_payment_codes_of_tlc_are_all_there() -> None:
    found = payments(bronze(Service.GREEN, [trip()]))

    assert found.rows() == [
        (0, "Flex Fare trip", JANUARY),
        (1, "Credit card", JANUARY),
        (2, "Cash", JANUARY),
        (3, "No charge", JANUARY),
        (4, "Dispute", JANUARY),
        (5, "Unknown", JANUARY),
        (6, "Voided trip", JANUARY),
    ]
    assert dict(found.schema) == {"payment_type": pl.Int32, "payment_name": pl.String, "source_month": pl.Date}


def test_a_code_that_only_trips_have_is_added_once_as_unknown_and_a_missing_one_never() -> None:
    yellow = bronze(Service.YELLOW, [trip(payment_type=9), trip(payment_type=None)])
    green = bronze(Service.GREEN, [trip(payment_type=9), trip(payment_type=-1)])

    found = payments(yellow, green)

    assert found.filter(~pl.col("payment_type").is_between(0, 6)).rows() == [
        (-1, "Unknown", JANUARY),
        (9, "Unknown", JANUARY),
    ]
    assert found.height == 9


def test_tlcs_four_licences_are_there_and_one_that_only_trips_have_is_added_once_as_unknown() -> None:
    numbers = ("HV0003", "hv0003 ", "HV0009", " hv0009", None)
    trips = bronze(Service.FHVHV, [high_volume(hvfhs_license_num=number) for number in numbers])

    found: pl.DataFrame = conform(DimLicense, licenses(trips, MONTH)).collect().to_native().sort("license_num")

    assert found.rows() == [
        ("HV0002", "Juno", JANUARY),
        ("HV0003", "Uber", JANUARY),
        ("HV0004", "Via", JANUARY),
        ("HV0005", "Lyft", JANUARY),
        ("HV0009", "Unknown", JANUARY),
    ]


def named_bases(**trips: nw.LazyFrame) -> list[tuple[object, ...]]:
    found = bases(trips, MONTH)
    assert duplicated_keys(DimBase, found) == 0
    stored: pl.DataFrame = conform(DimBase, found).collect().to_native()
    return stored.sort("base_num").rows()


def test_every_base_that_a_trip_names_is_there_once_whatever_its_case_and_the_blanks_around_it() -> None:
    fhv = bronze(
        Service.FHV,
        [
            hired(),
            hired(dispatching_base_num=" b00001", second_base_num="B00002  ", affiliated_base_num="b00003"),
            hired(dispatching_base_num=None),
            hired(dispatching_base_num="?"),
        ],
    )

    assert named_bases(fhv=fhv) == [
        ("?", None, None, JANUARY),
        ("B00001", None, None, JANUARY),
        ("B00002", None, None, JANUARY),
        ("B00003", None, None, JANUARY),
    ]


def test_a_base_has_the_company_for_which_it_dispatched_whoever_originated_the_trip() -> None:
    fhv = bronze(Service.FHV, [hired(dispatching_base_num="B03404")])
    fhvhv = bronze(
        Service.FHVHV,
        [
            high_volume(dispatching_base_num="b03404 ", originating_base_num="B00009"),
            high_volume(dispatching_base_num="B03406", originating_base_num=None, hvfhs_license_num="HV0005"),
            # Under two licences it is the lowest one's.
            high_volume(dispatching_base_num="B03407", originating_base_num=None, hvfhs_license_num="HV0005"),
            high_volume(dispatching_base_num="B03407", originating_base_num=None, hvfhs_license_num="HV0002"),
            high_volume(dispatching_base_num="B03408", originating_base_num=None, hvfhs_license_num="HV0009"),
        ],
    )

    assert named_bases(fhv=fhv, fhvhv=fhvhv) == [
        ("B00009", None, None, JANUARY),
        ("B03404", "HV0003", "Uber", JANUARY),
        ("B03406", "HV0005", "Lyft", JANUARY),
        ("B03407", "HV0002", "Juno", JANUARY),
        ("B03408", "HV0009", "Unknown", JANUARY),
    ]
