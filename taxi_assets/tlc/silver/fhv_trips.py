"""tlc_silver/fhv_trips and its quarantine: the month's for-hire trips judged by the rules, enriched, in exact types.

They have no fare and no distance, until 2016 no dropoff, and often no zone: none of these is asked of a row. Tolerances
are estimates from the first rows of a few months; whole ones were not at hand.
"""

from __future__ import annotations

from typing import Final

import dagster as dg
import narwhals.stable.v1 as nw

from taxi_assets.catalog import feed_tag
from taxi_assets.contracts import Cost, Frame, String, column, quarantine_of, rule
from taxi_assets.lake.assets import judged_assets
from taxi_assets.lake.metadata import asset_key
from taxi_assets.tlc import MONTHLY
from taxi_assets.tlc.bronze import fhv_trips as bronze
from taxi_assets.tlc.bronze.zones import Zones
from taxi_assets.tlc.silver.any_trips import PUBLISH_LIMIT
from taxi_assets.tlc.silver.for_hire_trips import ForHireTrips, enrich, registered
from taxi_assets.tlc.vocabulary import Service

_BASE_NUMBER: Final = "^B[0-9]{5}$"


class FhvTrips(
    ForHireTrips,
    table="tlc_silver/fhv_trips",
    partition=MONTHLY,
    publish_limit=PUBLISH_LIMIT,
    upstream=bronze.FhvTrips,
):
    """One row per for-hire trip that broke no quarantining rule, with zones and durations where it has them."""

    second_base: String = column(
        "The other base that files of 2018 have; nearly always null.", after="dispatching_base"
    )
    affiliated_base: String = column("Base that the vehicle is affiliated with.", after="second_base")

    @rule(
        "dispatching_base", "pickup_datetime",
        why="Without who sent it and when there is no trip to count.",
        source="Both are in all of TLC's files since 2015; zones and dropoff are often missing until 2019.",
        tolerance=0.001,
    )  # fmt: skip
    def required_values_present(cls, base: nw.Expr, pickup: nw.Expr) -> nw.Expr:
        """The dispatching base and the pickup time are there."""
        return ~(base.is_null() | pickup.is_null())

    @rule(
        "dispatching_base",
        why="What is no base's number says of no trip who sent it, and points to columns that were mistaken.",
        source="TLC numbers bases B and five digits; blanks around it and small letters are put right.",
        tolerance=0.001,
    )
    def base_number_format(cls, base: nw.Expr) -> nw.Expr:
        """The dispatching base's number is B and five digits."""
        return base.str.contains(_BASE_NUMBER)

    @rule(
        "is_duplicate",
        why="It may be a row that was sent twice, or two cars of one base in one minute: the file can't tell.",
        source="Of the first 30 rows of 2017-01, which have base and minute alone, 4 are equal to an earlier one.",
        tolerance=0.20,
        cost=Cost.KEPT,
    )
    def not_an_exact_duplicate(cls, is_duplicate: nw.Expr) -> nw.Expr:
        """No earlier row of the file is the same in every column."""
        return ~is_duplicate


FhvTripsQuarantine: Final = quarantine_of(FhvTrips, bronze.FhvTrips)


@judged_assets(
    FhvTrips,
    FhvTripsQuarantine,
    row_id="source_row",
    recognised_by=("dispatching_base_num", "pickup_datetime", "pickup_location_id"),
    ins={"trips": dg.AssetIn(asset_key(bronze.FhvTrips)), "zones": dg.AssetIn(asset_key(Zones))},
    tags=feed_tag(Service.FHV),
)
def fhv_trips(trips: Frame, zones: Frame) -> Frame:
    return with_bases(enrich(trips, zones))


def with_bases(trips: Frame) -> Frame:
    """Add to enriched trips the bases that only this service names; one that stands alone dispatched the trip."""
    second = registered("second_base_num")
    return trips.with_columns(
        nw.coalesce(nw.col("dispatching_base"), second).alias("dispatching_base"),
        nw.when(~nw.col("dispatching_base").is_null()).then(second).alias("second_base"),
        registered("affiliated_base_num").alias("affiliated_base"),
    )
