"""Months that are to be run, whichever catalog's: that there are such, and what is reported of each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

import dagster as dg

from taxi_assets.errors import UsageError
from taxi_assets.months import Month
from taxi_assets.runs import CheckOutcome, RunOutcome


@dataclass(frozen=True, slots=True)
class MonthReport:
    """A month that is to be run, or how it ended. `services` are those of its run; without any, there is none.

    A catalog without services stands there by its own name.

    Of the other services that were asked for, `blocked` says of which the month is blocked, and why.
    """

    month: str
    state: Literal["waiting", "done", "failed", "blocked", "not in landing"]
    services: tuple[str, ...]
    not_in_landing: tuple[str, ...] = ()
    blocked: Mapping[str, str] = field(default_factory=dict)
    run_id: str = ""
    seconds: float = 0.0
    failures: tuple[str, ...] = ()
    checks: tuple[CheckOutcome, ...] = ()

    @property
    def checks_not_passed(self) -> tuple[CheckOutcome, ...]:
        """The checks that failed or warned."""
        return tuple(check for check in self.checks if not check.passed)

    def failed(self, why: str) -> MonthReport:
        """Return the report of this month as one that failed."""
        return replace(self, state="failed", failures=(why,))

    def after(self, outcome: RunOutcome) -> MonthReport:
        """Return the report of this month as its run ended."""
        return replace(
            self,
            state="done" if outcome.success else "failed",
            run_id=outcome.run_id,
            seconds=outcome.seconds,
            failures=outcome.failures,
            checks=outcome.checks,
        )


def require_partitions(months: Sequence[Month], definition: dg.MonthlyPartitionsDefinition) -> None:
    """Raise UsageError for months that have no partition."""
    beyond = [str(month) for month in months if not definition.has_partition_key(str(month))]
    if beyond:
        raise UsageError(
            f"There is no partition for {', '.join(beyond)}: "
            f"months run from {definition.get_first_partition_key()} to {definition.get_last_partition_key()}."
        )
