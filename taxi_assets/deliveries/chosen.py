"""Which of some periods a command is to run, and for which feeds: those that have landed, or just some of them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final, Literal

import dagster as dg

from taxi_assets.calendars import Period
from taxi_assets.catalog import Catalog
from taxi_assets.deliveries.blocked import blocked_in
from taxi_assets.deliveries.landed import Delivery, look
from taxi_assets.deliveries.reports import Report
from taxi_assets.deliveries.status import InLanding, State, draw
from taxi_assets.lake.lake import Lake
from taxi_assets.landing import Landing
from taxi_assets.run_records import kept_connections


class Only(StrEnum):
    """What may be chosen of some periods."""

    MISSING = "missing"
    FAILED = "failed"
    STALE = "stale"


# Which of several files is the right one can't be told: the run says so, whatever is asked for.
_STATES: Final = {
    Only.MISSING: {State.LANDED, State.TWO_FILES},
    Only.FAILED: {State.FAILED, State.TWO_FILES},
    Only.STALE: {State.STALE, State.TWO_FILES},
}


@dataclass(frozen=True, slots=True)
class Asked:
    """What is asked for: periods, of some feeds, `only` in some states; and where to look what has become of them."""

    periods: Sequence[Period]
    feeds: Sequence[str]
    only: Collection[Only]
    landing: Landing
    lake: Lake
    open_instance: Callable[[], dg.DagsterInstance]


def chosen(catalog: Catalog, asked: Asked) -> list[Report]:
    """Say of each period which feeds can be run: those that have a file in landing and aren't blocked.

    Only those in one of some states, if such are asked for: then periods are left out of which no feed is, but for
    those that are blocked. Raises UsageError for a period that has no partition, LandingError if it can't be told what
    landing holds.
    """
    landed = look(catalog, asked.landing)
    landed.require_known(asked.feeds)
    # After landing was looked into: in a wrong folder no instance is made.
    instance = asked.open_instance()
    found = InLanding(catalog, asked.landing, landed, blocked_in(catalog, asked.landing, instance))
    wanted = set(landed.files)
    if asked.only:
        with kept_connections(instance):
            cells = draw(found, asked.lake, instance, asked.periods).cells
        states = {state for one in asked.only for state in _STATES[one]}
        wanted &= {delivery for delivery, cell in cells.items() if cell.state in states}
    catalog.calendar.require(asked.periods)
    planned = [_report(period, asked.feeds, wanted, found.blocked) for period in asked.periods]
    if asked.only:
        return [replace(report, not_in_landing=()) for report in planned if report.state != "not in landing"]
    return planned


def _report(
    period: Period, feeds: Sequence[str], landed: Collection[Delivery], blocked: Mapping[Delivery, str]
) -> Report:
    reasons = {feed: blocked[feed, period] for feed in feeds if (feed, period) in blocked}
    others = [feed for feed in feeds if feed not in reasons]
    present = tuple(feed for feed in others if (feed, period) in landed)
    absent = tuple(feed for feed in others if feed not in present)
    state: Literal["waiting", "blocked", "not in landing"] = "not in landing"
    if present:
        state = "waiting"
    elif reasons:
        state = "blocked"
    return Report(str(period), state, present, absent, reasons)
