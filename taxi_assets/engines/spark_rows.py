"""Spark: what a row has to do with other rows: repeats, and members of a set.

The flags of the few rows that have one are worked out once and kept by the executors; every pass over the frame then
joins them, instead of sorting the whole month again.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from functools import reduce
from typing import Final

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812 - what everyone calls it

Members = Mapping[str, tuple[Sequence[str], DataFrame]]

_FIRST: Final = "_first_row"
_ROWS: Final = "_rows"
# Only the newest are in use; a frame that is dropped from here too early is computed again, not wrong.
_held: Final[deque[DataFrame]] = deque()
_MOST_HELD: Final = 4


def flag_rows(rows: DataFrame, row_id: str, repeats: Mapping[str, Sequence[str]], members: Members) -> DataFrame:
    """Add a boolean column per flag; see `Engine.flag_rows`.

    Rows are compared by a 64-bit hash of their values: among 20 million rows two different ones share a hash with a
    probability of about 1 in 100,000.
    """
    flags = [*repeats, *members]
    found = [_repeats(rows, row_id, chain, repeats) for chain in _chains(repeats)]
    found += [_members(rows, row_id, flag, columns, small) for flag, (columns, small) in members.items()]
    if not found:
        return rows
    all_found = reduce(lambda some, more: some.unionByName(more, allowMissingColumns=True), found)
    flagged = hold(all_found.groupBy(row_id).agg(*(F.max(flag).alias(flag) for flag in flags)))
    return rows.join(flagged, row_id, "left").withColumns({flag: F.coalesce(flag, F.lit(False)) for flag in flags})


def _chains(repeats: Mapping[str, Sequence[str]]) -> list[list[str]]:
    """Put flags together whose columns hold all of the first one's: rows equal in more columns are equal in fewer."""
    chains: list[list[str]] = []
    for flag in sorted(repeats, key=lambda flag: len(repeats[flag])):
        coarser = next((chain for chain in chains if set(repeats[chain[0]]) <= set(repeats[flag])), None)
        if coarser is None:
            chains.append([flag])
        else:
            coarser.append(flag)
    return chains


def _repeats(rows: DataFrame, row_id: str, chain: Sequence[str], repeats: Mapping[str, Sequence[str]]) -> DataFrame:
    hashes = rows.select(row_id, *(_hash(repeats[flag]).alias(flag) for flag in chain))
    coarsest, *finer = chain
    equal = Window.partitionBy(coarsest)
    in_groups = hashes.withColumns({_FIRST: F.min(row_id).over(equal), _ROWS: F.count("*").over(equal)})
    # Few rows are left here, so the finer flags cost next to nothing.
    few = in_groups.where(F.col(_ROWS) > 1)
    is_repeat = {coarsest: F.col(row_id) > F.col(_FIRST)}
    for flag in finer:
        is_repeat[flag] = F.col(row_id) > F.min(row_id).over(Window.partitionBy(coarsest, flag))
    return few.select(row_id, *(condition.alias(flag) for flag, condition in is_repeat.items())).where(
        reduce(Column.__or__, (F.col(flag) for flag in chain))
    )


def _members(rows: DataFrame, row_id: str, flag: str, columns: Sequence[str], small: DataFrame) -> DataFrame:
    known = small.select(_hash_if_complete(columns).alias(flag)).dropna().distinct()
    hashes = rows.select(row_id, _hash_if_complete(columns).alias(flag))
    return hashes.join(known, flag, "left_semi").select(row_id, F.lit(True).alias(flag))


def _hash(columns: Sequence[str]) -> Column:
    # xxhash64 passes nulls over: without their places (null, 1) would be (1, null).
    return F.xxhash64(*columns, *(F.isnull(column) for column in columns))


def _hash_if_complete(columns: Sequence[str]) -> Column:
    return F.when(reduce(Column.__and__, (F.isnotnull(column) for column in columns)), F.xxhash64(*columns))


def hold(few: DataFrame) -> DataFrame:
    """Keep a frame's rows where they were computed; now, as Spark plans joins by sizes and this one's is then known."""
    _held.append(few.persist())
    few.count()
    if len(_held) > _MOST_HELD:
        _held.popleft().unpersist()
    return few
