"""Calendars: the periods that files arrive for, by the month or by the day.

Nothing here knows a file, a table or an engine. Dagster is loaded once its partitions are asked for.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar, Final, Self
from zoneinfo import ZoneInfo

from taxi_assets.errors import UsageError

if TYPE_CHECKING:
    import dagster as dg


class Period(ABC):
    """A month or a day: what one partition holds. In tables it is the DATE of its first day."""

    __slots__ = ()

    word: ClassVar[str]
    """What such a period is called."""
    shown: ClassVar[int]
    """So many periods make a picture that can be taken in."""
    span: ClassVar[str]
    """What so many are called."""
    form: ClassVar[str]
    """How its text is made of its first day, as `strftime` has it."""

    @classmethod
    @abstractmethod
    def parse(cls, text: str) -> Self:
        """Read a period's text. Raises UsageError for anything else."""

    @classmethod
    @abstractmethod
    def of(cls, day: date) -> Self:
        """Return the period that a day falls into."""

    @property
    @abstractmethod
    def first_day(self) -> date:
        """The DATE that stands for this period in a table's partition column."""

    def next(self) -> Self:
        """Return the period after this one."""
        return self.plus(1)

    @abstractmethod
    def __str__(self) -> str: ...

    @abstractmethod
    def plus(self, count: int) -> Self:
        """Return the period that is so many after this one; before it, if that is negative."""

    def __lt__(self, other: Period) -> bool:
        return self.first_day < other.first_day

    def __le__(self, other: Period) -> bool:
        return self.first_day <= other.first_day

    def __gt__(self, other: Period) -> bool:
        return self.first_day > other.first_day

    def __ge__(self, other: Period) -> bool:
        return self.first_day >= other.first_day


@dataclass(frozen=True, slots=True)
class Month(Period):
    """A calendar month; as text ``2024-01``."""

    year: int
    number: int

    word = "month"
    shown = 12
    span = "a year"
    form = "%Y-%m"
    _FORM: ClassVar = re.compile(r"([0-9]{4})-([0-9]{2})")

    def __post_init__(self) -> None:
        if not (1 <= self.number <= 12 and 1 <= self.year <= 9999):
            raise UsageError(f"There is no month {self.year:04d}-{self.number:02d}; months run from 01 to 12.")

    @classmethod
    def parse(cls, text: str) -> Month:
        """Read ``2024-01``. Raises UsageError for anything else."""
        match = cls._FORM.fullmatch(text.strip())
        if match is None:
            raise UsageError(f"'{text}' is not a month. Write it as year and month with two digits: 2024-01.")
        return cls(int(match[1]), int(match[2]))

    @classmethod
    def of(cls, day: date) -> Month:
        """Return the month that a day falls into."""
        return cls(day.year, day.month)

    def __str__(self) -> str:
        return f"{self.year:04d}-{self.number:02d}"

    @property
    def first_day(self) -> date:
        """The first day of the month."""
        return date(self.year, self.number, 1)

    def plus(self, count: int) -> Month:
        """Return the month that is so many after this one."""
        months = self.year * 12 + self.number - 1 + count
        return Month(months // 12, months % 12 + 1)


@dataclass(frozen=True, slots=True)
class Day(Period):
    """A day; as text ``2024-01-05``."""

    day: date

    word = "day"
    shown = 31
    span = "a month"
    form = "%Y-%m-%d"
    _FORM: ClassVar = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")

    @classmethod
    def parse(cls, text: str) -> Day:
        """Read ``2024-01-05``. Raises UsageError for anything else."""
        written = text.strip()
        if cls._FORM.fullmatch(written) is None:
            raise UsageError(f"'{text}' is not a day. Write it as year, month and day: 2024-01-05.")
        try:
            return cls(date.fromisoformat(written))
        except ValueError:
            raise UsageError(f"There is no day {written}.") from None

    @classmethod
    def of(cls, day: date) -> Day:
        """Return a day as a period."""
        return cls(date(day.year, day.month, day.day))

    def __str__(self) -> str:
        return self.day.isoformat()

    @property
    def first_day(self) -> date:
        """The day itself."""
        return self.day

    def plus(self, count: int) -> Day:
        """Return the day that is so many after this one."""
        return Day(self.day + timedelta(days=count))


KINDS: Final[tuple[type[Period], ...]] = (Month, Day)


@dataclass(frozen=True)
class Calendar:
    """The periods of a catalog: their kind, the tables' partition column, the first one, and whose clock counts.

    Partitions run to the current period, by the clock of `timezone`.
    """

    kind: type[Period]
    column: str
    first: Period
    timezone: str = "UTC"

    @cached_property
    def partitions(self) -> dg.TimeWindowPartitionsDefinition:
        """Dagster's definition of these periods as partitions; the same object each time."""
        import dagster as dg

        definition = dg.MonthlyPartitionsDefinition if self.kind is Month else dg.DailyPartitionsDefinition
        start = datetime.combine(self.first.first_day, datetime.min.time())
        return definition(start_date=start, fmt=self.kind.form, end_offset=1, timezone=self.timezone)

    def parse(self, texts: Iterable[str]) -> list[Period]:
        """Read periods and ranges, both ends included, sorted, each once: ``2024-01:2024-06``.

        Raises UsageError for a text that is neither, and for a range that runs backwards.
        """
        return _parse(texts, (self.kind,))

    def period(self, text: str) -> Period:
        """Read one period, as a partition key is one. Raises UsageError for anything else."""
        return self.kind.parse(text)

    def now(self) -> Period:
        """Return the current period, by this calendar's clock."""
        return self.kind.of(datetime.now(ZoneInfo(self.timezone)).date())

    @property
    def last(self) -> Period:
        """The last period that has a partition."""
        return self.kind.parse(str(self.partitions.get_last_partition_key()))

    def has(self, period: Period) -> bool:
        """Whether there is a partition for a period."""
        return self.partitions.has_partition_key(str(period))

    def require(self, periods: Sequence[Period]) -> None:
        """Raise UsageError for periods that have no partition."""
        beyond = [str(period) for period in periods if not self.has(period)]
        if beyond:
            raise UsageError(
                f"There is no partition for {', '.join(beyond)}: {self.kind.word}s run from "
                f"{self.first} to {self.last}."
            )


def parse_periods(texts: Iterable[str]) -> list[Period]:
    """Read periods and ranges of whichever kind, as `Calendar.parse` does for its own."""
    return _parse(texts, KINDS)


def parse_months(texts: Iterable[str]) -> list[Month]:
    """Read months and ranges of them, as `Calendar.parse` does."""
    return [month for month in _parse(texts, (Month,)) if isinstance(month, Month)]


def _parse(texts: Iterable[str], kinds: Sequence[type[Period]]) -> list[Period]:
    return sorted({period for text in texts for period in _parse_range(text, kinds)})


def _parse_range(text: str, kinds: Sequence[type[Period]]) -> Iterator[Period]:
    first_text, colon, last_text = text.partition(":")
    # Texts of days are longer; what is neither is told of as if a month were meant.
    kind = next((one for one in kinds if len(first_text.strip()) == len(str(one.of(date.max)))), kinds[0])
    first = kind.parse(first_text)
    last = kind.parse(last_text) if colon else first
    if last < first:
        raise UsageError(f"The range '{text}' runs backwards. Write the earlier {kind.word} first: {last}:{first}.")
    # The last one has no next, where calendars end.
    while first < last:
        yield first
        first = first.next()
    yield last
