"""The Polars engine: all in this process, streaming, by delta-rs. Nothing else needs to be installed or started."""

from __future__ import annotations

import contextlib
import time
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import quote

import narwhals.stable.v1 as nw
import obstore
import polars as pl
import pyarrow.parquet as pq
from deltalake import CommitProperties, DeltaTable
from deltalake.transaction import AddAction

from taxi_assets.contracts import Contract, Frame
from taxi_assets.engines import polars_keys
from taxi_assets.engines.arrays import ArrayFunction, over_arrow
from taxi_assets.engines.conform import as_declared, conform
from taxi_assets.engines.delta_log import (
    DeltaLocation,
    files_of,
    made_by,
    partition_text,
    replace_partition,
    retry_on_conflict,
    statistics_json,
)
from taxi_assets.engines.engine import NO_NOTES, Members, Partition, Written
from taxi_assets.engines.parquet_footer import problem_of_reading, read_footer, statistics
from taxi_assets.engines.place_errors import naming_the_place, place_error_number
from taxi_assets.engines.polars_rows import find_repeats_and_members, look_up
from taxi_assets.engines.upserts import one_row_a_key, wins
from taxi_assets.errors import LakeError, UnreadableRowsError, first_line
from taxi_assets.object_store import open_store

# Streams where it can, so that memory doesn't grow with the month; Narwhals' own `collect` follows it too.
pl.Config.set_engine_affinity("streaming")

_ROW_GROUP: Final = 262_144
_LONGEST_TEXT_STATISTIC: Final = 32


@dataclass(frozen=True)
class PolarsEngine:
    """Implements `Engine` on Polars' lazy frames."""

    def read(self, contract: type[Contract], location: DeltaLocation, partitions: Sequence[Partition] | None) -> Frame:
        """See `Engine.read`."""
        return _scan(contract, location, location.open_stored(contract), partitions)

    def replace(
        self,
        contract: type[Contract],
        location: DeltaLocation,
        frame: Frame,
        partition: Partition,
        notes: Mapping[str, str] = NO_NOTES,
        *,
        run_id: str = "",
    ) -> Written:
        """See `Engine.replace`. One Parquet file streamed into the partition's folder, then one commit."""
        location.require(contract)
        path = new_path(partition)
        rows = nw.to_native(conform(contract, frame)).drop(*partition)
        with naming_the_place(location.uri):
            store = open_store(location.uri, location.storage_options, make=True)
            try:
                added, footer = write_data_file(location, rows, path, partition, notes)
                version, replaced = replace_partition(location, contract, partition, [added], run_id)
            except BaseException as error:
                if not may_be_committed(location, partition, path):
                    delete_quietly(store, path)
                if place_error_number(error, location.uri) is None and _is_of_what_was_read(error):
                    # What the operating system refuses may be whole.
                    refused = isinstance(error, OSError)
                    problem = f"can't be read ({first_line(error)})" if refused else problem_of_reading(error)
                    raise UnreadableRowsError(f"it {problem}") from error
                raise
        # By the snapshot in hand: the log of an earlier version may be cleaned up as soon as there is a newer one.
        before = _scan(contract, location, replaced, [partition]) if files_of(replaced, partition) else None
        options = dict(location.storage_options) or None
        after = pl.scan_parquet(f"{location.uri}/{path}", storage_options=options, glob=False)
        return Written(footer.num_rows, added.size, version, before, nw.from_native(after))

    def upsert(self, contract: type[Contract], location: DeltaLocation, frame: Frame, *, run_id: str = "") -> Written:
        """See `Engine.upsert`."""
        stored_as = contract.stored_as()
        whole = nw.to_native(conform(contract, frame)).collect()
        rows = nw.to_native(one_row_a_key(contract, nw.from_native(whole.lazy()))).collect()

        def merge() -> tuple[Mapping[str, Any], int]:
            table = location.create_if_missing(contract)
            metrics = (
                table.merge(
                    source=rows,
                    predicate=" AND ".join(f"stored.{key} = new.{key}" for key in stored_as.keys),
                    source_alias="new",
                    target_alias="stored",
                    # Not retried within delta-rs: rows are merged with those that another writer left.
                    commit_properties=CommitProperties(max_commit_retries=0, custom_metadata=made_by(run_id)),
                )
                .when_matched_update_all(predicate=wins(contract))
                .when_not_matched_insert_all()
                .execute()
            )
            return metrics, table.version()

        before = location.files()
        with naming_the_place(location.uri):
            metrics, version = retry_on_conflict(merge, location.uri)
        changed = int(metrics["num_target_rows_inserted"]) + int(metrics["num_target_rows_updated"])
        added = sum(file.bytes for file in location.files() if file not in before)
        return Written(changed, added, version)

    def flag_rows(self, frame: Frame, repeats: Mapping[str, Sequence[str]], members: Members, *, row_id: str) -> Frame:
        """See `Engine.flag_rows`."""
        rows: pl.LazyFrame = nw.to_native(frame)
        among = {flag: (columns, nw.to_native(small)) for flag, (columns, small) in members.items()}
        flags = find_repeats_and_members(rows, row_id, repeats, among)
        return nw.from_native(pl.concat([rows, flags.lazy()], how="horizontal"))

    def hold(self, frame: Frame) -> Frame:
        """See `Engine.hold`. Here it would cost memory, and computing again is fast."""
        return frame

    def look_up(self, frame: Frame, small: Frame, key: str, small_key: str) -> Frame:
        """See `Engine.look_up`."""
        return nw.from_native(look_up(nw.to_native(frame), nw.to_native(small), key, small_key))

    def with_computed(self, frame: Frame, name: str, columns: Sequence[str], compute: ArrayFunction) -> Frame:
        """See `Engine.with_computed`."""
        rows: pl.LazyFrame = nw.to_native(frame)

        function = over_arrow(compute)

        def batch(values: pl.Series) -> pl.Series:
            return pl.Series(name, function(*(values.struct.field(column).to_arrow() for column in columns)), pl.Int32)

        computed = pl.struct(list(columns)).map_batches(batch, return_dtype=pl.Int32, is_elementwise=True)
        return nw.from_native(rows.with_columns(computed.alias(name)))

    def with_digest(self, frame: Frame, name: str, columns: Sequence[str]) -> Frame:
        """See `Engine.with_digest`."""
        return nw.from_native(polars_keys.digest(nw.to_native(frame), name, columns))

    def with_keys(self, frame: Frame, named: Mapping[str, str]) -> Frame:
        """See `Engine.with_keys`."""
        return nw.from_native(polars_keys.keys(nw.to_native(frame), named))

    def seconds_between(self, start: nw.Expr, end: nw.Expr) -> nw.Expr:
        """See `Engine.seconds_between`."""
        return (end - start).dt.total_seconds()

    def literal(self, columns: Mapping[str, Sequence[Any]]) -> Frame:
        """See `Engine.literal`."""
        return nw.from_native(pl.LazyFrame(dict(columns)))


