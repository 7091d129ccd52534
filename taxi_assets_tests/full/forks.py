"""Processes that may be killed at any time, many of them: forked from one that has imported what they need.

They are processes of their own, with nothing replaced in them; only the seconds of the imports are saved.
"""

from __future__ import annotations

import contextlib
import logging
import math
import multiprocessing
import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing.process import BaseProcess
from multiprocessing.synchronize import Barrier
from pathlib import Path
from typing import Any

from dagster import DagsterEventType

from taxi_assets_tests.full.processes import MINUTE, Home

_FORKS = multiprocessing.get_context("forkserver")
# All but taxi_assets.definitions, which reads the settings.
_FORKS.set_forkserver_preload([
    "dagster._core.storage.event_log.sqlite.sqlite_event_log",
    "taxi_assets.cli",
    "taxi_assets.places",
    "taxi_assets.tlc.catalog",
])  # fmt: skip


def start(work: Callable[..., None], *arguments: Any) -> BaseProcess:
    """Start a function of a module in a process."""
    process = _FORKS.Process(target=work, args=arguments, daemon=True)
    process.start()
    return process


def start_cli(home: Home, *arguments: str, dies_at: tuple[DagsterEventType, int] | None = None) -> BaseProcess:
    """Start `taxi-assets`; it may have to die at the n-th event of a kind that its run has."""
    return start(_cli, home, arguments, dies_at)


def barrier(parties: int) -> Barrier:
    """Make what processes can wait at until all of them are there."""
    return _FORKS.Barrier(parties, timeout=MINUTE)


def died(process: BaseProcess, log: Path | None = None) -> bool:
    """Wait for a process, and tell whether it was killed; demand that it succeeded if not."""
    process.join(3 * MINUTE)
    assert process.exitcode in {0, -signal.SIGKILL}, log.read_text() if log else process.exitcode
    return process.exitcode != 0


@dataclass(frozen=True)
class Write:
    """A table's folder as it is before a write."""

    table: Path
    data_files: frozenset[Path]
    commits: frozenset[Path]

    @classmethod
    def to(cls, table: Path) -> Write:
        """Look at a table that is about to be written."""
        return cls(table, frozenset(_data_files(table)), frozenset(_commits(table)))

    def kill(self, process: BaseProcess, size: float = 0) -> str:
        """Kill a process once its new data file has some bytes, and say how far the write has got by then."""
        assert process.pid
        pause, deadline = threading.Event(), time.monotonic() + MINUTE
        while process.is_alive() and self._written() < size:
            assert time.monotonic() < deadline, f"{self.table} wasn't written"
            pause.wait(0.0002)
        os.kill(process.pid, signal.SIGSTOP)
        while not _is_stopped(process.pid):
            assert time.monotonic() < deadline, "the process doesn't stop"
        state = self._state()
        process.kill()
        return state

    def _written(self) -> float:
        """Return the bytes of the new data file; none are infinitely less, and a commit's are infinitely many."""
        if _commits(self.table) - self.commits:
            return math.inf
        # A temporary file may get its name just now.
        with contextlib.suppress(FileNotFoundError):
            return max((file.stat().st_size for file in _data_files(self.table) - self.data_files), default=-1)
        return 0

    def _state(self) -> str:
        if _commits(self.table) - self.commits:
            return "committed"
        new = _data_files(self.table) - self.data_files
        if not new:
            return "nothing written"
        return "data file whole" if new.pop().read_bytes()[-4:] == b"PAR1" else "data file begun"


def _data_files(table: Path) -> set[Path]:
    # Whole ones, and those of delta-rs that are being written: `*.parquet#1`.
    return set(table.rglob("*.parquet*"))


def _commits(table: Path) -> set[Path]:
    return set(table.glob("_delta_log/*.json"))


def _is_stopped(pid: int) -> bool:
    """Whether all threads of a process have taken a SIGSTOP, or it has ended."""
    try:
        stats = [Path(task, "stat").read_text() for task in Path(f"/proc/{pid}/task").iterdir()]
    except (FileNotFoundError, ProcessLookupError):
        return not Path(f"/proc/{pid}").exists()
    return {stat.rpartition(")")[2].split()[0] for stat in stats} <= {"T", "Z"}


class _Killer(logging.Handler):
    """Kills its process as the kernel does when memory is short: nothing is cleaned up."""

    def __init__(self, kind: DagsterEventType, number: int) -> None:
        super().__init__()
        self.kind, self.left = kind, number

    def emit(self, record: logging.LogRecord) -> None:
        event = (getattr(record, "dagster_meta", None) or {}).get("dagster_event")
        if event is not None and event.event_type is self.kind:
            self.left -= 1
            if self.left == 0:
                os.kill(os.getpid(), signal.SIGKILL)


def _cli(home: Home, arguments: tuple[str, ...], dies_at: tuple[DagsterEventType, int] | None) -> None:
    os.environ.update(home.environment())
    os.chdir(home.dagster)
    log = os.open(home.log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    for stream in (sys.stdout, sys.stderr):
        os.dup2(log, stream.fileno())
    if dies_at:
        # Where the command line hears its run's events, too.
        logging.getLogger("taxi_assets.runs").addHandler(_Killer(*dies_at))
    sys.argv = ["taxi-assets", *arguments]
    from taxi_assets.cli import main

    main()
