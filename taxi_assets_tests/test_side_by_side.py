"""Work done side by side in real processes: all of it once, some at once, and what one that dies takes with it."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from taxi_assets.errors import LandingError
from taxi_assets.side_by_side import side_by_side

pytestmark = pytest.mark.fast

DEADLINE = 60.0


def nothing(_task: object, _word: str) -> None: ...


def dead(task: object, exit_code: int) -> tuple[object, int]:
    return task, exit_code


def squared(task: int, say: Callable[[str], None]) -> tuple[int, int]:
    say(f"squaring {task}")
    return task * task, os.getpid()


def killed_at_2(task: int, _say: Callable[[str], None]) -> tuple[object, int]:
    if task == 2:
        os.kill(os.getpid(), signal.SIGKILL)
    return task, 0


def refused_at_2(task: int, _say: Callable[[str], None]) -> int:
    if task == 2:
        raise LandingError("2 can't be used.")
    return task


def met(folder: Path, _say: Callable[[str], None]) -> bool:
    """Leave a file of this process' own in a folder, and wait for another's."""
    (folder / str(os.getpid())).touch()
    asked = threading.Event()
    for _ in range(int(DEADLINE * 20)):
        if len(list(folder.iterdir())) > 1:
            return True
        asked.wait(0.05)
    return False


def waited(folder: Path, say: Callable[[str], None]) -> None:
    """Say that the work has begun, and leave a file once it is interrupted."""
    try:
        say("begun")
        threading.Event().wait(DEADLINE)
    except KeyboardInterrupt:
        (folder / str(os.getpid())).touch()
        raise


def lives(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return True


def test_every_task_is_done_once_by_no_more_processes_than_asked_for_and_they_are_gone_afterwards() -> None:
    words: list[tuple[int, str]] = []
    found = list(side_by_side(squared, [1, 2, 3, 4, 5], 2, lambda task, word: words.append((task, word)), dead))
    assert sorted(square for square, _ in found) == [1, 4, 9, 16, 25]
    assert sorted(words) == [(task, f"squaring {task}") for task in range(1, 6)]
    processes = {process for _, process in found}
    assert len(processes) <= 2
    assert os.getpid() not in processes
    assert not any(lives(process) for process in processes)


def test_as_many_tasks_as_asked_for_are_done_at_once(tmp_path: Path) -> None:
    assert list(side_by_side(met, [tmp_path, tmp_path], 2, nothing, lambda _task, _code: False)) == [True, True]


def test_a_process_that_is_killed_costs_its_own_task_alone() -> None:
    found = list(side_by_side(killed_at_2, [1, 2, 3, 4], 1, nothing, dead))
    assert found == [(1, 0), (2, -signal.SIGKILL), (3, 0), (4, 0)]


def asked_to_end_at_2(task: int, _say: Callable[[str], None]) -> tuple[int, int]:
    if task == 2:
        os.kill(os.getpid(), signal.SIGTERM)
        threading.Event().wait(DEADLINE)
    return task, 0


def test_a_process_that_is_asked_to_end_says_so_by_its_exit_status() -> None:
    assert list(side_by_side(asked_to_end_at_2, [1, 2, 3], 1, nothing, dead)) == [(1, 0), (2, 130), (3, 0)]


def test_an_error_written_for_the_user_is_raised_here_in_its_words() -> None:
    done = side_by_side(refused_at_2, [1, 2, 3], 1, nothing, lambda task, _code: task)
    assert next(done) == 1
    with pytest.raises(LandingError, match=r"^2 can't be used\.$"):
        next(done)


def test_interrupted_every_process_that_is_at_work_is_interrupted_and_gone(tmp_path: Path) -> None:
    begun: list[str] = []

    def interrupt(_task: Path, word: str) -> None:
        begun.append(word)
        if len(begun) == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        list(side_by_side(waited, [tmp_path] * 3, 2, interrupt, lambda _task, _code: None))
    processes = [int(file.name) for file in tmp_path.iterdir()]
    assert len(processes) == 2
    assert not any(lives(process) for process in processes)
