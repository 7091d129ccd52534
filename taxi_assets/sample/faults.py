"""What is planted: the table of taxis' faults, and which rows of a month get which of a service's.

A fault is named after the rule it breaks (tlc/silver/metered_trips.py) and breaks that rule only; where it can't help
breaking another, ``also_breaks`` says so. The faults of for-hire vehicles are in for_hire_faults.py. What a row without
faults looks like is trips.py's business.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

import polars as pl

from taxi_assets.errors import UsageError
from taxi_assets.sample.dice import Dice
from taxi_assets.sample.rhythm import DAY, HOUR
from taxi_assets.sample.trips import MISCOUNT, PARTS

FAULT: Final = "fault"
"""Column with the number of the row's fault, its place in the table counted from 1; 0 where nothing is planted."""
VARIANT: Final = "variant"
"""Column with a number from 0 to 59, by which a fault takes one form or another."""

_SMALL_MONTH: Final = 200


@dataclass(frozen=True)
class Fault:
    """One way of going wrong. Amounts in ``changes`` are cents, distances hundredths of a mile, times seconds."""

    name: str
    rate: float  # of the month's rows, unless told
    what: str
    changes: Mapping[str, pl.Expr] = field(default_factory=dict)
    follows_original: bool = False  # it repeats the (faultless) row before it, then changes it
    also_breaks: tuple[str, ...] = ()
    tolerated: bool = True  # at its rate no check warns of it


def form(number: int, of: int) -> pl.Expr:
    return pl.col(VARIANT) % of == number


def missing_in_turn(*columns: str) -> dict[str, pl.Expr]:
    return {name: pl.when(~form(turn, of=len(columns))).then(name) for turn, name in enumerate(columns)}


_PICKUP, _DROPOFF, _DISTANCE = pl.col("pickup_datetime"), pl.col("dropoff_datetime"), pl.col("trip_distance")
_YEAR_OF_WEEKS: Final = 364 * DAY
# Until 3:00 the clock change in autumn may explain a dropoff before its pickup; two hours and more it never does.
_CLOCK_CHANGE_OVER: Final = _PICKUP % DAY >= 3 * HOUR

