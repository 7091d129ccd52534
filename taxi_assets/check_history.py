"""The last result of each check for a partition, as Dagster's event log has it."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Any

import dagster as dg
from dagster._core.event_api import PartitionKeyFilter
from dagster._core.storage.asset_check_execution_record import AssetCheckExecutionRecordStatus

from taxi_assets.markdown import text_of


@dataclass(frozen=True, slots=True)
class CheckResult:
    """A check's last evaluation of a partition: passed, warned, failed, or not run (planned, and never done)."""

    table: str
    name: str
    status: str
    says: str
    rows_failing: int | None
    tolerance: float | None
    run_id: str


@dataclass(frozen=True, slots=True)
class CheckState:
    """How a check's last evaluation of a partition ended; `place` grows from one evaluation or plan to the next.

    A check that is planned, and not evaluated yet or never, hasn't failed.
    """

    key: dg.AssetCheckKey
    partition_key: str
    failed: bool
    run_id: str
    place: int


def latest_states(
    instance: dg.DagsterInstance, checks: Collection[dg.AssetCheckKey], partition_keys: Collection[str]
) -> list[CheckState]:
    """Return the states of checks for many partitions at once, without what `latest_results` says of them."""
    # No public counterpart to this question either; test_upstream.py pins the answer.
    found = instance.event_log_storage.get_asset_check_partition_info(list(checks), partition_keys=list(partition_keys))
    return [
        CheckState(
            key=info.check_key,
            partition_key=str(info.partition_key),
            failed=info.latest_execution_status is AssetCheckExecutionRecordStatus.FAILED,
            run_id=info.latest_planned_run_id,
            place=info.latest_check_event_storage_id,
        )
        for info in found
    ]


def in_words(errors: int, warnings: int) -> str:
    """Count checks that didn't pass: ``1 error, 3 warnings``; nothing if there are none."""
    counts = {"error": errors, "warning": warnings}
    return ", ".join(f"{count:,} {what}{'s' * (count > 1)}" for what, count in counts.items() if count)


def only_warned(instance: dg.DagsterInstance, states: Iterable[CheckState]) -> set[CheckState]:
    """Return those of some states whose check failed as a warning, by one question for each partition."""
    failed: dict[str, list[CheckState]] = {}
    for state in states:
        if state.failed:
            failed.setdefault(state.partition_key, []).append(state)
    warned: set[CheckState] = set()
    for partition_key, of_partition in failed.items():
        results = latest_results(instance, [state.key for state in of_partition], partition_key)
        warnings = {(result.table, result.name) for result in results if result.status == "warned"}
        warned |= {state for state in of_partition if (_table(state.key), state.key.name) in warnings}
    return warned


def latest_results(
    instance: dg.DagsterInstance, checks: Collection[dg.AssetCheckKey], partition_key: str
) -> list[CheckResult]:
    """Return the results of the checks that ever ran, or were to run, for a partition, in the order given."""
    # The event log storage has no public counterpart to this question (dagster 1.13); test_upstream.py pins the answer.
    found = instance.event_log_storage.get_latest_asset_check_execution_by_key(
        list(checks), partition_filter=PartitionKeyFilter(key=partition_key)
    )
    return [_result(key, found[key]) for key in checks if found.get(key) is not None]


def _result(key: dg.AssetCheckKey, record: Any) -> CheckResult:
    evaluation = record.evaluation if record.evaluation and hasattr(record.evaluation, "passed") else None
    metadata = evaluation.metadata if evaluation else {}
    return CheckResult(
        table=_table(key),
        name=key.name,
        status=_status(evaluation),
        says=text_of(evaluation.description or "") if evaluation else "",
        rows_failing=_number(metadata.get("rows_failing")),
        tolerance=_number(metadata.get("tolerance")),
        run_id=record.run_id,
    )


def _table(key: dg.AssetCheckKey) -> str:
    return ".".join(key.asset_key.path)


def _status(evaluation: Any) -> str:
    if evaluation is None:
        return "not run"
    if evaluation.passed:
        return "passed"
    return "warned" if evaluation.severity is dg.AssetCheckSeverity.WARN else "failed"


def _number(value: Any) -> Any:
    return value.value if value is not None else None
