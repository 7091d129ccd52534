"""Batches: which runs were requested together, and how long what is told of them is gathered."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator

import dagster as dg
import pytest

from taxi_assets.alerts.facts import Batch, ended_runs, going_on
from taxi_assets.instance import BATCH, batch_tags

pytestmark = pytest.mark.fast


@dg.job
def something() -> None: ...


def a_run(instance: dg.DagsterInstance, tags: dict[str, str]) -> dg.DagsterRun:
    return instance.create_run_for_job(something, status=dg.DagsterRunStatus.STARTED, tags=tags)


def failed_runs_batch(instance: dg.DagsterInstance, tags: dict[str, str]) -> Batch:
    """Return the batch that a run with some tags belongs to."""
    instance.report_run_failed(a_run(instance, tags))
    return ended_runs(instance, 0, ())[-1].batch


def test_runs_requested_together_are_a_batch_and_a_process_alone_makes_none(instance: dg.DagsterInstance) -> None:
    mine = batch_tags()
    process = {
        ".dagster/taxi_assets_host": "here",
        ".dagster/taxi_assets_process": "12",
        ".dagster/taxi_assets_process_began": "3",
    }
    assert failed_runs_batch(instance, {**mine, **process}) == tuple(mine.items())
    assert failed_runs_batch(instance, {**mine, "dagster/backfill": "abc"}) == (("dagster/backfill", "abc"),)
    assert failed_runs_batch(instance, {"dagster/sensor_name": "one"}) == (("dagster/sensor_name", "one"),)
    assert failed_runs_batch(instance, process) == ()


@pytest.fixture
def command() -> Iterator[tuple[subprocess.Popen[str], Batch]]:
    """Return a process that is to end when its input does, and the batch that it requests."""
    program = "from taxi_assets.instance import batch_tags; print(*batch_tags().values(), flush=True); input()"
    with subprocess.Popen(
        [sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        yield process, ((BATCH, process.stdout.readline().strip()),)
        process.kill()


def test_a_commands_batch_goes_on_between_two_months_and_until_its_process_and_its_runs_have_ended(
    instance: dg.DagsterInstance, command: tuple[subprocess.Popen[str], Batch]
) -> None:
    process, batch = command
    assert going_on(instance, [batch]) == {batch}
    left = a_run(instance, dict(batch))
    process.kill()
    process.wait()
    assert going_on(instance, [batch]) == {batch}
    instance.report_run_failed(left)
    assert going_on(instance, [batch]) == set()


def test_a_batch_of_another_machines_goes_on_as_long_as_a_run_of_it_does(instance: dg.DagsterInstance) -> None:
    ((_, here),) = batch_tags().items()
    elsewhere = ((BATCH, f"another/{here.partition('/')[2]}"),)
    assert going_on(instance, [elsewhere]) == set()
    a_run(instance, dict(elsewhere))
    assert going_on(instance, [elsewhere]) == {elsewhere}
