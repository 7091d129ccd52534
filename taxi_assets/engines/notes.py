"""Notes on a partition, in the footer of its data file: what is known of where its rows came from.

They are replaced with the rows, in the same commit, and cost readers of the rows nothing. See docs/adr/0008.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from taxi_assets.engines.delta_log import DataFile, DeltaLocation
from taxi_assets.engines.parquet_footer import read_footer
from taxi_assets.object_store import open_store

_OF_THE_WRITER: Final = (b"ARROW:schema", b"org.apache.spark.")


def read_notes(location: DeltaLocation, partition: Mapping[str, Any]) -> dict[str, str]:
    """Return the notes on a partition; none if it isn't stored, or was rewritten by something else."""
    return notes_in(location, location.files(partition)[:1])


def notes_in(location: DeltaLocation, files: Sequence[DataFile]) -> dict[str, str]:
    """Return the notes in some data files of a table."""
    if not files:
        return {}
    store = open_store(location.uri, location.storage_options)
    footers = [read_footer(store, file.path, file.bytes).metadata or {} for file in files]
    return {
        name.decode(): text.decode()
        for kept in footers
        for name, text in kept.items()
        if not name.startswith(_OF_THE_WRITER)
    }
