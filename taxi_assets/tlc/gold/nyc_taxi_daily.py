"""tlc_gold/nyc_taxi_daily: how many trips a day, at what fare, and how many rows look sent twice."""

from __future__ import annotations

from typing import Any

import dagster as dg
import narwhals.stable.v1 as nw

from taxi_assets.contracts import Contract, Date, Frame, Int64, String, column
from taxi_assets.lake.assets import optional_inputs, stored_of, table_asset
from taxi_assets.tlc import MONTHLY
from taxi_assets.tlc.gold.trips import average, plotted, published, stack, total_of
from taxi_assets.tlc.money import Money
from taxi_assets.tlc.silver.trips import SILVER_TRIPS


class NycTaxiDaily(Contract, table="tlc_gold/nyc_taxi_daily", partition=MONTHLY, keys=("service_type", "trip_date")):
    """One row per service and pickup date; repeats (an earlier row has the same times) are counted apart.

    For fhv and fhvhv a repeat has the same base and zones, too. For fhv, whose fares TLC doesn't publish, there are
    counts alone.
    """

    service_type: String = column("Service: yellow, green, fhv or fhvhv.", required=True)
    trip_date: Date = column("Date of the pickups.", required=True)
    trip_count: Int64 = column("Number of trips, repeats left out.", required=True)
    avg_fare: Money = column(
        "Average fare, repeats left out; null on a day that has only repeats, or no fare.", unit="USD"
    )
    repeat_count: Int64 = column("Number of repeats.", required=True)
    source_month: Date = column("Month of the files.", required=True)


def by_day(trips: Frame) -> Frame:
    """Aggregate stacked silver trips by day."""
    return (
        trips.with_columns(
            nw.col("pickup_date").alias("trip_date"),
            nw.when(~nw.col("is_repeat")).then(nw.col("fare_amount")).alias("first_fare"),
        )
        .group_by("service_type", "trip_date", "source_month")
        .agg(
            (~nw.col("is_repeat")).cast(nw.Int64).sum().alias("trip_count"),
            *total_of("first_fare"),
            nw.col("is_repeat").cast(nw.Int64).sum().alias("repeat_count"),
        )
        .with_columns(average("first_fare").alias("avg_fare"))
        .sort("service_type", "trip_date")
    )


@table_asset(
    NycTaxiDaily,
    ins=optional_inputs(SILVER_TRIPS),
    figures=plotted(NycTaxiDaily, ("trip_count", "repeat_count")),
)
def nyc_taxi_daily(context: dg.AssetExecutionContext, **trips: Frame | None) -> dg.MaterializeResult[Any]:
    columns = ("pickup_date", "fare_amount", "is_repeat", "source_month")
    return published(by_day(stack(stored_of(trips, context.partition_key), columns)), trips)
