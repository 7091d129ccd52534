"""A table's history, and restoring a version: what is stored then, and what is refused.

What Dagster is told of it is test_restored.py's.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable, write_deltalake

from taxi_assets.engines import DeltaLocation
from taxi_assets.engines.compaction import compact
from taxi_assets.errors import LakeError, TaxiAssetsError
from taxi_assets.lake.lake import Lake
from taxi_assets.lake.versions import Restored, history, restore
from taxi_assets_tests.engines.made_up import MONDAY, TUESDAY, Sales, read, sale, sales
from taxi_assets_tests.scenario import POLARS

pytestmark = pytest.mark.fast


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    """A lake with a Monday that was published twice, and a Tuesday: versions 1, 2 and 3 of one table."""
    lake = Lake(str(tmp_path / "made_up"), {}, POLARS)
    at = lake.location(Sales)
    POLARS.replace(Sales, at, sales(sale(1)), {"day": MONDAY}, run_id="first")
    POLARS.replace(Sales, at, sales(sale(2), sale(3)), {"day": MONDAY}, run_id="second")
    POLARS.replace(Sales, at, sales(sale(4, TUESDAY)), {"day": TUESDAY})
    return lake


def numbers(lake: Lake) -> list[int]:
    return read(Sales, lake.location(Sales))["number"].to_list()


def as_it_was(lake: Lake, number: int) -> str:
    """Try to restore a version that can't be, and return the message; nothing is changed by it."""
    version, rows = lake.location(Sales).version(), numbers(lake)
    with pytest.raises(TaxiAssetsError) as raised:
        restore(lake, Sales, number)
    assert (lake.location(Sales).version(), numbers(lake)) == (version, rows)
    assert "\n" not in str(raised.value)
    return str(raised.value)


# --- history


def test_history_says_what_each_commit_wrote_where_and_by_which_run(lake: Lake) -> None:
    versions = history(lake, Sales, 10)

    assert [(one.number, one.run_id, one.partitions, one.rows_added, one.files_removed) for one in versions] == [
        (3, "", ({"day": "2024-01-02"},), 1, 0),
        (2, "second", ({"day": "2024-01-01"},), 2, 1),
        (1, "first", ({"day": "2024-01-01"},), 1, 0),
        (0, "", (), 0, 0),
    ]
    assert versions[-1].operation == "CREATE TABLE"


def test_history_shows_as_many_versions_as_it_is_asked_for(lake: Lake) -> None:
    assert [one.number for one in history(lake, Sales, 2)] == [3, 2]


def test_history_tells_a_compaction_from_a_write(lake: Lake) -> None:
    at = lake.location(Sales)
    write_deltalake(at.uri, POLARS.read(Sales, at, None).to_native().head(1).collect().to_arrow(), mode="append")
    day = history(lake, Sales, 1)[0].partitions[0]
    compact(at, day, 1024 * 1024, "at night")

    newest = history(lake, Sales, 1)[0]

    assert (newest.operation, newest.run_id, newest.files_added, newest.files_removed) == (
        "COMPACTION",
        "at night",
        1,
        2,
    )


def test_history_reads_the_run_of_a_commit_that_has_it_as_users_metadata(lake: Lake) -> None:
    entry = Path(lake.location(Sales).uri) / "_delta_log" / "00000000000000000003.json"
    first, rest = entry.read_text().split("\n", 1)
    info = json.loads(first)
    for noted, run in ((json.dumps({"run_id": "third"}), "third"), ("by hand", ""), ("[1]", ""), ("null", "")):
        info["commitInfo"]["userMetadata"] = noted
        entry.write_text(f"{json.dumps(info)}\n{rest}")
        assert history(lake, Sales, 1)[0].run_id == run


# --- restoring


def test_restoring_makes_a_version_the_current_one_by_a_new_commit(lake: Lake) -> None:
    restored = restore(lake, Sales, 1)

    assert restored == Restored(4, ({"day": "2024-01-01"},), ({"day": "2024-01-02"},))
    assert numbers(lake) == [1]
    assert history(lake, Sales, 1)[0].operation == "RESTORE"


def test_restoring_can_be_undone(lake: Lake) -> None:
    restore(lake, Sales, 1)

    restored = restore(lake, Sales, 3)

    assert restored.gone == ()
    assert numbers(lake) == [2, 3, 4]


@pytest.mark.parametrize("number", [-1, 4, 1_000_000])
def test_a_version_that_there_isnt_is_refused(lake: Lake, number: int) -> None:
    assert f"There is no version {number} of test_engine.sales; the newest is 3" in as_it_was(lake, number)


def test_the_current_version_is_refused(lake: Lake) -> None:
    assert "is the current one" in as_it_was(lake, 3)


def test_a_version_whose_files_are_deleted_is_refused(lake: Lake) -> None:
    table = lake.location(Sales).open()
    assert table is not None
    table.vacuum(0, dry_run=False, enforce_retention_duration=False)

    assert "1 of its 1 files are deleted (vacuumed). Nothing was changed." in as_it_was(lake, 1)


def test_a_version_whose_entry_in_the_log_is_cleaned_up_is_refused(lake: Lake) -> None:
    table = lake.location(Sales).open()
    assert table is not None
    table.create_checkpoint()
    for entry in sorted((Path(lake.location(Sales).uri) / "_delta_log").glob("*.json"))[:3]:
        entry.unlink()

    assert "is cleaned up. Nothing was changed." in as_it_was(lake, 1)


def test_a_version_that_cant_be_read_for_another_reason_is_refused_for_that_one(lake: Lake) -> None:
    table = lake.location(Sales).open()
    assert table is not None
    table.create_checkpoint()
    (Path(lake.location(Sales).uri) / "_delta_log" / "00000000000000000001.json").write_text('{"torn')

    told = as_it_was(lake, 1)

    assert "cleaned up" not in told
    assert "Json error" in told


def test_the_version_that_restoring_made_is_told_although_another_writes_right_after(
    lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    restores = DeltaTable.restore

    def then_write(table: DeltaTable, *args: Any, **kwargs: Any) -> dict[str, Any]:
        done = restores(table, *args, **kwargs)
        POLARS.replace(Sales, lake.location(Sales), sales(sale(5, TUESDAY)), {"day": TUESDAY})
        return done

    monkeypatch.setattr(DeltaTable, "restore", then_write)

    assert restore(lake, Sales, 1).version == 4
    assert lake.location(Sales).version() == 5


def test_what_another_writes_meanwhile_is_never_undone(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    begun = lake.location(Sales).open()
    POLARS.replace(Sales, lake.location(Sales), sales(sale(5, TUESDAY)), {"day": TUESDAY})
    monkeypatch.setattr(DeltaLocation, "open", lambda _at: begun)

    with pytest.raises(LakeError, match="was written while it was to be restored"):
        restore(lake, Sales, 1)

    monkeypatch.undo()
    assert numbers(lake) == [2, 3, 5]


def test_a_table_that_isnt_there_has_no_history_and_says_so(tmp_path: Path) -> None:
    nothing = Lake(str(tmp_path), {}, POLARS)
    for ask in (lambda: history(nothing, Sales, 1), lambda: restore(nothing, Sales, 1)):
        with pytest.raises(TaxiAssetsError, match="There is no table test_engine/sales yet"):
            ask()
