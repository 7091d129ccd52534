"""The IO manager of all tables: a partition is loaded as a lazy frame and published as one commit.

dagster-deltalake's own IO manager isn't used for writing: it loses partitions when several runs write at once, and
overwrites whole tables when a predicate fails (dagster-deltalake 0.29.27; see docs/adr/0001).
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import dagster as dg
import narwhals.stable.v1 as nw

from taxi_assets.contracts import Contract, Frame, contract_of
from taxi_assets.engines import DataFile, Partition, Written, engine_of
from taxi_assets.errors import LakeError, LandingError, TaxiAssetsError, UnreadableRowsError
from taxi_assets.lake.failures import one_clear_failure, said_by
from taxi_assets.lake.figures import figures_of
from taxi_assets.lake.lake import Lake
from taxi_assets.lake.metadata import (
    CUT_OFF,
    EMBEDDED,
    OPTIONAL,
    SOURCE_COLUMNS,
    TABLE_VERSION,
    UNKNOWN_COLUMNS,
    column_schema,
)
from taxi_assets.lake.partitions import partition_of
from taxi_assets.lake.passed_by import MOST_RETRIES, PASSED_BY, NotLoaded, PassBy, PassedBy
from taxi_assets.lake.re_issues import SOURCE_FINGERPRINT, what_changed
from taxi_assets.lake.stored_checks import Stored


@dataclass(frozen=True, slots=True)
class _Loaded:
    """An input's partition as it was when a step loaded it."""

    contract: type[Contract]
    partition: Partition
    files: list[DataFile]


