"""Passing a partition by: what a step does that has nothing to store, and what those do that need its tables.

An optional output would be Dagster's way, but then all that comes after it is skipped, even a table of several sources
that has the others. So a step that passes by does hand an output over, of which nothing is stored and nothing recorded;
a step that needs it passes by as well, and one that needs any of several does so if it has none.

A step that fails hands over the same before it fails: one bad source withholds nothing from what is made of others.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, cast

import dagster as dg

# Dagster has no public way to an output of an asset that is no materialization; test_upstream.py pins this one.
from dagster._core.definitions.source_asset import SYSTEM_METADATA_KEY_SOURCE_ASSET_OBSERVATION as UNRECORDED

from taxi_assets.lake.failures import said_by

PASSED_BY: Final = "passed_by"
"""Resource key of the notes, and metadata of an observation: why a table's partition was passed by."""

MOST_RETRIES: Final = 5
"""How often a step is done again because its inputs have changed meanwhile."""

_TABLE: Final = "passed_by_table"
_OF_TABLES: Final = {dg.DagsterEventType.ASSET_MATERIALIZATION, dg.DagsterEventType.HANDLED_OUTPUT}


@dataclass(frozen=True, slots=True)
class PassBy:
    """What a transform returns, or yields, instead of rows: why there is nothing to store."""

    reason: str


@dataclass(frozen=True, slots=True)
class NotLoaded(PassBy):
    """An input that couldn't be loaded. Its step does what it can without it, and then fails by this error."""

    error: Exception


class PassedBy:
    """Notes which tables each run has passed by, and why; and which it has stored that nothing may be made of.

    Within a process it remembers. A retried run is another one, in another process, that goes on from where the first
    was; so what was passed by stands in the run's log, too. What failed is done again by such a run.
    """

    def __init__(self) -> None:
        self._reasons: dict[tuple[str, dg.AssetKey], str] = {}
        self._unsound: dict[tuple[str, dg.AssetKey], str] = {}
        self._unsettled: set[tuple[str, dg.AssetKey]] = set()
        self._watched: dict[tuple[str, dg.AssetKey], list[Exception]] = {}

    def note(self, context: dg.OutputContext, passed: PassBy) -> None:
        """Note that a run has passed an output's table by."""
        self._reasons[context.run_id, context.asset_key] = passed.reason
        context.add_output_metadata({PASSED_BY: passed.reason, _TABLE: context.asset_key.to_user_string()})

    def watch(self, run_id: str, keys: Collection[dg.AssetKey]) -> list[Exception]:
        """Return where to find what keeps a step's tables from being written; the step then fails by that itself."""
        errors: list[Exception] = []
        self._watched.update({(run_id, key): errors for key in keys})
        return errors

    def fails_by_itself(self, context: dg.OutputContext, error: Exception) -> bool:
        """Leave what kept a table from being written to its step, and record nothing of it; whether the step looks."""
        errors, metadata = self._watched.get((context.run_id, context.asset_key)), context.output_metadata
        # Dagster looks into the same dictionary, unless it is empty; test_upstream.py pins that. A step whose table has
        # no metadata has no other to hand over, and may as well fail here.
        if errors is None or not metadata:
            return False
        errors.append(error)
        cast("dict[str, Any]", metadata)[UNRECORDED] = True
        return True

    def note_failure(self, run_id: str, key: dg.AssetKey, reason: str) -> None:
        """Note that a run couldn't store a table, which is as it was."""
        self._reasons[run_id, key] = reason

    def note_unsound(self, run_id: str, keys: Collection[dg.AssetKey], reason: str) -> None:
        """Note that a run has stored tables whose rows can't be trusted."""
        self._unsound.update({(run_id, key): reason for key in keys})

    def unsound(self, run_id: str, key: dg.AssetKey) -> PassBy | None:
        """Return why nothing may be made of what a run has stored of a table; None if it is sound."""
        reason = self._unsound.get((run_id, key))
        return None if reason is None else PassBy(reason)

    def note_unsettled(self, run_id: str, key: dg.AssetKey) -> None:
        """Note that a table, though stored, is about to be made again by the same run."""
        self._unsettled.add((run_id, key))

    def note_settled(self, run_id: str, key: dg.AssetKey) -> None:
        """Note that a table is as the run leaves it, and that what was said of its rows before no longer holds."""
        self._unsettled.discard((run_id, key))
        self._unsound.pop((run_id, key), None)

    def note_not_redone(self, run_id: str, key: dg.AssetKey, reason: str) -> None:
        """Note that a table won't be made again: if it was to be, what the run has stored of it can't be trusted."""
        if (run_id, key) in self._unsettled:
            self._unsettled.discard((run_id, key))
            self.note_unsound(run_id, [key], reason)

    def wait_for(self, run_id: str, key: dg.AssetKey) -> None:
        """Put the step that asks off, if a table that it reads is about to be made again. Raises RetryRequested."""
        if (run_id, key) in self._unsettled:
            raise dg.RetryRequested(max_retries=MOST_RETRIES)

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
    yield from _handed_over(context, passed)


