"""Whether two lakes hold the same month: every table's columns, types, rows and values. What made them is run.py's.

Run with two lakes' roots: prints each difference, and ends with 1 if there is one.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Final

import polars as pl

TABLES: Final = {
    "tlc_bronze/yellow_trips": ("source_row",),
    "tlc_bronze/zones": ("location_id",),
    "tlc_silver/dim_zone": ("location_id",),
    "tlc_silver/dim_payment": ("payment_type",),
    "tlc_silver/yellow_trips": ("source_row",),
    "tlc_silver/yellow_trips_quarantine": ("source_row",),
    "tlc_gold/fact_trips_borough_hour": ("service_type", "pickup_date", "pickup_hour", "pickup_borough"),
    "tlc_gold/fact_top_zones": ("service_type", "pickup_location_id"),
    "tlc_gold/nyc_taxi_daily": ("service_type", "trip_date"),
}
"""All tables of a yellow month, and what tells their rows apart."""

DIFFERS_BY_RUN: Final = "ingested_at"


def differences(one: Path, other: Path) -> list[str]:
    """Say in words where the tables of two lakes differ; empty where they are equal."""
    tables = sorted({str(log.parent.relative_to(root)) for root in (one, other) for log in root.glob("*/*/_delta_log")})
    unknown = [
        f"{table}: the bench doesn't know this table; add it to bench/" for table in tables if table not in TABLES
    ]
    return unknown + [line for table, keys in TABLES.items() for line in _differences(table, keys, one, other)]


def _differences(table: str, keys: tuple[str, ...], one: Path, other: Path) -> list[str]:
    first, second = pl.scan_delta(str(one / table)), pl.scan_delta(str(other / table))
    schemas = list(first.collect_schema().items()), list(second.collect_schema().items())
    if schemas[0] != schemas[1]:
        odd = [f"{name} {dtype}" for name, dtype in set(schemas[0]) ^ set(schemas[1])]
        return [f"{table}: columns differ: {', '.join(sorted(odd)) or 'their order'}"]
    left, right = (rows.drop(DIFFERS_BY_RUN, strict=False).sort(keys).collect() for rows in (first, second))
    if left.height != right.height:
        return [f"{table}: {left.height:,} rows and {right.height:,} rows"]
    found = []
    for name in left.columns:
        if not left[name].equals(right[name]):
            rows = left.select(*keys, one=name).with_columns(right[name].alias("other"))
            odd_rows = rows.filter(pl.col("one").ne_missing(pl.col("other")))
            found.append(f"{table}: {name} differs in {odd_rows.height:,} rows, as in {odd_rows.row(0, named=True)}")
    return found


def main() -> None:
    found = differences(Path(sys.argv[1]), Path(sys.argv[2]))
    print("\n".join(found))
    sys.exit(bool(found))


if __name__ == "__main__":
    main()
