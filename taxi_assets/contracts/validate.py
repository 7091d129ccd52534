"""Validating: whether a stored table is what its contract says. Judging rows before they are stored is judge.py's.

Pandera's own `validate` runs one query a check and one a column; this asks everything of the data in one.
"""

from __future__ import annotations

from typing import Final

import narwhals.stable.v1 as nw

from taxi_assets.contracts.contract import Contract, Cost
from taxi_assets.contracts.types import Frame

_ROWS: Final = "_rows"


def schema_differences(contract: type[Contract], frame: Frame) -> list[str]:
    """Say in words how a frame's columns and types differ from the contract's; empty when they don't."""
    actual = dict(frame.collect_schema())
    declared = {column.name: column.dtype.narwhals for column in contract.columns()}
    missing = [f"column {name} is missing" for name in declared if name not in actual]
    unknown = [f"column {name} is not in the contract" for name in actual if name not in declared]
    wrong = [
        f"column {name} is {actual[name]}, the contract says {dtype}"
        for name, dtype in declared.items()
        if name in actual and actual[name] != dtype
    ]
    return missing + unknown + wrong


def validate(contract: type[Contract], frame: Frame) -> list[str]:
    """Say in words where a stored frame departs from its contract: columns, types, nulls and rules; empty when nowhere.

    Rules that only report are left out, and so are those that read a column that isn't stored.
    """
    differences = schema_differences(contract, frame)
    if differences:
        return differences
    stored = set(contract.column_names())
    rules = [rule for rule in contract.rules() if rule.cost is not Cost.KEPT and stored.issuperset(rule.columns)]
    required = [column.name for column in contract.columns() if column.required]
    if not rules and not required:
        return []
    counts = (
        frame.select(
            *(nw.col(name).is_null().cast(nw.Int64).sum().alias(f"null:{name}") for name in required),
            *(rule.breaks.cast(nw.Int64).sum().alias(f"rule:{rule.name}") for rule in rules),
        )
        .collect()
        .rows(named=True)[0]
    )
    nulls = [f"{counts[f'null:{name}']} rows hold no {name}" for name in required if counts[f"null:{name}"]]
    broken = [f"{counts[f'rule:{rule.name}']} rows break {rule.name}" for rule in rules if counts[f"rule:{rule.name}"]]
    return nulls + broken


def duplicated_keys(contract: type[Contract], frame: Frame) -> int:
    """Count the keys of a contract's table that stand in more than one row of a frame."""
    repeated = frame.group_by(*contract.stored_as().keys).agg(nw.len().alias(_ROWS)).filter(nw.col(_ROWS) > 1)
    return int(repeated.select(nw.len().alias(_ROWS)).collect().rows()[0][0])


def orphaned_keys(frame: Frame, column: str, dimension: Frame, key: str) -> list[object]:
    """List the values of a frame's column (nulls aside) that a dimension's key lacks, sorted, at most 20."""
    orphans = (
        frame.select(nw.col(column).alias(key))
        .filter(~nw.col(key).is_null())
        .unique(subset=[key])
        .join(dimension.select(key), on=key, how="anti")
    )
    return [row[0] for row in orphans.sort(key).head(20).collect().rows()]
