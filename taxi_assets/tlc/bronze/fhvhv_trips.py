"""tlc_bronze/fhvhv_trips: a month of high-volume for-hire vehicles (Uber, Lyft...) as TLC published it, whole.

Numbers stay as published (doubles), so that nothing is rounded before it is judged.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import dagster as dg

from taxi_assets.calendars import Month
from taxi_assets.catalog import feed_tag
from taxi_assets.contracts import Contract, Float64, Int32, LocalTime, String, column
from taxi_assets.lake.assets import table_asset
from taxi_assets.lake.passed_by import PassBy
from taxi_assets.landing import Landing
from taxi_assets.tlc import MONTHLY
from taxi_assets.tlc.bronze.month_file import OfMonth, read_month
from taxi_assets.tlc.vocabulary import Service


class HighVolumeRide(Contract):
    """The columns of a high-volume trip, by TLC's data dictionary for HVFHV of 2025-03-18."""

    hvfhs_license_num: String = column("TLC's licence of the company, a key of tlc_silver.dim_license.")
    dispatching_base_num: String = column("TLC's number of the base that dispatched the trip: B and five digits.")
    originating_base_num: String = column("TLC's number of the base that received the request for the trip.")
    request_datetime: LocalTime = column("When the passenger asked to be picked up, New York wall clock.")
    on_scene_datetime: LocalTime = column("When the driver arrived at the pickup; accessible vehicles' only, at first.")
    pickup_datetime: LocalTime = column("When the trip began, New York wall clock.")
    dropoff_datetime: LocalTime = column("When the trip ended, New York wall clock.")
    pickup_location_id: Int32 = column("TLC taxi zone where the trip began.")
    dropoff_location_id: Int32 = column("TLC taxi zone where the trip ended.")
    trip_miles: Float64 = column("Miles driven with the passenger.", unit="miles")
    trip_time: Int32 = column("Seconds driven with the passenger.", unit="seconds")
    base_passenger_fare: Float64 = column("Fare before tolls, tips, taxes and fees; not in CSVs.", unit="USD")
    tolls: Float64 = column("All tolls of the trip.", unit="USD")
    bcf: Float64 = column("Collected for the Black Car Fund.", unit="USD")
    sales_tax: Float64 = column("Collected for New York State's sales tax.", unit="USD")
    congestion_surcharge: Float64 = column("Collected for New York State's congestion surcharge.", unit="USD")
    airport_fee: Float64 = column("2.50 for a pickup and a dropoff at LaGuardia, JFK and Newark.", unit="USD")
    cbd_congestion_fee: Float64 = column("MTA's congestion relief zone charge, since 2025.", unit="USD")
    tips: Float64 = column("Tips that the passenger gave by the app.", unit="USD")
    driver_pay: Float64 = column("The driver's pay, without tolls and tips, less commission and taxes.", unit="USD")
    shared_ride_flag: Int32 = column("1 for a trip that was part of a shared ride, else null; CSVs of 2019 and 2020.")
    shared_request_flag: String = column("Y if the passenger agreed to share the ride, whether or not it was, else N.")
    shared_match_flag: String = column("Y if the ride was shared with a passenger who booked apart, else N.")
    access_a_ride_flag: String = column("Y if the trip was on behalf of the MTA's Access-A-Ride, else N; often null.")
    wav_request_flag: String = column("Y if the passenger asked for a wheelchair-accessible vehicle, else N.")
    wav_match_flag: String = column("Y if the trip was in a wheelchair-accessible vehicle, else N.")


class FhvhvTrips(OfMonth, HighVolumeRide, table="tlc_bronze/fhvhv_trips", partition=MONTHLY):
    """One row per row of the month's high-volume for-hire file, typed, nothing dropped. Files begin in 2019-02."""


@table_asset(FhvhvTrips, tags=feed_tag(Service.FHVHV))
def fhvhv_trips(
    context: dg.AssetExecutionContext, landing: dg.ResourceParam[Landing]
) -> Iterator[dg.MaterializeResult[Any] | PassBy]:
    return read_month(landing, context.instance, Service.FHVHV, Month.parse(context.partition_key), FhvhvTrips)
