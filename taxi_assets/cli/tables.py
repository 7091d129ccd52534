"""What reads the lake: `tables` and `sql`."""

from __future__ import annotations

import difflib
from datetime import datetime
from typing import TYPE_CHECKING, Annotated

import typer

from taxi_assets.cli.terminal import FAILED, INTERRUPTED, Csv, Json, app, end_at_once, refuse_both, show
from taxi_assets.errors import OutOfTimeError, UsageError

if TYPE_CHECKING:
    from taxi_assets.contracts import Contract

Timeout = Annotated[
    float | None, typer.Option(min=0.1, metavar="SECONDS", help="End it, as failed, if it takes longer than that.")
]


@app.command()
def tables(
    table: Annotated[str | None, typer.Argument(metavar="TABLE", help="A table, to list its columns.")] = None,
    json_: Json = False,
) -> None:
    """List the lake's tables: rows, partitions, version, and what each holds. Or the columns of one."""
    if table is not None:
        from taxi_assets.sql import described

        names, columns = described(table_named(table))
        show([dict(zip(names, column, strict=True)) for column in columns], json_)
        return
    from taxi_assets.catalogs import contracts
    from taxi_assets.places import lake_of
    from taxi_assets.settings import Settings

    lake = lake_of(Settings.load(to_read=True))
    rows = []
    for contract in contracts():
        location = lake.location(contract)
        version = location.version()
        rows.append(
            {
                "table": contract.stored_as().sql_name,
                "rows": location.row_count() if version is not None else None,
                "partitions": len(location.stored_partitions()) if contract.stored_as().replaced_by else None,
                "version": version,
                "holds": contract.story().split("\n")[0],
            }
        )
    show(rows, json_)


@app.command()
def sql(
    query: Annotated[
        str,
        typer.Argument(help="One SELECT statement of DuckDB's SQL, SHOW TABLES, DESCRIBE TABLE or SUMMARIZE TABLE."),
    ],
    as_of: Annotated[
        datetime | None, typer.Option(help="Ask the tables as they were then, in this machine's time.")
    ] = None,
    timeout: Timeout = None,
    json_: Json = False,
    csv_: Csv = False,
) -> None:
    """Ask the lake in SQL, read-only: SELECT * FROM tlc_gold.nyc_taxi_daily."""
    refuse_both(json_, csv_)
    from taxi_assets import sql as lake_sql
    from taxi_assets.catalogs import contracts
    from taxi_assets.places import lake_of
    from taxi_assets.settings import Settings

    lake = lake_of(Settings.load(to_read=True))
    try:
        names, rows = lake_sql.query(lake, contracts(), query, as_of, timeout)
    # What still waits for a bucket isn't waited for.
    except KeyboardInterrupt:
        end_at_once("Interrupted.", INTERRUPTED)
    except OutOfTimeError as error:
        end_at_once(str(error), FAILED)
    show([dict(zip(names, row, strict=True)) for row in rows], json_, names, as_csv=csv_)


def table_named(name: str) -> type[Contract]:
    """Return the contract of a table, called as in SQL or by its asset key. Raises UsageError if there is none."""
    from taxi_assets.catalogs import contracts

    known = {contract.stored_as().sql_name: contract for contract in contracts()}
    wanted = name.replace("/", ".", 1)
    if wanted in known:
        return known[wanted]
    near = difflib.get_close_matches(wanted, known, n=3)
    hint = f"Did you mean {' or '.join(near)}?" if near else f"There are: {', '.join(known)}."
    raise UsageError(f"There is no table '{name}'. {hint}")
