"""Many periods from the command line: running several at once. The UI's backfills are Dagster's."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Generator, Mapping, Sequence
from functools import cache, partial

import dagster as dg

from taxi_assets import definitions
from taxi_assets.calendars import Period
from taxi_assets.catalog import FEEDS, Catalog
from taxi_assets.deliveries.chosen import Asked, Only, chosen
from taxi_assets.deliveries.reports import Report
from taxi_assets.errors import error_of_the_records
from taxi_assets.instance import batch_tags, end_dead_runs, open_instance
from taxi_assets.places import lake_of, landing_of
from taxi_assets.runs import run_partition
from taxi_assets.settings import Settings
from taxi_assets.side_by_side import side_by_side


def plan(
    catalog: Catalog, settings: Settings, periods: Sequence[Period], feeds: Sequence[str], only: Collection[Only]
) -> list[Report]:
    """Say of each period which feeds are to be run, as `chosen` has it."""
    instance = partial(open_instance, settings.dagster_home)
    asked = Asked(periods, feeds, only, landing_of(settings), lake_of(settings), instance)
    return chosen(catalog, asked)


def run(
    catalog: Catalog,
    settings: Settings,
    planned: Sequence[Report],
    jobs: int | None,
    on_progress: Callable[[str], None],
) -> Generator[Report]:
    """Run the periods that are waiting, some of them at once, and report each as it ends.

    One period, or one at a time, is run in this process: an interrupt leaves what `run_partition` says. Processes for
    several are ended when this is closed.
    """
    waiting = [report for report in planned if report.state == "waiting"]
    yield from (report for report in planned if report.state != "waiting")
    progress = _Progress(len(waiting), f"{catalog.calendar.kind.word}s", on_progress)
    at_once = min(jobs or _as_many_as_pay(settings), len(waiting))
    work = partial(run_here, catalog, batch_tags())
    if at_once > 1:
        # Before processes open it at once: the first one makes its databases.
        instance = open_instance(settings.dagster_home)
        reports = side_by_side(work, waiting, at_once, progress.step, partial(_died, instance))
    else:
        reports = (work(report, partial(progress.step, report)) for report in waiting)
    for report in reports:
        progress.ended(report)
        yield report


def run_here(catalog: Catalog, tags: Mapping[str, str], report: Report, on_step: Callable[[str], None]) -> Report:
    """Run a period in this process, on the settings of its environment.

    Raises TaxiAssetsError if Dagster's records can't be kept: it can be handed to another process, as its cause can't.
    """
    contents = catalog.load()
    keys, all_tags = contents.keys_for(report.feeds), {**tags, FEEDS: ",".join(sorted(report.feeds))}
    job = dg.build_reconstructable_job(definitions.__name__, definitions.period_job.__name__, (catalog.name,))
    try:
        return report.after(run_partition(job, report.period, keys, _instance(), on_step, all_tags))
    except Exception as error:
        of_the_records = error_of_the_records(error)
        if of_the_records is None:
            raise
        raise of_the_records from error


@cache
def _instance() -> dg.DagsterInstance:
    return open_instance(Settings.load().dagster_home)


def _died(instance: dg.DagsterInstance, report: Report, exit_code: int) -> Report:
    """Report a period whose process is gone, and end its run, which others of the period would wait for.

    If that can't be recorded, whoever opens the instance next ends it.
    """
    how = f"killed by signal {-exit_code}" if exit_code < 0 else f"gone, with exit status {exit_code}"
    says = f"The process that ran {report.period} is {how}. Run it again."
    try:
        end_dead_runs(instance)
    except Exception as error:
        of_the_records = error_of_the_records(error)
        if of_the_records is None:
            raise
        says = f"{says} {of_the_records}"
    return report.failed(says)


def _as_many_as_pay(settings: Settings) -> int:
    """Return how many periods at once are the fastest, as measured: one for every core.

    Spark shares its cores out itself, and each run's process has a session of its own.
    """
    return 1 if settings.engine == "spark" else len(os.sched_getaffinity(0))


class _Progress:
    """A line that says how many periods have ended, and which step each of the others is at."""

    def __init__(self, count: int, words: str, show: Callable[[str], None]) -> None:
        self._count, self._words, self._show = count, words, show
        self._ended = 0
        self._steps: dict[str, str] = {}

    def step(self, report: Report, step: str) -> None:
        """Show a period's next step."""
        self._steps[report.period] = step
        self._update()

    def ended(self, report: Report) -> None:
        """Show that a period has ended."""
        self._steps.pop(report.period, None)
        self._ended += 1
        self._update()

    def _update(self) -> None:
        steps = (f"{period} {step}" for period, step in sorted(self._steps.items()))
        self._show("  ".join([f"{self._ended} of {self._count} {self._words}", *steps]))
