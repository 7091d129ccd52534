"""Passing a partition by: what a step does that has nothing to store, for a reason that is no failure.

An optional output would be Dagster's way, but then all that comes after it is skipped, even a table of several sources
that has the others. So a step that passes by does hand an output over, of which nothing is stored and nothing recorded;
a step that needs it passes by as well, and one that needs any of several does so if it has none.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

import dagster as dg

# Dagster has no public way to an output of an asset that is no materialization; test_upstream.py pins this one.
from dagster._core.definitions.source_asset import SYSTEM_METADATA_KEY_SOURCE_ASSET_OBSERVATION as UNRECORDED

PASSED_BY: Final = "passed_by"
"""Resource key of the notes, and metadata of an observation: why a table's partition was passed by."""

_TABLE: Final = "passed_by_table"
_OF_TABLES: Final = {dg.DagsterEventType.ASSET_MATERIALIZATION, dg.DagsterEventType.HANDLED_OUTPUT}


@dataclass(frozen=True, slots=True)
class PassBy:
    """What a transform returns, or yields, instead of rows: why there is nothing to store."""

    reason: str


class PassedBy:
    """Notes which tables each run has passed by, and why.

    Within a process it remembers. A retried run is another one, in another process, that goes on from where the first
    was; so notes stand in the run's log, too.
    """

    def __init__(self) -> None:
        self._reasons: dict[tuple[str, dg.AssetKey], str] = {}

    def note(self, context: dg.OutputContext, passed: PassBy) -> None:
        """Note that a run has passed an output's table by."""
        self._reasons[context.run_id, context.asset_key] = passed.reason
        context.add_output_metadata({PASSED_BY: passed.reason, _TABLE: context.asset_key.to_user_string()})

    def found(self, instance: dg.DagsterInstance, run: dg.DagsterRun, key: dg.AssetKey) -> PassBy | None:
        """Return why a run, or the one that it goes on with, has passed a table by; None if it hasn't."""
        reason = self._reasons.get((run.run_id, key))
        return PassBy(reason) if reason is not None else _of_earlier_runs(instance, run, key)


def _of_earlier_runs(instance: dg.DagsterInstance, run: dg.DagsterRun, key: dg.AssetKey) -> PassBy | None:
    """Return why a table was passed by in the last one of a retried run's line that saw to it; None if it stored it."""
    if run.parent_run_id is None:
        return None
    next_run: dg.DagsterRun | None = run
    while next_run is not None:
        for entry in reversed(instance.all_logs(next_run.run_id, of_type=_OF_TABLES)):
            event = entry.get_dagster_event()
            if event.is_step_materialization:
                if event.asset_key == key:
                    return None
            elif _text(event, _TABLE) == key.to_user_string():
                return PassBy(_text(event, PASSED_BY))
        next_run = instance.get_run_by_id(next_run.parent_run_id) if next_run.parent_run_id else None
    return None


def _text(event: dg.DagsterEvent, name: str) -> str:
    data: Any = event.event_specific_data
    found = data.metadata.get(name)
    return "" if found is None else str(found.value)


def missing_input(inputs: Mapping[str, Any], optional: Collection[str]) -> PassBy | None:
    """Return why a step's inputs keep it from storing anything: one that it needs, or every optional one."""
    passed = {name: value for name, value in inputs.items() if isinstance(value, PassBy)}
    needed = [reason for name, reason in passed.items() if name not in optional]
    if needed:
        return needed[0]
    there = [name for name in optional if inputs.get(name) is not None and name not in passed]
    return next(iter(passed.values()), None) if not there else None


def pass_by(context: dg.AssetExecutionContext, passed: PassBy) -> Iterator[Any]:
    """Hand over, for every table and check of a step, that it was passed by."""
    context.log.info("Passed by: %s", passed.reason)
    for key in sorted(context.selected_asset_keys):
        yield dg.MaterializeResult(asset_key=key, value=passed, metadata={UNRECORDED: True})
    for spec in context.assets_def.check_specs:
        yield dg.Output(None, output_name=spec.get_python_identifier())


def observe(context: dg.AssetExecutionContext, passed: PassBy) -> None:
    """Warn, and show in the UI with the partition of a step's tables, why it is passed by."""
    context.log.warning(passed.reason)
    for key in sorted(context.selected_asset_keys):
        context.log_event(
            dg.AssetObservation(key, partition=context.partition_key, metadata={PASSED_BY: passed.reason})
        )
