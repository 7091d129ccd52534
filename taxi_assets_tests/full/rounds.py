"""How often what needs rounds to be believed is repeated: a few times by `make test`, all of them by `make soak`."""

from __future__ import annotations

import os
from typing import Final

ALL: Final = os.environ.get("TAXI_SOAK") == "1"
"""Whether all rounds are wanted."""


def rounds(every: int, few: int) -> int:
    """Return how many rounds there are to be: of `every` one, a `few` that take each way once."""
    return every if ALL else few
