"""What runs months and says what has become of them: `materialize`, `checks` and `status`."""

from __future__ import annotations

import dataclasses
import json
from typing import TYPE_CHECKING, Annotated

import typer

from taxi_assets.cli.terminal import DONE, FAILED, Json, Months, app, err, out, plain, show, styled_status
from taxi_assets.errors import TaxiAssetsError, UsageError
from taxi_assets.months import Month, parse_months
from taxi_assets.vocabulary import Service

if TYPE_CHECKING:
    from taxi_assets.tlc.month_runs import MonthReport


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
    show(
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
        show(
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
    show(rows, as_json=False, styled=list(Service))
    # Into a pipe go rows, and nothing else.
    legend = picture.states() if out.is_terminal else []
    for state in legend:
        out.print(f"{styled_status(state)}{' ' * (16 - len(state))}{MEANINGS[state]}", highlight=False)


def _show_month(report: MonthReport) -> None:
    style = {"done": "green", "failed": "red", "not in landing": "dim"}[report.state]
    counts = f"{len(report.checks)} checks, {len(report.checks_not_passed)} not passed"
    ran = f"  {', '.join(report.services)}: {counts}, {report.seconds:.1f} s"
    absent = f"  ({', '.join(report.not_in_landing)}: no file in landing)" if report.not_in_landing else ""
    out.print(f"{report.month}  [{style}]{report.state}[/]{ran if report.services else ''}{absent}", highlight=False)
    for check in report.checks_not_passed:
        style = "yellow" if check.severity == "WARN" else "red"
        out.print(f"    [{style}]{check.table} {check.name}[/]: {plain(check.says)}", highlight=False)
    for failure in report.failures:
        out.print(f"    [red]{plain(failure)}[/red]", highlight=False)
