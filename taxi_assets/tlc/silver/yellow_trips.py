"""tlc_silver/yellow_trips and its quarantine: the month's yellow trips judged by the rules, enriched, in exact types.

The rules are those of metered_trips.py; what yellow alone has is here.
"""

from __future__ import annotations

from typing import Final

import dagster as dg

from taxi_assets.catalog import feed_tag
from taxi_assets.contracts import Frame, column, quarantine_of
from taxi_assets.lake.assets import judged_assets
from taxi_assets.lake.metadata import asset_key
from taxi_assets.tlc import MONTHLY
from taxi_assets.tlc.bronze import yellow_trips as bronze
from taxi_assets.tlc.bronze.zones import Zones
from taxi_assets.tlc.money import Money
from taxi_assets.tlc.silver.any_trips import PUBLISH_LIMIT
from taxi_assets.tlc.silver.metered_trips import PARTS_OF_TOTAL, MeteredTrips, enrich
from taxi_assets.tlc.vocabulary import Service


class YellowTrips(
    MeteredTrips,
    table="tlc_silver/yellow_trips",
    partition=MONTHLY,
    publish_limit=PUBLISH_LIMIT,
    upstream=bronze.YellowTrips,
    # Of 5,000 rows of 2025-02, 5 % have no fare (flex fares and corrections), and 35 % a total that isn't its parts'
    # sum: vendor 1 has congestion fees in `extra` as well, and totals of flex fares hold 2.50 USD that no part has.
    tolerances={"positive_fare_amount": 0.06, "total_is_sum_of_parts": 0.40},
):
    """One row per yellow trip that broke no quarantining rule, with zones, names and durations, in exact types."""

    airport_fee: Money = column(unit="USD", after="congestion_surcharge")


YellowTripsQuarantine: Final = quarantine_of(YellowTrips, bronze.YellowTrips)


@judged_assets(
    YellowTrips,
    YellowTripsQuarantine,
    row_id="source_row",
    recognised_by=("vendor_id", "pickup_datetime", "pickup_location_id"),
    ins={"trips": dg.AssetIn(asset_key(bronze.YellowTrips)), "zones": dg.AssetIn(asset_key(Zones))},
    tags=feed_tag(Service.YELLOW),
)
def yellow_trips(trips: Frame, zones: Frame) -> Frame:
    return enrich(trips, zones, parts=(*PARTS_OF_TOTAL, "airport_fee"))
