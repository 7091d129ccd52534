"""Checks of what is stored: made after a table's write, blocking what depends on it, and to be run alone from the UI.

What a check asks is a function from the lake and a partition to a finding. Those that any table can have are here;
those that know the tables' meaning are with the tables.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import dagster as dg

from taxi_assets.contracts import Contract, duplicated_keys, orphaned_keys, validate
from taxi_assets.engines import Partition
from taxi_assets.lake.failures import one_clear_failure
from taxi_assets.lake.lake import Lake
from taxi_assets.lake.metadata import asset_key
from taxi_assets.lake.partitions import partition_of


@dataclass(frozen=True, slots=True)
class Finding:
    """What a check found: whether all is well, in words, and the figures behind it."""

    passed: bool
    says: str
    figures: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class StoredCheck:
    """A check of one table's stored partition. `partition` tells `find` which one, as the asset's partition key.

    A failing check blocks what depends on the table and fails the run, unless it only `warns`. `reads` are the tables
    that must be up to date before it is run, beside its own.
    """

    name: str
    contract: type[Contract]
    description: str
    find: Callable[[Lake, str], Finding]
    warns: bool = False
    reads: tuple[type[Contract], ...] = ()


def stored_checks(
    name: str, checks: Sequence[StoredCheck], partitions_def: dg.PartitionsDefinition
) -> dg.AssetChecksDefinition:
    """Make one step of several checks; any of them can be run alone."""
    by_key = {dg.AssetCheckKey(asset_key(check.contract), check.name): check for check in checks}

    @dg.multi_asset_check(
        name=name,
        specs=[
            dg.AssetCheckSpec(
                check.name,
                asset=asset_key(check.contract),
                description=check.description,
                blocking=not check.warns,
                additional_deps=[asset_key(contract) for contract in check.reads],
                partitions_def=partitions_def,
            )
            for check in checks
        ],
        can_subset=True,
    )
    def run(context: dg.AssetCheckExecutionContext, lake: dg.ResourceParam[Lake]) -> Iterator[dg.AssetCheckResult]:
        for key in sorted(context.selected_asset_check_keys):
            check = by_key[key]
            with one_clear_failure(f"{check.contract.stored_as().key}: {check.name}"):
                finding = check.find(lake, context.partition_key)
            yield dg.AssetCheckResult(
                passed=finding.passed,
                asset_key=key.asset_key,
                check_name=check.name,
                severity=dg.AssetCheckSeverity.WARN if check.warns else dg.AssetCheckSeverity.ERROR,
                description=finding.says,
                metadata=dict(finding.figures),
            )

    return run


def matches_contract(contract: type[Contract], partitions_def: dg.PartitionsDefinition) -> StoredCheck:
    """Check the stored partition's columns, types, nulls and quarantining rules against its contract."""

    def find(lake: Lake, key: str) -> Finding:
        departures = validate(contract, lake.read(contract, _selected(contract, partitions_def, key)))
        says = "; ".join(departures) or "Columns, types, required values and rules hold."
        return Finding(not departures, says, {"departures": departures})

    description = "The stored rows have the contract's columns, types and required values, and break no rule."
    return StoredCheck("matches_contract", contract, description, find)


def unique_keys(contract: type[Contract], partitions_def: dg.PartitionsDefinition) -> StoredCheck:
    """Check that no key stands in two rows of the stored partition."""
    keys = ", ".join(contract.stored_as().keys)

    def find(lake: Lake, key: str) -> Finding:
        repeated = duplicated_keys(contract, lake.read(contract, _selected(contract, partitions_def, key)))
        return Finding(
            not repeated, f"{repeated:,} keys stand in more than one row.", {"repeated_keys": repeated, "key": keys}
        )

    return StoredCheck("unique_keys", contract, f"No two rows have the same {keys}.", find)


def no_orphans(
    contract: type[Contract],
    columns: Sequence[str],
    dimension: type[Contract],
    partitions_def: dg.PartitionsDefinition,
    *,
    key_column: str = "",
) -> StoredCheck:
    """Check that every value of some columns stands in a dimension, in its key unless another column is named."""
    target = key_column or dimension.stored_as().keys[0]

    def find(lake: Lake, key: str) -> Finding:
        rows = lake.read(contract, _selected(contract, partitions_def, key))
        members = lake.read(dimension)
        orphans = {column: found for column in columns if (found := orphaned_keys(rows, column, members, target))}
        says = "; ".join(f"{column}: {found}" for column, found in orphans.items())
        return Finding(not orphans, says or "Every value is in the dimension.", {"orphans": orphans})

    where = f"{dimension.stored_as().sql_name}.{target}"
    name = f"no_orphans_in_{dimension.stored_as().path[1]}"
    return StoredCheck(name, contract, f"Every {' and '.join(columns)} is in {where}.", find, reads=(dimension,))


def _selected(contract: type[Contract], partitions_def: dg.PartitionsDefinition, key: str) -> list[Partition] | None:
    partition = partition_of(contract, partitions_def, key)
    return [partition] if partition else None
