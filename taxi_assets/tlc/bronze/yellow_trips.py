"""tlc_bronze/yellow_trips: a month of yellow taxi as TLC published it, whole."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import dagster as dg

from taxi_assets.calendars import Month
from taxi_assets.catalog import feed_tag
from taxi_assets.contracts import Float64, column
from taxi_assets.lake.assets import table_asset
from taxi_assets.lake.passed_by import PassBy
from taxi_assets.landing import Landing
from taxi_assets.tlc import MONTHLY
from taxi_assets.tlc.bronze.metered_trips import MeteredTrips
from taxi_assets.tlc.bronze.month_file import read_month
from taxi_assets.tlc.vocabulary import Service


class YellowTrips(MeteredTrips, table="tlc_bronze/yellow_trips", partition=MONTHLY):
    """One row per row of the month's yellow file, typed, nothing dropped. Files begin in 2009-01."""

    airport_fee: Float64 = column(
        "Fee for pickups at LaGuardia and JFK, since 2021.", unit="USD", after="congestion_surcharge"
    )


@table_asset(YellowTrips, tags=feed_tag(Service.YELLOW))
def yellow_trips(
    context: dg.AssetExecutionContext, landing: dg.ResourceParam[Landing]
) -> Iterator[dg.MaterializeResult[Any] | PassBy]:
    return read_month(landing, context.instance, Service.YELLOW, Month.parse(context.partition_key), YellowTrips)
