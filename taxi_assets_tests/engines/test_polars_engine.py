"""Claims about the Polars engine's own way to write: one file and one commit, by delta-rs, and what these hold.

What holds of every engine is claimed in test_engines.py. The tables are made up and stand in a folder of the test's
own.
"""

# Times are wall clock, without a zone.

from __future__ import annotations

import json
from decimal import Decimal as Exact
from pathlib import Path
from typing import Any

import narwhals.stable.v1 as nw
import polars as pl
import pyarrow.compute as pc  # type: ignore[import-untyped]
import pytest
from deltalake import DeltaTable
from deltalake.exceptions import DeltaError

from taxi_assets.engines import DeltaLocation, PolarsEngine, polars_engine, read_notes
from taxi_assets.engines.delta_log import statistics_json
from taxi_assets.errors import ContractError, LakeError, UnreadableRowsError
from taxi_assets_tests.engines.made_up import MONDAY, TUESDAY, Sales, files, read, sale, sales, stats
from taxi_assets_tests.scenario import collected

pytestmark = pytest.mark.fast

ENGINE = PolarsEngine()


# --- what a write leaves, and what one that fails leaves


def test_a_partition_is_one_file(at: DeltaLocation) -> None:
    written = ENGINE.replace(Sales, at, sales(sale(1), sale(2)), {"day": MONDAY})

    assert [file.stat().st_size for file in files(at)] == [written.bytes]


@pytest.mark.parametrize(
    ("broken", "error"),
    [
        (sales(sale(1)).with_columns(nw.lit("not a number").alias("weight")), UnreadableRowsError),
        (sales(sale(1)).with_columns(nw.lit(1e12).alias("price")), UnreadableRowsError),
        (sales(sale(1)).drop("note"), ContractError),
    ],
    ids=["a value that is no number", "a value that does not fit", "a missing column"],
)
def test_a_frame_that_fails_leaves_the_table_as_it_was_and_no_file_behind(
    at: DeltaLocation, broken: nw.LazyFrame, error: type[Exception]
) -> None:
    ENGINE.replace(Sales, at, sales(sale(1)), {"day": MONDAY})
    before, stored = read(Sales, at), files(at)

    with pytest.raises(error):
        ENGINE.replace(Sales, at, broken, {"day": MONDAY})

    assert at.version() == 1
    assert read(Sales, at).equals(before)
    assert files(at) == stored


def test_a_write_that_is_cut_short_after_its_commit_keeps_the_file_that_the_commit_names(
    at: DeltaLocation, monkeypatch: pytest.MonkeyPatch
) -> None:
    commit = polars_engine.replace_partition

    def commit_and_be_stopped(*arguments: Any) -> int:
        commit(*arguments)
        raise KeyboardInterrupt

    monkeypatch.setattr(polars_engine, "replace_partition", commit_and_be_stopped)
    with pytest.raises(KeyboardInterrupt):
        ENGINE.replace(Sales, at, sales(sale(1), sale(2)), {"day": MONDAY})

    assert read(Sales, at)["number"].to_list() == [1, 2]


def test_a_failed_write_tells_its_own_error_though_the_log_cant_be_read_either(
    at: DeltaLocation, monkeypatch: pytest.MonkeyPatch
) -> None:
    ENGINE.replace(Sales, at, sales(sale(1)), {"day": MONDAY})

    def damage_the_log_and_fail(*_arguments: Any) -> int:
        (Path(at.uri) / "_delta_log" / f"{2:020}.json").write_text("{")
        raise LakeError("the error that led here")

    monkeypatch.setattr(polars_engine, "replace_partition", damage_the_log_and_fail)
    with pytest.raises(LakeError, match="the error that led here"):
        ENGINE.replace(Sales, at, sales(sale(2)), {"day": MONDAY})


# --- notes on a partition


def test_notes_are_kept_with_the_partitions_rows_and_replaced_with_them(at: DeltaLocation) -> None:
    for day, note in ((MONDAY, "first"), (TUESDAY, "other"), (MONDAY, "sécond ☂")):
        ENGINE.replace(Sales, at, sales(sale(1, day)), {"day": day}, {"about": note})

    assert read_notes(at, {"day": MONDAY}) == {"about": "sécond ☂"}
    assert read_notes(at, {"day": TUESDAY}) == {"about": "other"}


