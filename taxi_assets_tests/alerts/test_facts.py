"""What a run failed at, as its events have it: the tables of steps that failed, and checks whose own steps did."""

# Without postponed annotations, which Dagster doesn't resolve for `context`.

from collections.abc import Iterator
from typing import Any

import dagster as dg
import pytest
from dagster._core.events import AssetMaterializationPlannedData

from taxi_assets.alerts.facts import RunFact, ended_runs

pytestmark = pytest.mark.fast

TABLE, GOLD = dg.AssetKey(["tlc_silver", "yellow_trips"]), dg.AssetKey(["tlc_gold", "daily"])
CAUSE = "yellow_tripdata_2024-03.parquet can't be used: it's a page. Fetch it again."
FAILED = dg.AssetCheckResult(
    asset_key=TABLE,
    check_name="rows_accounted_for",
    passed=False,
    severity=dg.AssetCheckSeverity.ERROR,
    description=CAUSE,
)


@dg.asset(key=GOLD)
def gold() -> None: ...


@dg.asset(key=TABLE, check_specs=[dg.AssetCheckSpec("within_publish_limit", asset=TABLE)])
def over_its_limit() -> Iterator[Any]:
    yield FAILED._replace(check_name="within_publish_limit")
    raise dg.Failure(CAUSE)


@dg.multi_asset_check(specs=[dg.AssetCheckSpec("rows_accounted_for", asset=TABLE)])
def rows_accounted_for(context: dg.AssetCheckExecutionContext) -> Iterator[Any]:
    # The table is another step's to store, which stored nothing, and ended well.
    planned = AssetMaterializationPlannedData(TABLE)
    event = dg.DagsterEvent.build_asset_materialization_planned_event("month", "tlc_silver__yellow_trips", planned)
    context.instance.report_dagster_event(event, context.run.run_id)
    yield FAILED
    raise dg.Failure(CAUSE)


def failed(instance: dg.DagsterInstance, *definitions: Any) -> RunFact:
    """Run what is defined, which is to fail, and return what is known of it."""
    checks = [one for one in definitions if isinstance(one, dg.AssetChecksDefinition)]
    assets = [one for one in definitions if one not in checks]
    job = dg.Definitions(
        assets,
        asset_checks=checks,
        jobs=[dg.define_asset_job("month", dg.AssetSelection.all() | dg.AssetSelection.all_asset_checks())],
    ).resolve_job_def("month")
    assert not job.execute_in_process(instance=instance, raise_on_error=False).success
    (found,) = ended_runs(instance, 0, ())
    return found


def test_a_check_whose_own_step_fails_is_the_failure_with_its_cause(instance: dg.DagsterInstance) -> None:
    found = failed(instance, gold, rows_accounted_for)
    name = "tlc_silver/yellow_trips:rows_accounted_for"
    assert (found.failed, dict(found.why), found.causes) == ((name,), {name: CAUSE}, (CAUSE,))
    assert found.stored == {"tlc_gold/daily"}
    assert found.not_stored == {"tlc_silver/yellow_trips"}


def test_a_table_whose_own_check_failed_is_the_failure_and_the_check_none_of_its_own(
    instance: dg.DagsterInstance,
) -> None:
    found = failed(instance, over_its_limit, gold)
    assert (found.failed, dict(found.why)) == (("tlc_silver/yellow_trips",), {"tlc_silver/yellow_trips": CAUSE})
