"""Claims about conforming: a frame gets its contract's columns, order and types, and no value is lost on the way."""

# Times are wall clock, without a zone.
# ruff: noqa: DTZ001

from __future__ import annotations

from datetime import date, datetime
from decimal import Decimal as Exact
from typing import Annotated, Any

import narwhals.stable.v1 as nw
import polars as pl
import pytest

from taxi_assets.contracts import Contract, Date, Decimal, Float64, Int32, Int64, LocalTime, String, column
from taxi_assets.engines import conform
from taxi_assets.errors import ContractError

pytestmark = pytest.mark.fast


class Readings(Contract, table="test_conform/readings"):
    """One row per reading."""

    meter: Int32 = column("Meter.")
    reading: Int64 = column("Reading.")
    price: Annotated[Decimal, 10, 2] = column("Price.")
    factor: Float64 = column("Factor.")
    at: LocalTime = column("When.")
    day: Date = column("Day.")
    note: String = column("Note.")


USUAL = {
    "note": "x",
    "day": date(2024, 1, 1),
    "at": datetime(2024, 1, 1, 12, 30, 0, 123456),
    "factor": 1.5,
    "price": 2.345,
    "reading": 7,
    "meter": 3,
}


def conformed(**changes: Any) -> pl.DataFrame:
    """Return one reading, some columns changed to a value or a series, as it would be stored."""
    frame = pl.LazyFrame(
        {name: value if isinstance(value, pl.Series) else [value] for name, value in (USUAL | changes).items()}
    )
    stored: pl.DataFrame = conform(Readings, nw.from_native(frame)).collect().to_native()
    return stored


def test_columns_get_the_contracts_order_and_types_and_others_are_left_behind() -> None:
    stored = conformed(more="left behind")

    assert dict(stored.schema) == {
        "meter": pl.Int32,
        "reading": pl.Int64,
        "price": pl.Decimal(10, 2),
        "factor": pl.Float64,
        "at": pl.Datetime("us"),
        "day": pl.Date,
        "note": pl.String,
    }
    assert stored.rows() == [(3, 7, Exact("2.35"), 1.5, datetime(2024, 1, 1, 12, 30, 0, 123456), date(2024, 1, 1), "x")]


def test_missing_columns_are_an_error_that_names_table_and_columns() -> None:
    frame = nw.from_native(pl.LazyFrame({name: [value] for name, value in USUAL.items() if name not in {"day", "at"}}))

    with pytest.raises(ContractError, match=r"test_conform/readings lacks the columns at, day"):
        conform(Readings, frame)


def test_a_smaller_whole_number_is_widened() -> None:
    assert conformed(reading=pl.Series([7], dtype=pl.Int32))["reading"].to_list() == [7]


def test_a_sum_of_decimals_gets_the_contracts_digits() -> None:
    assert conformed(price=pl.Series([Exact("99999999.99")], dtype=pl.Decimal(38, 2)))["price"].to_list() == [
        Exact("99999999.99")
    ]


def test_a_column_of_nothing_but_nulls_gets_its_type() -> None:
    assert conformed(price=pl.Series([None]), note=pl.Series([None]), at=pl.Series([None])).rows() == [
        (3, 7, None, 1.5, None, date(2024, 1, 1), None)
    ]


@pytest.mark.parametrize(
    "changes",
    [
        {"meter": 2**31},
        {"meter": "three"},
        {"reading": pl.Series([2**63], dtype=pl.UInt64)},
        {"price": 100_000_000.0},
        {"price": pl.Series([Exact("100000000.00")], dtype=pl.Decimal(38, 2))},
        {"factor": "1,5"},
    ],
    ids=["too large for int32", "a word for a number", "too large for int64", "a double too large for the decimal",
         "a decimal with too many digits", "a decimal comma"],
)  # fmt: skip
def test_a_value_that_does_not_fit_fails_and_is_not_nulled(changes: dict[str, Any]) -> None:
    with pytest.raises(nw.exceptions.NarwhalsError):
        conformed(**changes)
