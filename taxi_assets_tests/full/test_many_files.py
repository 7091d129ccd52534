"""Three hundred files that land at once: how many ticks it takes to request their months, and how long one takes."""

from __future__ import annotations

import math
import time
from pathlib import Path

import dagster as dg
import pytest
from dagster._core.scheduler.instigation import TickStatus
from dagster._core.test_utils import create_test_daemon_workspace_context, load_remote_repo
from dagster._core.workspace.load_target import WorkspaceFileTarget
from dagster._daemon.daemon import get_default_daemon_logger
from dagster._daemon.sensor import execute_sensor_iteration

from taxi_assets.calendars import parse_months
from taxi_assets.deliveries.plan import MOST_RUNS_A_TICK
from taxi_assets.deliveries.sensor import landing_sensor
from taxi_assets.instance import open_instance
from taxi_assets.places import landing_of
from taxi_assets.tlc import TLC
from taxi_assets.tlc.vocabulary import Service
from taxi_assets_tests.full.processes import WORKSPACE_YAML
from taxi_assets_tests.scenario import Workspace, keys_for

pytestmark = pytest.mark.full

MONTHS = [str(month) for month in parse_months(["2019-02:2025-04"])]
SECONDS_A_TICK = 10


def land(landing: Path) -> None:
    """Let 300 files land: no tick looks into one."""
    for month in MONTHS:
        for service in Service:
            (landing / f"{service}_tripdata_{month}.parquet").write_bytes(b"a")
    assert len(list(landing.iterdir())) == 300


def test_all_months_are_requested_once_for_all_services_in_a_bounded_number_of_ticks(tmp_path: Path) -> None:
    requested: list[str] = []
    cursor, ticks = None, 0
    with open_instance(str(tmp_path / "dagster")) as instance:
        workspace = Workspace.below(tmp_path, instance)
        land(workspace.landing)
        resources = {"landing": landing_of(workspace.settings), "lake": workspace.lake}
        while True:
            began = time.process_time()
            result = landing_sensor(TLC)(dg.build_sensor_context(instance=instance, cursor=cursor, resources=resources))
            assert time.process_time() - began < SECONDS_A_TICK
            assert isinstance(result, dg.SensorResult)
            if not result.run_requests:
                break
            cursor, ticks = result.cursor, ticks + 1
            assert all(set(run.asset_selection or []) == set(keys_for(list(Service))) for run in result.run_requests)
            requested += [str(run.partition_key) for run in result.run_requests]
    assert requested == MONTHS
    assert ticks == math.ceil(len(MONTHS) / MOST_RUNS_A_TICK)


def test_a_tick_of_the_daemon_is_under_ten_seconds_with_all_its_runs_queued(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with open_instance(str(tmp_path / "dagster")) as instance:
        workspace = Workspace.below(tmp_path, instance)
        land(workspace.landing)
        monkeypatch.setenv("TAXI_LANDING_ROOT", workspace.settings.landing_root)
        monkeypatch.setenv("TAXI_LAKE_ROOT", workspace.settings.lake_root)
        monkeypatch.setenv("DAGSTER_HOME", str(tmp_path / "dagster"))
        with create_test_daemon_workspace_context(WorkspaceFileTarget([str(WORKSPACE_YAML)]), instance) as context:
            sensor = load_remote_repo(context, "__repository__").get_sensor("tlc_landing")
            instance.start_sensor(sensor)
            # Of a core: whatever else the machine is asked to do at the same time.
            began = time.process_time()
            list(execute_sensor_iteration(context, get_default_daemon_logger("SensorDaemon"), None, None))
            seconds = time.process_time() - began
            (tick,) = instance.get_ticks(sensor.get_remote_origin_id(), sensor.selector_id, limit=1)
        assert (tick.status, tick.error) == (TickStatus.SUCCESS, None)
        queued = [run.tags["dagster/partition"] for run in instance.get_runs()]
        assert sorted(queued) == MONTHS[:MOST_RUNS_A_TICK]
        assert {run.status for run in instance.get_runs()} == {dg.DagsterRunStatus.QUEUED}
        assert seconds < SECONDS_A_TICK
