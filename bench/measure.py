"""Running a command as a fresh process: how long it takes, how much processor time and memory. What is run is run.py's.

Nothing heavy is imported here or in run.py: a child's peak memory, as the kernel counts it, begins with its parent's.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

Command = Sequence[str | Path]

_KILOBYTE: Final = 1024
_BYTES_OF_MAXRSS: Final = 1 if sys.platform == "darwin" else _KILOBYTE


@dataclass(frozen=True, slots=True)
class Figures:
    """What one process took: seconds by the clock and of processor time (user and system), peak memory in bytes."""

    seconds: float
    cpu_seconds: float
    peak_bytes: int


def run(command: Command, environment: Mapping[str, str] | None = None) -> tuple[Figures, str]:
    """Run a command to its end; returns what it took and what it printed.

    Raises RuntimeError with the end of its output if it fails.
    """
    with tempfile.TemporaryFile() as printed:
        start = time.perf_counter()
        process = subprocess.Popen(
            [str(part) for part in command],
            env={**os.environ, **(environment or {})},
            stdout=printed,
            stderr=subprocess.STDOUT,
        )
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - start
        process.returncode = os.waitstatus_to_exitcode(status)
        printed.seek(0)
        output = printed.read().decode(errors="replace")
    if process.returncode:
        shown = " ".join(str(part) for part in command)
        raise RuntimeError(f"{shown} ended with {process.returncode}:\n{output[-3000:]}")
    return Figures(seconds, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * _BYTES_OF_MAXRSS), output


def median(found: Sequence[Figures]) -> Figures:
    """Return the median of each figure by itself."""
    return Figures(
        statistics.median(one.seconds for one in found),
        statistics.median(one.cpu_seconds for one in found),
        int(statistics.median(one.peak_bytes for one in found)),
    )
