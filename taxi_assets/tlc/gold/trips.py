"""What every gold table starts from and must agree with: the silver trips of all services that have the month."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Final

import dagster as dg
import narwhals.stable.v1 as nw

from taxi_assets.contracts import Contract, Frame
from taxi_assets.engines import decimal_units, ratio
from taxi_assets.lake.figures import Figures
from taxi_assets.lake.stored_checks import Finding, Stored, StoredCheck
from taxi_assets.tlc.silver.trips import QUARANTINES, SILVER_TRIPS
from taxi_assets.tlc.vocabulary import Service

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


def total_of(*columns: str) -> list[nw.Expr]:
    """Sum some columns in an aggregation, each under its name, and count their values, as `fare_amount_count`.

    Of no value at all engines make different sums: ask `if_any` for one, or `average`.
    """
    counts = (nw.col(name).count().cast(nw.Int64).alias(_count_of(name)) for name in columns)
    return [*(nw.col(name).sum() for name in columns), *counts]


def if_any(column: str) -> nw.Expr:
    """Return a column that `total_of` has summed; null, and not nothing, where there was no value to sum."""
    return nw.when(nw.col(_count_of(column)) > 0).then(nw.col(column))


def average(column: str, places: int = MONEY_PLACES, *, per: str | None = None) -> nw.Expr:
    """Divide a column that `total_of` has summed, with so many places, by its count: two places, rounded half up.

    `per` names another count to divide by, if missing values are to count as 0. Null where there was no value.
    """
    units_per_whole: int = 10**places
    return ratio(
        decimal_units(if_any(column), places), nw.col(per or _count_of(column)).cast(nw.Int64) * units_per_whole, 10, 2
    )


def _count_of(column: str) -> str:
    return f"{column}_count"


def published(rows: Frame, trips: Mapping[str, Frame | None]) -> dg.MaterializeResult[Any]:
    """Hand a gold table over, saying which services had the month and which had not."""
    return dg.MaterializeResult(
        value=rows,
        metadata={
            "services": [name for name, frame in trips.items() if frame is not None],
            "services_without_this_month": [name for name, frame in trips.items() if frame is None],
        },
    )


def plotted(contract: type[Contract], trip_count: Sequence[str], revenue: str | None = None) -> Figures:
    """Ask of a gold month how many trips it counts, their revenue and average fare in USD, and the share quarantined.

    The columns are those of `reconciles_with_silver`; `avg_fare` is of the first of those that count trips. The average
    is made of averages, each rounded to the cent, and so is as exact. The share, 0 to 1, is of all services' rows.
    """

    def ask(stored: Stored) -> Mapping[str, float | None]:
        with_fare = nw.when(~nw.col("avg_fare").is_null()).then(nw.col(trip_count[0]))
        (found,) = (
            stored.rows(contract)
            .with_columns((nw.col(revenue) if revenue else nw.lit(None)).cast(nw.Float64).alias("total"))
            .select(
                nw.sum_horizontal(*trip_count).sum().alias("trips"),
                nw.col("total").sum().alias("revenue"),
                nw.col("total").count().alias("revenues"),
                (nw.col("avg_fare").cast(nw.Float64) * with_fare).sum().alias("fares"),
                with_fare.sum().alias("trips_with_fare"),
            )
            .collect()
            .rows(named=True)
        )
        kept = sum(stored.count(silver) for silver in SILVER_TRIPS.values())
        quarantined = sum(stored.count(quarantine) for quarantine in QUARANTINES.values())
        return {
            "trips": found["trips"],
            "revenue": round(found["revenue"], 2) if found["revenues"] else None,
            "average_fare": round(found["fares"] / found["trips_with_fare"], 2) if found["trips_with_fare"] else None,
            "quarantined_share": round(quarantined / (kept + quarantined), 6) if kept + quarantined else None,
        }

    return ask


def reconciles_with_silver(
    contract: type[Contract], trip_count: Sequence[str], revenue: str | None = None
) -> StoredCheck:
    """Check that a gold month counts as many trips as silver holds, and the same revenue to the cent.

    `trip_count` are the columns whose sum counts trips, `revenue` the column that sums `total_amount`, if there is one.
    """

    def find(stored: Stored) -> Finding:
        gold = _counted(stored.rows(contract), nw.sum_horizontal(*trip_count).sum(), revenue)
        total = "total_amount" if revenue else None
        silver = [
            _counted(stored.rows(trips), nw.len(), total if total in trips.column_names() else None)
            for trips in SILVER_TRIPS.values()
            if stored.count(trips)
        ]
        trips = sum(one.trips for one in silver)
        sums = [one.revenue for one in silver if one.revenue is not None]
        silver_revenue = sum(sums, Decimal(0)) if sums else None
        figures: dict[str, Any] = {"gold_trips": gold.trips, "silver_trips": trips}
        if revenue:
            figures |= {
                "gold_revenue": _money(gold.revenue),
                "silver_revenue": _money(silver_revenue),
                "silver_trips_without_total": sum(one.without for one in silver),
            }
        says = "; ".join(f"{name} {value}" for name, value in figures.items())
        return Finding((gold.trips, gold.revenue) == (trips, silver_revenue), says, figures)

    what = "trips and, to the cent, the same revenue" if revenue else "trips"
    without = " Trips whose total is missing are counted; without any total there is no revenue." if revenue else ""
    description = f"The month has as many {what} as the silver tables of all services.{without}"
    return StoredCheck("reconciles_with_silver", contract, description, find, reads=tuple(SILVER_TRIPS.values()))


@dataclass(frozen=True, slots=True)
class _Counted:
    """A month's trips, what they brought in (None where no row says so), and the rows that don't say what they did.

    The latter only of a table that could: trips of fhv, which have no total, lack none.
    """

    trips: int
    revenue: Decimal | None
    without: int


def _counted(rows: Frame, trips: nw.Expr, revenue: str | None) -> _Counted:
    if revenue is None:
        (count,) = rows.select(trips.alias("trips")).collect().rows()[0]
        return _Counted(int(count or 0), None, 0)
    money = nw.col(revenue)
    asked = (trips.alias("trips"), money.sum().alias("revenue"), money.count().alias("of"), nw.len().alias("rows"))
    count, total, values, height = rows.select(*asked).collect().rows()[0]
    return _Counted(int(count or 0), Decimal(total) if values else None, int(height - values))


def _money(amount: Decimal | None) -> str:
    return "none" if amount is None else str(amount)
