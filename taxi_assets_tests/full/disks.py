"""A small disk of its own, which a test can fill or make read-only. Takes root's rights to mount."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Disk:
    """A mounted tmpfs."""

    path: Path

    def fill(self, but: int) -> None:
        """Leave just so many bytes."""
        stats = os.statvfs(self.path)
        self._ballast.write_bytes(b"x" * (stats.f_bavail * stats.f_frsize - but))

    def make_room(self) -> None:
        """Undo `fill`."""
        self._ballast.unlink()

    def read_only(self) -> None:
        """Let nothing be written any more."""
        subprocess.run(["mount", "-o", "remount,ro", str(self.path)], check=True)

    @property
    def _ballast(self) -> Path:
        return self.path / "ballast"


@contextmanager
def mounted(path: Path) -> Iterator[Disk]:
    """Mount a disk for a while. Raises CalledProcessError if that isn't allowed."""
    path.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=32m", "tmpfs", str(path)], check=True, capture_output=True)
    try:
        yield Disk(path)
    finally:
        subprocess.run(["umount", "--lazy", str(path)], check=True)
