"""CSV files by their lines: whatever a line holds, it is one row, and a line that isn't blank is never passed over.

Files that agencies publish need that: line ends are mixed, a blank line follows the header, rows have more fields than
it, and a file that was cut off ends in half a line. Readers that parse first fail or, worse, misname columns. Plain or
gzipped, in UTF-8 or not, whatever ends its lines: a file is read in one way, block by block.
"""

from __future__ import annotations

import contextlib
import gzip
import io
import re
import zlib
from collections import deque
from collections.abc import Collection, Iterator, Sequence
from itertools import islice
from typing import Any, Final

import obstore
import polars as pl
from polars.io.plugins import register_io_source

from taxi_assets.engines.expansion import holds_too_much, most_unpacked
from taxi_assets.landing import LandedFile, Landing

# Not called as columns of files are while these are read.
ROW: Final = "\nrow"
"""Column that numbers a file's rows from 1."""
BROKEN_LINE: Final = "\nline"
"""Column that holds, whole, a line with fewer fields than names or quotes that don't pair; null for others."""
SURPLUS: Final = "\nsurplus"
"""Column that holds what stands behind the last field of the header, where it isn't empty."""


_LINE: Final = "\nline of the file"
_REQUEST: Final = 4 * 1024 * 1024
# Small, as Polars has several of them in work: with 4 MiB a month took 120 MB more.
_BLOCK: Final = 1024 * 1024
LONGEST_LINE: Final = 4 * 1024 * 1024
"""What a line may have at most, as it must be held whole: a row of a table has a few hundred bytes."""
_BLOCKS_OF_A_LINE: Final = LONGEST_LINE // _BLOCK + 1
# Those of bytes.strip(): text.strip() takes more, and of a line of those a row is made.
_BLANKS: Final = " \t\n\r\x0b\x0c"
_LINE_ENDS: Final = (b"\n", b"\r")
_BLANK_LINES: Final = re.compile(rb"\n[ \t\n\x0b\x0c]*\n")
_FILLED_LINE: Final = re.compile(rb"[^ \t\n\r\x0b\x0c][^\n\r]*")
_FIELD: Final = r'\s*"(?:[^"]|"")*"[^,]*|[^,]*'
_QUOTED: Final = r'^\s*"((?:[^"]|"")*)"\s*$'


def blocks(landing: Landing, file: LandedFile, *, zipped: bool) -> Iterator[bytes]:
    r"""Read a file as blocks of whole lines that end in ``\n``, its last one perhaps in nothing.

    ``\r`` ends a line as ``\n`` does, wherever it stands: old files have no other, some writers end lines in
    ``\r\r\n``, and files get concatenated. Were it data, all lines up to the next ``\n`` would become one row. So a
    ``\r\n`` may leave a blank line behind, which is none.

    Raises LandingError if the file can't be read or unzipped to its end, or a line is too long to be one.
    """
    rest = b""
    for block in _raw_blocks(landing, file, zipped=zipped):
        text = rest + (block.replace(b"\r\n", b"\n").replace(b"\r", b"\n") if b"\r" in block else block)
        # Millions of blank lines would take longer to be told from others than to be taken out.
        text = _BLANK_LINES.sub(b"\n", text)
        end = text.rfind(b"\n") + 1
        rest = text[end:]
        if len(rest) > LONGEST_LINE:
            raise file.unusable(f"it holds a line of more than {LONGEST_LINE:,} bytes; it isn't CSV, or is damaged")
        if end:
            yield text[:end]
    if rest:
        yield rest


def count_lines(landing: Landing, file: LandedFile, *, zipped: bool) -> int:
    """Count a file's lines but the blank ones, apart from how they are divided and read."""
    count, within = 0, False
    for block in _raw_blocks(landing, file, zipped=zipped):
        count += len(_FILLED_LINE.findall(block))
        first, last = _up_to_line_end(block), block[_after_last_line_end(block) :]
        if within and first.strip():
            # It is more of a line that was counted with the block before.
            count -= 1
        within = bool(last.strip()) or (within and len(last) == len(block))
    return count


def head(landing: Landing, file: LandedFile, *, zipped: bool) -> list[str]:
    """Return the first two lines, or as many as there are, of those that aren't blank."""
    batches = (_lines(block) for block in blocks(landing, file, zipped=zipped))
    return list(islice((line for batch in batches for line in batch), 2))


