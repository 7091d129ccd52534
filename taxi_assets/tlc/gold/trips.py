"""What every gold table starts from and must agree with: the silver trips of all services that have the month."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any, Final

import dagster as dg
import narwhals.stable.v1 as nw

from taxi_assets.contracts import Contract, Frame
from taxi_assets.engines import decimal_units, ratio
from taxi_assets.lake.stored_checks import Finding, Stored, StoredCheck
from taxi_assets.tlc.silver.trips import SILVER_TRIPS
from taxi_assets.vocabulary import Service

MONEY_PLACES: Final = 2
MILES_PLACES: Final = 3
"""Taximeters count hundredths of a mile, high-volume companies thousandths."""

# What gold sums, and in which type: the widest of the services'.
_SUMMED: Final[Mapping[str, nw.dtypes.DType]] = {
    "trip_distance": nw.Decimal(10, MILES_PLACES),
    "fare_amount": nw.Decimal(10, MONEY_PLACES),
    "tip_amount": nw.Decimal(10, MONEY_PLACES),
    "total_amount": nw.Decimal(10, MONEY_PLACES),
}
# What a service calls it, where that isn't its name in gold.
_NAMES: Final[Mapping[str, Mapping[str, str]]] = {
    Service.FHVHV: {"fare_amount": "base_passenger_fare", "tip_amount": "tips"},
}


def stack(trips: Mapping[str, Frame], columns: Sequence[str]) -> Frame:
    """Put some columns of each service's trips under each other, with `service_type` to tell them apart.

    A column that TLC doesn't publish for a service (fhv has neither fare nor distance) is null in its rows.
    """
    return nw.concat([_of_service(service, frame, columns) for service, frame in trips.items()], how="vertical")


def _of_service(service: str, trips: Frame, columns: Sequence[str]) -> Frame:
    there = trips.collect_schema().names()
    chosen = []
    for column in columns:
        name = _NAMES.get(service, {}).get(column, column)
        value = nw.col(name)
        if column in _SUMMED:
            value = (value if name in there else nw.lit(None)).cast(_SUMMED[column])
        chosen.append(value.alias(column))
    return trips.select(nw.lit(service).alias("service_type"), *chosen)


def fares() -> nw.Expr:
    """Count the trips whose fare is published, in an aggregation: all, or none, as a rule, of a service's month."""
    return nw.col("fare_amount").count().cast(nw.Int64).alias("fares")


def revenue() -> nw.Expr:
    """Return the column of summed `total_amount`; null, and not nothing, where no fare is published. Needs `fares`."""
    return nw.when(nw.col("fares") > 0).then(nw.col("total_amount"))


def average(total: str, count: str, places: int = MONEY_PLACES) -> nw.Expr:
    """Divide a column of sums, which have so many places, by a column of counts: two places, rounded half up.

    Null where the count is 0.
    """
    units_per_whole: int = 10**places
    return ratio(decimal_units(nw.col(total), places), nw.col(count).cast(nw.Int64) * units_per_whole, 10, 2)


def published(rows: Frame, trips: Mapping[str, Frame | None]) -> dg.MaterializeResult[Any]:
    """Hand a gold table over, saying which services had the month and which had not."""
    return dg.MaterializeResult(
        value=rows,
        metadata={
            "services": [name for name, frame in trips.items() if frame is not None],
            "services_without_this_month": [name for name, frame in trips.items() if frame is None],
        },
    )


def reconciles_with_silver(
    contract: type[Contract], trip_count: Sequence[str], revenue: str | None = None
) -> StoredCheck:
    """Check that a gold month counts as many trips as silver holds, and the same revenue to the cent.

    `trip_count` are the columns whose sum counts trips, `revenue` the column that sums `total_amount`, if there is one.
    """

    def find(stored: Stored) -> Finding:
        total = "total_amount" if revenue else None
        gold_count, gold_revenue = _totals(stored.rows(contract), trip_count, revenue)
        months = [
            _totals(stored.rows(silver), None, total if total in silver.column_names() else None)
            for silver in SILVER_TRIPS.values()
            if stored.count(silver)
        ]
        silver_count = sum(count for count, _ in months)
        silver_revenue = sum((money for _, money in months), Decimal(0))
        figures: dict[str, Any] = {"gold_trips": gold_count, "silver_trips": silver_count}
        if revenue:
            figures |= {"gold_revenue": str(gold_revenue), "silver_revenue": str(silver_revenue)}
        says = "; ".join(f"{name} {value}" for name, value in figures.items())
        return Finding((gold_count, gold_revenue) == (silver_count, silver_revenue), says, figures)

    what = "trips and, to the cent, the same revenue" if revenue else "trips"
    description = f"The month has as many {what} as the silver tables of all services."
    return StoredCheck("reconciles_with_silver", contract, description, find, reads=tuple(SILVER_TRIPS.values()))


def _totals(rows: Frame, count: Sequence[str] | None, revenue: str | None) -> tuple[int, Decimal]:
    counted = nw.len() if count is None else nw.sum_horizontal(*count).sum()
    money = nw.col(revenue).sum() if revenue else nw.lit(None)
    found = rows.select(counted.alias("trips"), money.alias("revenue")).collect().rows()[0]
    return int(found[0] or 0), Decimal(found[1] or 0)
