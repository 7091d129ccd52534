"""The Delta log, by delta-rs: where a table stands, what it holds, and commits. Data files are written elsewhere.

The log is the same whichever engine computes, so row counts and versions are read from it and nothing is scanned.
"""

from __future__ import annotations

import json
import math
import random
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from decimal import Decimal
from typing import Any, Final, TypeVar
from urllib.parse import unquote

from deltalake import CommitProperties, DeltaTable, Field, Schema
from deltalake.exceptions import CommitFailedError, DeltaError, TableNotFoundError
from deltalake.schema import ArrayType, PrimitiveType
from deltalake.transaction import AddAction

from taxi_assets.contracts import Column, Contract
from taxi_assets.engines.damaged_log import last_commit_is_empty, remedy
from taxi_assets.errors import ContractError, LakeError, first_line

RUN_ID: Final = "run_id"
"""Under this name a commit says which run made it, if one did."""

_T = TypeVar("_T")
_TRIES: Final = 30
_LONGEST_WAIT_SECONDS: Final = 2.0
_NULLS: Final = "null_count."


@dataclass(frozen=True, slots=True)
class DataFile:
    """A data file of a table: its path below the table's, its rows (if the log says), and its size in bytes.

    `filled` are the columns that hold a value in some row, `empty` those that hold none, as far as the log counts their
    nulls.
    """

    path: str
    rows: int | None
    bytes: int
    filled: frozenset[str] = frozenset()
    empty: frozenset[str] = frozenset()


@dataclass(frozen=True)
class DeltaLocation:
    """Where a Delta table stands, and how to get there (object_store's options; none for a local path)."""

    uri: str
    # Not shown: they may hold secrets.
    storage_options: Mapping[str, str] = field(default_factory=dict, repr=False)

    def open(self) -> DeltaTable | None:
        """Load the table's newest state; None when there is no table."""
        try:
            table = _Table(self.uri, storage_options=dict(self.storage_options) or None)
        except TableNotFoundError:
            return None
        except OSError as error:
            raise LakeError(
                f"The lake can't be reached at {self.uri}: {first_line(error)}. See that it is there, and may be read."
            ) from error
        except DeltaError as error:
            raise self._unreadable(first_line(error)) from error
        if last_commit_is_empty(self.uri, table.version()):
            raise self._unreadable("its last commit is empty")
        return table

    def _unreadable(self, problem: str) -> LakeError:
        mending = remedy(self.uri, self.storage_options)
        advice = (
            f"Its log is damaged. {mending}"
            if mending
            else "No entry of its log was cut off: see what else writes to it, by the newest files in its _delta_log."
        )
        return LakeError(f"The Delta table at {self.uri} can't be read: {problem}. {advice}")

    def open_as_of(self, moment: datetime) -> DeltaTable | None:
        """Load the table as it was at a moment; None when there was no table yet.

        By the times that its commits note: delta-rs goes by those of the log's files, which a copied lake hasn't kept.
        Raises LakeError for what was before the log begins.
        """
        table = self.open()
        if table is None:
            return None
        commits = [(commit["version"], int(commit["timestamp"]) / 1000) for commit in table.history()]
        then = [version for version, made in commits if made <= moment.timestamp()]
        oldest = min(version for version, _ in commits)
        if not then and oldest == 0:
            return None
        try:
            if then:
                table.load_as_version(max(then))
                return table
        except (DeltaError, OSError):
            # An old version needs a checkpoint that is older still, which the cleaning of the log may have taken.
            oldest = max(then) + 1
        raise LakeError(
            f"{self.uri} can't be told as of {moment}: its log was cleaned up to version {oldest}. Name a later time."
        )

    def open_stored(self, contract: type[Contract]) -> DeltaTable:
        """Load the newest state of a contract's table; raises LakeError when there is no table."""
        table = self.open()
        if table is None:
            raise LakeError(f"There is no table {contract.stored_as().key} yet ({self.uri}). Materialize it first.")
        return table

    def require(self, contract: type[Contract]) -> None:
        """See that the table, if there is one, has its contract's columns or can be given them.

        Raises ContractError if not.
        """
        table = self.open()
        if table is not None:
            _new_fields(contract, table, self.uri)

    def create_if_missing(self, contract: type[Contract]) -> DeltaTable:
        """Return the table, made from its contract if there is none, and with the columns that the contract has gained.

        Made before anything is committed: writers that create a table as they write can lose each other's rows. Raises
        ContractError if the stored table differs in more than columns that may be null and are new.
        """
        table = self.open()
        if table is None:
            schema = Schema([_delta_field(column) for column in contract.columns()])
            stored_as = contract.stored_as()
            retry_on_conflict(
                lambda: DeltaTable.create(
                    self.uri,
                    schema,
                    mode="ignore",
                    partition_by=list(stored_as.replaced_by),
                    name=stored_as.sql_name,
                    description=contract.story(),
                    storage_options=dict(self.storage_options) or None,
                    # Tried again within delta-rs, a table that another has made meanwhile would be made once more.
                    commit_properties=CommitProperties(max_commit_retries=0),
                ),
                self.uri,
            )
            table = self.open()
            if table is None:
                raise LakeError(
                    f"No Delta table could be made at {self.uri}. Check that the lake's root can be written."
                )
        return self._with_new_columns(contract, table) if _new_fields(contract, table, self.uri) else table

    def _with_new_columns(self, contract: type[Contract], table: DeltaTable) -> DeltaTable:
        """Add the contract's new columns to the table's schema; the files that it holds have nulls there."""

        def add() -> DeltaTable:
            newest = self.open() or table
            # Asked again, as another writer may have added them meanwhile.
            fields = _new_fields(contract, newest, self.uri)
            if fields:
                newest.alter.add_columns(fields, commit_properties=CommitProperties(max_commit_retries=0))
            return newest

        return retry_on_conflict(add, self.uri)

    def version(self) -> int | None:
        """Return the table's version; None when there is no table."""
        table = self.open()
        return None if table is None else table.version()

    def stored_partitions(self) -> list[dict[str, str]]:
        """List the partitions that the table holds, each as column and text of its value."""
        table = self.open()
        return [] if table is None else [dict(partition) for partition in table.partitions()]

    def files(self, partition: Mapping[str, Any] | None = None) -> list[DataFile]:
        """List the data files of a partition, or of the table; none if it was never stored."""
        table = self.open()
        return [] if table is None else files_of(table, partition or {})

    def row_count(self, partition: Mapping[str, Any] | None = None) -> int | None:
        """Count the rows of a partition, or of the table, by the log; None if it was never stored."""
        files = self.files(partition)
        counts = [file.rows for file in files if file.rows is not None]
        if len(counts) < len(files):
            raise LakeError(
                f"The log of {self.uri} doesn't say how many rows {len(files) - len(counts)} of its files hold: "
                "something else has written to it. Materialize its partitions again."
            )
        return sum(counts) if files else None


