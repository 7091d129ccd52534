"""Notes on a partition, in the footer of its data file: what is known of where its rows came from.

They are replaced with the rows, in the same commit, and cost readers of the rows nothing. See docs/adr/0008.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from taxi_assets.engines.delta_log import DeltaLocation
from taxi_assets.engines.parquet_footer import read_footer
from taxi_assets.object_store import open_store

_OF_THE_WRITER: Final = b"ARROW:schema"


def read_notes(location: DeltaLocation, partition: Mapping[str, Any]) -> dict[str, str]:
    """Return the notes on a partition; none if it isn't stored, or was rewritten by something else."""
    files = location.files(partition)
    if not files:
        return {}
    store = open_store(location.uri, location.storage_options)
    kept = read_footer(store, files[0].path, files[0].bytes).metadata or {}
    return {name.decode(): text.decode() for name, text in kept.items() if name != _OF_THE_WRITER}
