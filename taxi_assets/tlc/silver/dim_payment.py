"""tlc_silver/dim_payment: every payment code that a trip of the lake can have, for reports that join by code."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import dagster as dg
import narwhals.stable.v1 as nw

from taxi_assets.contracts import Contract, Date, Frame, Int32, String, column
from taxi_assets.engines import engine_of
from taxi_assets.lake.assets import optional_inputs, stored_of, table_asset
from taxi_assets.months import Month
from taxi_assets.tlc.bronze.trips import BRONZE_TRIPS
from taxi_assets.tlc.partitions import MONTHS
from taxi_assets.vocabulary import PAYMENT_TYPES, UNKNOWN


class DimPayment(Contract, table="tlc_silver/dim_payment", keys=("payment_type",), sequence="source_month"):
    """One row per payment code: TLC's, and any seen in trips that it lacks (Unknown). The newest month wins."""

    payment_type: Int32 = column("Payment code.", required=True)
    payment_name: String = column("What the code means; Unknown for one that TLC's list lacks.", required=True)
    source_month: Date = column("Newest month that ran with this code.", required=True)


def listed_and_seen(trips: Sequence[Frame], month: Month) -> Frame:
    """Put TLC's codes and those that a month's trips have besides into one frame."""
    code = nw.col("payment_type").cast(nw.Int32)
    known: dict[str, list[Any]] = {"payment_type": list(PAYMENT_TYPES), "payment_name": list(PAYMENT_TYPES.values())}
    listed = engine_of(trips[0]).literal(known).select(code, "payment_name")
    seen = nw.concat([frame.select(code) for frame in trips], how="vertical").unique().filter(~code.is_null())
    unlisted = seen.join(listed, on="payment_type", how="anti").with_columns(nw.lit(UNKNOWN).alias("payment_name"))
    both = nw.concat([listed, unlisted.select("payment_type", "payment_name")], how="vertical")
    return both.with_columns(nw.lit(month.first_day).alias("source_month"))


@table_asset(DimPayment, partitions_def=MONTHS, ins=optional_inputs(BRONZE_TRIPS), embedded=True)
def dim_payment(context: dg.AssetExecutionContext, **trips: Frame | None) -> Frame:
    stored = stored_of(trips, context.partition_key)
    return listed_and_seen(list(stored.values()), Month.parse(context.partition_key))
