"""Periods that are late: those after a feed's newest that aren't stored, though they should be, and aren't blocked.

When one should be is its feed's to say. Which of them alerts tell of, and when, is decided in alerts/plan.py.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import takewhile

from taxi_assets.calendars import Period
from taxi_assets.catalog import Catalog, Feed
from taxi_assets.deliveries.landed import Delivery, Landed


@dataclass(frozen=True, slots=True)
class Late:
    """A feed's periods that `table` should hold by now, in their order, and those of which a file has landed."""

    feed: Feed
    table: str
    periods: Sequence[Period]
    landed: Collection[Period] = ()

    def without(self, others: Collection[Period]) -> Late:
        """Return it without some periods."""
        periods = [period for period in self.periods if period not in others]
        return Late(self.feed, self.table, periods, [period for period in self.landed if period in periods])


def newest_of(stored: Collection[Delivery]) -> dict[str, Period]:
    """Return the newest period that is stored of each feed."""
    newest: dict[str, Period] = {}
    for feed, period in stored:
        newest[feed] = max(period, newest.get(feed, period))
    return newest


def late_in(
    catalog: Catalog, stored: Collection[Delivery], landed: Landed, blocked: Collection[Delivery], now: Period
) -> list[Late]:
    """Find the periods after each feed's newest stored one that are late; a feed that stores nothing has none."""
    late = []
    for name, newest in sorted(newest_of(stored).items()):
        feed = catalog.feed(name)
        if feed.late_after is None:
            continue
        due = takewhile(lambda one, feed=feed: not feed.is_awaited(one, now), _after(newest))
        periods = [one for one in due if (name, one) not in blocked]
        if periods:
            table = catalog.load().feeds[name].silver.stored_as().key
            late.append(Late(feed, table, periods, [one for one in periods if (name, one) in landed.files]))
    return late


def _after(period: Period) -> Iterator[Period]:
    while True:
        period = period.next()
        yield period
