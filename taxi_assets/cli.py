"""The command line. Each command is a thin layer on what the UI uses, too; nothing is computed here.

Dagster, Polars and Pandera are imported by the commands that need them: `--help` must not wait for them.
"""

from __future__ import annotations

import dataclasses
import gc
import json
import math
import sys
from collections.abc import Collection, Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer
from rich.console import Console
from rich.table import Table

from taxi_assets.errors import TaxiAssetsError, UsageError
from taxi_assets.months import Month, parse_months
from taxi_assets.vocabulary import Service

if TYPE_CHECKING:
    from taxi_assets.fetch import Fetched, Wanted
    from taxi_assets.tlc.month_runs import MonthReport

app = typer.Typer(no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False, rich_markup_mode="rich")
out = Console(soft_wrap=not sys.stdout.isatty())
err = Console(stderr=True, soft_wrap=not sys.stderr.isatty())

DONE, FAILED, WRONG_USE = 0, 1, 2

Months = Annotated[list[str], typer.Argument(help="Months: 2024-01, a range 2024-01:2024-06, or several of both.")]
Json = Annotated[bool, typer.Option("--json", help="Write JSON, for a program to read.")]
_MOST_COLUMNS = 12
_ZONES = "zones"
_STATE_STYLES = {"fetched": "green", "unchanged": "dim", "not published": "yellow", "failed": "red"}
_STATUS_STYLES = {
    "passed": "green", "warned": "yellow", "failed": "red", "not run": "dim",
    "materialized": "green", "checks failing": "yellow", "stale": "magenta", "two files": "red", "landed": "cyan",
    "not in landing": "bold", "not published": "dim",
}  # fmt: skip


@app.callback()
def cli() -> None:
    """New York's taxi trips as a Delta lake: from TLC's monthly files to gold tables, with every rule a check."""


@app.command()
def sample(
    months: Months,
    service: Annotated[
        list[Service] | None, typer.Option(help="Only this service; can be repeated. Otherwise all of that month.")
    ] = None,
    rows: Annotated[int, typer.Option(min=1, max=20_000_000, help="Rows a month and service.")] = 50_000,
    seed: Annotated[int, typer.Option(help="Another number, other trips.")] = 0,
    landing: Annotated[Path | None, typer.Option(help="Folder to write to, instead of the setting's landing.")] = None,
) -> None:
    """Write made-up months in TLC's own layout, with known faults planted, into landing."""
    from taxi_assets.sample import NOTE, services_of, write_month
    from taxi_assets.settings import Settings

    folder = landing or Path(_local(Settings.load().landing_root))
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"{folder} can't be made: {error.strerror}. Name a folder: --landing FOLDER.") from error
    wanted = [(chosen, month) for month in parse_months(months) for chosen in service or services_of(month)]
    _refuse_to_replace(folder, wanted)
    for chosen, month in wanted:
        with err.status(f"Making {rows:,} rows of {chosen} {month}"):
            planted = write_month(folder, chosen, month, rows, seed=seed)
        faults = sum(planted.counts.values())
        out.print(f"{planted.path}: {rows:,} rows, {faults:,} faults planted", highlight=False)
    out.print(f"What was planted is listed in {folder / NOTE}.", highlight=False)


@app.command()
def fetch(
    service: Annotated[str, typer.Argument(metavar="SERVICE", help=f"{', '.join(Service)}; or {_ZONES}: the lookup.")],
    months: Annotated[list[str] | None, typer.Argument(help="Months, as elsewhere; the zone lookup has none.")] = None,
    jobs: Annotated[int, typer.Option(min=1, max=16, help="Files that are fetched at once.")] = 4,
    json_: Json = False,
) -> None:
    """Fetch TLC's files into landing: the whole of each or nothing, and none that is there and unchanged.

    What breaks off is resumed by the next fetch. A month that TLC hasn't published yet is no failure.
    """
    wanted = _wanted(service, months or [])
    from taxi_assets import fetch as fetching
    from taxi_assets.fetch.progress import Bars
    from taxi_assets.places import landing_of
    from taxi_assets.settings import Settings

    settings = Settings.load()
    landing, server = landing_of(settings), fetching.Server(**settings.fetch.model_dump())
    outcomes = {}
    try:
        with (
            Bars(out if out.is_terminal and not json_ else err, len(wanted)) as bars,
            closing(fetching.fetch(wanted, landing, server, jobs=jobs, on_bytes=bars.on_bytes)) as ended,
        ):
            for outcome in ended:
                outcomes[outcome.name] = outcome
                bars.ended(outcome.name)
                if not json_:
                    _show_fetched(outcome)
    except KeyboardInterrupt:
        raise TaxiAssetsError(
            "Interrupted. Files that were done stand whole in landing; fetch again, and the others go on from here."
        ) from None
    if json_:
        out.print_json(json.dumps([dataclasses.asdict(outcomes[file.name]) for file in wanted]))
    raise typer.Exit(FAILED if any(outcome.state == "failed" for outcome in outcomes.values()) else DONE)


