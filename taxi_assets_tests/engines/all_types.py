"""A contract that has a column of each type, how its files are read, and texts that each type holds."""

# Times are wall clock, without a zone.
# ruff: noqa: DTZ001

from __future__ import annotations

from datetime import date, datetime
from decimal import Decimal as Exact
from pathlib import Path
from typing import Annotated, Any

import polars as pl

from taxi_assets.contracts import Bool, Date, Decimal, Float64, Int32, Int64, LocalTime, String, Strings, column
from taxi_assets.engines.source_files import Format, canonical_names
from taxi_assets.engines.typed_rows import Provenance, typed
from taxi_assets_tests.engines.things import opened


class Ride(Provenance, table="test_engine/rides", replaced_by=("source_month",)):
    """One of each type that a contract's column can have."""

    paid: Bool = column("Whether it was paid.")
    day: Date = column("Its day.")
    price: Annotated[Decimal, 10, 2] = column("What it cost.", unit="INR")
    share: Annotated[Decimal, 4, 4] = column("A share of less than one.")
    whole: Annotated[Decimal, 38, 0] = column("As large as decimals get.")
    weight: Float64 = column("A weight.")
    code: Int32 = column("A code.")
    number: Int64 = column("A number.")
    at: LocalTime = column("A time.")
    note: String = column("A remark.")
    tags: Strings = column("Tags.")
    source_month: Date = column("Month of the file.", required=True)


OURS = tuple(name for name in Ride.column_names() if name not in {*Provenance.column_names(), *Ride.period_columns()})
NOON = datetime(2024, 1, 10, 12, 0)


def rows_of(folder: Path, name: str, file_format: Format) -> pl.DataFrame:
    source, count = opened(folder, name, file_format)
    rows: pl.DataFrame = (
        typed(source, canonical_names(source, {name: name for name in OURS}), Ride).collect().to_native()
    )
    assert rows.height == count
    return rows


TEXTS: dict[str, dict[str, Any]] = {
    "paid": {
        **dict.fromkeys(("true", "TRUE", "True", "t", "yes", "Y", "1", " true "), True),
        **dict.fromkeys(("false", "FALSE", "f", "No", "n", "0"), False),
    },
    "day": {
        "2024-01-10": date(2024, 1, 10),
        " 2024-01-10 ": date(2024, 1, 10),
        "2024-02-29": date(2024, 2, 29),
        "0001-01-01": date(1, 1, 1),
        "9999-12-31": date(9999, 12, 31),
        "2024-01-10 00:00:00": date(2024, 1, 10),
        "2024-01-10T00:00:00.000Z": date(2024, 1, 10),
    },
    "price": {
        "1250.50": Exact("1250.50"),
        "1250.5": Exact("1250.50"),
        "1250": Exact("1250.00"),
        "-.5": Exact("-0.50"),
        "+5.": Exact("5.00"),
        "0012.340000": Exact("12.34"),
        " 7 ": Exact("7.00"),
        "-0": Exact("0.00"),
        "99999999.99": Exact("99999999.99"),
        "-99999999.99": Exact("-99999999.99"),
        "1.000000": Exact("1.00"),
    },
    "share": {".25": Exact("0.2500"), "0.9999": Exact("0.9999"), "-0.0001": Exact("-0.0001"), "0": Exact("0.0000")},
    "whole": {"9" * 38: Exact("9" * 38), "-" + "9" * 38: Exact("-" + "9" * 38), "00.0": Exact(0), ".0": Exact(0)},
    "number": {
        "9007199254740993": 2**53 + 1,
        "9223372036854775807": 2**63 - 1,
        "-9223372036854775808": -(2**63),
        "7.0": 7,
        "7e2": 700,
        "+07": 7,
    },
    "code": {"2147483647": 2**31 - 1, "-2147483648": -(2**31), "7.0": 7},
    "weight": {"1e-3": 0.001, ".5": 0.5, "-0": -0.0},
    "at": {"2024-01-10 12:00:00": NOON, "2024-01-10T12:00:00Z": NOON},
    "note": {" a ": "a", "true": "true"},
}
