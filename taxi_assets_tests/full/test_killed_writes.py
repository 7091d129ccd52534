"""Claims about the write of one table by processes that are killed at any moment of it, or write it side by side.

Of all rounds, 25 kills within each kind of write, 40 times three writers of one partition or of the same keys.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path

import polars as pl
import polars.selectors as cs
import pytest

from taxi_assets_tests.full.forks import Write, barrier, died, start
from taxi_assets_tests.full.rounds import rounds
from taxi_assets_tests.full.writers import WriteTable, days, payments, replace_days, side_by_side, upsert_payments

pytestmark = [pytest.mark.full, pytest.mark.soak]

KILLS, ROUNDS = rounds(25, 8), rounds(40, 6)
ROWS = 300_000  # several row groups: the write takes long enough to be hit in its middle

Rows = Callable[[int, int], pl.LazyFrame]


def stored(table: Path) -> pl.DataFrame:
    rows = pl.read_delta(str(table))
    return rows.sort(cs.integer())


def expected(rows: pl.LazyFrame) -> pl.DataFrame:
    found = rows.collect()
    return found.sort(cs.integer())


@pytest.mark.parametrize(
    ("write", "rows", "must_occur"),
    [
        (replace_days, days, {"data file begun", "committed"}),
        # delta-rs writes a file of this size at one go.
        (upsert_payments, payments, {"data file whole", "committed"}),
    ],
    ids=["a partition that is replaced", "rows that are upserted"],
)
def test_a_writer_killed_at_any_moment_leaves_the_old_rows_or_the_new_ones(
    tmp_path: Path, write: WriteTable, rows: Rows, must_occur: set[str]
) -> None:
    table = tmp_path / "table"
    write(table, 1, ROWS)
    (whole,) = table.rglob("*.parquet")
    size, holds, states = whole.stat().st_size, 1, Counter[str]()
    for issue in range(2, 2 + KILLS):
        to_table = Write.to(table)
        process = start(write, table, issue, ROWS)
        # From before the file is begun to behind its end.
        state = to_table.kill(process, 1.1 * size * (issue - 2) / (KILLS - 1))
        died(process)
        states[state] += 1
        holds = issue if state == "committed" else holds
        assert stored(table).equals(expected(rows(holds, ROWS))), state

    assert must_occur <= set(states), states
    assert not died(start(write, table, 1 + KILLS, ROWS))
    assert stored(table).equals(expected(rows(1 + KILLS, ROWS)))


@pytest.mark.parametrize("issues", [(1, 2, 3), (1, 1, 1)], ids=["of different rows", "of the same rows"])
def test_of_writers_of_one_partition_one_wins_and_none_fails(tmp_path: Path, issues: tuple[int, ...]) -> None:
    tables = [tmp_path / str(number) for number in range(ROUNDS)]
    together = barrier(len(issues))
    writers = [start(side_by_side, replace_days, tables, issue, 1_000, together) for issue in issues]
    assert not any(died(writer) for writer in writers)

    possible = [expected(days(issue, 1_000)) for issue in issues]
    mixed = [table for table in tables if not any(stored(table).equals(rows) for rows in possible)]
    assert mixed == []
    # The table is made once, and each has made one commit: the last has won.
    assert {len(list(table.glob("_delta_log/*.json"))) for table in tables} == {1 + len(issues)}


def test_of_writers_of_the_same_keys_the_newest_wins_and_none_fails(tmp_path: Path) -> None:
    tables = [tmp_path / str(number) for number in range(ROUNDS)]
    together = barrier(3)
    writers = [start(side_by_side, upsert_payments, tables, issue, 100, together) for issue in (1, 2, 3)]
    assert not any(died(writer) for writer in writers)

    for table in tables:
        assert stored(table).equals(expected(payments(3, 100)))
