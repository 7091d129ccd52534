"""Claims about recording runs on SQLite: connections are kept, events arrive, and other storages are left alone."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

import dagster as dg
import pytest
import sqlalchemy as sa
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


def openings(home: Path, kept: Callable[[dg.DagsterInstance], AbstractContextManager[None]]) -> int:
    """Count how often the databases of events are opened while an asset is materialized."""
    opened: list[str] = []

    def note(_dialect: object, _record: object, arguments: list[str], _options: object) -> None:
        opened.append(arguments[0])

    with open_instance(str(home)) as instance:
        sa.event.listen(sa.Engine, "do_connect", note)
        try:
            with kept(instance):
                run_id = dg.materialize([something], instance=instance).run_id
        finally:
            sa.event.remove(sa.Engine, "do_connect", note)
    return sum(Path(path).stem in {run_id, "index"} for path in opened)


def test_the_databases_are_opened_a_fraction_as_often_as_there_are_events(tmp_path: Path) -> None:
    as_usual = openings(tmp_path / "usual", lambda _instance: nullcontext())
    assert openings(tmp_path / "kept", kept_connections) * 3 < as_usual


def test_other_storages_are_left_alone() -> None:
    with dg.DagsterInstance.ephemeral() as instance, kept_connections(instance):
        assert dg.materialize([something], instance=instance).success
