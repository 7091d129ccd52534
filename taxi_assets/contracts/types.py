"""The types that a contract's columns may have, each once: for Pandera, for Narwhals and for Delta.

No others are offered: unsigned integers, nanoseconds, zoned times and null-typed columns have each broken a Delta
writer.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, Final

import narwhals.stable.v1 as nw
from narwhals.stable.v1.dtypes import DType as NarwhalsDtype
from pandera import dtypes as pandera_dtypes
from pandera.engines import polars_engine

from taxi_assets.errors import ContractError

Frame = nw.LazyFrame[Any]
"""A lazy frame of whichever engine: what transforms take and give."""


class Decimal(polars_engine.Decimal):
    """An exact number of `precision` digits, `scale` of them after the point: ``Annotated[Decimal, 10, 2]``.

    Pandera's Narwhals backend has no decimal of its own (pandera 0.35) and calls every decimal column wrong; asked with
    a Narwhals dtype, this one answers.
    """

    def check(self, pandera_dtype: Any, data_container: Any = None) -> Any:
        """Return whether a column's dtype is this decimal, digits included."""
        if isinstance(pandera_dtype, nw.Decimal):
            return bool(pandera_dtype == nw.Decimal(self.precision, self.scale))
        return super().check(pandera_dtype, data_container)


class _Strings(polars_engine.List):
    """A list of strings; like `Decimal`, it answers for the Narwhals dtype that Pandera's backend can't translate."""

    def check(self, pandera_dtype: Any, data_container: Any = None) -> Any:
        inner = getattr(pandera_dtype, "type", pandera_dtype)
        return bool(inner == nw.List(nw.String)) or super().check(pandera_dtype, data_container)


Bool = pandera_dtypes.Bool
Date = pandera_dtypes.Date
Float64 = pandera_dtypes.Float64
Int32 = pandera_dtypes.Int32
Int64 = pandera_dtypes.Int64
String = pandera_dtypes.String
Strings = Annotated[_Strings, polars_engine.pl.String]
LocalTime = Annotated[polars_engine.DateTime, False, None, "us"]
"""A wall-clock time in microseconds, without a zone (Delta's timestamp_ntz)."""


@dataclass(frozen=True, slots=True)
class Dtype:
    """A column's type under its two other names."""

    narwhals: NarwhalsDtype
    delta: str

    @property
    def decimal(self) -> tuple[int, int] | None:
        """Precision and scale, None for what isn't a decimal."""
        if isinstance(self.narwhals, nw.Decimal):
            return self.narwhals.precision, self.narwhals.scale
        return None


_BY_PANDERA_CLASS: Final[dict[type, Dtype]] = {
    pandera_dtypes.Bool: Dtype(nw.Boolean(), "boolean"),
    pandera_dtypes.Float64: Dtype(nw.Float64(), "double"),
    pandera_dtypes.Int32: Dtype(nw.Int32(), "integer"),
    pandera_dtypes.Int64: Dtype(nw.Int64(), "long"),
    pandera_dtypes.String: Dtype(nw.String(), "string"),
    polars_engine.DateTime: Dtype(nw.Datetime("us"), "timestamp_ntz"),
    # After DateTime, which Pandera makes a kind of Date.
    pandera_dtypes.Date: Dtype(nw.Date(), "date"),
    _Strings: Dtype(nw.List(nw.String), "array<string>"),
}


def dtype_of(pandera_dtype: pandera_dtypes.DataType) -> Dtype:
    """Translate a Pandera dtype. Raises ContractError for a type that this module doesn't offer."""
    if isinstance(pandera_dtype, Decimal):
        digits, scale = pandera_dtype.precision, pandera_dtype.scale
        return Dtype(nw.Decimal(digits, scale), f"decimal({digits},{scale})")
    for pandera_class, dtype in _BY_PANDERA_CLASS.items():
        if isinstance(pandera_dtype, pandera_class):
            return dtype
    raise ContractError(f"{pandera_dtype} is no type of a contract. Use one of taxi_assets.contracts.types.")
