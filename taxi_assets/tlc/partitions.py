"""The partitions of every table of this catalog, and the tags by which its assets are found."""

from __future__ import annotations

from datetime import datetime
from typing import Final

import dagster as dg

from taxi_assets.vocabulary import Service

# One definition for all services, though they start at different months: assets of one job must share theirs.
MONTHS: Final = dg.MonthlyPartitionsDefinition(start_date=datetime(2009, 1, 1), fmt="%Y-%m", end_offset=1)  # noqa: DTZ001
"""A partition per month from 2009-01, when yellow's files begin, to the current month."""


def service_tag(*services: Service) -> dict[str, str]:
    """Return the tag of an asset that holds one service's trips, or what only the trips of some services name."""
    return {"service": ".".join(services)}
