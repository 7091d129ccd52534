"""Running a command as a fresh process: how long it takes, how much processor time and memory. What is run is run.py's.

Nothing heavy is imported here or in run.py: a child's peak memory, as the kernel counts it, begins with its parent's.
"""

from __future__ import annotations

import contextlib
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

Command = Sequence[str | Path]

_KILOBYTE: Final = 1024
_LOOK_EVERY_SECONDS: Final = 0.1
_BYTES_OF_MAXRSS: Final = 1 if sys.platform == "darwin" else _KILOBYTE


@dataclass(frozen=True, slots=True)
class Figures:
    """What one process took: seconds by the clock and of processor time (user and system), peak memory in bytes.

    The JVM that it may have started counts into the processor time; its memory stands apart.
    """

    seconds: float
    cpu_seconds: float
    peak_bytes: int
    jvm_peak_bytes: int = 0


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
        jvm = _Jvm(process.pid)
        jvm.start()
        _, status, usage = os.wait4(process.pid, 0)
        jvm.ended.set()
        seconds = time.perf_counter() - start
        process.returncode = os.waitstatus_to_exitcode(status)
        printed.seek(0)
        output = printed.read().decode(errors="replace")
    if process.returncode:
        shown = " ".join(str(part) for part in command)
        raise RuntimeError(f"{shown} ended with {process.returncode}:\n{output[-3000:]}")
    cpu_seconds = usage.ru_utime + usage.ru_stime + jvm.cpu_seconds
    return Figures(seconds, cpu_seconds, usage.ru_maxrss * _BYTES_OF_MAXRSS, jvm.peak_bytes), output


def median(found: Sequence[Figures]) -> Figures:
    """Return the median of each figure by itself."""
    return Figures(
        statistics.median(one.seconds for one in found),
        statistics.median(one.cpu_seconds for one in found),
        int(statistics.median(one.peak_bytes for one in found)),
        int(statistics.median(one.jvm_peak_bytes for one in found)),
    )


class _Jvm(threading.Thread):
    """Watches the JVM of a process, which ends with it and is waited for by nobody. Sees nothing but on Linux."""

    def __init__(self, parent: int) -> None:
        super().__init__(daemon=True)
        self.ended = threading.Event()
        self.cpu_seconds, self.peak_bytes = 0.0, 0
        self._parent = parent

    def run(self) -> None:
        while not self.ended.wait(_LOOK_EVERY_SECONDS):
            for child in _children(self._parent):
                # It may be gone by the time that it is looked at.
                with contextlib.suppress(OSError):
                    self._look_at(child)

    def _look_at(self, child: Path) -> None:
        if (child / "comm").read_text().strip() != "java":
            return
        times = (child / "stat").read_text().rpartition(")")[2].split()
        self.cpu_seconds = (int(times[11]) + int(times[12])) / os.sysconf("SC_CLK_TCK")
        status = dict(line.split(":", 1) for line in (child / "status").read_text().splitlines() if ":" in line)
        # One that is ending has no memory any more.
        if "VmHWM" in status:
            self.peak_bytes = int(status["VmHWM"].split()[0]) * _KILOBYTE


def _children(parent: int) -> Iterator[Path]:
    with contextlib.suppress(OSError):
        for task in Path(f"/proc/{parent}/task").iterdir():
            yield from (Path("/proc") / child for child in (task / "children").read_text().split())
