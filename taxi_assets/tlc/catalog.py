"""What this catalog is to Dagster, and how its months are run."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Final, Literal

from taxi_assets.catalog import Asked, Contents, Only
from taxi_assets.month_reports import MonthReport, require_partitions
from taxi_assets.months import Month
from taxi_assets.run_records import kept_connections
from taxi_assets.tlc.assets import ASSETS, MONTH_JOB, keys_for, run_tags
from taxi_assets.tlc.checks import all_checks
from taxi_assets.tlc.partitions import MONTHS
from taxi_assets.tlc.sensor import tlc_landing
from taxi_assets.tlc.status import InLanding, State, draw, landing_status
from taxi_assets.tlc.trip_files import ServiceMonth, TripFiles
from taxi_assets.vocabulary import Service

# Which of a month's files is the right one can't be told: its run says so, whatever is asked for.
_STATES: Final = {
    Only.MISSING: {State.LANDED, State.TWO_FILES},
    Only.FAILED: {State.FAILED, State.TWO_FILES},
    Only.STALE: {State.STALE, State.TWO_FILES},
}


def _plan(asked: Asked) -> list[MonthReport]:
    """Say of each month which services can be run: those that have a file in landing and aren't blocked.

    Raises UsageError for a month that has no partition.
    """
    instance = asked.open_instance()
    found = InLanding.of(asked.landing, instance)
    wanted = set(found.files.by_month)
    if asked.only:
        with kept_connections(instance):
            cells = draw(found, asked.lake, instance, asked.months).cells
        states = {state for one in asked.only for state in _STATES[one]}
        wanted &= {service_month for service_month, cell in cells.items() if cell.state in states}
    require_partitions(asked.months, MONTHS)
    services = [Service(service) for service in asked.services]
    planned = [_plan_month(month, services, wanted, found.blocked) for month in asked.months]
    if asked.only:
        return [replace(report, not_in_landing=()) for report in planned if report.state != "not in landing"]
    return planned


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


CONTENTS: Final = Contents(
    tables=ASSETS,
    others=(landing_status,),
    checks=all_checks,
    jobs={
        MONTH_JOB: ("all services", keys_for(list(Service))),
        # A service's own tables, and those that it shares with others.
        **{f"tlc_{service}": (f"{service} trips", keys_for([service])) for service in Service},
    },
    sensors=(tlc_landing,),
    plan=_plan,
    keys_for=keys_for,
    run_tags=run_tags,
    unread=lambda landing: TripFiles.of(landing.files()).unread,
)
