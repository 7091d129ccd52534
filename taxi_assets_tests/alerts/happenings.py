"""Things that happen, for tests of what is told of them: runs that end, with their checks, and ticks."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import dagster as dg

from taxi_assets.alerts.facts import CheckFact, RunFact, Severity, TickFact
from taxi_assets.alerts.lateness import InTable, Lateness
from taxi_assets.alerts.plan import Facts, State, plan
from taxi_assets.alerts.routes import Route
from taxi_assets.calendars import parse_months
from taxi_assets.deliveries.lateness import Late
from taxi_assets.tlc import TLC

UI = "http://ui:3000"
GREEN, GOLD = "tlc_silver/green_trips", "tlc_gold/nyc_taxi_daily"
EMPTY = State(start=0, place=0)


def route(name: str = "all", severity: str = "warning", groups: Iterable[str] = (), url: str = "json://h") -> Route:
    return Route(name, url, Severity(severity), frozenset(groups))


ALL = route()


def check(name: str = "known_zones", *, passed: bool = False, **changes: Any) -> CheckFact:
    """Return a check of green's trips that warned of 12 of 400 rows, with some of it changed."""
    usual: dict[str, Any] = {
        "table": GREEN,
        "month": "2024-01",
        "severity": Severity.WARNING,
        "says": "12 of 400 rows (3.000%)",
        "figures": {"rows_failing": 12, "rows": 400, "share": 0.03, "tolerance": 0.01},
        "examples": tuple({"source_row": row, "pickup_location_id": 999} for row in range(1, 6)),
    }
    return CheckFact(name=name, passed=passed, **{**usual, **changes})


def run(*checks: CheckFact, place: int = 1, **changes: Any) -> RunFact:
    """Return a run that ended well and stored green's trips."""
    usual: dict[str, Any] = {
        "run_id": f"run-{place}",
        "job": "tlc_month",
        "month": "2024-01",
        "ended": dg.DagsterEventType.RUN_SUCCESS,
        "stored": frozenset({GREEN}),
    }
    return RunFact(place=place, checks=checks, **{**usual, **changes})


def failed_run(*checks: CheckFact, place: int = 1, **changes: Any) -> RunFact:
    """Return a run that failed at green's trips and so didn't make gold."""
    usual: dict[str, Any] = {
        "ended": dg.DagsterEventType.RUN_FAILURE,
        "stored": frozenset(),
        "failed": (GREEN,),
        "not_stored": frozenset({GOLD}),
        "causes": ("The file is damaged. Fetch it again.",),
    }
    return run(*checks, place=place, **{**usual, **changes})


def tick(*, failed: bool, at: float = 1.0, name: str = "tlc_landing") -> TickFact:
    return TickFact(name, "sensor", at, failed, "Landing can't be listed." if failed else "")


def lateness(
    *late: str,
    landed: Iterable[str] = (),
    stored: Iterable[str] = ("2024-01",),
    blocked: Iterable[str] = (),
    loading: bool = False,
) -> Lateness:
    """Return which of green's months are late, stored and blocked, each a month or a range, and if more are loaded."""

    def of_green(texts: Iterable[str]) -> list[InTable]:
        return [(GREEN, month) for month in parse_months(texts)]

    months = parse_months(late)
    return Lateness(
        [Late(TLC.feed("green"), GREEN, months, parse_months(landed))] if months else [],
        of_green(stored),
        of_green(blocked),
        [GREEN] if loading else [],
    )


def after(state: State, *happened: RunFact | TickFact, routes: Iterable[Route] = (ALL,), now: float = 0.0) -> State:
    """Return what is known after some runs and ticks."""
    runs = [one for one in happened if isinstance(one, RunFact)]
    ticks = [one for one in happened if isinstance(one, TickFact)]
    return plan(Facts(now, runs, ticks), state, routes, UI)


def told(state: State, name: str = "all") -> list[str]:
    """Return what is pending for a route, each as its subject's last word, and whether it is over."""
    return [
        f"{notice.subject.check or notice.subject.kind} {'well' if notice.well else notice.severity}"
        for notice in state.pending.get(name, ())
    ]


def all_sent(state: State) -> State:
    """Return what is known once every route was sent all that is pending for it."""
    for name, notices in state.pending.items():
        state = state.sent(name, notices)
    return state
