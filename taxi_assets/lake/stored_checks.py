"""Checks of what is stored: made after a table's write, blocking what depends on it, and to be run alone from the UI.

What a check asks is a function from what a partition stores to a finding. Those that any table can have are here; those
that know the tables' meaning are with the tables.
"""

# Without postponed annotations, which Dagster doesn't resolve for `context`.

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import dagster as dg

from taxi_assets.contracts import Contract, Frame, duplicated_keys, orphaned_keys, validate
from taxi_assets.engines import Partition, read_notes
from taxi_assets.errors import LakeError, first_line
from taxi_assets.lake.failures import one_clear_failure, said_by
from taxi_assets.lake.lake import Lake
from taxi_assets.lake.metadata import asset_key, shown
from taxi_assets.lake.partitions import key_of, partition_of, partitions_of
from taxi_assets.lake.passed_by import PassedBy, no_result
from taxi_assets.markdown import markdown_of


@dataclass(frozen=True, slots=True)
class Stored:
    """What the lake stores for one partition key."""

    lake: Lake
    partitions_def: dg.PartitionsDefinition
    key: str

    def partition(self, contract: type[Contract]) -> Partition:
        """Return the columns and values that select the partition's rows in a table."""
        return partition_of(contract, self.partitions_def, self.key)

    def rows(self, contract: type[Contract]) -> Frame:
        """Return the partition's rows in a table; all rows of a table without partitions."""
        partition = self.partition(contract)
        return self.lake.read(contract, [partition] if partition else None)

    def count(self, contract: type[Contract]) -> int:
        """Count the partition's rows in a table by the Delta log; 0 if it was never stored."""
        return self.lake.row_count(contract, self.partition(contract)) or 0

    def filled_columns(self, contract: type[Contract]) -> set[str]:
        """Name the columns that hold a value in some row of the partition, by the Delta log."""
        files = self.lake.location(contract).files(self.partition(contract))
        return {column for file in files for column in file.filled}

    def notes(self, contract: type[Contract]) -> dict[str, str]:
        """Return what the table's asset has noted with the partition's rows; nothing if it has left no notes."""
        return read_notes(self.lake.location(contract), self.partition(contract))


@dataclass(frozen=True, slots=True)
class Finding:
    """What a check found: whether all is well, in words, and the figures behind it.

    A finding that only `warns` fails its check without blocking anything.
    """

    passed: bool
    says: str
    figures: Mapping[str, Any] = field(default_factory=dict)
    warns: bool = False


@dataclass(frozen=True, slots=True)
class StoredCheck:
    """A check of one table's stored partition; `find` looks.

    If a `blocking` one fails, the run fails and nothing is made of the table: what needs it is passed by, what is made
    of any of several goes on without it. Another only warns. `reads` are the tables that must be up to date before it
    is run, beside its own.
    """

    name: str
    contract: type[Contract]
    description: str
    find: Callable[[Stored], Finding]
    reads: tuple[type[Contract], ...] = ()
    blocking: bool = True


def stored_checks(
    name: str, checks: Sequence[StoredCheck], partitions_def: dg.PartitionsDefinition | None = None
) -> dg.AssetChecksDefinition:
    """Make one step of several checks, of tables of one calendar or of the partitions that are given.

    Any of them can be run alone.

    They look within this process, whatever engine computes: what they ask is answered by a scan of a few columns, which
    costs less than a cluster's query. What one engine wrote is so seen by another. A table that the run has passed by
    isn't checked. A run of no partition, which is all that the UI can start of checks alone, looks at the newest that
    each table stores, and records what it finds as of that.
    """
    by_key = {dg.AssetCheckKey(asset_key(check.contract), check.name): check for check in checks}
    partitions = partitions_def or partitions_of(checks[0].contract)

    specs = {
        key: dg.AssetCheckSpec(
            check.name,
            asset=key.asset_key,
            description=check.description,
            blocking=check.blocking,
            additional_deps=[asset_key(contract) for contract in check.reads],
            partitions_def=partitions,
        )
        for key, check in by_key.items()
    }

    @dg.multi_asset_check(name=name, specs=list(specs.values()), can_subset=True)
    def run(
        context: dg.AssetCheckExecutionContext, lake: dg.ResourceParam[Lake], passed_by: dg.ResourceParam[PassedBy]
    ) -> Iterator[Any]:
        asked, run_id = context.partition_key if context.has_partition_key else None, context.run.run_id
        keys = sorted(context.selected_asset_check_keys)
        for table in {table for key in keys for table in (key.asset_key, *map(asset_key, by_key[key].reads))}:
            passed_by.wait_for(run_id, table)
        for place, key in enumerate(keys):
            check = by_key[key]
            if passed_by.found(context.instance, context.run, key.asset_key):
                yield no_result(specs[key])
                continue
            partition = asked or _newest(lake, partitions, context.instance, check.contract)
            try:
                finding = _find(check, Stored(lake.embedded(), partitions, partition))
            except Exception as error:
                # What can't be looked at isn't trusted, and nobody waits for it.
                unseen = keys[place:]
                passed_by.note_unsound(run_id, {one.asset_key for one in unseen}, said_by(error))
                yield from (no_result(specs[one]) for one in unseen)
                raise
            warns = finding.warns or not check.blocking
            if not (finding.passed or warns):
                passed_by.note_unsound(run_id, [key.asset_key], f"{check.name} failed: {finding.says}")
            says = finding.says if asked else f"{partition}, the newest that is stored: {finding.says}"
            found: dict[str, Any] = {
                "passed": finding.passed,
                "asset_key": key.asset_key,
                "check_name": check.name,
                "severity": dg.AssetCheckSeverity.WARN if warns else dg.AssetCheckSeverity.ERROR,
                "description": markdown_of(says),
                "metadata": shown(finding.figures),
            }
            if asked:
                yield dg.AssetCheckResult(**found)
            else:
                yield from _of_no_partition(context, {**found, "blocking": check.blocking}, partition)

    return run