_LISTED: Final = (
    Fault(
        "required_values_present",
        0.0002,
        "One of pickup time, dropoff time, pickup zone, dropoff zone, fare and distance is null.",
        missing_in_turn(
            "pickup_datetime", "dropoff_datetime", "pulocationid", "dolocationid", "fare_amount", "trip_distance"
        ),
    ),
    Fault(
        "values_fit_their_types",
        0.0001,
        "The tip is 1,000,000,000,000 USD (and the total as much higher), which no Decimal(10,2) holds. A typed"
        " Parquet file can't hold text in place of a number.",
        {"tip_amount": pl.lit(10**14)},
    ),
    Fault(
        "pickup_in_file_month",
        0.0002,
        "Both times are 364 days early.",
        {"pickup_datetime": _PICKUP - _YEAR_OF_WEEKS, "dropoff_datetime": _DROPOFF - _YEAR_OF_WEEKS},
    ),
    Fault(
        "pickup_before_dropoff",
        0.001,
        "The dropoff is at the second of the pickup, or more than two hours before it.",
        {
            "dropoff_datetime": pl.when(_CLOCK_CHANGE_OVER & form(0, of=2))
            .then(_PICKUP)
            .otherwise(_PICKUP - 2 * HOUR - (_DROPOFF - _PICKUP))
        },
    ),
    Fault(
        "positive_fare_amount",
        0.004,
        "The fare is 0, or all amounts are negative: a refund of a charge that isn't in the month.",
        {part: pl.when(form(0, of=2)).then(-pl.col(part)).otherwise(part) for part in PARTS}
        | {"fare_amount": pl.when(form(0, of=2)).then(-pl.col("fare_amount")).otherwise(0)},
    ),
    Fault("positive_trip_distance", 0.02, "The distance is 0.", {"trip_distance": pl.lit(0)}),
    Fault(
        "plausible_fare_amount",
        0.0001,
        "The fare is 1,000,000 USD higher.",
        {"fare_amount": pl.col("fare_amount") + 100_000_000},
        tolerated=False,
    ),
    Fault(
        "plausible_trip_distance",
        0.0005,
        "The distance is 1,000 miles longer, and the trip 23 hours: so its speed is plausible.",
        {"trip_distance": _DISTANCE + 100_000, "dropoff_datetime": _DROPOFF + 23 * HOUR},
    ),
    Fault(
        "not_an_exact_duplicate",
        0.0005,
        "The row is the same as the one before it in all columns. The one before is not at fault.",
        follows_original=True,
    ),
    Fault(
        "known_zones",
        0.0005,
        "The pickup or dropoff zone is 270, which the lookup lacks.",
        {
            "pulocationid": pl.when(form(0, of=2)).then(270).otherwise("pulocationid"),
            "dolocationid": pl.when(form(1, of=2)).then(270).otherwise("dolocationid"),
        },
        tolerated=False,
    ),
    Fault("known_payment_type", 0.0005, "The payment type is 9.", {"payment_type": pl.lit(9)}, tolerated=False),
    Fault("plausible_passenger_count", 0.001, "There are 96 passengers.", {"passenger_count": pl.lit(96)}),
    Fault(
        "total_is_sum_of_parts",
        0.005,
        "The total is 1 cent or 2.50 USD more than the sum of its parts.",
        {MISCOUNT: pl.when(form(0, of=2)).then(1).otherwise(250)},
    ),
    Fault(
        "plausible_speed",
        0.002,
        "The distance is what 200 miles per hour would add.",
        {"trip_distance": _DISTANCE + (_DROPOFF - _PICKUP) * 200 * 100 // HOUR},
    ),
    Fault(
        "not_reversed",
        0.002,
        "The row refunds the one before it: same vendor, times and zones, all amounts negated. The charge, not the"
        " refund, is the row that breaks this rule.",
        {part: -pl.col(part) for part in PARTS},
        follows_original=True,
        also_breaks=("positive_fare_amount",),
    ),
)

FAULTS: Final[Mapping[str, Fault]] = {fault.name: fault for fault in _LISTED}


def counts_of(
    table: Mapping[str, Fault], rates: Mapping[str, float] | None, rows: int, *, clean: bool = False
) -> dict[str, int]:
    """Return how many rows get each fault of a table, in its order: its rate, rounded, of the month's ``rows``.

    A fault whose rate isn't 0 comes up at least once in 200 rows or more. In a `clean` month it doesn't, and those that
    a check warns of don't come up at all, unless told. Raises UsageError for an unknown fault, a
    rate outside 0 to 1, and more faults than rows.
    """
    told = dict(rates or {})
    unknown = sorted(told.keys() - table.keys())
    if unknown:
        raise UsageError(f"There is no fault '{unknown[0]}'. Faults are: {', '.join(table)}.")
    for name, rate in told.items():
        if not 0 <= rate <= 1:
            raise UsageError(f"The rate of '{name}' is {rate}. A rate is a share of the rows, from 0 to 1.")
    counts: dict[str, int] = {}
    for name, fault in table.items():
        rate = told.get(name, 0 if clean and not fault.tolerated else fault.rate)
        at_least = 1 if rate > 0 and rows >= _SMALL_MONTH and not clean else 0
        counts[name] = max(at_least, round(rate * rows))
    taken = sum(count * (1 + table[name].follows_original) for name, count in counts.items())
    if taken > rows:
        raise UsageError(
            f"The faults take {taken} rows (a repeated or refunded row takes two), but the month has only {rows}."
            f" Lower the rates; a rate of 0 turns a fault off. Faults are: {', '.join(table)}."
        )
    return counts


def rows_breaking(table: Mapping[str, Fault], counts: Mapping[str, int]) -> dict[str, int]:
    """Return how many rows of the file break each rule, when so many rows got each fault."""
    broken = dict(counts)
    for name, count in counts.items():
        for other in table[name].also_breaks:
            broken[other] += count
    return broken


def plan(table: Mapping[str, Fault], counts: Mapping[str, int], rows: int, dice: Dice) -> pl.DataFrame:
    """Return ``row`` and ``fault`` of all rows to spoil, sorted by row, each fault spread over the whole month."""
    planted = sum(counts.values())
    number_of = {name: number for number, name in enumerate(table, start=1)}
    second = [number_of[name] for name, fault in table.items() if fault.follows_original]
    # A row and the one that follows it are one unit; a planted unit is drawn from each of equal stretches of the month.
    units = rows - sum(counts[name] for name, fault in table.items() if fault.follows_original)
    stretch = units // max(planted, 1)
    place = pl.int_range(planted, dtype=pl.Int64)
    faults = [pl.repeat(number_of[name], count, dtype=pl.UInt8, eager=True) for name, count in counts.items()]
    return (
        pl.DataFrame({FAULT: pl.concat(faults)})
        .sort(dice.roll("order of faults", place))
        .with_columns(row=place * units // max(planted, 1) + dice.below("place of faults", place, stretch))
        .with_columns(row=pl.col("row") + pl.col(FAULT).is_in(second).cast(pl.Int64).cum_sum())
        .select("row", FAULT)
    )


def apply_faults(table: Mapping[str, Fault], frame: pl.LazyFrame, counts: Mapping[str, int]) -> pl.LazyFrame:
    """Spoil the rows of ``frame`` as their FAULT and VARIANT say."""
    spoiled: dict[str, pl.Expr] = {}
    for number, (name, fault) in enumerate(table.items(), start=1):
        if not counts[name]:
            continue
        for column, changed in fault.changes.items():
            before = spoiled.get(column, pl.col(column))
            spoiled[column] = pl.when(pl.col(FAULT) == number).then(changed).otherwise(before)
    return frame.with_columns(**spoiled)


def original(table: Mapping[str, Fault], row: pl.Expr) -> pl.Expr:
    """Return the number of the trip that stands in ``row``: the row's own, or the one before it that it repeats."""
    second = [number for number, fault in enumerate(table.values(), start=1) if fault.follows_original]
    return row - pl.col(FAULT).is_in(second).cast(pl.Int64)
