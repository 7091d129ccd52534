"""What the picture of a year says of months as they are landed, run, re-issued, damaged and made good."""

from __future__ import annotations

import os
from pathlib import Path

import dagster as dg
import pytest

from taxi_assets.calendars import Month
from taxi_assets.definitions import build_defs
from taxi_assets.deliveries.landed import Delivery
from taxi_assets.deliveries.plan import plan
from taxi_assets.deliveries.records import sources_of
from taxi_assets.deliveries.status import draw
from taxi_assets.instance import open_instance
from taxi_assets.lake.metadata import asset_key
from taxi_assets.tlc import TLC
from taxi_assets.tlc.bronze.trips import BRONZE_TRIPS
from taxi_assets.tlc.vocabulary import Service
from taxi_assets_tests.scenario import MONTH, Workspace, keys_for, trips

pytestmark = pytest.mark.full

GREEN = (Service.GREEN, MONTH)


def word(workspace: Workspace, service: Service = Service.GREEN, month: Month = MONTH) -> str:
    """Return what the picture says of a month now."""
    picture = draw(workspace.in_landing, workspace.lake, workspace.instance, [MONTH, month])
    return str(picture.cells[service, month])


def good(result: dg.ExecuteInProcessResult, workspace: Workspace) -> None:
    assert result.success, workspace.failures(result)


def requested(workspace: Workspace) -> set[Delivery]:
    """Return what the sensor would request if it had no cursor."""
    found = workspace.in_landing
    done = sources_of(workspace.instance, TLC, list(found.landed.files))
    planned = plan(TLC, found.landed, {}, done, found.blocked)
    return {(feed, request.period) for request in planned.requests for feed in request.feeds}


def test_a_month_is_landed_then_materialized_then_stale_and_the_sensor_agrees(workspace: Workspace) -> None:
    assert word(workspace) == "not in landing"
    path = workspace.land(Service.GREEN, trips(10))
    assert (word(workspace), requested(workspace)) == ("landed", {GREEN})
    good(workspace.run(Service.GREEN), workspace)
    assert (word(workspace), requested(workspace)) == ("ok", set())
    assert word(workspace, Service.YELLOW) == "not in landing"
    os.utime(path, (1_800_000_000, 1_800_000_000))
    assert (word(workspace), requested(workspace)) == ("stale", {GREEN})
    good(workspace.run(Service.GREEN), workspace)
    assert (word(workspace), requested(workspace)) == ("ok", set())
    path.unlink()
    assert word(workspace) == "ok"


def test_a_month_of_which_only_bronze_is_of_the_new_file_is_stale(workspace: Workspace) -> None:
    workspace.land(Service.GREEN, trips(10))
    good(workspace.run(Service.GREEN), workspace)
    workspace.land(Service.GREEN, trips(11))
    bronze = (
        build_defs(workspace.settings)
        .resolve_job_def("tlc_green")
        .execute_in_process(
            instance=workspace.instance,
            partition_key=str(MONTH),
            asset_selection=[asset_key(BRONZE_TRIPS[Service.GREEN])],
        )
    )
    good(bronze, workspace)
    assert word(workspace) == "stale"


def test_a_month_that_another_instance_stored_is_stale_as_its_file_isnt_on_record(workspace: Workspace) -> None:
    workspace.land(Service.GREEN, trips(10))
    good(workspace.run(Service.GREEN), workspace)
    with dg.DagsterInstance.ephemeral() as other:
        elsewhere = Workspace(workspace.settings, other)
        assert (word(elsewhere), requested(elsewhere)) == ("stale", {GREEN})


def test_checks_that_didnt_pass_are_counted_and_forgotten_when_they_pass(workspace: Workspace) -> None:
    # One row breaks known_payment_type; no zones that TLC lacks, so nothing that services share is in doubt.
    workspace.land(Service.GREEN, [*trips(10), *trips(1, payment_type=42, vendor_id=1)])
    workspace.land(Service.YELLOW, trips(10))
    good(workspace.run(), workspace)
    assert (word(workspace), word(workspace, Service.YELLOW)) == ("1 warning", "ok")
    workspace.land(Service.GREEN, trips(11))
    good(workspace.run(Service.GREEN), workspace)
    assert word(workspace) == "ok"


def test_a_run_that_failed_is_told_of_its_service_alone_until_one_succeeds(workspace: Workspace) -> None:
    workspace.land(Service.YELLOW, trips(10))
    good(workspace.run(Service.YELLOW), workspace)
    path = workspace.land(Service.GREEN, trips(10))
    content = path.read_bytes()
    path.write_bytes(b"no Parquet")
    assert not workspace.run(Service.GREEN).success
    assert (word(workspace), word(workspace, Service.YELLOW)) == ("failed", "ok")
    path.write_bytes(content)
    good(workspace.run(Service.GREEN), workspace)
    assert word(workspace) == "ok"


def test_a_run_that_failed_leaves_a_stored_month_failed_and_its_gold_too(workspace: Workspace) -> None:
    workspace.land(Service.GREEN, trips(10))
    good(workspace.run(Service.GREEN), workspace)
    workspace.land(Service.GREEN, trips(10, fare_amount=-1.0))
    assert not workspace.run(Service.GREEN).success
    assert word(workspace) == "failed"


def test_a_failure_is_made_good_by_dagsters_re_execution_of_the_steps_that_failed(tmp_path: Path) -> None:
    with open_instance(str(tmp_path / "home")) as instance:
        workspace = Workspace.below(tmp_path, instance)
        workspace.land(Service.GREEN, trips(10))
        # Gold can't be written where a file is in the way; all that comes before it is stored.
        in_the_way = tmp_path / "lake" / "tlc_gold"
        in_the_way.parent.mkdir()
        in_the_way.write_text("a file")
        job, tags = workspace.job, {"dagster/partition": str(MONTH)}
        first = dg.execute_job(job, instance, tags=tags, asset_selection=keys_for([Service.GREEN]))
        assert {event.asset_key.path[0] for event in first.all_events if event.is_step_materialization} == {
            "tlc_bronze", "tlc_silver"
        }  # fmt: skip
        assert word(workspace) == "failed"
        again = dg.ReexecutionOptions.from_failure(first.run_id, instance)
        # Tags that the UI gives such a run, and that this call leaves to its caller.
        tags |= {"dagster/parent_run_id": first.run_id, "dagster/root_run_id": first.run_id}
        assert not dg.execute_job(job, instance, tags=tags, reexecution_options=again).success
        assert word(workspace) == "failed"
        in_the_way.unlink()
        assert dg.execute_job(job, instance, tags=tags, reexecution_options=again).success
        assert word(workspace) == "ok"


def test_a_check_that_failed_as_an_error_is_told_from_those_that_warn(workspace: Workspace) -> None:
    workspace.land(Service.GREEN, [*trips(10), *trips(1, payment_type=42, vendor_id=1)])
    good(workspace.run(Service.GREEN), workspace)
    assert word(workspace) == "1 warning"

    for table in ("nyc_taxi_daily", "fact_top_zones"):
        evaluation = dg.AssetCheckEvaluation(
            asset_key=dg.AssetKey(["tlc_gold", table]),
            check_name="unique_keys",
            passed=False,
            metadata={},
            severity=dg.AssetCheckSeverity.ERROR,
            partition=str(MONTH),
        )
        workspace.instance.report_runless_asset_event(evaluation)
    assert word(workspace) == "2 errors, 1 warning"
