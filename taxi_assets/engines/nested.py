"""Values of any type, those within lists, maps and records too: how long their texts are, and what they are as JSON."""

from __future__ import annotations

from typing import Final

import polars as pl
from polars.datatypes import DataTypeClass

_Type = pl.DataType | DataTypeClass
_NO_NUMBER: Final = r'"-?(?:NaN|inf)"'
# The years 1 to 9999, in seconds from 1970: what Python, Delta and everyone after them can hold.
_FIRST: Final = -62_135_596_800
_LAST: Final = 253_402_300_799
_A_DAY: Final = 86_400
_TICKS_A_SECOND: Final = {"ms": 1_000, "us": 1_000_000}


def can_be_written(time: pl.Expr, dtype: pl.Datetime | pl.Date) -> pl.Expr:
    """Whether a time or date is within the years that can be written; all that nanoseconds can hold is."""
    if not isinstance(dtype, pl.Datetime):
        return time.to_physical().is_between(_FIRST // _A_DAY, _LAST // _A_DAY)
    ticks = _TICKS_A_SECOND.get(dtype.time_unit)
    if ticks is None:
        return pl.lit(True)
    return time.to_physical().is_between(_FIRST * ticks, (_LAST + 1) * ticks - 1)


def text_bytes(value: pl.Expr, dtype: _Type) -> pl.Expr | None:
    """Return how many bytes the texts of each value have; None if those of its type have none."""
    if dtype in (pl.String, pl.Binary):
        return (value.bin.size() if dtype == pl.Binary else value.str.len_bytes()).cast(pl.UInt64)
    if isinstance(dtype, pl.BaseExtension):
        return text_bytes(value.ext.storage(), dtype.ext_storage())
    if isinstance(dtype, pl.Struct):
        parts = [text_bytes(*each) for each in _fields(value, dtype)]
        sizes = [part for part in parts if part is not None]
        return pl.sum_horizontal(sizes) if sizes else None
    if dtype.is_nested():
        items, inner = _items(value, dtype)
        size = text_bytes(pl.element(), inner)
        return None if size is None else items.list.eval(size).list.sum()
    return None


def as_json(value: pl.Expr, dtype: _Type) -> pl.Expr:
    """Return values as JSON, those that JSON has no form for as text, and what isn't one value as text of JSON.

    So the keys within a value aren't taken for those around it.
    """
    if dtype.is_float():
        return pl.when(value.is_finite()).then(_json(value)).otherwise(_json(value.cast(pl.String)))
    if isinstance(dtype, pl.Datetime | pl.Date):
        fits = can_be_written(value, dtype)
        return pl.when(fits).then(_json(pl.when(fits).then(value))).otherwise(_json(value.to_physical()))
    if not dtype.is_nested():
        return _json(_plain(value, dtype, exact=False))
    numbers, exact = (_json(_plain(value, dtype, exact=exact)) for exact in (False, True))
    return _json(pl.when(exact.str.contains(_NO_NUMBER)).then(exact).otherwise(numbers))


def _plain(value: pl.Expr, dtype: _Type, *, exact: bool) -> pl.Expr:
    """Return values as what Polars writes as JSON: bytes and years beyond all calendars aren't.

    `exact`: with fractions as text, as NaN and infinity would become null.
    """
    if isinstance(dtype, pl.BaseExtension):
        return _plain(value.ext.storage(), dtype.ext_storage(), exact=exact)
    if isinstance(dtype, pl.Struct):
        named = zip(dtype.fields, _fields(value, dtype), strict=True)
        parts = [_plain(*part, exact=exact).alias(field.name) for field, part in named]
        return pl.when(value.is_not_null()).then(pl.struct(parts))
    if dtype.is_nested():
        items, inner = _items(value, dtype)
        return items.list.eval(_plain(pl.element(), inner, exact=exact))
    if isinstance(dtype, pl.Datetime | pl.Date):
        return pl.when(value.is_not_null()).then(as_json(value, dtype).str.strip_chars('"'))
    if dtype.is_float() and exact:
        return value.cast(pl.String)
    return value.bin.encode("hex") if dtype == pl.Binary else value


def _fields(record: pl.Expr, dtype: pl.Struct) -> list[tuple[pl.Expr, _Type]]:
    """Return the parts of a record by their place, as their names may be patterns to Polars."""
    places = [f"field_{place}" for place in range(len(dtype.fields))]
    by_place = record.struct.rename_fields(places)
    return [(by_place.struct.field(place), field.dtype) for place, field in zip(places, dtype.fields, strict=True)]


def _items(several: pl.Expr, dtype: _Type) -> tuple[pl.Expr, _Type]:
    """Return a list of what several values are, and the type of one."""
    if isinstance(dtype, pl.Map):
        return several.map.entries(), pl.Struct({"key": dtype.key, "value": dtype.value})
    if isinstance(dtype, pl.Array):
        return several.arr.to_list(), dtype.inner
    assert isinstance(dtype, pl.List), "of types within which others are there are no more"
    return several, dtype.inner


def _json(value: pl.Expr) -> pl.Expr:
    # {"x":value} without its first five characters and its last is the value as JSON.
    return pl.struct(value.alias("x")).struct.json_encode().str.slice(5).str.head(-1)
