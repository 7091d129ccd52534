"""Figures of a stored partition that are worth plotting over time: numbers, beside what storing it took.

Which figures is for the table's file to say; they are asked of what has just been stored, by a scan of its rows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from taxi_assets.contracts import Contract
from taxi_assets.lake.stored_checks import Stored

Figures = Callable[[Stored], Mapping[str, float | None]]
"""From what is stored for a partition to numbers by name; None for one that the partition has not."""

_FIGURES: Final[dict[type[Contract], Figures]] = {}


def note_figures(contract: type[Contract], figures: Figures) -> None:
    """Note what is asked of each partition of a table once it is stored."""
    _FIGURES[contract] = figures


def figures_of(contract: type[Contract], stored: Stored) -> dict[str, float]:
    """Return the figures of a partition that a table has just stored; none if nobody asks for any."""
    ask = _FIGURES.get(contract)
    found = ask(stored) if ask else {}
    return {name: value for name, value in found.items() if value is not None}
