"""Taking a delivery into bronze: its files, unless it is blocked or hasn't landed."""

from __future__ import annotations

from collections.abc import Sequence

import dagster as dg

from taxi_assets.catalog import Catalog
from taxi_assets.deliveries.blocked import blocked_in, says_blocked
from taxi_assets.deliveries.landed import Delivery, FeedFile, find_files, no_file
from taxi_assets.lake.passed_by import PassBy
from taxi_assets.landing import Landing


def taken(
    catalog: Catalog, landing: Landing, records: dg.DagsterInstance | None, delivery: Delivery
) -> Sequence[FeedFile] | PassBy:
    """Return the files of a delivery; or why it is passed by, if it is blocked or there is none.

    Raises LandingError if its files can't be used.
    """
    blocked = blocked_in(catalog, landing, records).get(delivery)
    files = () if blocked else find_files(catalog, landing, delivery)
    if files:
        return files
    why = says_blocked(catalog, delivery, blocked) if blocked else no_file(catalog, landing, delivery)
    return PassBy(f"{why} Its tables stay as they are.")