class _Table(DeltaTable):
    # delta-rs names a local table's files below its URL, in which blanks are escaped; Polars opens them as paths.
    def file_uris(self, *args: Any, **kwargs: Any) -> list[str]:
        root = self.table_uri.removeprefix("file://")
        files = super().file_uris(*args, **kwargs)
        return files if "://" in root else [unquote(root) + file.removeprefix(root) for file in files]


def files_of(table: DeltaTable, partition: Mapping[str, Any]) -> list[DataFile]:
    """List the data files of a partition in a table's state; see `DeltaLocation.files`."""
    wanted = {name: partition_text(value) for name, value in partition.items()}
    actions = table.get_add_actions(flatten=True)
    columns = {name: actions.column(name).to_pylist() for name in actions.schema.names}
    counts = columns.get("num_records") or [None] * len(columns["path"])
    null_counts = {name.removeprefix(_NULLS): columns[name] for name in columns if name.startswith(_NULLS)}
    return [
        DataFile(
            path,
            rows,
            size,
            filled=frozenset(name for name, nulls in null_counts.items() if _is_less(nulls[place], rows)),
            empty=frozenset(name for name, nulls in null_counts.items() if rows and nulls[place] == rows),
        )
        for place, (path, rows, size) in enumerate(zip(columns["path"], counts, columns["size_bytes"], strict=True))
        if all(partition_text(columns[f"partition.{name}"][place]) == text for name, text in wanted.items())
    ]


def _is_less(nulls: int | None, rows: int | None) -> bool:
    return nulls is not None and rows is not None and nulls < rows


def partition_text(value: Any) -> str:
    """Write a partition value as the Delta log does."""
    return value.isoformat() if isinstance(value, date) else str(value)


def made_by(run_id: str) -> dict[str, str]:
    """Return what a commit says of the run that makes it."""
    return {RUN_ID: run_id} if run_id else {}


