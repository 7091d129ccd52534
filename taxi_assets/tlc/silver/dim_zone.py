"""tlc_silver/dim_zone: every zone that a trip of the lake can name, for reports that join by id."""

from __future__ import annotations

from collections.abc import Iterable

import dagster as dg
import narwhals.stable.v1 as nw

from taxi_assets.contracts import Contract, Date, Frame, Int32, String, column
from taxi_assets.lake.assets import optional_inputs, stored_of, table_asset
from taxi_assets.lake.metadata import asset_key
from taxi_assets.tlc import MONTHLY
from taxi_assets.tlc.bronze.trips import BRONZE_TRIPS
from taxi_assets.tlc.bronze.zones import Zones
from taxi_assets.tlc.vocabulary import UNKNOWN


class DimZone(
    Contract,
    table="tlc_silver/dim_zone",
    keys=("location_id",),
    partition=MONTHLY,
    sequence="source_month",
    upstream=Zones,
):
    """One row per LocationID: the lookup's, and any id seen in trips that it lacks (Unknown). The newest month wins."""

    location_id: Int32 = column(required=True)
    borough: String = column("Borough; Unknown for an id that the lookup lacks.", required=True)
    zone: String = column("Name of the zone; Unknown likewise.", required=True)
    service_zone: String = column()
    source_month: Date = column("Newest month whose lookup or trips have the zone.", required=True)


def with_unlisted(zones: Frame, trips: Iterable[Frame]) -> Frame:
    """Add to a month's lookup the ids that its trips have and it lacks."""
    listed = zones.select(*DimZone.column_names())
    seen = [
        month.select(nw.col(f"{end}_location_id").alias("location_id"), "source_month")
        for month in trips
        for end in ("pickup", "dropoff")
    ]
    unlisted = (
        nw.concat(seen, how="vertical")
        .filter(~nw.col("location_id").is_null())
        .unique()
        .join(zones.select("location_id"), on="location_id", how="anti")
        .select(
            "location_id",
            nw.lit(UNKNOWN).alias("borough"),
            nw.lit(UNKNOWN).alias("zone"),
            nw.lit(UNKNOWN).alias("service_zone"),
            "source_month",
        )
    )
    return nw.concat([listed, unlisted], how="vertical")


@table_asset(
    DimZone,
    ins={"zones": dg.AssetIn(asset_key(Zones)), **optional_inputs(BRONZE_TRIPS)},
    embedded=True,
)
def dim_zone(context: dg.AssetExecutionContext, zones: Frame, **trips: Frame | None) -> Frame:
    return with_unlisted(zones, list(stored_of(trips, context.partition_key).values()))
