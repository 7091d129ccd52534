"""Months run from the command line: which of them landing's files hold, and how each ended."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import dagster as dg

from taxi_assets.landing import Landing
from taxi_assets.month_reports import MonthReport, require_partitions
from taxi_assets.months import Month
from taxi_assets.nyctaxi.catalog import NAME, all_keys
from taxi_assets.nyctaxi.partitions import MONTHS
from taxi_assets.nyctaxi.trip_files import trip_files
from taxi_assets.runs import run_partition


def plan_months(months: Sequence[Month], landing: Landing) -> list[MonthReport]:
    """Say of each month whether a file in landing holds it.

    Raises UsageError for a month that has no partition, LandingError for a file that can't be used.
    """
    require_partitions(months, MONTHS)
    held = {month for trip_file in trip_files(landing.files()) for month in trip_file.months(landing)}
    return [
        MonthReport(str(month), "waiting", (NAME,))
        if month in held
        else MonthReport(str(month), "not in landing", (), (NAME,))
        for month in months
    ]


def run_month(
    job: Callable[[], dg.JobDefinition],
    planned: MonthReport,
    instance: dg.DagsterInstance,
    on_step: Callable[[str], None],
    tags: Mapping[str, str],
) -> MonthReport:
    """Run a month that is waiting, in this process, and report how it ended."""
    return planned.after(run_partition(job, planned.month, all_keys(), instance, on_step, tags))
