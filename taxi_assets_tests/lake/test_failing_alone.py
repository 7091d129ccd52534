"""One bad source among several, of made-up tables: what is made of the others is made, and the run fails."""

import os
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

import dagster as dg
import narwhals.stable.v1 as nw
import pytest

from taxi_assets.contracts import Contract, Date, Frame, Int64, column
from taxi_assets.engines import PolarsEngine
from taxi_assets.errors import LandingError
from taxi_assets.jobs import EXECUTOR
from taxi_assets.lake.assets import IO_MANAGER, optional_inputs, table_asset
from taxi_assets.lake.io_manager import DeltaLakeIOManager
from taxi_assets.lake.lake import Lake
from taxi_assets.lake.metadata import asset_key
from taxi_assets.lake.passed_by import PASSED_BY, PassedBy
from taxi_assets.lake.stored_checks import Finding, Stored, StoredCheck, stored_checks

pytestmark = pytest.mark.fast

DAYS = dg.DailyPartitionsDefinition(start_date="2024-01-01", end_date="2024-01-03")
DAY = "2024-01-01"
ENGINE = PolarsEngine()


class LeftRows(Contract, table="alone_bronze/left", replaced_by=("day",)):
    """What came from the left."""

    amount: Int64 = column("An amount.")
    day: Date = column("Day.")


class RightRows(Contract, table="alone_bronze/right", replaced_by=("day",)):
    """What came from the right."""

    amount: Int64 = column("An amount.")
    day: Date = column("Day.")


class Doubled(Contract, table="alone_silver/doubled", replaced_by=("day",)):
    """The left, twice as much."""

    amount: Int64 = column("An amount.")
    day: Date = column("Day.")


class Sums(Contract, table="alone_gold/sums", replaced_by=("day",)):
    """The sum of each source."""

    source: Int64 = column("1 is the left, 2 the right.")
    amount: Int64 = column("Sum of the amounts.")
    day: Date = column("Day.")


def here() -> Path:
    return Path(os.environ["ALONE_HERE"])


def amount(source: str) -> int:
    """Return what a source has landed; 0 is refused, a negative one when it is stored, 13 is unlucky."""
    found = int((here() / source).read_text())
    if found == 0:
        raise LandingError(f"{source} can't be used: it is empty.")
    return found


def a_row(day: str, value: int) -> Frame:
    first = DAYS.time_window_for_partition_key(day).start.date()
    return ENGINE.literal({"amount": [value], "day": [first]})


@table_asset(LeftRows, partitions_def=DAYS)
def left(context: dg.AssetExecutionContext) -> Any:
    value = amount("left")
    rows = a_row(context.partition_key, value)
    # A frame without a column that the contract has can't be written.
    yield dg.MaterializeResult(value=rows.drop("amount") if value == 99 else rows)
    if value < 0:
        raise LandingError("left was replaced while it was read.")


@table_asset(RightRows, partitions_def=DAYS)
def right(context: dg.AssetExecutionContext) -> Frame:
    return a_row(context.partition_key, amount("right"))


@table_asset(Doubled, partitions_def=DAYS, ins={"rows": dg.AssetIn(asset_key(LeftRows))})
def doubled(rows: Frame) -> Frame:
    if 77 in [row[0] for row in rows.select("amount").collect().rows()]:
        raise LandingError("77 can't be doubled.")
    meanwhile = here() / "meanwhile"
    if meanwhile.exists():
        # Another run, which doesn't know of this one, stores the left.
        lake, value = Lake(str(here() / "lake"), {}, ENGINE), int(meanwhile.read_text())
        meanwhile.unlink()
        day = {"day": date.fromisoformat(DAY)}
        ENGINE.replace(LeftRows, lake.location(LeftRows), a_row(DAY, value), day, {}, run_id="another")
    return rows.with_columns(nw.col("amount") * 2)


@table_asset(Sums, partitions_def=DAYS, ins=optional_inputs({"left": Doubled, "right": RightRows}))
def sums(left: Frame | None, right: Frame | None) -> Frame:
    given = {number: rows for number, rows in enumerate((left, right), start=1) if rows is not None}
    return nw.concat(
        [
            rows.group_by("day")
            .agg(nw.col("amount").sum())
            .select(nw.lit(number).cast(nw.Int64).alias("source"), "amount", "day")
            for number, rows in given.items()
        ],
        how="vertical",
    )


def is_lucky(contract: type[Contract]) -> StoredCheck:
    def find(stored: Stored) -> Finding:
        found = [row[0] for row in stored.rows(contract).select("amount").collect().rows()]
        if 666 in found:
            raise LandingError("what it came from can't be looked at.")
        return Finding(13 not in found and 26 not in found, f"amounts {found}")

    return StoredCheck("is_lucky", contract, "Nothing is unlucky.", find)


CHECKS = [stored_checks(f"{c.__name__}__checks", [is_lucky(c)], DAYS) for c in (LeftRows, RightRows)]
SILVER_CHECKS = [stored_checks("Doubled__checks", [is_lucky(Doubled)], DAYS)]


def job_with(checks: list[dg.AssetChecksDefinition], root: str) -> dg.JobDefinition:
    lake, passed_by = Lake(root, {}, ENGINE), PassedBy()
    resources = {IO_MANAGER: DeltaLakeIOManager(lake, passed_by), PASSED_BY: passed_by, "lake": lake}
    job = dg.define_asset_job("alone", executor_def=EXECUTOR)
    tables = [left, right, doubled, sums]
    return dg.Definitions(tables, asset_checks=checks, jobs=[job], resources=resources).resolve_job_def("alone")


def the_job(root: str) -> dg.JobDefinition:
    return job_with(CHECKS, root)


