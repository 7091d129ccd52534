"""Upserts: which of several rows of a key is the one to be stored, within a frame and beside what is stored.

The greatest sequence wins, and of equal ones the row whose declared ties are the greatest, column by column; a null is
less than any value. So neither the order of runs nor that of rows matters. The engines do the merging.
"""

from __future__ import annotations

from collections.abc import Sequence

import narwhals.stable.v1 as nw

from taxi_assets.contracts import Contract, Frame
from taxi_assets.errors import ContractError

_ROWS = "rows_of_one_kind"


def one_row_a_key(contract: type[Contract], rows: Frame) -> Frame:
    """Return the row of each key that is to be stored.

    Raises ContractError unless the contract says how its rows are told apart; for rows that lack a key or the sequence;
    and for rows of one key that differ, of which neither sequence nor ties tell which wins.
    """
    stored_as = contract.stored_as()
    if not (stored_as.keys and stored_as.sequence):
        raise ContractError(f"{contract.__name__} has no partition=, and no keys= and sequence= to be upserted by.")
    order = [stored_as.sequence, *stored_as.ties]
    _require_no_null(contract, rows)
    distinct = rows.unique()
    kinds = distinct.group_by(*stored_as.keys, *order).agg(nw.len().alias(_ROWS))
    winning = kinds.unique(subset=list(stored_as.keys), keep="last", order_by=order)
    tied = int(winning.filter(nw.col(_ROWS) > 1).select(nw.len()).collect().rows()[0][0])
    if tied:
        raise ContractError(
            f"{tied} keys of {stored_as.key} ({', '.join(stored_as.keys)}) stand in several rows of one upsert that "
            f"differ, with the same {', '.join(order)}. Its transform must give each key once, or its contract say by "
            "ties= which row wins."
        )
    return distinct.unique(subset=list(stored_as.keys), keep="last", order_by=order)


def wins(contract: type[Contract], quote: str = '"') -> str:
    """Return, in SQL, when a row `new` replaces the row `stored` that has its key."""
    stored_as = contract.stored_as()
    return _is_no_less([stored_as.sequence, *stored_as.ties], quote)


def _is_no_less(columns: Sequence[str], quote: str) -> str:
    if not columns:
        return "TRUE"
    name = f"{quote}{columns[0]}{quote}"
    new, stored = f"new.{name}", f"stored.{name}"
    equal = f"({new} = {stored} OR ({new} IS NULL AND {stored} IS NULL))"
    greater = f"{new} > {stored} OR ({stored} IS NULL AND {new} IS NOT NULL)"
    return f"({greater} OR ({equal} AND {_is_no_less(columns[1:], quote)}))"


def _require_no_null(contract: type[Contract], rows: Frame) -> None:
    stored_as = contract.stored_as()
    needed = [*stored_as.keys, stored_as.sequence]
    lacking = rows.select(*(nw.col(name).is_null().cast(nw.Int64).sum().alias(name) for name in needed))
    (counts,) = lacking.collect().rows(named=True)
    found = {name: count for name, count in counts.items() if count}
    if found:
        says = ", ".join(f"{count:,} without {name}" for name, count in found.items())
        raise ContractError(
            f"Rows for {stored_as.key} lack what they are told apart by: {says}. Nothing was written. Have a rule "
            "quarantine such rows before."
        )
