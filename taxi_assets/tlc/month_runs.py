"""Months run from the command line: which of them can be, for which services, and how each ended."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Literal

import dagster as dg

from taxi_assets.month_reports import MonthReport, require_partitions
from taxi_assets.months import Month
from taxi_assets.runs import run_partition
from taxi_assets.tlc.catalog import keys_for, run_tags
from taxi_assets.tlc.partitions import MONTHS
from taxi_assets.tlc.trip_files import ServiceMonth
from taxi_assets.vocabulary import Service


def plan_months(
    months: Sequence[Month],
    services: Sequence[Service],
    landed: Collection[ServiceMonth],
    blocked: Mapping[ServiceMonth, str],
) -> list[MonthReport]:
    """Say of each month which of some services can be run: those that have a file in landing and aren't blocked.

    Raises UsageError for a month that has no partition.
    """
    require_partitions(months, MONTHS)
    return [_plan_month(month, services, landed, blocked) for month in months]


def _plan_month(
    month: Month,
    services: Sequence[Service],
    landed: Collection[ServiceMonth],
    blocked: Mapping[ServiceMonth, str],
) -> MonthReport:
    reasons: dict[str, str] = {service: blocked[service, month] for service in services if (service, month) in blocked}
    others = [service for service in services if service not in reasons]
    present = tuple(service for service in others if (service, month) in landed)
    absent = tuple(service for service in others if service not in present)
    state: Literal["waiting", "blocked", "not in landing"] = "not in landing"
    if present:
        state = "waiting"
    elif reasons:
        state = "blocked"
    return MonthReport(str(month), state, present, absent, reasons)


def run_month(
    job: Callable[[], dg.JobDefinition],
    planned: MonthReport,
    instance: dg.DagsterInstance,
    on_step: Callable[[str], None],
    tags: Mapping[str, str],
) -> MonthReport:
    """Run a month that is waiting, in this process, and report how it ended."""
    services = [Service(service) for service in planned.services]
    all_tags = {**tags, **run_tags(services)}
    return planned.after(run_partition(job, planned.month, keys_for(services), instance, on_step, all_tags))
