"""What asks metric views: `metrics`."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, time
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from taxi_assets.cli.tables import Timeout
from taxi_assets.cli.terminal import FAILED, INTERRUPTED, Csv, Json, app, end_at_once, out, refuse_both, show
from taxi_assets.errors import OutOfTimeError, UsageError

if TYPE_CHECKING:
    from taxi_assets.contracts import Contract
    from taxi_assets.metrics import MetricView


@app.command()
def metrics(
    view: Annotated[str | None, typer.Argument(help="Name of a metric view, or its YAML file; none lists all.")] = None,
    measures: Annotated[str, typer.Option(help="Measures, with commas between; none lists what the view has.")] = "",
    by: Annotated[str, typer.Option(help="Dimensions to group by, with commas between.")] = "",
    where: Annotated[str | None, typer.Option(help="Condition on dimensions, in SQL: \"borough = 'Queens'\".")] = None,
    timeout: Timeout = None,
    json_: Json = False,
    csv_: Csv = False,
) -> None:
    """Ask a metric view: measures, defined once, by any of its dimensions.

    On a terminal averages are rounded, and a month is written as one; in a pipe, as JSON and as CSV they are exact.
    """
    refuse_both(json_, csv_)
    _require_what_goes_with(view, _names(measures), {"--measures": measures, "--by": by, "--where": where})
    from taxi_assets.catalogs import contracts
    from taxi_assets.metrics import load_view, shipped_views

    tables = {contract.stored_as().sql_name: contract for contract in contracts()}
    columns = {name: contract.column_names() for name, contract in tables.items()}
    if view is None:
        found = {name: load_view(path, columns) for name, path in shipped_views().items()}
        rows = [{"view": name, "source": one.source, "holds": one.comment} for name, one in found.items()]
        show(rows, json_, as_csv=csv_)
        return
    chosen = load_view(_path(view), columns)
    if not _names(measures):
        show(_fields(chosen), json_, as_csv=csv_)
        return
    names = [*_names(by), *_names(measures)]
    rows = _answer(chosen, tables, _names(measures), _names(by), where, timeout)
    exact = json_ or csv_ or not out.is_terminal
    show(rows if exact else _for_people(rows, names), json_, names, as_csv=csv_)


def _require_what_goes_with(view: str | None, measures: list[str], options: dict[str, str | None]) -> None:
    """Raise UsageError for options that would be passed over in silence."""
    given = [option for option, value in options.items() if value]
    if given and view is None:
        raise UsageError(f"{given[0]} of which view? Those there are: taxi-assets metrics")
    if given and not measures:
        raise UsageError(
            f"{given[0]} of which measures? Name them with --measures; taxi-assets metrics {view} lists them."
        )


def _answer(
    view: MetricView,
    tables: dict[str, type[Contract]],
    measures: list[str],
    by: list[str],
    where: str | None,
    timeout: float | None,
) -> list[dict[str, Any]]:
    from taxi_assets.metrics import answer
    from taxi_assets.places import lake_of
    from taxi_assets.settings import Settings

    lake = lake_of(Settings.load(to_read=True))
    try:
        return answer(lake, tables, view, measures, by, where, timeout)
    # What still waits for a bucket isn't waited for.
    except KeyboardInterrupt:
        end_at_once("Interrupted.", INTERRUPTED)
    except OutOfTimeError as error:
        end_at_once(str(error), FAILED)


def _for_people(rows: list[dict[str, Any]], names: list[str]) -> list[dict[str, Any]]:
    """Round what was divided, and write dates as short as can be: a month's first day as the month."""
    as_text = {name: _dates_as_text(name, [row[name] for row in rows]) for name in names}
    return [{name: as_text[name](row[name]) for name in names} for row in rows]


def _dates_as_text(name: str, values: list[Any]) -> Callable[[Any], Any]:
    """Return how to write a column's values."""
    # One with a zone is a moment, and midnight is elsewhere another hour.
    dates = [value for value in values if isinstance(value, date) and getattr(value, "tzinfo", None) is None]
    if not dates:
        return _rounded
    at_midnight = all(getattr(value, "time", time)() == time() for value in dates)
    of_months = at_midnight and name.endswith("month") and all(value.day == 1 for value in dates)
    form = "%Y-%m" if of_months else "%Y-%m-%d" if at_midnight else "%Y-%m-%d %H:%M:%S"
    return lambda value: value if value is None else value.strftime(form)


def _rounded(value: Any) -> Any:
    """Round a double to cents, or to four digits if it is below 1; what is exact stays so."""
    if not isinstance(value, float):
        return value
    return Decimal(f"{value:.2f}" if abs(value) >= 1 else f"{value:.4g}")


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
