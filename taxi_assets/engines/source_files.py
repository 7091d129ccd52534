"""Source files opened: that a file is what its name says, what its rows are, and what its columns mean.

Giving the rows their contract's types is typed_rows.py's. How CSV is taken apart is csv_lines.py's, what Parquet may
hold and how it is scanned parquet_rows.py's.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

import obstore
import polars as pl

from taxi_assets.engines.csv_lines import (
    LONGEST_LINE,
    count_fields,
    count_lines,
    head,
    is_torn,
    last_line,
    least_fields,
    scan_rows,
    split_header,
)
from taxi_assets.engines.expansion import MOST_COLUMNS, require_short_names, too_many_columns
from taxi_assets.engines.parquet_footer import read_footer
from taxi_assets.engines.parquet_rows import require_readable, scan_parquet
from taxi_assets.errors import printable
from taxi_assets.landing import LandedFile, Landing

# What other kinds of file begin with, as a line of text.
_NO_CSV = {
    "\x1f\x8b": ("it is gzipped", "Name it .csv.gz."),
    "PK\x03\x04": ("it is a zip archive", "Unpack it, and put what is in it into landing."),
    "PAR1": ("it is Parquet", "Name it .parquet."),
}
_OTHER_SEPARATORS = ";\t|"
_LONGEST_SHOWN = 60
_BEFORE_TEXT = "\ufeff \t\n\r\x0b\x0c"
# An object, or an array of anything; a header of CSV has neither.
_JSON = re.compile(r"""\{\s*["}]|\[\s*[\[{"\]\d]""")
_FETCH_AGAIN = "The server didn't have the file; fetch it again."


class Format(StrEnum):
    """How a source file is written; the value is the ending of its name."""

    PARQUET = "parquet"
    CSV = "csv"
    CSV_GZ = "csv.gz"


@dataclass(frozen=True, slots=True)
class Source:
    """A source file opened for reading: its rows, numbered from 1.

    In `rows` the file's columns are called by their place: its own names may be patterns to Polars, as `*` or
    `^total$`, or the same as ours. `names` has what each of them is called in the file, in the file's order.
    """

    file: LandedFile
    rows: pl.LazyFrame
    names: Mapping[str, str]
    cut_off: str = ""
    """What looks as if the file's end were missing, in a sentence that names the file; empty if nothing does."""

    @property
    def columns(self) -> tuple[str, ...]:
        """The file's names of its columns."""
        return tuple(self.names.values())

    def without(self, columns: Collection[str]) -> Source:
        """Return the source as if it had not these columns, called as in the file."""
        gone = [place for place, name in self.names.items() if name in columns]
        return replace(
            self,
            rows=self.rows.drop(gone),
            names={place: name for place, name in self.names.items() if place not in gone},
        )

    @property
    def types(self) -> dict[str, str]:
        """The type of each column as the file has it; in a CSV all are text."""
        schema = self.rows.collect_schema()
        return {name: str(schema[place]) for place, name in self.names.items()}


def open_source(landing: Landing, file: LandedFile, file_format: Format) -> Source:
    """Open a file, and see that it is what its name says.

    Raises LandingError, with file, problem and remedy, if it's gone, no file, empty, cut off, an error page, or has no
    rows. Whether a CSV is cut off can't be told for sure: one that looks so is used once it has settled. See
    docs/adr/0014.
    """
    file.require_file()
    if file.size == 0:
        raise file.unusable("it is empty (0 bytes)")
    try:
        return _open_parquet(landing, file) if file_format is Format.PARQUET else _open_csv(landing, file, file_format)
    except (OSError, obstore.exceptions.BaseError) as error:
        raise file.unreadable(error) from error


def count_rows(landing: Landing, file: LandedFile, file_format: Format) -> int:
    """Count a file's rows without parsing them: by a Parquet file's footer, by a CSV's lines that aren't blank."""
    if file_format is Format.PARQUET:
        return int(_footer(landing, file).num_rows)
    return count_lines(landing, file, zipped=file_format is Format.CSV_GZ) - 1


def canonical_names(source: Source, names: Mapping[str, str]) -> dict[str, str]:
    """Map a file's columns to canonical names; `names` has the file's in lower case. Unknown columns are left out.

    Raises LandingError if two columns of the file mean the same.
    """
    mapped: dict[str, str] = {}
    for name in source.columns:
        canonical = names.get(name.strip().lower())
        if canonical is None:
            continue
        twin = next((other for other, meaning in mapped.items() if meaning == canonical), None)
        if twin is not None:
            raise source.file.unusable(f"its columns '{twin}' and '{name}' are both {canonical}")
        mapped[name] = canonical
    return mapped


