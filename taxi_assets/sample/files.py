"""Writing a month's sample file, and the note beside it of what was planted.

A file appears under its name when it is whole, never before. What stands in it is trips.py's and faults.py's business.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, time
from pathlib import Path
from typing import Any, Final

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from taxi_assets.calendars import Month
from taxi_assets.errors import UsageError
from taxi_assets.sample.dice import Dice
from taxi_assets.sample.faults import (
    FAULT,
    FAULTS,
    VARIANT,
    Fault,
    apply_faults,
    counts_of,
    original,
    plan,
    rows_breaking,
)
from taxi_assets.sample.for_hire_faults import FHV_FAULTS, FHVHV_FAULTS
from taxi_assets.sample.for_hire_trips import AMOUNTS, ForHireTrips
from taxi_assets.sample.layouts import layout, working_name
from taxi_assets.sample.trips import MISCOUNT, PARTS, Trips
from taxi_assets.tlc.vocabulary import METERED, Service

NOTE: Final = "sample_planted.json"
MOST_ROWS: Final = 20_000_000

_ROW_GROUP: Final = 250_000
# By how much the whole numbers that trips are made of are divided.
_UNITS: Final = {
    **dict.fromkeys({*PARTS, *AMOUNTS, "ehail_fee", "total_amount", "trip_distance"}, 100),
    "trip_miles": 1000,
}

FAULTS_OF: Final[Mapping[Service, Mapping[str, Fault]]] = {
    Service.YELLOW: FAULTS,
    Service.GREEN: FAULTS,
    Service.FHV: FHV_FAULTS,
    Service.FHVHV: FHVHV_FAULTS,
}
"""The faults that are planted in a service's months, by name."""


@dataclass(frozen=True)
class Planted:
    """What one sample file holds. ``counts``: the rows that break each rule, 0 included."""

    path: Path
    service: Service
    month: Month
    rows: int
    seed: int
    counts: Mapping[str, int]


def write_month(
    folder: Path,
    service: Service,
    month: Month,
    rows: int,
    *,
    seed: int = 0,
    faults: Mapping[str, float] | None = None,
    clean: bool = False,
) -> Planted:
    """Write a month of ``rows`` trips in TLC's layout to ``folder``, in place of an earlier one, and note its faults.

    The same arguments give the same bytes (as long as Polars and pyarrow are the same). ``faults`` overrides the
    share of rows that get a fault, by its name in FAULTS_OF the service; of those in a ``clean`` month no check warns.
    Not to be called by two processes for one folder at once: the note would lose one of the months. Raises UsageError
    when the month, the rows or the faults make no sense.
    """
    if not 1 <= rows <= MOST_ROWS:
        raise UsageError(f"A sample month can't have {rows} rows, only 1 to {MOST_ROWS}.")
    schema = layout(service, month)
    counts = counts_of(FAULTS_OF[service], faults, rows, clean=clean)
    path = folder / f"{service}_tripdata_{month}.parquet"
    folder.mkdir(parents=True, exist_ok=True)
    kind = Trips if service in METERED else ForHireTrips
    trips = kind(service, month, rows, Dice(service, month, rows, seed))
    with replacing(path) as unfinished, pq.ParquetWriter(unfinished, schema, compression="zstd") as writer:
        for frame in _batches(trips, counts):
            writer.write_table(_as_published(frame, trips, schema), row_group_size=_ROW_GROUP)
    planted = Planted(path, service, month, rows, seed, rows_breaking(FAULTS_OF[service], counts))
    _note(folder, planted)
    return planted


def read_planted(folder: Path) -> dict[str, Planted]:
    """Return what the sample files of ``folder`` hold, by file name; nothing where there are none."""
    note = folder / NOTE
    if not note.is_file():
        return {}
    try:
        entries: dict[str, dict[str, Any]] = json.loads(note.read_text(encoding="utf-8"))
        return {
            name: Planted(
                path=folder / name,
                service=Service(entry["service"]),
                month=Month.parse(entry["month"]),
                rows=entry["rows"],
                seed=entry["seed"],
                counts=entry["counts"],
            )
            for name, entry in entries.items()
        }
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise UsageError(f"{note} isn't a note of sample files. Delete it, and make the samples again.") from error


def refuse_to_replace(folder: Path, wanted: Sequence[tuple[Service, Month]]) -> None:
    """Raise UsageError if writing some months to a folder would replace files that aren't samples."""
    samples = read_planted(folder)
    names = [f"{service}_tripdata_{month}.parquet" for service, month in wanted]
    real = [name for name in names if (folder / name).exists() and name not in samples]
    if real:
        raise UsageError(
            f"{folder} holds {', '.join(real)}, which is no sample. Nothing was written; name another folder."
        )


def _note(folder: Path, planted: Planted) -> None:
    everything = read_planted(folder) | {planted.path.name: planted}
    entries = {
        name: {
            "service": entry.service,
            "month": str(entry.month),
            "rows": entry.rows,
            "seed": entry.seed,
            "counts": dict(entry.counts),
        }
        for name, entry in sorted(everything.items())
    }
    with replacing(folder / NOTE) as unfinished:
        unfinished.write_text(json.dumps(entries, indent=2) + "\n", encoding="utf-8")


def _batches(trips: Trips | ForHireTrips, counts: Mapping[str, int]) -> Iterator[pl.DataFrame]:
    table = FAULTS_OF[trips.service]
    spoiled = plan(table, counts, trips.count, trips.dice)
    rows_spoiled = spoiled["row"]
    for start in range(0, trips.count, _ROW_GROUP):
        size = min(_ROW_GROUP, trips.count - start)
        first, last = rows_spoiled.search_sorted(start), rows_spoiled.search_sorted(start + size)
        here = spoiled.slice(first, last - first)
        fault = pl.repeat(0, size, dtype=pl.UInt8, eager=True).scatter(here["row"] - start, here[FAULT])
        rows = pl.int_range(start, start + size, dtype=pl.Int64, eager=True)
        frame = pl.LazyFrame({"row": rows, FAULT: fault}).with_columns(
            trip=original(table, pl.col("row")),
            **{VARIANT: trips.dice.below(VARIANT, pl.col("row"), 60), MISCOUNT: pl.lit(0, pl.Int64)},
        )
        yield trips.add_totals(apply_faults(table, trips.add_trips(frame), counts)).collect()


def _as_published(frame: pl.DataFrame, trips: Trips | ForHireTrips, schema: pa.Schema) -> pa.Table:
    midnight = datetime.combine(trips.month.first_day, time(), UTC)
    return frame.select(_published(field, midnight) for field in schema).rechunk().to_arrow().cast(schema)


def _published(field: pa.Field, midnight: datetime) -> pl.Expr:
    value = pl.col(working_name(field.name))
    if pa.types.is_null(field.type):
        value = pl.lit(None)
    elif pa.types.is_timestamp(field.type):
        value = ((value + int(midnight.timestamp())) * 1_000_000).cast(pl.Datetime("us"))
    elif working_name(field.name) in _UNITS:
        value = value / _UNITS[working_name(field.name)]
    return value.alias(field.name)


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Give a hidden path to write to; it becomes ``path`` at the end, or is removed if writing failed."""
    unfinished = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        yield unfinished
        unfinished.replace(path)
    finally:
        unfinished.unlink(missing_ok=True)
