"""Claims about a lake whose disk is full or read-only, about other places on full disks, and a log that was cut off."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest
from deltalake import DeltaTable

from taxi_assets.calendars import Month
from taxi_assets.engines import DeltaLocation
from taxi_assets.errors import LakeError
from taxi_assets.sample import write_month
from taxi_assets.tlc.vocabulary import METERED
from taxi_assets_tests.full.disks import Disk
from taxi_assets_tests.full.forks import died, start_cli
from taxi_assets_tests.full.processes import MINUTE, Home, assert_equal_contents, contents
from taxi_assets_tests.full.writers import WriteTable, replace_days, upsert_payments
from taxi_assets_tests.misbehaving_server import MisbehavingServer, announcing

pytestmark = pytest.mark.full

MONTH = "2024-01"
BLOCK = 4096
NO_SPACE = "can't be written: No space left on device. What was stored before still stands."


def land(home: Home, rows: int) -> None:
    for service in METERED:
        write_month(home.landing, service, Month.parse(MONTH), rows, seed=rows)


def said(home: Home, *arguments: str, **environment: str) -> tuple[int, str, str]:
    """Run `taxi-assets` to its end and return its exit status and what it wrote."""
    process = home.start(*arguments, **environment)
    out, err = process.communicate(timeout=3 * MINUTE)
    return process.returncode, out, err


# --- a full disk


@pytest.mark.parametrize("write", [replace_days, upsert_payments])
@pytest.mark.parametrize("is_new", [True, False], ids=["new table", "stored table"])
def test_a_write_on_a_full_disk_says_so_and_leaves_the_rows_as_they_were_however_little_is_left(
    disk: Disk, write: WriteTable, *, is_new: bool
) -> None:
    failed = 0
    for blocks in range(12):
        table = disk.path / str(blocks)
        if not is_new:
            write(table, 1, 2_000)
        disk.fill(but=blocks * BLOCK)
        told = refused(write, table)
        if told:
            failed += 1
            assert told.startswith(f"{table} {NO_SPACE}")
            assert DeltaLocation(str(table)).row_count() == (None if is_new else rows_of(write, 1))
        disk.make_room()
        write(table, 2, 2_000)
        assert DeltaLocation(str(table)).row_count() == rows_of(write, 2)
    assert 2 <= failed < 12


def refused(write: WriteTable, table: Path) -> str | None:
    """Write a table, and return what a LakeError says if it can't be written."""
    try:
        write(table, 2, 2_000)
    except LakeError as error:
        return str(error)
    return None


def rows_of(write: WriteTable, issue: int) -> int:
    return 2_000 + issue if write is replace_days else 2_000


def test_a_month_that_finds_the_lakes_disk_full_fails_by_that_name_and_runs_once_there_is_room(
    tmp_path: Path, disk: Disk
) -> None:
    home = Home.below(tmp_path).on_lake(disk.path / "lake")
    land(home, 2_000)
    home.report("materialize", MONTH)
    before = contents(home.lake)
    land(home, 1_900)
    disk.fill(but=10 * BLOCK)

    status, out, err = said(home, "materialize", MONTH)

    assert status == 1, out + err
    assert "Traceback" not in out + err
    failures = [line.strip() for line in out.splitlines() if NO_SPACE in line]
    assert failures
    assert all(line.startswith(str(home.lake)) for line in failures)
    after = contents(home.lake)
    disk.make_room()
    home.report("materialize", MONTH)
    complete = contents(home.lake)
    for name, rows in after.items():
        assert rows.equals(before[name]) or rows.equals(complete[name])
    assert complete["tlc_bronze/green_trips"].height == 1_900


