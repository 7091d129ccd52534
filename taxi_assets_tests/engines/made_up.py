"""Tables that are made up for tests of engines, rows for them, and ways to look at what was stored."""

# Times are wall clock, without a zone.
# ruff: noqa: DTZ001

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import date, datetime
from decimal import Decimal as Exact
from pathlib import Path
from typing import Annotated, Any

import polars as pl

from taxi_assets.contracts import (
    Bool,
    Contract,
    Date,
    Decimal,
    Float64,
    Frame,
    Int32,
    Int64,
    LocalTime,
    String,
    Strings,
    column,
)
from taxi_assets.engines import DeltaLocation, Engine
from taxi_assets_tests.scenario import POLARS, collected, on

MONDAY, TUESDAY, WEDNESDAY = date(2024, 1, 1), date(2024, 1, 2), date(2024, 1, 3)


class Sales(Contract, table="test_engine/sales", replaced_by=("day",)):
    """One row per sale."""

    number: Int64 = column("Number of the sale.", required=True)
    price: Annotated[Decimal, 10, 2] = column("What was paid.", unit="USD")
    weight: Float64 = column("Weight by the scale.", unit="kg")
    at: LocalTime = column("When it was paid.")
    note: String = column("What the clerk wrote.")
    refunded: Bool = column("Whether it was paid back.")
    tags: Strings = column("Tags.")
    day: Date = column("Day of the sale.", required=True)


class Shops(Contract, table="test_engine/shops", keys=("shop",), sequence="seen"):
    """One row per shop."""

    shop: Int32 = column("Number of the shop.", required=True)
    name: String = column("Name.", required=True)
    seen: Date = column("When it was last seen.", required=True)


class Drivers(Contract, table="test_engine/drivers", keys=("driver",), sequence="at", ties=("day", "name")):
    """One row per driver: the newest, of those of one time that of the newest day, and then the last by name."""

    driver: Int64 = column("Number of the driver.", required=True)
    name: String = column("Name.")
    at: LocalTime = column("When it was so.")
    day: Date = column("Day of the snapshot.")


class CityDays(Contract, table="test_engine/city_days", replaced_by=("city", "day")):
    """One row per city and day."""

    city: String = column("City.", required=True)
    count: Int64 = column("How many.", required=True)
    day: Date = column("Day.", required=True)


class Times(Contract, table="test_engine/times", replaced_by=("day",)):
    """One row per time."""

    number: Int64 = column("Number of the time.", required=True)
    at: LocalTime = column("The time.", required=True)
    day: Date = column("Day.", required=True)


TIMES = [
    datetime(1900, 1, 1),
    datetime(1969, 12, 31, 23, 59, 59, 999_999),
    datetime(2024, 3, 10, 1, 59, 59),
    datetime(2024, 3, 10, 2, 30),  # There was no such time in New York: at 2:00 it was 3:00.
    datetime(2024, 3, 10, 3),
    datetime(2024, 11, 3, 1, 30),  # There were two of it in New York: at 2:00 it was 1:00 again.
    datetime(2024, 11, 3, 2, 30),
    datetime(2098, 7, 1, 12, 0, 0, 1),
]
"""Wall-clock times in their order, some of which clocks in New York never showed or showed twice."""


def sale(number: int, day: date = MONDAY, **changes: Any) -> dict[str, Any]:
    """Return a sale, some columns changed."""
    usual = {
        "number": number,
        "price": Exact("12.34"),
        "weight": 0.5,
        "at": datetime(day.year, day.month, day.day, 9, 30, 0, 250_000),
        "note": "cash",
        "refunded": False,
        "tags": ["a", "b"],
        "day": day,
    }
    return usual | changes


SALE_TYPES = {
    "number": pl.Int64,
    "price": pl.Decimal(10, 2),
    "weight": pl.Float64,
    "at": pl.Datetime("us"),
    "note": pl.String,
    "refunded": pl.Boolean,
    "tags": pl.List(pl.String),
    "day": pl.Date,
}


def sales(*rows: dict[str, Any], by: Engine = POLARS) -> Frame:
    """Return sales as a frame of some engine."""
    return on(by, pl.LazyFrame(list(rows), schema=SALE_TYPES))


def shops(*rows: tuple[int, str, date], by: Engine = POLARS) -> Frame:
    """Return shops as a frame of some engine."""
    types = {"shop": pl.Int32, "name": pl.String, "seen": pl.Date}
    return on(by, pl.LazyFrame(list(rows), schema=types, orient="row"))


def city_day(city: str, day: date, count: int, by: Engine = POLARS) -> Frame:
    """Return a city's day as a frame of some engine."""
    return on(by, pl.LazyFrame({"city": [city], "count": [count], "day": [day]}))


def read(
    contract: type[Contract],
    at: DeltaLocation,
    partitions: Sequence[dict[str, Any]] | None = None,
    by: Engine = POLARS,
) -> pl.DataFrame:
    """Return what a table holds as some engine reads it, sorted by its first column."""
    rows = collected(by.read(contract, at, partitions))
    return rows.sort(rows.columns[0])


def files(at: DeltaLocation) -> set[Path]:
    """Return all data files below a table's folder, those that no commit names included."""
    return set(Path(at.uri).rglob("*.parquet"))


def stats(at: DeltaLocation) -> list[dict[str, Any]]:
    """Return the statistics of each file that was ever added, as the log has them."""
    log = [json.loads(line) for entry in sorted(Path(at.uri).glob("_delta_log/*.json")) for line in entry.open()]
    return [json.loads(action["add"]["stats"], parse_constant=_no_json) for action in log if "add" in action]


def _no_json(constant: str) -> None:
    raise AssertionError(f"{constant} is no JSON; other readers of the log fail on it")