def _handed_over(
    context: dg.AssetExecutionContext,
    passed: PassBy,
    tables: Collection[dg.AssetKey] = (),
    checks: Collection[str] = (),
) -> Iterator[Any]:
    """Hand over that nothing is stored of a step's tables, but for what it has handed over already."""
    for key in sorted(context.selected_asset_keys.difference(tables)):
        yield dg.MaterializeResult(asset_key=key, value=passed, metadata={UNRECORDED: True})
    for spec in context.assets_def.check_specs:
        if spec.name not in checks:
            yield no_result(spec)


def failing_alone(passed_by: PassedBy, results: Iterator[Any]) -> Iterator[Any]:
    """Hand a step's results over; if it fails, also that nothing is stored of those of its tables that were to come.

    If it has stored one before, that is noted as unsound. Either way what needs its tables passes by, and what is made
    of any of several goes on without them. The step itself fails as it would have, and where a table can't be written.
    """
    try:
        context = dg.AssetExecutionContext.get()
    except dg.DagsterInvariantViolationError:
        # Called by hand, without a run: nothing is stored.
        yield from results
        return
    run_id, every = context.run.run_id, context.selected_asset_keys
    not_written = passed_by.watch(run_id, every)
    stored, latest, tables, checks = False, False, set[dg.AssetKey](), set[str]()
    try:
        for result in _until_not_written(results, not_written):
            stored, latest = stored or latest, isinstance(result, dg.MaterializeResult)
            if latest:
                tables |= {result.asset_key} if result.asset_key else every
            elif isinstance(result, dg.AssetCheckResult):
                checks.add(str(result.check_name))
            yield result
    except dg.RetryRequested:
        raise
    except Exception as error:
        reason = said_by(error)
        if stored or (latest and not not_written):
            passed_by.note_unsound(run_id, every, reason)
        context.log.warning("Failed; what needs its tables passes by.")
        yield from _handed_over(context, PassBy(reason), tables, checks)
        raise


def _until_not_written(results: Iterator[Any], not_written: list[Exception]) -> Iterator[Any]:
    """Hand results over, up to one that couldn't be written; that raises what kept it from being."""
    for result in results:
        yield result
        if not_written:
            raise not_written[0]


def without_not_loaded(inputs: Collection[Any], results: Iterator[Any]) -> Iterator[Any]:
    """Hand a step's results over; then fail, if an input of it couldn't be loaded."""
    yield from results
    for value in inputs:
        if isinstance(value, NotLoaded):
            raise value.error


def no_result(spec: dg.AssetCheckSpec) -> dg.Output[None]:
    """Hand over that a check has no result, for what comes after it not to wait for one."""
    return dg.Output(None, output_name=spec.get_python_identifier())


def observe(context: dg.AssetExecutionContext, passed: PassBy) -> None:
    """Warn, and show in the UI with the partition of a step's tables, why it is passed by."""
    context.log.warning(passed.reason)
    for key in sorted(context.selected_asset_keys):
        context.log_event(
            dg.AssetObservation(key, partition=context.partition_key, metadata={PASSED_BY: passed.reason})
        )
