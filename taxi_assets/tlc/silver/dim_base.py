"""tlc_silver/dim_base: every base that a trip of the lake names, for reports that join by base.

TLC publishes no list of bases beside its trips, so they are those seen there, under whatever number.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

import dagster as dg
import narwhals.stable.v1 as nw

from taxi_assets.calendars import Month
from taxi_assets.catalog import feed_tag
from taxi_assets.contracts import Contract, Date, Frame, String, column
from taxi_assets.lake.assets import optional_inputs, stored_of, table_asset
from taxi_assets.tlc import MONTHLY
from taxi_assets.tlc.bronze.trips import BRONZE_TRIPS
from taxi_assets.tlc.silver.for_hire_trips import company_of, registered
from taxi_assets.tlc.vocabulary import FOR_HIRE, Service

_NAMED_IN: Final = {
    Service.FHV: ("dispatching_base_num", "second_base_num", "affiliated_base_num"),
    Service.FHVHV: ("dispatching_base_num", "originating_base_num"),
}


class DimBase(Contract, table="tlc_silver/dim_base", keys=("base_num",), partition=MONTHLY, sequence="source_month"):
    """One row per base seen in for-hire trips, with the company that it dispatched for. The newest month wins."""

    base_num: String = column("TLC's number of the base, without blanks, in capitals.", required=True)
    license_num: String = column(
        "High-volume licence for which it dispatched in that month, the lowest of several; null for none."
    )
    company: String = column("Company of the licence; Unknown for one that TLC's list lacks, null for none.")
    source_month: Date = column("Newest month whose trips name the base.", required=True)


def bases(trips: Mapping[str, Frame], month: Month) -> Frame:
    """Return each base that a month's trips name, once; `trips` are bronze's, by service."""
    named = nw.concat(list(_named(trips)), how="vertical").filter(~nw.col("base_num").is_null())
    each = named.group_by("base_num").agg(nw.col("license_num").min())
    return each.with_columns(
        company_of(nw.col("license_num")).alias("company"), nw.lit(month.first_day).alias("source_month")
    )


def _named(trips: Mapping[str, Frame]) -> Iterator[Frame]:
    for service, frame in trips.items():
        for name in _NAMED_IN[Service(service)]:
            # Who originates a trip may be another company's base; who dispatches it works under the trip's licence.
            dispatches = service == Service.FHVHV and name == "dispatching_base_num"
            license_num = registered("hvfhs_license_num") if dispatches else nw.lit(None).cast(nw.String)
            yield frame.select(registered(name).alias("base_num"), license_num.alias("license_num")).unique()


@table_asset(
    DimBase,
    ins=optional_inputs({service: BRONZE_TRIPS[service] for service in FOR_HIRE}),
    tags=feed_tag(*FOR_HIRE),
    embedded=True,
)
def dim_base(context: dg.AssetExecutionContext, **trips: Frame | None) -> Frame:
    return bases(stored_of(trips, context.partition_key), Month.parse(context.partition_key))
