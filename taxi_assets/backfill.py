"""Many months from the command line: which of them are to be run, and running several at once.

Which those are is for each catalog to say; the UI's backfills are Dagster's.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Generator, Mapping, Sequence
from functools import cache, partial

import dagster as dg

from taxi_assets import definitions
from taxi_assets.catalog import Asked, Catalog, Only
from taxi_assets.errors import error_of_the_records
from taxi_assets.instance import batch_tags, end_dead_runs, open_instance
from taxi_assets.month_reports import MonthReport
from taxi_assets.months import Month
from taxi_assets.places import lake_of, landing_of
from taxi_assets.runs import run_partition
from taxi_assets.settings import Settings
from taxi_assets.side_by_side import side_by_side


def plan(
    catalog: Catalog, settings: Settings, months: Sequence[Month], services: Sequence[str], only: Collection[Only]
) -> list[MonthReport]:
    """Say of each month which services are to be run, as `Contents.plan` has it."""
    instance = partial(open_instance, settings.dagster_home)
    asked = Asked(months, services or catalog.services, only, landing_of(settings), lake_of(settings), instance)
    return catalog.load().plan(asked)


def run(
    catalog: Catalog,
    settings: Settings,
    planned: Sequence[MonthReport],
    jobs: int | None,
    on_progress: Callable[[str], None],
) -> Generator[MonthReport]:
    """Run the months that are waiting, some of them at once, and report each month as it ends.

    One month, or one at a time, is run in this process: an interrupt leaves what `run_partition` says. Processes for
    several are ended when this is closed.
    """
    waiting = [report for report in planned if report.state == "waiting"]
    yield from (report for report in planned if report.state != "waiting")
    progress = _Progress(len(waiting), on_progress)
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


def run_here(
    catalog: Catalog, tags: Mapping[str, str], report: MonthReport, on_step: Callable[[str], None]
) -> MonthReport:
    """Run a month in this process, on the settings of its environment.

    Raises TaxiAssetsError if Dagster's records can't be kept: it can be handed to another process, as its cause can't.
    """
    contents = catalog.load()
    keys, all_tags = contents.keys_for(report.services), {**tags, **contents.run_tags(report.services)}
    job = dg.build_reconstructable_job(definitions.__name__, definitions.month_job.__name__, (catalog.name,))
    try:
        return report.after(run_partition(job, report.month, keys, _instance(), on_step, all_tags))
    except Exception as error:
        of_the_records = error_of_the_records(error)
        if of_the_records is None:
            raise
        raise of_the_records from error


@cache
def _instance() -> dg.DagsterInstance:
    return open_instance(Settings.load().dagster_home)


def _died(instance: dg.DagsterInstance, report: MonthReport, exit_code: int) -> MonthReport:
    """Report a month whose process is gone, and end its run, which others of the month would wait for.

    If that can't be recorded, whoever opens the instance next ends it.
    """
    how = f"killed by signal {-exit_code}" if exit_code < 0 else f"gone, with exit status {exit_code}"
    says = f"The process that ran {report.month} is {how}. Run the month again."
    try:
        end_dead_runs(instance)
    except Exception as error:
        of_the_records = error_of_the_records(error)
        if of_the_records is None:
            raise
        says = f"{says} {of_the_records}"
    return report.failed(says)


def _as_many_as_pay(settings: Settings) -> int:
    """Return how many months at once are the fastest, as measured: one for every core.

    Spark shares its cores out itself, and each run's process has a session of its own.
    """
    return 1 if settings.engine == "spark" else len(os.sched_getaffinity(0))


class _Progress:
    """A line that says how many months have ended, and which step each of the others is at."""

    def __init__(self, count: int, show: Callable[[str], None]) -> None:
        self._count, self._show = count, show
        self._ended = 0
        self._steps: dict[str, str] = {}

    def step(self, report: MonthReport, step: str) -> None:
        """Show a month's next step."""
        self._steps[report.month] = step
        self._update()

    def ended(self, report: MonthReport) -> None:
        """Show that a month has ended."""
        self._steps.pop(report.month, None)
        self._ended += 1
        self._update()

    def _update(self) -> None:
        steps = (f"{month} {step}" for month, step in sorted(self._steps.items()))
        self._show("  ".join([f"{self._ended} of {self._count} months", *steps]))
