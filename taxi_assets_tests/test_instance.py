"""Claims about the instance: who makes it, and that runs of processes that were killed don't go on for ever."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import dagster as dg
import pytest
from dagster import DagsterRunStatus

from taxi_assets.errors import UsageError
from taxi_assets.instance import open_instance, process_tags

pytestmark = pytest.mark.fast


def a_run(instance: dg.DagsterInstance, tags: dict[str, str]) -> str:
    @dg.job
    def something() -> None: ...

    parent = tags.get("dagster/parent_run_id")
    run = instance.create_run_for_job(
        something, status=DagsterRunStatus.STARTED, tags=tags, parent_run_id=parent, root_run_id=parent
    )
    return run.run_id


def test_a_new_instance_has_the_projects_configuration_and_an_old_one_keeps_its_own(tmp_path: Path) -> None:
    open_instance(str(tmp_path / "new")).dispose()
    assert "tag_concurrency_limits" in (tmp_path / "new" / "dagster.yaml").read_text()
    (tmp_path / "old").mkdir()
    (tmp_path / "old" / "dagster.yaml").write_text("telemetry:\n  enabled: false\n")
    open_instance(str(tmp_path / "old")).dispose()
    assert (tmp_path / "old" / "dagster.yaml").read_text() == "telemetry:\n  enabled: false\n"


def test_a_run_whose_process_was_killed_has_failed_for_who_comes_next_and_one_that_lives_goes_on(
    tmp_path: Path,
) -> None:
    killed = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    killed.send_signal(signal.SIGKILL)
    killed.wait()
    with open_instance(str(tmp_path)) as instance:
        dead = a_run(instance, {**process_tags(), ".dagster/taxi_assets_process": str(killed.pid)})
        elsewhere = a_run(
            instance, {".dagster/taxi_assets_host": "another", ".dagster/taxi_assets_process": str(killed.pid)}
        )
        successor = a_run(instance, {**process_tags(), ".dagster/taxi_assets_process_began": "1"})
        again = a_run(
            instance, {**process_tags(), ".dagster/taxi_assets_process": str(killed.pid), "dagster/parent_run_id": dead}
        )
        living = a_run(instance, process_tags())
        untagged = a_run(instance, {})
    assert process_tags()[".dagster/taxi_assets_process"] == str(os.getpid())
    with open_instance(str(tmp_path)) as instance:
        found = {run.run_id: run.status for run in instance.get_runs()}
    going_on = DagsterRunStatus.STARTED
    assert found == {
        dead: DagsterRunStatus.FAILURE, successor: DagsterRunStatus.FAILURE,
        elsewhere: going_on, again: going_on, living: going_on, untagged: going_on,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("configuration", "problem"),
    [
        ("run_queu: {}", 'unexpected config entry "run_queu" at the root'),
        ("storage: {sqlite: {base_dir: {env: NOT_SET_BY_ANYONE}}}", '"NOT_SET_BY_ANYONE" which is not set'),
        ("storage: {postgres: {postgres_url: secret-without-a-scheme}}", "Could not parse SQLAlchemy URL"),
        ("storage: {postgres: {postgres_url: nosuchdriver://me:secret@there/dagster}}", "nosuchdriver"),
        ("storage: {postgres: {postgres_url: postgresql+asyncpg://me:secret@there/dagster}}", "module named 'asyncpg'"),
    ],
)
def test_an_instance_that_cant_be_opened_is_one_line_that_says_why_and_shows_no_secret(
    tmp_path: Path, configuration: str, problem: str
) -> None:
    (tmp_path / "dagster.yaml").write_text(configuration)

    with pytest.raises(UsageError) as caught:
        open_instance(str(tmp_path))

    message = str(caught.value)
    assert message.startswith(f"Dagster's instance in {tmp_path} (DAGSTER_HOME) can't be opened: ")
    assert problem in message
    assert "\n" not in message
    assert "secret" not in message


def test_a_killed_run_that_was_tagged_by_an_earlier_version_has_failed_for_who_comes_next(tmp_path: Path) -> None:
    killed = subprocess.Popen([sys.executable, "-c", ""])
    killed.wait()
    formerly = {f"taxi_assets/{name.partition('taxi_assets_')[2]}": value for name, value in process_tags().items()}
    with open_instance(str(tmp_path)) as instance:
        dead = a_run(instance, {**formerly, "taxi_assets/process": str(killed.pid)})
        living = a_run(instance, formerly)
    with open_instance(str(tmp_path)) as instance:
        found = {run.run_id: run.status for run in instance.get_runs()}
    assert found == {dead: DagsterRunStatus.FAILURE, living: DagsterRunStatus.STARTED}
