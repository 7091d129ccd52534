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
    INTERRUPTED,
    STATUS_STYLES,
    CatalogName,
    Json,
    Months,
    app,
    at_work,
    end_at_once,
    line,
    out,
    say,
    show,
    show_json,
    show_warning,
    some_of,
)
from taxi_assets.errors import TaxiAssetsError
from taxi_assets.months import Month, parse_months
from taxi_assets.vocabulary import Service

if TYPE_CHECKING:
    from taxi_assets.month_reports import MonthReport


@app.command()
def materialize(
    months: Months,
    catalog: CatalogName = CATALOGS[0].name,
    service: Annotated[
        list[Service] | None, typer.Option(help="Only this service; can be repeated. Otherwise all. tlc only.")
    ] = None,
    jobs: Annotated[
        int | None, typer.Option(min=1, max=64, help="Months at once. Otherwise one per core; on Spark one.")
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
        with at_work("Looking into landing", quietly=json_) as on_step:
            planned = backfill.plan(chosen, settings, parsed, service or (), only)
            with closing(backfill.run(chosen, settings, planned, jobs, on_step)) as ended:
                for report in ended:
                    reports.append(report)
                    if not json_:
                        _show_month(report)
    except KeyboardInterrupt:
        end_at_once("Interrupted. Months that were done are stored whole; run the others again.", INTERRUPTED)
    if json_:
        in_order = sorted(reports, key=lambda report: report.month)
        show_json([dataclasses.asdict(report) for report in in_order])
    elif only and not planned:
        say(f"Nothing to do: none of these months is {' or '.join(only)}.")
    unread = chosen.load().unread(landing_of(settings))
    if not only and all(report.state == "not in landing" for report in reports):
        raise TaxiAssetsError(
            f"None of these months has a file in {landing_of(settings).root}. "
            f"Files are named like {chosen.file_name}{f', and not as {some_of(unread)}' if unread else ''}."
        )
    _warn_of_unread(unread, chosen.file_name)
    raise typer.Exit(FAILED if any(report.state == "failed" for report in reports) else DONE)


@app.command()
def checks(
    month: Annotated[str, typer.Argument(help="A month: 2024-01.")],
    failed: Annotated[bool, typer.Option("--failed", help="Only those that failed or warned.")] = False,
    json_: Json = False,
) -> None:
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
    rows = [
        {
            "status": result.status,
            "table": result.table,
            "check": result.name,
            "rows_failing": result.rows_failing,
            "tolerance": result.tolerance,
            "says": result.says,
        }
        for result in results
    ]
    chosen = [row for row in rows if row["status"] in {"failed", "warned"}] if failed else rows
    not_run = sum(row["status"] == "not run" for row in rows)
    if failed and not_run:
        show_warning(
            f"{not_run} of {len(rows)} checks of {key} haven't run. If taxi-assets status {key} says failed, "
            "materialize it again: the error says why."
        )
    if not chosen and out.is_terminal and not json_:
        say(f"None of the {len(rows) - not_run} checks of {key} that ran failed or warned.")
        return
    show(chosen, json_, list(rows[0]))


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
    instance = open_instance(settings.dagster_home)
    found = InLanding.of(landing_of(settings), instance)
    with kept_connections(instance):
        picture = draw(found, lake_of(settings), instance, wanted)
    if json_:
        show(
            [
                {
                    "month": str(month),
                    "service": service,
                    "status": picture.cells[service, month].status,
                    "checks_not_passed": picture.cells[service, month].warnings + picture.cells[service, month].errors,
                    "warnings": picture.cells[service, month].warnings,
                    "errors": picture.cells[service, month].errors,
                    "reason": picture.cells[service, month].reason,
                }
                for month in picture.months
                for service in Service
            ],
            as_json=True,
        )
    else:
        cells = {key: line((str(cell), STATUS_STYLES[cell.state])) for key, cell in picture.cells.items()}
        rows = [
            {"month": str(month)} | {str(service): cells[service, month] for service in Service}
            for month in picture.months
        ]
        show(rows, as_json=False)
        # Into a pipe go rows, and nothing else.
        for state in picture.states() if out.is_terminal else []:
            say((state, STATUS_STYLES[state]), " " * (16 - len(state)), MEANINGS[state])
        for reason in picture.reasons() if out.is_terminal else []:
            say(reason)
    _warn_of_unread(found.files.unread, CATALOGS[0].file_name)


def _show_month(report: MonthReport) -> None:
    from taxi_assets.check_history import in_words

    style = {"done": "green", "failed": "red", "blocked": "blue", "not in landing": "dim"}[report.state]
    warnings = sum(check.severity == "WARN" for check in report.checks_not_passed)
    not_passed = in_words(len(report.checks_not_passed) - warnings, warnings)
    passed = "all passed" if report.state == "done" else "the others didn't run"
    ended = not_passed or (passed if report.checks else "")
    counts = ", ".join(filter(None, [f"{len(report.checks)} checks", ended]))
    ran = f"  {', '.join(report.services)}: {counts}, {report.seconds:.1f} s"
    absent = f"  ({', '.join(report.not_in_landing)}: no file in landing)" if report.not_in_landing else ""
    say(report.month, "  ", (report.state, style), ran if report.services else "", absent)
    for service, reason in report.blocked.items():
        say("    ", (f"{service} is blocked", "blue"), f": {reason}")
    for check in report.checks_not_passed:
        style = "yellow" if check.severity == "WARN" else "red"
        say("    ", (f"{check.table} {check.name}", style), f": {check.says}")
    for failure in report.failures:
        say("    ", (failure, "red"))


def _warn_of_unread(unread: Sequence[str], file_name: str) -> None:
    if unread:
        show_warning(
            f"Not read, as {'its name is' if len(unread) == 1 else 'their names are'} nearly, and not quite, like "
            f"{file_name}: {some_of(unread)}. Rename what is a month's file, and move away what isn't."
        )
