"""nyctaxi_gold/dim_date: the days of the months that trips are of, for reports by calendar."""

from __future__ import annotations

from datetime import date, timedelta
from typing import Final

import dagster as dg
import narwhals.stable.v1 as nw

from taxi_assets.calendars import Month
from taxi_assets.contracts import Bool, Contract, Date, Frame, Int32, Int64, String, column
from taxi_assets.engines import Engine, engine_of
from taxi_assets.lake.assets import table_asset
from taxi_assets.lake.metadata import asset_key
from taxi_assets.nyctaxi import MONTHLY
from taxi_assets.nyctaxi.silver.trips_enriched import TripsEnriched

_WEEKDAYS: Final = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_SATURDAY: Final = 6


class DimDate(Contract, table="nyctaxi_gold/dim_date", keys=("date_sk",), partition=MONTHLY, sequence="source_month"):
    """One row per day of every month that ran, with trips or without."""

    date_sk: Int64 = column("Key: xxhash64 of the date as text.", required=True)
    date: Date = column("The day.", required=True)
    year: Int32 = column("Calendar year.", required=True)
    month: Date = column("First day of the month.", required=True)
    day_of_week: String = column("Name of the weekday.", required=True)
    day_of_week_number: Int32 = column("ISO weekday, 1 is Monday.", required=True)
    is_weekend: Bool = column("Whether it is a Saturday or a Sunday.", required=True)
    source_month: Date = column("Month that ran.", required=True)


def days_of(month: Month, engine: Engine) -> Frame:
    """Make the days of a month, with their keys."""
    count = (month.next().first_day - month.first_day).days
    days = [month.first_day + timedelta(days=number) for number in range(count)]
    frame = engine.literal({
        "date": days,
        "day_of_week": [_WEEKDAYS[day.weekday()] for day in days],
        "year": [day.year for day in days],
        "day_of_week_number": [day.isoweekday() for day in days],
        "is_weekend": [_is_weekend(day) for day in days],
    })  # fmt: skip
    typed = frame.with_columns(
        nw.col("year", "day_of_week_number").cast(nw.Int32),
        nw.lit(month.first_day).alias("month"),
        nw.lit(month.first_day).alias("source_month"),
    )
    return engine.with_keys(typed, {"date_sk": "date"})


@table_asset(DimDate, ins={"trips": dg.AssetIn(asset_key(TripsEnriched))}, embedded=True)
def dim_date(context: dg.AssetExecutionContext, trips: Frame) -> Frame:
    return days_of(Month.parse(context.partition_key), engine_of(trips))


def _is_weekend(day: date) -> bool:
    return day.isoweekday() >= _SATURDAY
