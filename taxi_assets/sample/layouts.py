"""TLC's official Parquet layouts, as data: column names with their case, order and types, for each service and month.

They are those of the published files' footers, 2019-01 to 2026-05; of for-hire vehicles, whose footers were not at
hand, those of TLC's data dictionaries with the types of taxis. Earlier months get 2019's, which is also what 2011 to
2018 look like; 2009 and 2010 have older names in reality. What stands in the columns doesn't belong here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import pyarrow as pa

from taxi_assets.calendars import Month
from taxi_assets.errors import UsageError
from taxi_assets.tlc.vocabulary import FIRST_MONTH, Service

_NEW_TYPES: Final = Month(2023, 2)
_CBD_FEE: Final = Month(2025, 1)


@dataclass(frozen=True)
class _Column:
    name: str
    until_2023_01: pa.DataType
    since_2023_02: pa.DataType
    empty: tuple[tuple[Month, Month], ...] = ()  # first and last months in which TLC's type for it is null


def _time(name: str) -> _Column:
    return _Column(name, pa.timestamp("us"), pa.timestamp("us"))


def _id(name: str) -> _Column:
    return _Column(name, pa.int64(), pa.int32())


def _code(name: str) -> _Column:
    return _Column(name, pa.float64(), pa.int64())


def _number(name: str, *empty: tuple[Month, Month]) -> _Column:
    return _Column(name, pa.float64(), pa.float64(), empty)


def _flag(name: str) -> _Column:
    return _Column(name, pa.string(), pa.large_string())


_COLUMNS: Final = {
    Service.YELLOW: (
        _id("VendorID"),
        _time("tpep_pickup_datetime"),
        _time("tpep_dropoff_datetime"),
        _code("passenger_count"),
        _number("trip_distance"),
        _code("RatecodeID"),
        _flag("store_and_fwd_flag"),
        _id("PULocationID"),
        _id("DOLocationID"),
        _Column("payment_type", pa.int64(), pa.int64()),  # never null, so never widened: 0 stands for it
        _number("fare_amount"),
        _number("extra"),
        _number("mta_tax"),
        _number("tip_amount"),
        _number("tolls_amount"),
        _number("improvement_surcharge"),
        _number("total_amount"),
        _number("congestion_surcharge", (Month(2009, 1), Month(2018, 12))),
        _number("airport_fee", (Month(2009, 1), Month(2020, 7)), (Month(2020, 10), Month(2020, 10))),
    ),
    Service.GREEN: (
        _id("VendorID"),
        _time("lpep_pickup_datetime"),
        _time("lpep_dropoff_datetime"),
        _flag("store_and_fwd_flag"),
        _code("RatecodeID"),
        _id("PULocationID"),
        _id("DOLocationID"),
        _code("passenger_count"),
        _number("trip_distance"),
        _number("fare_amount"),
        _number("extra"),
        _number("mta_tax"),
        _number("tip_amount"),
        _number("tolls_amount"),
        _number("ehail_fee", (Month(2013, 8), Month(2018, 12)), (Month(2019, 9), Month(2023, 1))),
        _number("improvement_surcharge"),
        _number("total_amount"),
        _code("payment_type"),
        _code("trip_type"),
        _number("congestion_surcharge", (Month(2013, 8), Month(2018, 12))),
    ),
    Service.FHV: (
        _flag("dispatching_base_num"),
        _time("pickup_datetime"),
        _time("dropOff_datetime"),
        # Of doubles at first, as many are null.
        _Column("PUlocationID", pa.float64(), pa.int32()),
        _Column("DOlocationID", pa.float64(), pa.int32()),
        _Column("SR_Flag", pa.float64(), pa.int32()),
        _flag("Affiliated_base_number"),
    ),
    Service.FHVHV: (
        _flag("hvfhs_license_num"),
        _flag("dispatching_base_num"),
        _flag("originating_base_num"),
        _time("request_datetime"),
        _time("on_scene_datetime"),
        _time("pickup_datetime"),
        _time("dropoff_datetime"),
        _id("PULocationID"),
        _id("DOLocationID"),
        _number("trip_miles"),
        _Column("trip_time", pa.int64(), pa.int64()),
        _number("base_passenger_fare"),
        _number("tolls"),
        _number("bcf"),
        _number("sales_tax"),
        _number("congestion_surcharge"),
        _number("airport_fee"),
        _number("tips"),
        _number("driver_pay"),
        _flag("shared_request_flag"),
        _flag("shared_match_flag"),
        _flag("access_a_ride_flag"),
        _flag("wav_request_flag"),
        _flag("wav_match_flag"),
    ),
}


def services_of(month: Month) -> list[Service]:
    """List the services of which TLC publishes that month; all, for a month before any, so that each says so."""
    return [service for service in Service if FIRST_MONTH[service] <= month] or list(Service)


def layout(service: Service, month: Month) -> pa.Schema:
    """Return the Arrow schema of TLC's file. Raises UsageError where TLC publishes none."""
    if service not in FIRST_MONTH:
        raise UsageError(f"There is no sample for '{service}', only for {', '.join(FIRST_MONTH)}.")
    if month < FIRST_MONTH[service]:
        raise UsageError(f"TLC's {service} files begin with {FIRST_MONTH[service]}: there is no month {month}.")
    fields = [pa.field(_spelling(service, column.name, month), _type(column, month)) for column in _COLUMNS[service]]
    if month >= _CBD_FEE and service is not Service.FHV:
        fields.append(pa.field("cbd_congestion_fee", pa.float64()))
    return pa.schema(fields)


def working_name(column: str) -> str:
    """Return the name under which trips.py makes what TLC publishes as ``column``."""
    return column.removeprefix("tpep_").removeprefix("lpep_").lower()


def _spelling(service: Service, name: str, month: Month) -> str:
    return "Airport_fee" if service is Service.YELLOW and name == "airport_fee" and month >= _NEW_TYPES else name


def _type(column: _Column, month: Month) -> pa.DataType:
    if any(first <= month <= last for first, last in column.empty):
        return pa.null()
    return column.since_2023_02 if month >= _NEW_TYPES else column.until_2023_01