def last_line(landing: Landing, file: LandedFile, *, zipped: bool) -> tuple[str, bool]:
    """Return the last line that isn't blank, and whether it has an end; of one that is too long, some of its end.

    Of a plain file just the end is read; one that is zipped is unzipped once more.
    """
    if zipped:
        found = deque[bytes](maxlen=_BLOCKS_OF_A_LINE)
        for block in _raw_blocks(landing, file, zipped=True):
            # A blank block is one line end, and several are no more.
            if block != b"\n" or not found or found[-1] != block:
                found.append(block)
        data, has_end = b"".join(found), False
    else:
        data, has_end = _end(landing, file)
    text = data.rstrip(_BLANKS.encode())
    line = text[_after_last_line_end(text) :]
    return _decoded(line), has_end or any(mark in data[len(text) :] for mark in _LINE_ENDS)


def _end(landing: Landing, file: LandedFile) -> tuple[bytes, bool]:
    """Read so much of a plain file's end that its last line that isn't blank is in it, if it can be one.

    Return it without blanks behind it that fill a block, and whether those hold a line's end.
    """
    end, has_end, data = file.size, False, b""
    while end and not data:
        start = max(0, end - _BLOCK)
        data = _range(landing, file, start, end)
        if data.isspace():
            end, has_end, data = start, has_end or any(mark in data for mark in _LINE_ENDS), b""
    while start and end - start <= LONGEST_LINE and not _after_last_line_end(data.rstrip(_BLANKS.encode())):
        before = max(0, start - _BLOCK)
        start, data = before, _range(landing, file, before, start) + data
    return data, has_end


def _range(landing: Landing, file: LandedFile, start: int, end: int) -> bytes:
    with _named_errors(file):
        return bytes(obstore.get_range(landing.store, file.path, start=start, end=end))


def _up_to_line_end(block: bytes) -> bytes:
    return block[: min((place for mark in _LINE_ENDS if (place := block.find(mark)) >= 0), default=len(block))]


def _after_last_line_end(block: bytes) -> int:
    return max(map(block.rfind, _LINE_ENDS)) + 1


def least_fields(header: Sequence[str]) -> int:
    """Return how many fields a row must have: as many as there are names; a header may end in commas alone."""
    return max((place + 1 for place, name in enumerate(header) if not is_nameless(name)), default=len(header))


def count_fields(line: str) -> int | None:
    """Count a line's fields; None if its quotes don't pair, so that nobody knows."""
    text = pl.lit(line)
    count: int | None = pl.select(pl.when(_quotes_pair(text)).then(_split(text)).list.len()).item()
    return count


def split_header(line: str) -> list[str]:
    """Read the names in a header line, quoted or bare, behind byte order marks or none.

    A name that is empty or repeated can't be addressed and becomes ``_column_3``, by its place in the line.
    """
    fields = pl.select(_split(pl.lit(line.lstrip("\ufeff").strip()))).item()
    names = [field.strip().strip('"').strip() for field in fields]
    return [name if name and names.index(name) == place else _made_up(place, names) for place, name in enumerate(names)]


def is_nameless(name: str) -> bool:
    """Whether `split_header` has made up a column's name, as the header has none for it alone."""
    return re.fullmatch(r"_column_[0-9]+'*", name) is not None


def _made_up(place: int, others: Collection[str]) -> str:
    """Name a column by its place, so that no other is called the same."""
    name = f"_column_{place + 1}"
    while name in others:
        name += "'"
    return name


def scan_rows(landing: Landing, file: LandedFile, columns: Sequence[str], least: int, *, zipped: bool) -> pl.LazyFrame:
    """Return the lines below the header as text: `ROW`, the fields as `columns`, `SURPLUS` and `BROKEN_LINE`.

    A line with fewer fields than `least` is a broken one.
    """
    line, fields, width = pl.col(_LINE), pl.col("fields"), pl.col("fields").list.len()
    # Where quotes don't pair, nobody knows which field is which: a value within them went on in the next line, or a
    # comma in them stands for none. Better no values than another column's.
    rows = _scan_lines(landing, file, zipped=zipped).with_columns(
        pl.when(_quotes_pair(line)).then(_split(line)).alias("fields")
    )
    return rows.select(
        ROW,
        *(fields.list.get(place, null_on_oob=True).str.strip_chars().alias(name) for place, name in enumerate(columns)),
        pl.when(width > len(columns))
        .then(fields.list.slice(len(columns)).list.join(",").str.strip_chars(", "))
        .alias(SURPLUS),
        pl.when(width.fill_null(0) < least).then(line).alias(BROKEN_LINE),
    )


