"""What this catalog is to Dagster, and how its months are run."""

from __future__ import annotations

from typing import Final

from taxi_assets.catalog import Asked, Contents
from taxi_assets.month_reports import MonthReport, require_partitions
from taxi_assets.nyctaxi import NYCTAXI
from taxi_assets.nyctaxi.bronze.trips_raw import trips_raw
from taxi_assets.nyctaxi.checks import all_checks
from taxi_assets.nyctaxi.gold.dim_date import dim_date
from taxi_assets.nyctaxi.gold.dim_rider import dim_rider
from taxi_assets.nyctaxi.gold.dim_time_of_day import dim_time_of_day
from taxi_assets.nyctaxi.gold.dim_zone import dim_zone
from taxi_assets.nyctaxi.gold.fact_trips import fact_trips
from taxi_assets.nyctaxi.partitions import MONTHS
from taxi_assets.nyctaxi.sensor import MONTH_JOB, nyctaxi_landing
from taxi_assets.nyctaxi.silver.riders import riders
from taxi_assets.nyctaxi.silver.trips_enriched import trips_enriched
from taxi_assets.nyctaxi.trip_files import trip_files

_TABLES: Final = (trips_raw, trips_enriched, riders, dim_date, dim_zone, dim_time_of_day, dim_rider, fact_trips)
_KEYS: Final = [key for table in _TABLES for key in table.keys]


def _plan(asked: Asked) -> list[MonthReport]:
    """Say of each month whether a file in landing holds it.

    Raises UsageError for a month that has no partition, LandingError for a file that can't be used.
    """
    require_partitions(asked.months, MONTHS)
    held = {month for trip_file in trip_files(asked.landing.files()) for month in trip_file.months(asked.landing)}
    return [
        MonthReport(str(month), "waiting", (NYCTAXI.name,))
        if month in held
        else MonthReport(str(month), "not in landing", (), (NYCTAXI.name,))
        for month in asked.months
    ]


CONTENTS: Final = Contents(
    tables=_TABLES,
    checks=all_checks,
    jobs={MONTH_JOB: ("the star of trips", _KEYS)},
    sensors=(nyctaxi_landing,),
    plan=_plan,
    keys_for=lambda _: _KEYS,
    run_tags=lambda _: {},
)