@app.command()
def materialize(
    months: Months,
    catalog: Annotated[str, typer.Option(help="Family of tables.")] = "tlc",
    service: Annotated[list[Service] | None, typer.Option(help="Only this service; can be repeated.")] = None,
    json_: Json = False,
) -> None:
    """Run months from landing to gold, one after the other, and record the runs in Dagster's instance."""
    if catalog != "tlc":
        raise UsageError(f"There is no catalog '{catalog}'. There is: tlc.")
    wanted = parse_months(months)
    from taxi_assets.definitions import tlc_month
    from taxi_assets.instance import open_instance
    from taxi_assets.places import landing_of
    from taxi_assets.settings import Settings
    from taxi_assets.tlc.month_runs import run_months

    settings = Settings.load()
    landing = landing_of(settings)
    reports = []
    with (out if out.is_terminal and not json_ else err).status("Looking into landing") as status:
        instance = open_instance(settings.dagster_home)
        for report in run_months(tlc_month, wanted, service or list(Service), landing, instance, status.update):
            reports.append(report)
            if not json_:
                _show_month(report)
    if json_:
        out.print_json(json.dumps([dataclasses.asdict(report) for report in reports]))
    if not any(report.services for report in reports):
        raise TaxiAssetsError(
            f"None of these months has a file in {landing.root}. Files are named like green_tripdata_2024-01.parquet."
        )
    raise typer.Exit(FAILED if any(report.state == "failed" for report in reports) else DONE)


@app.command()
def tables(json_: Json = False) -> None:
    """List the lake's tables: rows, partitions, version, and what each holds."""
    from taxi_assets.places import lake_of
    from taxi_assets.readme_tables import contracts
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
    _show(rows, json_)


@app.command()
def checks(month: Annotated[str, typer.Argument(help="A month: 2024-01.")], json_: Json = False) -> None:
    """Show the last result of every check of a month."""
    key = str(Month.parse(month))
    from taxi_assets.check_history import latest_results
    from taxi_assets.definitions import defs
    from taxi_assets.instance import open_instance
    from taxi_assets.settings import Settings

    graph = defs.resolve_asset_graph()
    results = latest_results(open_instance(Settings.load().dagster_home), sorted(graph.asset_check_keys), key)
    if not results:
        raise TaxiAssetsError(f"No check has run for {key}. Run the month first: taxi-assets materialize {key}")
    _show(
        [
            {
                "status": result.status,
                "table": result.table,
                "check": result.name,
                "rows_failing": result.rows_failing,
                "tolerance": result.tolerance,
                "says": result.says,
            }
            for result in results
        ],
        json_,
    )


@app.command()
def status(
    months: Annotated[
        list[str] | None,
        typer.Argument(
            help="Months: 2024-01, a range 2024-01:2024-12, or several of both; unless named the last twelve, or, if "
            "nothing stands in those, the twelve up to the newest that anything stands in."
        ),
    ] = None,
    json_: Json = False,
) -> None:
    """Show a year in one picture: what has become of each month of each service."""
    wanted = parse_months(months or [])
    from taxi_assets.instance import open_instance
    from taxi_assets.places import lake_of, landing_of
    from taxi_assets.run_records import kept_connections
    from taxi_assets.settings import Settings
    from taxi_assets.status import MEANINGS, draw
    from taxi_assets.tlc.checks import check_keys
    from taxi_assets.tlc.trip_files import TripFiles

    settings = Settings.load()
    landing = landing_of(settings)
    landed = TripFiles.of(landing.files())
    instance = open_instance(settings.dagster_home)
    with kept_connections(instance):
        picture = draw(landed, lake_of(settings), instance, check_keys(landing), wanted)
    if json_:
        _show(
            [
                {
                    "month": str(month),
                    "service": service,
                    "status": picture.cells[service, month].state,
                    "checks_not_passed": picture.cells[service, month].checks_not_passed,
                }
                for month in picture.months
                for service in Service
            ],
            as_json=True,
        )
        return
    rows = [
        {"month": str(month)} | {str(service): str(picture.cells[service, month]) for service in Service}
        for month in picture.months
    ]
    _show(rows, as_json=False, styled=list(Service))
    # Into a pipe go rows, and nothing else.
    legend = picture.states() if out.is_terminal else []
    for state in legend:
        out.print(f"{_styled(state)}{' ' * (16 - len(state))}{MEANINGS[state]}", highlight=False)


@app.command()
def sql(query: Annotated[str, typer.Argument(help="One SQL statement of DuckDB's.")], json_: Json = False) -> None:
    """Ask the lake in SQL, read-only: SELECT * FROM tlc_gold.nyc_taxi_daily."""
    from taxi_assets import sql as lake_sql
    from taxi_assets.places import lake_of
    from taxi_assets.readme_tables import contracts
    from taxi_assets.settings import Settings

    names, rows = lake_sql.query(lake_of(Settings.load(to_read=True)), contracts(), query)
    _show([dict(zip(names, row, strict=True)) for row in rows], json_, names)


