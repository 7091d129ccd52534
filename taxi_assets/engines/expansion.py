"""How much a source file may hold when it is unpacked: a small file must not cost gigabytes, whatever it claims to be.

Real months hold up to ten times their size. Both limits stand far above that, and far below a machine's memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from taxi_assets.errors import LandingError
from taxi_assets.landing import LandedFile

MOST_COLUMNS: Final = 1_000
# Each row may repeat them, in what is rescued.
_LONGEST_NAMES: Final = 100_000
_MOST_TIMES: Final = 100
# A made-up month of equal rows packs better than any real one.
_ALWAYS: Final = 1024 * 1024 * 1024


def most_unpacked(file: LandedFile) -> int:
    """Return how many bytes a file may hold unpacked."""
    return max(_ALWAYS, _MOST_TIMES * file.size)


def holds_too_much(file: LandedFile, what: str) -> LandingError:
    """Return the error that says that a file holds more than that; `what` it is that does."""
    return file.unusable(
        f"{what} than the {most_unpacked(file) / 1e9:,.1f} GB that a file of {file.size:,} bytes may hold: it is "
        "damaged, or made to fill memory or disk",
        "Fetch it again, or take it out of landing; if it is sound, put it there as CSV, not zipped.",
    )


def require_short_names(file: LandedFile, names: Sequence[str], rows: int = 1) -> None:
    """See that the names of a file's columns can be repeated in each of its rows, where that many are known of.

    Raises LandingError.
    """
    length = sum(map(len, names))
    if length > _LONGEST_NAMES:
        raise file.unusable(
            f"its columns' names have {length:,} characters; those of no table have more than {_LONGEST_NAMES:,}"
        )
    if length * rows > most_unpacked(file):
        raise holds_too_much(file, f"its columns' names, in each of {rows:,} rows, are more")


def too_many_columns(file: LandedFile, count: int) -> LandingError:
    """Return the error that says that a file has more columns than any table."""
    return file.unusable(f"it has {count:,} columns; no table has more than {MOST_COLUMNS:,}")
