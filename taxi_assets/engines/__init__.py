"""Engines: what computes and stores tables. The only folder that uses Polars' or Spark's own API for tables.

Transforms are written in Narwhals and never ask which engine runs; what Narwhals can't say, they ask of `engine_of`.
"""

from __future__ import annotations

from typing import Final

import narwhals.stable.v1 as nw

from taxi_assets.contracts import Frame
from taxi_assets.engines.conform import conform
from taxi_assets.engines.delta_log import DataFile, DeltaLocation
from taxi_assets.engines.engine import Engine, Partition, Written
from taxi_assets.engines.polars_engine import PolarsEngine
from taxi_assets.engines.rounding import decimal_units, fits_decimal, ratio, to_decimal, units

ENGINES: Final[dict[str, Engine]] = {"polars": PolarsEngine()}
"""The engines by the names that the setting `engine` may have."""

_BY_FRAME: Final = {nw.Implementation.POLARS: "polars"}


def engine_of(frame: Frame) -> Engine:
    """Return the engine that computes a frame."""
    return ENGINES[_BY_FRAME[frame.implementation]]


__all__ = [
    "ENGINES",
    "DataFile",
    "DeltaLocation",
    "Engine",
    "Partition",
    "Written",
    "conform",
    "decimal_units",
    "engine_of",
    "fits_decimal",
    "ratio",
    "to_decimal",
    "units",
]
