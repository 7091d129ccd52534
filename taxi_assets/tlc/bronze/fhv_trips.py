"""tlc_bronze/fhv_trips: a month of for-hire vehicles as TLC published it, whole.

Until 2019-01 those of high-volume companies are among them; from 2019-02 these have files of their own, fhvhv_trips.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import dagster as dg

from taxi_assets.calendars import Month
from taxi_assets.catalog import feed_tag
from taxi_assets.contracts import Contract, Int32, LocalTime, String, column
from taxi_assets.lake.assets import table_asset
from taxi_assets.lake.passed_by import PassBy
from taxi_assets.landing import Landing
from taxi_assets.tlc import MONTHLY
from taxi_assets.tlc.bronze.month_file import OfMonth, read_month
from taxi_assets.tlc.vocabulary import Service


class FhvRide(Contract):
    """The columns of a for-hire trip, by TLC's data dictionary for FHV of 2025-03-18. There is no fare among them."""

    dispatching_base_num: String = column("TLC's number of the base that dispatched the trip: B and five digits.")
    second_base_num: String = column("The other base number that files of 2018 have; nearly always null.")
    affiliated_base_num: String = column("TLC's number of the base that the vehicle is affiliated with.")
    pickup_datetime: LocalTime = column("When the trip began, New York wall clock.")
    dropoff_datetime: LocalTime = column("When the trip ended, New York wall clock; since 2017, often null until 2018.")
    pickup_location_id: Int32 = column("TLC taxi zone where the trip began; often null until 2019.")
    dropoff_location_id: Int32 = column("TLC taxi zone where the trip ended; since 2017, often null until 2019.")
    shared_ride_flag: Int32 = column("1 for a trip that was part of a shared ride, else null; since 2017-07.")


class FhvTrips(OfMonth, FhvRide, table="tlc_bronze/fhv_trips", partition=MONTHLY):
    """One row per row of the month's file of for-hire vehicles, typed, nothing dropped. Files begin in 2015-01."""


@table_asset(FhvTrips, tags=feed_tag(Service.FHV))
def fhv_trips(
    context: dg.AssetExecutionContext, landing: dg.ResourceParam[Landing]
) -> Iterator[dg.MaterializeResult[Any] | PassBy]:
    return read_month(landing, context.instance, Service.FHV, Month.parse(context.partition_key), FhvTrips)
