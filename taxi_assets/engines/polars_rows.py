"""Polars: what a row has to do with other rows, without joins: repeats, members of a set, look-ups by a small key.

Polars' streaming joins buffer one side and are done again in every pass over a frame; what is here is found once and
kept as a bit a row, or is a look into a small array.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final

import polars as pl

Members = Mapping[str, tuple[Sequence[str], pl.LazyFrame]]

_MOST_KEYS: Final = 100_000


def find_repeats_and_members(
    rows: pl.LazyFrame, row_id: str, repeats: Mapping[str, Sequence[str]], members: Members
) -> pl.DataFrame:
    """Return a boolean column per flag, a row per row; see `Engine.flag_rows`.

    Rows are compared by a 64-bit hash of their values, which costs a fraction of comparing the values: among 20 million
    rows two different ones share a hash with a probability of about 1 in 100,000.
    """
    hashes: pl.DataFrame = rows.select(
        row_id,
        *(_hash(columns).alias(flag) for flag, columns in repeats.items()),
        *(_hash_if_complete(columns).alias(flag) for flag, (columns, _) in members.items()),
    ).collect()
    if not hashes[row_id].is_sorted():
        # Whoever has rewritten the table's files need not have kept the order of its rows.
        order = hashes[row_id].arg_sort()
        return _flags(hashes[order], repeats, members)[order.arg_sort()]
    return _flags(hashes, repeats, members)


def _flags(hashes: pl.DataFrame, repeats: Mapping[str, Sequence[str]], members: Members) -> pl.DataFrame:
    found: dict[str, pl.Series] = {}
    for flag, columns in sorted(repeats.items(), key=lambda item: len(item[1])):
        coarser = next((other for other in found if set(repeats[other]) <= set(columns)), None)
        found[flag] = (
            _repeated(hashes[flag])
            if coarser is None
            else _repeated_within(hashes[flag], hashes[coarser], found[coarser])
        )
    for flag, (columns, small) in members.items():
        known: pl.DataFrame = small.select(_hash_if_complete(columns).alias(flag)).collect()
        found[flag] = hashes[flag].is_in(known[flag].drop_nulls().unique().implode()).fill_null(value=False)
    return pl.DataFrame({flag: found[flag] for flag in (*repeats, *members)})


def look_up(rows: pl.LazyFrame, small: pl.LazyFrame, key: str, small_key: str) -> pl.LazyFrame:
    """Add the columns of `small` to the rows with its key; see `Engine.look_up`."""
    table: pl.DataFrame = small.collect().drop_nulls(small_key)
    names = [name for name in table.columns if name != small_key]
    low, high = table.select(low=pl.col(small_key).min(), high=pl.col(small_key).max()).row(0)
    if low is None or low < 0 or high >= _MOST_KEYS:
        return rows.join(table.lazy(), left_on=key, right_on=small_key, how="left", maintain_order="left")
    found = {name: _finder(table[small_key], table[name], high + 1) for name in names}
    return rows.with_columns(
        pl.col(key).map_batches(find, return_dtype=table[name].dtype, is_elementwise=True).alias(name)
        for name, find in found.items()
    )


def _hash(columns: Sequence[str]) -> pl.Expr:
    return pl.struct(list(columns)).hash()


def _hash_if_complete(columns: Sequence[str]) -> pl.Expr:
    return pl.when(pl.all_horizontal(pl.col(list(columns)).is_not_null())).then(_hash(columns))


def _repeated(hashes: pl.Series) -> pl.Series:
    return ~hashes.is_first_distinct()


def _repeated_within(hashes: pl.Series, groups: pl.Series, repeats_of_group: pl.Series) -> pl.Series:
    """Find repeats among the rows whose group has any: rows that are equal in more columns are equal in fewer."""
    candidates = groups.is_in(groups.filter(repeats_of_group).unique().implode())
    repeated = candidates.arg_true().filter(_repeated(hashes.filter(candidates)))
    return pl.repeat(False, hashes.len(), dtype=pl.Boolean, eager=True).scatter(repeated, True)


def _finder(keys: pl.Series, values: pl.Series, size: int) -> Callable[[pl.Series], pl.Series]:
    by_key = pl.Series([None], dtype=values.dtype).new_from_index(0, size).scatter(keys, values)

    def find(wanted: pl.Series) -> pl.Series:
        within = wanted.set(~wanted.is_between(0, size - 1), None)
        return by_key.gather(within.cast(pl.UInt32))

    return find
