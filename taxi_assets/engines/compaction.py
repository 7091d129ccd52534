"""Compaction: a partition that is many small files becomes one, its rows and notes as they were.

A commit of our own, not delta-rs's `optimize`: that one makes rows twice when two of it meet. See docs/adr/0013.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from enum import StrEnum
from typing import Any, Final

import polars as pl
from deltalake import CommitProperties, DeltaTable
from deltalake.transaction import AddAction, RemoveAction

from taxi_assets.engines.delta_log import DataFile, DeltaLocation, files_of, made_by, retry_on_conflict
from taxi_assets.engines.notes import notes_in
from taxi_assets.engines.polars_engine import delete_quietly, may_be_committed, new_path, write_data_file
from taxi_assets.object_store import open_store

_FEWEST: Final = 2


class Compacted(StrEnum):
    """What came of a partition."""

    NOTHING_TO_DO = "nothing to do"
    DONE = "done"
    MEANWHILE_WRITTEN = "meanwhile written"


def compact(
    location: DeltaLocation, partition: Mapping[str, str], small: int, run_id: str = "", table: DeltaTable | None = None
) -> Compacted:
    """Make one file of a partition's files, if they have fewer than `small` bytes on average.

    `partition` has its values as the log writes them. What is written meanwhile is never lost: if it is in this
    partition, its files stay as they are. `table` is the state to begin with, the newest unless given.
    """
    table = table or location.open()
    files = [] if table is None else files_of(table, partition)
    if table is None or len(files) < _FEWEST or sum(file.bytes for file in files) >= small * len(files):
        return Compacted.NOTHING_TO_DO
    rows = pl.scan_delta(table, storage_options=dict(location.storage_options) or None)
    # By the text, as a value may be of any type; of a date it is the log's own.
    rows = rows.filter(*(pl.col(name).cast(pl.String) == text for name, text in partition.items())).drop(*partition)
    path, done = new_path(partition), False
    try:
        added, _ = write_data_file(location, rows, path, partition, notes_in(location, files), data_change=False)
        done = retry_on_conflict(lambda: _commit(location, partition, files, added, run_id), location.uri)
    finally:
        if not done and not may_be_committed(location, partition, path):
            delete_quietly(open_store(location.uri, location.storage_options), path)
    return Compacted.DONE if done else Compacted.MEANWHILE_WRITTEN


def _commit(
    location: DeltaLocation, partition: Mapping[str, str], files: list[DataFile], added: AddAction, run_id: str
) -> bool:
    """Put the new file in the place of the old ones, if they are still what the partition is; say whether."""
    newest = location.open()
    if newest is None or {file.path for file in files_of(newest, partition)} != {file.path for file in files}:
        return False
    now = int(time.time() * 1000)
    removed = [RemoveAction(file.path, False, now, file.bytes, dict[str, Any](partition)) for file in files]
    newest.create_write_transaction(
        [added, *removed],
        mode="append",
        schema=newest.schema(),
        partition_by=newest.metadata().partition_columns,
        # Not retried within delta-rs: what others have committed since must be looked at first.
        commit_properties=CommitProperties(max_commit_retries=0, custom_metadata=made_by(run_id)),
    )
    return True
