"""Claims about recording runs on SQLite: that connections are kept, that events arrive, and that nothing stays behind."""

from __future__ import annotations

from pathlib import Path

import dagster as dg
import pytest
from dagster._core.storage.event_log.sqlite.sqlite_event_log import SqliteEventLogStorage

from taxi_assets.instance import open_instance
from taxi_assets.run_records import kept_connections

pytestmark = pytest.mark.fast


@dg.asset
def something() -> None: ...


def test_events_recorded_over_kept_connections_are_there_for_everyone_afterwards(tmp_path: Path) -> None:
    with open_instance(str(tmp_path)) as instance:
        assert isinstance(instance.event_log_storage, SqliteEventLogStorage)
        with kept_connections(instance):
            run_id = dg.materialize([something], instance=instance).run_id
            within = instance.all_logs(run_id)
        assert instance.all_logs(run_id) == within
    with open_instance(str(tmp_path)) as another:
        assert another.get_latest_materialization_event(something.key) is not None
        assert [record.dagster_run.run_id for record in another.get_run_records()] == [run_id]


def test_each_database_is_opened_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[str] = []
    with open_instance(str(tmp_path)) as instance:
        storage = instance.event_log_storage
        real = storage.conn_string_for_shard
        monkeypatch.setattr(storage, "conn_string_for_shard", lambda shard: opened.append(shard) or real(shard))
        with kept_connections(instance):
            run_id = dg.materialize([something], instance=instance).run_id
    assert sorted(opened) == sorted({run_id, "index"})


def test_other_storages_are_left_alone() -> None:
    with dg.DagsterInstance.ephemeral() as instance, kept_connections(instance):
        assert dg.materialize([something], instance=instance).success
