"""Runs that aren't started by the UI: what they are recorded as, so that they are listed there and nobody else's to do.

The job is a made-up one; that real months run is claimed in test_cli_runs.py.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import dagster as dg
import pytest
import yaml
from dagster._core.storage.tags import TagType, get_tag_type

from taxi_assets.instance import open_instance, process_tags
from taxi_assets.jobs import ENGINE
from taxi_assets.runs import RUN_LOG, RunOutcome, run_log, run_partition
from taxi_assets_tests.full.processes import WORKSPACE_YAML

pytestmark = pytest.mark.fast

DAYS = dg.StaticPartitionsDefinition(["a", "b"])
TABLE = dg.AssetKey("made_up")
TIDY = dg.AssetCheckKey(TABLE, "tidy")


@dg.asset(key=TABLE, partitions_def=DAYS)
def made_up() -> None: ...


@dg.asset_check(asset=TABLE, partitions_def=DAYS)
def tidy() -> dg.AssetCheckResult:
    return dg.AssetCheckResult(passed=True)


def made_up_job() -> dg.JobDefinition:
    job = dg.define_asset_job("made_up_job", executor_def=dg.in_process_executor)
    loggers = {RUN_LOG: run_log}
    return dg.Definitions([made_up], asset_checks=[tidy], jobs=[job], loggers=loggers).resolve_job_def("made_up_job")


def run(instance: dg.DagsterInstance, *assets: dg.AssetKey, **how: set[dg.AssetCheckKey]) -> RunOutcome:
    job = dg.build_reconstructable_job(__name__, made_up_job.__name__)
    return run_partition(job, "a", assets, instance, lambda _: None, {"said": "so"}, **how)


@pytest.fixture
def instance(tmp_path: Path) -> Iterator[dg.DagsterInstance]:
    with open_instance(str(tmp_path)) as opened:
        yield opened


def test_a_run_is_of_the_job_that_the_workspace_loads_as_one_of_the_ui_is(instance: dg.DagsterInstance) -> None:
    outcome = run(instance, TABLE)
    assert outcome.success
    (recorded,) = instance.get_runs(dg.RunsFilter(tags={".dagster/repository": "__repository__@taxi_assets"}))
    assert (recorded.run_id, recorded.job_name) == (outcome.run_id, "made_up_job")
    assert recorded.remote_job_origin is not None
    assert recorded.remote_job_origin.job_name == "made_up_job"
    repository = recorded.remote_job_origin.repository_origin
    (loaded,) = yaml.safe_load(WORKSPACE_YAML.read_text())["load_from"]
    location = repository.code_location_origin
    assert location.location_name == loaded["python_module"]["location_name"]
    assert location.loadable_target_origin.module_name == loaded["python_module"]["module_name"]  # type: ignore[attr-defined]
    assert recorded.tags["dagster/partition"] == "a"
    assert recorded.tags["said"] == "so"
    assert instance.get_materialized_partitions(TABLE) == {"a"}


def test_the_tags_that_no_person_reads_arent_listed_and_runs_are_found_by_them(instance: dg.DagsterInstance) -> None:
    outcome = run(instance, TABLE)
    assert {get_tag_type(name) for name in (*process_tags(), ENGINE)} == {TagType.HIDDEN}
    (found,) = instance.get_runs(dg.RunsFilter(tags=process_tags()))
    assert found.run_id == outcome.run_id


def test_checks_can_be_run_without_the_table_that_they_are_of(instance: dg.DagsterInstance) -> None:
    outcome = run(instance, checks={TIDY})
    assert [(check.table, check.name, check.passed) for check in outcome.checks] == [("made_up", "tidy", True)]
    assert instance.get_materialized_partitions(TABLE) == set()
    recorded = instance.get_run_by_id(outcome.run_id)
    assert recorded is not None
    assert recorded.asset_check_selection == {TIDY}


def test_the_daemon_of_a_server_doesnt_do_a_run_again_that_it_hasnt_started(tmp_path: Path) -> None:
    (tmp_path / "dagster.yaml").write_text("run_retries: {enabled: true, max_retries: 2}\n")
    with open_instance(str(tmp_path)) as instance:
        outcome = run(instance, TABLE)
        recorded = instance.get_run_by_id(outcome.run_id)
        assert recorded is not None
        instance.report_run_failed(recorded, "Its process is gone.")
        again = instance.get_run_by_id(outcome.run_id)
        assert again is not None
        assert again.tags["dagster/will_retry"] == "false"
