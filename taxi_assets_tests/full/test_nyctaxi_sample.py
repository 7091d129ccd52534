"""The star of the 10,000 real rows, and what its metric view answers, against SQL that reads the published file alone.

The SQL is written from Databricks' definitions; keys are asked of Spark's own functions.
"""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import dagster as dg
import duckdb
import polars as pl
import pytest

from taxi_assets.calendars import Month
from taxi_assets.catalogs import contracts
from taxi_assets.contracts import Contract
from taxi_assets.engines.spark_engine import SparkEngine
from taxi_assets.metrics import answer, load_view, shipped_views
from taxi_assets.nyctaxi.bronze.trips_raw import TripsRaw
from taxi_assets.nyctaxi.gold.fact_trips import FactTrips
from taxi_assets.nyctaxi.silver.trips_enriched import TripsEnriched, TripsEnrichedQuarantine
from taxi_assets.settings import Settings
from taxi_assets_tests.full.processes import Home, assert_equal_contents, contents
from taxi_assets_tests.nyctaxi.rides import Star

pytestmark = pytest.mark.full

TABLES = {contract.stored_as().sql_name: contract for contract in contracts()}
# Amounts are doubles, all of them whole cents or hundredths of miles: round() finds them.
_TRIPS = """
CREATE TABLE trip AS
SELECT
    *, tpep_pickup_datetime::DATE AS day, round(fare_amount * 100)::BIGINT AS cents,
    round(trip_distance * 100)::BIGINT AS hundredths,
    CASE WHEN hour(tpep_pickup_datetime) BETWEEN 6 AND 11 THEN 'morning'
         WHEN hour(tpep_pickup_datetime) BETWEEN 12 AND 17 THEN 'afternoon'
         WHEN hour(tpep_pickup_datetime) BETWEEN 18 AND 22 THEN 'evening' ELSE 'night' END AS part,
    date_diff('second', tpep_pickup_datetime, tpep_dropoff_datetime) AS seconds
FROM read_parquet('{path}') WHERE fare_amount > 0 AND trip_distance > 0
"""
_BOROUGH = """
CASE WHEN {zip} BETWEEN 10001 AND 10282 THEN 'Manhattan' WHEN {zip} BETWEEN 10301 AND 10314 THEN 'Staten Island'
     WHEN {zip} BETWEEN 10451 AND 10475 THEN 'Bronx' WHEN {zip} BETWEEN 11201 AND 11256 THEN 'Brooklyn'
     WHEN {zip} BETWEEN 11001 AND 11109 OR {zip} BETWEEN 11351 AND 11499 OR {zip} BETWEEN 11690 AND 11697 THEN 'Queens'
     WHEN {zip} BETWEEN 11501 AND 11599 OR {zip} BETWEEN 11701 AND 11980 THEN 'Long Island'
     WHEN {zip} BETWEEN 10500 AND 10999 THEN 'Westchester' WHEN {zip} BETWEEN 6000 AND 6999 THEN 'Connecticut'
     WHEN {zip} BETWEEN 7000 AND 8999 THEN 'New Jersey' END
"""
_FROM, _TO = (_BOROUGH.format(zip=f"{end}_zip") for end in ("pickup", "dropoff"))


@pytest.fixture(scope="module")
def file(real_data: Path) -> Path:
    return real_data / "nyctaxi" / "nyctaxi_trips_sample10000.parquet"


@pytest.fixture(scope="module")
def star(file: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Star]:
    """Return both months, run from the published file."""
    roots = {"landing_root": str(file.parent), "lake_root": str(tmp_path_factory.mktemp("lake"))}
    with dg.DagsterInstance.ephemeral() as instance:
        made = Star(Settings(**roots), instance)  # type: ignore[arg-type]
        for month in (Month(2016, 2), Month(2016, 1)):
            result = made.run(month)
            assert result.success
            assert [one for one in result.get_asset_check_evaluations() if not one.passed] == []
        yield made


