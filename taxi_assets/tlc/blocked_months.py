"""Months that someone has declared known to be bad: blocked, with the reason, until the line that says so is gone.

They stand in a text file in landing's root, beside the files that they are about: whoever sees to landing writes it,
on a disk or in a bucket, and the next tick of the sensor, run or command knows it, without a setting or a restart.
"""

from __future__ import annotations

from typing import Final

from taxi_assets.errors import LandingError, UsageError
from taxi_assets.landing import Landing
from taxi_assets.months import parse_months
from taxi_assets.tlc.trip_files import ServiceMonth
from taxi_assets.vocabulary import Service

BLOCKED_MONTHS: Final = "blocked_months.txt"
"""The file's name. A line is a service, a month or a range, and the reason; one that begins with # is a comment."""

_FORM: Final = "A line is a service, a month or a range, and why: green 2024-03 fares are in cents"


def blocked_months(landing: Landing) -> dict[ServiceMonth, str]:
    """Return the reason for each month that is blocked; none are without the file.

    Raises LandingError, naming the line, if it says anything else than what is blocked and why: what it was to block
    can't be told.
    """
    blocked: dict[ServiceMonth, str] = {}
    for number, line in enumerate((landing.read_text(BLOCKED_MONTHS) or "").splitlines(), start=1):
        words = line.split(maxsplit=2)
        if not words or words[0].startswith("#"):
            continue
        try:
            entries = _entries(words)
        except UsageError as error:
            raise LandingError(f"{BLOCKED_MONTHS} in landing, line {number}: {error} {_FORM}.") from None
        for service_month, reason in entries.items():
            earlier = blocked.get(service_month)
            blocked[service_month] = f"{earlier}; {reason}" if earlier else reason
    return blocked


def says_blocked(service_month: ServiceMonth, reason: str) -> str:
    """Say of a month that it is blocked, where, and why."""
    service, month = service_month
    return f"{service} {month} is blocked ({BLOCKED_MONTHS}): {reason.rstrip('.')}."


def _entries(words: list[str]) -> dict[ServiceMonth, str]:
    if words[0] not in set(Service):
        raise UsageError(f"There is no service '{words[0]}'; there are {', '.join(Service)}.")
    if len(words) < len(("service", "months", "reason")):
        raise UsageError("A month is blocked for a reason, and there is none.")
    return {(Service(words[0]), month): words[2].strip() for month in parse_months([words[1]])}
