"""Dimensions of codes: TLC's list, and what a month's trips have besides, named Unknown. Each has its file."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import narwhals.stable.v1 as nw

from taxi_assets.calendars import Month
from taxi_assets.contracts import Contract, Frame
from taxi_assets.engines import engine_of
from taxi_assets.tlc.vocabulary import UNKNOWN


def with_unlisted(
    seen: Frame, listed: Mapping[Any, str], dimension: type[Contract], *, code: str, name: str, month: Month
) -> Frame:
    """Put listed codes with their names, and those of a column `code` that aren't listed, into one frame.

    `code` and `name` are columns of the dimension; what is `seen` may hold nulls and repetitions.
    """
    (dtype,) = (column.dtype.narwhals for column in dimension.columns() if column.name == code)
    entries = engine_of(seen).literal({code: list(listed), name: list(listed.values())})
    known = entries.select(nw.col(code).cast(dtype), name)
    in_trips = seen.select(nw.col(code).cast(dtype)).unique().filter(~nw.col(code).is_null())
    unlisted = in_trips.join(known, on=code, how="anti").with_columns(nw.lit(UNKNOWN).alias(name))
    both = nw.concat([known, unlisted.select(code, name)], how="vertical")
    return both.with_columns(nw.lit(month.first_day).alias("source_month"))
