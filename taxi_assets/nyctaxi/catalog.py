"""The catalog `nyctaxi`: all its assets, and the name of the job that runs a month of them."""

from __future__ import annotations

from typing import Final

import dagster as dg

from taxi_assets.nyctaxi.bronze.trips_raw import trips_raw
from taxi_assets.nyctaxi.gold.dim_date import dim_date
from taxi_assets.nyctaxi.gold.dim_rider import dim_rider
from taxi_assets.nyctaxi.gold.dim_time_of_day import dim_time_of_day
from taxi_assets.nyctaxi.gold.dim_zone import dim_zone
from taxi_assets.nyctaxi.gold.fact_trips import fact_trips
from taxi_assets.nyctaxi.silver.riders import riders
from taxi_assets.nyctaxi.silver.trips_enriched import trips_enriched

NAME: Final = "nyctaxi"
MONTH_JOB: Final = "nyctaxi_month"

ASSETS: Final[tuple[dg.AssetsDefinition, ...]] = (
    trips_raw,
    trips_enriched,
    riders,
    dim_date,
    dim_zone,
    dim_time_of_day,
    dim_rider,
    fact_trips,
)


def all_keys() -> list[dg.AssetKey]:
    """List the assets of a month's run: all."""
    return [key for asset in ASSETS for key in asset.keys]
