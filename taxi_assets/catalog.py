"""What a catalog is: what the package of each says of itself, for whoever deals with all of them.

The command line knows catalogs by name before Dagster is loaded: what takes Dagster waits until it is asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final, Protocol

from taxi_assets.calendars import Calendar, Period
from taxi_assets.errors import UsageError

if TYPE_CHECKING:
    import dagster as dg

    from taxi_assets.contracts import Contract
    from taxi_assets.landing import LandedFile, Landing

FEEDS: Final = "feeds"
"""Tag of a run: the feeds that it is for, with commas between them."""
_FEED: Final = "feed"


def feed_tag(*feeds: str) -> dict[str, str]:
    """Return the tag of an asset that holds what some feeds bring alone. What all feeds share has none."""
    return {_FEED: ".".join(feeds)}


@dataclass(frozen=True, slots=True)
class Feed:
    """A series of source files of one kind.

    `pattern` is what a file is called without its ending, as a regular expression; its groups ``year``, ``month`` and,
    for days, ``day`` say for which period. `file_name` is a period's name as a format of its first day, for messages.

    A file may hold several periods, and a period stand in several files: then `periods_in` looks into a file, and may
    raise LandingError. `late_after` is how many periods later one is missed; None: none ever is. `comes` says, to a
    person, when that is, and `how_to_get` what to do then about ``{periods}``.
    """

    name: str
    pattern: str
    file_name: str
    first: Period
    periods_in: Callable[[Landing, LandedFile], Collection[Period]] | None = None
    late_after: int | None = None
    comes: str = ""
    how_to_get: str = ""

    def is_awaited(self, period: Period, now: Period) -> bool:
        """Whether it is too early to miss a period, or the feed hadn't begun by then."""
        return period < self.first or period.plus((self.late_after or 0) + 1) > now


@dataclass(frozen=True, slots=True)
class FeedTables:
    """The tables of a feed: the one that its files are read into, and the one that its periods are waited for in."""

    bronze: type[Contract]
    silver: type[Contract]


@dataclass(frozen=True, slots=True)
class Contents:
    """A catalog's part of the code location: its tables, their checks, and which of them are each feed's."""

    tables: Sequence[dg.AssetsDefinition]
    checks: Callable[[Landing], list[dg.AssetChecksDefinition]]
    feeds: Mapping[str, FeedTables]

    def keys_for(self, feeds: Collection[str]) -> list[dg.AssetKey]:
        """List the assets of a run for some feeds: their own, and those that all feeds share."""
        return [
            key
            for asset in self.tables
            for key, tags in asset.tags_by_key.items()
            if _FEED not in tags or not set(feeds).isdisjoint(tags[_FEED].split("."))
        ]

    def feeds_of(self, table: dg.AssetKey) -> list[str]:
        """List the feeds that bring what a table is made of: those that it is alone for, or else all."""
        for asset in self.tables:
            own = asset.tags_by_key.get(table, {}).get(_FEED)
            if own is not None:
                return [feed for feed in self.feeds if feed in own.split(".")]
        return list(self.feeds)


class WriteSample(Protocol):
    """What writes made-up periods of some feeds to a folder."""

    def __call__(
        self,
        folder: Path,
        periods: Sequence[Period],
        feeds: Sequence[str],
        rows: int,
        seed: int,
        on_step: Callable[[str], None],
        /,
        *,
        clean: bool,
    ) -> Iterator[str]:
        """Write periods with so many rows each, by a seed; `clean` ones without faults that a check warns of.

        Says what it is at, and yields what it has done. Raises UsageError for what it can't make.
        """


@dataclass(frozen=True, slots=True)
class Catalog:
    """One family of tables from one source.

    `file_name` is what one of its files is called. A file whose name matches `nearly`, a regular expression that no
    letter's case matters to, and that is none of its feeds', is told of. `blocked_list` is the file in landing's root
    that says which of its periods are known to be bad. `sample` writes made-up files, where there are any. `feed_word`
    is what the source calls a feed.
    """

    name: str
    calendar: Calendar
    feeds: Sequence[Feed]
    file_name: str
    nearly: str
    blocked_list: str
    load: Callable[[], Contents]
    sample: WriteSample | None = None
    feed_word: str = _FEED

    @property
    def feed_names(self) -> list[str]:
        """The names of its feeds, in the order in which they are shown."""
        return [feed.name for feed in self.feeds]

    @property
    def period_job(self) -> str:
        """The name of the job that makes all tables of a period."""
        return f"{self.name}_{self.calendar.kind.word}"

    @property
    def jobs(self) -> dict[str, list[str]]:
        """The feeds of each of its jobs: of all, and, where there are several, of each with what it shares."""
        of_feeds = {f"{self.name}_{feed}": [feed] for feed in self.feed_names} if len(self.feeds) > 1 else {}
        return {self.period_job: self.feed_names, **of_feeds}

    @property
    def sensor(self) -> str:
        """The name of the sensor of its files."""
        return f"{self.name}_landing"

    def feed(self, name: str) -> Feed:
        """Return the feed of a name. Raises UsageError if there is none."""
        for feed in self.feeds:
            if feed.name == name:
                return feed
        there = "there are" if len(self.feeds) > 1 else "there is"
        raise UsageError(f"There is no {self.feed_word} '{name}' in {self.name}; {there} {', '.join(self.feed_names)}.")

    def chosen(self, names: Collection[str]) -> list[str]:
        """Return the feeds that are named, or all if none is. Raises UsageError for one that there isn't."""
        for name in names:
            self.feed(name)
        return [name for name in self.feed_names if name in names or not names]
