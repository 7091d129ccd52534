"""Plausible trips of a month: whole columns of ids, times, distances and amounts that break no rule.

Everything is a whole number: amounts in cents, distances in hundredths of a mile, times in seconds since the month's
first midnight. So nothing is rounded, and totals add up. What is wrong with some rows is faults.py's business.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import polars as pl

from taxi_assets.calendars import Month
from taxi_assets.sample.dice import Dice, look_up
from taxi_assets.sample.rhythm import Rhythm
from taxi_assets.sample.tariff import tariff
from taxi_assets.sample.zones import CBD, CONGESTION, DROPOFFS, JFK, LAGUARDIA, NEWARK, PICKUPS
from taxi_assets.tlc.vocabulary import Service

CARD: Final = 1

MISCOUNT: Final = "miscount"
"""Column with the cents by which total_amount is off the sum of its parts."""

PARTS: Final = (
    "fare_amount",
    "extra",
    "mta_tax",
    "tip_amount",
    "tolls_amount",
    "improvement_surcharge",
    "congestion_surcharge",
    "airport_fee",
    "cbd_congestion_fee",
)
"""The amounts whose sum is total_amount. Those that the era lacks are null."""

# Trips by length, from the shortest to the longest in sixteenths: hundredths of a mile. After the real files.
_DISTANCES: Final = {
    Service.YELLOW: (20, 59, 78, 92, 109, 123, 140, 157, 179, 203, 231, 270, 330, 410, 540, 790, 1700),
    Service.GREEN: (20, 69, 90, 110, 129, 145, 166, 190, 217, 248, 288, 340, 409, 518, 679, 974, 2400),
}
_JFK_DETOUR: Final = 1200
_LAGUARDIA_DETOUR: Final = 600

# Miles per hour in traffic, for each hour of the day.
SPEEDS: Final = (16, 17, 18, 19, 20, 20, 17, 13, 11, 11, 11, 11, 11, 11, 10, 10, 10, 10, 11, 12, 13, 13, 14, 15)

_VENDORS: Final = {Service.YELLOW: {1: 25, 2: 75}, Service.GREEN: {1: 13, 2: 87}}
_PASSENGERS: Final = {1: 74, 2: 15, 3: 4, 4: 2, 5: 3, 6: 2}
_RATE_CODES: Final = {Service.YELLOW: {1: 99, 5: 1}, Service.GREEN: {1: 97, 5: 3}}
_PAYMENTS: Final = {Service.YELLOW: {CARD: 78, 2: 18, 3: 1, 4: 3}, Service.GREEN: {CARD: 62, 2: 36, 3: 1, 4: 1}}
_TIP_PERCENT: Final = {0: 6, 10: 6, 15: 14, 20: 40, 25: 22, 30: 12}

# Of a thousand rows, those that came without the driver's entries (no passengers, rate code, payment type...), by
# year. There are none before 2019; after the last year, as many as in the last.
_UNREPORTED: Final = {
    Service.YELLOW: {2019: 5, 2020: 30, 2021: 50, 2022: 35, 2023: 30, 2024: 100, 2025: 220},
    Service.GREEN: {2019: 60, 2020: 330, 2021: 450, 2022: 110, 2023: 65, 2024: 45, 2025: 60},
}
# The columns that are null in those rows; airport_fee in yellow's only, trip_type in green's.
_NOT_REPORTED: Final = (
    "passenger_count",
    "ratecodeid",
    "store_and_fwd_flag",
    "payment_type",
    "trip_type",
    "congestion_surcharge",
    "airport_fee",
)


@dataclass(frozen=True)
class Trips:
    """The trips of a service in a month. ``count`` sets how dense they are; each is made from its number alone."""

    service: Service
    month: Month
    count: int
    dice: Dice

    def add_trips(self, frame: pl.LazyFrame) -> pl.LazyFrame:
        """Add the columns of plausible trips to a frame that numbers them in ``trip`` (from 0)."""
        rhythm = Rhythm(self.service, self.month, self.count, self.dice)
        return (
            rhythm.add_pickups(frame)
            .with_columns(**self._choices())
            .with_columns(**self._route())
            .with_columns(dropoff_datetime=rhythm.dropoff(self._seconds()))
            .with_columns(**self._charges())
            .with_columns(tip_amount=self._tip())
            .with_columns(**self._unreported())
        )

    def add_totals(self, frame: pl.LazyFrame) -> pl.LazyFrame:
        """Add what is summed of a trip's amounts, once faults have changed them; MISCOUNT is what it is off by."""
        return frame.with_columns(total_amount=pl.sum_horizontal(*PARTS, MISCOUNT))

    def _choices(self) -> dict[str, pl.Expr]:
        trip, dice, service = pl.col("trip"), self.dice, self.service
        was_stored = dice.below("stored", trip, 200) == 0
        years = _UNREPORTED[service]
        unreported = 0 if self.month.year < min(years) else years[min(self.month.year, max(years))]
        return {
            "vendorid": dice.pick("vendor", trip, _VENDORS[service]),
            "pulocationid": dice.pick("pickup zone", trip, PICKUPS[service]),
            "dolocationid": dice.pick("dropoff zone", trip, DROPOFFS[service]),
            "passenger_count": dice.pick("passengers", trip, _PASSENGERS),
            "ratecodeid": dice.pick("rate code", trip, _RATE_CODES[service]),
            "payment_type": dice.pick("payment", trip, _PAYMENTS[service]),
            "trip_distance": dice.from_quantiles("distance", trip, _DISTANCES[service]),
            "store_and_fwd_flag": pl.when(was_stored).then(pl.lit("Y")).otherwise(pl.lit("N")),
            "is_unreported": dice.below("unreported", trip, 1000) < unreported,
        }

    def _route(self) -> dict[str, pl.Expr]:
        at_jfk, at_laguardia, is_standard = touches({JFK}), touches({LAGUARDIA}), pl.col("ratecodeid") == 1
        rate_code = (
            pl.when(is_standard & at_jfk & touches(CONGESTION))
            .then(2)
            .when(is_standard & (pl.col("dolocationid") == NEWARK))
            .then(3)
            .otherwise("ratecodeid")
        )
        detour = pl.when(at_jfk).then(_JFK_DETOUR).when(at_laguardia).then(_LAGUARDIA_DETOUR).otherwise(0)
        return {
            "ratecodeid": rate_code,
            "trip_type": pl.when(pl.col("ratecodeid") == 5).then(2).otherwise(1),
            "trip_distance": pl.col("trip_distance") + detour,
        }

    def _seconds(self) -> pl.Expr:
        distance, percent = pl.col("trip_distance"), 70 + self.dice.below("traffic", pl.col("trip"), 60)
        in_traffic = look_up(SPEEDS, pl.col("hour")) * percent // 10
        tenths_of_mph = in_traffic + pl.min_horizontal(distance // 10, 150)
        return distance * 360 // tenths_of_mph

    def _charges(self) -> dict[str, pl.Expr]:
        rates, hour, distance = tariff(self.service, self.month), pl.col("hour"), pl.col("trip_distance")
        slow_minutes = (pl.col("dropoff_datetime") - pl.col("pickup_datetime")) // 200
        metered = rates.first_fare + rates.unit_fare * (distance // 20 + slow_minutes)
        rush_hour = ~pl.col("is_weekend") & hour.is_between(16, 19)
        overnight = (hour >= 20) | (hour < 6)
        pays_toll = (distance > 800) & (self.dice.below("toll", pl.col("trip"), 3) == 0)
        is_yellow = self.service is Service.YELLOW
        from_airport = pl.col("pulocationid").is_in([JFK, LAGUARDIA])
        return {
            "fare_amount": pl.when(pl.col("ratecodeid") == 2).then(rates.jfk_flat_fare).otherwise(metered),
            "extra": pl.when(rush_hour).then(rates.rush_hour).when(overnight).then(rates.overnight).otherwise(0),
            "mta_tax": pl.lit(50, pl.Int64),
            "tolls_amount": surcharge(rates.toll, pays_toll),
            "ehail_fee": pl.lit(None, pl.Int64),
            "improvement_surcharge": pl.lit(rates.improvement, pl.Int64),
            "congestion_surcharge": surcharge(rates.congestion, touches(CONGESTION)),
            "airport_fee": surcharge(rates.airport if is_yellow else None, from_airport),
            "cbd_congestion_fee": surcharge(rates.cbd, touches(CBD)),
        }

    def _tip(self) -> pl.Expr:
        percent = self.dice.pick("tip", pl.col("trip"), _TIP_PERCENT)
        tip = (pl.col("fare_amount") + pl.col("extra")) * percent // 100
        return pl.when((pl.col("payment_type") == CARD) & ~pl.col("is_unreported")).then(tip).otherwise(0)

    def _unreported(self) -> dict[str, pl.Expr]:
        columns: dict[str, pl.Expr] = {name: pl.when(~pl.col("is_unreported")).then(name) for name in _NOT_REPORTED}
        if self.service is Service.YELLOW or self.month.year >= 2025:
            columns["payment_type"] = columns["payment_type"].fill_null(0)
        return columns


def touches(zones: set[int] | frozenset[int]) -> pl.Expr:
    ids = sorted(zones)
    return pl.col("pulocationid").is_in(ids) | pl.col("dolocationid").is_in(ids)


def surcharge(cents: int | None, is_due: pl.Expr) -> pl.Expr:
    return pl.lit(None, pl.Int64) if cents is None else pl.when(is_due).then(cents).otherwise(0).cast(pl.Int64)
