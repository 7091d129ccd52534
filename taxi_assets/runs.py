"""Runs started without the UI: recorded in the same instance as the UI's, and followed step by step."""

from __future__ import annotations

import logging
import signal
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final

import dagster as dg
from dagster._core.definitions.reconstruct import ReconstructableJob

from taxi_assets.instance import end_own_runs, process_tags
from taxi_assets.run_records import kept_connections

CODE_LOCATION: Final = "taxi_assets"
"""The code location's name in workspace.yaml; with it a run is listed under its job in the UI."""

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
) -> RunOutcome:
    """Run some assets of a job for one partition, in this process; `on_step` hears of each step, in another thread.

    To be called in the main thread, which alone hears interrupts.
    Raises KeyboardInterrupt once a run that was interrupted is recorded to have failed. What it was at goes on until
    the process ends: end that by `os._exit`, which is as safe for the tables as any kill.
    """
    failures: list[str] = []
    # A step that is done again evaluates its checks again; the last result is the one that holds.
    checks: dict[tuple[str, str], CheckOutcome] = {}

    def follow(event: dg.DagsterEvent) -> None:
        if event.event_type is dg.DagsterEventType.STEP_START:
            on_step(str(event.step_key))
        elif event.event_type is dg.DagsterEventType.ASSET_CHECK_EVALUATION:
            outcome = _outcome(event.asset_check_evaluation_data)
            checks[outcome.table, outcome.name] = outcome
        elif event.is_step_failure:
            failures.append(cause_of_failure(event))

    all_tags = {
        **tags,
        **process_tags(),
        **job.get_definition().get_tags_for_partition_key(partition_key, selected_asset_keys=assets),
        ".dagster/repository": f"__repository__@{CODE_LOCATION}",
        "dagster/code_location": CODE_LOCATION,
    }

    def run() -> dg.ExecuteJobResult:
        with _following(follow), kept_connections(instance):
            return dg.execute_job(
                job,
                instance=instance,
                tags=all_tags,
                asset_selection=list(assets),
                run_config={"loggers": {RUN_LOG: {}}},
            )

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
    return RunOutcome(result.run_id, result.success, seconds, tuple(failures), tuple(checks.values()))


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
        says=evaluation.description or "",
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
