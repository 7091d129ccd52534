"""New York's wall clock: the hours it shows twice or not at all, and how long a trip lasts by it.

Since 2007 daylight time begins on the second Sunday of March, when 2:00 is 3:00, and ends on the first of November,
when 1:00 to 2:00 comes twice (15 U.S.C. 260a). TLC's files begin in 2009.
"""

from __future__ import annotations

from datetime import date, timedelta
from typing import Final

import narwhals.stable.v1 as nw

_SECONDS_AN_HOUR: Final = 3600
_MISSING_HOUR: Final = 2
_REPEATED_HOUR: Final = 1


def _sundays(month: int, *, week: int) -> list[date]:
    firsts = [date(year, month, 7 * week - 6) for year in range(2007, 2100)]
    return [first + timedelta(days=6 - first.weekday()) for first in firsts]


# As dates to be looked up, which costs an engine less than to ask of every row for its month, day and weekday.
_SPRING_NIGHTS: Final = _sundays(3, week=2)
_AUTUMN_NIGHTS: Final = _sundays(11, week=1)


def in_missing_hour(time: nw.Expr) -> nw.Expr:
    """True for a time that no clock in New York ever showed: it was skipped in spring."""
    return time.dt.date().is_in(_SPRING_NIGHTS) & (time.dt.hour() == _MISSING_HOUR)


def in_repeated_hour(pickup: nw.Expr, dropoff: nw.Expr) -> nw.Expr:
    """True for a trip that the clock's return from daylight time made end before it began.

    Only a trip whose both ends lie in the repeated hour can.
    """
    night = pickup.dt.date()
    within = (pickup.dt.hour() == _REPEATED_HOUR) & (dropoff.dt.hour() == _REPEATED_HOUR)
    return (dropoff < pickup) & within & (dropoff.dt.date() == night) & night.is_in(_AUTUMN_NIGHTS)


def true_seconds(clock_seconds: nw.Expr, pickup: nw.Expr, dropoff: nw.Expr) -> nw.Expr:
    """Correct what the clock shows between two times by the hour that it went back or forward in between.

    Where only one end lies in the repeated hour it can't be known which of the two it was, nor for a trip of less than
    an hour within it that ends later than it begins: what the clock shows stands.
    """
    later = pickup.dt.date() < dropoff.dt.date()
    went_back = in_repeated_hour(pickup, dropoff) | _spans(_AUTUMN_NIGHTS, _REPEATED_HOUR, pickup, dropoff, later)
    went_forward = _spans(_SPRING_NIGHTS, _MISSING_HOUR, pickup, dropoff, later)
    hours = nw.when(went_back).then(1).otherwise(nw.when(went_forward).then(-1).otherwise(0))
    return clock_seconds + hours * _SECONDS_AN_HOUR


def _spans(nights: list[date], hour: int, pickup: nw.Expr, dropoff: nw.Expr, later: nw.Expr) -> nw.Expr:
    """True for a trip with all of an hour of some night in it, of which at least one end is of the night's date."""
    before, after = pickup.dt.hour() < hour, dropoff.dt.hour() > hour
    began, ended = pickup.dt.date().is_in(nights), dropoff.dt.date().is_in(nights)
    return (began & before & (later | (ended & after))) | (ended & after & later)