def test_there_are_no_notes_where_none_were_left_and_where_nothing_is_stored(at: DeltaLocation) -> None:
    assert read_notes(at, {"day": MONDAY}) == {}
    ENGINE.replace(Sales, at, sales(sale(1)), {"day": MONDAY})
    assert read_notes(at, {"day": MONDAY}) == {}


# --- what a write replaced


def test_a_write_gives_the_rows_that_it_replaced_though_the_log_of_that_version_is_gone(at: DeltaLocation) -> None:
    ENGINE.replace(Sales, at, sales(sale(1), sale(2)), {"day": MONDAY})
    ENGINE.replace(Sales, at, sales(sale(3, TUESDAY)), {"day": TUESDAY})
    table = DeltaTable(at.uri)
    table.alter.set_table_properties(
        {"delta.checkpointInterval": "1", "delta.logRetentionDuration": "interval 0 seconds"}
    )

    written = ENGINE.replace(Sales, at, sales(sale(4)), {"day": MONDAY})

    with pytest.raises(DeltaError):
        DeltaTable(at.uri, version=written.version - 1)
    assert sorted(collected(written.before)["number"]) == [1, 2]
    assert collected(written.after)["number"].to_list() == [4]


def test_a_write_to_a_new_partition_has_replaced_nothing(at: DeltaLocation) -> None:
    ENGINE.replace(Sales, at, sales(sale(1)), {"day": MONDAY})
    assert ENGINE.replace(Sales, at, sales(sale(2, TUESDAY)), {"day": TUESDAY}).before is None


# --- what stands in the Delta log


def test_the_log_holds_statistics_of_every_column_that_has_some(at: DeltaLocation) -> None:
    ENGINE.replace(
        Sales,
        at,
        sales(sale(1, weight=0.25), sale(2, price=Exact("-0.01"), note=None), sale(3, note="card")),
        {"day": MONDAY},
    )

    (found,) = stats(at)

    assert found["numRecords"] == 3
    noon = "2024-01-01T09:30:00.250000"
    least = {"number": 1, "price": -0.01, "weight": 0.25, "at": noon, "note": "card", "refunded": False}
    greatest = {"number": 3, "price": 12.34, "weight": 0.5, "at": noon, "note": "cash", "refunded": False}
    assert found["minValues"] == least
    assert found["maxValues"] == greatest
    assert found["nullCount"] == {"number": 0, "price": 0, "weight": 0, "at": 0, "note": 1, "refunded": 0}


def test_readers_skip_files_by_these_statistics(at: DeltaLocation) -> None:
    for day, first in ((MONDAY, 1), (TUESDAY, 100)):
        ENGINE.replace(Sales, at, sales(sale(first, day), sale(first + 9, day)), {"day": day})
    tuesdays = next(file for file in files(at) if TUESDAY.isoformat() in str(file))

    dataset = DeltaTable(at.uri).to_pyarrow_dataset()
    hit = [Path(fragment.path).name for fragment in dataset.get_fragments(filter=pc.field("number") > 50)]
    assert hit == [tuesdays.name]


def test_a_long_text_has_no_statistic_rather_than_a_shortened_one(at: DeltaLocation) -> None:
    ENGINE.replace(Sales, at, sales(sale(1, note="z" * 33), sale(2, note="a")), {"day": MONDAY})

    (found,) = stats(at)

    assert "note" not in found["minValues"] | found["maxValues"]
    assert (found["numRecords"], found["nullCount"]["note"]) == (2, 0)


def test_a_decimal_that_a_double_would_round_is_no_bound_of_its_file() -> None:
    exact, rounded = Exact("1234567.89"), Exact("9999999999999999.99")

    found = json.loads(statistics_json(1, {"exact": (exact, exact, 0), "rounded": (rounded, rounded, 0)}))

    assert (found["minValues"], found["maxValues"]) == ({"exact": 1234567.89}, {"exact": 1234567.89})


# --- the order of rows, which other engines need not keep


def test_looking_up_keeps_every_row_in_its_order() -> None:
    orders = nw.from_native(pl.LazyFrame({"number": range(1_000), "shop": [number % 7 for number in range(1_000)]}))
    names = nw.from_native(pl.LazyFrame({"id": [5, 3, 1], "name": ["five", "three", "one"]}))

    found = ENGINE.look_up(orders, names, "shop", "id").to_native().collect()

    assert found["number"].to_list() == list(range(1_000))
    assert found["name"].to_list()[:7] == [None, "one", None, "three", None, "five", None]
