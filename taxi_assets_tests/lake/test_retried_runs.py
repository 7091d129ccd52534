"""Runs that are retried from where they failed, of made-up tables: what they know of the run that they go on with."""

import os
from pathlib import Path
from typing import Any

import dagster as dg
import pytest

from taxi_assets.contracts import Contract, Date, Frame, Int64, column
from taxi_assets.engines import PolarsEngine
from taxi_assets.errors import LandingError
from taxi_assets.jobs import EXECUTOR
from taxi_assets.lake.assets import IO_MANAGER, table_asset
from taxi_assets.lake.io_manager import DeltaLakeIOManager
from taxi_assets.lake.lake import Lake
from taxi_assets.lake.metadata import asset_key
from taxi_assets.lake.passed_by import PASSED_BY, PassBy, PassedBy

pytestmark = pytest.mark.fast

DAYS = dg.DailyPartitionsDefinition(start_date="2024-01-01", end_date="2024-01-03")
TAGS = {"dagster/partition": "2024-01-01"}
ENGINE = PolarsEngine()


class Parts(Contract, table="retried_bronze/parts", replaced_by=("day",)):
    """Parts by day."""

    part: Int64 = column("A part.")
    day: Date = column("Day.")


class Names(Contract, table="retried_bronze/names", replaced_by=("day",)):
    """Names by day."""

    part: Int64 = column("A part.")
    day: Date = column("Day.")


class Wholes(Contract, table="retried_bronze/wholes", replaced_by=("day",)):
    """Wholes by day."""

    part: Int64 = column("A part.")
    day: Date = column("Day.")


def here() -> Path:
    return Path(os.environ["RETRIED_HERE"])


def a_row(context: dg.AssetExecutionContext) -> Frame:
    day = DAYS.time_window_for_partition_key(context.partition_key).start.date()
    return ENGINE.literal({"part": [1], "day": [day]})


@table_asset(Parts, partitions_def=DAYS)
def parts(context: dg.AssetExecutionContext) -> Any:
    return PassBy("There are no parts.") if (here() / "no_parts").exists() else a_row(context)


@table_asset(Names, partitions_def=DAYS)
def names(context: dg.AssetExecutionContext) -> Frame:
    if not (here() / "named").exists():
        raise LandingError("There are no names.")
    return a_row(context)


@table_asset(
    Wholes,
    partitions_def=DAYS,
    ins={"some": dg.AssetIn(asset_key(Parts)), "called": dg.AssetIn(asset_key(Names))},
)
def wholes(some: Frame, called: Frame) -> Frame:
    return some.join(called.select("part"), on="part")


def the_job() -> dg.JobDefinition:
    """Return the job as a process of its own has it: without a memory of what another has passed by."""
    passed_by = PassedBy()
    resources = {
        IO_MANAGER: DeltaLakeIOManager(Lake(str(here() / "lake"), {}, ENGINE), passed_by),
        PASSED_BY: passed_by,
    }
    job = dg.define_asset_job("retried", executor_def=EXECUTOR)
    defs = dg.Definitions([parts, names, wholes], jobs=[job], resources=resources)
    return defs.resolve_job_def("retried")


def stored(result: dg.JobExecutionResult) -> set[str]:
    return {event.asset_key.path[-1] for event in result.all_events if event.is_step_materialization}


def retried(result: dg.JobExecutionResult, instance: dg.DagsterInstance) -> dg.JobExecutionResult:
    options = dg.ReexecutionOptions.from_failure(result.run_id, instance)
    return dg.execute_job(dg.reconstructable(the_job), instance, tags=TAGS, reexecution_options=options)


@pytest.fixture
def failed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, instance: dg.DagsterInstance) -> dg.JobExecutionResult:
    """Run the job, which passes parts by and fails for want of names."""
    monkeypatch.setenv("RETRIED_HERE", str(tmp_path))
    (tmp_path / "no_parts").touch()
    result = dg.execute_job(dg.reconstructable(the_job), instance, tags=TAGS)
    assert not result.success
    return result


def test_what_was_passed_by_is_known_however_many_runs_ago_it_was(
    failed: dg.JobExecutionResult, tmp_path: Path, instance: dg.DagsterInstance
) -> None:
    again = retried(failed, instance)
    assert not again.success
    (tmp_path / "named").touch()

    last = retried(again, instance)

    assert last.success
    assert stored(last) == {"names"}


def test_what_was_passed_by_and_is_stored_since_is_no_longer_passed_by(
    failed: dg.JobExecutionResult, tmp_path: Path, instance: dg.DagsterInstance
) -> None:
    (tmp_path / "no_parts").unlink()
    (tmp_path / "named").touch()
    options = dg.ReexecutionOptions(parent_run_id=failed.run_id)

    whole = dg.execute_job(dg.reconstructable(the_job), instance, tags=TAGS, reexecution_options=options)

    assert whole.success
    assert stored(whole) == {"parts", "names", "wholes"}
