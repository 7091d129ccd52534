"""What a ZIP code and an hour are called: the borough or region of the one, the time of day of the other."""

from __future__ import annotations

import csv
from functools import cache
from pathlib import Path
from typing import Final

import narwhals.stable.v1 as nw

from taxi_assets.nyctaxi import UNKNOWN

TIMES_OF_DAY: Final = {"morning": (6, 11), "afternoon": (12, 17), "evening": (18, 22), "night": (23, 5)}
"""First and last hour of each time of day, in order; night goes over midnight."""


@cache
def zip_regions() -> list[tuple[int, int, str]]:
    """List ranges of ZIP codes, both ends included, with the borough or region that they lie in."""
    with (Path(__file__).parent / "zip_regions.csv").open(encoding="utf-8", newline="") as file:
        return [(int(line["first_zip"]), int(line["last_zip"]), line["region"]) for line in csv.DictReader(file)]


def borough_of(zip_code: nw.Expr) -> nw.Expr:
    """Return the borough or region of a ZIP code; Unknown for one in no range, and without one."""
    name: nw.Expr = nw.lit(UNKNOWN)
    for first, last, region in zip_regions():
        name = nw.when((zip_code >= first) & (zip_code <= last)).then(nw.lit(region)).otherwise(name)
    return name


def time_of_day(time: nw.Expr) -> nw.Expr:
    """Return the time of day of a wall-clock time."""
    hour = time.dt.hour()
    (last_name, _), *others = reversed(TIMES_OF_DAY.items())
    name: nw.Expr = nw.lit(last_name)
    for other, (first, last) in others:
        name = nw.when((hour >= first) & (hour <= last)).then(nw.lit(other)).otherwise(name)
    return nw.when(~time.is_null()).then(name)
