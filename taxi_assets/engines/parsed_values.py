"""A file's column parsed into a type of contracts, for each of them. A value that the type doesn't hold becomes null.

Nothing is rounded or cut to make it fit, but that doubles are the nearest ones and times are cut to the microsecond.
What each type holds, of texts without the blanks around them:

- String: any text, number, boolean or time; an empty text is null.
- Int32, Int64: whole numbers in range, and texts of such: ``7``, ``-7``, ``+7``, ``007``, ``7.0``, ``7e2``. From 2**53
  up, texts in digits alone.
- Float64: finite numbers, and texts of such: ``.5``, ``5.``, ``1e-3``.
- Decimal: numbers with no more digits than it before the point and behind it, zeros at both ends aside, and texts of
  such, without exponent, currency or marks between thousands: ``1250.5``, ``-.50``. A double, such as that of 12.34,
  is the decimal that it is nearest to of all doubles, up to the 15 digits or so that doubles tell apart.
- Bool: booleans, the numbers 0 and 1, and texts in any case: true, t, yes, y, 1; false, f, no, n, 0.
- Date: dates, times that are a midnight, and texts of such: ``2024-01-05``, ``2024-01-05 00:00:00``. Of the years 1 to
  9999, as times are. In no other order of day and month, as nobody could tell which is which.
- LocalTime: times, those in a zone as clocks showed them there, and texts in the forms of `_TIME_FORMATS`.
- Strings: lists of texts, of which CSV has none.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import time as time_of_day
from typing import Final

import narwhals.stable.v1 as nw
import polars as pl
from narwhals.stable.v1.dtypes import DType as NarwhalsDtype

from taxi_assets.engines.nested import can_be_written

_TIME_FORMATS: Final = (
    "%Y-%m-%d %H:%M:%S%.f",
    "%Y-%m-%dT%H:%M:%S%.f",
    "%Y-%m-%dT%H:%M:%S%.fZ",
    "%Y-%m-%d %H:%M",
    "%m/%d/%Y %I:%M:%S %p",
)
_DATE: Final = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}(?:[ T]00:00(?::00(?:\.0+)?)?Z?)?$"
# Those that Spark takes for booleans, too.
_TRUE: Final = ("true", "t", "yes", "y", "1")
_FALSE: Final = ("false", "f", "no", "n", "0")
# Below it doubles hold each whole number, and each of them is one alone.
_EXACT: Final = 2**53
_SMALL_WHOLE: Final = (pl.Int8, pl.Int16, pl.Int32, pl.UInt8, pl.UInt16)
_WHOLE: Final = (*_SMALL_WHOLE, pl.Int64, pl.UInt32, pl.UInt64)
_MOMENT: Final = pl.Datetime("us")


def parsed(value: pl.Expr, dtype: pl.DataType, target: NarwhalsDtype) -> pl.Expr:
    """Turn a column into its target type. A value that can't be is null."""
    if isinstance(target, nw.List):
        return value if dtype == pl.List(pl.String) else null_of(target)
    if dtype.is_nested() or dtype == pl.Binary:
        return null_of(target)
    if isinstance(target, nw.Decimal):
        return _decimal(value, dtype, target.precision, target.scale)
    return _PARSERS[type(target)](value, dtype)


def null_of(target: NarwhalsDtype) -> pl.Expr:
    """Return null in a type of contracts."""
    if isinstance(target, nw.Decimal):
        return pl.lit(None).cast(pl.Decimal(target.precision, target.scale))
    return pl.lit(None).cast(_POLARS[type(target)])


def always_fits(dtype: pl.DataType, target: NarwhalsDtype) -> bool:
    """Whether no value of a type can be one that `parsed` makes null."""
    if dtype == pl.Null:
        return True
    if target == nw.String:
        return not (dtype.is_nested() or dtype == pl.Binary)
    if target == nw.Float64:
        return dtype in _WHOLE
    return target in (nw.Int32, nw.Int64) and dtype in _SMALL_WHOLE


def _string(value: pl.Expr, dtype: pl.DataType) -> pl.Expr:
    text = (value.fill_nan(None) if dtype.is_float() else value).cast(pl.String).str.strip_chars()
    return pl.when(text.str.len_bytes() > 0).then(text)


def _time(value: pl.Expr, dtype: pl.DataType) -> pl.Expr:
    if dtype == pl.String:
        text = value.str.strip_chars()
        time = pl.coalesce(text.str.to_datetime(form, time_unit="us", strict=False) for form in _TIME_FORMATS)
        # Polars takes a minute's 61st second for the next minute's first.
        return pl.when(can_be_written(time, _MOMENT) & ~text.str.contains(":60", literal=True)).then(time)
    if isinstance(dtype, pl.Datetime):
        return pl.when(can_be_written(value, dtype)).then(value).dt.replace_time_zone(None).cast(_MOMENT)
    return pl.lit(None).cast(_MOMENT)


