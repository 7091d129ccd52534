"""A table's versions: what each commit did, by the log itself, and making an earlier version the current one.

What Dagster is told of that is restored.py's.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

import obstore
from deltalake import CommitProperties, DeltaTable
from deltalake.exceptions import CommitFailedError, DeltaError

from taxi_assets.contracts import Contract
from taxi_assets.engines import DeltaLocation
from taxi_assets.engines.delta_log import RUN_ID
from taxi_assets.errors import LakeError, UsageError, first_line
from taxi_assets.lake.lake import Lake
from taxi_assets.object_store import open_store

_ENTRY: Final = re.compile(r"_delta_log/([0-9]{20})\.json")
_CHECKPOINT: Final = re.compile(r"_delta_log/([0-9]{20})\.checkpoint\b")

Texts = Mapping[str, str]
"""A partition's values as the log writes them, by column."""


@dataclass(frozen=True, slots=True)
class Version:
    """What a commit did: the partitions that it wrote to, and the files, with their rows, that it added and removed.

    `run_id` is that of Dagster's run, if one made the commit. A `compaction` puts the same rows into other files.
    """

    number: int
    at: datetime
    operation: str
    run_id: str
    partitions: tuple[Texts, ...]
    rows_added: int | None
    files_added: int
    files_removed: int


@dataclass(frozen=True, slots=True)
class Restored:
    """What restoring did: the version it made, the partitions that are other ones now, and those that are gone."""

    version: int
    changed: tuple[Texts, ...]
    gone: tuple[Texts, ...]


def history(lake: Lake, contract: type[Contract], most: int) -> list[Version]:
    """Read what the newest commits to a table did, the newest first, as far back as its log goes."""
    location = lake.location(contract)
    location.open_stored(contract)
    store = open_store(location.uri, location.storage_options)
    entries = {int(match[1]): path for path in _listed(store, "_delta_log") if (match := _ENTRY.fullmatch(path))}
    newest = sorted(entries, reverse=True)[:most]
    return [_version(number, bytes(obstore.get(store, entries[number]).bytes())) for number in newest]


def restore(lake: Lake, contract: type[Contract], number: int) -> Restored:
    """Make a version of a table the current one, by a new commit; whole, or nothing is changed.

    Raises UsageError for a version that there isn't, LakeError for one whose files are deleted, and if someone else
    writes meanwhile.
    """
    location, name = lake.location(contract), contract.stored_as().sql_name
    table = location.open_stored(contract)
    then = _at(location, name, table.version(), number)
    now_files, then_files = _files(table), _files(then)
    _require_there(location, name, number, {path for paths in then_files.values() for path in paths})
    try:
        # Not retried: what another has written since would be undone by who never saw it.
        table.restore(number, commit_properties=CommitProperties(max_commit_retries=0))
    except CommitFailedError as error:
        raise LakeError(
            f"{name} was written while it was to be restored. Nothing was changed. See in its history what was "
            "written, and restore it again."
        ) from error
    except (DeltaError, OSError) as error:
        raise LakeError(f"{name} can't be restored to version {number}: {first_line(error)}.") from error
    changed = [dict(key) for key, paths in sorted(then_files.items()) if now_files.get(key) != paths]
    gone = [dict(key) for key in sorted(now_files) if key not in then_files]
    # By the table in hand: another may have written since.
    return Restored(table.version(), tuple(changed), tuple(gone))


def _version(number: int, entry: bytes) -> Version:
    actions = [json.loads(line) for line in entry.splitlines() if line.strip()]
    info: Mapping[str, Any] = next((action["commitInfo"] for action in actions if "commitInfo" in action), {})
    added = [action["add"] for action in actions if "add" in action]
    removed = [action["remove"] for action in actions if "remove" in action]
    touched = {_key(one.get("partitionValues") or {}) for one in (*added, *removed)}
    counts = [json.loads(one.get("stats") or "{}").get("numRecords") for one in added]
    rows = [int(count) for count in counts if count is not None]
    is_compaction = bool(added) and not any(one.get("dataChange", True) for one in (*added, *removed))
    return Version(
        number=number,
        at=datetime.fromtimestamp(info.get("timestamp", 0) / 1000, UTC),
        operation="COMPACTION" if is_compaction else info.get("operation", ""),
        run_id=_run_id(info),
        partitions=tuple(dict(key) for key in sorted(touched) if key),
        rows_added=sum(rows) if len(rows) == len(added) else None,
        files_added=len(added),
        files_removed=len(removed),
    )


def _run_id(info: Mapping[str, Any]) -> str:
    """Find which run made a commit: delta-rs notes it beside the operation, Spark as its user's metadata."""
    noted = info.get(RUN_ID)
    if noted is None:
        try:
            noted = json.loads(info.get("userMetadata") or "{}").get(RUN_ID)
        except (ValueError, AttributeError):
            # Something else's, in its own words.
            return ""
    return str(noted or "")


def _at(location: DeltaLocation, name: str, newest: int, number: int) -> DeltaTable:
    if not 0 <= number <= newest:
        raise UsageError(
            f"There is no version {number} of {name}; the newest is {newest}. See its history for those that there are."
        )
    if number == newest:
        raise UsageError(f"Version {number} of {name} is the current one. See its history for others.")
    try:
        return DeltaTable(location.uri, version=number, storage_options=dict(location.storage_options) or None)
    except (DeltaError, OSError) as error:
        cleaned_up = isinstance(error, DeltaError) and _is_cleaned_up(location, number)
        problem = "its entry in the log is cleaned up" if cleaned_up else first_line(error)
        raise LakeError(
            f"Version {number} of {name} can't be restored: {problem}. Nothing was changed. "
            "See its history for those that are left."
        ) from error


def _is_cleaned_up(location: DeltaLocation, number: int) -> bool:
    """Whether the log lacks an entry that a version is made up of: those since the last checkpoint before it."""
    paths = list(_listed(open_store(location.uri, location.storage_options), "_delta_log"))
    entries = {int(match[1]) for path in paths if (match := _ENTRY.fullmatch(path))}
    checkpoints = {int(match[1]) for path in paths if (match := _CHECKPOINT.match(path))}
    last = max((checkpoint for checkpoint in checkpoints if checkpoint <= number), default=-1)
    return not entries.issuperset(range(last + 1, number + 1))


def _require_there(location: DeltaLocation, name: str, number: int, paths: set[str]) -> None:
    there = set(_listed(open_store(location.uri, location.storage_options), None))
    absent = len(paths - there)
    if absent:
        raise LakeError(
            f"Version {number} of {name} can't be restored: {absent} of its {len(paths)} files are deleted (vacuumed). "
            "Nothing was changed. Restore a later version, or materialize its partitions again."
        )


def _files(table: DeltaTable) -> dict[tuple[tuple[str, str], ...], set[str]]:
    """Return the paths of a version's files by partition."""
    columns = table.metadata().partition_columns
    actions = table.get_add_actions(flatten=True)
    values = [actions.column(f"partition.{name}").to_pylist() for name in columns]
    found: dict[tuple[tuple[str, str], ...], set[str]] = {}
    for place, path in enumerate(actions.column("path").to_pylist()):
        key = _key({name: str(column[place]) for name, column in zip(columns, values, strict=True)})
        found.setdefault(key, set()).add(path)
    return found


def _key(values: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    return tuple(sorted((name, str(value)) for name, value in values.items()))


def _listed(store: obstore.store.ObjectStore, prefix: str | None) -> Iterator[str]:
    for batch in obstore.list(store, prefix):
        yield from (file["path"] for file in batch)
