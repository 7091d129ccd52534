"""How a delivery gets into bronze: from its files in landing to rows that say where they came from."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import dagster as dg
import narwhals.stable.v1 as nw

from taxi_assets.calendars import Period
from taxi_assets.catalog import Catalog
from taxi_assets.contracts import Contract, Frame
from taxi_assets.deliveries.blocked import blocked_in, says_blocked
from taxi_assets.deliveries.landed import Delivery, FeedFile, find_files, look, no_file
from taxi_assets.engines.source_files import Source, canonical_names, count_rows, open_source
from taxi_assets.engines.typed_rows import Provenance, typed
from taxi_assets.lake.metadata import CUT_OFF, SOURCE_COLUMNS, SOURCE_IDENTITY, UNKNOWN_COLUMNS
from taxi_assets.lake.passed_by import PassBy
from taxi_assets.lake.stored_checks import Finding, Stored, StoredCheck
from taxi_assets.landing import LandedFile, Landing


def taken(
    catalog: Catalog, landing: Landing, records: dg.DagsterInstance | None, delivery: Delivery
) -> Sequence[FeedFile] | PassBy:
    """Return the files of a delivery; or why it is passed by, if it is blocked or there is none.

    Raises LandingError if its files can't be used.
    """
    blocked = blocked_in(catalog, landing, records).get(delivery)
    files = () if blocked else find_files(catalog, landing, delivery)
    if files:
        return files
    why = says_blocked(catalog, delivery, blocked) if blocked else no_file(catalog, landing, delivery)
    return PassBy(f"{why} Its tables stay as they are.")


def read_delivery(
    catalog: Catalog,
    landing: Landing,
    records: dg.DagsterInstance | None,
    delivery: Delivery,
    contract: type[Contract],
    names: Mapping[str, str] | None = None,
) -> Iterator[dg.MaterializeResult[Any] | PassBy]:
    """Read a delivery of one file: all its rows, in the contract's types, and as data version its fingerprint.

    `names` has the contract's column for each of the file's, which all must be there; unless given, they are called as
    in the contract. A delivery that is blocked, or
    has no file, is passed by. Raises LandingError, naming the file and what to do, if it can't be used, and after the
    rows are stored if the file was replaced meanwhile.
    """
    files = taken(catalog, landing, records, delivery)
    if isinstance(files, PassBy):
        yield files
        return
    (found,) = files
    source = open_source(landing, found.file, found.format)
    of_reading = {*Provenance.column_names(), *contract.period_columns()}
    names = names or {name: name for name in contract.column_names() if name not in of_reading}
    mapped = canonical_names(source, names)
    missing = [column for column, name in names.items() if name not in mapped.values()]
    if missing:
        raise found.file.unusable(f"it has no column {', '.join(missing)}; its columns are to be {', '.join(names)}")
    unknown = [name for name in source.names.values() if name not in mapped]
    rows = typed(source, mapped, contract)
    yield from_file(landing, found.file, rows, contract, delivery[1], {
        SOURCE_COLUMNS: source.types,
        UNKNOWN_COLUMNS: unknown,
        **if_cut_off(source),
    })  # fmt: skip
    landing.require_as_read([found.file], contract.stored_as().sql_name)


def if_cut_off(source: Source) -> dict[str, Any]:
    """Return the metadata that says that a file seems to be cut off; none if it doesn't."""
    return {CUT_OFF: [source.cut_off]} if source.cut_off else {}


def from_file(
    landing: Landing,
    file: LandedFile,
    rows: Frame,
    contract: type[Contract],
    period: Period,
    metadata: Mapping[str, Any],
) -> dg.MaterializeResult[Any]:
    """Add to a file's typed rows where they come from and their period, and report the file."""
    fingerprint = landing.fingerprint(file)
    read_at = datetime.now(UTC).replace(tzinfo=None)
    with_provenance = rows.with_columns(
        nw.lit(file.path).alias("source_file"),
        nw.lit(fingerprint).alias("source_fingerprint"),
        nw.lit(read_at).cast(nw.Datetime("us")).alias("ingested_at"),
        *(nw.lit(period.first_day).alias(name) for name in contract.period_columns()),
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


def all_rows_read(catalog: Catalog, landing: Landing, feed: str, contract: type[Contract]) -> StoredCheck:
    """Check that bronze holds as many rows as the delivery's one file, counted apart from reading them.

    Once landing has another file for the period, or none, the one that was read can't be counted again: a warning.
    """

    def find(stored: Stored) -> Finding:
        count = stored.count(contract)
        came_from = stored.rows(contract).select("source_file", "source_fingerprint").head(1).collect().rows()
        files = look(catalog, landing).files.get((feed, catalog.calendar.period(stored.key)), ())
        readable = [found for found in files if not found.file.no_file]
        same = [found for found in readable if (found.file.path, landing.fingerprint(found.file)) in came_from]
        if not same:
            name = came_from[0][0] if came_from else "the file"
            return Finding(False, f"{name} is no longer in landing as it was read; {count:,} rows stored.", warns=True)
        in_file = count_rows(landing, same[0].file, same[0].format)
        says = f"{in_file:,} rows in {same[0].file.path}, {count:,} in {contract.stored_as().sql_name}."
        return Finding(in_file == count, says, {"rows_in_file": in_file, "rows_stored": count})

    return StoredCheck("rows_accounted_for", contract, "As many rows are stored as the file holds.", find)
