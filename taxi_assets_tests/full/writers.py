"""What writes one table, for tests that kill it, or set several at it: made-up rows of real contracts.

Each issue has rows of its own, so that a mix of two can be told from either.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, timedelta
from multiprocessing.synchronize import Barrier
from pathlib import Path

import narwhals.stable.v1 as nw
import polars as pl

from taxi_assets.engines import DeltaLocation, PolarsEngine
from taxi_assets.tlc.gold.nyc_taxi_daily import NycTaxiDaily
from taxi_assets.tlc.silver.dim_payment import DimPayment

_MONTH = date(2024, 1, 1)

WriteTable = Callable[[Path, int, int], None]


def days(issue: int, rows: int) -> pl.LazyFrame:
    """Return an issue of a month's partition; later issues have more rows."""
    return pl.LazyFrame({"trip_count": pl.int_range(rows + issue, eager=True)}).select(
        pl.lit(f"of issue {issue}").alias("service_type"),
        pl.lit(_MONTH).alias("trip_date"),
        "trip_count",
        pl.lit(issue).cast(pl.Decimal(18, 2)).alias("avg_fare"),
        pl.lit(issue, pl.Int64).alias("repeat_count"),
        pl.lit(_MONTH).alias("source_month"),
    )


def payments(issue: int, rows: int) -> pl.LazyFrame:
    """Return an issue of some codes; a later issue is a newer one."""
    return pl.LazyFrame({"payment_type": pl.int_range(rows, dtype=pl.Int32, eager=True)}).with_columns(
        pl.lit(f"of issue {issue}").alias("payment_name"),
        pl.lit(_MONTH + timedelta(days=issue)).alias("source_month"),
    )


def replace_days(table: Path, issue: int, rows: int) -> None:
    """Put an issue of the month in the place of the one before."""
    frame = nw.from_native(days(issue, rows))
    PolarsEngine().replace(NycTaxiDaily, DeltaLocation(str(table)), frame, {"source_month": _MONTH})


def upsert_payments(table: Path, issue: int, rows: int) -> None:
    """Update the codes by an issue of them."""
    PolarsEngine().upsert(DimPayment, DeltaLocation(str(table)), nw.from_native(payments(issue, rows)))


def side_by_side(write: WriteTable, tables: list[Path], issue: int, rows: int, together: Barrier) -> None:
    """Write an issue into one table after the other, each at the same time as others do."""
    for table in tables:
        together.wait()
        write(table, issue, rows)
