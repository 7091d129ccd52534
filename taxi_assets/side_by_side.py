"""Pieces of work done side by side by a few processes; what the work is, they needn't know.

Processes are spawned: a forked one would have the locks of Polars' and delta-rs' threads, and not the threads. Each
does one piece after the other, as what it imports takes seconds. One that dies takes nothing with it but its own piece.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import Any, Final, Generic, TypeVar

from taxi_assets.errors import TaxiAssetsError

_SECONDS_TO_END: Final = 30.0
_INTERRUPTED: Final = 128 + signal.SIGINT

_Task = TypeVar("_Task")
_Result = TypeVar("_Result")
_Work = Callable[[_Task, Callable[[str], None]], _Result]


@dataclass(frozen=True, slots=True)
class _Word:
    """What a process says of its piece while it is at it."""

    text: str


@dataclass(frozen=True, slots=True)
class _Worker(Generic[_Task]):
    process: BaseProcess
    task: _Task


def side_by_side(
    work: _Work[_Task, _Result],
    tasks: Sequence[_Task],
    processes: int,
    on_word: Callable[[_Task, str], None],
    on_death: Callable[[_Task, int], _Result],
) -> Iterator[_Result]:
    """Do tasks by `work`, an importable function, and yield each result as it is there.

    `on_word` hears what the work says of a task, `on_death` makes a result of a task whose process died, from its exit
    code. A TaxiAssetsError of the work is raised here. However this ends, no process goes on: one that is at work is
    asked to end, and those that haven't after half a minute are killed.
    """
    waiting = deque(tasks)
    started: list[BaseProcess] = []
    workers: dict[Connection, _Worker[_Task]] = {}
    try:
        while waiting or workers:
            while waiting and len(workers) < processes:
                connection, worker = _started(work, waiting.popleft())
                workers[connection] = worker
                started.append(worker.process)
            # Looked up now and then, because an interrupt that another thread is given ends no waiting.
            ready = wait(list(workers), timeout=0.1)
            for connection in [connection for connection in workers if connection in ready]:
                worker = workers[connection]
                try:
                    message = connection.recv()
                except (EOFError, OSError):
                    del workers[connection]
                    worker.process.join()
                    yield on_death(worker.task, worker.process.exitcode or 0)
                    continue
                if isinstance(message, TaxiAssetsError):
                    raise message
                if isinstance(message, _Word):
                    on_word(worker.task, message.text)
                    continue
                if waiting:
                    task = waiting.popleft()
                    _give(connection, task)
                    workers[connection] = _Worker(worker.process, task)
                else:
                    del workers[connection]
                    connection.close()
                yield message
    finally:
        for worker in workers.values():
            worker.process.terminate()
        _end(started)


def _started(work: _Work[_Task, Any], task: _Task) -> tuple[Connection, _Worker[_Task]]:
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=_serve, args=(work, theirs))
    process.start()
    theirs.close()
    _give(ours, task)
    return ours, _Worker(process, task)


def _give(connection: Connection, task: Any) -> None:
    # A process that died meanwhile is found out when its answer is waited for.
    with contextlib.suppress(BrokenPipeError):
        connection.send(task)


def _serve(work: _Work[Any, Any], tasks: Connection) -> None:
    """Do in this process what comes down a pipe, until it is closed."""
    # Ctrl-C on a terminal is for who started this: it asks each process once, and as Ctrl-C would.
    os.setpgid(0, 0)
    signal.signal(signal.SIGTERM, signal.default_int_handler)

    def tell(message: Any) -> None:
        # Whoever asked may be gone; what was begun is finished all the same.
        with contextlib.suppress(BrokenPipeError):
            tasks.send(message)

    try:
        while True:
            task = tasks.recv()
            try:
                tell(work(task, lambda text: tell(_Word(text))))
            except TaxiAssetsError as error:
                tell(error)
    except (EOFError, ConnectionResetError):
        return
    except KeyboardInterrupt:
        # Threads that the work has left behind would be waited for.
        os._exit(_INTERRUPTED)


def _end(processes: Sequence[BaseProcess]) -> None:
    deadline = time.monotonic() + _SECONDS_TO_END
    try:
        for process in processes:
            process.join(max(0.0, deadline - time.monotonic()))
    finally:
        for process in processes:
            process.kill()
            process.join()
