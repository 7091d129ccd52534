"""Maintenance of a table: small files made one, files that nobody can need deleted, the log checkpointed and cleaned.

What a table holds stays as it is, whoever reads or writes meanwhile; knows no table, nor when it is run.
"""

# Without postponed annotations, which Dagster doesn't resolve for `context`.

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

import dagster as dg
import obstore
from deltalake import CommitProperties, DeltaTable
from deltalake.exceptions import DeltaError

from taxi_assets.contracts import Contract
from taxi_assets.engines import DeltaLocation
from taxi_assets.engines.compaction import Compacted, compact
from taxi_assets.engines.delta_log import made_by, retry_on_conflict
from taxi_assets.errors import LakeError, first_line
from taxi_assets.lake.failures import one_clear_failure
from taxi_assets.lake.lake import Lake
from taxi_assets.lake.metadata import asset_key
from taxi_assets.object_store import open_store

_RETENTION: Final = "delta.deletedFileRetentionDuration"
_RETENTION_UNLESS_SET: Final = timedelta(days=7)
_ENTRY: Final = re.compile(r"_delta_log/[0-9]{20}\.json")
_CHECKPOINT: Final = re.compile(r"_delta_log/([0-9]{20})\.checkpoint\..*parquet")


@dataclass(frozen=True, slots=True)
class MaintenancePolicy:
    """How tables are maintained: how long replaced files are kept, and which files are small, in bytes.

    Who reads a version that was replaced, or writes what isn't committed yet, must be done within the retention.
    """

    retention: timedelta
    small_file: int


@dataclass(frozen=True, slots=True)
class TableState:
    """What maintenance changes of a table: its newest version, files and bytes of that, and entries of the log."""

    files: int
    bytes: int
    version: int
    log_entries: int


@dataclass(frozen=True, slots=True)
class Maintained:
    """What was done to a table. `left` partitions were written meanwhile, and are the next maintenance's to compact.

    `to_delete` is what the dry run found before anything was deleted.
    """

    before: TableState
    after: TableState
    compacted: int
    left: int
    to_delete: int
    deleted: int


def maintain(location: DeltaLocation, policy: MaintenancePolicy, run_id: str = "") -> Maintained | None:
    """Maintain a table; None if there is none. Raises LakeError if something keeps it from being done."""
    table = location.open()
    if table is None:
        return None
    try:
        before = _state(location, table)
        retry_on_conflict(lambda: _keep_for(location, policy.retention), location.uri)
        partitions = table.partitions() if table.metadata().partition_columns else [{}]
        outcomes = Counter(compact(location, dict(one), policy.small_file, run_id) for one in partitions)
        found, deleted = _vacuum(_newest(location), run_id)
        _shorten_log(location)
        after = _state(location, _newest(location))
    except (OSError, DeltaError, obstore.exceptions.BaseError) as error:
        raise LakeError(
            f"{location.uri} can't be maintained: {first_line(error)}. What it holds still stands. "
            "Mend the place, and run the maintenance again."
        ) from error
    done, left = outcomes[Compacted.DONE], outcomes[Compacted.MEANWHILE_WRITTEN]
    return Maintained(before, after, done, left, found, deleted)


def maintenance_op(contract: type[Contract]) -> dg.OpDefinition:
    """Make a step that maintains a contract's table, and shows what it did beside the table."""
    key = asset_key(contract)

    @dg.op(name=f"maintain__{'__'.join(key.path)}", description=f"Maintains {contract.stored_as().sql_name}.")
    def maintain_table(
        context: dg.OpExecutionContext, lake: dg.ResourceParam[Lake], maintenance: dg.ResourceParam[MaintenancePolicy]
    ) -> None:
        with one_clear_failure(contract.stored_as().key):
            maintained = maintain(lake.location(contract), maintenance, context.run_id)
        if maintained is None:
            context.log.info("There is no table %s yet.", contract.stored_as().sql_name)
        else:
            context.log_event(dg.AssetObservation(key, metadata=dict(_figures(maintained))))

    return maintain_table


def _figures(maintained: Maintained) -> Iterator[tuple[str, int]]:
    for name in TableState.__slots__:
        yield f"{name}_before", getattr(maintained.before, name)
        yield f"{name}_after", getattr(maintained.after, name)
    yield "partitions_compacted", maintained.compacted
    yield "partitions_left_as_written_meanwhile", maintained.left
    yield "files_to_delete_by_dry_run", maintained.to_delete
    yield "files_deleted", maintained.deleted


def _newest(location: DeltaLocation) -> DeltaTable:
    table = location.open()
    if table is None:
        raise LakeError(f"The table at {location.uri} was taken away while it was maintained.")
    return table


def _state(location: DeltaLocation, table: DeltaTable) -> TableState:
    files = location.files()
    entries = sum(_ENTRY.fullmatch(path) is not None for path in _log(location))
    return TableState(len(files), sum(file.bytes for file in files), table.version(), entries)


def _log(location: DeltaLocation) -> Iterator[str]:
    store = open_store(location.uri, location.storage_options)
    for batch in obstore.list(store, "_delta_log"):
        yield from (file["path"] for file in batch)


def _keep_for(location: DeltaLocation, retention: timedelta) -> None:
    """Write into the table how long replaced files are kept, so that whoever deletes them heeds it, Spark as well."""
    table = _newest(location)
    wanted = f"interval {int(retention.total_seconds() // 3600)} hours"
    set_to = table.metadata().configuration.get(_RETENTION)
    if set_to != wanted and not (set_to is None and retention == _RETENTION_UNLESS_SET):
        table.alter.set_table_properties({_RETENTION: wanted}, commit_properties=CommitProperties(max_commit_retries=0))


def _vacuum(table: DeltaTable, run_id: str) -> tuple[int, int]:
    """Delete the files that no version within the retention has, and those that a write left that was cut short."""
    found = table.vacuum(dry_run=True, full=True)
    if not found:
        # Deleting makes two versions, even of nothing.
        return 0, 0
    made = CommitProperties(custom_metadata=made_by(run_id))
    return len(found), len(table.vacuum(dry_run=False, full=True, commit_properties=made))


def _shorten_log(location: DeltaLocation) -> None:
    """Checkpoint the log if it has grown, and delete what is older than it is to be kept: 30 days, unless set."""
    table = _newest(location)
    checkpoints = [int(match[1]) for path in _log(location) if (match := _CHECKPOINT.fullmatch(path))]
    if table.version() > max(checkpoints, default=0):
        table.create_checkpoint()
    table.cleanup_metadata()
