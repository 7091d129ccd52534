"""What reads the lake: `tables` and `sql`."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

import typer

from taxi_assets.cli.terminal import Json, app, show


@app.command()
def tables(json_: Json = False) -> None:
    """List the lake's tables: rows, partitions, version, and what each holds."""
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
                "partitions": len(location.stored_partitions()) if contract.stored_as().partition else None,
                "version": version,
                "holds": contract.story().split("\n")[0],
            }
        )
    show(rows, json_)


@app.command()
def sql(
    query: Annotated[str, typer.Argument(help="One SELECT statement of DuckDB's SQL.")],
    as_of: Annotated[
        datetime | None, typer.Option(help="Ask the tables as they were then, in this machine's time.")
    ] = None,
    json_: Json = False,
) -> None:
    """Ask the lake in SQL, read-only: SELECT * FROM tlc_gold.nyc_taxi_daily."""
    from taxi_assets import sql as lake_sql
    from taxi_assets.catalogs import contracts
    from taxi_assets.places import lake_of
    from taxi_assets.settings import Settings

    names, rows = lake_sql.query(lake_of(Settings.load(to_read=True)), contracts(), query, as_of)
    show([dict(zip(names, row, strict=True)) for row in rows], json_, names)
