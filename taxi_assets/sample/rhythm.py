"""When trips begin: more by day than by night, other hours at weekends, and no two trips with the same two times.

Times are seconds since the month's first midnight, New York wall clock. Where trips go doesn't belong here.
"""

from __future__ import annotations

from calendar import SUNDAY, monthrange
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from itertools import accumulate
from typing import Final

import polars as pl

from taxi_assets.calendars import Month
from taxi_assets.sample.dice import Dice, look_up
from taxi_assets.tlc.vocabulary import Service

HOUR: Final = 3600
DAY: Final = 24 * HOUR

# Trips in each hour of the day, in thousandths of an ordinary weekday. Green's are those of its real files, those
# of for-hire vehicles are guesses.
_WEEKDAY: Final = {
    Service.YELLOW: [16, 9, 6, 5, 6, 9, 22, 39, 51, 49, 47, 48, 52, 53, 55, 55, 54, 61, 71, 67, 61, 60, 54, 50],
    Service.GREEN: [11, 7, 5, 4, 5, 8, 21, 50, 66, 71, 69, 67, 65, 66, 71, 76, 81, 79, 75, 59, 44, 32, 27, 20],
    Service.FHV: [8, 5, 5, 8, 18, 30, 47, 62, 68, 64, 57, 54, 53, 54, 60, 64, 65, 64, 58, 48, 37, 30, 24, 17],
    Service.FHVHV: [24, 14, 9, 8, 11, 18, 32, 49, 54, 45, 40, 39, 41, 42, 46, 49, 51, 57, 61, 61, 59, 57, 54, 43],
}
_WEEKEND: Final = {
    Service.YELLOW: [50, 42, 34, 24, 13, 8, 9, 13, 21, 32, 42, 49, 55, 56, 55, 55, 54, 57, 61, 58, 52, 51, 53, 56],
    Service.GREEN: [22, 17, 13, 11, 9, 6, 8, 15, 23, 32, 41, 48, 52, 56, 58, 58, 57, 54, 52, 45, 37, 29, 25, 22],
    Service.FHV: [22, 18, 15, 14, 17, 18, 22, 28, 35, 41, 44, 46, 47, 48, 49, 49, 49, 48, 47, 45, 42, 39, 36, 31],
    Service.FHVHV: [60, 51, 41, 33, 22, 14, 15, 19, 27, 36, 43, 48, 51, 52, 53, 55, 57, 60, 63, 63, 61, 59, 60, 62],
}

# Trips of one hour take its seconds in this stride, so that each second is used once before any is used twice.
_STRIDE: Final = 1571
# Of trips with the same pickup, the n-th lasts n seconds more, modulo this: 64 laps of an hour are 230,000 trips.
_LAPS: Final = 64


@dataclass(frozen=True)
class Rhythm:
    """The pickups of one month's ``trips`` trips, in the order of their hours."""

    service: Service
    month: Month
    trips: int
    dice: Dice

    def add_pickups(self, frame: pl.LazyFrame) -> pl.LazyFrame:
        """Add pickup_datetime, hour (0 to 23), is_weekend, and ``lap`` to trips numbered by ``trip`` (from 0)."""
        first_trip = self._first_trip_of_hours()
        trip, hour, turn = pl.col("trip"), pl.col("hour_of_month"), pl.col("turn")
        weekend_days = [int(day.weekday() >= 5) for day in _days(self.month)]
        hour_of_month = pl.lit(pl.Series(first_trip, dtype=pl.Int64)).search_sorted(trip, side="right") - 1
        start = self.dice.below("start of the hour", hour, HOUR)
        return (
            frame.with_columns(hour_of_month=hour_of_month.cast(pl.Int64))
            .with_columns(turn=trip - look_up(first_trip, hour))
            .with_columns(
                pickup_datetime=hour * HOUR + (turn * _STRIDE + start) % HOUR,
                lap=turn // HOUR,
                hour=hour % 24,
                is_weekend=look_up(weekend_days, hour // 24) == 1,
            )
            .drop("hour_of_month", "turn")
        )

    def dropoff(self, seconds: pl.Expr) -> pl.Expr:
        """Return the dropoff of a trip that lasts about ``seconds``: never the same for two trips that begin together.

        A trip across the hour that the clocks skip in spring ends an hour later by the clock.
        """
        pickup = pl.col("pickup_datetime")
        phase = (self.dice.below("last digits", pickup, _LAPS) + pl.col("lap")) % _LAPS
        dropoff = pickup + seconds // _LAPS * _LAPS + phase + _LAPS
        skipped = skipped_hour(self.month)
        if skipped is None:
            return dropoff
        return pl.when((pickup < skipped) & (dropoff >= skipped)).then(dropoff + HOUR).otherwise(dropoff)

    def before_pickup(self, seconds: pl.Expr) -> pl.Expr:
        """Return when it was so many seconds before the pickup, an hour earlier by the clock across the skipped one."""
        pickup = pl.col("pickup_datetime")
        skipped = skipped_hour(self.month)
        if skipped is None:
            return pickup - seconds
        across = (pickup >= skipped + HOUR) & (pickup - seconds < skipped + HOUR)
        return pl.when(across).then(pickup - seconds - HOUR).otherwise(pickup - seconds)

    def elapsed(self, dropoff: pl.Expr) -> pl.Expr:
        """Return the seconds from the pickup to a dropoff: without the hour that clocks skip, with that they repeat."""
        pickup, by_clock = pl.col("pickup_datetime"), dropoff - pl.col("pickup_datetime")
        skipped, repeated = skipped_hour(self.month), repeated_hour(self.month)
        if skipped is not None:
            across = (pickup < skipped) & (dropoff >= skipped)
            return pl.when(across).then(by_clock - HOUR).otherwise(by_clock)
        if repeated is not None:
            across = (pickup < repeated) & (dropoff >= repeated + HOUR) & (pickup >= repeated - HOUR)
            return pl.when(across).then(by_clock + HOUR).otherwise(by_clock)
        return by_clock

    def _first_trip_of_hours(self) -> Sequence[int]:
        weights: list[int] = []
        for day in _days(self.month):
            weights += (_WEEKEND if day.weekday() >= 5 else _WEEKDAY)[self.service]
        skipped = skipped_hour(self.month)
        if skipped is not None:
            weights[skipped // HOUR] = 0
        before = list(accumulate(weights, initial=0))
        return [self.trips * share // before[-1] for share in before[:-1]]


def skipped_hour(month: Month) -> int | None:
    """Return when the hour begins that doesn't exist in this month: 2:00 on the second Sunday of March, or None."""
    if month.number != 3:
        return None
    sundays = [day.day for day in _days(month) if day.weekday() == SUNDAY]
    return (sundays[1] - 1) * DAY + 2 * HOUR


def repeated_hour(month: Month) -> int | None:
    """Return when the hour begins that comes twice in this month: 1:00 on the first Sunday of November, or None."""
    if month.number != 11:
        return None
    sundays = [day.day for day in _days(month) if day.weekday() == SUNDAY]
    return (sundays[0] - 1) * DAY + HOUR


def _days(month: Month) -> list[date]:
    count = monthrange(month.year, month.number)[1]
    return [date(month.year, month.number, day) for day in range(1, count + 1)]
