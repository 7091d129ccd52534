"""Many months from the command line: which of them are to be run, and running several at once.

What has become of a month is tlc/status.py's to say, how one is run month_runs.py's; the UI's backfills are Dagster's.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Generator, Mapping, Sequence
from dataclasses import replace
from enum import StrEnum
from functools import cache, partial
from typing import Final

import dagster as dg

from taxi_assets.definitions import nyctaxi_month, tlc_month
from taxi_assets.errors import error_of_the_records
from taxi_assets.instance import batch_tags, end_dead_runs, open_instance
from taxi_assets.month_reports import MonthReport
from taxi_assets.months import Month
from taxi_assets.nyctaxi import month_runs as nyctaxi
from taxi_assets.nyctaxi.catalog import NAME as NYCTAXI
from taxi_assets.places import lake_of, landing_of
from taxi_assets.run_records import kept_connections
from taxi_assets.settings import Settings
from taxi_assets.side_by_side import side_by_side
from taxi_assets.tlc.month_runs import plan_months, run_month
from taxi_assets.tlc.status import InLanding, State, draw
from taxi_assets.vocabulary import Service


class Only(StrEnum):
    """What may be chosen of some months."""

    MISSING = "missing"
    FAILED = "failed"
    STALE = "stale"


# Which of a month's files is the right one can't be told: its run says so, whatever is asked for.
_STATES: Final = {
    Only.MISSING: {State.LANDED, State.TWO_FILES},
    Only.FAILED: {State.FAILED, State.TWO_FILES},
    Only.STALE: {State.STALE, State.TWO_FILES},
}


def plan_nyctaxi(settings: Settings, months: Sequence[Month]) -> list[MonthReport]:
    """Say of each month whether it can be run."""
    return nyctaxi.plan_months(months, landing_of(settings))


def plan(
    settings: Settings, months: Sequence[Month], services: Sequence[Service], only: Collection[Only]
) -> list[MonthReport]:
    """Say of each month which services are to be run: all that can be, or `only` those in one of some states.

    With `only`, months of which none is to be run are left out, but for those that are blocked.
    """
    found = InLanding.of(landing_of(settings))
    wanted = set(found.files.by_month)
    if only:
        instance = open_instance(settings.dagster_home)
        with kept_connections(instance):
            cells = draw(found, lake_of(settings), instance, months).cells
        states = {state for one in only for state in _STATES[one]}
        wanted &= {service_month for service_month, cell in cells.items() if cell.state in states}
    planned = plan_months(months, services, wanted, found.blocked)
    if only:
        return [replace(report, not_in_landing=()) for report in planned if report.state != "not in landing"]
    return planned


def run(
    settings: Settings, planned: Sequence[MonthReport], jobs: int | None, on_progress: Callable[[str], None]
) -> Generator[MonthReport]:
    """Run the months that are waiting, some of them at once, and report each month as it ends.

    One month, or one at a time, is run in this process: an interrupt leaves what `run_partition` says. Processes for
    several are ended when this is closed.
    """
    waiting = [report for report in planned if report.state == "waiting"]
    yield from (report for report in planned if report.state != "waiting")
    progress = _Progress(len(waiting), on_progress)
    at_once = min(jobs or _as_many_as_pay(settings), len(waiting))
    work = partial(run_here, batch_tags())
    if at_once > 1:
        # Before processes open it at once: the first one makes its databases.
        instance = open_instance(settings.dagster_home)
        reports = side_by_side(work, waiting, at_once, progress.step, partial(_died, instance))
    else:
        reports = (work(report, partial(progress.step, report)) for report in waiting)
    for report in reports:
        progress.ended(report)
        yield report


def run_here(tags: Mapping[str, str], report: MonthReport, on_step: Callable[[str], None]) -> MonthReport:
    """Run a month in this process, on the settings of its environment.

    Raises TaxiAssetsError if Dagster's records can't be kept: it can be handed to another process, as its cause can't.
    """
    try:
        if NYCTAXI in report.services:
            return nyctaxi.run_month(nyctaxi_month, report, _instance(), on_step, tags)
        return run_month(tlc_month, report, _instance(), on_step, tags)
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
