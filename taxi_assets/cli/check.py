"""What looks once more at what is stored: `check`."""

from __future__ import annotations

from typing import Annotated

import typer

from taxi_assets.catalogs import CATALOGS, catalog_named
from taxi_assets.cli.tables import table_named
from taxi_assets.cli.terminal import (
    DONE,
    FAILED,
    INTERRUPTED,
    CatalogOfTable,
    Json,
    PeriodName,
    app,
    at_work,
    end_at_once,
    show,
    show_error,
)
from taxi_assets.errors import UsageError


@app.command()
def check(
    period: PeriodName,
    catalog: CatalogOfTable = None,
    table: Annotated[str | None, typer.Option(help="Only this table: tlc_silver.yellow_trips.")] = None,
    json_: Json = False,
) -> None:
    """Run the checks of what a period stores, and make no table anew. The run is recorded in Dagster's instance.

    The rules that judge rows aren't asked again: that is done while their table is made; `checks` shows their results.
    """
    chosen = catalog_named(catalog) if catalog else None
    from taxi_assets import checking
    from taxi_assets.settings import Settings

    contract = table_named(table) if table else None
    if contract is not None:
        of = contract.stored_as().path[0].partition("_")[0]
        if chosen and chosen.name != of:
            raise UsageError(f"{contract.stored_as().sql_name} is of the catalog {of}, not of {chosen.name}.")
        chosen = catalog_named(of)
    chosen = chosen or CATALOGS[0]
    wanted = chosen.calendar.period(period)
    settings = Settings.load()
    try:
        with at_work("Looking into the lake", quietly=json_) as on_step:
            outcome, results = checking.run(chosen, settings, wanted, contract, on_step)
    except KeyboardInterrupt:
        end_at_once("Interrupted. No table was changed; run the checks again.", INTERRUPTED)
    show(
        [{"status": one.status, "table": one.table, "check": one.name, "says": one.says} for one in results],
        json_,
        ("status", "table", "check", "says"),
    )
    for failure in outcome.failures if not any(one.status == "failed" for one in results) else ():
        show_error(failure)
    raise typer.Exit(DONE if outcome.success else FAILED)
