"""How long a metric view's answer takes in a warm process: on a star of so many trips, made here, in a folder.

Prints JSON: seconds to compile the question and seconds in all, medians. What is demanded of them stands in run.py.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from datetime import datetime, timedelta
from pathlib import Path

import narwhals.stable.v1 as nw
import polars as pl

from taxi_assets.calendars import Month
from taxi_assets.catalogs import contracts
from taxi_assets.contracts import Contract, Frame
from taxi_assets.engines import PolarsEngine
from taxi_assets.lake.lake import Lake
from taxi_assets.metrics import MetricView, answer, compile_query, load_view, shipped_views
from taxi_assets.nyctaxi.gold.dim_date import DimDate, days_of
from taxi_assets.nyctaxi.gold.dim_rider import DimRider
from taxi_assets.nyctaxi.gold.dim_time_of_day import DimTimeOfDay, times_of_day
from taxi_assets.nyctaxi.gold.dim_zone import DimZone, zips_of
from taxi_assets.nyctaxi.gold.fact_trips import FactTrips, with_foreign_keys
from taxi_assets.nyctaxi.silver.riders import all_riders
from taxi_assets.nyctaxi.silver.trips_enriched import enrich

MONTHS = (Month(2016, 1), Month(2016, 2))
MEASURES, BY = ("total_revenue", "trip_count"), ("month", "time_of_day")
ROUNDS = 7


def trips(month: Month, rows: int) -> Frame:
    """Make trips as bronze has them, spread over a month's minutes and some ZIP codes."""
    number = pl.int_range(rows, dtype=pl.Int64)
    start = datetime(month.year, month.number, 1)  # noqa: DTZ001 - wall clock
    pickup = pl.lit(start) + pl.duration(seconds=number * 7_919 % (28 * 86_400))
    frame = pl.select(number.alias("number")).lazy()
    return nw.from_native(
        frame.select(
            trip_key=pl.concat_str(pl.lit(str(month)), pl.col("number").cast(pl.String), separator=" "),
            tpep_pickup_datetime=pickup,
            tpep_dropoff_datetime=pickup + timedelta(minutes=11),
            trip_distance=(pl.col("number") % 900 + 10) / 100,
            fare_amount=(pl.col("number") % 5_000 + 250) / 100,
            pickup_zip=(pl.col("number") % 200 + 10_001).cast(pl.Int32),
            dropoff_zip=(pl.col("number") * 7 % 200 + 10_001).cast(pl.Int32),
            _rescued_data=pl.lit(None, pl.String),
            source_month=pl.lit(month.first_day),
        )
    )


def make_star(lake: Lake, rows: int) -> None:
    """Store a star with so many trips in two months."""
    engine = lake.engine
    for month in MONTHS:
        enriched = enrich(trips(month, rows // len(MONTHS)))
        partition = {"source_month": month.first_day}
        engine.replace(FactTrips, lake.location(FactTrips), with_foreign_keys(enriched), partition)
        riders = engine.with_keys(all_riders(engine, month), {"rider_sk": "rider_id"})
        dimensions: dict[type[Contract], Frame] = {
            DimDate: days_of(month, engine),
            DimTimeOfDay: times_of_day(month, engine),
            DimRider: riders,
            DimZone: zips_of(trips(month, 1_000)),
        }
        for contract, members in dimensions.items():
            engine.upsert(contract, lake.location(contract), members)


def seconds(lake: Lake, view: MetricView) -> tuple[float, float]:
    """Ask some times; return the medians of compiling alone, and of all of an answer."""
    tables = {contract.stored_as().sql_name: contract for contract in contracts()}
    compiling, asking = [], []
    for _ in range(ROUNDS):
        start = time.perf_counter()
        compile_query(view, MEASURES, BY)
        compiled = time.perf_counter()
        answer(lake, tables, view, MEASURES, BY)
        compiling.append(compiled - start)
        asking.append(time.perf_counter() - compiled)
    return statistics.median(compiling), statistics.median(asking)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, help="an empty folder to make the star in")
    parser.add_argument("rows", type=int)
    arguments = parser.parse_args()
    lake = Lake(str(arguments.folder), {}, PolarsEngine())
    make_star(lake, arguments.rows)
    compiling, asking = seconds(lake, load_view(shipped_views()["trips_metrics"]))
    print(json.dumps({"compile": compiling, "all": asking}))


if __name__ == "__main__":
    main()
