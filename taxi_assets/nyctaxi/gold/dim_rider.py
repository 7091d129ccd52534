"""nyctaxi_gold/dim_rider: the riders, with the key that trips name them by."""

from __future__ import annotations

import dagster as dg

from taxi_assets.contracts import Contract, Date, Frame, Int32, Int64, String, column
from taxi_assets.engines import engine_of
from taxi_assets.lake.assets import table_asset
from taxi_assets.lake.metadata import asset_key
from taxi_assets.nyctaxi import MONTHLY
from taxi_assets.nyctaxi.silver.riders import Riders


class DimRider(
    Contract,
    table="nyctaxi_gold/dim_rider",
    keys=("rider_sk",),
    partition=MONTHLY,
    sequence="source_month",
    upstream=Riders,
):
    """One row per rider."""

    rider_sk: Int64 = column("Key: xxhash64 of the rider's id.", required=True)
    rider_id: String = column(required=True)
    full_name: String = column(required=True)
    email: String = column(required=True)
    phone: String = column(required=True)
    home_zip: Int32 = column(required=True)
    signup_date: Date = column(required=True)
    card_last4: String = column(required=True)
    source_month: Date = column(required=True)


def with_rider_key(riders: Frame) -> Frame:
    """Add to riders their key."""
    return engine_of(riders).with_keys(riders, {"rider_sk": "rider_id"})


@table_asset(DimRider, ins={"riders": dg.AssetIn(asset_key(Riders))}, embedded=True)
def dim_rider(riders: Frame) -> Frame:
    return with_rider_key(riders)
