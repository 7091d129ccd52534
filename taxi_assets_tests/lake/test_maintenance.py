"""Maintenance of tables: what it deletes and what it never does, and what it leaves as it was."""

from __future__ import annotations

import os
import time
from datetime import timedelta
from pathlib import Path

import pytest
from deltalake import DeltaTable

from taxi_assets.engines import DeltaLocation
from taxi_assets.errors import LakeError
from taxi_assets.lake.maintenance import Maintained, MaintenancePolicy, maintain
from taxi_assets_tests.engines.made_up import MONDAY, TUESDAY, Sales, files, read, sale, sales
from taxi_assets_tests.scenario import POLARS

pytestmark = pytest.mark.fast

A_DAY = MaintenancePolicy(timedelta(hours=24), 1024 * 1024)
A_WEEK = MaintenancePolicy(timedelta(days=7), 1024 * 1024)


@pytest.fixture
def at(tmp_path: Path) -> DeltaLocation:
    """A Monday that was published twice, and a Tuesday."""
    place = DeltaLocation(str(tmp_path / "table"))
    POLARS.replace(Sales, place, sales(sale(1)), {"day": MONDAY})
    POLARS.replace(Sales, place, sales(sale(2)), {"day": MONDAY})
    POLARS.replace(Sales, place, sales(sale(3, TUESDAY)), {"day": TUESDAY})
    return place


def age(hours: float, *paths: Path) -> None:
    """Let files look as if they had been written so many hours ago."""
    then = time.time() - hours * 3600
    for path in paths:
        os.utime(path, (then, then))


def log(at: DeltaLocation) -> list[Path]:
    return sorted(Path(at.uri).glob("_delta_log/*.json"))


def age_tombstones(at: DeltaLocation, hours: float) -> None:
    """Let the log say that what was removed was removed so many hours earlier than it was."""
    for entry in log(at):
        text = entry.read_text()
        for action in text.split('"deletionTimestamp":')[1:]:
            stamp = action[:13]
            text = text.replace(stamp, str(int(stamp) - int(hours * 3_600_000)))
        entry.write_text(text)


def maintained(at: DeltaLocation, policy: MaintenancePolicy = A_WEEK) -> Maintained:
    found = maintain(at, policy)
    assert found is not None
    return found


# --- deleting


def test_files_that_were_replaced_before_the_retention_are_deleted_and_counted_first(at: DeltaLocation) -> None:
    age_tombstones(at, 24 * 8)
    before = read(Sales, at)

    done = maintained(at)

    assert (done.to_delete, done.deleted) == (1, 1)
    assert len(list(Path(at.uri).glob("day=*/*"))) == 2
    assert read(Sales, at).equals(before)


def test_files_that_were_replaced_within_the_retention_stay_however_old_they_are(at: DeltaLocation) -> None:
    age(24 * 365, *files(at))
    age_tombstones(at, 23)

    assert maintained(at, A_DAY).deleted == 0
    assert DeltaTable(at.uri, version=1).to_pyarrow_table().num_rows == 1


def test_a_file_that_no_commit_has_is_deleted_once_it_is_old_and_not_while_it_may_be_being_written(
    at: DeltaLocation,
) -> None:
    lost, in_work = (Path(at.uri) / "day=2024-01-01" / name for name in ("lost.parquet", "in_work.parquet"))
    lost.write_bytes(b"PAR1")
    in_work.write_bytes(b"PAR1")
    age(24 * 8, lost)
    age(23, in_work)

    assert maintained(at, A_DAY).deleted == 1
    assert (lost.exists(), in_work.exists()) == (False, True)


def test_where_nothing_is_to_be_deleted_no_version_is_made(at: DeltaLocation) -> None:
    maintained(at)
    version = at.version()

    done = maintained(at)

    assert (done.before.version, done.after.version, at.version()) == (version, version, version)


def test_a_retention_other_than_deltas_own_is_written_into_the_table(at: DeltaLocation) -> None:
    maintained(at, A_DAY)

    table = at.open()
    assert table is not None
    assert table.metadata().configuration["delta.deletedFileRetentionDuration"] == "interval 24 hours"


# --- the log


def test_the_log_is_checkpointed_when_it_has_grown_and_only_then(at: DeltaLocation) -> None:
    maintained(at)
    (checkpoint,) = Path(at.uri).glob("_delta_log/*.checkpoint.parquet")
    written = checkpoint.stat().st_mtime_ns

    maintained(at)

    assert [path.stat().st_mtime_ns for path in Path(at.uri).glob("_delta_log/*.checkpoint.parquet")] == [written]


def test_entries_of_the_log_from_before_its_checkpoint_are_deleted_when_a_month_old(at: DeltaLocation) -> None:
    maintained(at)
    age(24 * 31, *Path(at.uri).glob("_delta_log/*"))
    POLARS.replace(Sales, at, sales(sale(4, TUESDAY)), {"day": TUESDAY})
    entries = len(log(at))

    done = maintained(at)

    assert (done.before.log_entries, done.after.log_entries) == (entries, len(log(at)))
    assert done.after.log_entries < entries
    assert sorted(read(Sales, at)["number"]) == [2, 4]


# --- errors


def test_a_table_that_isnt_there_is_nothing_to_do(tmp_path: Path) -> None:
    assert maintain(DeltaLocation(str(tmp_path / "none")), A_WEEK) is None


def test_a_table_that_cant_be_maintained_is_one_clear_line_and_still_stands(at: DeltaLocation) -> None:
    before = read(Sales, at)
    # Neither a checkpoint nor anything else can be made of a name that a folder has.
    (Path(at.uri) / "_delta_log" / "00000000000000000003.checkpoint.parquet").mkdir()
    (Path(at.uri) / "_delta_log" / "00000000000000000003.checkpoint.parquet" / "in_the_way").touch()

    with pytest.raises(LakeError, match="can't be maintained") as raised:
        maintain(at, A_WEEK)

    assert "\n" not in str(raised.value)
    assert read(Sales, at).equals(before)
