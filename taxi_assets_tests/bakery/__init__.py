"""A made-up catalog: a bakery's daily sales, and snapshots of its shops. Here is what it says of itself."""

from __future__ import annotations

from taxi_assets.calendars import Calendar, Day
from taxi_assets.catalog import Catalog, Contents, Feed

# By India's clock, from the day on which the bakery opened.
DAILY = Calendar(Day, "source_date", Day.parse("2024-01-01"), "Asia/Kolkata")


def _feed(name: str) -> Feed:
    pattern = rf"{name}_(?P<year>[0-9]{{4}})_(?P<month>[0-9]{{2}})_(?P<day>[0-9]{{2}})"
    return Feed(name, pattern, f"{name}_{{:%Y_%m_%d}}", DAILY.first, late_after=1)


def _load() -> Contents:
    from taxi_assets_tests.bakery.tables import CONTENTS

    return CONTENTS


BAKERY = Catalog(
    "bakery",
    DAILY,
    feeds=(_feed("sales"), _feed("shops")),
    file_name="sales_2024_01_05.csv",
    nearly=r"^(sales|shops)",
    blocked_list="bakery_blocked.txt",
    load=_load,
)
