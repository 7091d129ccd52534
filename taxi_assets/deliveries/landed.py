"""The files of feeds that stand in landing: what their names, or a look into them, say of whose and when they are."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from functools import cache
from pathlib import PurePosixPath
from typing import Final

from taxi_assets.calendars import Period
from taxi_assets.catalog import Catalog, Feed
from taxi_assets.engines.source_files import Format
from taxi_assets.errors import LandingError, UsageError
from taxi_assets.landing import LandedFile, Landing

Delivery = tuple[str, Period]
"""A feed's name, and a period."""

_ENDING: Final = rf"\.(?P<format>{'|'.join(map(re.escape, Format))})"
# By root, path and identity: a file is looked into once by a process.
_LOOKED_INTO: Final[dict[tuple[str, str], tuple[Period, ...]]] = {}


@dataclass(frozen=True, slots=True)
class FeedFile:
    """A landed file whose name says which feed's it is, and how it's written; and its period, if the name says that."""

    file: LandedFile
    feed: str
    format: Format
    period: Period | None = None


@dataclass(frozen=True, slots=True)
class Landed:
    """The files of a catalog that stand in landing at one moment.

    `unread` are paths that look like files of feeds and are never read: the name is off, or the feed is none of ours.
    `unusable` says by feed why files that are to be looked into can't be: what the feed has isn't known then.
    """

    files: Mapping[Delivery, tuple[FeedFile, ...]]
    unread: tuple[str, ...] = ()
    unusable: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def require_known(self, feeds: Collection[str]) -> None:
        """Raise LandingError if it isn't known what one of some feeds has."""
        for feed, why in self.unusable.items():
            if feed in feeds:
                raise LandingError(why[0])


def feed_files(catalog: Catalog, files: Iterable[LandedFile]) -> tuple[list[FeedFile], tuple[str, ...]]:
    """Pick a catalog's files from a listing of landing, without looking into them; and those nearly called so."""
    found, unread = [], []
    for file in files:
        feed_file = next((known for feed in catalog.feeds if (known := _parsed(catalog, feed, file))), None)
        if feed_file is not None:
            found.append(feed_file)
        elif re.search(catalog.nearly, file.name, re.IGNORECASE) or _is_in_a_files_place(catalog, file):
            unread.append(file.path)
    return found, tuple(unread)


def look(catalog: Catalog, landing: Landing) -> Landed:
    """Sort what stands in landing by feed and period. Raises LandingError if landing can't be listed."""
    return sorted_out(catalog, landing, landing.files())


def sorted_out(catalog: Catalog, landing: Landing, listing: Iterable[LandedFile]) -> Landed:
    """Sort a listing of landing by feed and period."""
    found, unread = feed_files(catalog, listing)
    files: dict[Delivery, list[FeedFile]] = {}
    unusable: dict[str, list[str]] = {}
    for feed_file in found:
        try:
            periods = _periods_of(catalog.feed(feed_file.feed), landing, feed_file)
        except LandingError as error:
            unusable.setdefault(feed_file.feed, []).append(str(error))
            continue
        for period in periods:
            files.setdefault((feed_file.feed, period), []).append(feed_file)
    return Landed(
        {key: tuple(of_period) for key, of_period in sorted(files.items())},
        unread,
        {feed: tuple(why) for feed, why in unusable.items()},
    )


def the_files(catalog: Catalog, delivery: Delivery, files: Sequence[FeedFile]) -> Sequence[FeedFile]:
    """Return the files of a delivery, if they can be used.

    Raises LandingError naming them if there are several and its feed has one for a period, or if one is no file.
    """
    feed, period = delivery
    if len(files) > 1 and catalog.feed(feed).periods_in is None:
        names = " and ".join(one.file.path for one in files)
        raise LandingError(
            f"{len(files)} files stand in landing for {feed} {period}: {names}. "
            f"Which one holds the {period.word} can't be told; move the others away."
        )
    for one in files:
        one.file.require_file()
    return files


def find_files(catalog: Catalog, landing: Landing, delivery: Delivery) -> Sequence[FeedFile]:
    """Return the files of a delivery; none if it hasn't landed.

    Raises LandingError if they can't be used, or there is one whose name isn't read and may mean that period.
    """
    feed, period = delivery
    landed = look(catalog, landing)
    landed.require_known([feed])
    files = landed.files.get(delivery, ())
    if files:
        return the_files(catalog, delivery, files)
    near = [path for path in landed.unread if feed in path.lower() and f"{period.first_day:%Y}" in path]
    if near:
        raise LandingError(
            f"{no_file(catalog, landing, delivery)} "
            f"{', '.join(near)} is not a name that is read; rename it if it is that {period.word}, "
            "or else move it away."
        )
    return ()


def no_file(catalog: Catalog, landing: Landing, delivery: Delivery) -> str:
    """Say that landing has no file for a delivery, and which names are read."""
    feed, period = delivery
    name = f"{catalog.feed(feed).file_name.format(period.first_day)}.{Format.PARQUET}"
    others = ", ".join(f".{one}" for one in Format if one is not Format.PARQUET)
    return f"There is no {feed} file for {period} in {landing.root}: {name} (or {others}) is expected."


def identity_of(versions: Iterable[str]) -> str:
    """Return as one text which files a delivery came from, given each one's `LandedFile.version`."""
    each = sorted(versions)
    if len(each) == 1:
        return each[0]
    return f"{len(each)} files@{hashlib.sha256(chr(10).join(each).encode()).hexdigest()}"


def identity(files: Iterable[FeedFile]) -> str:
    """Return as one text which files these are, as they are now."""
    return identity_of(one.file.version for one in files)


@cache
def _pattern(feed: Feed) -> re.Pattern[str]:
    return re.compile(feed.pattern + _ENDING)


def _parsed(catalog: Catalog, feed: Feed, file: LandedFile) -> FeedFile | None:
    match = _pattern(feed).fullmatch(file.name)
    if match is None:
        return None
    named = match.groupdict()
    period = None
    if "year" in named:
        try:
            day = date(int(named["year"]), int(named["month"]), int(named.get("day") or 1))
        except ValueError:
            return None
        period = catalog.calendar.kind.of(day)
        if period < feed.first:
            return None
    return FeedFile(file, feed.name, Format(named["format"]), period)


def _periods_of(feed: Feed, landing: Landing, feed_file: FeedFile) -> tuple[Period, ...]:
    if feed.periods_in is None:
        if feed_file.period is None:
            raise UsageError(f"The pattern of the feed {feed.name} doesn't say for which period a file is.")
        return (feed_file.period,)
    known = (landing.root, feed_file.file.version)
    if known not in _LOOKED_INTO:
        _LOOKED_INTO[known] = tuple(sorted(feed.periods_in(landing, feed_file.file)))
    return _LOOKED_INTO[known]


def _is_in_a_files_place(catalog: Catalog, file: LandedFile) -> bool:
    """Whether a file stands in a folder that is called like a feed's file, as Spark writes Parquet."""
    folders = [folder.name for folder in PurePosixPath(file.path).parents]
    return any(_pattern(feed).fullmatch(name) for feed in catalog.feeds for name in folders)
