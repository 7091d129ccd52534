"""Periods that someone has declared known to be bad: blocked, with the reason, until the line that says so is gone.

They stand in a text file in landing's root, beside the files that they are about: whoever sees to landing writes it,
on a disk or in a bucket, and the next tick of the sensor, run or command knows it, without a setting or a restart.
Whoever reads it notes in Dagster's instance that it is there, so that one that gets lost isn't taken for none.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from taxi_assets.catalog import Catalog
from taxi_assets.deliveries.landed import Delivery
from taxi_assets.errors import LandingError, UsageError, printable
from taxi_assets.landing import NOT_SHOWN, Landing

if TYPE_CHECKING:
    import dagster as dg


def blocked_in(catalog: Catalog, landing: Landing, records: dg.DagsterInstance | None) -> dict[Delivery, str]:
    """Return the reason for each delivery that is blocked; none are where the list never was, as far as `records` know.

    Raises LandingError if the list was there and is gone, can't be read, or, naming the line, says anything else than
    what is blocked and why: what it was to block can't be told.
    """
    name = catalog.blocked_list
    text = landing.read_text(name)
    if records is not None:
        _note_or_miss(catalog, landing, records, is_there=text is not None)
    blocked: dict[Delivery, str] = {}
    for number, line in enumerate((text or "").splitlines(), start=1):
        words = line.split(maxsplit=2)
        if not words or words[0].startswith("#"):
            continue
        try:
            entries = _entries(catalog, words)
        except UsageError as error:
            says = f"It is {NOT_SHOWN}." if landing.leads_out(name) else error
            raise LandingError(f"{name} in landing, line {number}: {says} {_form(catalog)}.") from None
        for delivery, reason in entries.items():
            earlier = blocked.get(delivery)
            blocked[delivery] = f"{earlier}; {reason}" if earlier else reason
    return blocked


def says_blocked(catalog: Catalog, delivery: Delivery, reason: str) -> str:
    """Say of a delivery that it is blocked, where, and why."""
    feed, period = delivery
    return f"{feed} {period} is blocked ({catalog.blocked_list}): {printable(reason.rstrip('.'))}."


def _form(catalog: Catalog) -> str:
    word, feed = catalog.calendar.kind.word, catalog.feeds[-1]
    example = f"{feed.name} {feed.first.next()} its amounts are in cents"
    return f"A line is a {catalog.feed_word}, a {word} or a range, and why: {example}"


def _note_or_miss(catalog: Catalog, landing: Landing, records: dg.DagsterInstance, *, is_there: bool) -> None:
    """Note that landing has the list; if it had it before and hasn't now, raise LandingError."""
    name = catalog.blocked_list
    storage, note = records.daemon_cursor_storage, f"taxi_assets/{name} of {landing.root}"
    was_there = note in storage.get_cursor_values({note})
    if was_there and not is_there:
        raise LandingError(
            f"{name} was in {landing.root} before, and is gone: which {catalog.calendar.kind.word}s are blocked isn't "
            "known. Put it back; if none are any longer, put an empty file of that name there."
        )
    if is_there and not was_there:
        storage.set_cursor_values({note: "is there"})


def _entries(catalog: Catalog, words: list[str]) -> dict[Delivery, str]:
    feed = catalog.feed(words[0])
    if len(words) < len(("feed", "periods", "reason")):
        raise UsageError(f"A {catalog.calendar.kind.word} is blocked for a reason, and there is none.")
    return {(feed.name, period): words[2].strip() for period in catalog.calendar.parse([words[1]])}
