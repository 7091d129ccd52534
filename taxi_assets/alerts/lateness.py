"""Months that are late: those after a service's newest, by TLC's usual lag, that aren't stored, and aren't blocked.

Which of them are told of, and when, is decided in plan.py; that a load is going on is found out in loads.py.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from itertools import takewhile

from taxi_assets.lake.metadata import asset_key
from taxi_assets.months import Month
from taxi_assets.tlc.assets import ASSETS
from taxi_assets.tlc.silver.trips import SILVER_TRIPS
from taxi_assets.tlc.status import is_awaited
from taxi_assets.tlc.trip_files import ServiceMonth, TripFiles
from taxi_assets.vocabulary import Service


@dataclass(frozen=True, slots=True)
class Late:
    """A service's months that should be stored by now, in their order, and those of which a file has landed."""

    service: Service
    months: Sequence[Month]
    landed: Collection[Month] = ()

    def without(self, others: Collection[ServiceMonth]) -> Late:
        """Return it without some months."""
        months = [month for month in self.months if (self.service, month) not in others]
        return Late(self.service, months, [month for month in self.landed if month in months])


@dataclass(frozen=True, slots=True)
class Lateness:
    """The months that are late; what is `stored` is there, and what is `blocked` isn't waited for.

    Of the services that are `loading`, more months are being stored, or are about to be.
    """

    late: Sequence[Late]
    stored: Collection[ServiceMonth]
    blocked: Collection[ServiceMonth]
    loading: Collection[Service] = ()

    def newest(self) -> dict[Service, Month]:
        """Return the newest month that is stored of each service."""
        newest: dict[Service, Month] = {}
        for service, month in self.stored:
            newest[service] = max(month, newest.get(service, month))
        return newest


def lateness(
    stored: Collection[ServiceMonth],
    landed: TripFiles,
    blocked: Collection[ServiceMonth],
    today: date,
    loading: Collection[Service] = (),
) -> Lateness:
    """Find the months after each service's newest stored one that are late; a service that stores nothing has none."""
    late = []
    found = Lateness((), stored, blocked, loading)
    for service, month in sorted(found.newest().items()):
        due = takewhile(lambda one: not is_awaited(one, today), _after(month))
        months = [one for one in due if (service, one) not in blocked]
        if months:
            late.append(Late(service, months, [one for one in months if (service, one) in landed.by_month]))
    return Lateness(late, stored, blocked, loading)


def _after(month: Month) -> Iterator[Month]:
    while True:
        month = month.next()
        yield month


def table_of(service: Service) -> str:
    """Return the table that a service's months are waited for in."""
    return "/".join(asset_key(SILVER_TRIPS[service]).path)


def services_kept(name: str) -> set[Service]:
    """Return the services whose months a failure keeps from being stored: of a table, a `table:check`, or a job.

    What all services share keeps all of them, but for gold, which is made of what is stored.
    """
    table, _, _ = name.partition(":")
    if "/" not in table:
        return set(Service)
    for asset in ASSETS:
        for key, tags in asset.tags_by_key.items():
            if "/".join(key.path) == table:
                own = tags.get("service")
                shared = set() if tags["layer"] == "gold" else set(Service)
                return {Service(service) for service in own.split(".")} if own else shared
    return set()
