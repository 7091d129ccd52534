"""Trips of for-hire vehicles: the columns and the transform that the silver tables of fhv and fhvhv share.

A base dispatches them, so a base's number stands where a taxi's has a vendor. Rules are in any_trips.py, and what only
one of the two has is in its own file.
"""

from __future__ import annotations

import narwhals.stable.v1 as nw

from taxi_assets.contracts import Bool, Date, Frame, Int32, Int64, LocalTime, String, column
from taxi_assets.engines import engine_of, iso_weekday, ratio
from taxi_assets.engines.typed_rows import rescues_one_of
from taxi_assets.tlc.money import Minutes
from taxi_assets.tlc.silver.any_trips import AnyTrips, columns_of_the_file, name_zone
from taxi_assets.tlc.silver.clock import true_seconds
from taxi_assets.tlc.vocabulary import HVFHS_LICENSES, UNKNOWN

_SAME_RIDE = (
    "dispatching_base_num",
    "pickup_datetime",
    "dropoff_datetime",
    "pickup_location_id",
    "dropoff_location_id",
)


class ForHireTrips(AnyTrips):
    """One trip that is kept, as both services have it."""

    dispatching_base: String = column("Base that dispatched the trip, a key of tlc_silver.dim_base.", required=True)
    pickup_datetime: LocalTime = column(required=True)
    dropoff_datetime: LocalTime = column()
    pickup_date: Date = column("Date of the pickup.", required=True)
    pickup_hour: Int32 = column("Hour of the pickup, 0 to 23.", required=True)
    pickup_day_of_week: Int32 = column("ISO weekday of the pickup, 1 is Monday.", required=True)
    pickup_location_id: Int32 = column()
    dropoff_location_id: Int32 = column()
    pickup_borough: String = column(
        "Borough of the pickup zone; Unknown where there is none, or the lookup lacks it.", required=True
    )
    pickup_zone: String = column("Name of the pickup zone; Unknown likewise.", required=True)
    dropoff_borough: String = column("Borough of the dropoff zone; Unknown likewise.", required=True)
    dropoff_zone: String = column("Name of the dropoff zone; Unknown likewise.", required=True)
    duration_min: Minutes = column(
        "Minutes from pickup to dropoff by the clock, the true ones within the repeated hour of autumn; null without "
        "a dropoff.",
        unit="minutes",
    )
    shared_ride_flag: Int32 = column()
    is_repeat: Bool = column(
        "Whether an earlier row of the file, kept or not, has the same base, times and zones; false without a dropoff.",
        required=True,
    )
    source_file: String = column(required=True)
    source_row: Int64 = column(required=True)
    source_month: Date = column(required=True)


def registered(number: str) -> nw.Expr:
    """Return TLC's number of a base or a licence as TLC registers it; files have blanks and small letters, too."""
    return nw.col(number).str.strip_chars().str.to_uppercase()


def company_of(license_num: nw.Expr) -> nw.Expr:
    """Return the company that holds a registered licence; Unknown for one that TLC's list lacks, null without one."""
    name: nw.Expr = nw.when(~license_num.is_null()).then(nw.lit(UNKNOWN))
    for number, company in HVFHS_LICENSES.items():
        name = nw.when(license_num == number).then(nw.lit(company)).otherwise(name)
    return name


def enrich(trips: Frame, zones: Frame) -> Frame:
    """Add to bronze trips what silver's columns and rules need in both services; keeps every row and bronze's columns.

    `zones` is the month's lookup.
    """
    engine = engine_of(trips)
    pickup, dropoff = nw.col("pickup_datetime"), nw.col("dropoff_datetime")
    from_the_file = columns_of_the_file(trips)
    flagged = engine.flag_rows(
        trips,
        # By more than times, which are enough among taxis: of 20 million trips a month, 100,000 share these by chance.
        repeats={"is_duplicate": from_the_file, "is_same_ride": _SAME_RIDE},
        members={},
        row_id="source_row",
    )
    located = name_zone(name_zone(flagged, zones, "pickup"), zones, "dropoff")
    measured = located.with_columns(
        true_seconds(engine.seconds_between(pickup, dropoff), pickup, dropoff).alias("elapsed_seconds"),
    )
    return measured.with_columns(
        registered("dispatching_base_num").alias("dispatching_base"),
        pickup.dt.date().alias("pickup_date"),
        pickup.dt.hour().alias("pickup_hour"),
        iso_weekday(pickup).alias("pickup_day_of_week"),
        ratio(nw.col("elapsed_seconds"), nw.lit(60), 12, 2).alias("duration_min"),
        # Without a dropoff, equal rows are as likely two cars of one base that left in the same minute.
        (nw.col("is_same_ride") & ~dropoff.is_null()).alias("is_repeat"),
        (nw.col("pickup_zone_known") & nw.col("dropoff_zone_known")).alias("zones_known"),
        rescues_one_of(from_the_file).alias("rescues_a_value"),
        nw.lit(True).alias("amounts_fit"),
    )
