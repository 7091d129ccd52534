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


@dataclass(frozen=True, slots=True)
class PassBy:
    """What a transform returns, or yields, instead of rows: why there is nothing to store."""

    reason: str


class PassedBy:
    """Notes which tables each run of this process has passed by, and why."""

    def __init__(self) -> None:
        self._reasons: dict[tuple[str, dg.AssetKey], str] = {}

    def note(self, run_id: str, key: dg.AssetKey, passed: PassBy) -> None:
        """Note that a run has passed a table by."""
        self._reasons[run_id, key] = passed.reason

    def found(self, run_id: str, key: dg.AssetKey) -> PassBy | None:
        """Return why a run has passed a table by; None if it hasn't."""
        reason = self._reasons.get((run_id, key))
        return PassBy(reason) if reason is not None else None


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