def the_job_with_checks_of_silver(root: str) -> dg.JobDefinition:
    return job_with(SILVER_CHECKS, root)


@pytest.fixture
def land(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    monkeypatch.setenv("ALONE_HERE", str(tmp_path))

    def write(**amounts: int) -> None:
        for source, value in amounts.items():
            (tmp_path / source).write_text(str(value))

    return write


def run(instance: dg.DagsterInstance, job: Any = the_job, **options: Any) -> dg.JobExecutionResult:
    # Dagster keeps a job that it has made of the same arguments.
    on_this_lake = dg.build_reconstructable_job(__name__, job.__name__, (str(here() / "lake"),))
    return dg.execute_job(on_this_lake, instance, tags={"dagster/partition": DAY}, **options)


def stored(contract: type[Contract]) -> list[tuple[Any, ...]]:
    lake = Lake(str(here() / "lake"), {}, ENGINE)
    return sorted(lake.read(contract).drop("day").collect().rows())


def failed_steps(result: dg.JobExecutionResult) -> list[str]:
    return [str(event.step_key) for event in result.all_events if event.is_step_failure]


def says(result: dg.JobExecutionResult) -> str:
    (failure,) = (event.step_failure_data for event in result.all_events if event.is_step_failure)
    return str(failure.user_failure_data.description if failure.user_failure_data else failure.error)


def test_what_is_made_of_several_is_made_of_those_that_are_sound(
    land: Callable[..., None], instance: dg.DagsterInstance
) -> None:
    land(left=0, right=5)
    result = run(instance)
    assert not result.success
    assert failed_steps(result) == ["alone_bronze__left"]
    assert says(result) == "left can't be used: it is empty. alone_bronze/left stands as before."
    assert stored(Sums) == [(2, 5)]


def test_of_a_bad_source_what_an_earlier_run_stored_still_counts(
    land: Callable[..., None], instance: dg.DagsterInstance
) -> None:
    land(left=1, right=5)
    assert run(instance).success
    land(left=0, right=6)
    assert not run(instance).success
    assert (stored(LeftRows), stored(Sums)) == ([(1,)], [(1, 2), (2, 6)])


def test_a_table_that_cant_be_written_is_passed_by_like_one_that_cant_be_made(
    land: Callable[..., None], instance: dg.DagsterInstance
) -> None:
    land(left=99, right=5)
    result = run(instance)
    assert failed_steps(result) == ["alone_bronze__left"]
    assert "lacks the columns amount" in says(result)
    assert stored(Sums) == [(2, 5)]


def test_nothing_is_made_of_a_table_whose_step_fails_once_it_is_stored(
    land: Callable[..., None], instance: dg.DagsterInstance
) -> None:
    land(left=-1, right=5)
    result = run(instance)
    assert (failed_steps(result), says(result)) == (["alone_bronze__left"], "left was replaced while it was read.")
    assert (stored(LeftRows), stored(Sums)) == ([(-1,)], [(2, 5)])


def test_nothing_is_made_of_a_table_whose_blocking_check_fails(
    land: Callable[..., None], instance: dg.DagsterInstance
) -> None:
    land(left=13, right=5)
    result = run(instance)
    assert failed_steps(result) == ["LeftRows__checks"]
    assert (stored(LeftRows), stored(Sums)) == ([(13,)], [(2, 5)])


def test_an_optional_input_whose_blocking_check_fails_is_left_out(
    land: Callable[..., None], instance: dg.DagsterInstance
) -> None:
    land(left=13, right=5)
    result = run(instance, the_job_with_checks_of_silver)
    assert failed_steps(result) == ["Doubled__checks"]
    assert (stored(Doubled), stored(Sums)) == ([(26,)], [(2, 5)])


def test_a_re_execution_from_failure_does_the_bad_source_again_and_what_is_made_of_it(
    land: Callable[..., None], instance: dg.DagsterInstance
) -> None:
    land(left=0, right=5)
    first = run(instance)
    land(left=4, right=7)
    again = run(instance, reexecution_options=dg.ReexecutionOptions.from_failure(first.run_id, instance))
    assert again.success
    # The right was sound, and isn't done again.
    assert stored(Sums) == [(1, 8), (2, 5)]


def test_where_every_source_is_bad_what_is_made_of_them_stays_as_it_was(
    land: Callable[..., None], instance: dg.DagsterInstance
) -> None:
    land(left=0, right=0)
    result = run(instance)
    assert sorted(failed_steps(result)) == ["alone_bronze__left", "alone_bronze__right"]
    assert not (here() / "lake" / "alone_gold").exists()


def test_nothing_is_made_of_a_table_that_is_about_to_be_made_again(
    land: Callable[..., None], instance: dg.DagsterInstance
) -> None:
    land(left=1, right=5, meanwhile=3)
    result = run(instance)
    assert result.success
    assert "alone_silver__doubled" in {event.step_key for event in result.all_events if event.is_step_up_for_retry}
    assert (stored(Doubled), stored(Sums)) == ([(6,)], [(1, 6), (2, 5)])


def test_nothing_is_made_of_a_table_whose_blocking_check_cant_look(
    land: Callable[..., None], instance: dg.DagsterInstance
) -> None:
    land(left=666, right=5)
    result = run(instance)
    assert failed_steps(result) == ["LeftRows__checks"]
    assert (stored(LeftRows), stored(Sums)) == ([(666,)], [(2, 5)])


def test_nothing_is_made_of_a_table_that_was_to_be_made_again_and_couldnt_be(
    land: Callable[..., None], instance: dg.DagsterInstance
) -> None:
    land(left=1, right=5, meanwhile=77)
    result = run(instance)
    assert failed_steps(result) == ["alone_silver__doubled"]
    assert (stored(Doubled), stored(Sums)) == ([(2,)], [(2, 5)])
