"""The catalog `nyctaxi`: the star of trips, from files of Databricks' sample."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from taxi_assets.calendars import Calendar, Month, Period
from taxi_assets.catalog import Catalog, Contents, Feed
from taxi_assets.errors import UsageError

if TYPE_CHECKING:
    from taxi_assets.landing import LandedFile, Landing

MONTHLY: Final = Calendar(Month, "source_month", Month(2009, 1))
"""Databricks' sample has 2016-01 and 2016-02; the data that it is of has more."""
TRIPS: Final = "trips"
"""The one feed of this catalog."""
UNKNOWN: Final = "Unknown"
"""The borough of a ZIP code that is on no list."""


def _sample(
    folder: Path,
    periods: Sequence[Period],
    _feeds: Sequence[str],
    rows: int,
    seed: int,
    on_step: Callable[[str], None],
    *,
    clean: bool,
) -> Iterator[str]:
    from taxi_assets.sample import RIDES_FILE, write_rides

    if clean:
        raise UsageError("--clean isn't for this catalog: each of its samples has faults that checks warn of.")
    months = [Month.of(period.first_day) for period in periods]
    others = sorted(path.name for path in folder.glob("nyctaxi_trips*") if path.name != RIDES_FILE)
    if others:
        # All such files are one set of trips.
        raise UsageError(f"{folder} holds {', '.join(others)}, which is no sample. Nothing was written; name another.")
    on_step(f"Making {rows:,} rows of each month")
    planted = write_rides(folder, months, rows, seed=seed)
    faults = ", ".join(f"{count:,} of {rule}" for rule, count in planted.counts.items())
    yield f"{planted.path}: {planted.rows:,} rows; faults planted: {faults}"


def _load() -> Contents:
    from taxi_assets.nyctaxi.catalog import CONTENTS

    return CONTENTS


def _months_in(landing: Landing, file: LandedFile) -> Collection[Period]:
    from taxi_assets.nyctaxi.trip_files import months_in

    return months_in(landing, file)


NYCTAXI: Final = Catalog(
    "nyctaxi",
    MONTHLY,
    feeds=(Feed(TRIPS, r"nyctaxi_trips.*?", "nyctaxi_trips*", Month(2009, 1), periods_in=_months_in),),
    file_name="nyctaxi_trips_2016.parquet",
    nearly=r"nyc[-_ ]?taxi[-_ ]?trip",
    blocked_list="nyctaxi_blocked.txt",
    sample=_sample,
    load=_load,
)
