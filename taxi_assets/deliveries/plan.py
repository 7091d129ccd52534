"""What the sensor of a catalog is to request: from what stands in landing and what is known of it, to runs.

Pure. What is known is the sensor's cursor; fetching and storing is sensor.py's.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from taxi_assets.calendars import Period
from taxi_assets.catalog import Catalog
from taxi_assets.deliveries.blocked import says_blocked
from taxi_assets.deliveries.landed import Delivery, FeedFile, Landed, identity, identity_of, the_files
from taxi_assets.errors import LandingError

MOST_RUNS_A_TICK: Final = 4
"""Periods requested by one tick; the rest follow with the next ticks.

A tick lasts until its runs are queued. Of the largest catalog a run plans some 170 events, each some commits of
SQLite's: 2 s of a core. So many keep a tick under 10 s, and request periods faster than two at once are run.
"""


@dataclass(frozen=True, slots=True)
class Seen:
    """The files of a delivery as last dealt with: their identity, and how often it was requested.

    The identity is empty while the delivery is blocked, or its file is gone: what is stored decides, once it is back.
    """

    identity: str
    times: int


@dataclass(frozen=True, slots=True)
class Request:
    """A run to be requested: a period, and the feeds whose files are new or were written again."""

    period: Period
    feeds: tuple[str, ...]
    run_key: str


@dataclass(frozen=True, slots=True)
class Plan:
    """What to do now, what is known afterwards, and what a person should be told."""

    requests: tuple[Request, ...]
    seen: Mapping[Delivery, Seen]
    messages: tuple[str, ...]


def plan(
    catalog: Catalog,
    landed: Landed,
    seen: Mapping[Delivery, Seen],
    done: Mapping[Delivery, str],
    blocked: Mapping[Delivery, str],
    most: int = MOST_RUNS_A_TICK,
) -> Plan:
    """Decide which periods to request.

    `seen` is what earlier plans left, `done` the identity of the files that each stored period came from; files that
    are neither's are new. A run key holds how many times its delivery was requested, so that bytes that come back are
    requested again. What is `blocked` is new until it is stored, whatever was requested of it: it is requested once it
    is blocked no more. Of a feed with files that can't be looked into nothing is requested: its runs would fail.
    """
    after = dict(seen)
    messages = [f"Not read, as the name is off or the {catalog.feed_word} unknown: {path}" for path in landed.unread]
    fresh: dict[Period, dict[str, Seen]] = {}
    usable, says = _usable(catalog, landed)
    messages += says
    for delivery, files in usable.items():
        feed, period = delivery
        now, before = identity(files), seen.get(delivery)
        stored = done.get(delivery) == now
        times = before.times if before else 0
        if delivery in blocked:
            if not stored:
                paths = " and ".join(found.file.path for found in files)
                passed_by = f"{paths} {'are' if len(files) > 1 else 'is'} passed by."
                messages.append(f"{passed_by} {says_blocked(catalog, delivery, blocked[delivery])}")
                after[delivery] = Seen("", times)
        elif stored and not (before and before.identity):
            after[delivery] = Seen(now, times)
        elif before is None or before.identity != now:
            fresh.setdefault(period, {})[feed] = Seen(now, times + 1)
    for delivery in sorted(_gone(catalog, landed, seen)):
        messages.append(f"No file in landing holds {delivery[1]} any longer; what is stored of it stays.")
        after[delivery] = Seen("", seen[delivery].times)
    requests = []
    for period, feeds in sorted(fresh.items())[:most]:
        after.update({(feed, period): now for feed, now in feeds.items()})
        key = "|".join(f"{feed}:{now.times}:{now.identity}" for feed, now in sorted(feeds.items()))
        requests.append(Request(period, tuple(sorted(feeds)), f"{period}|{key}"))
    if len(fresh) > most:
        messages.append(f"{len(fresh) - most} more {catalog.calendar.kind.word}s are waiting for the next ticks.")
    return Plan(tuple(requests), after, tuple(messages))


def dump(seen: Mapping[Delivery, Seen]) -> str:
    """Write what is known as a sensor's cursor."""
    return json.dumps({f"{feed}/{period}": [known.identity, known.times] for (feed, period), known in seen.items()})


def load(catalog: Catalog, cursor: str | None) -> dict[Delivery, Seen]:
    """Read a cursor that `dump` wrote; nothing is known without one, nor of feeds that there are no longer."""
    written = json.loads(cursor or "{}")
    if isinstance(written, list):
        return _of_files(catalog, *written)
    known = {}
    for key, (identity_before, times) in written.items():
        feed, _, period = key.partition("/")
        if feed in catalog.feed_names:
            known[feed, catalog.calendar.period(period)] = Seen(identity_before, times)
    return known


def _usable(catalog: Catalog, landed: Landed) -> tuple[dict[Delivery, Sequence[FeedFile]], list[str]]:
    """Return what can be run of what has landed, and why the rest can't."""
    usable: dict[Delivery, Sequence[FeedFile]] = {}
    messages = [why for whys in landed.unusable.values() for why in whys]
    for delivery, files in landed.files.items():
        feed, period = delivery
        if feed in landed.unusable:
            continue
        if not catalog.calendar.has(period):
            messages.append(f"Not read, as {period} is yet to come: {', '.join(found.file.path for found in files)}")
            continue
        try:
            usable[delivery] = the_files(catalog, delivery, files)
        except LandingError as error:
            messages.append(str(error))
    return usable, messages


def _gone(catalog: Catalog, landed: Landed, seen: Mapping[Delivery, Seen]) -> set[Delivery]:
    """Find periods that files held which may hold several, and that none holds any longer.

    A file of one period that is gone may just have been tidied away, and says so by its name.
    """
    several = {feed.name for feed in catalog.feeds if feed.periods_in is not None} - landed.unusable.keys()
    return {one for one, known in seen.items() if one[0] in several and known.identity and one not in landed.files}


def _of_files(catalog: Catalog, files: Mapping[str, Any], waiting: list[str], _requested: int) -> dict[Delivery, Seen]:
    """Read a cursor of the former version, which knew the versions and periods of files that hold several.

    What still waited there is not known here, and so is requested.
    """
    versions: dict[str, list[str]] = {}
    for version, periods in files.values():
        for period in periods:
            versions.setdefault(period, []).append(version)
    (feed,) = (one.name for one in catalog.feeds if one.periods_in is not None)
    return {
        (feed, catalog.calendar.period(period)): Seen(identity_of(each), 0)
        for period, each in versions.items()
        if period not in waiting
    }
