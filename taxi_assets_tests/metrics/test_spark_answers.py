"""Spark answers a metric view as DuckDB does, and reads no table that a question doesn't need."""

from __future__ import annotations

from pathlib import Path

import pytest

from taxi_assets.engines.spark_engine import SparkEngine
from taxi_assets.metrics import answer, compile_query, load_view
from taxi_assets_tests.metrics.shops import TABLES, VIEW, lake_of

pytestmark = pytest.mark.full

QUESTIONS: list[tuple[list[str], list[str], str | None]] = [
    (["revenue", "sales", "revenue_per_piece", "weekend_share", "buyers"], ["month", "city"], "shop < 3"),
    (["revenue"], [], None),
    (["week_before", "buyers_of_the_week_before", "so_far", "of_the_day", "next_two_days"], ["date", "city"], None),
    (["week_before", "of_all_days", "growth"], ["month"], "date > DATE'2024-01-22' AND shop = 1"),
]


def test_spark_answers_as_duckdb_does(spark: SparkEngine, tmp_path: Path) -> None:
    lake = lake_of(tmp_path / "lake")
    (tmp_path / "shops.yaml").write_text(VIEW, encoding="utf-8")
    view = load_view(tmp_path / "shops.yaml")
    session = spark.session()
    session.sql("CREATE SCHEMA IF NOT EXISTS shops")
    for name, contract in TABLES.items():
        session.sql(f"DROP TABLE IF EXISTS {name}")
        session.sql(f"CREATE TABLE {name} USING delta LOCATION '{lake.location(contract).uri}'")

    for measures, by, where in QUESTIONS:
        found = session.sql(compile_query(view, measures, by, where, dialect="spark"))
        rows = [row.asDict() for row in found.collect()]

        assert rows == [pytest.approx(row) for row in answer(lake, TABLES, view, measures, by, where)]

    plan = session.sql(compile_query(view, ["revenue"], ["shop"], dialect="spark"))._jdf.queryExecution().toString()
    assert "Join" not in plan
