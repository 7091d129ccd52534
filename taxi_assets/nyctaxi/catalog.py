"""What this catalog is to Dagster: its tables, their checks, and in which of them its months stand."""

from __future__ import annotations

from typing import Final

from taxi_assets.catalog import Contents, FeedTables
from taxi_assets.nyctaxi import TRIPS
from taxi_assets.nyctaxi.bronze.trips_raw import TripsRaw, trips_raw
from taxi_assets.nyctaxi.checks import all_checks
from taxi_assets.nyctaxi.gold.dim_date import dim_date
from taxi_assets.nyctaxi.gold.dim_rider import dim_rider
from taxi_assets.nyctaxi.gold.dim_time_of_day import dim_time_of_day
from taxi_assets.nyctaxi.gold.dim_zone import dim_zone
from taxi_assets.nyctaxi.gold.fact_trips import fact_trips
from taxi_assets.nyctaxi.silver.riders import riders
from taxi_assets.nyctaxi.silver.trips_enriched import TripsEnriched, trips_enriched

_TABLES: Final = (trips_raw, trips_enriched, riders, dim_date, dim_zone, dim_time_of_day, dim_rider, fact_trips)

CONTENTS: Final = Contents(
    tables=_TABLES,
    checks=all_checks,
    feeds={TRIPS: FeedTables(TripsRaw, TripsEnriched)},
)