@pytest.mark.parametrize("blocks", [0, 1, 60])
def test_a_full_dagster_home_is_one_line_and_the_command_works_once_there_is_room(
    tmp_path: Path, disk: Disk, blocks: int
) -> None:
    home = Home(tmp_path / "landing", tmp_path / "lake", disk.path / "dagster")
    home.landing.mkdir()
    home.dagster.mkdir()
    land(home, 500)
    disk.fill(but=blocks * BLOCK)

    status, out, err = said(home, "materialize", MONTH)

    assert status in {1, 2}
    assert "DAGSTER_HOME" in err.splitlines()[-1]
    assert "Make room" in err.splitlines()[-1]
    assert "Traceback" not in out + err
    disk.make_room()
    home.report("materialize", MONTH)
    assert contents(home.lake)["tlc_bronze/green_trips"].height == 500


@pytest.mark.parametrize("etag", ["none", "known"])
def test_a_fetch_leaves_room_on_the_disk_and_goes_on_with_what_can_be_once_there_is_more(
    tmp_path: Path, server: MisbehavingServer, disk: Disk, etag: str
) -> None:
    home = replace(Home.below(tmp_path), landing=disk.path / "landing")
    whole = parquet_file(tmp_path, megabytes=12)
    server.serve("/trip-data/green_tripdata_2024-01.parquet", whole, None if etag == "none" else '"known"')
    # Of unknown length, so that it shows only as the disk fills.
    server.plan("/trip-data/green_tripdata_2024-01.parquet", announcing(None, sending=len(whole)))
    disk.fill(but=8_000_000)

    status, out, err = said(home, "fetch", "green", MONTH, TAXI_FETCH__ADDRESS=server.address)

    assert status == 1, err
    assert "stay free. Make room, and fetch again" in out
    free = os.statvfs(disk.path).f_bavail * BLOCK
    parts = list(home.landing.glob(".fetch/*.part"))
    if etag == "none":
        assert "is removed" in out
        assert (parts, free > 7_000_000) == ([], True)
    else:
        assert "what has arrived is kept" in out
        # A twentieth of its 32 MB.
        assert (len(parts), 1_500_000 < free < 2_000_000) == (1, True)
    disk.make_room()
    (fetched,) = home.report("fetch", "green", MONTH, TAXI_FETCH__ADDRESS=server.address)
    assert (fetched["state"], fetched["size"]) == ("fetched", len(whole))
    assert [asked.status for asked in server.asked] == [200, 200 if etag == "none" else 206]


def test_a_file_for_which_there_is_no_room_isnt_begun(tmp_path: Path, server: MisbehavingServer, disk: Disk) -> None:
    home = replace(Home.below(tmp_path), landing=disk.path / "landing")
    server.plan("/trip-data/green_tripdata_2024-01.parquet", announcing(100_000_000, sending=0))
    status, out, err = said(home, "fetch", "green", MONTH, TAXI_FETCH__ADDRESS=server.address)
    assert status == 1, err
    assert "100,000,000 bytes are to come now, and the disk of" in out
    assert list(home.landing.glob(".fetch/*.part")) == []


def parquet_file(folder: Path, megabytes: int) -> bytes:
    """Return a Parquet file of about that size."""
    rows = megabytes * 125_000
    pl.DataFrame({"n": range(rows)}).write_parquet(folder / "big", compression="uncompressed", use_pyarrow=False)
    return (folder / "big").read_bytes()


# --- a read-only lake


@pytest.mark.parametrize("write", [replace_days, upsert_payments])
def test_a_write_on_a_read_only_disk_says_so(disk: Disk, write: WriteTable) -> None:
    write(disk.path / "stored", 1, 10)
    disk.read_only()
    for name in ("stored", "new"):
        with pytest.raises(LakeError, match=f"{name} can't be written: Read-only file system"):
            write(disk.path / name, 2, 10)


def test_a_read_only_lake_is_one_line_for_who_writes_and_none_for_who_reads(tmp_path: Path, disk: Disk) -> None:
    home = Home.below(tmp_path).on_lake(disk.path)
    land(home, 500)
    home.report("materialize", MONTH)
    disk.read_only()

    assert said(home, "materialize", MONTH) == (
        2,
        "",
        f"TAXI_LAKE_ROOT is {disk.path}, which can't be written: Read-only file system. Name a folder that can be.\n",
    )
    assert home.report("sql", "SELECT count(*) AS n FROM tlc_bronze.green_trips") == [{"n": 500}]
    assert {row["table"]: row["rows"] for row in home.report("tables")}["tlc_bronze.green_trips"] == 500


