"""All assets of this catalog that are tables, and which of them a run of some services' month needs."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

import dagster as dg

from taxi_assets.tlc.bronze.fhv_trips import fhv_trips as bronze_fhv_trips
from taxi_assets.tlc.bronze.fhvhv_trips import fhvhv_trips as bronze_fhvhv_trips
from taxi_assets.tlc.bronze.green_trips import green_trips as bronze_green_trips
from taxi_assets.tlc.bronze.yellow_trips import yellow_trips as bronze_yellow_trips
from taxi_assets.tlc.bronze.zones import zones
from taxi_assets.tlc.gold.fact_top_zones import fact_top_zones
from taxi_assets.tlc.gold.fact_trips_borough_hour import fact_trips_borough_hour
from taxi_assets.tlc.gold.nyc_taxi_daily import nyc_taxi_daily
from taxi_assets.tlc.silver.dim_base import dim_base
from taxi_assets.tlc.silver.dim_license import dim_license
from taxi_assets.tlc.silver.dim_payment import dim_payment
from taxi_assets.tlc.silver.dim_zone import dim_zone
from taxi_assets.tlc.silver.fhv_trips import fhv_trips as silver_fhv_trips
from taxi_assets.tlc.silver.fhvhv_trips import fhvhv_trips as silver_fhvhv_trips
from taxi_assets.tlc.silver.green_trips import green_trips as silver_green_trips
from taxi_assets.tlc.silver.yellow_trips import yellow_trips as silver_yellow_trips

MONTH_JOB: Final = "tlc_month"

ASSETS: Final[tuple[dg.AssetsDefinition, ...]] = (
    bronze_yellow_trips,
    bronze_green_trips,
    bronze_fhv_trips,
    bronze_fhvhv_trips,
    zones,
    dim_zone,
    dim_payment,
    dim_base,
    dim_license,
    silver_yellow_trips,
    silver_green_trips,
    silver_fhv_trips,
    silver_fhvhv_trips,
    fact_trips_borough_hour,
    fact_top_zones,
    nyc_taxi_daily,
)


def keys_for(services: Collection[str]) -> list[dg.AssetKey]:
    """List the assets of a month's run for some services: their own, and those that they share with others."""
    return [
        key
        for asset in ASSETS
        for key, tags in asset.tags_by_key.items()
        if tags.get("service") is None or not set(services).isdisjoint(tags["service"].split("."))
    ]


def run_tags(services: Collection[str]) -> dict[str, str]:
    """Tag a run with the services that it is for."""
    return {"services": ",".join(sorted(services))}
