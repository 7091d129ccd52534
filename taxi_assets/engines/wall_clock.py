"""Parts of wall-clock times that engines don't agree on, here the same on every engine."""

from __future__ import annotations

import narwhals.stable.v1 as nw


def iso_weekday(time: nw.Expr) -> nw.Expr:
    """Return the day of the week, 1 for Monday to 7 for Sunday, which is 0 on Spark in Narwhals (2.29)."""
    return (time.dt.weekday() + 6) % 7 + 1
