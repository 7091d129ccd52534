"""The files that hold trips: what stands in one, and of which months. A file may hold several.

What their columns mean is bronze/trips_raw.py's.
"""

from __future__ import annotations

from typing import Final

import narwhals.stable.v1 as nw

from taxi_assets.calendars import Month
from taxi_assets.contracts import Float64, Frame, Int32, LocalTime, column
from taxi_assets.deliveries.landed import FeedFile, feed_files
from taxi_assets.engines.source_files import canonical_names, open_source
from taxi_assets.engines.typed_rows import Provenance, typed
from taxi_assets.landing import LandedFile, Landing
from taxi_assets.nyctaxi import MONTHLY, NYCTAXI


class SourceTrip(Provenance):
    """The six columns of a file, which has no key, and where a row stands."""

    tpep_pickup_datetime: LocalTime = column("When the meter was engaged, New York wall clock.")
    tpep_dropoff_datetime: LocalTime = column("When the meter was disengaged, New York wall clock.")
    trip_distance: Float64 = column("Distance by the taximeter.", unit="miles")
    fare_amount: Float64 = column("Time-and-distance fare by the meter.", unit="USD")
    pickup_zip: Int32 = column("ZIP code of the pickup, as a whole number: New Jersey's lose their leading 0.")
    dropoff_zip: Int32 = column("ZIP code of the dropoff, likewise.")


TRIP_COLUMNS: Final = tuple(name for name in SourceTrip.column_names() if name not in Provenance.column_names())


def rows_of(landing: Landing, trip_file: FeedFile) -> Frame:
    """Return a file's rows, typed, with `source_month`: the first day of the month that a row is put into.

    That is its pickup's; a row without one, or with one of a month that has no partition, is put into the file's
    first month, where it can be seen. Raises LandingError for a file that can't be used.
    """
    source, file = open_source(landing, trip_file.file, trip_file.format), trip_file.file
    mapped = canonical_names(source, {name: name for name in TRIP_COLUMNS})
    missing = [name for name in TRIP_COLUMNS if name not in mapped.values()]
    if missing:
        raise file.unusable(f"it has no column {', '.join(missing)}; a file of trips has {', '.join(TRIP_COLUMNS)}")
    rows = typed(source, mapped, SourceTrip)
    known = rows.with_columns(_month_of_pickup().alias("source_month"))
    first = known.select(nw.col("source_month").min()).collect().item()
    if first is None:
        raise file.unusable(f"no row has a pickup between {MONTHLY.first} and {MONTHLY.last}")
    return known.with_columns(nw.col("source_month").fill_null(first))


def cut_off(landing: Landing, trip_file: FeedFile) -> str:
    """Say what looks as if a file's end were missing; see `Source`."""
    return open_source(landing, trip_file.file, trip_file.format).cut_off


def trip_files(landing: Landing) -> list[FeedFile]:
    """List the files of trips that stand in landing: ``nyctaxi_trips*.parquet``, ``.csv`` or ``.csv.gz``."""
    found, _ = feed_files(NYCTAXI, landing.files())
    return found


def months_in(landing: Landing, file: LandedFile) -> list[Month]:
    """List the months that a file holds. Raises LandingError for a file that can't be used."""
    ((trip_file,), _) = feed_files(NYCTAXI, [file])
    found = rows_of(landing, trip_file).select("source_month").unique().collect()
    return sorted(Month.of(month) for month in found["source_month"].to_list())


def _month_of_pickup() -> nw.Expr:
    pickup = nw.col("tpep_pickup_datetime")
    month = pickup.dt.truncate("1mo").cast(nw.Date)
    first, last = MONTHLY.first.first_day, MONTHLY.last.first_day
    return nw.when((month >= first) & (month <= last)).then(month)
