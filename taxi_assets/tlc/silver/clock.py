"""New York's wall clock: the hour that it shows twice on an autumn night, and how long a trip lasts by it."""

from __future__ import annotations

from datetime import date
from typing import Final

import narwhals.stable.v1 as nw

_SUNDAY: Final = 7
_SECONDS_AN_HOUR: Final = 3600
_REPEATED_HOUR: Final = 1
_NIGHTS: Final = [
    date(year, 11, day)
    for year in range(2007, 2100)
    for day in range(1, 8)
    if date(year, 11, day).isoweekday() == _SUNDAY
]
"""Since 2007 daylight time ends on the first Sunday of November, when 1:00 to 2:00 comes twice (15 U.S.C. 260a)."""


def in_repeated_hour(pickup: nw.Expr, dropoff: nw.Expr) -> nw.Expr:
    """True for a trip that the clock's return from daylight time made end before it began.

    Only a trip whose both ends lie in the repeated hour can.
    """
    night = pickup.dt.date()
    within = (pickup.dt.hour() == _REPEATED_HOUR) & (dropoff.dt.hour() == _REPEATED_HOUR) & (dropoff.dt.date() == night)
    return (dropoff < pickup) & within & night.is_in(_NIGHTS)


def true_seconds(clock_seconds: nw.Expr, pickup: nw.Expr, dropoff: nw.Expr) -> nw.Expr:
    """Add the hour that the clock went back to trips within the repeated hour; others stay as they are."""
    return nw.when(in_repeated_hour(pickup, dropoff)).then(clock_seconds + _SECONDS_AN_HOUR).otherwise(clock_seconds)
