"""nyctaxi_gold/dim_zone: the ZIP codes at which trips begin or end, with their borough or region."""

from __future__ import annotations

import dagster as dg
import narwhals.stable.v1 as nw

from taxi_assets.contracts import Contract, Date, Frame, Int32, Int64, String, column
from taxi_assets.engines import engine_of
from taxi_assets.lake.assets import table_asset
from taxi_assets.lake.metadata import asset_key
from taxi_assets.nyctaxi import MONTHLY
from taxi_assets.nyctaxi.silver.places_and_times import borough_of
from taxi_assets.nyctaxi.silver.trips_enriched import TripsEnriched


class DimZone(Contract, table="nyctaxi_gold/dim_zone", keys=("zone_sk",), partition=MONTHLY, sequence="source_month"):
    """One row per ZIP code that a trip of silver begins or ends at; one without a code stands for trips without."""

    zone_sk: Int64 = column("Key: xxhash64 of the ZIP code as text; 42, as Spark has it, without one.", required=True)
    zip: Int32 = column("ZIP code.")
    borough: String = column("Borough or region; Unknown in none.", required=True)
    source_month: Date = column("Newest month with such a trip.", required=True)


def zips_of(trips: Frame) -> Frame:
    """List the ZIP codes of either end of some trips."""
    ends = [trips.select(nw.col(f"{end}_zip").alias("zip"), "source_month") for end in ("pickup", "dropoff")]
    zips = nw.concat(ends, how="vertical").unique().with_columns(borough_of(nw.col("zip")).alias("borough"))
    return engine_of(trips).with_keys(zips, {"zone_sk": "zip"})


@table_asset(DimZone, ins={"trips": dg.AssetIn(asset_key(TripsEnriched))}, embedded=True)
def dim_zone(trips: Frame) -> Frame:
    return zips_of(trips)
