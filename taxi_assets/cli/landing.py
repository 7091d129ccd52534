"""What brings files into landing: `sample` and `fetch`."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from taxi_assets.calendars import parse_months
from taxi_assets.catalogs import CATALOGS, catalog_named
from taxi_assets.cli.terminal import (
    DONE,
    FAILED,
    CatalogName,
    FeedNames,
    Json,
    Periods,
    app,
    at_work,
    err,
    out,
    say,
    show_json,
)
from taxi_assets.errors import InterruptedByUserError, UsageError
from taxi_assets.tlc.vocabulary import Service

if TYPE_CHECKING:
    from taxi_assets.tlc.fetch import Fetched, Wanted

_ZONES = "zones"
_STATE_STYLES = {"fetched": "green", "unchanged": "dim", "not published": "yellow", "failed": "red"}


@app.command()
def sample(
    periods: Periods,
    catalog: CatalogName = CATALOGS[0].name,
    feed: FeedNames = None,
    rows: Annotated[int, typer.Option(min=1, max=20_000_000, help="Rows a period and feed.")] = 50_000,
    seed: Annotated[int, typer.Option(help="Another number, other trips.")] = 0,
    clean: Annotated[bool, typer.Option("--clean", help="Plant only faults that no check warns of.")] = False,
    landing: Annotated[Path | None, typer.Option(help="Folder to write to, instead of the setting's landing.")] = None,
) -> None:
    """Write made-up months in TLC's own layout, with known faults planted, into landing.

    Those of the catalog nyctaxi are one file of all months, in the layout of Databricks' sample.
    """
    chosen = catalog_named(catalog)
    feeds = chosen.chosen(feed) if feed else []
    if chosen.sample is None:
        raise UsageError(
            f"There are no samples of {chosen.name}. Put files into landing, named like {chosen.file_name}."
        )
    from taxi_assets.settings import Settings

    parsed = chosen.calendar.parse(periods)
    folder = landing or Path(_local(Settings.load().landing_root))
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"{folder} can't be made: {error.strerror}. Name a folder: --landing FOLDER.") from error
    with at_work("Making files") as on_step:
        for says in chosen.sample(folder, parsed, feeds, rows, seed, on_step, clean=clean):
            say(says)


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
    import taxi_assets.tlc.fetch as fetching
    from taxi_assets.places import landing_of
    from taxi_assets.settings import Settings
    from taxi_assets.tlc.fetch.progress import Bars

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
        raise InterruptedByUserError(
            "Interrupted. Files that were done stand whole in landing; fetch again, and the others go on from here."
        ) from None
    if json_:
        show_json([dataclasses.asdict(outcomes[file.name]) for file in wanted])
    raise typer.Exit(FAILED if any(outcome.state == "failed" for outcome in outcomes.values()) else DONE)


def _wanted(service: str, months: Sequence[str]) -> list[Wanted]:
    known = [*Service, _ZONES]
    if service not in known:
        raise UsageError(f"There is no service '{service}'. There are: {', '.join(known)}.")
    if service == _ZONES and months:
        raise UsageError("The zone lookup is one file for all months: taxi-assets fetch zones")
    if service != _ZONES and not months:
        raise UsageError(f"Which months? One, or several: taxi-assets fetch {service} 2024-01:2024-06")
    parsed = parse_months(months)
    from taxi_assets.tlc.fetch import Wanted

    return [Wanted.trips(Service(service), month) for month in parsed] or [Wanted.zones()]


def _show_fetched(outcome: Fetched) -> None:
    size = "" if outcome.size is None else f"  {outcome.size / 1e6:,.1f} MB, {outcome.seconds:.1f} s"
    style = _STATE_STYLES[outcome.state]
    say(outcome.name, "  ", (outcome.state, style), size)
    if outcome.says:
        say("    ", (outcome.says, "red"))


def _local(root: str) -> str:
    if "://" in root:
        raise UsageError(f"Sample files are written to a folder, and landing is {root}. Name one: --landing FOLDER.")
    return root
