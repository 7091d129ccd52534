"""Notices: what there is to tell of one failure, or of its end, and what makes two of them the same.

How it is worded is wording.py's, what becomes of several messages.py's.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, NamedTuple

from taxi_assets.alerts.facts import Batch, Severity
from taxi_assets.calendars import Period, parse_periods


class Kind(StrEnum):
    """What a notice is about: a check, a run, late periods, a file's name, or a tick of a sensor or a schedule."""

    CHECK = "check"
    RUN = "run"
    LATE = "late"
    FILE = "file"
    TICK = "tick"


class Subject(NamedTuple):
    """What makes a failure the same one: what failed (a table, a check, a sensor), for which months, in which check.

    What failed in one run is told together: as the subject of a notice, `what` has commas between. `month` is one, or a
    range of what is late, as 2024-01:2024-06.
    """

    kind: Kind
    what: str
    month: str
    check: str

    @classmethod
    def load(cls, parts: Sequence[str]) -> Subject:
        """Read a subject from its parts."""
        kind, what, month, check = parts
        return cls(Kind(kind), what, month, check)

    @classmethod
    def together(cls, subjects: Sequence[Subject]) -> Subject:
        """Return the subject of a notice that tells of several of a run's."""
        return subjects[0]._replace(what=",".join(subject.what for subject in subjects))

    def apart(self) -> list[Subject]:
        """Return the subjects that this one tells of."""
        return [self._replace(what=name) for name in self.names]

    @property
    def names(self) -> list[str]:
        """What failed, one by one. Other names than a run's may hold commas."""
        return self.what.split(",") if self.kind is Kind.RUN else [self.what]

    @property
    def groups(self) -> set[str]:
        """The asset groups that it concerns; none, if it is about no table."""
        tables = [] if self.kind is Kind.FILE else self.names
        return {table.partition("/")[0] for table in tables if "/" in table}

    @property
    def periods(self) -> list[Period]:
        """The periods that are late."""
        return parse_periods([self.month])


@dataclass(frozen=True, slots=True)
class Told:
    """What there is to say of a failure: in a line, in full, what to do, and the link to where it can be seen."""

    says: str
    text: str
    do: str
    link: str = ""


@dataclass(frozen=True, slots=True)
class Notice:
    """Something to be told: of a failure, or that it is over. `at` is when it was known, in seconds."""

    subject: Subject
    severity: Severity
    well: bool
    says: str
    text: str
    link: str
    at: float
    batch: Batch = ()
    do: str = ""

    def dump(self) -> list[Any]:
        """Write it as JSON's lists and texts."""
        return [self.subject, self.severity, self.well, self.says, self.text, self.link, self.at, self.batch, self.do]

    @classmethod
    def load(cls, parts: Sequence[Any]) -> Notice:
        """Read what `dump` wrote, of former versions, too: they wrote no `do`."""
        subject, severity, well, says, text, link, at, batch, *do = parts
        tags = tuple((name, value) for name, value in batch)
        return cls(Subject.load(subject), Severity(severity), well, says, text, link, at, tags, *do)
