"""Which row of a key an upsert leaves, on every engine: neither the order of runs nor that of rows matters."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, datetime
from itertools import pairwise, permutations
from pathlib import Path

import polars as pl
import pytest

from taxi_assets.contracts import Frame
from taxi_assets.engines import DeltaLocation, Engine
from taxi_assets.errors import ContractError
from taxi_assets_tests.engines.made_up import MONDAY, TUESDAY, Drivers
from taxi_assets_tests.scenario import POLARS, collected, on

Row = tuple[int | None, str | None, datetime | None, date | None]
NOON, LATER = datetime(2024, 1, 1, 12), datetime(2024, 1, 1, 13)  # noqa: DTZ001
TYPES = {"driver": pl.Int64, "name": pl.String, "at": pl.Datetime("us"), "day": pl.Date}


@pytest.fixture
def at(tmp_path: Path) -> DeltaLocation:
    return DeltaLocation(str(tmp_path / "drivers"))


def drivers(rows: Sequence[Row], by: Engine = POLARS) -> Frame:
    return on(by, pl.LazyFrame(list(rows), schema=TYPES, orient="row"))


def stored(at: DeltaLocation, by: Engine = POLARS) -> list[Row]:
    return collected(by.read(Drivers, at, None)).select(list(TYPES)).sort("driver").rows()


def test_of_several_rows_of_a_key_in_one_frame_the_newest_is_stored(engine: Engine, at: DeltaLocation) -> None:
    rows: list[Row] = [(1, "new", LATER, MONDAY), (1, "old", NOON, TUESDAY), (2, "b", NOON, MONDAY)]
    # A first write, and one over what is stored.
    for _ in range(2):
        engine.upsert(Drivers, at, drivers([*rows, *rows], engine))
        assert stored(at, engine) == [(1, "new", LATER, MONDAY), (2, "b", NOON, MONDAY)]


BY_RANK: list[Row] = [
    (1, "z", NOON, None),
    (1, None, NOON, MONDAY),
    (1, "a", NOON, MONDAY),
    (1, "b", NOON, MONDAY),
    (1, "a", NOON, TUESDAY),
    (1, None, LATER, None),
]
"""Rows of one key, the one that wins over all others last."""


def test_ties_are_broken_by_the_declared_order_and_null_is_the_least(engine: Engine, tmp_path: Path) -> None:
    for loser, winner in pairwise(BY_RANK):
        for number, rows in enumerate(permutations([loser, winner])):
            together = DeltaLocation(str(tmp_path / f"{BY_RANK.index(winner)} {number} together"))
            engine.upsert(Drivers, together, drivers(rows, engine))
            one_by_one = DeltaLocation(str(tmp_path / f"{BY_RANK.index(winner)} {number} one by one"))
            for row in rows:
                engine.upsert(Drivers, one_by_one, drivers([row], engine))
            assert stored(together) == stored(one_by_one) == [winner]


def test_a_snapshot_that_comes_again_or_late_changes_nothing(engine: Engine, at: DeltaLocation) -> None:
    newer: list[Row] = [(1, "a", LATER, TUESDAY), (2, "b", LATER, TUESDAY)]
    older: list[Row] = [(1, "A", NOON, MONDAY), (2, "B", NOON, MONDAY), (3, "C", NOON, MONDAY)]
    for rows in (newer, newer, newer, older, older):
        engine.upsert(Drivers, at, drivers(rows, engine))
    assert stored(at, engine) == [*newer, older[2]]


@pytest.mark.parametrize(
    ("row", "lacks"), [((None, "a", NOON, MONDAY), "driver"), ((3, "a", None, MONDAY), "at")], ids=["key", "sequence"]
)
def test_a_row_without_key_or_sequence_is_refused_before_anything_is_written(
    engine: Engine, at: DeltaLocation, row: Row, lacks: str
) -> None:
    POLARS.upsert(Drivers, at, drivers([(1, "a", NOON, MONDAY)]))
    before = at.version()
    with pytest.raises(ContractError, match=rf"lack what they are told apart by: 1 without {lacks}\. Nothing was"):
        engine.upsert(Drivers, at, drivers([(2, "b", NOON, MONDAY), row], engine))
    assert (at.version(), stored(at)) == (before, [(1, "a", NOON, MONDAY)])


def test_a_stored_row_without_a_sequence_loses_to_any(engine: Engine, at: DeltaLocation) -> None:
    POLARS.upsert(Drivers, at, drivers([(1, "a", NOON, MONDAY)]))
    # As another writer may have left it.
    pl.DataFrame([(2, "nobody knows when", None, TUESDAY)], schema=TYPES, orient="row").write_delta(
        at.uri, mode="append"
    )
    engine.upsert(Drivers, at, drivers([(2, "b", NOON, MONDAY)], engine))
    assert stored(at, engine) == [(1, "a", NOON, MONDAY), (2, "b", NOON, MONDAY)]


def test_a_hundred_thousand_keys_are_upserted_once_each(engine: Engine, at: DeltaLocation) -> None:
    count = 100_000
    whole = pl.LazyFrame({"driver": range(count), "name": ["a"] * count, "at": [NOON] * count, "day": [MONDAY] * count})
    half = whole.filter(pl.col("driver") % 2 == 0).with_columns(name=pl.lit("b"), at=pl.lit(LATER))
    for rows in (whole, half, whole):
        engine.upsert(Drivers, at, on(engine, rows.cast(TYPES)))  # type: ignore[arg-type]
    found = collected(POLARS.read(Drivers, at, None))
    assert (found.height, found["driver"].n_unique(), found.filter(name="b").height) == (count, count, count // 2)
