"""How a service's month gets into bronze: from the file in landing to rows that say where they came from."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import dagster as dg
import narwhals.stable.v1 as nw

from taxi_assets.calendars import Month
from taxi_assets.contracts import Contract, Frame
from taxi_assets.deliveries.landed import look
from taxi_assets.deliveries.taken import taken
from taxi_assets.engines.source_files import Source, count_rows, open_source
from taxi_assets.engines.typed_rows import typed
from taxi_assets.lake.metadata import CUT_OFF, SOURCE_COLUMNS, SOURCE_IDENTITY, UNKNOWN_COLUMNS
from taxi_assets.lake.passed_by import PassBy
from taxi_assets.lake.stored_checks import Finding, Stored, StoredCheck
from taxi_assets.landing import LandedFile, Landing
from taxi_assets.tlc import TLC
from taxi_assets.tlc.bronze.layouts import apply_layout, words
from taxi_assets.tlc.vocabulary import Service


def read_month(
    landing: Landing,
    records: dg.DagsterInstance | None,
    service: Service,
    month: Month,
    contract: type[Contract],
) -> Iterator[dg.MaterializeResult[Any] | PassBy]:
    """Read the month's file: all its rows, and as data version the fingerprint of its bytes.

    A month that is blocked, or has no file, is passed by. Raises LandingError, naming the file and what to do, if it
    can't be used, and after the rows are stored if the file was replaced meanwhile.
    """
    files = taken(TLC, landing, records, (service, month))
    if isinstance(files, PassBy):
        yield files
        return
    (found,) = files
    source = open_source(landing, found.file, found.format)
    layout = apply_layout(source, service, month, contract)
    rows = typed(source.without(layout.useless), layout.mapped, contract, words())
    yield from_file(landing, found.file, rows, month, {
        SOURCE_COLUMNS: source.types,
        UNKNOWN_COLUMNS: list(layout.unknown),
        **if_cut_off(source),
    })  # fmt: skip
    landing.require_as_read([found.file], contract.stored_as().sql_name)


def if_cut_off(source: Source) -> dict[str, Any]:
    """Return the metadata that says that a file seems to be cut off; none if it doesn't."""
    return {CUT_OFF: [source.cut_off]} if source.cut_off else {}


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
            SOURCE_IDENTITY: file.version,
            "source_bytes": file.size,
            "source_fingerprint": fingerprint,
            **metadata,
        },
    )


def all_rows_read(landing: Landing, service: Service, contract: type[Contract]) -> StoredCheck:
    """Check that bronze holds as many rows as the month's file, counted apart from reading them.

    Once landing has another file for the month, or none, the one that was read can't be counted again: a warning.
    """

    def find(stored: Stored) -> Finding:
        count = stored.count(contract)
        came_from = stored.rows(contract).select("source_file", "source_fingerprint").head(1).collect().rows()
        files = look(TLC, landing).files.get((service, Month.parse(stored.key)), ())
        readable = [found for found in files if not found.file.no_file]
        same = [found for found in readable if (found.file.path, landing.fingerprint(found.file)) in came_from]
        if not same:
            name = came_from[0][0] if came_from else "the file"
            return Finding(False, f"{name} is no longer in landing as it was read; {count:,} rows stored.", warns=True)
        in_file = count_rows(landing, same[0].file, same[0].format)
        says = f"{in_file:,} rows in {same[0].file.path}, {count:,} in {contract.stored_as().sql_name}."
        return Finding(in_file == count, says, {"rows_in_file": in_file, "rows_stored": count})

    return StoredCheck("rows_accounted_for", contract, "As many rows are stored as the file holds.", find)
