"""What asks metric views: `metrics`."""

from __future__ import annotations

import csv
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from taxi_assets.cli.terminal import Json, app, show
from taxi_assets.errors import UsageError

if TYPE_CHECKING:
    from taxi_assets.contracts import Contract
    from taxi_assets.metrics import MetricView


@app.command()
def metrics(
    view: Annotated[str | None, typer.Argument(help="Name of a metric view, or its YAML file; none lists all.")] = None,
    measures: Annotated[str, typer.Option(help="Measures, with commas between; none lists what the view has.")] = "",
    by: Annotated[str, typer.Option(help="Dimensions to group by, with commas between.")] = "",
    where: Annotated[str | None, typer.Option(help="Condition on dimensions, in SQL: \"borough = 'Queens'\".")] = None,
    json_: Json = False,
    csv_: Annotated[bool, typer.Option("--csv", help="Write CSV.")] = False,
) -> None:
    """Ask a metric view: measures, defined once, by any of its dimensions."""
    from taxi_assets.catalogs import contracts
    from taxi_assets.metrics import load_view, shipped_views

    if json_ and csv_:
        raise UsageError("Either --json or --csv.")
    tables = {contract.stored_as().sql_name: contract for contract in contracts()}
    columns = {name: contract.column_names() for name, contract in tables.items()}
    if view is None:
        found = {name: load_view(path, columns) for name, path in shipped_views().items()}
        show([{"view": name, "source": one.source, "holds": one.comment} for name, one in found.items()], json_)
        return
    chosen = load_view(_path(view), columns)
    if not measures:
        show(_fields(chosen), json_)
        return
    _ask(chosen, tables, _names(measures), _names(by), where, as_json=json_, as_csv=csv_)


def _ask(
    view: MetricView,
    tables: dict[str, type[Contract]],
    measures: list[str],
    by: list[str],
    where: str | None,
    *,
    as_json: bool,
    as_csv: bool,
) -> None:
    from taxi_assets.metrics import answer
    from taxi_assets.places import lake_of
    from taxi_assets.settings import Settings

    rows = answer(lake_of(Settings.load(to_read=True)), tables, view, measures, by, where)
    names = [*by, *measures]
    if as_csv:
        writer = csv.writer(sys.stdout, lineterminator="\n")
        writer.writerows([names, *([row[name] for name in names] for row in rows)])
    else:
        show(rows, as_json, names)


def _path(view: str) -> Path:
    from taxi_assets.metrics import shipped_views

    if view in shipped_views():
        return shipped_views()[view]
    if not Path(view).is_file():
        raise UsageError(f"There is no metric view '{view}', nor a file. There are: {', '.join(shipped_views())}.")
    return Path(view)


def _fields(view: MetricView) -> list[dict[str, str | None]]:
    fields = {"dimension": view.dimensions, "measure": view.measures}
    return [
        {"kind": kind, "name": one.name, "is": one.expr, "says": one.comment}
        for kind, of in fields.items()
        for one in of
    ]


def _names(listed: str) -> list[str]:
    return [name.strip() for name in listed.split(",") if name.strip()]
