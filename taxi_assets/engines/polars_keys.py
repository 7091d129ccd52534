"""Keys that Spark's own functions give, on Polars: its texts of values, and its hashes of texts.

Whoever has the same rows on Spark, or on Databricks, finds the same keys: ``xxhash64`` has the seed 42 there, null
passed over, and a number is written as Java writes it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Final

import polars as pl
import polars_hash as plh

_SEED: Final = 42
_LEAST_PLAIN, _LEAST_SCIENTIFIC = 1e-3, 1e7
"""Java writes doubles between these without an exponent (java.lang.Double.toString)."""


def digest(rows: pl.LazyFrame, name: str, columns: Sequence[str]) -> pl.LazyFrame:
    """Add what Spark's ``sha2(concat_ws('|', columns), 256)`` is; nulls are passed over."""
    joined = pl.concat_str(_texts(rows, columns), separator="|", ignore_nulls=True)
    hashed = rows.with_columns(joined.alias(name))
    return hashed.with_columns(plh.col(name).chash.sha2_256().alias(name))


def keys(rows: pl.LazyFrame, named: Mapping[str, str]) -> pl.LazyFrame:
    """Add what Spark's ``xxhash64(CAST(column AS STRING))`` is, a column per name."""
    texts = _texts(rows, list(named.values()))
    with_texts = rows.with_columns(text.alias(name) for name, text in zip(named, texts, strict=True))
    hashed = (plh.col(name).nchash.xxhash64(seed=_SEED).reinterpret(signed=True) for name in named)
    return with_texts.with_columns(key.fill_null(_SEED).alias(name) for name, key in zip(named, hashed, strict=True))


def _texts(rows: pl.LazyFrame, columns: Sequence[str]) -> list[pl.Expr]:
    schema = rows.collect_schema()
    return [_text(pl.col(name), schema[name]) for name in columns]


def _text(value: pl.Expr, dtype: pl.DataType) -> pl.Expr:
    if dtype == pl.Datetime:
        # A fraction of a second is as long as it needs to be.
        return value.dt.strftime("%Y-%m-%d %H:%M:%S%.6f").str.strip_chars_end("0").str.strip_chars_end(".")
    if dtype.is_float():
        magnitude = value.abs()
        plain = (magnitude == 0) | magnitude.is_between(_LEAST_PLAIN, _LEAST_SCIENTIFIC, closed="left")
        odd = pl.when(~plain).then(value).map_batches(_as_java, return_dtype=pl.String, is_elementwise=True)
        return pl.when(plain).then(value.cast(pl.String)).otherwise(odd)
    return value.cast(pl.String)


def _as_java(values: pl.Series) -> pl.Series:
    if values.null_count() == len(values):
        return pl.Series(values.name, [None], pl.String).new_from_index(0, len(values))
    return pl.Series(values.name, [None if value is None else _scientific(value) for value in values], pl.String)


def _scientific(value: float) -> str:
    number = Decimal(repr(value))
    if not number.is_finite():
        return "NaN" if number.is_nan() else f"{'-' if value < 0 else ''}Infinity"
    if len(number.as_tuple().digits) == 1:
        # Java writes two digits at least, the nearest two: 4.9E-324, of which one digit makes 5e-324.
        number = Decimal(f"{value:.1e}")
    sign, digits, _ = number.as_tuple()
    first, *rest = map(str, digits)
    fraction = "".join(rest).rstrip("0") or "0"
    return f"{'-' if sign else ''}{first}.{fraction}E{number.adjusted()}"
