"""A contract of no table, and ways to read a file of its rows: written as Parquet, or as CSV both plain and gzipped."""

from __future__ import annotations

import gzip
import json
from datetime import datetime
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from taxi_assets.contracts import Float64, Int32, LocalTime, String, column
from taxi_assets.engines.source_files import Format, Source, canonical_names, count_rows, open_source
from taxi_assets.engines.typed_rows import Provenance, typed
from taxi_assets.landing import Landing

NOON = datetime(2024, 1, 10, 12, 0)  # noqa: DTZ001


class Things(Provenance):
    """One of each type that a source column can have."""

    at: LocalTime = column("A time.")
    code: Int32 = column("A code.")
    amount: Float64 = column("An amount.")
    word: String = column("A word.")


NAMES = {"at_time": "at", "codeid": "code", "amount": "amount", "word": "word"}
TYPES = {"at": pl.Datetime("us"), "code": pl.Int32(), "amount": pl.Float64(), "word": pl.String()}


def opened(folder: Path, name: str, file_format: Format) -> tuple[Source, int]:
    landing = Landing(str(folder), {})
    (file,) = (file for file in landing.files() if file.name == name)
    return open_source(landing, file, file_format), count_rows(landing, file, file_format)


def rows_of(source: Source) -> pl.DataFrame:
    rows: pl.DataFrame = typed(source, canonical_names(source, NAMES), Things).to_native().collect()
    return rows


def from_parquet(folder: Path, table: pa.Table | pl.DataFrame, **options: Any) -> pl.DataFrame:
    """Write a table as Parquet and read it back, typed; counting the rows apart must agree."""
    arrow = table.to_arrow() if isinstance(table, pl.DataFrame) else table
    pq.write_table(arrow, folder / "things.parquet", **options)
    source, count = opened(folder, "things.parquet", Format.PARQUET)
    rows = rows_of(source)
    assert count == rows.height
    return rows


def from_csv(folder: Path, content: str | bytes) -> pl.DataFrame:
    """Write CSV and read it back, typed, plain and zipped; the two and counting the rows apart must agree."""
    data = content if isinstance(content, bytes) else content.encode()
    (folder / "things.csv").write_bytes(data)
    (folder / "things.csv.gz").write_bytes(gzip.compress(data))
    (plain, count), (zipped, zipped_count) = (
        opened(folder, "things.csv", Format.CSV),
        opened(folder, "things.csv.gz", Format.CSV_GZ),
    )
    rows = rows_of(plain)
    assert rows_of(zipped).equals(rows)
    assert count == zipped_count == rows.height
    return rows


def rescued(rows: pl.DataFrame) -> list[dict[str, Any] | None]:
    return [None if text is None else json.loads(text) for text in rows["_rescued_data"]]
