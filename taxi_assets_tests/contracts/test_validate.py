"""Claims about validating: that a stored frame is what its contract says, and that keys are unique, none orphaned."""

from __future__ import annotations

from datetime import date
from typing import Annotated, Any

import narwhals.stable.v1 as nw
import polars as pl
import pytest

from taxi_assets.contracts import (
    Contract,
    Cost,
    Date,
    Decimal,
    Int32,
    String,
    column,
    duplicated_keys,
    orphaned_keys,
    rule,
    validate,
)

pytestmark = pytest.mark.fast


class Jars(Contract, table="test_validate/jars", replaced_by=("day",), keys=("shelf", "jar")):
    """One row per jar."""

    shelf: String = column("Shelf.", required=True)
    jar: Int32 = column("Number of the jar.", required=True)
    litres: Annotated[Decimal, 6, 2] = column("What is in it.")
    day: Date = column("Day.", required=True)

    @rule("litres", why="x", source="x")
    def holds_something(cls, litres: nw.Expr) -> nw.Expr:
        return litres > 0

    @rule("litres", why="x", source="x", cost=Cost.KEPT)
    def not_too_large(cls, litres: nw.Expr) -> nw.Expr:
        return litres < 100

    @rule("colour", why="x", source="x")
    def transparent(cls, colour: nw.Expr) -> nw.Expr:
        return colour == "none"


class Labels(Contract, table="test_validate/labels"):
    """No rules, nothing required."""

    text: String = column("Text.")


def jars(**changes: list[Any]) -> nw.LazyFrame:
    """Return two jars as they are stored, some columns changed."""
    usual = {"shelf": ["a", "a"], "jar": [1, 2], "litres": ["1.00", "0.25"], "day": [date(2024, 1, 1)] * 2}
    stored = pl.LazyFrame({**usual, **changes}).with_columns(
        pl.col("jar").cast(pl.Int32), pl.col("litres").cast(pl.Decimal(6, 2))
    )
    return nw.from_native(stored)


def test_a_frame_that_is_what_its_contract_says_has_no_differences() -> None:
    assert validate(Jars, jars()) == []


def test_a_frame_without_rows_has_none_either() -> None:
    assert validate(Jars, jars().head(0)) == []


def test_a_contract_that_asks_nothing_of_the_data_is_met_by_any() -> None:
    assert validate(Labels, nw.from_native(pl.LazyFrame({"text": [None, "x"]}))) == []


def test_a_column_of_another_type_is_named_with_both_types() -> None:
    frame = jars().with_columns(nw.col("jar").cast(nw.Int64), nw.col("litres").cast(nw.Decimal(8, 2)))

    assert validate(Jars, frame) == [
        "column jar is Int64, the contract says Int32",
        "column litres is Decimal(precision=8, scale=2), the contract says Decimal(precision=6, scale=2)",
    ]


def test_a_missing_and_an_extra_column_are_named() -> None:
    frame = jars().with_columns(nw.lit("x").alias("lid")).drop("day")

    assert validate(Jars, frame) == ["column day is missing", "column lid is not in the contract"]


def test_nulls_in_a_required_column_are_counted() -> None:
    assert validate(Jars, jars(shelf=[None, "a"], jar=[None, None])) == ["1 rows hold no shelf", "2 rows hold no jar"]


def test_rows_that_break_a_rule_are_counted() -> None:
    assert validate(Jars, jars(litres=["0.00", "-0.01"])) == ["2 rows break holds_something"]


def test_a_rule_that_only_reports_is_left_out_and_so_is_one_of_a_column_that_is_not_stored() -> None:
    assert validate(Jars, jars(litres=["100.00", None])) == []


def test_a_key_counts_as_duplicated_once_however_often_it_stands() -> None:
    twice_and_thrice = jars(
        shelf=["a", "a", "b", "b", "b", "c"], jar=[1, 1, 1, 1, 1, 1], litres=["1"] * 6, day=[None] * 6
    )

    assert duplicated_keys(Jars, twice_and_thrice) == 2


def test_keys_that_differ_in_one_of_their_columns_are_not_duplicated() -> None:
    assert duplicated_keys(Jars, jars(shelf=["a", "b"], jar=[1, 1])) == 0
    assert duplicated_keys(Jars, jars(shelf=["a", "a"], jar=[1, 2])) == 0


def shelves(*names: str) -> nw.LazyFrame:
    return nw.from_native(pl.LazyFrame({"name": names}, schema={"name": pl.String}))


def test_orphans_are_listed_once_each_and_sorted() -> None:
    frame = nw.from_native(pl.LazyFrame({"shelf": ["z", "a", "b", "z", "c"]}))

    assert orphaned_keys(frame, "shelf", shelves("a", "b"), "name") == ["c", "z"]


def test_a_null_is_no_orphan() -> None:
    frame = nw.from_native(pl.LazyFrame({"shelf": [None, "a"]}))

    assert orphaned_keys(frame, "shelf", shelves("a"), "name") == []


def test_of_many_orphans_the_first_twenty_are_listed() -> None:
    frame = nw.from_native(pl.LazyFrame({"shelf": [f"{number:03}" for number in range(50)]}))

    assert orphaned_keys(frame, "shelf", shelves(), "name") == [f"{number:03}" for number in range(20)]
