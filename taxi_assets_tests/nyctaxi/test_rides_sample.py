"""A sample file of rides holds what it says: several months, and just the faults that are planted."""

from __future__ import annotations

from pathlib import Path

import dagster as dg
import polars as pl
import pytest

from taxi_assets.calendars import Month
from taxi_assets.sample import write_rides
from taxi_assets_tests.nyctaxi.rides import MONTH, SCHEMA, Star

pytestmark = pytest.mark.fast

MONTHS = [MONTH, Month(2016, 2)]


def test_each_month_breaks_the_rules_that_it_is_said_to_break(tmp_path: Path) -> None:
    with dg.DagsterInstance.ephemeral() as instance:
        star = Star.below(tmp_path, instance)
        planted = write_rides(Path(star.settings.landing_root), MONTHS, 2_500)
        found = dict.fromkeys(planted.counts, 0)
        for month in MONTHS:
            for one in star.run(month).get_asset_check_evaluations():
                if one.check_name in found:
                    found[one.check_name] += int(one.metadata["rows_failing"].value)  # type: ignore[arg-type]

    assert planted.rows == 5_000
    assert found == planted.counts
    assert all(found.values())


def test_the_same_seed_gives_the_same_rows_in_the_columns_of_databricks(tmp_path: Path) -> None:
    first, again, other = (
        pl.read_parquet(write_rides(tmp_path / name, MONTHS, 500, seed=seed).path)
        for name, seed in (("a", 1), ("b", 1), ("c", 2))
    )

    assert first.equals(again)
    assert not first.equals(other)
    assert dict(first.schema) == SCHEMA
    assert first["tpep_pickup_datetime"].dt.strftime("%Y-%m").unique().sort().to_list() == [str(m) for m in MONTHS]
