"""Runs started without the UI: recorded in the same instance as the UI's, and followed step by step."""

from __future__ import annotations

import logging
import signal
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final

import dagster as dg
from dagster._core.definitions.reconstruct import ReconstructableJob

# Dagster's public `execute_job` makes runs without an origin, and of checks alone none; test_upstream.py pins these.
from dagster._core.definitions.repository_definition import SINGLETON_REPOSITORY_NAME
from dagster._core.execution.api import create_execution_plan, execute_run
from dagster._core.remote_origin import (
    ManagedGrpcPythonEnvCodeLocationOrigin,
    RemoteJobOrigin,
    RemoteRepositoryOrigin,
)
from dagster._core.snap import snapshot_from_execution_plan
from dagster._core.storage.tags import MAX_RETRIES_TAG
from dagster._core.types.loadable_target_origin import LoadableTargetOrigin

from taxi_assets.instance import end_own_runs, process_tags
from taxi_assets.markdown import text_of
from taxi_assets.run_records import kept_connections

CODE_LOCATION: Final = "taxi_assets"
"""The code location's name in workspace.yaml, and the module that it loads."""
_DEFINITIONS: Final = "taxi_assets.definitions"

RUN_LOG: Final = "run_log"

_LOGGER: Final = logging.getLogger("taxi_assets.runs")
_LOGGER.setLevel(logging.DEBUG)
_LOGGER.propagate = False


@dataclass(frozen=True, slots=True)
class CheckOutcome:
    """One check as a run evaluated it."""

    table: str
    name: str
    passed: bool
    severity: str
    says: str


@dataclass(frozen=True, slots=True)
class RunOutcome:
    """How a run ended: its failures in the words meant for the user, and the checks that it evaluated."""

    run_id: str
    success: bool
    seconds: float
    failures: tuple[str, ...]
    checks: tuple[CheckOutcome, ...]


@dg.logger
def run_log(_context: dg.InitLoggerContext) -> logging.Logger:
    """Passes a run's events on to whoever follows it, instead of printing them."""
    return _LOGGER


def run_partition(
    job: ReconstructableJob,
    partition_key: str,
    assets: Sequence[dg.AssetKey],
    instance: dg.DagsterInstance,
    on_step: Callable[[str], None],
    tags: Mapping[str, str],
    checks: Collection[dg.AssetCheckKey] | None = None,
) -> RunOutcome:
    """Run some assets of a job for one partition, in this process; `on_step` hears of each step, in another thread.

    With the assets run all their checks; or just the `checks` that are named, and then there need be no assets.

    To be called in the main thread, which alone hears interrupts.
    Raises KeyboardInterrupt once a run that was interrupted is recorded to have failed. What it was at goes on until
    the process ends: end that by `os._exit`, which is as safe for the tables as any kill.
    """
    failures: list[str] = []
    # A step that is done again evaluates its checks again; the last result is the one that holds.
    evaluated: dict[tuple[str, str], CheckOutcome] = {}

    def follow(event: dg.DagsterEvent) -> None:
        if event.event_type is dg.DagsterEventType.STEP_START:
            on_step(str(event.step_key))
        elif event.event_type is dg.DagsterEventType.ASSET_CHECK_EVALUATION:
            outcome = _outcome(event.asset_check_evaluation_data)
            evaluated[outcome.table, outcome.name] = outcome
        elif event.is_step_failure:
            failures.append(cause_of_failure(event))

    all_tags = {
        **tags,
        **process_tags(),
        **job.get_definition().get_tags_for_partition_key(partition_key, selected_asset_keys=assets),
    }

    def run() -> dg.ExecuteJobResult:
        with _following(follow), kept_connections(instance):
            return execute_run(job, _create_run(job, assets, checks, instance, all_tags), instance)

    start = time.perf_counter()
    # Python's own handler again: the one that Polars puts before it makes what is being computed panic, with a stack
    # for the user.
    signal.signal(signal.SIGINT, signal.getsignal(signal.SIGINT))
    # In the main thread Dagster would raise an interrupt wherever the run is: within what Polars calls from Rust, which
    # panics, and within callbacks, where Python ignores it.
    running = ThreadPoolExecutor(1).submit(run)
    try:
        # Looked up now and then, because a signal that another thread is given ends no waiting.
        while not wait([running], timeout=0.1).done:
            pass
    except KeyboardInterrupt:
        end_own_runs(instance)
        raise
    result = running.result()
    seconds = round(time.perf_counter() - start, 3)
    return RunOutcome(result.run_id, result.success, seconds, tuple(failures), tuple(evaluated.values()))


