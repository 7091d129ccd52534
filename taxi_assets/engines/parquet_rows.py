"""A Parquet file's rows: whether Polars can read what its footer says is in it, and how it does.

That there is a footer, and what it says of each column's values, is parquet_footer.py's.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any, Final

import polars as pl
import polars.selectors as cs
import pyarrow as pa
import pyarrow.parquet as pq

from taxi_assets.engines.csv_lines import ROW
from taxi_assets.engines.expansion import (
    MOST_COLUMNS,
    holds_too_much,
    most_unpacked,
    require_short_names,
    too_many_columns,
)
from taxi_assets.engines.nested import text_bytes
from taxi_assets.engines.parquet_footer import problem_of_reading
from taxi_assets.errors import printable
from taxi_assets.landing import LandedFile, Landing

# Bytes that a value takes in memory, roughly, whatever it takes in the file.
_VALUE: Final = 8
_MOST_DIGITS: Final = 38
_DEEPEST: Final = 20


def require_readable(file: LandedFile, footer: pq.FileMetaData) -> None:
    """See that a footer claims what can be, and names columns and types that can be read. Raises LandingError."""
    _require_sane(file, footer)
    names = footer.schema.to_arrow_schema().names
    require_short_names(file, names, footer.num_rows)
    repeated = _repeated(names)
    if repeated:
        raise file.unusable(f"it has more than one column named {file.quoted(', '.join(map(repr, repeated)))}")
    _require_known_types(file, footer)


def scan_parquet(
    landing: Landing, file: LandedFile, footer: pq.FileMetaData, places: Mapping[str, str]
) -> pl.LazyFrame:
    """Return a file's rows, numbered from 1 in `ROW`, with columns called by `places`, which has the file's names.

    Raises LandingError if its texts can't be read, or are more than a file may hold.
    """
    options = dict(landing.storage_options) or None
    row = _free_name(places.values())

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
    return rows.with_columns(
        pl.col(place).ext.storage()
        for place, dtype in rows.collect_schema().items()
        if isinstance(dtype, pl.BaseExtension)
    )


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


def _free_name(names: Collection[str]) -> str:
    """Return a name for the rows' numbers that no column of a file has."""
    name = ROW
    while name in names:
        name += "'"
    return name