def _newest(
    lake: Lake, partitions_def: dg.PartitionsDefinition, instance: dg.DagsterInstance, contract: type[Contract]
) -> str:
    """Return the key of the newest partition that a table holds; of a table without, of those that runs have stored."""
    if contract.stored_as().replaced_by:
        keys = {key_of(partitions_def, texts) for texts in lake.location(contract).stored_partitions()}
    else:
        keys = instance.get_materialized_partitions(asset_key(contract))
    if not keys:
        with one_clear_failure(contract.stored_as().key):
            raise LakeError(
                f"{contract.stored_as().key} holds nothing to be checked yet. Materialize a partition first."
            )
    # Of times, as texts, the greatest is the newest.
    return max(keys)


def _of_no_partition(context: dg.AssetCheckExecutionContext, found: Mapping[str, Any], partition: str) -> Iterator[Any]:
    """Record what a run of no partition has found of one: of Dagster's own result it would make an error (1.13)."""
    (spec,) = (
        one for one in context.check_specs if (one.asset_key, one.name) == (found["asset_key"], found["check_name"])
    )
    yield dg.Output(None, output_name=spec.get_python_identifier())
    # The run was planned to evaluate it of no partition, which would stand there as never done.
    of_the_run: Any = dg.AssetCheckEvaluation(**found)
    context.op_execution_context.log_event(of_the_run)
    yield dg.AssetCheckEvaluation(**found, partition=partition)


def _find(check: StoredCheck, stored: Stored) -> Finding:
    """Look; what only warns, warns as well if it can't look, as when a month before has lost its file."""
    try:
        with one_clear_failure(f"{check.contract.stored_as().key}: {check.name}"):
            return check.find(stored)
    except Exception as error:
        if check.blocking:
            raise
        return Finding(False, f"It couldn't be looked at: {first_line(error)}", {"error": type(error).__name__})


def matches_contract(contract: type[Contract]) -> StoredCheck:
    """Check the stored partition's columns, types, nulls and quarantining rules against its contract."""

    def find(stored: Stored) -> Finding:
        departures = validate(contract, stored.rows(contract))
        says = "; ".join(departures) or "Columns, types, required values and rules hold."
        return Finding(not departures, says, {"departures": departures})

    description = (
        "The stored rows have the contract's columns and types, hold every required value, "
        "and break no quarantining rule that can be asked of stored columns."
    )
    return StoredCheck("matches_contract", contract, description, find)


def unique_keys(contract: type[Contract]) -> StoredCheck:
    """Check that no key stands in two rows of the stored partition."""
    keys = ", ".join(contract.stored_as().keys)

    def find(stored: Stored) -> Finding:
        repeated = duplicated_keys(contract, stored.rows(contract))
        figures = {"repeated_keys": repeated, "key": keys}
        return Finding(not repeated, f"{repeated:,} keys stand in more than one row.", figures)

    return StoredCheck("unique_keys", contract, f"No two rows have the same {keys}.", find)


def no_orphans(
    contract: type[Contract],
    columns: Sequence[str],
    dimension: type[Contract],
    *,
    key_column: str = "",
    besides: Sequence[str] = (),
) -> StoredCheck:
    """Check that every value of some columns stands in a dimension, in its key unless another column is named.

    Values that are allowed `besides` stand for what the dimension lacks.
    """
    target = key_column or dimension.stored_as().keys[0]

    def find(stored: Stored) -> Finding:
        rows, members = stored.rows(contract), stored.rows(dimension)
        found = {column: orphaned_keys(rows, column, members, target) for column in columns}
        orphans = {column: left for column in columns if (left := [key for key in found[column] if key not in besides])}
        says = "; ".join(f"{column}: {found}" for column, found in orphans.items())
        return Finding(not orphans, says or "Every value is in the dimension.", {"orphans": orphans})

    where = f"{dimension.stored_as().sql_name}.{target}"
    besides_it = f", or {' or '.join(besides)}" if besides else ""
    name = f"no_orphans_in_{dimension.stored_as().path[1]}"
    return StoredCheck(
        name, contract, f"Every {' and '.join(columns)} is in {where}{besides_it}.", find, reads=(dimension,)
    )
