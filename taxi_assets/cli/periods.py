"""What runs periods and says what has become of them: `materialize`, `checks` and `status`."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from contextlib import closing
from typing import TYPE_CHECKING, Annotated, Any

import typer

from taxi_assets.calendars import parse_periods
from taxi_assets.catalog import Catalog
from taxi_assets.catalogs import CATALOGS, catalog_named
from taxi_assets.cli.terminal import (
    DONE,
    FAILED,
    INTERRUPTED,
    STATUS_STYLES,
    CatalogName,
    FeedNames,
    Json,
    PeriodName,
    Periods,
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

if TYPE_CHECKING:
    from taxi_assets.deliveries.reports import Report


@app.command()
def materialize(
    periods: Periods,
    catalog: CatalogName = CATALOGS[0].name,
    feed: FeedNames = None,
    jobs: Annotated[
        int | None, typer.Option(min=1, max=64, help="Periods at once. Otherwise one per core; on Spark one.")
    ] = None,
    missing: Annotated[bool, typer.Option("--missing", help="Only what has landed and isn't stored.")] = False,
    failed: Annotated[bool, typer.Option("--failed", help="Only what failed when it was run last.")] = False,
    stale: Annotated[
        bool, typer.Option("--stale", help="Only what is stored from another file than landing's.")
    ] = False,
    json_: Json = False,
) -> None:
    """Run periods from landing to gold, several at once, and record the runs in Dagster's instance.

    --missing, --failed and --stale can be combined. A period that is blocked, or not in landing, is passed by.
    """
    chosen = catalog_named(catalog)
    parsed, feeds = chosen.calendar.parse(periods), chosen.chosen(feed or ())
    from taxi_assets import backfill
    from taxi_assets.deliveries.chosen import Only
    from taxi_assets.deliveries.landed import look
    from taxi_assets.places import landing_of
    from taxi_assets.settings import Settings

    settings = Settings.load()
    asked = {Only.MISSING: missing, Only.FAILED: failed, Only.STALE: stale}
    only = [state for state in asked if asked[state]]
    words, reports = f"{chosen.calendar.kind.word}s", []
    try:
        with at_work("Looking into landing", quietly=json_) as on_step:
            planned = backfill.plan(chosen, settings, parsed, feeds, only)
            # Before the runs: what they have stored is stored, whatever becomes of landing meanwhile.
            unread = look(chosen, landing_of(settings)).unread
            with closing(backfill.run(chosen, settings, planned, jobs, on_step)) as ended:
                for report in ended:
                    reports.append(report)
                    if not json_:
                        _show_report(report)
    except KeyboardInterrupt:
        end_at_once(
            f"Interrupted. {words.capitalize()} that were done are stored whole; run the others again.", INTERRUPTED
        )
    if json_:
        in_order = sorted(reports, key=lambda report: report.period)
        show_json([{**_as_before(one.period, services=one.feeds), **dataclasses.asdict(one)} for one in in_order])
    elif only and not planned:
        say(f"Nothing to do: none of these {words} is {' or '.join(only)}.")
    if not only and all(report.state == "not in landing" for report in reports):
        raise TaxiAssetsError(
            f"None of these {words} has a file in {landing_of(settings).root}. "
            f"Files are named like {chosen.file_name}{f', and not as {some_of(unread)}' if unread else ''}."
        )
    _warn_of_unread(unread, chosen)
    raise typer.Exit(FAILED if any(report.state == "failed" for report in reports) else DONE)


@app.command()
def checks(
    period: PeriodName,
    failed: Annotated[bool, typer.Option("--failed", help="Only those that failed or warned.")] = False,
    json_: Json = False,
) -> None:
    """Show the last result of every check of a period."""
    (key,) = (str(one) for one in parse_periods([period]))
    from taxi_assets.check_history import latest_results
    from taxi_assets.commands import to_materialize
    from taxi_assets.definitions import defs
    from taxi_assets.instance import is_instance, open_instance
    from taxi_assets.settings import Settings

    graph = defs.resolve_asset_graph()
    home, keys = Settings.load().dagster_home, sorted(graph.asset_check_keys)
    results = latest_results(open_instance(home), keys, key) if is_instance(home) else []
    if not results:
        raise TaxiAssetsError(f"No check has run for {key}. Run it first: {' or '.join(to_materialize(key))}")
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
    periods: Annotated[
        list[str] | None,
        typer.Argument(
            help="Months: 2024-01, a range 2024-01:2024-12, or several of both; unless named the last twelve, or, if "
            "nothing stands in those, the twelve up to the newest that anything stands in. Of days, 31."
        ),
    ] = None,
    catalog: CatalogName = CATALOGS[0].name,
    json_: Json = False,
) -> None:
    """Show a year in one picture: what has become of each month of each feed; or a month of days."""
    chosen = catalog_named(catalog)
    wanted = chosen.calendar.parse(periods or [])
    from taxi_assets.deliveries.blocked import blocked_in
    from taxi_assets.deliveries.landed import look
    from taxi_assets.deliveries.status import InLanding, draw, meanings
    from taxi_assets.instance import open_instance
    from taxi_assets.places import lake_of, landing_of
    from taxi_assets.run_records import kept_connections
    from taxi_assets.settings import Settings

    settings = Settings.load()
    landing = landing_of(settings)
    landed = look(chosen, landing)
    # After landing was looked into: in a wrong folder no instance is made.
    instance = open_instance(settings.dagster_home)
    found = InLanding(chosen, landing, landed, blocked_in(chosen, landing, instance))
    with kept_connections(instance):
        picture = draw(found, lake_of(settings), instance, wanted)
    if json_:
        show(
            [
                {
                    **_as_before(str(period), service=feed),
                    "catalog": chosen.name,
                    "period": str(period),
                    "feed": feed,
                    "status": cell.status,
                    "checks_not_passed": cell.warnings + cell.errors,
                    "warnings": cell.warnings,
                    "errors": cell.errors,
                    "reason": cell.reason,
                }
                for (feed, period), cell in picture.cells.items()
            ],
            as_json=True,
        )
    else:
        cells = {key: line((str(cell), STATUS_STYLES[cell.state])) for key, cell in picture.cells.items()}
        rows = [
            {chosen.calendar.kind.word: str(period)} | {feed: cells[feed, period] for feed in chosen.feed_names}
            for period in picture.periods
        ]
        show(rows, as_json=False)
        # Into a pipe go rows, and nothing else.
        says = meanings(chosen)
        for state in picture.states() if out.is_terminal else []:
            say((state, STATUS_STYLES[state]), " " * (16 - len(state)), says[state])
        for reason in picture.reasons() if out.is_terminal else []:
            say(reason)
    for why in picture.unusable:
        show_warning(why)
    _warn_of_unread(found.landed.unread, chosen)


def _as_before(period: str, **services: Any) -> dict[str, Any]:
    """Return a period and its feeds by the names that programs knew when all were months of services."""
    return {"month": period, **services}


def _show_report(report: Report) -> None:
    from taxi_assets.check_history import in_words

    style = {"done": "green", "failed": "red", "blocked": "blue", "not in landing": "dim"}[report.state]
    warnings = sum(check.severity == "WARN" for check in report.checks_not_passed)
    not_passed = in_words(len(report.checks_not_passed) - warnings, warnings)
    passed = "all passed" if report.state == "done" else "the others didn't run"
    ended = not_passed or (passed if report.checks else "")
    counts = ", ".join(filter(None, [f"{len(report.checks)} checks", ended]))
    ran = f"  {', '.join(report.feeds)}: {counts}, {report.seconds:.1f} s"
    absent = f"  ({', '.join(report.not_in_landing)}: no file in landing)" if report.not_in_landing else ""
    say(report.period, "  ", (report.state, style), ran if report.feeds else "", absent)
    for feed, reason in report.blocked.items():
        say("    ", (f"{feed} is blocked", "blue"), f": {reason}")
    for check in report.checks_not_passed:
        style = "yellow" if check.severity == "WARN" else "red"
        say("    ", (f"{check.table} {check.name}", style), f": {check.says}")
    for failure in report.failures:
        say("    ", (failure, "red"))


def _warn_of_unread(unread: Sequence[str], catalog: Catalog) -> None:
    if unread:
        show_warning(
            f"Not read, as {'its name is' if len(unread) == 1 else 'their names are'} nearly, and not quite, like "
            f"{catalog.file_name}: {some_of(unread)}. Rename what is a {catalog.calendar.kind.word}'s file, and move "
            "away what isn't."
        )
