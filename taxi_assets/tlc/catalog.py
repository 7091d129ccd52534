"""What this catalog is to Dagster: its tables, their checks, and in which of them each service's months stand."""

from __future__ import annotations

from typing import Final

from taxi_assets.catalog import Contents, FeedTables
from taxi_assets.tlc.bronze.fhv_trips import fhv_trips as bronze_fhv_trips
from taxi_assets.tlc.bronze.fhvhv_trips import fhvhv_trips as bronze_fhvhv_trips
from taxi_assets.tlc.bronze.green_trips import green_trips as bronze_green_trips
from taxi_assets.tlc.bronze.trips import BRONZE_TRIPS
from taxi_assets.tlc.bronze.yellow_trips import yellow_trips as bronze_yellow_trips
from taxi_assets.tlc.bronze.zones import zones
from taxi_assets.tlc.checks import all_checks
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
from taxi_assets.tlc.silver.trips import SILVER_TRIPS
from taxi_assets.tlc.silver.yellow_trips import yellow_trips as silver_yellow_trips
from taxi_assets.tlc.vocabulary import Service

_TABLES: Final = (
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

CONTENTS: Final = Contents(
    tables=_TABLES,
    checks=all_checks,
    feeds={service: FeedTables(BRONZE_TRIPS[service], SILVER_TRIPS[service]) for service in Service},
)
