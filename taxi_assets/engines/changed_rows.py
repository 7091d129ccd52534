"""What a write changed: the rows of a partition before and after it, compared as multisets.

Rows of source files are this process's, whichever engine computes what is made of them; so this is Polars' alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import narwhals.stable.v1 as nw
import polars as pl

from taxi_assets.contracts import Frame

_HASH: Final = "hash"
_SURPLUS: Final = "surplus"
# Hashes are counted a part at a time, as counting takes several times the memory of the hashes.
_PARTS: Final = 16


@dataclass(frozen=True, slots=True)
class ChangedRows:
    """How many rows stand in one of two frames only, and how many in both."""

    added: int
    gone: int
    same: int


def changed_rows(before: Frame, after: Frame, columns: Sequence[str]) -> ChangedRows:
    """Compare two frames of the embedded engine by some columns; a row that stands twice is two rows, nulls are equal.

    One scan of each, by 64-bit hashes: 8 bytes a row are held.
    """
    old, new = (_hashes(frame, columns) for frame in (before, after))
    added = gone = 0
    for part in range(_PARTS):
        sides = [_part(hashes, part, surplus) for hashes, surplus in ((old, -1), (new, 1))]
        surplus = pl.concat(sides).group_by(_HASH).agg(pl.col(_SURPLUS).sum())[_SURPLUS]
        added += int(surplus.filter(surplus > 0).sum())
        gone -= int(surplus.filter(surplus < 0).sum())
    return ChangedRows(added, gone, old.len() - gone)


def _hashes(frame: Frame, columns: Sequence[str]) -> pl.Series:
    rows: pl.LazyFrame = nw.to_native(frame)
    hashes: pl.DataFrame = rows.select(pl.struct(list(columns)).hash().alias(_HASH)).collect()
    return hashes[_HASH]


def _part(hashes: pl.Series, part: int, surplus: int) -> pl.DataFrame:
    some = hashes.filter(hashes % _PARTS == part)
    return some.to_frame().with_columns(pl.lit(surplus, dtype=pl.Int64).alias(_SURPLUS))
