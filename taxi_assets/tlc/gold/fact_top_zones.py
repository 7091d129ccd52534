"""tlc_gold/fact_top_zones: which zones earn most."""

from __future__ import annotations

from typing import Any

import dagster as dg
import narwhals.stable.v1 as nw

from taxi_assets.contracts import Contract, Date, Frame, Int32, Int64, String, column
from taxi_assets.lake.assets import optional_inputs, stored_of, table_asset
from taxi_assets.tlc import MONTHLY
from taxi_assets.tlc.gold.trips import average, if_any, plotted, published, stack, total_of
from taxi_assets.tlc.money import Money, MoneySum
from taxi_assets.tlc.silver.trips import SILVER_TRIPS


class FactTopZones(
    Contract,
    table="tlc_gold/fact_top_zones",
    partition=MONTHLY,
    keys=("service_type", "source_month", "pickup_location_id"),
):
    """One row per service, month and pickup zone, ranked by revenue. Zones are told apart by id: some share a name.

    For fhv, whose fares TLC doesn't publish, there are counts alone, and no rank.
    """

    service_type: String = column("Service: yellow, green, fhv or fhvhv.", required=True)
    pickup_location_id: Int32 = column("TLC taxi zone of the pickups; null for those that no zone is known of.")
    borough: String = column("Borough of the zone.", required=True)
    zone: String = column("Name of the zone.", required=True)
    trip_count: Int64 = column("Number of trips.", required=True)
    total_revenue: MoneySum = column("Sum of total_amount; null where no trip has one.", unit="USD")
    avg_fare: Money = column(
        "Average fare, the metered or the company's, rounded half up; null where no trip has one.", unit="USD"
    )
    revenue_rank: Int32 = column(
        "1 is the zone with the highest revenue of its service and month; equal revenue, equal rank; null where there "
        "is no revenue."
    )
    source_month: Date = column("Month of the files.", required=True)


def ranked_by_revenue(trips: Frame) -> Frame:
    """Aggregate stacked silver trips by zone and rank the zones of each service."""
    return (
        trips.group_by("service_type", "source_month", "pickup_location_id", "pickup_borough", "pickup_zone")
        .agg(
            nw.len().alias("trip_count"),
            *total_of("fare_amount", "total_amount"),
        )
        .with_columns(if_any("total_amount").alias("total_revenue"))
        .with_columns(
            nw.col("pickup_borough").alias("borough"),
            nw.col("pickup_zone").alias("zone"),
            average("fare_amount").alias("avg_fare"),
            nw.col("total_revenue")
            .rank("min", descending=True)
            .over("service_type", "source_month")
            .alias("revenue_rank"),
        )
        .sort("service_type", "revenue_rank", "pickup_location_id")
    )


_COLUMNS = ("pickup_location_id", "pickup_borough", "pickup_zone", "fare_amount", "total_amount", "source_month")


@table_asset(
    FactTopZones,
    ins=optional_inputs(SILVER_TRIPS),
    figures=plotted(FactTopZones, ("trip_count",), "total_revenue"),
)
def fact_top_zones(context: dg.AssetExecutionContext, **trips: Frame | None) -> dg.MaterializeResult[Any]:
    return published(ranked_by_revenue(stack(stored_of(trips, context.partition_key), _COLUMNS)), trips)
