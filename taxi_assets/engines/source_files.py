"""Source files opened: that a file is what its name says, what its rows are, and what its columns mean.

Giving the rows their contract's types is typed_rows.py's, how CSV is taken apart csv_lines.py's.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

import obstore
import polars as pl
import polars.selectors as cs
import pyarrow as pa
import pyarrow.parquet as pq

from taxi_assets.engines.csv_lines import (
    LONGEST_LINE,
    ROW,
    count_fields,
    count_lines,
    head,
    is_torn,
    last_line,
    least_fields,
    scan_rows,
    split_header,
)
from taxi_assets.engines.expansion import (
    MOST_COLUMNS,
    holds_too_much,
    most_unpacked,
    require_short_names,
    too_many_columns,
)
from taxi_assets.engines.nested import text_bytes
from taxi_assets.engines.parquet_footer import problem_of_reading, read_footer
from taxi_assets.errors import printable
from taxi_assets.landing import LandedFile, Landing

# What other kinds of file begin with, as a line of text.
_NO_CSV = {
    "\x1f\x8b": ("it is gzipped", "Name it .csv.gz."),
    "PK\x03\x04": ("it is a zip archive", "Unpack it, and put what is in it into landing."),
    "PAR1": ("it is Parquet", "Name it .parquet."),
}
# Bytes that a value takes in memory, roughly, whatever it takes in the file.
_VALUE = 8
_MOST_DIGITS = 38
_DEEPEST = 20
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
    _require_sane(file, footer)
    names = footer.schema.to_arrow_schema().names
    require_short_names(file, names, footer.num_rows)
    repeated = _repeated(names)
    if repeated:
        raise file.unusable(f"it has more than one column named {file.quoted(', '.join(map(repr, repeated)))}")
    _require_known_types(file, footer)
    options = dict(landing.storage_options) or None
    places = _by_place(names)
    row = _free_name(names)

    def scan(schema: dict[str, Any] | None = None) -> pl.LazyFrame:
        return pl.scan_parquet(
            landing.uri(file),
            storage_options=options,
            glob=False,
            schema=schema,
            row_index_name=row,
            row_index_offset=1,
        )

    stored = scan()
    called = {row: ROW, **{name: place for place, name in places.items()}}
    _require_short_texts(file, stored.rename(called))
    times = _times_of_96_bits(footer)
    if times:
        # Polars reads them as nanoseconds, which end in 2262: a later time would become that one, without a word.
        types = {name: dtype for name, dtype in stored.collect_schema().items() if name != row}
        stored = scan(types | dict.fromkeys(times, pl.Datetime("us")))
    rows = stored.rename(called).with_columns(
        pl.col(ROW).cast(pl.Int64), cs.categorical().cast(pl.String), cs.enum().cast(pl.String)
    )
    rows = rows.with_columns(
        pl.col(place).ext.storage()
        for place, dtype in rows.collect_schema().items()
        if isinstance(dtype, pl.BaseExtension)
    )
    return Source(file, rows, places)


def _by_place(names: Sequence[str]) -> dict[str, str]:
    """Call columns by their place in the file."""
    return {f"column_{place}": name for place, name in enumerate(names)}


def _free_name(names: Collection[str]) -> str:
    """Return a name for the rows' numbers that no column of a file has."""
    name = ROW
    while name in names:
        name += "'"
    return name


def _require_sane(file: LandedFile, footer: pq.FileMetaData) -> None:
    """See that what a footer claims can be: it is read before the file, and decides what memory that takes."""
    groups = [footer.row_group(index) for index in range(footer.num_row_groups)]
    if footer.num_rows == 0:
        raise file.unusable("it has no rows", "A month that was published has some; fetch it again.")
    if footer.num_columns > MOST_COLUMNS:
        raise too_many_columns(file, footer.num_columns)
    if any(group.num_rows < 0 for group in groups) or sum(group.num_rows for group in groups) != footer.num_rows:
        raise file.unusable("its footer contradicts itself on the number of rows: it is damaged")
    if footer.num_rows * footer.num_columns * _VALUE > most_unpacked(file):
        raise holds_too_much(file, f"its footer claims {footer.num_rows:,} rows, which is more")
    if sum(max(0, group.total_byte_size) for group in groups) > most_unpacked(file):
        raise holds_too_much(file, "its footer claims that unpacked it is more")