def replace_partition(
    location: DeltaLocation,
    contract: type[Contract],
    partition: Mapping[str, Any],
    added: Sequence[AddAction],
    run_id: str = "",
) -> tuple[int, DeltaTable]:
    """Commit data files in the place of those of a partition, and return the version that this made.

    With it comes the table as it was just before, which holds what was replaced.

    Retried on conflict from a fresh snapshot, so that writers of other partitions never cost a run.
    """

    def commit() -> tuple[int, DeltaTable]:
        table = location.create_if_missing(contract)
        table.create_write_transaction(
            list(added),
            mode="overwrite",
            schema=table.schema(),
            partition_by=list(contract.stored_as().replaced_by),
            partition_filters=[(name, "=", partition_text(value)) for name, value in partition.items()],
            # Not retried within delta-rs: the commit is then the version after this snapshot, or it fails.
            commit_properties=CommitProperties(max_commit_retries=0, custom_metadata=made_by(run_id)),
        )
        return table.version() + 1, table

    return retry_on_conflict(commit, location.uri)


def retry_on_conflict(
    commit: Callable[[], _T], uri: str, conflicts: tuple[type[Exception], ...] = (CommitFailedError,)
) -> _T:
    """Call `commit` until no other writer comes in between: 30 times with growing waits, then LakeError."""
    for attempt in range(_TRIES):
        try:
            return commit()
        except conflicts as error:
            conflict = error
            # Waits differ from writer to writer, or those that collided once would collide again.
            time.sleep(random.uniform(0, min(_LONGEST_WAIT_SECONDS, 0.02 * 2**attempt)))  # noqa: S311
    raise LakeError(
        f"{uri} is being written by so many others that {_TRIES} tries to commit failed. Run this again. "
        f"The last conflict: {first_line(conflict)}"
    ) from conflict


def statistics_json(rows: int, columns: Mapping[str, tuple[Any, Any, int | None]]) -> str:
    """Write a data file's statistics as the Delta protocol has them: least, greatest, and number of nulls."""
    least = {name: _statistic(low) for name, (low, _, _) in columns.items() if _is_bound(low)}
    greatest = {name: _statistic(high) for name, (_, high, _) in columns.items() if _is_bound(high)}
    nulls = {name: count for name, (_, _, count) in columns.items() if count is not None}
    return json.dumps({"numRecords": rows, "minValues": least, "maxValues": greatest, "nullCount": nulls}, default=str)


def _is_bound(value: Any) -> bool:
    """Whether a value can stand in the log as it is: a bound rounded inwards would make readers skip its row."""
    if isinstance(value, float):
        # JSON has no infinity, and a log that holds one can't be read by anyone.
        return math.isfinite(value)
    return value is not None and not (isinstance(value, Decimal) and Decimal(str(float(value))) != value)


def _statistic(value: Any) -> Any:
    if hasattr(value, "isoformat"):
        return value.isoformat(timespec="microseconds") if hasattr(value, "hour") else value.isoformat()
    return value if isinstance(value, (int, float, str)) else float(value)


def _delta_field(column: Column) -> Field:
    name = column.dtype.delta
    delta_type = (
        ArrayType(PrimitiveType("string"), contains_null=True) if name == "array<string>" else PrimitiveType(name)
    )
    # Nullable throughout: what must be there is a matter of the contract, which says so in its own words.
    return Field(column.name, delta_type, nullable=True, metadata={"comment": column.description})


def _new_fields(contract: type[Contract], table: DeltaTable, uri: str) -> list[Field]:
    """List what a stored table has to be given to be its contract's. Raises ContractError for any other difference."""
    stored = {field.name: str(field.type) for field in table.schema().fields}
    declared = {column.name: _delta_field(column) for column in contract.columns()}
    new = [column for column in contract.columns() if column.name not in stored]
    # Old files hold nulls in a new column.
    changes = [f"{column.name} is new and required" for column in new if column.required]
    changes += [f"{name} is gone" for name in stored if name not in declared]
    changes += [
        f"{name} was {stored[name]} and is {field.type}"
        for name, field in declared.items()
        if name in stored and stored[name] != str(field.type)
    ]
    if not changes:
        return [declared[column.name] for column in new]
    raise ContractError(
        f"The stored table at {uri} isn't what the contract {contract.__name__} says: "
        f"{'; '.join(changes)}. Nothing was written. "
        "Move the table away and materialize its partitions again."
    )
