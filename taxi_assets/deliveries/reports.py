"""What is to be run, or was, of a period: what a command reports of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

from taxi_assets.runs import CheckOutcome, RunOutcome


@dataclass(frozen=True, slots=True)
class Report:
    """A period that is to be run, or how it ended. `feeds` are those of its run; without any, there is none.

    Of the other feeds that were asked for, `blocked` says of which the period is blocked, and why.
    """

    period: str
    state: Literal["waiting", "done", "failed", "blocked", "not in landing"]
    feeds: tuple[str, ...]
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

    def failed(self, why: str) -> Report:
        """Return the report of this period as one that failed."""
        return replace(self, state="failed", failures=(why,))

    def after(self, outcome: RunOutcome) -> Report:
        """Return the report of this period as its run ended."""
        return replace(
            self,
            state="done" if outcome.success else "failed",
            run_id=outcome.run_id,
            seconds=outcome.seconds,
            failures=outcome.failures,
            checks=outcome.checks,
        )
