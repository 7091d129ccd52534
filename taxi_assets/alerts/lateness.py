"""Months that are late: the next one of a service, by TLC's usual lag, isn't stored, and isn't blocked either.

One month a service: those behind it aren't told of until it is there.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import date

from taxi_assets.lake.metadata import asset_key
from taxi_assets.tlc.silver.trips import SILVER_TRIPS
from taxi_assets.tlc.status import is_awaited
from taxi_assets.tlc.trip_files import ServiceMonth, TripFiles
from taxi_assets.vocabulary import Service


@dataclass(frozen=True, slots=True)
class Late:
    """A service's month that should be stored by now, and whether its file has landed."""

    service_month: ServiceMonth
    landed: bool


@dataclass(frozen=True, slots=True)
class Lateness:
    """The months that are late; what is `stored` is there, and what is `blocked` isn't waited for."""

    late: Sequence[Late]
    stored: Collection[ServiceMonth]
    blocked: Collection[ServiceMonth]


def lateness(
    stored: Collection[ServiceMonth], landed: TripFiles, blocked: Collection[ServiceMonth], today: date
) -> Lateness:
    """Find the services whose month after the newest stored one is late; a service that stores nothing has none.

    A month that is blocked isn't waited for: the one after it is.
    """
    late = []
    for service in Service:
        of_service = [month for one, month in stored if one is service]
        if not of_service:
            continue
        month = max(of_service).next()
        while (service, month) in blocked:
            month = month.next()
        if not is_awaited(month, today):
            late.append(Late((service, month), (service, month) in landed.by_month))
    return Lateness(late, stored, blocked)


def table_of(service: Service) -> str:
    """Return the table that a service's months are waited for in."""
    return "/".join(asset_key(SILVER_TRIPS[service]).path)
