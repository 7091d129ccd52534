"""How a service's month gets into bronze: from the file in landing to rows that say where they came from."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import dagster as dg
import narwhals.stable.v1 as nw

from taxi_assets.contracts import Contract, Frame
from taxi_assets.engines.source_files import count_rows, open_source
from taxi_assets.engines.typed_rows import RESCUED, typed
from taxi_assets.lake.lake import Lake
from taxi_assets.lake.metadata import example_table
from taxi_assets.lake.partitions import partition_of
from taxi_assets.lake.stored_checks import Finding, StoredCheck
from taxi_assets.landing import LandedFile, Landing
from taxi_assets.months import Month
from taxi_assets.tlc.bronze.layouts import LAYOUTS, apply_layout
from taxi_assets.tlc.partitions import MONTHS
from taxi_assets.tlc.trip_files import find_trip_file
from taxi_assets.vocabulary import Service


def read_month(landing: Landing, service: Service, month: Month, contract: type[Contract]) -> dg.MaterializeResult[Any]:
    """Read the month's file: all its rows, and as data version the fingerprint of its bytes.

    Raises LandingError, naming the file and what to do, if there is none or it can't be used.
    """
    found = find_trip_file(landing, service, month)
    source = open_source(landing, found.file, found.format)
    mapped = apply_layout(source, LAYOUTS[service])
    return from_file(landing, found.file, typed(source, mapped, contract), month, {
        "source_columns": [str(column) for column in source.columns],
        "unknown_columns": [column for column in source.columns if column not in mapped],
    })  # fmt: skip


def from_file(
    landing: Landing, file: LandedFile, rows: Frame, month: Month, metadata: dict[str, Any]
) -> dg.MaterializeResult[Any]:
    """Add to a file's typed rows where they come from, and report the file."""
    fingerprint = landing.fingerprint(file)
    read_at = datetime.now(UTC).replace(tzinfo=None)
    with_provenance = rows.with_columns(
        nw.lit(file.path).alias("source_file"),
        nw.lit(fingerprint).alias("source_fingerprint"),
        nw.lit(read_at).cast(nw.Datetime("us")).alias("ingested_at"),
        nw.lit(month.first_day).alias("source_month"),
    )
    return dg.MaterializeResult(
        value=with_provenance,
        data_version=dg.DataVersion(fingerprint),
        metadata={
            "source_file": file.path,
            "source_identity": f"{file.path}@{file.identity}",
            "source_bytes": file.size,
            "source_fingerprint": fingerprint,
            **metadata,
        },
    )


def all_rows_read(landing: Landing, service: Service, contract: type[Contract]) -> StoredCheck:
    """Check that bronze holds as many rows as the month's file, counted apart from reading them."""

    def find(lake: Lake, key: str) -> Finding:
        found = find_trip_file(landing, service, Month.parse(key))
        in_file = count_rows(landing, found.file, found.format)
        stored = lake.row_count(contract, partition_of(contract, MONTHS, key)) or 0
        says = f"{in_file:,} rows in {found.file.path}, {stored:,} in {contract.stored_as().sql_name}."
        return Finding(in_file == stored, says, {"rows_in_file": in_file, "rows_stored": stored})

    return StoredCheck("rows_accounted_for", contract, "As many rows are stored as the file holds.", find)


def nothing_rescued(contract: type[Contract]) -> StoredCheck:
    """Report drift: rows with something in `_rescued_data`, as a column or a value isn't as expected."""

    def find(lake: Lake, key: str) -> Finding:
        partition = partition_of(contract, MONTHS, key)
        rescued = lake.read(contract, [partition]).filter(~nw.col(RESCUED).is_null())
        count = int(rescued.select(nw.len().alias("rows")).collect().rows()[0][0])
        rows = lake.row_count(contract, partition) or 0
        figures: dict[str, Any] = {"rows_failing": count, "rows": rows, "share": count / rows if rows else 0.0}
        if count:
            figures["examples"] = example_table(
                rescued.select("source_row", RESCUED).head(5).collect().rows(named=True)
            )
        return Finding(not count, f"{count:,} of {rows:,} rows hold something that the table's columns can't.", figures)

    description = "No value of the file had to be kept in _rescued_data: no unknown column, no value of another type."
    return StoredCheck("nothing_rescued", contract, description, find, warns=True)
