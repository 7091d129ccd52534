"""What has happened since the last look, as Dagster's instance has it: runs that ended, and ticks that did.

The event log is read from a place in it onwards, a batch at a time, never from its beginning. Nothing is judged here.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import islice
from typing import Any, Final

import dagster as dg
from dagster._core.execution.backfill import BULK_ACTION_TERMINAL_STATUSES
from dagster._core.scheduler.instigation import InstigatorStatus, TickStatus
from dagster._core.storage.dagster_run import NOT_FINISHED_STATUSES
from dagster._core.storage.tags import (
    BACKFILL_ID_TAG,
    PARTITION_NAME_TAG,
    SENSOR_NAME_TAG,
    WILL_RETRY_TAG,
)

from taxi_assets.errors import TaxiAssetsError
from taxi_assets.instance import BATCH, is_still_requesting
from taxi_assets.markdown import text_of
from taxi_assets.runs import cause_of_failure

MOST_RUNS_A_LOOK: Final = 100
MOST_TICKS_A_LOOK: Final = 50
"""Of each sensor, the newest: what has come and gone before them, nobody need know."""

Batch = tuple[tuple[str, str], ...]
"""The tags that runs share which were requested together; none of a run that stands alone."""

_ENDS: Final = (
    dg.DagsterEventType.RUN_SUCCESS,
    dg.DagsterEventType.RUN_FAILURE,
    dg.DagsterEventType.RUN_CANCELED,
)
_TOLD_OF_A_RUN: Final = {
    dg.DagsterEventType.ASSET_MATERIALIZATION_PLANNED,
    dg.DagsterEventType.ASSET_MATERIALIZATION,
    dg.DagsterEventType.ASSET_CHECK_EVALUATION_PLANNED,
    dg.DagsterEventType.ASSET_CHECK_EVALUATION,
    dg.DagsterEventType.STEP_FAILURE,
}


class Severity(StrEnum):
    """How bad it is; an error is worse than a warning."""

    WARNING = "warning"
    ERROR = "error"


@dataclass(frozen=True, slots=True)
class CheckFact:
    """A check as a run evaluated it last. `figures` are its counts and shares, `examples` some of the rows."""

    table: str
    name: str
    month: str
    passed: bool
    severity: Severity
    says: str
    figures: Mapping[str, float] = field(default_factory=dict)
    examples: tuple[Mapping[str, Any], ...] = ()


@dataclass(frozen=True, slots=True)
class RunFact:
    """A run that ended. `failed` names what its steps failed at: tables, `table:check`, or else the job.

    `why` has the cause of each of these where a step's is known; `causes` are all. `not_stored` are the other tables
    that it was to store and didn't, as they depend on what failed.
    """

    run_id: str
    job: str
    month: str
    place: int
    ended: dg.DagsterEventType
    batch: Batch = ()
    stored: frozenset[str] = frozenset()
    not_stored: frozenset[str] = frozenset()
    checks: tuple[CheckFact, ...] = ()
    failed: tuple[str, ...] = ()
    causes: tuple[str, ...] = ()
    why: Mapping[str, str] = field(default_factory=dict)
    will_retry: bool = False

    @property
    def concerns(self) -> set[str]:
        """All that it was to store or to check, or failed at."""
        return {*self.stored, *self.not_stored, *self.failed, *(check.table for check in self.checks)}


@dataclass(frozen=True, slots=True)
class TickFact:
    """A tick of a sensor or a schedule that ended; `says` is what it failed of."""

    name: str
    kind: str
    at: float
    failed: bool
    says: str


def last_place(instance: dg.DagsterInstance) -> int:
    """Return the place in the event log of the last run that ended; 0 if none has."""
    ends = (instance.fetch_run_status_changes(end, limit=1).records for end in _ENDS)
    return max((record.storage_id for records in ends for record in records), default=0)


def ended_runs(
    instance: dg.DagsterInstance, after: int, known: Collection[str], most: int = MOST_RUNS_A_LOOK
) -> list[RunFact]:
    """Return the runs that ended after a place in the event log, in that order, but for those that are known."""
    # Those that are known may be the first; as many more as are wanted stand behind them.
    limit = most + len(known)
    by_end = [
        instance.fetch_run_status_changes(
            dg.RunStatusChangeRecordsFilter(end, after_storage_id=after), limit=limit, ascending=True
        ).records
        for end in _ENDS
    ]
    # What lies behind the last that was read of one kind has to wait for what wasn't read of it.
    up_to = min((records[-1].storage_id for records in by_end if len(records) == limit), default=None)
    within = sorted(
        (record for records in by_end for record in records if up_to is None or record.storage_id <= up_to),
        key=lambda record: record.storage_id,
    )
    fresh = {record.run_id: record for record in within if record.run_id not in known}
    return list(_runs(instance, list(fresh.values())[:most]))


def ended_ticks(instance: dg.DagsterInstance, after: Mapping[str, float]) -> list[TickFact]:
    """Return the ticks of what is switched on that ended after a time, which goes by its name; or else the last one."""
    ticks = []
    # An instance that isn't to last keeps no ticks, and can't be asked for them.
    for state in instance.all_instigator_state() if instance.schedule_storage else ():
        if state.status is InstigatorStatus.STOPPED:
            continue
        since = after.get(state.instigator_name)
        found = instance.get_ticks(
            state.instigator_origin_id,
            state.selector_id,
            after=since,
            limit=1 if since is None else MOST_TICKS_A_LOOK,
            statuses=[TickStatus.FAILURE, TickStatus.SUCCESS, TickStatus.SKIPPED],
        )
        ticks += [
            TickFact(
                name=state.instigator_name,
                kind=state.instigator_type.value.lower(),
                at=tick.timestamp,
                failed=tick.status is TickStatus.FAILURE,
                says=_cause(tick.error) if tick.error else "",
            )
            for tick in found
        ]
    return sorted(ticks, key=lambda tick: tick.at)


def going_on(instance: dg.DagsterInstance, batches: Collection[Batch]) -> set[Batch]:
    """Return those of some batches of which more runs are to end."""
    return {batch for batch in batches if batch and _goes_on(instance, dict(batch))}


def _goes_on(instance: dg.DagsterInstance, tags: Mapping[str, str]) -> bool:
    backfill = instance.get_backfill(tags[BACKFILL_ID_TAG]) if BACKFILL_ID_TAG in tags else None
    if backfill is not None and backfill.status not in BULK_ACTION_TERMINAL_STATUSES:
        return True
    if BATCH in tags and is_still_requesting(tags[BATCH]):
        return True
    return instance.get_runs_count(dg.RunsFilter(tags=dict(tags), statuses=list(NOT_FINISHED_STATUSES))) > 0


def _runs(instance: dg.DagsterInstance, records: list[Any]) -> Iterator[RunFact]:
    if not records:
        return
    runs = {run.run_id: run for run in instance.get_runs(dg.RunsFilter(run_ids=[record.run_id for record in records]))}
    for record in records:
        # A run that was deleted since has nothing to tell.
        if record.run_id in runs:
            yield _run(instance, runs[record.run_id], record)


def _run(instance: dg.DagsterInstance, run: dg.DagsterRun, record: Any) -> RunFact:
    events: dict[dg.DagsterEventType, list[Any]] = {kind: [] for kind in _TOLD_OF_A_RUN}
    for entry in instance.get_records_for_run(run.run_id, of_type=_TOLD_OF_A_RUN).records:
        event = entry.event_log_entry.get_dagster_event()
        events[event.event_type].append(event)
    month = run.tags.get(PARTITION_NAME_TAG, "")
    # A step that is done again evaluates its checks again; the last result is the one that holds.
    checks = {
        (event.step_key, event.asset_check_evaluation_data.asset_check_key): _check(
            event.asset_check_evaluation_data, month
        )
        for event in events[dg.DagsterEventType.ASSET_CHECK_EVALUATION]
    }
    # Checks that the UI runs alone are of no partition, but each says of which it has looked.
    month = month or next(iter({check.month for check in checks.values()}), "")
    planned = [(event.step_key, _table(event)) for event in events[dg.DagsterEventType.ASSET_MATERIALIZATION_PLANNED]]
    stored = {_table(event) for event in events[dg.DagsterEventType.ASSET_MATERIALIZATION]}
    not_stored = {table for _, table in planned} - stored
    causes = {event.step_key: cause_of_failure(event) for event in events[dg.DagsterEventType.STEP_FAILURE]}
    ended = record.event_log_entry.get_dagster_event()
    why: dict[str, str] = {}
    failed: set[str] = set()
    if ended.event_type is dg.DagsterEventType.RUN_FAILURE:
        why = {table: causes[step] for step, table in planned if step in causes and table in not_stored}
        # What a table's own step found of it is part of why it failed.
        why |= {
            f"{check.table}:{check.name}": causes[step]
            for (step, _), check in checks.items()
            if step in causes and not check.passed and check.severity is Severity.ERROR and check.table not in why
        }
        # A run may fail without a step that does: its process is gone, or it couldn't begin.
        failed = set(why) or (not_stored if not causes else _unchecked(events, checks, causes)) or {run.job_name}
    return RunFact(
        run_id=run.run_id,
        job=run.job_name,
        month=month,
        place=record.storage_id,
        ended=ended.event_type,
        batch=_batch(run.tags),
        stored=frozenset(stored),
        not_stored=frozenset(not_stored - failed),
        checks=tuple(checks.values()),
        failed=tuple(sorted(failed)),
        causes=tuple(dict.fromkeys(causes.values())) or (ended.message or "Dagster doesn't say why.",),
        why=why,
        will_retry=run.tags.get(WILL_RETRY_TAG) == "true",
    )


def _unchecked(
    events: Mapping[dg.DagsterEventType, list[Any]], checks: Collection[tuple[str, Any]], failed_steps: Collection[str]
) -> set[str]:
    """Name the checks that steps were to evaluate, and failed before."""
    planned = events[dg.DagsterEventType.ASSET_CHECK_EVALUATION_PLANNED]
    keys = [(event.step_key, event.asset_check_planned_data.asset_check_key) for event in planned]
    return {
        f"{'/'.join(key.asset_key.path)}:{key.name}"
        for step, key in keys
        if step in failed_steps and (step, key) not in checks
    }


def _table(event: Any) -> str:
    return "/".join(event.asset_key.path)


def _batch(tags: Mapping[str, str]) -> Batch:
    shared = (name for name in (BACKFILL_ID_TAG, SENSOR_NAME_TAG, BATCH) if name in tags)
    return tuple((name, tags[name]) for name in islice(shared, 1))


def _check(evaluation: Any, month: str) -> CheckFact:
    figures = {
        name: value.value
        for name, value in evaluation.metadata.items()
        if isinstance(value, (dg.IntMetadataValue, dg.FloatMetadataValue)) and value.value is not None
    }
    examples = evaluation.metadata.get("examples")
    return CheckFact(
        table="/".join(evaluation.asset_key.path),
        name=evaluation.check_name,
        month=evaluation.partition or month,
        passed=evaluation.passed,
        severity=Severity.WARNING if evaluation.severity is dg.AssetCheckSeverity.WARN else Severity.ERROR,
        says=text_of(evaluation.description or ""),
        figures=figures,
        examples=tuple(record.data for record in examples.records) if examples else (),
    )


def _cause(error: Any) -> str:
    """Return what an error says that is written for the user; if there is none among its causes, the first of all."""
    says = []
    while error is not None:
        says.append(str(error.message).strip())
        error = error.cause
    for_the_user = (one.partition(": ")[2] for one in says if one.startswith(f"{TaxiAssetsError.__module__}."))
    return next(for_the_user, says[-1])
