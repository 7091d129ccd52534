"""nyctaxi_gold/dim_time_of_day: the four times of day, in their order."""

from __future__ import annotations

import dagster as dg
import narwhals.stable.v1 as nw

from taxi_assets.calendars import Month
from taxi_assets.contracts import Contract, Date, Frame, Int32, Int64, String, column
from taxi_assets.engines import Engine, engine_of
from taxi_assets.lake.assets import table_asset
from taxi_assets.lake.metadata import asset_key
from taxi_assets.nyctaxi import MONTHLY
from taxi_assets.nyctaxi.silver.places_and_times import TIMES_OF_DAY
from taxi_assets.nyctaxi.silver.trips_enriched import TripsEnriched


class DimTimeOfDay(
    Contract, table="nyctaxi_gold/dim_time_of_day", keys=("time_of_day_sk",), partition=MONTHLY, sequence="source_month"
):
    """One row per time of day."""

    time_of_day_sk: Int64 = column("Key: xxhash64 of the name.", required=True)
    time_of_day: String = column("morning, afternoon, evening or night.", required=True)
    time_of_day_order: Int32 = column("Place in the day, from 1.", required=True)
    first_hour: Int32 = column("Hour that it begins with.", required=True)
    last_hour: Int32 = column("Last hour that is of it.", required=True)
    source_month: Date = column("Newest month that ran.", required=True)


def times_of_day(month: Month, engine: Engine) -> Frame:
    """Make the times of day, with their keys."""
    frame = engine.literal({
        "time_of_day": list(TIMES_OF_DAY),
        "time_of_day_order": list(range(1, len(TIMES_OF_DAY) + 1)),
        "first_hour": [first for first, _ in TIMES_OF_DAY.values()],
        "last_hour": [last for _, last in TIMES_OF_DAY.values()],
    })  # fmt: skip
    typed = frame.with_columns(
        nw.col("time_of_day_order", "first_hour", "last_hour").cast(nw.Int32),
        nw.lit(month.first_day).alias("source_month"),
    )
    return engine.with_keys(typed, {"time_of_day_sk": "time_of_day"})


@table_asset(DimTimeOfDay, ins={"trips": dg.AssetIn(asset_key(TripsEnriched))}, embedded=True)
def dim_time_of_day(context: dg.AssetExecutionContext, trips: Frame) -> Frame:
    return times_of_day(Month.parse(context.partition_key), engine_of(trips))
