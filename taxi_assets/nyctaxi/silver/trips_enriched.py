"""nyctaxi_silver/trips_enriched and its quarantine: trips that cost and went something, with what follows from them."""

from __future__ import annotations

from typing import Annotated, Final

import dagster as dg
import narwhals.stable.v1 as nw

from taxi_assets.contracts import (
    Bool,
    Contract,
    Cost,
    Date,
    Decimal,
    Frame,
    Int32,
    LocalTime,
    String,
    column,
    quarantine_of,
    rule,
)
from taxi_assets.engines import engine_of, fits_decimal, ratio, units
from taxi_assets.engines.typed_rows import RESCUED, rescues_one_of
from taxi_assets.lake.assets import judged_assets
from taxi_assets.lake.metadata import asset_key
from taxi_assets.nyctaxi import MONTHLY, UNKNOWN
from taxi_assets.nyctaxi.bronze import trips_raw as bronze
from taxi_assets.nyctaxi.silver.places_and_times import borough_of, time_of_day
from taxi_assets.nyctaxi.trip_files import TRIP_COLUMNS

RIDERS: Final = 500
"""How many riders the trips are dealt out to."""

_LEAST: Final = 0.005
_SECONDS_A_MINUTE: Final = 60


class TripsEnriched(
    Contract,
    table="nyctaxi_silver/trips_enriched",
    partition=MONTHLY,
    keys=("trip_key",),
    publish_limit=0.5,
    upstream=bronze.TripsRaw,
):
    """One row per trip that broke no quarantining rule, with duration, places, time of day and rider."""

    trip_key: String = column(required=True)
    tpep_pickup_datetime: LocalTime = column(required=True)
    tpep_dropoff_datetime: LocalTime = column(required=True)
    trip_distance: Annotated[Decimal, 10, 2] = column(unit="miles", required=True)
    fare_amount: Annotated[Decimal, 10, 2] = column(unit="USD", required=True)
    pickup_zip: Int32 = column()
    dropoff_zip: Int32 = column()
    is_invalid_time_order: Bool = column("Whether the trip ends when or before it begins.", required=True)
    trip_duration_minutes: Annotated[Decimal, 12, 2] = column(
        "Minutes from pickup to dropoff by the clock.", unit="minutes", required=True
    )
    fare_per_mile: Annotated[Decimal, 14, 4] = column("Fare by distance.", unit="USD per mile")
    pickup_borough: String = column("Borough or region of the pickup's ZIP code; Unknown in none.", required=True)
    dropoff_borough: String = column("Borough or region of the dropoff's ZIP code; Unknown in none.", required=True)
    is_cross_borough: Bool = column("Whether the two differ; null where one is Unknown.")
    is_region_known: Bool = column("Whether neither is Unknown.", required=True)
    time_of_day: String = column(
        "morning 6-11, afternoon 12-17, evening 18-22, night 23-5, by the pickup.", required=True
    )
    rider_id: String = column("Rider that the trip is dealt to, by its key: RDR-00000 to RDR-00499.", required=True)
    source_month: Date = column(required=True)

    @rule(
        "tpep_pickup_datetime", "tpep_dropoff_datetime", "fare_amount", "trip_distance",
        why="Without when, how far and for how much there is no trip to report.",
        source="All rows of Databricks' sample have every value.",
    )  # fmt: skip
    def required_values_present(cls, *values: nw.Expr) -> nw.Expr:
        """Pickup and dropoff time, fare and distance are there."""
        return ~nw.any_horizontal(*(value.is_null() for value in values), ignore_nulls=False)

    @rule(
        RESCUED, "rescues_a_value", "amounts_fit",
        why="A value that isn't of its column's type would be null in silver, as if it had never been there.",
        source="The types of the contract; amounts are decimals of 10 digits.",
    )  # fmt: skip
    def values_fit_their_types(cls, _rescued: nw.Expr, rescues_a_value: nw.Expr, amounts_fit: nw.Expr) -> nw.Expr:
        """Every value is of its column's type, every amount below 100,000,000."""
        return ~rescues_a_value & amounts_fit

    @rule(
        "tpep_pickup_datetime", "source_month",
        why="A trip whose month there is no partition for was put into its file's first.",
        source="Months are those of pickups.",
    )  # fmt: skip
    def pickup_in_month(cls, pickup: nw.Expr, month: nw.Expr) -> nw.Expr:
        """The trip begins in the month that it was put into."""
        return (pickup.dt.year() == month.dt.year()) & (pickup.dt.month() == month.dt.month())

    @rule(
        "fare_amount",
        why="A fare of nothing or less is a refund or a voided trip, not revenue.",
        source="10 of the 21,932 rows of Databricks' sample.",
        tolerance=0.01,
    )
    def positive_fare_amount(cls, fare: nw.Expr) -> nw.Expr:
        """The fare is at least a cent."""
        return fare >= _LEAST

    @rule(
        "trip_distance",
        why="A trip of no distance was not driven, or its meter was not read.",
        source="76 of the 21,932 rows of Databricks' sample.",
        tolerance=0.02,
    )
    def positive_trip_distance(cls, distance: nw.Expr) -> nw.Expr:
        """The distance is at least a hundredth of a mile."""
        return distance >= _LEAST

    @rule(
        "is_invalid_time_order",
        why="The duration of such a trip is none.",
        source="Arithmetic.",
        tolerance=0.005,
        cost=Cost.KEPT,
    )
    def pickup_before_dropoff(cls, is_invalid_time_order: nw.Expr) -> nw.Expr:
        """The trip ends after it begins."""
        return ~is_invalid_time_order


