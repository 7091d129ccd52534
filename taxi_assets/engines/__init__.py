"""Engines: what computes and stores tables. The only folder that uses Polars' or Spark's own API for tables.

Transforms are written in Narwhals and never ask which engine runs; what Narwhals can't say, they ask of `engine_of`.
Spark is imported by those who use it: it is no part of a usual installation.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path

import narwhals.stable.v1 as nw

# Polars reads several row groups ahead: of 20 million wide rows that took an eighth more memory, and no less time. It
# looks at this when it reads.
os.environ.setdefault("POLARS_ROW_GROUP_PREFETCH_SIZE", "1")

from taxi_assets.contracts import Frame
from taxi_assets.engines.changed_rows import ChangedRows, changed_rows
from taxi_assets.engines.conform import conform
from taxi_assets.engines.delta_log import DataFile, DeltaLocation
from taxi_assets.engines.engine import Engine, Partition, Written
from taxi_assets.engines.notes import read_notes
from taxi_assets.engines.polars_engine import PolarsEngine
from taxi_assets.engines.rounding import decimal_units, fits_decimal, ratio, to_decimal, units
from taxi_assets.engines.wall_clock import iso_weekday
from taxi_assets.errors import UsageError


def make_spark_engine(master: str, conf: Mapping[str, str], jars: Path | None, log: Path) -> Engine:
    """Return the engine on a Spark; what these mean says `SparkSetup`. Starts nothing.

    Raises UsageError where Spark's packages aren't installed.
    """
    if not all(map(find_spec, ("pyspark", "delta", "dagster_pyspark"))):
        raise UsageError("Spark's packages aren't installed. Install them: pip install '.[spark]' (in the repository).")
    from taxi_assets.engines.spark_engine import SparkEngine
    from taxi_assets.engines.spark_session import SparkSetup

    return SparkEngine(SparkSetup(master, conf, jars, log).session)


def engine_of(frame: Frame) -> Engine:
    """Return the engine that computes a frame."""
    if frame.implementation is nw.Implementation.POLARS:
        return PolarsEngine()
    from taxi_assets.engines.spark_engine import SparkEngine

    session = nw.to_native(frame).sparkSession
    return SparkEngine(lambda: session)


def cause_of(error: BaseException) -> str | None:
    """Return in one line what an engine's own error says; None for errors that are no engine's, or say it already."""
    if "pyspark" not in sys.modules:
        return None
    from taxi_assets.engines import spark_errors

    return spark_errors.cause_of(error)


__all__ = [
    "ChangedRows",
    "DataFile",
    "DeltaLocation",
    "Engine",
    "Partition",
    "PolarsEngine",
    "Written",
    "cause_of",
    "changed_rows",
    "conform",
    "decimal_units",
    "engine_of",
    "fits_decimal",
    "iso_weekday",
    "make_spark_engine",
    "ratio",
    "read_notes",
    "to_decimal",
    "units",
]
