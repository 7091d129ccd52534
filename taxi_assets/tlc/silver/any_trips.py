"""What is asked of a trip of any service: the rules that all silver tables share, and what such rules read.

A rule belongs here if it means the same for a taxi and for a hired car; a service may override it in its own contract.
"""

from __future__ import annotations

import narwhals.stable.v1 as nw

from taxi_assets.contracts import Contract, Cost, Frame, rule
from taxi_assets.engines import engine_of, fits_decimal, units
from taxi_assets.tlc.silver.clock import in_missing_hour, in_repeated_hour
from taxi_assets.tlc.vocabulary import UNKNOWN

SECONDS_A_DAY = 24 * 60 * 60
PUBLISH_LIMIT = 0.5
"""More than half of a month's rows bad, and the file isn't what its name says."""


class AnyTrips(Contract):
    """One trip that is kept, whichever service it is of: the rules alone, each service has its own columns."""

    @rule(
        "_rescued_data", "rescues_a_value", "amounts_fit",
        why="A value that isn't of its column's type would be null in silver, as if it had never been there.",
        source="The types of the contract; amounts are decimals of 10 digits.",
        tolerance=0.001,
    )  # fmt: skip
    def values_fit_their_types(cls, _rescued: nw.Expr, rescues_a_value: nw.Expr, amounts_fit: nw.Expr) -> nw.Expr:
        """Every value is of its column's type, every amount below 100,000,000."""
        return ~rescues_a_value & amounts_fit

    @rule(
        "pickup_datetime", "source_month",
        why="Clocks of meters go wrong: files hold rows of 2001 and 2098. Such a trip can't be put into any month.",
        source="TLC files trips by the month of their pickup.",
        tolerance=0.001,
    )  # fmt: skip
    def pickup_in_file_month(cls, pickup: nw.Expr, month: nw.Expr) -> nw.Expr:
        """The trip begins in the month of its file."""
        return (pickup.dt.year() == month.dt.year()) & (pickup.dt.month() == month.dt.month())

    @rule(
        "pickup_datetime", "dropoff_datetime",
        why="A trip that ends when or before it begins has no duration; in autumn's repeated hour it may.",
        source="Arithmetic; for the repeated hour 15 U.S.C. 260a.",
        tolerance=0.005,
    )  # fmt: skip
    def pickup_before_dropoff(cls, pickup: nw.Expr, dropoff: nw.Expr) -> nw.Expr:
        """The trip ends after it begins."""
        return (pickup < dropoff) | in_repeated_hour(pickup, dropoff)

    @rule(
        "is_duplicate",
        why="A row that was sent twice would be counted twice.",
        source="All columns of the file are equal to an earlier row's.",
        tolerance=0.001,
    )
    def not_an_exact_duplicate(cls, is_duplicate: nw.Expr) -> nw.Expr:
        """No earlier row of the file is the same in every column."""
        return ~is_duplicate

    @rule(
        "pickup_location_id", "dropoff_location_id", "zones_known",
        why="A zone without a name ends up under Unknown in every report.",
        source="TLC's taxi zone lookup; 264 (unknown) and 265 (outside NYC) are members of it.",
        cost=Cost.KEPT,
    )  # fmt: skip
    def known_zones(cls, _pickup: nw.Expr, _dropoff: nw.Expr, zones_known: nw.Expr) -> nw.Expr:
        """Both zones are in the month's lookup."""
        return zones_known

    @rule(
        "pickup_datetime", "dropoff_datetime",
        why="No clock showed the hour that spring skips: one that wrote it wasn't set, and its durations are off.",
        source="15 U.S.C. 260a.",
        tolerance=0.001,
        cost=Cost.KEPT,
    )  # fmt: skip
    def times_exist(cls, pickup: nw.Expr, dropoff: nw.Expr) -> nw.Expr:
        """Neither time lies in the hour that the clock skips in spring."""
        return ~(in_missing_hour(pickup) | in_missing_hour(dropoff))

    @rule(
        "dropoff_datetime", "elapsed_seconds",
        why="A dropoff in another year is a clock's fault; one such trip decides an average duration.",
        source="Longer than a driver may work in a day; meters that nobody stops run for up to 24 hours.",
        tolerance=0.001,
        cost=Cost.KEPT,
    )  # fmt: skip
    def plausible_duration(cls, _dropoff: nw.Expr, seconds: nw.Expr) -> nw.Expr:
        """The trip lasts at most a day."""
        return seconds <= SECONDS_A_DAY


def columns_of_the_file(trips: Frame) -> list[str]:
    """List the columns of bronze trips that say what the file said; the others say where a row came from."""
    about_the_file = {"source_file", "source_row", "source_fingerprint", "ingested_at", "source_month"}
    return [name for name in trips.collect_schema().names() if name not in about_the_file]


def name_zone(trips: Frame, zones: Frame, end: str) -> Frame:
    """Add borough and zone of the pickup or the dropoff, and whether the lookup knows it."""
    borough, zone, known = f"{end}_borough", f"{end}_zone", f"{end}_zone_known"
    named = zones.select(
        nw.col("location_id"), nw.col("borough").alias(borough), nw.col("zone").alias(zone), nw.lit(True).alias(known)
    )
    joined = engine_of(trips).look_up(trips, named, f"{end}_location_id", "location_id")
    return joined.with_columns(
        nw.col(borough).fill_null(UNKNOWN),
        nw.col(zone).fill_null(UNKNOWN),
        (nw.col(known).fill_null(False) | nw.col(f"{end}_location_id").is_null()).alias(known),
    )


def hundredths(name: str) -> nw.Expr:
    """Return an amount in whole hundredths; null where it is too large, and so has no ratio worth having."""
    return units(nw.when(fits_decimal(nw.col(name), 10, 2)).then(nw.col(name)), 2)