def _date(value: pl.Expr, dtype: pl.DataType) -> pl.Expr:
    if dtype == pl.String:
        text = value.str.strip_chars()
        date = pl.when(text.str.contains(_DATE)).then(text.str.head(10)).str.to_date("%Y-%m-%d", strict=False)
    elif isinstance(dtype, pl.Datetime):
        # The time of day of what was there: in microseconds, less than one is lost.
        is_midnight = value.dt.replace_time_zone(None).dt.time() == time_of_day(0)
        date = pl.when(is_midnight).then(_time(value, dtype).dt.date())
    else:
        date = value if dtype == pl.Date else pl.lit(None).cast(pl.Date)
    return pl.when(can_be_written(date, pl.Date())).then(date)


def _boolean(value: pl.Expr, dtype: pl.DataType) -> pl.Expr:
    if dtype == pl.String:
        word = value.str.strip_chars().str.to_lowercase()
        true, false = word.is_in(_TRUE), word.is_in(_FALSE)
    elif dtype.is_numeric():
        true, false = value == 1, value == 0
    else:
        return value if dtype == pl.Boolean else pl.lit(None).cast(pl.Boolean)
    return pl.when(true).then(pl.lit(True)).when(false).then(pl.lit(False))


def _decimal(value: pl.Expr, dtype: pl.DataType, precision: int, scale: int) -> pl.Expr:
    target = pl.Decimal(precision, scale)
    if dtype == pl.String:
        text = value.str.strip_chars()
        # Not left to Polars' cast, which rounds what has more digits.
        fits = text.str.contains(rf"^[+-]?0*[0-9]{{0,{precision - scale}}}(?:\.[0-9]{{0,{scale}}}0*)?$")
        # A digit before the point, as `.0` would have none where the scale is 0.
        digits = text.str.replace(r"^[+-]?", "${0}0").str.extract(rf"^([+-]?[0-9]+(?:\.[0-9]{{0,{scale}}})?)")
        return pl.when(fits & text.str.contains("[0-9]")).then(digits).cast(target, strict=False)
    if dtype.is_float():
        units = (value.cast(pl.Float64) * 10**scale).round().abs()
        decimal = pl.when(units < min(_EXACT, 10**precision)).then(value).cast(target, strict=False)
        return pl.when(decimal.cast(dtype) == value).then(decimal)
    if dtype.is_numeric():
        decimal = value.cast(target, strict=False)
        return pl.when(decimal == value).then(decimal) if dtype.is_decimal() else decimal
    return pl.lit(None).cast(target)


def _double(value: pl.Expr, dtype: pl.DataType) -> pl.Expr:
    if dtype == pl.String:
        return _finite(value.str.strip_chars().cast(pl.Float64, strict=False), pl.Float64())
    return _finite(value, dtype).cast(pl.Float64) if dtype.is_numeric() else pl.lit(None).cast(pl.Float64)


def _whole(value: pl.Expr, dtype: pl.DataType, target: pl.DataType) -> pl.Expr:
    if dtype == pl.String:
        text = value.str.strip_chars()
        number = text.cast(pl.Float64, strict=False)
        if target == pl.Int32:
            return _whole(number, pl.Float64(), target)
        # As a double, a whole number of 17 digits would become another one.
        is_small = number.abs() < _EXACT
        small = _whole(pl.when(is_small).then(number), pl.Float64(), target)
        return pl.coalesce(small, pl.when(~is_small).then(text).cast(target, strict=False))
    if not dtype.is_numeric():
        return pl.lit(None).cast(target)
    value = _finite(value, dtype)
    whole = value.cast(target, strict=False)
    return whole if dtype in _WHOLE else pl.when(whole == value).then(whole)


def _finite(value: pl.Expr, dtype: pl.DataType) -> pl.Expr:
    """Leave out what is no finite number: a sum of NaN is none, and silver's decimals hold neither it nor infinity."""
    return pl.when(value.is_finite()).then(value) if dtype.is_float() else value


_POLARS: Final[Mapping[type[NarwhalsDtype], pl.DataType]] = {
    nw.Boolean: pl.Boolean(),
    nw.Date: pl.Date(),
    nw.Datetime: _MOMENT,
    nw.Float64: pl.Float64(),
    nw.Int32: pl.Int32(),
    nw.Int64: pl.Int64(),
    nw.List: pl.List(pl.String),
    nw.String: pl.String(),
}
_PARSERS: Final[Mapping[type[NarwhalsDtype], Callable[[pl.Expr, pl.DataType], pl.Expr]]] = {
    nw.Boolean: _boolean,
    nw.Date: _date,
    nw.Datetime: _time,
    nw.Float64: _double,
    nw.Int32: lambda value, dtype: _whole(value, dtype, pl.Int32()),
    nw.Int64: lambda value, dtype: _whole(value, dtype, pl.Int64()),
    nw.String: _string,
}
