"""New York's wall clock: the hour that it shows twice on an autumn night, and how long a trip lasts by it."""

from __future__ import annotations

import narwhals.stable.v1 as nw

_SUNDAY = 7
_SECONDS_AN_HOUR = 3600


def in_repeated_hour(pickup: nw.Expr, dropoff: nw.Expr) -> nw.Expr:
    """True for a trip that the clock's return from daylight time made end before it began.

    Since 2007 that is the first Sunday of November, when 1:00 to 2:00 comes twice (15 U.S.C. 260a). Only a trip whose
    both ends lie in that hour can end "before" it begins.
    """
    night = (pickup.dt.month() == 11) & (pickup.dt.day() <= 7) & (pickup.dt.weekday() == _SUNDAY)
    return (
        night
        & (pickup.dt.hour() == 1)
        & (dropoff.dt.hour() == 1)
        & (dropoff < pickup)
        & (pickup.dt.date() == dropoff.dt.date())
    )


def true_seconds(clock_seconds: nw.Expr, pickup: nw.Expr, dropoff: nw.Expr) -> nw.Expr:
    """Turn the seconds between two clock readings into those that passed."""
    return nw.when(in_repeated_hour(pickup, dropoff)).then(clock_seconds + _SECONDS_AN_HOUR).otherwise(clock_seconds)