TripsEnrichedQuarantine: Final = quarantine_of(TripsEnriched, bronze.TripsRaw)


@judged_assets(
    TripsEnriched,
    TripsEnrichedQuarantine,
    row_id="row_id",
    recognised_by=("trip_key", "tpep_pickup_datetime"),
    ins={"trips": dg.AssetIn(asset_key(bronze.TripsRaw))},
)
def trips_enriched(trips: Frame) -> Frame:
    return enrich(trips)


def enrich(trips: Frame) -> Frame:
    """Add to bronze trips all that silver's columns and rules need; keeps every row and bronze's columns."""
    engine = engine_of(trips)
    pickup, dropoff = nw.col("tpep_pickup_datetime"), nw.col("tpep_dropoff_datetime")
    pickup_borough, dropoff_borough = nw.col("pickup_borough"), nw.col("dropoff_borough")
    amounts = [nw.col("fare_amount"), nw.col("trip_distance")]
    keyed = engine.with_keys(trips, {"row_id": "trip_key"})
    measured = keyed.with_columns(
        engine.seconds_between(pickup, dropoff).alias("seconds"),
        (dropoff <= pickup).fill_null(False).alias("is_invalid_time_order"),
        nw.all_horizontal(*(fits_decimal(one, 10, 2) for one in amounts), ignore_nulls=True).alias("amounts_fit"),
        rescues_one_of(TRIP_COLUMNS).alias("rescues_a_value"),
        borough_of(nw.col("pickup_zip")).alias("pickup_borough"),
        borough_of(nw.col("dropoff_zip")).alias("dropoff_borough"),
        time_of_day(pickup).alias("time_of_day"),
        *(_hundredths(name).alias(f"{name}_hundredths") for name in ("fare_amount", "trip_distance")),
    )
    known = (pickup_borough != UNKNOWN) & (dropoff_borough != UNKNOWN)
    return measured.with_columns(
        ratio(nw.col("seconds"), nw.lit(_SECONDS_A_MINUTE), 12, 2).alias("trip_duration_minutes"),
        ratio(nw.col("fare_amount_hundredths"), nw.col("trip_distance_hundredths"), 14, 4).alias("fare_per_mile"),
        known.alias("is_region_known"),
        nw.when(known).then(pickup_borough != dropoff_borough).alias("is_cross_borough"),
        rider_id(rider_of(nw.col("row_id"))).alias("rider_id"),
    )


def rider_of(key: nw.Expr) -> nw.Expr:
    """Deal a trip, by the xxhash64 of its key, to one of the riders: Spark's pmod, which is never negative."""
    return (key % RIDERS + RIDERS) % RIDERS


def rider_id(ordinal: nw.Expr) -> nw.Expr:
    """Write a rider's number as an id: RDR-00042."""
    return nw.concat_str(nw.lit("RDR-"), ordinal.cast(nw.String).str.zfill(5))


def _hundredths(name: str) -> nw.Expr:
    return units(nw.when(fits_decimal(nw.col(name), 10, 2)).then(nw.col(name)), 2)