def main() -> None:
    """Run the command line; an error that is written for the user is one line and an exit status, never a stack."""
    # Imports and runs make many objects that live on; looking through them again and again takes half a second.
    gc.set_threshold(100_000, 20, 100)
    try:
        app()
    except UsageError as error:
        _fail(error, WRONG_USE)
    except TaxiAssetsError as error:
        _fail(error, FAILED)
    except KeyboardInterrupt:
        _fail(TaxiAssetsError("Interrupted. Months that were done are stored whole; run the others again."), FAILED)


def _fail(error: TaxiAssetsError, status: int) -> NoReturn:
    err.print(f"[red]{_plain(str(error))}[/red]", highlight=False)
    sys.exit(status)


def _show_month(report: MonthReport) -> None:
    style = {"done": "green", "failed": "red", "not in landing": "dim"}[report.state]
    counts = f"{len(report.checks)} checks, {len(report.checks_not_passed)} not passed"
    ran = f"  {', '.join(report.services)}: {counts}, {report.seconds:.1f} s"
    absent = f"  ({', '.join(report.not_in_landing)}: no file in landing)" if report.not_in_landing else ""
    out.print(f"{report.month}  [{style}]{report.state}[/]{ran if report.services else ''}{absent}", highlight=False)
    for check in report.checks_not_passed:
        style = "yellow" if check.severity == "WARN" else "red"
        out.print(f"    [{style}]{check.table} {check.name}[/]: {_plain(check.says)}", highlight=False)
    for failure in report.failures:
        out.print(f"    [red]{_plain(failure)}[/red]", highlight=False)


def _wanted(service: str, months: Sequence[str]) -> list[Wanted]:
    known = [*Service, _ZONES]
    if service not in known:
        raise UsageError(f"There is no service '{service}'. There are: {', '.join(known)}.")
    if service == _ZONES and months:
        raise UsageError("The zone lookup is one file for all months: taxi-assets fetch zones")
    if service != _ZONES and not months:
        raise UsageError(f"Which months? One, or several: taxi-assets fetch {service} 2024-01:2024-06")
    parsed = parse_months(months)
    from taxi_assets.fetch import Wanted

    return [Wanted.trips(Service(service), month) for month in parsed] or [Wanted.zones()]


def _show_fetched(outcome: Fetched) -> None:
    size = "" if outcome.size is None else f"  {outcome.size / 1e6:,.1f} MB, {outcome.seconds:.1f} s"
    style = _STATE_STYLES[outcome.state]
    out.print(f"{outcome.name}  [{style}]{outcome.state}[/]{size}", highlight=False)
    if outcome.says:
        out.print(f"    [red]{_plain(outcome.says)}[/red]", highlight=False)


def _show(
    rows: Sequence[dict[str, Any]],
    as_json: bool,
    columns: Sequence[str] = (),
    styled: Collection[str] = ("status",),
) -> None:
    """Show rows as a table on a terminal (record by record, if it is wide), tab-separated in a pipe, or as JSON."""
    names = list(columns or rows[0])
    if as_json:
        finite = [{name: _finite(value) for name, value in row.items()} for row in rows]
        out.print_json(json.dumps(finite, default=str))
    elif not out.is_terminal:
        sys.stdout.writelines(
            "\t".join("" if cell is None else str(cell) for cell in line) + "\n"
            for line in (names, *([row[name] for name in names] for row in rows))
        )
    elif len(names) > _MOST_COLUMNS:
        for number, row in enumerate(rows, start=1):
            out.rule(f"row {number}", align="left")
            for name in names:
                out.print(f"[bold]{name}[/bold]  {_plain(_cell(row[name]))}", highlight=False)
    else:
        table = Table(header_style="bold", expand=False)
        for name in names:
            number = any(isinstance(row[name], (int, float)) for row in rows)
            table.add_column(name, justify="right" if number else "left", overflow="fold")
        for row in rows:
            cells = {name: _plain(_cell(row[name])) for name in names}
            for name in cells.keys() & styled:
                cells[name] = _styled(cells[name])
            table.add_row(*cells.values())
        out.print(table)


def _finite(value: Any) -> Any:
    # JSON has no infinity and no NaN.
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _cell(value: Any) -> str:
    if value is None:
        return ""
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)


def _styled(status: str) -> str:
    """Colour a status by its words, of which a count may follow."""
    return f"[{_STATUS_STYLES[status.partition(':')[0]]}]{status}[/]"


def _plain(text: str) -> str:
    from rich.markup import escape

    return escape(text)


def _refuse_to_replace(folder: Path, wanted: Sequence[tuple[Service, Month]]) -> None:
    from taxi_assets.sample import read_planted

    samples = read_planted(folder)
    names = [f"{service}_tripdata_{month}.parquet" for service, month in wanted]
    real = [name for name in names if (folder / name).exists() and name not in samples]
    if real:
        raise UsageError(
            f"{folder} holds {', '.join(real)}, which is no sample. Nothing was written; name another folder."
        )


def _local(root: str) -> str:
    if "://" in root:
        raise UsageError(f"Sample files are written to a folder, and landing is {root}. Name one: --landing FOLDER.")
    return root


if __name__ == "__main__":
    main()