@pytest.fixture(scope="module")
def published(file: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    """Return SQL over the trips of the published file that cost and went something."""
    with duckdb.connect() as connection:
        connection.execute(_TRIPS.format(path=file))
        yield connection


def ask(star: Star, *measures: str, by: str = "", where: str | None = None) -> list[dict[str, Any]]:
    view = load_view(shipped_views()["trips_metrics"])
    return answer(star.lake, TABLES, view, measures, [name for name in by.split(",") if name], where)


def rows_of(star: Star, contract: type[Contract]) -> int:
    return star.table(contract).height


def test_every_row_is_accounted_for(star: Star, file: Path) -> None:
    rows = pl.scan_parquet(file)
    bad = rows.filter((pl.col("fare_amount") <= 0) | (pl.col("trip_distance") <= 0)).collect()

    assert rows_of(star, TripsRaw) == rows.unique().collect().height == 10_000
    assert rows_of(star, TripsEnrichedQuarantine) == bad.height > 0
    assert rows_of(star, TripsEnriched) == rows_of(star, FactTrips) == 10_000 - bad.height


def test_measures_by_month_and_time_of_day_are_those_of_the_file_to_the_cent(
    star: Star, published: duckdb.DuckDBPyConnection
) -> None:
    expected = published.sql(
        f"""
        SELECT date_trunc('month', day)::DATE AS month, part AS time_of_day, sum(cents)::BIGINT AS cents,
               count(*) AS trip_count, sum(hundredths)::BIGINT AS hundredths, avg(seconds) / 60 AS minutes,
               count_if({_FROM} <> {_TO}) / count_if({_FROM} IS NOT NULL AND {_TO} IS NOT NULL) AS share
        FROM trip GROUP BY ALL ORDER BY month, time_of_day
        """
    ).pl()

    found = ask(
        star,
        *("total_revenue", "trip_count", "average_fare", "total_miles", "revenue_per_mile"),
        *("average_trip_duration", "cross_borough_share"),
        by="month,time_of_day",
    )

    assert len(found) == expected.height == 8
    for ours, theirs in zip(found, expected.to_dicts(), strict=True):
        assert (ours["month"], ours["time_of_day"]) == (theirs["month"], theirs["time_of_day"])
        assert ours["trip_count"] == theirs["trip_count"]
        assert int(ours["total_revenue"] * 100) == theirs["cents"]
        assert int(ours["total_miles"] * 100) == theirs["hundredths"]
        assert ours["average_fare"] == pytest.approx(theirs["cents"] / theirs["trip_count"] / 100)
        assert ours["revenue_per_mile"] == pytest.approx(theirs["cents"] / theirs["hundredths"])
        # Each duration is rounded to hundredths of minutes.
        assert ours["average_trip_duration"] == pytest.approx(theirs["minutes"], abs=0.005)
        assert ours["cross_borough_share"] == pytest.approx(theirs["share"])


def test_trailing_revenue_is_that_of_the_seven_days_before_each_date(
    star: Star, published: duckdb.DuckDBPyConnection
) -> None:
    expected = published.sql(
        """
        SELECT day, (SELECT sum(cents) FROM trip AS t WHERE t.day >= d.day - 7 AND t.day < d.day)::BIGINT AS cents
        FROM (SELECT DISTINCT day FROM trip) AS d ORDER BY day
        """
    ).fetchall()

    found = ask(star, "trailing_7day_revenue", by="date")

    assert len(found) == 60
    assert [(row["date"], row["trailing_7day_revenue"]) for row in found] == [
        (day, None if cents is None else Decimal(cents) / 100) for day, cents in expected
    ]


@pytest.mark.usefixtures("spark")
def test_spark_makes_the_same_star(star: Star, file: Path, tmp_path: Path) -> None:
    home = Home.below(tmp_path, file.parent)

    home.report("materialize", "--catalog", "nyctaxi", "2016-01:2016-02", TAXI_ENGINE="spark")

    assert_equal_contents(contents(home.lake), contents(Path(star.settings.lake_root)))


def test_keys_are_those_of_sparks_own_functions(star: Star, spark: SparkEngine, file: Path) -> None:
    of_spark = (
        spark.session()
        .read.parquet(str(file))
        .selectExpr(
            "sha2(concat_ws('|', tpep_pickup_datetime, tpep_dropoff_datetime, trip_distance, fare_amount, pickup_zip,"
            " dropoff_zip), 256) AS trip_sk",
            "xxhash64(CAST(CAST(tpep_pickup_datetime AS DATE) AS STRING)) AS date_sk",
            "xxhash64(CAST(pickup_zip AS STRING)) AS pickup_zone_sk",
            "xxhash64(CAST(dropoff_zip AS STRING)) AS dropoff_zone_sk",
        )
        .selectExpr("*", "'RDR-' || lpad(pmod(xxhash64(trip_sk), 500), 5, '0') AS rider_id")
    )
    expected = {
        row["trip_sk"]: row.asDict() for row in of_spark.selectExpr("*", "xxhash64(rider_id) AS rider_sk").collect()
    }
    riders = dict(star.table(TripsEnriched).select("trip_key", "rider_id").rows())

    for row in star.table(FactTrips).to_dicts():
        theirs = expected[row["trip_sk"]]
        assert {name: row[name] for name in theirs if name != "rider_id"} | {
            "rider_id": riders[row["trip_sk"]]
        } == theirs
    assert set(star.table(TripsRaw)["trip_key"]) == set(expected)
