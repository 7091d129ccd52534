"""tlc_gold/fact_trips_borough_hour: when and where trips begin, and what they bring in."""

from __future__ import annotations

from typing import Any

import dagster as dg
import narwhals.stable.v1 as nw

from taxi_assets.contracts import Contract, Date, Frame, Int32, Int64, String, column
from taxi_assets.lake.assets import optional_inputs, stored_of, table_asset
from taxi_assets.tlc import MONTHLY
from taxi_assets.tlc.gold.trips import MILES_PLACES, average, if_any, plotted, published, stack, total_of
from taxi_assets.tlc.money import Miles, Money, MoneySum
from taxi_assets.tlc.silver.trips import SILVER_TRIPS


class FactTripsBoroughHour(
    Contract,
    table="tlc_gold/fact_trips_borough_hour",
    partition=MONTHLY,
    keys=("service_type", "pickup_date", "pickup_hour", "pickup_borough"),
):
    """One row per service, pickup date, hour and borough. Averages are rounded half up.

    For fhv, whose fares and distances TLC doesn't publish, there are counts alone.
    """

    service_type: String = column("Service: yellow, green, fhv or fhvhv.", required=True)
    pickup_date: Date = column("Date of the pickups.", required=True)
    pickup_hour: Int32 = column("Hour of the pickups, 0 to 23.", required=True)
    pickup_borough: String = column("Borough of the pickups.", required=True)
    trip_count: Int64 = column("Number of trips.", required=True)
    avg_distance: Miles = column("Average distance; null where no trip has one.", unit="miles")
    avg_fare: Money = column("Average fare, the metered or the company's; null where no trip has one.", unit="USD")
    avg_tip: Money = column(
        "Average tip by card or app: a trip whose tip is missing counts as 0; null where no trip has one.", unit="USD"
    )
    total_revenue: MoneySum = column("Sum of total_amount; null where no trip has one.", unit="USD")
    source_month: Date = column("Month of the files.", required=True)


def by_borough_and_hour(trips: Frame) -> Frame:
    """Aggregate stacked silver trips."""
    return (
        trips.group_by(*FactTripsBoroughHour.stored_as().keys, "source_month")
        .agg(
            nw.len().alias("trip_count"),
            *total_of("trip_distance", "fare_amount", "tip_amount", "total_amount"),
        )
        .with_columns(
            average("trip_distance", MILES_PLACES).alias("avg_distance"),
            average("fare_amount").alias("avg_fare"),
            average("tip_amount", per="trip_count").alias("avg_tip"),
            if_any("total_amount").alias("total_revenue"),
        )
        .sort(*FactTripsBoroughHour.stored_as().keys)
    )


_COLUMNS = (
    "pickup_date",
    "pickup_hour",
    "pickup_borough",
    "trip_distance",
    "fare_amount",
    "tip_amount",
    "total_amount",
    "source_month",
)


@table_asset(
    FactTripsBoroughHour,
    ins=optional_inputs(SILVER_TRIPS),
    figures=plotted(FactTripsBoroughHour, ("trip_count",), "total_revenue"),
)
def fact_trips_borough_hour(context: dg.AssetExecutionContext, **trips: Frame | None) -> dg.MaterializeResult[Any]:
    return published(by_borough_and_hour(stack(stored_of(trips, context.partition_key), _COLUMNS)), trips)