def _create_run(
    job: ReconstructableJob,
    assets: Collection[dg.AssetKey],
    checks: Collection[dg.AssetCheckKey] | None,
    instance: dg.DagsterInstance,
    tags: Mapping[str, str],
) -> dg.DagsterRun:
    """Create a run as `dg.execute_job` does, but with an origin, as the UI lists no others beside its own.

    The daemon could do such a run again, whose process is gone, where it is configured to: on a server, for runs of the
    UI and of sensors. Who started this one is told instead.
    """
    load_data = job.repository.get_definition().repository_load_data
    definition = job.get_definition()
    chosen = definition.get_subset(
        asset_selection=set(assets), asset_check_selection=None if checks is None else set(checks)
    )
    config: dict[str, Any] = {"loggers": {RUN_LOG: {}}}
    all_tags = {**definition.run_tags, **tags, **({MAX_RETRIES_TAG: "0"} if instance.run_retries_enabled else {})}
    plan = create_execution_plan(
        chosen,
        config,
        instance_ref=instance.get_ref() if instance.is_persistent else None,
        tags=all_tags,
        repository_load_data=load_data,
    )
    return instance.create_run(
        job_name=chosen.name,
        run_id=None,
        run_config=config,
        status=None,
        tags=all_tags,
        root_run_id=None,
        parent_run_id=None,
        step_keys_to_execute=plan.step_keys_to_execute,
        execution_plan_snapshot=snapshot_from_execution_plan(plan, chosen.get_job_snapshot_id()),
        job_snapshot=chosen.get_job_snapshot(),
        parent_job_snapshot=chosen.get_parent_job_snapshot(),
        asset_selection=frozenset(assets) or None,
        asset_check_selection=None if checks is None else frozenset(checks),
        resolved_op_selection=None,
        op_selection=None,
        remote_job_origin=_origin(chosen.name),
        job_code_origin=job.get_python_origin(),
        asset_graph=chosen.asset_layer.asset_graph,
    )


def _origin(job_name: str) -> RemoteJobOrigin:
    """Return where the UI's code location has a job, whichever way its web server loads the code."""
    target = LoadableTargetOrigin(module_name=_DEFINITIONS)
    location = ManagedGrpcPythonEnvCodeLocationOrigin(target, CODE_LOCATION)
    return RemoteJobOrigin(RemoteRepositoryOrigin(location, SINGLETON_REPOSITORY_NAME), job_name)


@contextmanager
def _following(follow: Callable[[dg.DagsterEvent], None]) -> Iterator[None]:
    class Follower(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            event = (getattr(record, "dagster_meta", None) or {}).get("dagster_event")
            if event is not None:
                follow(event)

    follower = Follower()
    _LOGGER.addHandler(follower)
    try:
        yield
    finally:
        _LOGGER.removeHandler(follower)


def _outcome(evaluation: Any) -> CheckOutcome:
    return CheckOutcome(
        table=".".join(evaluation.asset_key.path),
        name=evaluation.check_name,
        passed=evaluation.passed,
        severity=evaluation.severity.value,
        says=text_of(evaluation.description or ""),
    )


def cause_of_failure(event: dg.DagsterEvent) -> str:
    """Return what made a step fail: the message for the user if there is one, or else the first error of all."""
    data = event.step_failure_data
    if data.user_failure_data and data.user_failure_data.description:
        return data.user_failure_data.description
    error = data.error
    while error is not None and error.cause is not None:
        error = error.cause
    return error.message.strip() if error is not None else f"{event.step_key} failed"
