"""CSV files by their lines: whatever a line holds, it is one row, and a line that isn't blank is never passed over.

Files that agencies publish need that: line ends are mixed, a blank line follows the header, rows have more fields than
it, and a file that was cut off ends in half a line. Readers that parse first fail or, worse, misname columns.
"""

from __future__ import annotations

import gzip
import io
import zlib
from collections.abc import Iterator, Sequence
from typing import Any, Final

import obstore
import polars as pl

from taxi_assets.landing import LandedFile, Landing

# A header has no line break, so no file has columns of these names.
ROW: Final = "\nrow"
"""Column that numbers a file's rows from 1."""
SHORT_LINE: Final = "\nline"
"""Column that holds a line which has fewer fields than the header, whole; null for others."""
SURPLUS: Final = "\nsurplus"
"""Column that holds what stands behind the last field of the header, where it isn't empty."""

_BLOCK: Final = 4 * 1024 * 1024
_BLANKS: Final = " \t\n\r\x0b\x0c"
_FIELD: Final = r'"(?:[^"]|"")*"|[^,]*'
_QUOTED: Final = r'^"((?:[^"]|"")*)"$'


def lines(landing: Landing, file: LandedFile, *, zipped: bool) -> Iterator[bytes]:
    """Read a file's lines but the blank ones. Raises LandingError for a file that can't be unzipped to its end."""
    stream: Any = io.BufferedReader(
        _Readable(obstore.open_reader(landing.store, file.path, buffer_size=_BLOCK)), buffer_size=_BLOCK
    )
    try:
        for line in gzip.GzipFile(fileobj=stream) if zipped else stream:
            if line.strip():
                yield line
    except EOFError as error:
        raise file.unusable("its end is missing: it was cut off while it was copied") from error
    except (gzip.BadGzipFile, zlib.error) as error:
        raise file.unusable(f"it can't be unzipped ({error})") from error


def split_header(line: bytes) -> list[str]:
    """Read the names in a header line, quoted or bare, behind a byte order mark or not.

    A name that is empty or repeated can't be addressed and becomes ``_column_3``, by its place in the line.
    """
    names = [name.strip().strip('"').strip() for name in line.decode("utf-8-sig", "replace").strip().split(",")]
    return [name if name and names.index(name) == place else f"_column_{place + 1}" for place, name in enumerate(names)]


def scan_rows(landing: Landing, file: LandedFile, header: Sequence[str]) -> pl.LazyFrame:
    """Return the lines below the header as text: `ROW`, a column per name, `SURPLUS` and `SHORT_LINE`."""
    rows = (
        pl.scan_lines(landing.uri(file), storage_options=dict(landing.storage_options) or None, glob=False)
        .filter(pl.col("line").str.strip_chars(_BLANKS).str.len_bytes() > 0)
        .with_row_index(ROW)
        # Row 0 is the header.
        .filter(pl.col(ROW) > 0)
        .with_columns(pl.col(ROW).cast(pl.Int64), _split(pl.col("line")).alias("fields"))
    )
    fields, width = pl.col("fields"), pl.col("fields").list.len()
    return rows.select(
        ROW,
        *(fields.list.get(place, null_on_oob=True).str.strip_chars().alias(name) for place, name in enumerate(header)),
        pl.when(width > len(header))
        .then(fields.list.slice(len(header)).list.join(",").str.strip_chars(", "))
        .alias(SURPLUS),
        pl.when(width < len(header)).then(pl.col("line")).alias(SHORT_LINE),
    )


class _Readable(io.RawIOBase):
    """A store's reader as one of Python's own, which obstore's isn't quite."""

    def __init__(self, reader: obstore.ReadableFile) -> None:
        self._reader = reader

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        block = bytes(self._reader.read(len(buffer)))
        buffer[: len(block)] = block
        return len(block)


def _split(line: pl.Expr) -> pl.Expr:
    """Split a line at its commas, those within quotes aside. Lines without a quote, nearly all, take the fast way."""
    with_quotes = pl.when(line.str.contains('"', literal=True)).then(line)
    unquoted = pl.element().str.strip_chars().str.replace(_QUOTED, "$1").str.replace_all('""', '"', literal=True)
    return pl.coalesce(with_quotes.str.extract_all(_FIELD).list.eval(unquoted), line.str.split(","))
