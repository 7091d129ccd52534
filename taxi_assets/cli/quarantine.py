"""What shows the rows that rules have refused: `quarantine`."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from taxi_assets.catalogs import CATALOGS, catalog_named
from taxi_assets.cli.tables import table_named
from taxi_assets.cli.terminal import (
    CatalogOfTable,
    Csv,
    FeedNames,
    Json,
    PeriodName,
    app,
    out,
    refuse_both,
    say,
    show,
    show_json,
)
from taxi_assets.errors import TaxiAssetsError, UsageError, printable

if TYPE_CHECKING:
    import dagster as dg

    from taxi_assets.calendars import Period
    from taxi_assets.catalog import Catalog
    from taxi_assets.contracts import Contract
    from taxi_assets.lake.quarantine import Quarantine

_SHOWN = 20


@app.command()
def quarantine(
    period: PeriodName,
    feed: FeedNames = None,
    table: Annotated[
        str | None, typer.Option(help="Only this table's, or this quarantine: tlc_silver.yellow_trips.")
    ] = None,
    catalog: CatalogOfTable = None,
    rule: Annotated[str | None, typer.Option(help="Only rows that break this rule.")] = None,
    limit: Annotated[
        int | None, typer.Option(min=1, help=f"Rows of each table; unless given {_SHOWN}, or all as JSON or CSV.")
    ] = None,
    json_: Json = False,
    csv_: Csv = False,
) -> None:
    """Show the rows of a period that were quarantined, and which rules each breaks.

    JSON and CSV have all columns of the file's row; otherwise those are shown that the rules are about.
    """
    refuse_both(json_, csv_)
    if feed and table:
        raise UsageError("Either --feed or --table.")
    of, contract = _meant(catalog, table)
    wanted = of.calendar.period(period)
    chosen = _chosen(of, of.chosen(feed or ()), contract, table)
    from taxi_assets.commands import to_materialize
    from taxi_assets.lake.partitions import partition_of
    from taxi_assets.lake.quarantine import rows_of
    from taxi_assets.places import lake_of
    from taxi_assets.settings import Settings

    if rule:
        _require_rule(rule, [one for one, _ in chosen])
        chosen = [(one, partitions) for one, partitions in chosen if rule in one.rules]
    lake = lake_of(Settings.load(to_read=True))
    most = limit if limit or json_ or csv_ else _SHOWN
    found = {}
    for one, partitions in chosen:
        rows = rows_of(lake, one, partition_of(one.quarantined, partitions, str(wanted)), rule, most)
        if rows is not None:
            found[one] = rows
    if not found:
        tables = [one.kept.stored_as() for one, _ in chosen]
        again = " or ".join(to_materialize(str(wanted), [one.key for one in tables]))
        names = ", ".join(one.sql_name for one in tables)
        raise TaxiAssetsError(f"{wanted} isn't stored in {names}. Run it first: {again}")
    if json_ or csv_:
        _write(found, as_csv=csv_)
    else:
        _show(found, wanted, rule)


def _meant(catalog: str | None, table: str | None) -> tuple[Catalog, type[Contract] | None]:
    """Return the catalog that is meant, and the table, if one is named. Raises UsageError if they don't fit."""
    named = catalog_named(catalog) if catalog else None
    contract = table_named(table) if table else None
    if contract is not None:
        of = catalog_named(contract.stored_as().path[0].partition("_")[0])
        if named and named is not of:
            raise UsageError(f"{contract.stored_as().sql_name} is of the catalog {of.name}, not of {named.name}.")
        named = of
    return named or CATALOGS[0], contract


def _chosen(
    catalog: Catalog, feeds: Collection[str], contract: type[Contract] | None, table: str | None
) -> list[tuple[Quarantine, dg.PartitionsDefinition]]:
    """Return the quarantines that are meant, and the partitions of each. Raises UsageError if there is none."""
    from taxi_assets.lake.metadata import asset_key
    from taxi_assets.lake.quarantine import QUARANTINES

    contents = catalog.load()
    found = []
    for asset in contents.tables:
        for one in QUARANTINES.values():
            key = asset_key(one.quarantined)
            is_meant = contract in (None, one.kept, one.quarantined) and set(feeds) & set(contents.feeds_of(key))
            if key in asset.keys and asset.partitions_def is not None and is_meant:
                found.append((one, asset.partitions_def))
    if not found:
        there = ", ".join(one.kept.stored_as().sql_name for one in QUARANTINES.values())
        raise UsageError(f"{table} has no quarantine. These have one: {there}.")
    return found


def _require_rule(rule: str, chosen: Sequence[Quarantine]) -> None:
    rules = list(dict.fromkeys(name for one in chosen for name in one.rules))
    if rule not in rules:
        of = ", ".join(one.kept.stored_as().sql_name for one in chosen)
        raise UsageError(f"There is no rule '{rule}' that quarantines rows of {of}. There are: {', '.join(rules)}.")


def _show(found: Mapping[Quarantine, tuple[int, list[dict[str, Any]]]], period: Period, rule: str | None) -> None:
    if not out.is_terminal:
        # Into a pipe go rows, and nothing else.
        names = dict.fromkeys(["table", *(name for one in found for name in one.shown)])
        rows = [{**dict.fromkeys(names), **_joined(row)} for row in _with_table(found)]
        show(rows, False, list(names))
        return
    by = f" by {rule}" if rule else ""
    for one, (count, rows) in found.items():
        shown = f", {len(rows)} shown" if len(rows) < count else ""
        name = one.quarantined.stored_as().sql_name
        say((name, "bold"), f" {period}: {count:,} rows{by}{shown}")
        if rows:
            show(one.for_a_person(rows), as_json=False)


def _write(found: Mapping[Quarantine, tuple[int, list[dict[str, Any]]]], *, as_csv: bool) -> None:
    if not as_csv:
        show_json(_with_table(found))
        return
    names = list(dict.fromkeys(["table", *(name for one in found for name in one.quarantined.column_names())]))
    rows = [{name: _text(row.get(name)) for name in names} for row in map(_joined, _with_table(found))]
    show(rows, False, names, as_csv=True)


def _with_table(found: Mapping[Quarantine, tuple[int, list[dict[str, Any]]]]) -> list[dict[str, Any]]:
    return [{"table": one.quarantined.stored_as().sql_name, **row} for one, (_, rows) in found.items() for row in rows]


def _joined(row: Mapping[str, Any]) -> dict[str, Any]:
    return {name: ", ".join(value) if isinstance(value, list) else value for name, value in row.items()}


def _text(value: Any) -> Any:
    return printable(value) if isinstance(value, str) else value
