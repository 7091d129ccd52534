"""Which tables lack what by now, of all catalogs, and what keeps a table from being stored."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from taxi_assets.alerts.loads import Loads
from taxi_assets.calendars import Period
from taxi_assets.catalogs import all_catalogs
from taxi_assets.deliveries.landed import Delivery
from taxi_assets.deliveries.lateness import Late, late_in
from taxi_assets.deliveries.status import InLanding

InTable = tuple[str, Period]
"""A table that a feed's periods are waited for in, and a period."""


@dataclass(frozen=True, slots=True)
class Lateness:
    """What is late; what is `stored` is there, and what is `blocked` isn't waited for.

    Of the tables that are `loading`, more periods are being stored, or are about to be.
    """

    late: Sequence[Late]
    stored: Collection[InTable]
    blocked: Collection[InTable]
    loading: Collection[str] = ()

    def and_of(self, found: InLanding, stored: Collection[Delivery], loads: Loads) -> Lateness:
        """Return it with what is late of one more catalog."""
        catalog = found.catalog
        table = {feed: tables.silver.stored_as().key for feed, tables in catalog.load().feeds.items()}
        late = late_in(catalog, stored, found.landed, found.blocked, catalog.calendar.now())
        return Lateness(
            [*self.late, *late],
            {*self.stored, *((table[feed], period) for feed, period in stored)},
            {*self.blocked, *((table[feed], period) for feed, period in found.blocked)},
            {*self.loading, *loads.going_on(found, stored)},
        )

    def newest(self) -> dict[str, Period]:
        """Return the newest period that is stored in each table."""
        newest: dict[str, Period] = {}
        for table, period in self.stored:
            newest[table] = max(period, newest.get(table, period))
        return newest


def tables_kept(name: str) -> set[str]:
    """Return the tables whose periods a failure keeps from being stored: of a table, a `table:check`, or a job.

    What all feeds of a catalog share keeps all of them, but for gold, which is made of what is stored.
    """
    failed, _, _ = name.partition(":")
    for catalog in all_catalogs():
        contents = catalog.load()
        silver = {feed: tables.silver.stored_as().key for feed, tables in contents.feeds.items()}
        if failed in catalog.jobs:
            return {silver[feed] for feed in catalog.jobs[failed]}
        for asset in contents.tables:
            for key, tags in asset.tags_by_key.items():
                if "/".join(key.path) == failed:
                    feeds = contents.feeds_of(key)
                    shared_gold = tags["layer"] == "gold" and len(feeds) == len(silver)
                    return set() if shared_gold else {silver[feed] for feed in feeds}
    if "/" in failed:
        return set()
    # A job of what was picked in the UI: which it was to store isn't known, so none is told of as late.
    return {tables.silver.stored_as().key for one in all_catalogs() for tables in one.load().feeds.values()}
