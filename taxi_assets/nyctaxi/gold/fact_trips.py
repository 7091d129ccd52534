"""nyctaxi_gold/fact_trips: the trips, with keys of all dimensions."""

from __future__ import annotations

from typing import Annotated

import dagster as dg
import narwhals.stable.v1 as nw

from taxi_assets.contracts import Bool, Contract, Date, Decimal, Frame, Int64, String, column
from taxi_assets.engines import engine_of
from taxi_assets.lake.assets import table_asset
from taxi_assets.lake.metadata import asset_key
from taxi_assets.nyctaxi import MONTHLY
from taxi_assets.nyctaxi.silver.trips_enriched import TripsEnriched


class FactTrips(
    Contract,
    table="nyctaxi_gold/fact_trips",
    partition=MONTHLY,
    keys=("trip_sk",),
    upstream=TripsEnriched,
):
    """One row per trip of silver. Keys are made of the dimensions' own values, so months may run in any order."""

    trip_sk: String = column("Key: the trip's own.", required=True)
    date_sk: Int64 = column("Date of the pickup, a key of nyctaxi_gold.dim_date.", required=True)
    pickup_zone_sk: Int64 = column("ZIP code of the pickup, a key of nyctaxi_gold.dim_zone.", required=True)
    dropoff_zone_sk: Int64 = column("ZIP code of the dropoff, likewise.", required=True)
    time_of_day_sk: Int64 = column("Time of day of the pickup, a key of nyctaxi_gold.dim_time_of_day.", required=True)
    rider_sk: Int64 = column("Rider, a key of nyctaxi_gold.dim_rider.", required=True)
    trip_distance: Annotated[Decimal, 10, 2] = column(unit="miles", required=True)
    fare_amount: Annotated[Decimal, 10, 2] = column(unit="USD", required=True)
    fare_per_mile: Annotated[Decimal, 14, 4] = column(unit="USD per mile")
    trip_duration_minutes: Annotated[Decimal, 12, 2] = column(unit="minutes", required=True)
    is_cross_borough: Bool = column()
    is_region_known: Bool = column(required=True)
    is_invalid_time_order: Bool = column(required=True)
    source_month: Date = column(required=True)


def with_foreign_keys(trips: Frame) -> Frame:
    """Add to silver trips the keys of all dimensions."""
    dated = trips.with_columns(
        nw.col("tpep_pickup_datetime").dt.date().alias("pickup_date"), nw.col("trip_key").alias("trip_sk")
    )
    return engine_of(trips).with_keys(dated, {
        "date_sk": "pickup_date",
        "pickup_zone_sk": "pickup_zip",
        "dropoff_zone_sk": "dropoff_zip",
        "time_of_day_sk": "time_of_day",
        "rider_sk": "rider_id",
    })  # fmt: skip


@table_asset(FactTrips, ins={"trips": dg.AssetIn(asset_key(TripsEnriched))})
def fact_trips(trips: Frame) -> Frame:
    return with_foreign_keys(trips)
