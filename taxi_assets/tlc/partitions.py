"""The partitions of every table of this catalog, and the tags by which its assets are found."""

from __future__ import annotations

from typing import Final

from taxi_assets.catalog import feed_tag
from taxi_assets.tlc import TLC
from taxi_assets.tlc.vocabulary import Service

MONTHS: Final = TLC.calendar.partitions


def service_tag(*services: Service) -> dict[str, str]:
    """Return the tag of an asset that holds one service's trips, or what only the trips of some services name."""
    return feed_tag(*services)
