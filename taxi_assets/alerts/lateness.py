"""Months that are late: the next one of a service, by TLC's usual lag, isn't stored.

One month a service: those behind it aren't told of until it is there.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date

from taxi_assets.lake.lake import Lake
from taxi_assets.lake.metadata import asset_key
from taxi_assets.months import Month
from taxi_assets.status import is_awaited
from taxi_assets.tlc.silver.trips import SILVER_TRIPS
from taxi_assets.tlc.trip_files import TripFiles
from taxi_assets.vocabulary import Service


@dataclass(frozen=True, slots=True)
class Late:
    """A service's month that should be stored by now, and whether its file has landed."""

    service: Service
    table: str
    month: Month
    landed: bool


def late_months(lake: Lake, landed: TripFiles, today: date) -> list[Late]:
    """Find the services whose month after the newest stored one is late; a service that stores nothing has none."""
    late = []
    for service, contract in SILVER_TRIPS.items():
        stored = [date.fromisoformat(day) for (day,) in map(dict.values, lake.location(contract).stored_partitions())]
        if stored and not is_awaited(next_month := Month.of(max(stored)).next(), today):
            table = "/".join(asset_key(contract).path)
            late.append(Late(service, table, next_month, (service, next_month) in landed.by_month))
    return late
