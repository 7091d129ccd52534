"""Loads that are going on: by the sensor of landing between its ticks, by a backfill, by a command, by a single run."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from datetime import UTC, datetime
from pathlib import Path

import dagster as dg
import pytest
from dagster._core.execution.backfill import BulkActionStatus, PartitionBackfill
from dagster._core.remote_origin import (
    RegisteredCodeLocationOrigin,
    RemoteInstigatorOrigin,
    RemoteRepositoryOrigin,
)
from dagster._core.scheduler.instigation import (
    InstigatorState,
    InstigatorStatus,
    InstigatorType,
    SensorInstigatorData,
)

from taxi_assets.alerts.loads import Loads
from taxi_assets.calendars import Month, parse_months
from taxi_assets.catalog import FEEDS
from taxi_assets.deliveries.landed import Delivery, Landed, sorted_out
from taxi_assets.deliveries.plan import MOST_RUNS_A_TICK, dump, plan
from taxi_assets.deliveries.status import InLanding
from taxi_assets.instance import batch_tags
from taxi_assets.landing import LandedFile, Landing
from taxi_assets.tlc import TLC
from taxi_assets.tlc.vocabulary import Service
from taxi_assets_tests.scenario import keys_for

pytestmark = pytest.mark.fast

NOWHERE = Landing("/nowhere", {})
NOTHING = Landed({})


@dg.job(name="tlc_month")
def month_job() -> None: ...


@dg.job(name="tlc_green")
def green_job() -> None: ...


@dg.job
def something() -> None: ...


@pytest.fixture
def kept(tmp_path: Path) -> Iterator[dg.DagsterInstance]:
    """Return an instance that keeps sensors, too."""
    with dg.DagsterInstance.local_temp(str(tmp_path)) as instance:
        yield instance


def going_on(
    instance: dg.DagsterInstance,
    landed: Landed = NOTHING,
    stored: set[Delivery] | None = None,
    blocked: Collection[Delivery] = (),
) -> str:
    """Return the services of which a load goes on."""
    found = InLanding(TLC, NOWHERE, landed, dict.fromkeys(blocked, "bad"))
    tables = Loads.of(instance).going_on(found, stored or set())
    return ", ".join(sorted(table.removeprefix("tlc_silver/").removesuffix("_trips") for table in tables))


def files(*paths: str, identity: str = "a") -> Landed:
    return sorted_out(TLC, NOWHERE, [LandedFile(path, 1, identity) for path in paths])


# A single run


def test_a_run_that_is_to_end_is_a_load_of_the_services_that_it_is_for(instance: dg.DagsterInstance) -> None:
    runs = [
        instance.create_run_for_job(month_job, status=dg.DagsterRunStatus.STARTING, tags={FEEDS: "fhv,green"}),
        instance.create_run_for_job(green_job, status=dg.DagsterRunStatus.STARTED),
    ]
    assert going_on(instance) == "fhv, green"
    instance.report_run_failed(runs[0])
    assert going_on(instance) == "green"
    instance.report_run_canceled(runs[1])
    assert going_on(instance) == ""


def test_a_run_of_chosen_assets_is_a_load_of_those_whose_trips_are_among_them(instance: dg.DagsterInstance) -> None:
    for services in ([Service.YELLOW], []):
        run = instance.create_run_for_job(something, status=dg.DagsterRunStatus.STARTED)
        instance.delete_run(run.run_id)
        instance.add_run(run._replace(asset_selection=frozenset(keys_for(services))))
    assert going_on(instance) == "yellow"


def test_a_run_of_something_else_is_no_load(instance: dg.DagsterInstance) -> None:
    instance.create_run_for_job(something, status=dg.DagsterRunStatus.STARTED)
    assert going_on(instance) == ""


# Whatever is still to request runs


def test_a_command_that_is_between_two_months_goes_on(instance: dg.DagsterInstance) -> None:
    tags = {**batch_tags(), "services": "yellow"}
    instance.report_run_failed(instance.create_run_for_job(month_job, status=dg.DagsterRunStatus.STARTED, tags=tags))
    assert going_on(instance) == "yellow"


def test_a_backfill_that_is_to_request_more_goes_on(instance: dg.DagsterInstance) -> None:
    backfill = PartitionBackfill(
        "abc",
        BulkActionStatus.REQUESTED,
        from_failure=False,
        tags={},
        backfill_timestamp=datetime.now(UTC).timestamp(),
        asset_selection=keys_for([Service.GREEN]),
    )
    instance.add_backfill(backfill)
    assert going_on(instance) == "green"
    instance.update_backfill(backfill.with_status(BulkActionStatus.COMPLETED_SUCCESS))
    assert going_on(instance) == ""


def sensor(instance: dg.DagsterInstance, cursor: str, status: InstigatorStatus = InstigatorStatus.RUNNING) -> None:
    """Have the sensor of landing switched on or off, with a cursor."""
    repository = RemoteRepositoryOrigin(RegisteredCodeLocationOrigin("taxi_assets"), "__repository__")
    origin = RemoteInstigatorOrigin(repository, "tlc_landing")
    state = InstigatorState(origin, InstigatorType.SENSOR, status, SensorInstigatorData(cursor=cursor))
    known = {one.instigator_name for one in instance.all_instigator_state()}
    (instance.update_instigator_state if known else instance.add_instigator_state)(state)


def test_a_load_by_the_sensor_goes_on_between_its_ticks_until_its_last_month(kept: dg.DagsterInstance) -> None:
    months = parse_months(["2009-01:2010-12"])
    landed = files(*(f"yellow_tripdata_{month}.parquet" for month in months))
    planned = plan(TLC, landed, {}, {}, {})
    stored: set[Delivery] = set()
    ticks = 0
    while planned.requests:
        sensor(kept, dump(planned.seen))
        stored |= {(Service.YELLOW, request.period) for request in planned.requests}
        ticks += 1
        # All that it has requested has ended; the next tick is to come.
        assert going_on(kept, landed, stored) == ("yellow" if len(stored) < len(months) else "")
        planned = plan(TLC, landed, planned.seen, {}, {})
    assert ticks == len(months) / MOST_RUNS_A_TICK


def test_what_the_sensor_has_dealt_with_or_never_will_is_no_load(kept: dg.DagsterInstance) -> None:
    february = (Service.YELLOW, Month(2024, 2))
    landed = files("yellow_tripdata_2024-02.parquet")
    dealt_with = dump(plan(TLC, landed, {}, {}, {}).seen)
    sensor(kept, "{}")
    assert going_on(kept, landed) == "yellow"
    assert going_on(kept, landed, blocked=[february]) == ""
    two = files(*(f"yellow_tripdata_2024-02.{end}" for end in ("csv", "parquet")))
    assert going_on(kept, two) == ""
    sensor(kept, dealt_with)
    assert going_on(kept, landed) == ""
    again = files("yellow_tripdata_2024-02.parquet", identity="b")
    assert going_on(kept, again) == "yellow"
    sensor(kept, "{}", InstigatorStatus.STOPPED)
    assert going_on(kept, landed) == ""
