"""How a service's month gets into bronze, whatever layout TLC has given its file; and which month its rows are of."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import dagster as dg

from taxi_assets.calendars import Month
from taxi_assets.contracts import Contract, Date, column
from taxi_assets.deliveries.into_bronze import from_file, if_cut_off, taken
from taxi_assets.engines.source_files import open_source
from taxi_assets.engines.typed_rows import Provenance, typed
from taxi_assets.lake.metadata import SOURCE_COLUMNS, UNKNOWN_COLUMNS
from taxi_assets.lake.passed_by import PassBy
from taxi_assets.landing import Landing
from taxi_assets.tlc import TLC
from taxi_assets.tlc.bronze.layouts import apply_layout, words
from taxi_assets.tlc.vocabulary import Service


class OfMonth(Provenance):
    """Where a row of a month's file came from."""

    source_month: Date = column("Month of the file, as the date of its first day.", required=True)


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
    yield from_file(landing, found.file, rows, contract, month, {
        SOURCE_COLUMNS: source.types,
        UNKNOWN_COLUMNS: list(layout.unknown),
        **if_cut_off(source),
    })  # fmt: skip
    landing.require_as_read([found.file], contract.stored_as().sql_name)
