"""Each type of a contract, from CSV and Parquet: what it holds, and what it doesn't and is kept in `_rescued_data`."""

# Times are wall clock, without a zone.
# ruff: noqa: DTZ001

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from datetime import date, datetime
from decimal import Context, localcontext
from decimal import Decimal as Exact
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from taxi_assets.engines.source_files import Format
from taxi_assets.engines.typed_rows import RESCUED, typed
from taxi_assets_tests.engines.all_types import NOON, OURS, TEXTS, Ride, rows_of
from taxi_assets_tests.engines.things import opened

pytestmark = pytest.mark.fast


MIDNIGHT = datetime(2024, 1, 10)


def from_parquet(folder: Path, array: pa.Array, name: str) -> pl.DataFrame:
    pq.write_table(pa.table({name: array}), folder / "rides.parquet")
    return rows_of(folder, "rides.parquet", Format.PARQUET)


def from_csv(folder: Path, fields: Sequence[str], name: str) -> pl.DataFrame:
    lines = [f"{name},of_the_line", *(f'"{field}",' for field in fields)]
    (folder / "rides.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return rows_of(folder, "rides.csv", Format.CSV)


def lost(rows: pl.DataFrame) -> list[Any]:
    """Return what each row has rescued of its one value; None for nothing."""
    return [None if text is None else next(iter(json.loads(text).values())) for text in rows[RESCUED]]


BAD_TEXTS: dict[str, list[str]] = {
    "paid": ["2", "on", "1.0", "-1", "tru", "null", "\uff11"],
    "day": [
        "10/01/2024", "2024-1-10", "2024-02-30", "2023-02-29", "2024-01-10 00:00:01", "24-01-10", "20240110",
        "0000-01-01", "+2024-01-10", "12024-01-10", "2024-01-10x", "\uff12\uff10\uff12\uff14-01-10", "45301",
    ],
    "price": [
        "1.005", "100000000", "-100000000.00", "1,250.50", "1 250.50", "\u20b91250.50", "1_250", "1e3", "0x10", ".",
        "-", "+", "--1", "1.2.3", "NaN", "inf", "\uff11", "\u0661", "1250.50 INR", "1" * 50, "0." + "0" * 50 + "1",
    ],
    "share": ["1", "1.0", "-1", "0.00001"],
    "whole": ["1" + "0" * 38, "0.1"],
    "number": [
        "9223372036854775808", "-9223372036854775809", "9007199254740993.0", "1.5", "1e400", "0x10", "1_000", "1 000",
        "Infinity", "\uff11",
    ],
    "code": ["2147483648", "1.5", "1e10"],
    "weight": ["1e400", "Infinity", "0x10", "1_000", "1,5", "\uff11", "\u22121"],
    "at": ["2024-01-10", "2024-01-10 24:00:00", "2024-01-10 23:59:60", "2024-01-10 12:00:00+05:30"],
    "tags": ["a", "[a]", '[""a""]'],
}  # fmt: skip


@pytest.mark.parametrize("name", TEXTS)
def test_a_text_that_its_type_holds_is_that_value(tmp_path: Path, name: str) -> None:
    held = TEXTS[name]
    csv = from_csv(tmp_path, list(held), name)
    parquet = from_parquet(tmp_path, pa.array(held), name)
    for rows in (csv, parquet):
        assert rows[name].to_list() == list(held.values())
        assert lost(rows) == [None] * len(held)


@pytest.mark.parametrize("name", BAD_TEXTS)
def test_a_text_that_its_type_doesnt_hold_is_null_and_kept(tmp_path: Path, name: str) -> None:
    texts = BAD_TEXTS[name]
    csv = from_csv(tmp_path, texts, name)
    parquet = from_parquet(tmp_path, pa.array([text.replace('""', '"') for text in texts]), name)
    for rows in (csv, parquet):
        assert rows[name].null_count() == len(texts)
        assert lost(rows) == [text.replace('""', '"') for text in texts]


@pytest.mark.parametrize("name", OURS)
def test_an_empty_field_is_null_and_nothing_is_kept(tmp_path: Path, name: str) -> None:
    for rows in (from_csv(tmp_path, ["", "  "], name), from_parquet(tmp_path, pa.array(["", None]), name)):
        assert rows[name].to_list() == [None, None]
        assert lost(rows) == [None, None]


HELD: list[tuple[str, pa.Array, Any]] = [
    ("paid", pa.array([True, False]), [True, False]),
    ("paid", pa.array([1, 0], pa.int8()), [True, False]),
    ("paid", pa.array([1.0, 0.0]), [True, False]),
    ("day", pa.array([date(2024, 1, 10)]), [date(2024, 1, 10)]),
    ("day", pa.array([date(2024, 1, 10)], pa.date64()), [date(2024, 1, 10)]),
    ("day", pa.array([MIDNIGHT], pa.timestamp("ms")), [date(2024, 1, 10)]),
    ("day", pa.array([MIDNIGHT], pa.timestamp("us")), [date(2024, 1, 10)]),
    ("day", pa.array([MIDNIGHT], pa.timestamp("ns")), [date(2024, 1, 10)]),
    ("day", pa.array([5 * 3_600_000_000], pa.timestamp("us", "America/New_York")), [date(1970, 1, 1)]),
    ("price", pa.array([Exact("1.50")], pa.decimal128(10, 2)), [Exact("1.50")]),
    ("price", pa.array([Exact("1.5")], pa.decimal128(3, 1)), [Exact("1.50")]),
    ("price", pa.array([Exact("99999999.99000")], pa.decimal128(30, 5)), [Exact("99999999.99")]),
    ("price", pa.array([7, -7], pa.int8()), [Exact("7.00"), Exact("-7.00")]),
    ("price", pa.array([99_999_999], pa.int64()), [Exact("99999999.00")]),
    ("price", pa.array([12.34, 4.35, -0.0, 99_999_999.99]), [*map(Exact, ("12.34", "4.35", "0.00", "99999999.99"))]),
    ("price", pa.array([12.34, 4.35, 0.1], pa.float32()), [*map(Exact, ("12.34", "4.35", "0.10"))]),
    ("share", pa.array([0.0001, 0.9999]), [Exact("0.0001"), Exact("0.9999")]),
    ("whole", pa.array([2**64 - 1], pa.uint64()), [Exact(2**64 - 1)]),
    ("number", pa.array([2**53 + 1]), [2**53 + 1]),
    ("number", pa.array([Exact("7.00")]), [7]),
    ("at", pa.array([NOON], pa.timestamp("s")), [NOON]),
    ("note", pa.array([True]), ["true"]),
    ("note", pa.array([date(2024, 1, 10)]), ["2024-01-10"]),
    ("note", pa.array([Exact("1.50")]), ["1.50"]),
    ("tags", pa.array([["a", "b"], []]), [["a", "b"], []]),
]
NOT_HELD: list[tuple[str, pa.Array, list[Any]]] = [
    ("paid", pa.array([2, -1]), [2, -1]),
    ("paid", pa.array([0.5, float("nan")]), [0.5, "NaN"]),
    ("paid", pa.array([date(2024, 1, 10)]), ["2024-01-10"]),
    ("day", pa.array([NOON]), ["2024-01-10 12:00:00"]),
    ("day", pa.array([1], pa.timestamp("us")), ["1970-01-01 00:00:00.000001"]),
    ("day", pa.array([1], pa.timestamp("ns")), ["1970-01-01 00:00:00.000000001"]),
    ("day", pa.array([2_932_897, -719_163], pa.int32()).cast(pa.date32()), [2_932_897, -719_163]),
    ("day", pa.array([2**31 - 1], pa.int32()).cast(pa.date32()), [2**31 - 1]),
    ("day", pa.array([20240110]), [20240110]),
    ("day", pa.array([True]), [True]),
    ("price", pa.array([Exact("1.505")]), ["1.505"]),
    ("price", pa.array([Exact("100000000.00")]), ["100000000.00"]),
    ("price", pa.array([100_000_000, -100_000_000]), [100_000_000, -100_000_000]),
    ("price", pa.array([0.1 + 0.2, 0.005, 1e8, 1e300]), [0.1 + 0.2, 0.005, 1e8, 1e300]),
    ("price", pa.array([float("nan"), float("inf")]), ["NaN", "inf"]),
    ("price", pa.array([True]), [True]),
    ("price", pa.array([NOON]), ["2024-01-10 12:00:00"]),
    # Of two such doubles side by side one is no whole number that was written.
    ("whole", pa.array([2.0**53]), [2.0**53]),
    ("number", pa.array([2**63], pa.uint64()), [2**63]),
    ("number", pa.array([Exact("7.50")]), ["7.50"]),
    ("tags", pa.array([[1], [2]]), ["[1]", "[2]"]),
    ("tags", pa.array(["a"]), ["a"]),
]


@pytest.mark.parametrize(("name", "array", "values"), HELD, ids=lambda part: str(getattr(part, "type", "")))
def test_a_value_of_another_type_that_says_the_same_is_held(
    tmp_path: Path, name: str, array: pa.Array, values: list[Any]
) -> None:
    rows = from_parquet(tmp_path, array, name)
    assert rows[name].to_list() == values
    assert lost(rows) == [None] * len(values)


@pytest.mark.parametrize(("name", "array", "kept"), NOT_HELD, ids=lambda part: str(getattr(part, "type", "")))
def test_a_value_that_wouldnt_be_the_same_is_null_and_kept(
    tmp_path: Path, name: str, array: pa.Array, kept: list[Any]
) -> None:
    rows = from_parquet(tmp_path, array, name)
    assert rows[name].null_count() == len(kept)
    assert lost(rows) == kept


def exactly(text: str, precision: int, scale: int) -> Exact | None:
    """What a text is as a decimal, by Python's own; None if it doesn't fit, or isn't written plainly."""
    if not re.fullmatch(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)", text):
        return None
    with localcontext(Context(prec=200)):
        value = Exact(text)
        rounded = value.quantize(Exact(1).scaleb(-scale))
        return rounded if rounded == value and abs(rounded) < Exact(10) ** (precision - scale) else None


NUMBERS = st.from_regex(r"[+-]?0{0,3}[0-9]{0,39}(\.[0-9]{0,39})?", fullmatch=True)


@example(texts=["1." + "0" * 60, "0" * 60 + "1", "." + "9" * 38, "9" * 39])
@settings(max_examples=20, deadline=None, derandomize=True)
@given(texts=st.lists(NUMBERS, min_size=1, max_size=30))
def test_any_decimal_is_as_python_has_it_or_kept(texts: list[str], tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("decimals")
    decimals = {"price": (10, 2), "share": (4, 4), "whole": (38, 0)}
    pq.write_table(pa.table(dict.fromkeys(decimals, pa.array(texts))), folder / "rides.parquet")
    rows = rows_of(folder, "rides.parquet", Format.PARQUET)
    kept = [json.loads(text or "{}") for text in rows[RESCUED]]
    for name, (precision, scale) in decimals.items():
        for text, value, lost_of_row in zip(texts, rows[name], kept, strict=True):
            assert value == exactly(text, precision, scale)
            assert lost_of_row.get(name, "") == (text if value is None else "")


@settings(max_examples=10, deadline=None, derandomize=True)
@given(cents=st.lists(st.integers(-(10**10) + 1, 10**10 - 1), min_size=1, max_size=50))
def test_a_double_is_the_decimal_that_was_written_as_one(
    cents: list[int], tmp_path_factory: pytest.TempPathFactory
) -> None:
    prices = [Exact(each).scaleb(-2) for each in cents]
    rows = from_parquet(tmp_path_factory.mktemp("doubles"), pa.array([float(price) for price in prices]), "price")
    assert rows["price"].to_list() == prices


def test_columns_that_a_file_lacks_or_has_nothing_in_are_nulls_of_each_type(tmp_path: Path) -> None:
    (tmp_path / "rides.csv").write_text("code\n1\n")
    types = {name: dtype for name, dtype in rows_of(tmp_path, "rides.csv", Format.CSV).schema.items() if name in OURS}
    assert types == {
        "paid": pl.Boolean(),
        "day": pl.Date(),
        "price": pl.Decimal(10, 2),
        "share": pl.Decimal(4, 4),
        "whole": pl.Decimal(38, 0),
        "weight": pl.Float64(),
        "code": pl.Int32(),
        "number": pl.Int64(),
        "at": pl.Datetime("us"),
        "note": pl.String(),
        "tags": pl.List(pl.String),
    }
    for name in OURS:
        assert from_parquet(tmp_path, pa.nulls(1), name).schema[name] == types[name]


def test_words_of_a_column_can_mean_values_of_each_type(tmp_path: Path) -> None:
    (tmp_path / "rides.csv").write_text("paid,price\nPaid,free\nowed,5\n")
    source, _ = opened(tmp_path, "rides.csv", Format.CSV)
    words = {"paid": {"paid": "true", "owed": "false"}, "price": {"free": "0"}}
    rows = typed(source, {"paid": "paid", "price": "price"}, Ride, words).select("paid", "price").collect().rows()
    assert rows == [(True, Exact("0.00")), (False, Exact("5.00"))]
