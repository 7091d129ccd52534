"""Pieces of alerts' texts: quotes that may stand in any message, and months as people and commands say them."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from typing import Final

from taxi_assets.calendars import Period, parse_periods
from taxi_assets.errors import UsageError

LONGEST_VALUE: Final = 60
LONGEST_PATH: Final = 160
MONTHS: Final = "{months}"
"""Stands in what there is to do for the months that it is to be done for: a digest has one command for them all."""

_MOST_SPANS: Final = 5
# What a service that is sent plain text may act on all the same: mentions of people, roles and channels, and links.
_ACTED_ON: Final = re.compile(r"@|<(?=\S)|:(?=//)|(?<=\])\(|(?<=\bwww)\.|(?<=\bmailto):", re.IGNORECASE)


def printable(text: str, longest: int) -> str:
    """Return a text as one line of bounded length, without control characters. What is cut ends with a word and …."""
    return _cut(_one_line(text, longest), longest)


def quoted(text: str, longest: int) -> str:
    """Return a text that comes from a file, an error or a person as it may stand in any message.

    It is printable, and calls nobody and leads nowhere: services act on mentions and links even in plain text. What
    they would act on is put into brackets: [@]everyone, https[:]//example.org.
    """
    return _cut(_ACTED_ON.sub(r"[\g<0>]", _one_line(text, longest)), longest)


def month_of(text: str) -> str:
    """Quote a month: it is a run's tag, which whoever launches a run can write."""
    return quoted(text, LONGEST_VALUE)


def for_months(do: str, months: str) -> str:
    """Write some months, as commands take them, into what there is to do."""
    return do.replace(MONTHS, months)


def span_of(months: Sequence[str]) -> str:
    """Write months as people say them, from the first to the last."""
    first, last = month_of(months[0]), month_of(months[-1])
    return first if first == last else f"{first} to {last}"


def spec_of(months: Collection[str]) -> str:
    """Write months as commands take them: ranges where there are any, and no more of them than can be read."""
    spans: list[list[Period]] = []
    for month in parse_periods(months):
        if spans and spans[-1][-1].next() == month:
            spans[-1].append(month)
        else:
            spans.append([month])
    texts = [str(span[0]) if len(span) == 1 else f"{span[0]}:{span[-1]}" for span in spans]
    return " ".join([*texts[:_MOST_SPANS], *(["..."] if len(texts) > _MOST_SPANS else [])])


def spec_of_any(months: Sequence[str]) -> str:
    """Write months as commands take them, as far as they are months."""
    try:
        return spec_of(months)
    except UsageError:
        return " ".join(month_of(month) for month in months[:_MOST_SPANS])


def _one_line(text: str, longest: int) -> str:
    line = " ".join("".join(letter if letter.isprintable() else " " for letter in text[: 2 * longest]).split())
    return line if len(text) <= 2 * longest else f"{line} …"


def _cut(line: str, longest: int) -> str:
    if len(line) <= longest:
        return line
    begin = line[: longest - 1]
    words = begin if line[longest - 1] == " " else begin.rpartition(" ")[0]
    # Within a word only where there is no other place, as in one that has no end.
    return f"{(words if len(words) >= longest // 2 else begin).rstrip()}…"