class DeltaLakeIOManager(dg.IOManager):
    """Stores lazy frames as partitions of Delta tables, or upserts them where the contract has no partitions.

    An input whose AssetIn has the metadata `OPTIONAL` is None where the upstream never stored the partition; any
    other input is an error then. One with `EMBEDDED` is read within this process. A table that the run has passed by is
    a PassBy as input, unless it is an optional one of which an earlier run has stored the partition. One that the run
    has stored and that is unsound is always a PassBy.

    Runs of one partition that don't know of each other may publish an input while a step works on what it was before.
    The step is then done again: whoever publishes last has seen what its inputs are. Those that read its table are put
    off until then.
    """

    def __init__(self, lake: Lake, passed_by: PassedBy) -> None:
        self._lake, self._passed_by = lake, passed_by
        self._loaded: dict[tuple[str, str], list[_Loaded]] = {}

    def handle_output(self, context: dg.OutputContext, obj: Frame | PassBy) -> None:
        """Publish a frame: every partition of the run in a commit of its own, or all rows by key."""
        of_this_run = (context.run_id, context.asset_key)
        if isinstance(obj, PassBy):
            self._passed_by.note(context, obj)
            self._passed_by.note_not_redone(*of_this_run, obj.reason)
            return
        written: list[Written] = []
        try:
            self._publish(context, obj, written)
        except Exception as error:
            if written:
                self._passed_by.note_unsound(context.run_id, [context.asset_key], said_by(error))
            else:
                self._passed_by.note_failure(*of_this_run, said_by(error))
            self._passed_by.note_not_redone(*of_this_run, said_by(error))
            if self._passed_by.fails_by_itself(context, error):
                return
            raise
        for loaded in self._loaded.get((context.run_id, context.step_key), []):
            if self._files(loaded.contract, loaded.partition) != loaded.files:
                self._passed_by.note_unsettled(*of_this_run)
                raise dg.RetryRequested(max_retries=MOST_RETRIES)
        self._passed_by.note_settled(*of_this_run)

    def _publish(self, context: dg.OutputContext, frame: Frame, written: list[Written]) -> None:
        """Publish each partition, and add it to those that are `written`; then report."""
        contract = contract_of("/".join(context.asset_key.path))
        location = self._lake.location(contract)
        partitions, notes = self._partitions(contract, context), _notes(context)
        for key, partition in partitions:
            where = f"{contract.stored_as().key} {key}".strip()
            with one_clear_failure(where, f"{where} stands"):
                try:
                    written.append(self._write(contract, frame, partition, notes, context.run_id))
                except UnreadableRowsError as error:
                    raise _with_source(error, context) from error
        fingerprint = _plain((context.output_metadata or {}).get(SOURCE_FINGERPRINT))
        changes = Counter[str]()
        with one_clear_failure(f"{contract.stored_as().key} is stored; comparing it with what it was before"):
            for part in written if fingerprint else ():
                changes.update(what_changed(contract, part, fingerprint))
        figures: dict[str, float] = {}
        if contract.stored_as().replaced_by and len(partitions) == 1:
            ((key, _),) = partitions
            with one_clear_failure(f"{contract.stored_as().key} is stored; asking its figures"):
                figures = figures_of(contract, Stored(self._lake.embedded(), context.asset_partitions_def, key))
        context.add_output_metadata(
            {
                **figures,
                **changes,
                "dagster/partition_row_count": sum(part.rows for part in written),
                "dagster/row_count": location.row_count() or 0,
                TABLE_VERSION: written[-1].version,
                "bytes_written": sum(part.bytes for part in written),
                "path": dg.MetadataValue.path(location.uri),
                "dagster/uri": location.uri,
                "dagster/column_schema": column_schema(contract),
            }
        )

    def load_input(self, context: dg.InputContext) -> Frame | PassBy | None:
        """Load the partitions that the run's partition maps to, or the whole table for an asset without partitions.

        For a step of ours, which fails by itself, what can't be loaded is a NotLoaded.
        """
        try:
            return self._load(context)
        except dg.RetryRequested:
            raise
        except Exception as error:
            if PASSED_BY in context.step_context.required_resource_keys:
                return NotLoaded(said_by(error), error)
            raise

    def _load(self, context: dg.InputContext) -> Frame | PassBy | None:
        contract = contract_of("/".join(context.asset_key.path))
        asked = context.definition_metadata or {}
        lake = self._lake.embedded() if asked.get(EMBEDDED) else self._lake
        step = context.step_context
        self._passed_by.wait_for(step.run_id, context.asset_key)
        unsound = self._passed_by.unsound(step.run_id, context.asset_key)
        if unsound:
            return unsound
        passed = self._passed_by.found(step.instance, step.dagster_run, context.asset_key)
        if passed and not asked.get(OPTIONAL):
            return passed
        with one_clear_failure(f"{context.asset_key.path[-1]} as input of {step.step.key}"):
            if not contract.stored_as().replaced_by or not context.has_asset_partitions or _are_all(context):
                return lake.read(contract)
            partitions = [partition for _, partition in self._partitions(contract, context)]
            self._remember(contract, partitions, context)
            stored = [part for part in partitions if self._lake.row_count(contract, part) is not None]
            if stored == partitions and stored:
                return lake.read(contract, partitions)
            if asked.get(OPTIONAL):
                return lake.read(contract, stored) if stored else passed
            absent = [str(part) for part in partitions if part not in stored]
            raise LakeError(
                f"{contract.stored_as().key} doesn't hold {', '.join(absent) or context.asset_partition_keys}. "
                "Materialize that partition first."
            )

    def _remember(self, contract: type[Contract], partitions: Sequence[Partition], context: dg.InputContext) -> None:
        step = context.step_context
        loaded = self._loaded.setdefault((step.run_id, step.step.key), [])
        loaded[:] = [earlier for earlier in loaded if earlier.contract is not contract]
        loaded += [_Loaded(contract, partition, self._files(contract, partition)) for partition in partitions]

    def _files(self, contract: type[Contract], partition: Partition) -> list[DataFile]:
        return self._lake.location(contract).files(partition)

    def _partitions(self, contract: type[Contract], context: Any) -> Sequence[tuple[str, Partition]]:
        """Return the partitions of a run, and their keys; for a table without partitions the one of all rows."""
        if not contract.stored_as().replaced_by:
            return [("", {})]
        definition = context.asset_partitions_def
        return [(key, partition_of(contract, definition, key)) for key in context.asset_partition_keys]

    def _write(
        self, contract: type[Contract], frame: Frame, partition: Partition, notes: Mapping[str, str], run_id: str
    ) -> Written:
        location, engine = self._lake.location(contract), engine_of(frame)
        if not partition:
            return engine.upsert(contract, location, frame, run_id=run_id)
        rows = frame.filter(*(nw.col(name) == nw.lit(value) for name, value in partition.items()))
        return engine.replace(contract, location, rows, partition, notes, run_id=run_id)


def _are_all(context: dg.InputContext) -> bool:
    """Whether an input is asked for every partition there can be, as by an asset that has none itself."""
    return set(context.asset_partition_keys) == set(context.asset_partitions_def.get_partition_keys())


def _plain(value: Any) -> Any:
    """Return the value of a piece of metadata, however it is wrapped."""
    return getattr(value, "value", value)


_NOTED: Final = (SOURCE_COLUMNS, UNKNOWN_COLUMNS, CUT_OFF)


def _notes(context: dg.OutputContext) -> dict[str, str]:
    """Return, as JSON, what an output's metadata says of its file and checks ask of the stored partition later."""
    metadata = context.output_metadata or {}
    return {name: json.dumps(_plain(metadata[name])) for name in _NOTED if name in metadata}


def _with_source(error: UnreadableRowsError, context: dg.OutputContext) -> TaxiAssetsError:
    """Name the file that the rows were to come from, where the asset has said which."""
    name = _plain((context.output_metadata or {}).get("source_file"))
    if name is None:
        return LakeError(f"What {'/'.join(context.asset_key.path)} is made from can't be read: {error}.")
    return LandingError(f"{name} can't be used: {error}. Fetch it again, or take it out of landing.")
