"""What it costs to break a rule: the row is kept and counted, it is quarantined, or nothing of its day is published."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import Any

import dagster as dg
import narwhals.stable.v1 as nw
import pytest

from taxi_assets.contracts import Contract, Cost, Date, Frame, Int64, column, quarantine_of, rule
from taxi_assets.engines import PolarsEngine
from taxi_assets.lake.assets import IO_MANAGER, judged_assets
from taxi_assets.lake.io_manager import DeltaLakeIOManager
from taxi_assets.lake.lake import Lake
from taxi_assets.lake.metadata import asset_key
from taxi_assets.lake.passed_by import PASSED_BY, PassedBy

pytestmark = pytest.mark.fast

DAYS = dg.DailyPartitionsDefinition(start_date="2024-01-01", end_date="2024-01-03")
DAY = "2024-01-01"
ENGINE = PolarsEngine()


class Parcel(Contract, table="costs_bronze/parcels", replaced_by=("day",)):
    """A parcel as it came."""

    number: Int64 = column("Its number.")
    weight: Int64 = column("Its weight.", unit="g")
    day: Date = column("The day.")


class Parcels(Parcel, table="costs_silver/parcels", replaced_by=("day",)):
    """A parcel that broke no rule."""

    @rule("weight", why="Heavy ones are worth a look.", source="The porters.", tolerance=1.0, cost=Cost.KEPT)
    def light(cls, weight: nw.Expr) -> nw.Expr:
        """weight < 100"""
        return weight < 100

    @rule("weight", why="Nothing weighs nothing.", source="Physics.")
    def heavier_than_nothing(cls, weight: nw.Expr) -> nw.Expr:
        """weight > 0"""
        return weight > 0

    @rule("weight", why="A scale that shows this is broken, and so is the file.", source="The scale.", cost=Cost.FAILS)
    def within_the_scale(cls, weight: nw.Expr) -> nw.Expr:
        """weight < 1000"""
        return weight < 1_000


ParcelsQuarantine = quarantine_of(Parcels, Parcel)


def run(folder: Path, instance: dg.DagsterInstance, *weights: int | None) -> dg.ExecuteInProcessResult:
    """Judge and publish a day's parcels of some weights."""

    @judged_assets(Parcels, ParcelsQuarantine, row_id="number", partitions_def=DAYS)
    def parcels() -> Frame:
        numbers = list(range(1, len(weights) + 1))
        rows = {"number": numbers, "weight": list(weights), "day": [date(2024, 1, 1)] * len(weights)}
        return ENGINE.literal(rows)

    lake, passed_by = lake_in(folder), PassedBy()
    resources: dict[str, Any] = {IO_MANAGER: DeltaLakeIOManager(lake, passed_by), PASSED_BY: passed_by}
    return dg.materialize([parcels], instance=instance, partition_key=DAY, resources=resources, raise_on_error=False)


def lake_in(folder: Path) -> Lake:
    return Lake(str(folder / "lake"), {}, ENGINE)


def numbers(folder: Path, contract: type[Contract]) -> list[int]:
    if lake_in(folder).location(contract).version() is None:
        return []
    return sorted(row[0] for row in lake_in(folder).read(contract).select("number").collect().rows())


def results(done: dg.ExecuteInProcessResult) -> dict[str, tuple[bool, str]]:
    return {one.check_name: (one.passed, one.severity.value) for one in done.get_asset_check_evaluations()}


def test_a_row_is_kept_or_quarantined_by_the_rule_that_it_breaks(tmp_path: Path, instance: dg.DagsterInstance) -> None:
    done = run(tmp_path, instance, 50, 500, 0)
    assert done.success
    assert (numbers(tmp_path, Parcels), numbers(tmp_path, ParcelsQuarantine)) == ([1, 2], [3])
    assert results(done) == {
        "light": (True, "WARN"),
        "heavier_than_nothing": (False, "WARN"),
        "within_the_scale": (True, "ERROR"),
        "within_publish_limit": (True, "ERROR"),
    }


def test_one_row_that_breaks_a_rule_that_fails_keeps_the_day_from_being_published(
    tmp_path: Path, instance: dg.DagsterInstance
) -> None:
    assert run(tmp_path, instance, 50).success
    done = run(tmp_path, instance, 60, 0, 5_000, 7_000)
    assert not done.success
    assert (numbers(tmp_path, Parcels), numbers(tmp_path, ParcelsQuarantine)) == ([1], [])
    assert results(done)["within_the_scale"] == (False, "ERROR")
    (failure,) = (event.step_failure_data for event in done.all_events if event.is_step_failure)
    assert failure.user_failure_data is not None
    says = str(failure.user_failure_data.description)
    assert "2 of 4 rows break within_the_scale, such as number 3, weight 5000" in says
    assert "Nothing was published: it and its quarantine stand as before" in says


@pytest.mark.parametrize("name", ["light", "heavier_than_nothing", "within_the_scale"])
def test_a_value_that_is_missing_breaks_no_rule_whatever_it_costs(
    tmp_path: Path, instance: dg.DagsterInstance, name: str
) -> None:
    done = run(tmp_path, instance, None)
    assert done.success
    assert numbers(tmp_path, Parcels) == [1]
    assert results(done)[name][0]


def test_each_rules_check_says_what_it_costs_to_break_it() -> None:
    @judged_assets(Parcels, ParcelsQuarantine, row_id="number", partitions_def=DAYS)
    def parcels() -> Frame: ...

    said = {spec.name: str(spec.description) for spec in parcels.check_specs}
    assert "Rows that break it are kept and counted;" in said["light"]
    assert "Rows that break it are quarantined;" in said["heavier_than_nothing"]
    assert "Rows that break it are fatal: nothing of the partition is published;" in said["within_the_scale"]
    assert {spec.key.asset_key for spec in parcels.check_specs} == {asset_key(Parcels)}
