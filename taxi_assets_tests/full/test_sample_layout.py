"""Claims about the sample files that only TLC's own files can prove."""

from __future__ import annotations

from pathlib import Path

import pyarrow.parquet as pq
import pytest

from taxi_assets.calendars import Month
from taxi_assets.sample import write_month
from taxi_assets.tlc.vocabulary import Service

pytestmark = pytest.mark.full


@pytest.mark.parametrize("name", ["2021-01", "2022-03", "2023-01", "2023-02", "2023-03"])
def test_green_months_have_exactly_the_columns_and_types_of_the_real_files(
    name: str, tmp_path: Path, real_data: Path
) -> None:
    real = pq.read_schema(real_data / "tlc" / "parquet" / f"green_tripdata_{name}.parquet")
    planted = write_month(tmp_path, Service.GREEN, Month.parse(name), 5)
    assert pq.read_schema(planted.path).remove_metadata() == real.remove_metadata()