def _open_parquet(landing: Landing, file: LandedFile) -> Source:
    footer = _footer(landing, file)
    require_readable(file, footer)
    places = _by_place(footer.schema.to_arrow_schema().names)
    return Source(file, scan_parquet(landing, file, footer, places), places)


def _by_place(names: Sequence[str]) -> dict[str, str]:
    """Call columns by their place in the file."""
    return {f"column_{place}": name for place, name in enumerate(names)}


def _footer(landing: Landing, file: LandedFile) -> Any:
    try:
        return read_footer(landing.store, file.path, file.size)
    except ValueError as error:
        start = bytes(obstore.get_range(landing.store, file.path, start=0, length=min(file.size, 500)))
        _require_no_answer(file, start.decode("utf-8", "replace"), error)
        raise file.unusable(f"it is not a whole Parquet file: {error}") from error


def _open_csv(landing: Landing, file: LandedFile, file_format: Format) -> Source:
    zipped = file_format is Format.CSV_GZ
    first = head(landing, file, zipped=zipped)
    header_line = first[0] if first else ""
    for start, (problem, remedy) in _NO_CSV.items():
        if header_line.startswith(start):
            raise file.unusable(problem, remedy)
    _require_no_answer(file, " ".join(first))
    if "\0" in header_line:
        raise file.unusable(
            "its header holds NUL bytes: it is in UTF-16, not in UTF-8, or damaged",
            "Write it as UTF-8 (iconv -f UTF-16 -t UTF-8), or fetch it again.",
        )
    if header_line.count(",") >= MOST_COLUMNS:
        raise too_many_columns(file, header_line.count(",") + 1)
    if is_torn(header_line):
        raise file.unusable(
            "a quote in its header has no other: a name goes on in the next line, or the header is damaged",
            "Write each name in one line, or fetch it again.",
        )
    header = split_header(header_line)
    require_short_names(file, header)
    separator = next((mark for mark in _OTHER_SEPARATORS if mark in header_line.strip()), None)
    if len(header) == 1 and separator is not None:
        raise file.unusable(f"its columns are separated by {separator!r}, not by commas", "Write it with commas.")
    if len(first) < 2:
        raise file.unusable("it has no rows below its header", "A month that was published has some; fetch it again.")
    cut_off = _cut_off(landing, file, header, zipped=zipped)
    settles_at = landing.settles_at(file) if cut_off else None
    if settles_at is not None:
        raise file.unusable(
            f"it {cut_off}",
            "Land the whole file. If this is all of it, end its last line, or wait until "
            f"{settles_at:%Y-%m-%d %H:%M} UTC (TAXI_SETTLE_SECONDS is {landing.settle_seconds}), and run its month "
            "again: materialize --failed MONTH.",
        )
    says = f"{file.path} {cut_off}." if cut_off else ""
    places = _by_place(header)
    return Source(file, scan_rows(landing, file, list(places), least_fields(header), zipped=zipped), places, says)


def _cut_off(landing: Landing, file: LandedFile, header: Sequence[str], *, zipped: bool) -> str:
    """Say what is odd about a CSV's last line, if anything is: it lacks fields, or its end.

    Cut within its last field a line has all fields, and `2.5` of `2.50` can't be told from `2.5`: the missing end alone
    shows it.
    """
    line, has_end = last_line(landing, file, zipped=zipped)
    if len(line) > LONGEST_LINE:
        # No line at all: who reads the rows is told.
        return ""
    count, least = count_fields(line), least_fields(header)
    start = "..." if len(line) > _LONGEST_SHOWN else ""
    shown = f"its last line, '{file.quoted(f'{start}{printable(line[-_LONGEST_SHOWN:])}')}',"
    if count is None:
        return "" if has_end else f"is cut off: {shown} has no line end, and quotes that don't pair"
    if count < least:
        fields = f"{shown} has {count} of {least} fields"
        return f"looks cut off: {fields}" if has_end else f"is cut off: {fields}, and no line end"
    return "" if has_end else f"may be cut off: {shown} has no line end, so that its last value may lack some"


def _require_no_answer(file: LandedFile, start: str, cause: Exception | None = None) -> None:
    """Raise LandingError for a file that begins like what servers answer instead of a file: HTML, XML or JSON."""
    text = " ".join(start.lstrip(_BEFORE_TEXT).split())
    if not text.startswith("<") and not _JSON.match(text):
        return
    code = text.partition("<Code>")[2].partition("</Code>")[0]
    shown = file.quoted(printable(text[:_LONGEST_SHOWN]) + ("..." if len(text) > _LONGEST_SHOWN else ""))
    if text.startswith("<"):
        page = f"it is a server's error answer ({file.quoted(code)})" if code else "it is a page of HTML or XML"
    else:
        page = f"it is a server's answer in JSON ({shown})"
    raise file.unusable(f"{page}, not data", _FETCH_AGAIN) from cause
