"""Months that someone has declared known to be bad: blocked, with the reason, until the line that says so is gone.

They stand in a text file in landing's root, beside the files that they are about: whoever sees to landing writes it,
on a disk or in a bucket, and the next tick of the sensor, run or command knows it, without a setting or a restart.
Whoever reads it notes in Dagster's instance that it is there, so that one that gets lost isn't taken for none.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from taxi_assets.errors import LandingError, UsageError, printable
from taxi_assets.landing import NOT_SHOWN, Landing
from taxi_assets.months import parse_months
from taxi_assets.tlc.trip_files import ServiceMonth
from taxi_assets.vocabulary import Service

if TYPE_CHECKING:
    import dagster as dg

BLOCKED_MONTHS: Final = "blocked_months.txt"
"""The file's name. A line is a service, a month or a range, and the reason; one that begins with # is a comment."""

_FORM: Final = "A line is a service, a month or a range, and why: green 2024-03 fares are in cents"


def blocked_months(landing: Landing, records: dg.DagsterInstance | None) -> dict[ServiceMonth, str]:
    """Return the reason for each month that is blocked; none are where the file never was, as far as `records` know.

    Raises LandingError if the file was there and is gone, can't be read, or, naming the line, says anything else than
    what is blocked and why: what it was to block can't be told.
    """
    text = landing.read_text(BLOCKED_MONTHS)
    if records is not None:
        _note_or_miss(landing, records, is_there=text is not None)
    blocked: dict[ServiceMonth, str] = {}
    for number, line in enumerate((text or "").splitlines(), start=1):
        words = line.split(maxsplit=2)
        if not words or words[0].startswith("#"):
            continue
        try:
            entries = _entries(words)
        except UsageError as error:
            says = f"It is {NOT_SHOWN}." if landing.leads_out(BLOCKED_MONTHS) else error
            raise LandingError(f"{BLOCKED_MONTHS} in landing, line {number}: {says} {_FORM}.") from None
        for service_month, reason in entries.items():
            earlier = blocked.get(service_month)
            blocked[service_month] = f"{earlier}; {reason}" if earlier else reason
    return blocked


def says_blocked(service_month: ServiceMonth, reason: str) -> str:
    """Say of a month that it is blocked, where, and why."""
    service, month = service_month
    return f"{service} {month} is blocked ({BLOCKED_MONTHS}): {printable(reason.rstrip('.'))}."


def _note_or_miss(landing: Landing, records: dg.DagsterInstance, *, is_there: bool) -> None:
    """Note that landing has the list; if it had it before and hasn't now, raise LandingError."""
    storage, note = records.daemon_cursor_storage, f"taxi_assets/{BLOCKED_MONTHS} of {landing.root}"
    was_there = note in storage.get_cursor_values({note})
    if was_there and not is_there:
        raise LandingError(
            f"{BLOCKED_MONTHS} was in {landing.root} before, and is gone: which months are blocked isn't known. Put it "
            "back; if none are any longer, put an empty file of that name there."
        )
    if is_there and not was_there:
        storage.set_cursor_values({note: "is there"})


def _entries(words: list[str]) -> dict[ServiceMonth, str]:
    if words[0] not in set(Service):
        raise UsageError(f"There is no service '{words[0]}'; there are {', '.join(Service)}.")
    if len(words) < len(("service", "months", "reason")):
        raise UsageError("A month is blocked for a reason, and there is none.")
    return {(Service(words[0]), month): words[2].strip() for month in parse_months([words[1]])}
