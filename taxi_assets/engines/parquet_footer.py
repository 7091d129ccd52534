"""A Parquet file's footer, read without the file: rows, columns and statistics, from any store."""

from __future__ import annotations

import io
from typing import Any, Final

import obstore
import pyarrow as pa
import pyarrow.parquet as pq

from taxi_assets.errors import first_line

MAGIC: Final = b"PAR1"
_MAGIC_OF_ENCRYPTED: Final = b"PARE"
_TRAILER: Final = 8
# It is held whole, and several times over once it is parsed; that of a month has some ten thousand bytes.
_LONGEST: Final = 16 * 1024 * 1024
# What Polars says of files that are sound, and written in a way that it doesn't know.
_NOT_KNOWN: Final = ("not yet implemented", "not supported")


def read_footer(store: obstore.store.ObjectStore, path: str, size: int) -> pq.FileMetaData:
    """Read the footer of a file of `size` bytes with two small requests.

    Raises ValueError saying what is wrong if there is no whole Parquet file.
    """
    if size < len(MAGIC) + _TRAILER:
        raise ValueError(f"it has {size} bytes, fewer than the shortest Parquet file")
    head = bytes(obstore.get_range(store, path, start=0, length=len(MAGIC)))
    trailer = bytes(obstore.get_range(store, path, start=size - _TRAILER, length=_TRAILER))
    if head == _MAGIC_OF_ENCRYPTED:
        raise ValueError("its footer is encrypted; only a decrypted copy of it can be used")
    if head != MAGIC:
        raise ValueError(f"it doesn't begin with {MAGIC.decode()}, as Parquet does")
    length = int.from_bytes(trailer[:4], "little")
    if trailer[4:] != MAGIC or length + _TRAILER + len(MAGIC) > size:
        raise ValueError("its end is missing: it was cut off while it was copied")
    if not length:
        raise ValueError("its footer has no bytes")
    if length > _LONGEST:
        raise ValueError(f"its footer has {length:,} bytes, which none of a table has")
    footer = bytes(obstore.get_range(store, path, start=size - _TRAILER - length, length=length))
    try:
        return pq.read_metadata(io.BytesIO(MAGIC + footer + trailer))
    except (OSError, ValueError, pa.ArrowException) as error:
        raise ValueError(f"its footer can't be read ({first_line(error)})") from error


def problem_of_reading(error: BaseException) -> str:
    """Say what is wrong with a Parquet file whose footer is sound and whose rows Polars can't read."""
    says = first_line(error)
    # The footer says that, too, but pyarrow has no word for it, and dies of a question about such a column.
    if "Encryption error" in says:
        return f"has encrypted columns; only a decrypted copy of it can be used ({says})"
    if any(word in says for word in _NOT_KNOWN):
        return f"is written in a way that can't be read here ({says})"
    return f"is damaged and can't be read to its end ({says})"


def statistics(footer: pq.FileMetaData) -> dict[str, tuple[Any, Any, int | None]]:
    """Return, for each column that isn't nested, its least and greatest value and its number of nulls, where known.

    Only for files that we have written: of an encrypted column pyarrow can't be asked.
    """
    groups = [footer.row_group(index) for index in range(footer.num_row_groups)]
    found: dict[str, tuple[Any, Any, int | None]] = {}
    for position in range(footer.num_columns):
        chunks = [group.column(position) for group in groups]
        if any("." in chunk.path_in_schema or chunk.statistics is None for chunk in chunks):
            continue
        name, parts = footer.schema.column(position).name, [chunk.statistics for chunk in chunks]
        lows = [part.min for part in parts if part.has_min_max]
        highs = [part.max for part in parts if part.has_min_max]
        nulls = sum(part.null_count for part in parts) if all(part.has_null_count for part in parts) else None
        found[name] = (min(lows, default=None), max(highs, default=None), nulls)
    return found
