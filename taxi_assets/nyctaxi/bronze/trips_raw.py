"""nyctaxi_bronze/trips_raw: the trips of landing's files as they are, each once, with a key."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import Any, Final

import dagster as dg
import narwhals.stable.v1 as nw

from taxi_assets.calendars import Month
from taxi_assets.contracts import Contract, Date, Float64, Frame, Int32, Int64, LocalTime, String, column
from taxi_assets.deliveries.into_bronze import taken
from taxi_assets.deliveries.landed import FeedFile, no_file
from taxi_assets.engines import engine_of
from taxi_assets.engines.typed_rows import RESCUED, rescues_one_of
from taxi_assets.errors import LandingError
from taxi_assets.lake.assets import table_asset
from taxi_assets.lake.lake import Lake
from taxi_assets.lake.metadata import CUT_OFF, SOURCE_FILES
from taxi_assets.lake.partitions import partition_of
from taxi_assets.lake.passed_by import PassBy
from taxi_assets.lake.stored_checks import Finding, Stored, StoredCheck
from taxi_assets.landing import Landing
from taxi_assets.nyctaxi import MONTHLY, NYCTAXI, TRIPS
from taxi_assets.nyctaxi.trip_files import TRIP_COLUMNS, SourceTrip, cut_off, rows_of, trip_files

_MAKES_A_ROW: Final = (*TRIP_COLUMNS, "rescued_values")
"""What rows are told apart by: the six values, and what couldn't become one. Columns that nobody knows don't count."""


class TripsRaw(
    Contract,
    table="nyctaxi_bronze/trips_raw",
    partition=MONTHLY,
    keys=("trip_key",),
    upstream=SourceTrip,
):
    """One row per trip of the files in landing; rows that are the same in all six columns are one trip."""

    tpep_pickup_datetime: LocalTime = column()
    tpep_dropoff_datetime: LocalTime = column()
    trip_distance: Float64 = column(unit="miles")
    fare_amount: Float64 = column(unit="USD")
    pickup_zip: Int32 = column()
    dropoff_zip: Int32 = column()
    trip_key: String = column(
        "SHA-256 of the six values' texts with | between: Spark's sha2(concat_ws(...), 256); and of rescued values.",
        required=True,
    )
    first_seen_at: LocalTime = column("When the row was first seen, UTC.", required=True, alias="_ingested_at")
    source_file: String = column("Path of the file below landing's root.", required=True)
    source_row: Int64 = column("Number of the row in the file, from 1.", required=True)
    rescued_data: String = column(alias=RESCUED)
    source_month: Date = column("Month of the pickup; of one without, the first of its file.", required=True)


def read_trips(landing: Landing, files: Sequence[FeedFile], month: Month) -> Frame:
    """Return the rows of a month in some files, identical ones too, with their keys.

    Raises LandingError for a file that can't be used, and if there is none.
    """
    if not files:
        raise LandingError(no_file(NYCTAXI, landing, (TRIPS, month)))
    found = [
        rows_of(landing, trip_file)
        .filter(nw.col("source_month") == month.first_day)
        .with_columns(nw.lit(trip_file.file.path).alias("source_file"))
        for trip_file in files
    ]
    rescued = nw.when(rescues_one_of(TRIP_COLUMNS)).then(nw.col(RESCUED))
    rows = nw.concat(found, how="vertical").with_columns(rescued.alias("rescued_values"))
    # Where no value had to be rescued it adds nothing: nulls are passed over.
    return engine_of(rows).with_digest(rows, "trip_key", _MAKES_A_ROW)


def each_once(rows: Frame, known: Frame | None, now: datetime) -> Frame:
    """Keep the first of identical rows, and of each when it was first seen: before, where it is `known`, or `now`."""
    first = rows.unique(subset=["trip_key"], keep="first", order_by=["source_file", "source_row"])
    seen_now = nw.lit(now).cast(nw.Datetime("us"))
    if known is None:
        return first.with_columns(seen_now.alias("_ingested_at"))
    joined = first.join(known.select("trip_key", "_ingested_at"), on="trip_key", how="left")
    return joined.with_columns(nw.col("_ingested_at").fill_null(seen_now))


@table_asset(TripsRaw)
def trips_raw(
    context: dg.AssetExecutionContext, landing: dg.ResourceParam[Landing], lake: dg.ResourceParam[Lake]
) -> Iterator[dg.MaterializeResult[Any] | PassBy]:
    month = Month.parse(context.partition_key)
    files = taken(NYCTAXI, landing, context.instance, (TRIPS, month))
    if isinstance(files, PassBy):
        yield files
        return
    rows = read_trips(landing, files, month)
    partition = partition_of(TripsRaw, MONTHLY.partitions, context.partition_key)
    stored = lake.embedded()
    known = stored.read(TripsRaw, [partition]) if stored.row_count(TripsRaw, partition) is not None else None
    kept = each_once(rows, known, datetime.now(UTC).replace(tzinfo=None))
    torn = [says for trip_file in files if (says := cut_off(landing, trip_file))]
    noted = {CUT_OFF: torn} if torn else {}
    versions = [trip_file.file.version for trip_file in files]
    yield dg.MaterializeResult(value=kept, metadata={SOURCE_FILES: versions, **noted})
    landing.require_as_read([trip_file.file for trip_file in files], TripsRaw.stored_as().sql_name)


def all_rows_read(landing: Landing) -> StoredCheck:
    """Check that bronze holds each row of landing's files once, by the values and not by the keys."""

    def find(stored: Stored) -> Finding:
        in_files, different = _counts(landing, Month.parse(stored.key))
        count = stored.count(TripsRaw)
        says = f"{in_files:,} rows in the files, {different:,} of them different; {count:,} stored."
        if different > count:
            says += " Rows that lack a value can share a key, though they differ: complete them, or take them out."
        return Finding(different == count, says, {"rows_in_files": in_files, "different": different, "stored": count})

    return StoredCheck("rows_accounted_for", TripsRaw, "Each row of the files is stored, identical ones once.", find)


def no_identical_rows(landing: Landing) -> StoredCheck:
    """Report rows that are the same in all six columns as another: they share a key and are kept once."""

    def find(stored: Stored) -> Finding:
        in_files, different = _counts(landing, Month.parse(stored.key))
        identical = in_files - different
        says = f"{identical:,} of {in_files:,} rows are the same as another one and are kept once."
        return Finding(not identical, says, {"rows_failing": identical, "rows": in_files})

    description = "No two rows of landing's files are the same in all six columns."
    return StoredCheck("no_identical_rows", TripsRaw, description, find, blocking=False)


def _counts(landing: Landing, month: Month) -> tuple[int, int]:
    rows = read_trips(landing, trip_files(landing), month)
    in_files = rows.select(nw.len()).collect().item()
    # 0.0 and -0.0 are one value, but two texts, and so two keys.
    told_apart = rows.select(_MAKES_A_ROW).with_columns(nw.col("trip_distance", "fare_amount").cast(nw.String))
    return int(in_files), int(told_apart.unique().select(nw.len()).collect().item())
