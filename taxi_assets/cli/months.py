"""What runs months and says what has become of them: `materialize`, `checks` and `status`."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from contextlib import closing
from typing import TYPE_CHECKING, Annotated

import typer

from taxi_assets.catalog import Only
from taxi_assets.catalogs import CATALOGS, catalog_named, require_services
from taxi_assets.cli.terminal import (
    DONE,
    FAILED,
    CatalogName,
    Json,
    Months,
    app,
    end_interrupted,
    err,
    out,
    plain,
    show,
    show_json,
    styled_status,
)
from taxi_assets.errors import TaxiAssetsError
from taxi_assets.months import Month, parse_months
from taxi_assets.vocabulary import Service

if TYPE_CHECKING:
    from taxi_assets.month_reports import MonthReport

_MOST_NAMED = 5


@app.command()
def materialize(
    months: Months,
    catalog: CatalogName = CATALOGS[0].name,
    service: Annotated[list[Service] | None, typer.Option(help="Only this service; can be repeated.")] = None,
    jobs: Annotated[
        int | None, typer.Option(min=1, max=64, help="Months that are run at once; unless given as many as pay.")
    ] = None,
    missing: Annotated[bool, typer.Option("--missing", help="Only what has landed and isn't stored.")] = False,
    failed: Annotated[bool, typer.Option("--failed", help="Only what failed when it was run last.")] = False,
    stale: Annotated[
        bool, typer.Option("--stale", help="Only what is stored from another file than landing's.")
    ] = False,
    json_: Json = False,
) -> None:
    """Run months from landing to gold, several at once, and record the runs in Dagster's instance.

    --missing, --failed and --stale can be combined. A month that is blocked, or not in landing, is passed by.
    """
    chosen = catalog_named(catalog)
    if service or missing or failed or stale:
        require_services(chosen, "--service, --missing, --failed and --stale are")
    parsed = parse_months(months)
    from taxi_assets import backfill
    from taxi_assets.places import landing_of
    from taxi_assets.settings import Settings

    settings = Settings.load()
    asked = {Only.MISSING: missing, Only.FAILED: failed, Only.STALE: stale}
    only = [state for state in asked if asked[state]]
    reports = []
    try:
        with (out if out.is_terminal and not json_ else err).status("Looking into landing") as line:
            planned = backfill.plan(chosen, settings, parsed, service or (), only)
            with closing(backfill.run(chosen, settings, planned, jobs, line.update)) as ended:
                for report in ended:
                    reports.append(report)
                    if not json_:
                        _show_month(report)
    except KeyboardInterrupt:
        end_interrupted("Interrupted. Months that were done are stored whole; run the others again.")
    if json_:
        in_order = sorted(reports, key=lambda report: report.month)
        show_json([dataclasses.asdict(report) for report in in_order])
    elif only and not planned:
        out.print(f"Nothing to do: none of these months is {' or '.join(only)}.", highlight=False)
    if not only and all(report.state == "not in landing" for report in reports):
        raise TaxiAssetsError(
            f"None of these months has a file in {landing_of(settings).root}. "
            f"Files are named like {chosen.file_name}{_and_not_like(chosen.load().unread(landing_of(settings)))}."
        )
    raise typer.Exit(FAILED if any(report.state == "failed" for report in reports) else DONE)


@app.command()
def checks(month: Annotated[str, typer.Argument(help="A month: 2024-01.")], json_: Json = False) -> None:
    """Show the last result of every check of a month."""
    key = str(Month.parse(month))
    from taxi_assets.check_history import latest_results
    from taxi_assets.commands import to_materialize
    from taxi_assets.definitions import defs
    from taxi_assets.instance import open_instance
    from taxi_assets.settings import Settings

    graph = defs.resolve_asset_graph()
    results = latest_results(open_instance(Settings.load().dagster_home), sorted(graph.asset_check_keys), key)
    if not results:
        raise TaxiAssetsError(f"No check has run for {key}. Run the month first: {' or '.join(to_materialize(key))}")
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
    from taxi_assets.tlc.status import MEANINGS, InLanding, draw

    settings = Settings.load()
    found = InLanding.of(landing_of(settings))
    instance = open_instance(settings.dagster_home)
    with kept_connections(instance):
        picture = draw(found, lake_of(settings), instance, wanted)
    if json_:
        show(
            [
                {
                    "month": str(month),
                    "service": service,
                    "status": picture.cells[service, month].state,
                    "checks_not_passed": picture.cells[service, month].checks_not_passed,
                    "reason": picture.cells[service, month].reason,
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
    for reason in picture.reasons() if out.is_terminal else []:
        out.print(plain(reason), highlight=False)


def _show_month(report: MonthReport) -> None:
    style = {"done": "green", "failed": "red", "blocked": "blue", "not in landing": "dim"}[report.state]
    counts = f"{len(report.checks)} checks, {len(report.checks_not_passed)} not passed"
    ran = f"  {', '.join(report.services)}: {counts}, {report.seconds:.1f} s"
    absent = f"  ({', '.join(report.not_in_landing)}: no file in landing)" if report.not_in_landing else ""
    out.print(f"{report.month}  [{style}]{report.state}[/]{ran if report.services else ''}{absent}", highlight=False)
    for service, reason in report.blocked.items():
        out.print(f"    [blue]{service} is blocked[/]: {plain(reason)}", highlight=False)
    for check in report.checks_not_passed:
        style = "yellow" if check.severity == "WARN" else "red"
        out.print(f"    [{style}]{check.table} {check.name}[/]: {plain(check.says)}", highlight=False)
    for failure in report.failures:
        out.print(f"    [red]{plain(failure)}[/red]", highlight=False)


def _and_not_like(names: Sequence[str]) -> str:
    return f", and not as {', '.join(names[:_MOST_NAMED])}" if names else ""
