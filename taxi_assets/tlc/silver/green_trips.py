"""tlc_silver/green_trips and its quarantine: the month's green trips judged by the rules, enriched, in exact types.

The rules are those of metered_trips.py; what green alone has is here.
"""

from __future__ import annotations

from typing import Final

import dagster as dg

from taxi_assets.catalog import feed_tag
from taxi_assets.contracts import Frame, Int32, column, quarantine_of
from taxi_assets.lake.assets import judged_assets
from taxi_assets.lake.metadata import asset_key
from taxi_assets.tlc import MONTHLY
from taxi_assets.tlc.bronze import green_trips as bronze
from taxi_assets.tlc.bronze.zones import Zones
from taxi_assets.tlc.money import Money
from taxi_assets.tlc.silver.any_trips import PUBLISH_LIMIT
from taxi_assets.tlc.silver.metered_trips import PARTS_OF_TOTAL, MeteredTrips, enrich
from taxi_assets.tlc.vocabulary import Service


class GreenTrips(
    MeteredTrips,
    table="tlc_silver/green_trips",
    partition=MONTHLY,
    publish_limit=PUBLISH_LIMIT,
    upstream=bronze.GreenTrips,
):
    """One row per green trip that broke no quarantining rule, with zones, names and durations, in exact types."""

    ehail_fee: Money = column(unit="USD", after="congestion_surcharge")
    trip_type: Int32 = column(after="ehail_fee")


GreenTripsQuarantine: Final = quarantine_of(GreenTrips, bronze.GreenTrips)


@judged_assets(
    GreenTrips,
    GreenTripsQuarantine,
    row_id="source_row",
    recognised_by=("vendor_id", "pickup_datetime", "pickup_location_id"),
    ins={"trips": dg.AssetIn(asset_key(bronze.GreenTrips)), "zones": dg.AssetIn(asset_key(Zones))},
    tags=feed_tag(Service.GREEN),
)
def green_trips(trips: Frame, zones: Frame) -> Frame:
    return enrich(trips, zones, parts=(*PARTS_OF_TOTAL, "ehail_fee"))
