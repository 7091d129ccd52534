"""The Dagster instance that runs are recorded in: the one that the UI uses, made when the first command needs it.

A run of the command line lives in its process. If that is killed, nothing tells Dagster, and the run would count as
going on for ever and keep others of its month waiting; so runs say which process they live in, and who comes next ends
the dead.
"""

from __future__ import annotations

import logging
import os
import shutil
import socket
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.resources import files
from pathlib import Path
from typing import Final

import dagster as dg
from dagster import DagsterInvalidConfigError, DagsterRunStatus, RunsFilter
from filelock import FileLock

from taxi_assets.errors import UsageError, first_line

HIDDEN: Final = ".dagster/taxi_assets_"
"""How tags begin that no person reads: with Dagster's own prefix for those that its UI doesn't list."""

BATCH: Final = f"{HIDDEN}batch"
"""Tag that the runs share which were requested by one command."""

_HOST: Final = f"{HIDDEN}host"
_PROCESS: Final = f"{HIDDEN}process"
_BEGAN: Final = f"{HIDDEN}process_began"
# What runs were tagged with before these were hidden; one that was killed then may still count as going on.
_FORMERLY: Final = {_HOST: "taxi_assets/host", _PROCESS: "taxi_assets/process", _BEGAN: "taxi_assets/process_began"}
_LOOK_AT: Final = (
    "Look at its dagster.yaml and the environment variables that this names; for Postgres install the extra 'deploy'."
)


def process_tags() -> dict[str, str]:
    """Tag a run with the process that it lives in."""
    return {_HOST: socket.gethostname(), _PROCESS: str(os.getpid()), _BEGAN: _began(os.getpid())}


def batch_tags() -> dict[str, str]:
    """Tag the runs that this process requests together, whichever processes they live in."""
    return {BATCH: "/".join(process_tags().values())}


def is_still_requesting(batch: str) -> bool:
    """Whether the process that requests a batch lives; of another machine's it can't be told, and isn't assumed."""
    host, process, began = batch.split("/")
    return host == socket.gethostname() and _lives(int(process), began)


def is_instance(home: str) -> bool:
    """Whether there is an instance in a folder; `open_instance` would make one."""
    return (Path(home) / "dagster.yaml").exists()


def open_instance(home: str) -> dg.DagsterInstance:
    """Open the instance in a folder, with the project's own dagster.yaml if the folder has none yet.

    Raises UsageError if the folder can't be made or written, or the instance's storage can't be reached.
    """
    folder, lock = Path(home), FileLock(Path(home) / ".opening.lock")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with lock:
            if not (folder / "dagster.yaml").exists():
                # Under its name once it is whole: half of it would be taken for the user's own.
                part = shutil.copyfile(str(files("taxi_assets") / "dagster.yaml"), folder / ".dagster.yaml.part")
                part.rename(folder / "dagster.yaml")
    except OSError as error:
        raise UsageError(
            f"DAGSTER_HOME is {home}, which can't be written: {error.strerror}. Make room, or name another folder."
        ) from error
    # Processes that make an instance's databases at the same time fail each other (dagster 1.13 on SQLite).
    with lock:
        with _one_clear_problem(home):
            instance = dg.DagsterInstance.from_config(home)
            # Each storage makes its database when it is first asked.
            instance.get_runs_count()
            instance.all_asset_keys()
            instance.all_instigator_state()
        end_dead_runs(instance)
    return instance


@contextmanager
def _one_clear_problem(home: str) -> Iterator[None]:
    """Turn what is wrong with an instance's configuration, or with its database, into a UsageError."""
    # Here, because whoever opens no instance needn't wait for it.
    from sqlalchemy.exc import SQLAlchemyError  # noqa: PLC0415

    def is_no_retry(record: logging.LogRecord) -> bool:
        return "Retrying failed database" not in record.getMessage()

    logging.getLogger().addFilter(is_no_retry)
    try:
        yield
    except Exception as error:
        problem: BaseException | None = error
        while problem and not isinstance(problem, SQLAlchemyError | DagsterInvalidConfigError | ModuleNotFoundError):
            problem = problem.__cause__
        if problem is None:
            raise
        on_disk = isinstance(getattr(problem, "orig", None), sqlite3.Error)
        remedy = "Make room or mend the place, and run this again." if on_disk else _LOOK_AT
        raise UsageError(
            f"Dagster's instance in {home} (DAGSTER_HOME) can't be opened: {_said_by(problem).rstrip('.')}. {remedy}"
        ) from error
    finally:
        logging.getLogger().removeFilter(is_no_retry)


def _said_by(problem: BaseException) -> str:
    if isinstance(problem, DagsterInvalidConfigError):
        (found, *_) = problem.errors
        # What Dagster expects instead is its whole schema; what failed within is told with its stack.
        told = getattr(found.error_data, "message", found.message).partition(" Expected: ")[0]
        return first_line(Exception(told)).removeprefix("dagster._config.errors.PostProcessingError: ")
    return first_line(getattr(problem, "orig", None) or problem)


def end_dead_runs(instance: dg.DagsterInstance) -> None:
    """End the runs whose processes, which lived on this machine, are gone."""
    for name_of in ({name: name for name in _FORMERLY}, _FORMERLY):
        for run in _going_on(instance, {name_of[_HOST]: socket.gethostname()}):
            # A run that is done again has its parent's tags, and lives in no process of ours.
            process = "" if run.parent_run_id else run.tags.get(name_of[_PROCESS], "")
            if process.isdigit() and not _lives(int(process), run.tags.get(name_of[_BEGAN], "")):
                instance.report_run_failed(
                    run, f"Process {process}, in which this run lived, is gone. Run the month again."
                )


def end_own_runs(instance: dg.DagsterInstance) -> None:
    """End the runs that live in this process, which is about to end."""
    for run in _going_on(instance, process_tags()):
        instance.report_run_failed(run, "Interrupted. Run the month again.")


def _going_on(instance: dg.DagsterInstance, tags: Mapping[str, str]) -> Sequence[dg.DagsterRun]:
    statuses = [DagsterRunStatus.NOT_STARTED, DagsterRunStatus.STARTING, DagsterRunStatus.STARTED]
    return instance.get_runs(filters=RunsFilter(statuses=statuses, tags=dict(tags)))


def _lives(process: int, began: str) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    # Another process may have its number by now, as in a container that was started again.
    return not began or _began(process) in {"", began}


def _began(process: int) -> str:
    """Return when a process began, in ticks since the machine did; nothing where the kernel doesn't tell."""
    try:
        stat = Path(f"/proc/{process}/stat").read_text(encoding="utf-8")
    except OSError:
        return ""
    # Its second field is a name that may hold blanks and parentheses; proc(5) has this one as its 22nd.
    return stat.rpartition(")")[2].split()[22 - 3]