def new_path(partition: Partition) -> str:
    """Name a data file that is yet to be written, below its table."""
    folder = "".join(f"{quote(name)}={quote(partition_text(value), safe='')}/" for name, value in partition.items())
    return f"{folder}{uuid.uuid4()}.parquet"


def write_data_file(
    location: DeltaLocation,
    rows: pl.LazyFrame,
    path: str,
    partition: Partition,
    notes: Mapping[str, str],
    *,
    data_change: bool = True,
) -> tuple[AddAction, pq.FileMetaData]:
    """Write rows, without their partition's columns, as one data file; return what commits it, and its footer."""
    rows.sink_parquet(
        f"{location.uri}/{path}",
        compression="zstd",
        compression_level=1,
        row_group_size=_ROW_GROUP,
        metadata=dict(notes),
        storage_options=dict(location.storage_options) or None,
        mkdir=True,
        sync_on_close="data",
    )
    store = open_store(location.uri, location.storage_options)
    file = obstore.head(store, path)
    footer = read_footer(store, path, file["size"])
    added = AddAction(
        path=path,
        size=file["size"],
        partition_values={name: partition_text(value) for name, value in partition.items()},
        modification_time=int(file["last_modified"].timestamp() * 1000),
        data_change=data_change,
        stats=_delta_statistics(footer),
    )
    return added, footer


def _scan(
    contract: type[Contract], location: DeltaLocation, table: DeltaTable, partitions: Sequence[Partition] | None
) -> Frame:
    frame = pl.scan_delta(table, storage_options=dict(location.storage_options) or None)
    if partitions is not None:
        frame = frame.filter(
            pl.any_horizontal(
                [pl.lit(False)]
                + [pl.all_horizontal([pl.col(c) == pl.lit(v) for c, v in part.items()]) for part in partitions]
            )
        )
    return as_declared(contract, nw.from_native(frame))


def _delta_statistics(footer: pq.FileMetaData) -> str:
    """Write a file's statistics for the Delta log, without texts that a footer may have shortened."""
    columns = statistics(footer)
    for name, (low, high, nulls) in columns.items():
        if any(isinstance(value, (str, bytes)) and len(value) > _LONGEST_TEXT_STATISTIC for value in (low, high)):
            columns[name] = (None, None, nulls)
    return statistics_json(footer.num_rows, columns)


def may_be_committed(location: DeltaLocation, partition: Partition, path: str) -> bool:
    """Whether a file must stand: a commit that was cut short may have been made all the same."""
    try:
        return path in {file.path for file in location.files(partition)}
    except LakeError:
        # If the log is unreadable, assume that the commit succeeded. The error that led here is the one to tell.
        return True


def _is_of_what_was_read(error: BaseException) -> bool:
    # Polars panics on some damaged files; a panic is no Exception, and its class has no public name.
    return isinstance(error, (OSError, pl.exceptions.PolarsError)) or type(error).__name__ == "PanicException"


def delete_quietly(store: Any, path: str) -> None:
    """Delete a file that no commit has, as well as that goes."""
    # The file belongs to no commit, so readers never see it; if it can't be deleted now, vacuum does it.
    # A sink that fails may still be about to make its file in another thread, hence more than once.
    for wait in (0, 0.02, 0.1, 0.2):
        time.sleep(wait)
        with contextlib.suppress(OSError, obstore.exceptions.BaseError):
            obstore.delete(store, path)
