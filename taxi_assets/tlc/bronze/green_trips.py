"""tlc_bronze/green_trips: a month of green taxi as TLC published it, whole."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import dagster as dg

from taxi_assets.calendars import Month
from taxi_assets.catalog import feed_tag
from taxi_assets.contracts import Float64, Int32, column
from taxi_assets.lake.assets import table_asset
from taxi_assets.lake.passed_by import PassBy
from taxi_assets.landing import Landing
from taxi_assets.tlc import MONTHLY
from taxi_assets.tlc.bronze.metered_trips import MeteredTrips
from taxi_assets.tlc.bronze.month_file import read_month
from taxi_assets.tlc.vocabulary import Service


class GreenTrips(MeteredTrips, table="tlc_bronze/green_trips", partition=MONTHLY):
    """One row per row of the month's green file, typed, nothing dropped. Files begin in 2013-08."""

    ehail_fee: Float64 = column("Fee for e-hailing; nearly always null.", unit="USD", after="congestion_surcharge")
    trip_type: Int32 = column("1 street hail, 2 dispatch.", after="ehail_fee")


@table_asset(GreenTrips, tags=feed_tag(Service.GREEN))
def green_trips(
    context: dg.AssetExecutionContext, landing: dg.ResourceParam[Landing]
) -> Iterator[dg.MaterializeResult[Any] | PassBy]:
    return read_month(landing, context.instance, Service.GREEN, Month.parse(context.partition_key), GreenTrips)
