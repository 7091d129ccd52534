"""What every gold table starts from and must agree with: the silver trips of all services that have the month."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

import dagster as dg
import narwhals.stable.v1 as nw

from taxi_assets.contracts import Contract, Frame
from taxi_assets.engines import decimal_units, ratio
from taxi_assets.lake.stored_checks import Finding, Stored, StoredCheck
from taxi_assets.tlc.silver.trips import SILVER_TRIPS


def stack(trips: Mapping[str, Frame], columns: Sequence[str]) -> Frame:
    """Put some columns of each service's trips under each other, with `service_type` to tell them apart."""
    return nw.concat(
        [frame.select(nw.lit(service).alias("service_type"), *columns) for service, frame in trips.items()],
        how="vertical",
    )


def average(total: str, count: str) -> nw.Expr:
    """Divide a column of summed dollars or miles by a column of counts: two places, rounded half up."""
    return ratio(decimal_units(nw.col(total), 2), nw.col(count).cast(nw.Int64) * 100, 10, 2)


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
        gold_count, gold_revenue = _totals(stored.rows(contract), trip_count, revenue)
        months = [
            _totals(stored.rows(silver), None, "total_amount" if revenue else None)
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