# --- a log that was cut off

CUTS: dict[str, Callable[[bytes], bytes]] = {
    "empty": lambda _: b"",
    "half": lambda whole: whole[: len(whole) // 2],
    "zeros": lambda whole: b"\0" * len(whole),
    "garbage": lambda _: b"garbage",
}


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> Home:
    """Return a home whose month was run twice, so that every table has an entry to lose."""
    home = Home.below(tmp_path_factory.mktemp("stored"))
    land(home, 500)
    for _ in range(2):
        assert not died(start_cli(home, "materialize", MONTH), home.log)
    return home


@pytest.fixture
def damaged(stored: Home) -> Iterator[Path]:
    """Return a table's newest entry, which is put right after the test."""
    entry = max((stored.lake / "tlc_silver/green_trips/_delta_log").glob("*.json"))
    whole = entry.read_bytes()
    yield entry
    entry.write_bytes(whole)


@pytest.mark.parametrize("cut", CUTS)
def test_a_cut_off_entry_is_named_and_what_is_advised_makes_the_table_what_it_was_before(
    stored: Home, damaged: Path, cut: str
) -> None:
    before = contents(stored.lake)
    damaged.write_bytes(CUTS[cut](damaged.read_bytes()))
    table = damaged.parents[1]

    with pytest.raises(LakeError) as told:
        DeltaLocation(str(table)).open()

    message = str(told.value)
    assert message.startswith(f"The Delta table at {table} can't be read: ")
    assert message.endswith(
        f"The entry _delta_log/{damaged.name} was cut off. Move it out of the table's folder: the table is then as it "
        "was before that write. Run the month again that was being written."
    )
    assert "\n" not in message
    moved = damaged.rename(stored.dagster / damaged.name)
    assert_equal_contents(contents(stored.lake), before)
    moved.unlink()


def test_a_run_on_a_cut_off_log_stores_nothing_there_and_after_the_advice_it_succeeds(
    stored: Home, damaged: Path
) -> None:
    before = contents(stored.lake)
    damaged.write_bytes(b"")
    files = set(damaged.parents[1].rglob("*"))

    status, out, err = said(stored, "materialize", MONTH)

    assert status == 1, out + err
    assert f"The entry _delta_log/{damaged.name} was cut off" in out
    assert set(damaged.parents[1].rglob("*")) == files
    ask = "SELECT count(*) AS n FROM"
    assert stored.report("sql", f"{ask} tlc_bronze.green_trips") == [{"n": 500}]
    status, out, err = said(stored, "sql", f"{ask} tlc_silver.green_trips")
    assert (status, out) == (1, "")
    assert f"The entry _delta_log/{damaged.name} was cut off" in err
    damaged.unlink()
    stored.report("materialize", MONTH)
    assert_equal_contents(contents(stored.lake), before)


@pytest.mark.parametrize("cut", CUTS)
def test_a_cut_off_checkpoint_is_named_and_without_it_the_table_is_whole(tmp_path: Path, cut: str) -> None:
    table = tmp_path / "table"
    for issue in (1, 2):
        replace_days(table, issue, 100)
    DeltaTable(str(table)).create_checkpoint()
    before = pl.read_delta(str(table))
    (checkpoint,) = table.glob("_delta_log/*.checkpoint.parquet")
    checkpoint.write_bytes(CUTS[cut](checkpoint.read_bytes()))

    with pytest.raises(LakeError, match=f"Its checkpoint _delta_log/{checkpoint.name} was cut off. Move it and"):
        DeltaLocation(str(table)).open()

    checkpoint.unlink()
    (table / "_delta_log" / "_last_checkpoint").unlink()
    assert pl.read_delta(str(table)).equals(before)
    replace_days(table, 3, 100)
    assert DeltaLocation(str(table)).row_count() == 103
