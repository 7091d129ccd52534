"""Made-up rides in the six columns of Databricks' nyctaxi sample, several months in one file, with known faults.

Times, distances and fares are those of yellow's sample months; where a ride begins and ends is drawn here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, time
from pathlib import Path
from typing import Final

import polars as pl

from taxi_assets.calendars import Month
from taxi_assets.sample.dice import Dice, look_up
from taxi_assets.sample.files import replacing
from taxi_assets.sample.trips import MISCOUNT, Trips
from taxi_assets.tlc.vocabulary import Service

RIDES_FILE: Final = "nyctaxi_trips_sample.parquet"

# The more often a ZIP code stands here, the more rides begin or end there. 9000 lies in no known region.
_ZIPS: Final = (
    *(10001, 10003, 10009, 10011, 10014, 10016, 10019, 10021, 10023, 10028, 10036, 10110, 10119, 10153, 10199) * 6,
    *(11101, 11201, 11211, 11238, 11371, 11422) * 2,
    *(10301, 10451, 10463, 10701, 11501, 11693, 6830, 7002, 7114, 9000),
)
_ONE_IN: Final = {"positive_fare_amount": 2_000, "positive_trip_distance": 300, "no_identical_rows": 1_000}
_CENTS: Final = 100


@dataclass(frozen=True)
class PlantedRides:
    """What a file of rides holds. `counts`: the rows that break each rule, by its name, 0 included."""

    path: Path
    rows: int
    counts: Mapping[str, int]


def write_rides(folder: Path, months: Sequence[Month], rows: int, *, seed: int = 0) -> PlantedRides:
    """Write so many rides of each month as one file to a folder, in place of an earlier one."""
    frames = [_rides(month, rows, seed) for month in months]
    path = folder / RIDES_FILE
    folder.mkdir(parents=True, exist_ok=True)
    with replacing(path) as unfinished:
        pl.concat(frames).write_parquet(unfinished)
    counts = {rule: len(months) * len(_spoiled(rule, rows)) for rule in _ONE_IN}
    return PlantedRides(path, rows * len(months), counts)


def _rides(month: Month, rows: int, seed: int) -> pl.DataFrame:
    dice = Dice("rides", month, rows, seed)
    trips = Trips(Service.YELLOW, month, rows, dice)
    number = pl.int_range(rows, dtype=pl.Int64)
    numbered = pl.select(number.alias("trip")).lazy().with_columns(**{MISCOUNT: pl.lit(0, pl.Int64)})
    midnight = int(datetime.combine(month.first_day, time(), UTC).timestamp())
    no_distance, refunded = (_spoiled(f"positive_{one}", rows) for one in ("trip_distance", "fare_amount"))
    made = trips.add_trips(numbered).select(
        *(
            ((pl.col(f"{end}_datetime") + midnight) * 1_000_000).cast(pl.Datetime("us")).alias(f"tpep_{end}_datetime")
            for end in ("pickup", "dropoff")
        ),
        trip_distance=pl.when(number.is_in(no_distance)).then(0).otherwise("trip_distance") / _CENTS,
        fare_amount=pl.when(number.is_in(refunded)).then(-800).otherwise("fare_amount") / _CENTS,
        **{
            f"{end}_zip": look_up(_ZIPS, dice.below(end, number, len(_ZIPS))).cast(pl.Int32)
            for end in ("pickup", "dropoff")
        },
    )
    # A row that comes again stands for the one before it.
    again = number.is_in(_spoiled("no_identical_rows", rows))
    return made.collect().select(pl.when(again).then(pl.all().shift(1)).otherwise(pl.all()))


def _spoiled(rule: str, rows: int) -> list[int]:
    """Number the rows that break a rule; no row breaks two, nor is the one that comes again after it."""
    return list(range(11 * list(_ONE_IN).index(rule) + 2, rows, _ONE_IN[rule]))
