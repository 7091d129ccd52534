"""Plausible trips of for-hire vehicles: whole columns of ids, times, distances and amounts that break no rule.

As in trips.py everything is a whole number: amounts in cents, miles in thousandths, times in seconds since the month's
first midnight. What is wrong with some rows is for_hire_faults.py's business.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import polars as pl

from taxi_assets.calendars import Month
from taxi_assets.sample.dice import Dice, look_up
from taxi_assets.sample.rhythm import Rhythm
from taxi_assets.sample.trips import SPEEDS, surcharge, touches
from taxi_assets.sample.zones import CBD, CONGESTION, DROPOFFS, JFK, LAGUARDIA, NEWARK, PICKUPS
from taxi_assets.tlc.vocabulary import Service

AMOUNTS: Final = (
    "base_passenger_fare",
    "tolls",
    "bcf",
    "sales_tax",
    "congestion_surcharge",
    "airport_fee",
    "cbd_congestion_fee",
    "tips",
    "driver_pay",
)

# Trips by length, from the shortest to the longest in sixteenths: thousandths of a mile. Guessed.
_MILES: Final = (
    300, 800, 1050, 1290, 1540, 1810, 2110, 2460, 2870, 3360, 3970, 4740, 5790, 7400, 10100, 14800, 31000,
)  # fmt: skip
# A company's licence and base with its share of trips; Juno and Via, long gone, are left out.
_COMPANIES: Final = (("HV0003", "B03404"), ("HV0005", "B03406"))
_SHARES: Final = {0: 74, 1: 26}
_LYFT: Final = 1
_BASES: Final = 700  # of ordinary for-hire vehicles
_TIP_PERCENT: Final = {0: 80, 10: 5, 15: 6, 20: 6, 25: 3}
_YES_NO: Final = ("N", "Y")


@dataclass(frozen=True)
class ForHireTrips:
    """The trips of fhv or fhvhv in a month. ``count`` sets how dense they are; each is made from its number alone."""

    service: Service
    month: Month
    count: int
    dice: Dice

    def add_trips(self, frame: pl.LazyFrame) -> pl.LazyFrame:
        """Add the columns of plausible trips to a frame that numbers them in ``trip`` (from 0)."""
        rhythm = Rhythm(self.service, self.month, self.count, self.dice)
        trip, dice = pl.col("trip"), self.dice
        located = rhythm.add_pickups(frame).with_columns(
            pulocationid=dice.pick("pickup zone", trip, PICKUPS[self.service]),
            dolocationid=dice.pick("dropoff zone", trip, DROPOFFS[self.service]),
            trip_miles=dice.from_quantiles("distance", trip, _MILES),
        )
        driven = located.with_columns(dropoff_datetime=rhythm.dropoff(self._seconds()))
        if self.service is Service.FHV:
            return driven.with_columns(**self._dispatched())
        return (
            driven.with_columns(**self._requested(rhythm)).with_columns(**self._charges()).with_columns(**self._taxes())
        )

    def add_totals(self, frame: pl.LazyFrame) -> pl.LazyFrame:
        """Return the trips as they are: TLC publishes no sums for these services."""
        return frame

    def _seconds(self) -> pl.Expr:
        miles, percent = pl.col("trip_miles"), 70 + self.dice.below("traffic", pl.col("trip"), 60)
        tenths_of_mph = look_up(SPEEDS, pl.col("hour")) * percent // 10 + pl.min_horizontal(miles // 100, 150)
        return miles * 36 // tenths_of_mph

    def _dispatched(self) -> dict[str, pl.Expr]:
        trip, dice = pl.col("trip"), self.dice
        base = dice.below("base", trip, _BASES)
        has_pickup, has_dropoff = dice.below("has pickup", trip, 100) < 30, dice.below("has dropoff", trip, 100) < 80
        return {
            "dispatching_base_num": _base_number(base),
            "affiliated_base_number": _base_number(
                pl.when(dice.below("own car", trip, 10) < 9).then(base).otherwise((base + 1) % _BASES)
            ),
            "pulocationid": pl.when(has_pickup).then("pulocationid"),
            "dolocationid": pl.when(has_dropoff).then("dolocationid"),
            "sr_flag": pl.lit(None, pl.Int64),
        }

    def _requested(self, rhythm: Rhythm) -> dict[str, pl.Expr]:
        trip, dice = pl.col("trip"), self.dice
        company = dice.pick("company", trip, _SHARES)
        waits, walks = dice.below("wait", trip, 600), dice.below("walk", trip, 120)
        asks_to_share = dice.below("asks to share", trip, 100) < 4
        return {
            "hvfhs_license_num": _text([license_num for license_num, _ in _COMPANIES], company),
            "dispatching_base_num": _text([base for _, base in _COMPANIES], company),
            "originating_base_num": pl.when(company != _LYFT).then(_text([base for _, base in _COMPANIES], company)),
            "request_datetime": rhythm.before_pickup(150 + waits),
            "on_scene_datetime": pl.when(company != _LYFT).then(rhythm.before_pickup(walks)),
            "trip_time": rhythm.elapsed(pl.col("dropoff_datetime")),
            "shared_request_flag": _flag(asks_to_share),
            "shared_match_flag": _flag(asks_to_share & (dice.below("is shared", trip, 2) == 0)),
            "access_a_ride_flag": pl.when(company == _LYFT).then(pl.lit("N")).otherwise(pl.lit(" ")),
            "wav_request_flag": _flag(dice.below("asks for wav", trip, 500) == 0),
            "wav_match_flag": _flag(dice.below("wav", trip, 100) < 7),
        }

    def _charges(self) -> dict[str, pl.Expr]:
        trip, dice, minutes = pl.col("trip"), self.dice, pl.col("trip_time") // 60
        fare = 300 + pl.col("trip_miles") * 17 // 100 + minutes * 45 + dice.below("surge", trip, 700)
        pays_toll = (pl.col("trip_miles") > 8_000) & (dice.below("toll", trip, 3) == 0)
        return {
            "base_passenger_fare": fare,
            "tolls": pl.when(pays_toll).then(694).otherwise(0).cast(pl.Int64),
            "congestion_surcharge": surcharge(275, touches(CONGESTION)),
            "airport_fee": surcharge(250 if self.month >= Month(2021, 2) else None, touches({JFK, LAGUARDIA, NEWARK})),
            "cbd_congestion_fee": surcharge(150 if self.month >= Month(2025, 1) else None, touches(CBD)),
            "driver_pay": 200 + pl.col("trip_miles") * 12 // 100 + minutes * 40,
        }

    def _taxes(self) -> dict[str, pl.Expr]:
        fare = pl.col("base_passenger_fare")
        return {
            "bcf": fare * 275 // 10_000,
            "sales_tax": fare * 8_875 // 100_000,
            "tips": fare * self.dice.pick("tip", pl.col("trip"), _TIP_PERCENT) // 100,
        }


def _base_number(base: pl.Expr) -> pl.Expr:
    return pl.format("B{}", (base + 100).cast(pl.String).str.zfill(5))


def _text(table: Sequence[str], position: pl.Expr) -> pl.Expr:
    return pl.lit(pl.Series(table, dtype=pl.String)).gather(position)


def _flag(is_so: pl.Expr) -> pl.Expr:
    return _text(_YES_NO, is_so.cast(pl.Int64))
