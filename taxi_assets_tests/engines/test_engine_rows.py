"""Claims about every engine: what it finds that Narwhals can't say (repeats, members, look-ups), and rows it holds."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf, nan
from pathlib import Path
from typing import Any

import narwhals.stable.v1 as nw
import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

from taxi_assets.engines import Engine
from taxi_assets_tests.scenario import collected, on


def flagged(
    engine: Engine,
    frame: pl.LazyFrame,
    repeats: dict[str, Sequence[str]],
    members: dict[str, tuple[Sequence[str], pl.LazyFrame]] | None = None,
) -> pl.DataFrame:
    """Return the flags of a frame's rows, which are numbered if they aren't yet, in the order of their numbers."""
    numbered = frame if "row" in frame.collect_schema() else frame.with_row_index("row")
    among = {flag: (columns, on(engine, small)) for flag, (columns, small) in (members or {}).items()}
    rows = on(engine, numbered.with_columns(pl.col("row").cast(pl.Int64)))
    return collected(engine.flag_rows(rows, repeats, among, row_id="row")).sort("row").drop("row")


def test_a_row_is_a_repeat_if_an_earlier_one_has_the_same_values(engine: Engine) -> None:
    frame = pl.LazyFrame({"a": [1, 2, 1, 1], "b": ["x", "x", "y", "x"]})

    found = flagged(engine, frame, {"same_a": ["a"], "same_both": ["a", "b"]})

    assert found.columns == ["a", "b", "same_a", "same_both"]
    assert found["same_a"].to_list() == [False, False, True, True]
    assert found["same_both"].to_list() == [False, False, False, True]


def test_earlier_is_by_the_rows_numbers_and_not_by_the_frames_order(engine: Engine) -> None:
    shuffled = [(5, "x"), (9, "y"), (2, "x"), (7, "y"), (1, "z"), (8, "x")]
    frame = pl.LazyFrame(shuffled, schema=["row", "a"], orient="row")

    numbered = on(engine, frame)
    found = collected(engine.flag_rows(numbered, {"same": ["a"]}, {}, row_id="row"))

    assert dict(found.select("row", "same").rows()) == {1: False, 2: False, 5: True, 7: False, 8: True, 9: True}
    assert sorted(found.select("row", "a").rows()) == sorted(shuffled)


def test_nulls_are_equal_to_each_other_and_to_nothing_else_and_have_their_places(engine: Engine) -> None:
    rows = [(None, ""), (None, ""), (0, ""), (None, None), (None, "1"), (1, None), (None, "0"), (1, None)]
    frame = pl.LazyFrame(rows, schema={"a": pl.Int64, "b": pl.String}, orient="row")
    numbers = pl.LazyFrame({"a": [1, 2, None, 1, None], "b": [2, 1, 1, None, 1]})

    assert flagged(engine, frame, {"same": ["a", "b"]})["same"].to_list() == [
        row in rows[:number] for number, row in enumerate(rows)
    ]
    assert flagged(engine, numbers, {"same": ["a", "b"]})["same"].to_list() == [False, False, False, False, True]


def test_doubles_are_the_same_if_they_are_equal_and_so_are_zeros_of_both_signs_and_no_numbers(engine: Engine) -> None:
    values = pl.LazyFrame({"a": [0.0, -0.0, nan, -nan, inf, -inf, inf, None, 5e-324]})

    assert flagged(engine, values, {"same": ["a"]})["same"].to_list() == [
        *(False, True),
        *(False, True),
        *(False, False, True),
        *(False, False),
    ]


def test_repeats_in_more_columns_are_found_among_those_in_fewer(engine: Engine) -> None:
    rows = [(number % 5, number % 3, number % 2) for number in range(60)]
    frame = pl.LazyFrame(rows, schema=["a", "b", "c"], orient="row")

    found = flagged(engine, frame, {"wide": ["a", "b", "c"], "other": ["c", "b"], "narrow": ["a", "b"]})

    assert found["narrow"].to_list() == [row[:2] in [other[:2] for other in rows[:at]] for at, row in enumerate(rows)]
    assert found["other"].to_list() == [row[1:] in [other[1:] for other in rows[:at]] for at, row in enumerate(rows)]
    assert found["wide"].to_list() == [row in rows[:at] for at, row in enumerate(rows)]


def test_a_row_is_a_member_if_its_values_stand_among_the_others_and_none_is_missing(engine: Engine) -> None:
    frame = pl.LazyFrame({"a": [1, 1, None, 2, 1], "b": ["x", "y", "x", "y", "x"]})
    others = pl.LazyFrame({"a": [1, None, 1], "b": ["x", "x", "x"]})
    none = others.clear()

    found = flagged(engine, frame, {"again": ["a", "b"]}, {"known": (("a", "b"), others), "of_none": (("b",), none)})

    assert found["known"].to_list() == [True, False, False, False, True]
    assert found["of_none"].to_list() == [False] * 5
    assert found["again"].to_list() == [False, False, False, False, True]


def test_looking_up_keeps_every_row_once(engine: Engine) -> None:
    orders = pl.LazyFrame({"number": range(1_000), "shop": [number % 7 for number in range(1_000)]})
    names = pl.LazyFrame({"id": [5, 3, 1], "name": ["five", "three", "one"], "size": [50, None, 10]})

    found = collected(engine.look_up(on(engine, orders), on(engine, names), "shop", "id")).sort("number")

    assert found.columns == ["number", "shop", "name", "size"]
    assert found["number"].to_list() == list(range(1_000))
    assert found["name"].to_list()[:7] == [None, "one", None, "three", None, "five", None]
    assert found["size"].to_list()[:7] == [None, 10, None, None, None, 50, None]


def test_nothing_is_found_for_a_null(engine: Engine) -> None:
    orders = on(engine, pl.LazyFrame({"shop": [None, 1]}))
    names = on(engine, pl.LazyFrame({"shop": [None, 1], "name": ["nothing", "one"]}))

    found = collected(engine.look_up(orders, names, "shop", "shop"))

    assert set(found.rows()) == {(None, None), (1, "one")}


@pytest.mark.parametrize("ids", [[-1, 3, 1], [2_000_000_000, 3, 1], [], [None]])
def test_looking_up_takes_keys_of_any_size(engine: Engine, ids: list[int | None]) -> None:
    orders = pl.LazyFrame({"shop": [3, -1, 2_000_000_000, 1, 4]}, schema={"shop": pl.Int32})
    names = pl.LazyFrame({"id": ids, "name": [str(id_) for id_ in ids]}, schema={"id": pl.Int32, "name": pl.String})

    found = collected(engine.look_up(on(engine, orders), on(engine, names), "shop", "id"))

    assert set(found["shop"]) == {3, -1, 2_000_000_000, 1, 4}
    assert found["name"].to_list() == [str(shop) if shop in ids else None for shop in found["shop"]]


def test_a_held_frame_has_the_same_rows(engine: Engine) -> None:
    rows = pl.DataFrame({"a": [1, None, 3], "b": ["x", "y", None]})

    held = engine.hold(on(engine, rows.lazy()))

    assert_frame_equal(collected(held), rows, check_row_order=False)


@pytest.mark.full
def test_spark_computes_a_held_frame_once(spark: Engine, tmp_path: Path) -> None:
    path = str(tmp_path / "rows.parquet")
    pl.DataFrame({"a": [1, 2]}).write_parquet(path)
    frame = nw.from_native(spark.session().read.parquet(path))  # type: ignore[attr-defined]

    held = spark.hold(frame)
    Path(path).unlink()

    assert sorted(collected(held)["a"]) == [1, 2]


# --- what Python computes


def halved(numbers: Any) -> Any:
    """Half of each even number; the others, and what is none, have none."""
    return np.ma.MaskedArray((np.nan_to_num(numbers) // 2).astype(np.int32), ~(numbers % 2 == 0))


def test_a_column_can_be_computed_in_python_and_null_in_and_out_stays_null(engine: Engine) -> None:
    frame = pl.LazyFrame({"row": [1, 2, 3, 4], "number": [4.0, 3.0, None, -2.0]})

    found = collected(engine.with_computed(on(engine, frame), "half", ["number"], halved)).sort("row")

    assert found.schema["half"] == pl.Int32
    assert found["half"].to_list() == [2, None, None, -1]


def test_a_column_computed_in_python_has_a_value_for_each_of_many_rows(engine: Engine) -> None:
    frame = pl.LazyFrame({"number": [float(2 * number) for number in range(50_000)]})

    found = collected(engine.with_computed(on(engine, frame), "half", ["number"], halved))

    assert (found["half"] * 2 == found["number"]).all()
