"""Compaction: what it leaves as it was, and that writers who come in between never lose or double a row."""

from __future__ import annotations

import contextlib
import subprocess
import sys

import polars as pl
import pytest
from deltalake import DeltaTable, write_deltalake
from deltalake.exceptions import CommitFailedError

from taxi_assets.contracts import Contract
from taxi_assets.engines import DeltaLocation, read_notes
from taxi_assets.engines.compaction import Compacted, compact
from taxi_assets_tests.engines.made_up import MONDAY, TUESDAY, Sales, Shops, files, read, sale, sales, shops
from taxi_assets_tests.scenario import POLARS

pytestmark = pytest.mark.fast

SMALL = 1024 * 1024
ON_MONDAY = {"day": "2024-01-01"}
ROUNDS = 25
# Publishes a day of one more sale, again and again, until it has done so as often as it was told.
WRITER = """
import sys
from taxi_assets.engines import DeltaLocation
from taxi_assets_tests.engines.made_up import MONDAY, Sales, sale, sales
from taxi_assets_tests.scenario import POLARS

at = DeltaLocation(sys.argv[1])
for count in range(1, int(sys.argv[2]) + 1):
    rows = sales(*(sale(number) for number in range(count)))
    POLARS.replace(Sales, at, rows, {"day": MONDAY})
    print(count, flush=True)
"""


def append(at: DeltaLocation, *numbers: int) -> None:
    """Add a file to Monday, as engines that write in parts do."""
    rows = POLARS.read(Sales, at, [{"day": MONDAY}]).to_native().head(1).collect()
    for number in numbers:
        write_deltalake(at.uri, rows.with_columns(number=pl.lit(number, pl.Int64)).to_arrow(), mode="append")


@pytest.fixture
def scattered(at: DeltaLocation) -> DeltaLocation:
    """A Monday of four files, of which one has notes, and a Tuesday of one."""
    POLARS.replace(Sales, at, sales(sale(1, price=None, tags=None)), {"day": MONDAY}, {"noted": "as it was"})
    POLARS.replace(Sales, at, sales(sale(9, TUESDAY)), {"day": TUESDAY})
    append(at, 2, 3, 4)
    return at


def opened(at: DeltaLocation) -> DeltaTable:
    table = at.open()
    assert table is not None
    return table


def test_a_partition_of_small_files_becomes_one_file_with_its_rows_and_notes(scattered: DeltaLocation) -> None:
    before = read(Sales, scattered)
    filled = {column for file in scattered.files({"day": MONDAY}) for column in file.filled}

    assert compact(scattered, ON_MONDAY, SMALL, "the run") is Compacted.DONE

    assert read(Sales, scattered).equals(before)
    assert len(scattered.files({"day": MONDAY})) == 1
    assert read_notes(scattered, {"day": MONDAY}) == {"noted": "as it was"}
    assert scattered.row_count({"day": MONDAY}) == 4
    assert scattered.files({"day": MONDAY})[0].filled == filled
    assert opened(scattered).history(1)[0]["run_id"] == "the run"


def test_a_partition_of_one_file_or_of_large_ones_is_left_alone(scattered: DeltaLocation) -> None:
    version = scattered.version()

    assert compact(scattered, {"day": "2024-01-02"}, SMALL) is Compacted.NOTHING_TO_DO
    assert compact(scattered, ON_MONDAY, small=1) is Compacted.NOTHING_TO_DO
    assert scattered.version() == version


def test_compacting_again_changes_nothing(scattered: DeltaLocation) -> None:
    compact(scattered, ON_MONDAY, SMALL)
    version = scattered.version()

    assert compact(scattered, ON_MONDAY, SMALL) is Compacted.NOTHING_TO_DO
    assert scattered.version() == version


def test_a_table_of_keys_is_compacted_whole(at: DeltaLocation) -> None:
    for number in range(4):
        POLARS.upsert(Shops, at, shops((number, "Old", MONDAY)))
    before = read(Shops, at)
    assert len(at.files()) > 1

    assert compact(at, {}, SMALL) is Compacted.DONE

    assert len(at.files()) == 1
    assert read(Shops, at).equals(before)


def test_a_partition_that_was_published_meanwhile_stays_as_published(scattered: DeltaLocation) -> None:
    begun = opened(scattered)
    POLARS.replace(Sales, scattered, sales(sale(7)), {"day": MONDAY})

    assert compact(scattered, ON_MONDAY, SMALL, table=begun) is Compacted.MEANWHILE_WRITTEN

    assert read(Sales, scattered)["number"].to_list() == [7, 9]


def test_what_is_not_committed_leaves_no_file(scattered: DeltaLocation) -> None:
    begun = opened(scattered)
    POLARS.replace(Sales, scattered, sales(sale(7)), {"day": MONDAY})
    there = files(scattered)

    compact(scattered, ON_MONDAY, SMALL, table=begun)

    assert files(scattered) == there


def test_another_partition_that_was_published_meanwhile_is_kept(scattered: DeltaLocation) -> None:
    begun = opened(scattered)
    POLARS.replace(Sales, scattered, sales(sale(8, TUESDAY)), {"day": TUESDAY})

    assert compact(scattered, ON_MONDAY, SMALL, table=begun) is Compacted.DONE

    assert sorted(read(Sales, scattered)["number"]) == [1, 2, 3, 4, 8]


def test_two_that_compact_the_same_files_double_no_row(scattered: DeltaLocation) -> None:
    begun = opened(scattered)
    assert compact(scattered, ON_MONDAY, SMALL) is Compacted.DONE

    assert compact(scattered, ON_MONDAY, SMALL, table=begun) is Compacted.MEANWHILE_WRITTEN

    assert scattered.row_count({"day": MONDAY}) == 4


def test_an_upsert_that_began_before_a_compaction_loses_and_doubles_no_row(at: DeltaLocation) -> None:
    for number in range(3):
        POLARS.upsert(Shops, at, shops((number, "Old", MONDAY)))

    class Late(DeltaLocation):
        """Where the compaction comes in just before the merge is committed, once."""

        def create_if_missing(self, contract: type[Contract]) -> DeltaTable:
            table = super().create_if_missing(contract)
            compact(at, {}, SMALL)
            return table

    POLARS.upsert(Shops, Late(at.uri), shops((1, "New", TUESDAY), (5, "New", TUESDAY)))

    assert read(Shops, at)["shop"].to_list() == [0, 1, 2, 5]


def test_nothing_is_lost_while_another_process_publishes_the_partition(at: DeltaLocation) -> None:
    POLARS.replace(Sales, at, sales(sale(0)), {"day": MONDAY})
    POLARS.replace(Sales, at, sales(sale(9, TUESDAY)), {"day": TUESDAY})
    command = [sys.executable, "-c", WRITER, at.uri, str(ROUNDS)]
    outcomes = []
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as writer:
        while writer.poll() is None:
            with contextlib.suppress(CommitFailedError):
                append(at, 1_000)
            outcomes.append(compact(at, ON_MONDAY, SMALL))
        assert writer.stdout is not None
        assert writer.stdout.read().split() == [str(count) for count in range(1, ROUNDS + 1)]
    rows = read(Sales, at)
    published = rows.filter((pl.col("number") < 1_000) & (pl.col("day") == MONDAY))["number"].to_list()

    assert writer.returncode == 0
    assert published == list(range(ROUNDS))
    assert rows.filter(pl.col("day") == TUESDAY)["number"].to_list() == [9]
    assert Compacted.DONE in outcomes
