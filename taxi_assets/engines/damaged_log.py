"""Which entry of a table's Delta log was cut off, as by a power failure, and what to do about it.

delta-rs doesn't say on which entry it fails, and takes an empty one for a commit that changed nothing.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import obstore

from taxi_assets.engines.parquet_footer import read_footer
from taxi_assets.object_store import open_store

_CHECKPOINT: Final = ".checkpoint.parquet"


def last_commit_is_empty(uri: str, version: int) -> bool:
    """Whether the entry of a table's newest version was cut off before its first byte.

    A store's entries are whole or not there; files on a disk needn't be.
    """
    entry = Path(uri) / "_delta_log" / f"{version:020}.json"
    return "://" not in uri and entry.exists() and entry.stat().st_size == 0


def remedy(uri: str, storage_options: Mapping[str, str]) -> str | None:
    """Name the newest entry that was cut off, and say what makes the table readable again; None if all are whole."""
    log = open_store(f"{uri}/_delta_log", storage_options)
    entries = {file["path"]: file["size"] for batch in obstore.list(log) for file in batch}
    for name in sorted(entries, reverse=True):
        if name.endswith(_CHECKPOINT) and not _is_parquet(log, name, entries[name]):
            return (
                f"Its checkpoint _delta_log/{name} was cut off. Move it and _delta_log/_last_checkpoint out of the "
                "table's folder: the entries before it say the same."
            )
        if name.endswith(".json") and not _is_commit(log, name):
            return (
                f"The entry _delta_log/{name} was cut off. Move it out of the table's folder: the table is then as it "
                "was before that write. Run the month again that was being written."
            )
    return None


def _is_commit(log: obstore.store.ObjectStore, name: str) -> bool:
    lines = bytes(obstore.get(log, name).bytes()).splitlines()
    try:
        return bool(lines) and all(isinstance(json.loads(line), dict) for line in lines)
    except ValueError:
        return False


def _is_parquet(log: obstore.store.ObjectStore, name: str, size: int) -> bool:
    try:
        read_footer(log, name, size)
    except ValueError:
        return False
    return True
