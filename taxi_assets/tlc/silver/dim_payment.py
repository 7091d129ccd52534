"""tlc_silver/dim_payment: every payment code that a trip of the lake can have, for reports that join by code."""

from __future__ import annotations

from collections.abc import Sequence

import dagster as dg
import narwhals.stable.v1 as nw

from taxi_assets.calendars import Month
from taxi_assets.catalog import feed_tag
from taxi_assets.contracts import Contract, Date, Frame, Int32, String, column
from taxi_assets.lake.assets import optional_inputs, stored_of, table_asset
from taxi_assets.tlc import MONTHLY
from taxi_assets.tlc.bronze.trips import BRONZE_TRIPS
from taxi_assets.tlc.silver.listed_codes import with_unlisted
from taxi_assets.tlc.vocabulary import METERED, PAYMENT_TYPES


class DimPayment(
    Contract, table="tlc_silver/dim_payment", keys=("payment_type",), partition=MONTHLY, sequence="source_month"
):
    """One row per payment code: TLC's, and any seen in trips that it lacks (Unknown). The newest month wins."""

    payment_type: Int32 = column("Payment code.", required=True)
    payment_name: String = column("What the code means; Unknown for one that TLC's list lacks.", required=True)
    source_month: Date = column("Newest month that ran with this code.", required=True)


def listed_and_seen(trips: Sequence[Frame], month: Month) -> Frame:
    """Put TLC's codes and those that a month's trips have besides into one frame."""
    seen = nw.concat([frame.select("payment_type") for frame in trips], how="vertical")
    return with_unlisted(seen, PAYMENT_TYPES, DimPayment, code="payment_type", name="payment_name", month=month)


@table_asset(
    DimPayment,
    ins=optional_inputs({service: BRONZE_TRIPS[service] for service in METERED}),
    tags=feed_tag(*METERED),
    embedded=True,
)
def dim_payment(context: dg.AssetExecutionContext, **trips: Frame | None) -> Frame:
    stored = stored_of(trips, context.partition_key)
    return listed_and_seen(list(stored.values()), Month.parse(context.partition_key))