def _require_known_types(file: LandedFile, footer: pq.FileMetaData) -> None:
    """See that Polars can read the file's types: of zones that it doesn't know it would panic, and run out of stack."""
    for field in footer.schema.to_arrow_schema():
        column = f"its column '{file.quoted(printable(field.name))}'"
        for depth, part in _types_within(field.type):
            if depth > _DEEPEST:
                raise file.unusable(f"{column} holds values within values, more than {_DEEPEST} deep")
            repeated = _repeated(part.field(place).name for place in range(part.num_fields))
            if repeated:
                raise file.unusable(
                    f"records in {column} have more than one field named {file.quoted(printable(repr(repeated[0])))}"
                )
            zone = getattr(part, "tz", None)
            if zone is not None and not _is_zone(zone):
                raise file.unusable(
                    f"times in {column} are said to be in the zone '{file.quoted(printable(zone))}', which isn't known",
                    "Write them in one of the IANA's database, such as America/New_York, or without a zone.",
                )
            if pa.types.is_decimal(part) and part.precision > _MOST_DIGITS:
                raise file.unusable(
                    f"{column} holds decimals of {part.precision} digits, and {_MOST_DIGITS} are the most that can be "
                    "read",
                    "Write them with fewer, or as text.",
                )


def _repeated(names: Iterable[str]) -> list[str]:
    return sorted(name for name, times in Counter(names).items() if times > 1)


def _types_within(dtype: pa.DataType) -> Iterator[tuple[int, pa.DataType]]:
    """Yield a type, and those of what is within it, and how deep within."""
    waiting = [(0, dtype)]
    while waiting:
        depth, part = waiting.pop()
        yield depth, part
        waiting += [(depth + 1, part.field(place).type) for place in range(part.num_fields)]


def _is_zone(name: str) -> bool:
    try:
        pl.select(pl.lit(0).cast(pl.Datetime("us")).dt.replace_time_zone(name))
    except pl.exceptions.ComputeError:
        return False
    return True


def _times_of_96_bits(footer: pq.FileMetaData) -> list[str]:
    """List the columns of the type in which Spark and Impala long wrote times; within others, nobody knows them.

    Those that Arrow wrote bear a note of their unit, by which Polars reads them.
    """
    if b"ARROW:schema" in (footer.metadata or {}):
        return []
    columns = (footer.schema.column(position) for position in range(footer.num_columns))
    return [column.name for column in columns if column.physical_type == "INT96" and column.path == column.name]


def _require_short_texts(file: LandedFile, stored: pl.LazyFrame) -> None:
    """See that texts, of which a dictionary may hold a long one for many rows, aren't more than a file may hold."""
    length, count = pl.col("text").cast(pl.UInt64), pl.col("count")
    total = 0
    try:
        for name, dtype in stored.collect_schema().items():
            size = text_bytes(pl.col(name), dtype)
            if size is not None:
                total += stored.select(size.sum()).collect().item()
            elif dtype in (pl.Categorical, pl.Enum):
                # Of each category once: asked of each row, a long one is walked through again and again.
                counted = stored.group_by(name).agg(pl.len().alias("count"))
                sizes = counted.select(pl.col(name).cat.len_bytes().alias("text"), "count")
                total += sizes.select((length * count).sum()).collect().item()
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
        raise file.unusable(f"it {problem_of_reading(error)}") from error
    if total > most_unpacked(file):
        raise holds_too_much(file, "its texts are more")


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
