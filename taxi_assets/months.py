"""Months: the unit in which trip files arrive.

Nothing here knows a file, a table or an engine.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import date
from functools import total_ordering
from typing import Final

from taxi_assets.errors import UsageError

_FORM: Final = re.compile(r"([0-9]{4})-([0-9]{2})")


@total_ordering
@dataclass(frozen=True, slots=True)
class Month:
    """A calendar month; as text ``2024-01``, in tables the DATE of its first day."""

    year: int
    number: int

    def __post_init__(self) -> None:
        if not (1 <= self.number <= 12 and 1 <= self.year <= 9999):
            raise UsageError(f"There is no month {self.year:04d}-{self.number:02d}; months run from 01 to 12.")

    @classmethod
    def parse(cls, text: str) -> Month:
        """Read ``2024-01``. Raises UsageError for anything else."""
        match = _FORM.fullmatch(text.strip())
        if match is None:
            raise UsageError(f"'{text}' is not a month. Write it as year and month with two digits: 2024-01.")
        return cls(int(match[1]), int(match[2]))

    @classmethod
    def of(cls, day: date) -> Month:
        """Return the month that a day falls into."""
        return cls(day.year, day.month)

    def __str__(self) -> str:
        return f"{self.year:04d}-{self.number:02d}"

    def __lt__(self, other: Month) -> bool:
        return (self.year, self.number) < (other.year, other.number)

    @property
    def first_day(self) -> date:
        """The DATE that stands for this month in a table's partition column."""
        return date(self.year, self.number, 1)

    def next(self) -> Month:
        """Return the month after this one."""
        return Month(self.year + self.number // 12, self.number % 12 + 1)


def parse_months(texts: Iterable[str]) -> list[Month]:
    """Read months and ranges (``2024-01:2024-06``, both ends included), sorted, each once.

    Raises UsageError for a text that is neither, and for a range that runs backwards.
    """
    return sorted({month for text in texts for month in _parse_range(text)})


def _parse_range(text: str) -> Iterator[Month]:
    first_text, colon, last_text = text.partition(":")
    first = Month.parse(first_text)
    last = Month.parse(last_text) if colon else first
    if last < first:
        raise UsageError(f"The range '{text}' runs backwards. Write the earlier month first: {last}:{first}.")
    while first <= last:
        yield first
        first = first.next()
