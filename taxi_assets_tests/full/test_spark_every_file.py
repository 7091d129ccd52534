"""Every trip file that there is to test with, through bronze and silver: the same on both engines, and no row lost.

Whole runs of some are compared in test_spark_parity.py. Here all files of a service are judged at once, as
that takes Spark no longer than one of them.
"""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from taxi_assets.contracts import Verdict, judge
from taxi_assets.deliveries.landed import look
from taxi_assets.engines import Engine, PolarsEngine, conform
from taxi_assets.landing import Landing
from taxi_assets.tlc import TLC
from taxi_assets.tlc.bronze.month_file import read_month
from taxi_assets.tlc.bronze.trips import BRONZE_TRIPS
from taxi_assets.tlc.silver.trips import QUARANTINES, SILVER_TRIPS
from taxi_assets.tlc.vocabulary import Service
from taxi_assets_tests.scenario import collected, on, transformed, zones

pytestmark = pytest.mark.full

FOLDERS = ("csv", "csv_head100", "csv_head1k", "parquet", "resaved")


@pytest.mark.parametrize("service", list(Service))
def test_the_rows_of_all_files_are_kept_and_quarantined_alike_on_both_engines_and_none_is_lost(
    service: Service, real_data: Path, spark: Engine
) -> None:
    bronze = pl.concat(_bronze_of(service, real_data)).with_columns(source_row=pl.int_range(1, pl.len() + 1))

    on_polars, on_spark = (_verdict(service, bronze, engine) for engine in (PolarsEngine(), spark))

    counts = []
    for part, contract in (("kept", SILVER_TRIPS[service]), ("quarantined", QUARANTINES[service])):
        of_polars, of_spark = (
            collected(conform(contract, getattr(verdict, part))).sort("source_row") for verdict in (on_polars, on_spark)
        )
        assert_frame_equal(of_spark, of_polars, check_exact=True)
        counts.append(of_polars.group_by("source_file", "source_month").len())
    stored = pl.concat(counts).group_by("source_file", "source_month").agg(pl.col("len").sum())
    read = bronze.group_by("source_file", "source_month").len()
    order = ("source_file", "source_month")
    assert_frame_equal(stored.sort(order), read.sort(order))
    assert on_spark.rows == on_polars.rows == bronze.height
    assert on_spark.results == on_polars.results


def _bronze_of(service: Service, real_data: Path) -> list[pl.DataFrame]:
    """Read all files of a service, each with its month's layout."""
    found = []
    for folder in FOLDERS:
        landing = Landing(str(real_data / "tlc" / folder), {})
        for of_service, month in look(TLC, landing).files:
            if of_service is service:
                read = next(read_month(landing, None, service, month, BRONZE_TRIPS[service])).value
                rows = collected(conform(BRONZE_TRIPS[service], read))
                found.append(rows.with_columns(source_file=folder + "/" + pl.col("source_file")))
    assert found, f"there is no file of {service} below {real_data}"
    return found


def _verdict(service: Service, bronze: pl.DataFrame, engine: Engine) -> Verdict:
    rows = transformed(service, on(engine, bronze.lazy()), zones(engine))
    return judge(SILVER_TRIPS[service], rows, row_id="source_row")
