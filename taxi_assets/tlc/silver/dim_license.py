"""tlc_silver/dim_license: every high-volume company that a trip of the lake can be of, to join by licence.

Which of their bases dispatched a trip is dim_base's.
"""

from __future__ import annotations

import dagster as dg

from taxi_assets.calendars import Month
from taxi_assets.catalog import feed_tag
from taxi_assets.contracts import Contract, Date, Frame, String, column
from taxi_assets.lake.assets import table_asset
from taxi_assets.lake.metadata import asset_key
from taxi_assets.tlc import MONTHLY
from taxi_assets.tlc.bronze.fhvhv_trips import FhvhvTrips
from taxi_assets.tlc.silver.for_hire_trips import registered
from taxi_assets.tlc.silver.listed_codes import with_unlisted
from taxi_assets.tlc.vocabulary import HVFHS_LICENSES, Service


class DimLicense(
    Contract, table="tlc_silver/dim_license", keys=("license_num",), partition=MONTHLY, sequence="source_month"
):
    """One row per high-volume licence: TLC's, and any seen in trips that it lacks (Unknown). The newest month wins."""

    license_num: String = column("TLC's licence for high-volume for-hire services.", required=True)
    company: String = column("Company that holds it; Unknown for one that TLC's list lacks.", required=True)
    source_month: Date = column("Newest month that ran with this licence.", required=True)


def licenses(trips: Frame, month: Month) -> Frame:
    """Put TLC's licences and those that a month's trips have besides into one frame."""
    seen = trips.select(registered("hvfhs_license_num").alias("license_num"))
    return with_unlisted(seen, HVFHS_LICENSES, DimLicense, code="license_num", name="company", month=month)


@table_asset(
    DimLicense,
    ins={"trips": dg.AssetIn(asset_key(FhvhvTrips))},
    tags=feed_tag(Service.FHVHV),
    embedded=True,
)
def dim_license(context: dg.AssetExecutionContext, trips: Frame) -> Frame:
    return licenses(trips, Month.parse(context.partition_key))
