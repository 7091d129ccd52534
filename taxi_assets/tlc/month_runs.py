"""Months run from the command line: which of them can be, one run after the other, and how each ended."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import dagster as dg

from taxi_assets.errors import UsageError
from taxi_assets.landing import Landing
from taxi_assets.months import Month
from taxi_assets.runs import CheckOutcome, run_partition
from taxi_assets.tlc.catalog import keys_for, run_tags
from taxi_assets.tlc.partitions import MONTHS
from taxi_assets.tlc.trip_files import TripFiles
from taxi_assets.vocabulary import Service


@dataclass(frozen=True, slots=True)
class MonthReport:
    """How a month ended. `services` are those that had a file in landing; without any, nothing was run."""

    month: str
    state: Literal["done", "failed", "not in landing"]
    services: tuple[Service, ...]
    not_in_landing: tuple[Service, ...]
    run_id: str = ""
    seconds: float = 0.0
    failures: tuple[str, ...] = ()
    checks: tuple[CheckOutcome, ...] = ()

    @property
    def checks_not_passed(self) -> tuple[CheckOutcome, ...]:
        """The checks that failed or warned."""
        return tuple(check for check in self.checks if not check.passed)


def run_months(
    job: Callable[[], dg.JobDefinition],
    months: Sequence[Month],
    services: Sequence[Service],
    landing: Landing,
    instance: dg.DagsterInstance,
    on_step: Callable[[str], None],
) -> Iterator[MonthReport]:
    """Run each month for those of some services that have a file in landing, and report as each ends.

    Raises UsageError, before anything is run, for a month that has no partition.
    """
    beyond = [str(month) for month in months if not MONTHS.has_partition_key(str(month))]
    if beyond:
        raise UsageError(
            f"There is no partition for {', '.join(beyond)}: "
            f"months run from {MONTHS.get_first_partition_key()} to {MONTHS.get_last_partition_key()}."
        )
    landed = TripFiles.of(landing.files())
    return (_run_month(job, month, services, landed, instance, on_step) for month in months)


def _run_month(
    job: Callable[[], dg.JobDefinition],
    month: Month,
    services: Sequence[Service],
    landed: TripFiles,
    instance: dg.DagsterInstance,
    on_step: Callable[[str], None],
) -> MonthReport:
    present = tuple(service for service in services if (service, month) in landed.by_month)
    absent = tuple(service for service in services if service not in present)
    if not present:
        return MonthReport(str(month), "not in landing", present, absent)
    outcome = run_partition(
        job, str(month), keys_for(present), instance, lambda step: on_step(f"{month}  {step}"), run_tags(present)
    )
    state: Literal["done", "failed"] = "done" if outcome.success else "failed"
    return MonthReport(
        str(month), state, present, absent, outcome.run_id, outcome.seconds, outcome.failures, outcome.checks
    )
