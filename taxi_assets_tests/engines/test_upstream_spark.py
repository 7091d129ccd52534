"""What the code relies on in Spark, delta-spark and Narwhals on Spark; test_upstream.py has the rest.

An upgrade that changes it fails here first. Nothing of ours is tested here, but for the session, which is ours.
"""

# Times are wall clock, without a zone.
# ruff: noqa: DTZ001

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Any

import narwhals.stable.v1 as nw
import pyarrow as pa
import pytest
from deltalake import DeltaTable, Field, Schema
from deltalake.schema import PrimitiveType

from taxi_assets.engines import Engine

pytestmark = pytest.mark.full


@pytest.fixture
def session(spark: Engine) -> Any:
    return spark.session()  # type: ignore[attr-defined]


def test_narwhals_says_0_for_sunday_which_is_7_on_every_other_engine(session: Any) -> None:
    # When this fails, Narwhals is mended, and wall_clock.py can go.
    sunday_and_monday = pa.table({"at": [datetime(2024, 1, 7), datetime(2024, 1, 8)]})

    frame = nw.from_native(session.createDataFrame(sunday_and_monday))

    found = frame.select(nw.col("at").dt.weekday()).collect(backend="polars").to_native()["at"]
    assert found.to_list() == [0, 1]


def test_xxhash64_skips_nulls_and_takes_zeros_and_no_numbers_as_one_each(session: Any) -> None:
    (found,) = session.sql("""
        SELECT xxhash64(null, 1) = xxhash64(1, null) AS skips,
               xxhash64(0.0d) = xxhash64(-0.0d) AS zeros,
               xxhash64(double('NaN')) = xxhash64(-double('NaN')) AS no_numbers,
               xxhash64(1, 2) = xxhash64(2, 1) AS places
    """).collect()

    assert found.asDict() == {"skips": True, "zeros": True, "no_numbers": True, "places": False}


def test_arithmetic_that_overflows_fails_and_is_not_nulled(session: Any) -> None:
    assert session.conf.get("spark.sql.ansi.enabled") == "true"


def test_the_floor_of_no_number_is_zero_and_its_cast_fails(session: Any) -> None:
    from pyspark.errors import ArithmeticException

    (found,) = session.sql("SELECT floor(double('NaN')) AS floor").collect()
    assert found["floor"] == 0
    with pytest.raises(ArithmeticException, match="CAST_OVERFLOW"):
        session.sql("SELECT cast(double('NaN') AS bigint)").collect()


def test_a_write_of_a_partition_without_rows_leaves_no_file_of_it(session: Any, tmp_path: Path) -> None:
    fields = [Field("row", PrimitiveType("long")), Field("month", PrimitiveType("string"))]
    DeltaTable.create(tmp_path, Schema(fields), partition_by=["month"])
    rows = session.sql("SELECT 1L AS row, 'a' AS month")

    for frame in (rows, rows.limit(0)):
        frame.write.format("delta").mode("overwrite").option("replaceWhere", "month = 'a'").save(str(tmp_path))

    assert DeltaTable(tmp_path).version() == 2
    assert DeltaTable(tmp_path).file_uris() == []


def test_a_merge_says_how_many_rows_it_inserted_or_updated(session: Any, tmp_path: Path) -> None:
    session.sql("SELECT 1 AS key, 1 AS seq UNION ALL SELECT 2, 5").write.format("delta").save(str(tmp_path))

    merged = session.sql(
        f"MERGE INTO delta.`{tmp_path}` AS stored USING {{new}} AS new ON stored.key = new.key "
        "WHEN MATCHED AND new.seq >= stored.seq THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *",
        new=session.sql("SELECT explode(array(1, 2, 3)) AS key, 3 AS seq"),
    ).first()

    assert merged["num_affected_rows"] == 2


def test_conflicts_in_python_are_of_no_common_class_but_sparks(session: Any) -> None:
    from delta import exceptions

    # When this fails, the engine can name DeltaConcurrentModificationException alone.
    assert session
    assert not issubclass(exceptions.ConcurrentAppendException, exceptions.DeltaConcurrentModificationException)
