"""Recording runs on SQLite without opening the database anew for every event.

Dagster 1.13 opens, initialises and closes a connection per event and database; on SQLite that is a fifth of a small
month's time. Within one command a connection per database is kept instead. Other storages (Postgres) are left alone.
"""
# Dagster has no public way to this; test_run_records.py holds that it still takes it.
# ruff: noqa: PLC0415, SLF001

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import dagster as dg


@contextmanager
def kept_connections(instance: dg.DagsterInstance) -> Iterator[None]:
    """Keep the event log's connections open for as long as this lasts."""
    # Here, because whoever only loads the definitions needn't wait for SQLAlchemy.
    import sqlalchemy as sa
    from dagster._core.storage.event_log.sqlite.sqlite_event_log import SqliteEventLogStorage
    from dagster._core.storage.sqlite import SQLITE_BUSY_TIMEOUT_SECONDS

    storage = instance.event_log_storage
    if type(storage) is not SqliteEventLogStorage:
        yield
        return
    engines: dict[str, sa.Engine] = {}

    @contextmanager
    def connect(shard: str) -> Iterator[sa.Connection]:
        with storage._db_lock:
            if shard not in engines:
                engines[shard] = sa.create_engine(
                    storage.conn_string_for_shard(shard), connect_args={"timeout": SQLITE_BUSY_TIMEOUT_SECONDS}
                )
            if shard not in storage._initialized_dbs:
                storage._initdb(engines[shard])
                storage._initialized_dbs.add(shard)
            with engines[shard].connect() as connection, connection.begin():
                yield connection

    instances: Any = storage
    instances._connect = connect
    try:
        yield
    finally:
        del instances._connect
        for engine in engines.values():
            engine.dispose()