def _scan_lines(landing: Landing, file: LandedFile, *, zipped: bool) -> pl.LazyFrame:
    """Return the lines below the header that aren't blank, numbered, as a frame that is read when it is needed."""

    def read(
        columns: list[str] | None, predicate: pl.Expr | None, most: int | None, _batch_size: int | None
    ) -> Iterator[pl.DataFrame]:
        row = 0  # the header
        for block in blocks(landing, file, zipped=zipped):
            batch = _lines(block).to_frame().with_row_index(ROW, row).with_columns(pl.col(ROW).cast(pl.Int64))
            row += batch.height
            batch = batch.filter(pl.col(ROW) > 0)
            if most is not None:
                batch = batch.filter(pl.col(ROW) <= most)
            wanted = batch if predicate is None else batch.filter(predicate)
            yield wanted if columns is None else wanted.select(columns)
            if most is not None and row > most:
                return

    return register_io_source(read, schema={ROW: pl.Int64(), _LINE: pl.String()})


def _lines(block: bytes) -> pl.Series:
    """Divide a block into its lines, as text, without the blank ones.

    A line that isn't UTF-8 is read as Latin-1, by itself: that has a character for each byte, so nothing fails at row
    3,000,000, nothing is lost, and the file's other lines are what they are.
    """
    try:
        # Behind a blank line, as bytes that begin like a zipped file would be unzipped.
        lines = pl.read_lines(b"\n" + block, name=_LINE)
    except pl.exceptions.ComputeError:
        lines = pl.DataFrame({_LINE: [_decoded(line) for line in block.split(b"\n")]})
    return lines.filter(pl.col(_LINE).str.strip_chars(_BLANKS).str.len_bytes() > 0).to_series()


def _decoded(line: bytes) -> str:
    try:
        return line.decode()
    except UnicodeDecodeError:
        return line.decode("latin-1")


def _raw_blocks(landing: Landing, file: LandedFile, *, zipped: bool) -> Iterator[bytes]:
    read, most = 0, most_unpacked(file)
    with _named_errors(file), _opened(landing, file, zipped=zipped) as stream:
        while block := stream.read(_BLOCK):
            read += len(block)
            if zipped and read > most:
                raise holds_too_much(file, "unzipped it is more")
            # Gigabytes of blank lines are as quickly passed as read.
            yield b"\n" if block.isspace() and any(mark in block for mark in _LINE_ENDS) else block


def _opened(landing: Landing, file: LandedFile, *, zipped: bool) -> Any:
    stream: Any = io.BufferedReader(
        _Readable(obstore.open_reader(landing.store, file.path, buffer_size=_REQUEST), zipped=zipped),
        buffer_size=_REQUEST,
    )
    return gzip.GzipFile(fileobj=stream) if zipped else stream


@contextlib.contextmanager
def _named_errors(file: LandedFile) -> Iterator[None]:
    try:
        yield
    except EOFError as error:
        raise file.unusable("its end is missing: it was cut off while it was copied") from error
    except (gzip.BadGzipFile, zlib.error) as error:
        raise file.unusable(f"it can't be unzipped ({file.quoted(str(error))})") from error
    except (OSError, obstore.exceptions.BaseError) as error:
        raise file.unreadable(error) from error


class _Readable(io.RawIOBase):
    """A store's reader as one of Python's own, which obstore's isn't quite."""

    def __init__(self, reader: obstore.ReadableFile, *, zipped: bool) -> None:
        self._reader, self._zipped, self._before = reader, zipped, b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        block = bytes(self._reader.read(len(buffer)))
        # GzipFile passes over zeros behind a file's end one by one: of gigabytes of them it gets one block. Where they
        # are data, which is hardly so, their checksum fails.
        while self._zipped and block and block == self._before == bytes(len(block)):
            block = bytes(self._reader.read(len(buffer)))
        self._before = block
        buffer[: len(block)] = block
        return len(block)


def is_torn(line: str) -> bool:
    """Whether a field of a line begins with a quote and doesn't end with its other."""
    return bool(pl.select(_is_torn(pl.lit(line))).item())


def _is_torn(line: pl.Expr) -> pl.Expr:
    field = pl.element()
    torn = _quoted_fields(line).list.eval(field.str.contains(r'^\s*"') & ~field.str.contains(_QUOTED)).list.any()
    return torn.fill_null(False)


def _quotes_pair(line: pl.Expr) -> pl.Expr:
    """Whether a line's quotes are even in number and each field that begins with one ends with its other."""
    return ~(_is_torn(line) | (line.str.count_matches('"', literal=True) % 2 == 1))


def _split(line: pl.Expr) -> pl.Expr:
    """Split a line at its commas, those within quotes aside."""
    unquoted = pl.element().str.replace(_QUOTED, "$1").str.replace_all('""', '"', literal=True)
    return pl.coalesce(_quoted_fields(line).list.eval(unquoted), line.str.split(","))


def _quoted_fields(line: pl.Expr) -> pl.Expr:
    """Split a line that holds a quote, its fields as they are; null for others, nearly all, which have a faster way."""
    return pl.when(line.str.contains('"', literal=True)).then(line).str.extract_all(_FIELD)
