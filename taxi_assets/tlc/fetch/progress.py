"""Bars that show a fetch on a terminal: one for all files, and one for each that is arriving."""

from __future__ import annotations

from typing import Self

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn


class Bars:
    """The bars of one fetch, to be entered while it runs; they show nothing where nobody looks."""

    def __init__(self, console: Console, files: int) -> None:
        columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.fields[says]}"))
        self._progress = Progress(*columns, console=console, disable=not console.is_terminal, transient=True)
        self._all = self._progress.add_task("All files", total=files, says="")
        self._arriving: dict[str, TaskID] = {}

    def __enter__(self) -> Self:
        self._progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._progress.stop()

    def on_bytes(self, name: str, done: int, total: int | None) -> None:
        """Show how much of a file has arrived. Called in the threads that fetch, for one file always in the same."""
        says = f"{done / 1e6:,.1f} of {total / 1e6:,.1f} MB" if total else f"{done / 1e6:,.1f} MB"
        if name not in self._arriving:
            self._arriving[name] = self._progress.add_task(name, total=None, says=says)
        self._progress.update(self._arriving[name], completed=done, total=total, says=says)

    def ended(self, name: str) -> None:
        """Take a file's bar away, and count it as done."""
        if name in self._arriving:
            self._progress.remove_task(self._arriving.pop(name))
        self._progress.advance(self._all)
