"""Alerts from end to end: from the fact, a file that lands and is run, to the message that a server receives."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import dagster as dg
import pytest
from dagster._core.execution.backfill import BulkActionStatus, PartitionBackfill

from taxi_assets.alerts import plan
from taxi_assets.alerts.facts import ended_runs, last_place
from taxi_assets.alerts.routes import Alerts, Route
from taxi_assets.alerts.sensor import NO_ROUTE, alerts_sensor
from taxi_assets.calendars import Month
from taxi_assets.definitions import build_defs
from taxi_assets.instance import BATCH, open_instance
from taxi_assets.places import landing_of
from taxi_assets.settings import Settings
from taxi_assets.tlc.vocabulary import Service
from taxi_assets_tests.alerts.happenings import UI, route
from taxi_assets_tests.alerts.receivers import Mailbox, Webhook, written
from taxi_assets_tests.full.processes import Home
from taxi_assets_tests.scenario import BLOCKED_MONTHS, MONTH, Workspace, keys_for, trips

pytestmark = pytest.mark.full

GREEN = "tlc_silver/green_trips"
BAD_PAYMENT = {"payment_type": 42, "vendor_id": 1}


@dataclass
class Watch:
    """The sensor, ticked by hand, on a workspace and two servers: all goes to the web, errors go by mail, too."""

    workspace: Workspace
    webhook: Webhook
    mailbox: Mailbox
    cursor: str | None = None
    log: list[str] = field(default_factory=list)

    @property
    def routes(self) -> tuple[Route, ...]:
        return route("hook", url=self.webhook.url), route("mail", "error", url=self.mailbox.url)

    def tick(self, *routes: Route) -> str:
        """Let the sensor look once, and return what it says of itself."""
        context = dg.build_sensor_context(
            instance=self.workspace.instance,
            cursor=self.cursor,
            resources={
                "landing": landing_of(self.workspace.settings),
                "lake": self.workspace.lake,
                "alerts": Alerts(routes or self.routes, UI),
            },
        )
        result = alerts_sensor(context)
        assert isinstance(result, dg.SensorResult)
        assert isinstance(result.skip_reason, dg.SkipReason)
        self.cursor = result.cursor or self.cursor
        return str(result.skip_reason.skip_message)

    def run(self, *rows: dict[str, Any], month: Month = MONTH) -> dg.ExecuteInProcessResult:
        """Land a month of green's trips, and run it."""
        self.workspace.land(Service.GREEN, rows, month)
        return self.workspace.run(Service.GREEN, month=month)


@pytest.fixture
def watch(workspace: Workspace) -> Iterator[Watch]:
    """A watch that was switched on before there was anything, and that has seen a good January."""
    with Webhook() as webhook, Mailbox() as mailbox:
        watch = Watch(workspace, webhook, mailbox)
        watch.tick()
        assert watch.run(*trips(10)).success
        watch.tick()
        assert webhook.received == []
        yield watch


def test_a_check_that_fails_in_a_green_run_is_told_once_and_once_more_when_it_passes(watch: Watch) -> None:
    done = watch.run(*trips(10), *trips(1, **BAD_PAYMENT))
    assert done.success
    watch.tick()
    received = watch.webhook.only()
    assert (received["title"], received["type"]) == (f"[warning] {GREEN} 2024-01: known_payment_type", "warning")
    for part in (
        "Rows that break it: 1 of 11, 9.091%; tolerance 0.000%",
        "payment_type 42",
        "source_row 11",
        f"{UI}/runs/{done.run_id}",
        "What to do: ",
    ):
        assert part in received["message"], part

    watch.run(*trips(11), *trips(1, **BAD_PAYMENT))
    watch.tick()
    watch.tick()
    assert watch.webhook.received == []

    well = watch.run(*trips(12))
    watch.tick()
    received = watch.webhook.only()
    assert (received["title"], received["type"]) == (f"[well again] {GREEN} 2024-01: known_payment_type", "success")
    assert f"{UI}/runs/{well.run_id}" in received["message"]
    watch.run(*trips(13))
    watch.tick()
    assert watch.webhook.received == []
    assert watch.mailbox.received == []


def test_a_run_of_a_damaged_file_is_one_message_with_the_cause_to_each_route_and_so_is_its_recovery(
    watch: Watch,
) -> None:
    path = watch.workspace.land(Service.GREEN, trips(12))
    path.write_bytes(path.read_bytes()[:-100])
    failed = watch.workspace.run(Service.GREEN)
    watch.tick()
    received, (mail,) = watch.webhook.only(), watch.mailbox.received
    assert received["title"] == mail["subject"] == "[error] tlc_bronze/green_trips 2024-01: run failed"
    assert received["message"].splitlines() == written(mail, "plain").splitlines()
    lines = received["message"].splitlines()
    assert lines[1].startswith("Cause: green_tripdata_2024-01.parquet can't be used: it is not a whole Parquet file")
    # Gold is made of the month as an earlier run stored it.
    assert lines[2] == f"Not made, as they depend on it: {GREEN}, {GREEN}_quarantine"
    assert f"{UI}/runs/{failed.run_id}" in received["message"]

    assert not watch.workspace.run(Service.GREEN).success
    watch.tick()
    assert watch.webhook.received == []

    assert watch.run(*trips(12)).success
    watch.tick()
    assert watch.webhook.only()["title"] == "[well again] tlc_bronze/green_trips 2024-01: run failed"
    assert watch.mailbox.received[1]["subject"] == "[well again] tlc_bronze/green_trips 2024-01: run failed"
    assert len(watch.mailbox.received) == 2


def test_a_month_over_its_publish_limit_is_one_message_with_the_limit_the_worst_rule_and_three_rows(
    watch: Watch,
) -> None:
    assert not watch.run(*trips(10, fare_amount=-1.0)).success
    watch.tick()
    received = watch.webhook.only()
    assert received["title"] == f"[error] {GREEN}, {GREEN}_quarantine 2024-01: run failed"
    for part in (
        "Cause: 10 of 10 rows (100.00%) for tlc_silver/green_trips break rules, above its publish limit of 50%",
        f"Check within_publish_limit of {GREEN} failed (error). Found: 10 of 10 quarantined",
        f"Check positive_fare_amount of {GREEN} failed (warning). Rows that break it: 10 of 10, 100.000%; tolerance 2",
    ):
        assert part in received["message"], part
    assert received["message"].count("fare_amount -1.0") == 3


def test_a_blocking_check_of_a_stored_table_is_told_by_its_name_and_is_over_when_it_passes(watch: Watch) -> None:
    # Bronze is replaced behind silver's back, so that silver's rows aren't those of bronze any more.
    watch.workspace.land(Service.GREEN, trips(11))
    assert watch.workspace.run_bronze(Service.GREEN).success
    key = dg.AssetCheckKey(dg.AssetKey(["tlc_silver", "green_trips"]), "rows_accounted_for")
    job = build_defs(watch.workspace.settings).resolve_job_def("tlc_month")
    alone = job.get_subset(asset_selection=set(), asset_check_selection={key})
    tags = {"dagster/partition": str(MONTH)}
    alone.execute_in_process(instance=watch.workspace.instance, tags=tags, raise_on_error=False)
    watch.tick()
    received = watch.webhook.only()
    assert "rows_accounted_for" in received["message"]
    assert "bronze 11; kept 10; quarantined 0" in received["message"]
    assert received["type"] == "failure"
    assert watch.workspace.run(Service.GREEN).success
    watch.tick()
    assert watch.webhook.only()["type"] == "success"


def test_a_run_whose_process_is_gone_is_told_with_what_it_was_to_store(watch: Watch) -> None:
    instance, job = watch.workspace.instance, build_defs(watch.workspace.settings).resolve_job_def("tlc_month")
    subset = job.get_subset(asset_selection=set(keys_for([Service.GREEN])))
    run = instance.create_run_for_job(subset, tags={"dagster/partition": "2024-01"})
    instance.report_run_failed(run, "Process 1234, in which this run lived, is gone. Run the month again.")
    watch.tick()
    received = watch.webhook.only()
    assert "Cause: Process 1234, in which this run lived, is gone." in received["message"]
    assert "tlc_gold/nyc_taxi_daily" in received["message"]
    assert watch.run(*trips(10)).success
    watch.tick()
    assert watch.webhook.only()["type"] == "success"


def test_a_notifier_that_is_down_loses_nothing_and_the_other_route_is_sent_nothing_twice(watch: Watch) -> None:
    watch.webhook.status = 503
    path = watch.workspace.land(Service.GREEN, trips(12))
    path.write_bytes(b"no Parquet")
    watch.workspace.run(Service.GREEN)
    assert watch.tick() == "1 messages sent; waiting: 1 for hook."
    watch.run(*trips(10), *trips(1, **BAD_PAYMENT))
    assert watch.tick() == "1 messages sent; waiting: 3 for hook."
    assert watch.tick() == "0 messages sent; waiting: 3 for hook."
    assert [mail["subject"].split("]")[0] for mail in watch.mailbox.received] == ["[error", "[well again"]
    assert watch.webhook.received == []

    watch.webhook.status = 200
    assert watch.tick() == "2 messages sent; nothing is waiting."
    assert watch.webhook.titles == [
        "[error] failed runs: 1, failed checks: 1",
        "[well again] tlc_bronze/green_trips 2024-01: run failed",
    ]
    assert "Cause: green_tripdata_2024-01.parquet" in watch.webhook.received[0]["message"]
    assert watch.tick() == "0 messages sent; nothing is waiting."
    assert len(watch.mailbox.received) == 2


def test_what_failed_before_the_sensor_was_switched_on_isnt_told(watch: Watch) -> None:
    watch.run(*trips(10), *trips(1, **BAD_PAYMENT))
    watch.cursor = None
    watch.tick()
    assert watch.webhook.only()["title"].startswith(f"[warning] {GREEN} 2024-02 to ")


def test_without_a_route_nothing_is_read_so_that_all_is_told_when_there_is_one(watch: Watch) -> None:
    watch.run(*trips(10), *trips(1, **BAD_PAYMENT))
    before = watch.cursor
    no_routes = {
        "landing": landing_of(watch.workspace.settings),
        "lake": watch.workspace.lake,
        "alerts": Alerts((), UI),
    }
    context = dg.build_sensor_context(instance=watch.workspace.instance, cursor=before, resources=no_routes)
    result = alerts_sensor(context)
    assert isinstance(result, dg.SensorResult)
    assert (result.skip_reason.skip_message, result.cursor) == (NO_ROUTE, None)  # type: ignore[union-attr]
    watch.tick()
    assert watch.webhook.only()["title"] == f"[warning] {GREEN} 2024-01: known_payment_type"


def test_a_landing_that_cant_be_listed_keeps_no_other_alert_back_and_nothing_in_it_is_over(watch: Watch) -> None:
    (watch.workspace.landing / "Green_tripdata_2024-02.parquet").touch()
    watch.tick()
    watch.webhook.received.clear()
    watch.run(*trips(10), *trips(1, **BAD_PAYMENT))
    shutil.move(watch.workspace.landing, watch.workspace.landing.with_name("away"))
    watch.tick()
    assert watch.webhook.only()["title"] == f"[warning] {GREEN} 2024-01: known_payment_type"


def block(watch: Watch, months: str) -> None:
    (watch.workspace.landing / BLOCKED_MONTHS).write_text(f"green {months} Fares are in cents.")


def test_what_is_late_when_the_sensor_is_switched_on_is_one_message_and_over_when_all_is_stored(watch: Watch) -> None:
    block(watch, "2024-03:2035-12")
    watch.cursor = None
    watch.tick()
    assert watch.webhook.only()["title"] == f"[warning] {GREEN} 2024-02: late"
    watch.run(*february(), month=Month(2024, 2))
    watch.tick()
    assert watch.webhook.only()["title"] == f"[well again] {GREEN} 2024-02: late"
    # What is late by now has been late for long; but months may still be stored, one after the other.
    block(watch, "2024-04:2035-12")
    watch.tick()
    assert watch.webhook.received == []


def february() -> list[dict[str, Any]]:
    return [{**row, **{end: row[end].replace(month=2) for end in row if end.endswith("datetime")}}
            for row in trips(10)]  # fmt: skip


def test_a_late_month_that_is_blocked_is_followed_by_the_next_one(watch: Watch) -> None:
    block(watch, "2024-02")
    watch.cursor = None
    watch.tick()
    assert watch.webhook.only()["title"].startswith(f"[warning] {GREEN} 2024-03 to ")


def test_a_month_that_is_a_page_is_told_as_such_and_not_as_late_too(watch: Watch) -> None:
    watch.workspace.land(Service.GREEN, february(), Month(2024, 2)).write_bytes(b"<html>Sign in</html>")
    watch.workspace.run(Service.GREEN, month=Month(2024, 2))
    watch.tick()
    assert "[error]" in watch.webhook.only()["title"]
    watch.cursor = None
    block(watch, "2024-03:2035-12")
    state = plan.State(0, 0)
    watch.cursor = plan.dump(state)
    watch.tick()
    assert [title for title in watch.webhook.titles if "late" in title] == []


def test_a_file_whose_name_is_nearly_a_months_is_told_until_it_is_renamed(watch: Watch) -> None:
    path = watch.workspace.landing / "Green_tripdata_2024-02.parquet"
    path.touch()
    watch.tick()
    watch.tick()
    assert watch.webhook.only()["title"] == f"[warning] {path.name}: not read"
    path.rename(path.with_name("other.parquet"))
    watch.tick()
    assert watch.webhook.only()["title"] == f"[well again] {path.name}: not read"


# Many runs


def test_what_a_backfill_tells_waits_until_its_runs_have_ended(watch: Watch) -> None:
    instance, job = watch.workspace.instance, build_defs(watch.workspace.settings).resolve_job_def("tlc_green")
    tags = {"dagster/backfill": "abc", "dagster/partition": "2024-01"}
    watch.workspace.land(Service.GREEN, [*trips(10), *trips(1, **BAD_PAYMENT)])
    queued = instance.create_run_for_job(job, tags={**tags, "dagster/partition": "2024-02"})
    assert job.execute_in_process(instance=instance, tags=tags).success
    assert watch.tick() == "0 messages sent; waiting: 1 for hook."
    instance.report_run_canceled(queued)
    assert watch.tick() == "1 messages sent; nothing is waiting."


def test_a_backfill_that_is_still_to_request_runs_goes_on(watch: Watch) -> None:
    instance, job = watch.workspace.instance, build_defs(watch.workspace.settings).resolve_job_def("tlc_green")
    backfill = PartitionBackfill(
        "abc", BulkActionStatus.REQUESTED, from_failure=False, tags={}, backfill_timestamp=datetime.now(UTC).timestamp()
    )
    instance.add_backfill(backfill)
    watch.workspace.land(Service.GREEN, [*trips(10), *trips(1, **BAD_PAYMENT)])
    tags = {"dagster/backfill": "abc", "dagster/partition": "2024-01"}
    assert job.execute_in_process(instance=instance, tags=tags).success
    assert watch.tick() == "0 messages sent; waiting: 1 for hook."
    instance.update_backfill(backfill.with_status(BulkActionStatus.COMPLETED_SUCCESS))
    assert watch.tick() == "1 messages sent; nothing is waiting."


def test_a_range_of_months_on_the_command_line_is_a_digest(tmp_path: Path) -> None:
    home = Home.below(tmp_path)
    with open_instance(str(home.dagster)) as instance, Webhook() as webhook, Mailbox() as mailbox:
        settings = Settings(landing_root=str(home.landing), lake_root=str(home.lake), DAGSTER_HOME=str(home.dagster))
        watch = Watch(Workspace(settings, instance), webhook, mailbox)
        watch.tick()
        sampled = home.start("sample", "--service", "green", "--rows", "500", "2024-01:2024-06")
        assert sampled.wait(60) == 0
        home.report("materialize", "--service", "green", "--jobs", "2", "2024-01:2024-06")
        tags = [run.tags for run in instance.get_runs()]
        assert len({of_one[".dagster/taxi_assets_process"] for of_one in tags}) == 2
        assert len({of_one[BATCH] for of_one in tags}) == 1
        watch.tick()
        (received,) = webhook.received
    assert f"- [warning] {GREEN}: known_zones: 6 months, 2024-01 to 2024-06. 2024-06: " in received["message"]
    assert received["title"].startswith("[warning] failed checks: ")


def test_runs_are_read_in_the_order_of_their_ends_a_few_at_a_time_and_none_twice(watch: Watch) -> None:
    for count in (11, 12):
        watch.run(*trips(count))
    watch.workspace.land(Service.GREEN, trips(3)).write_bytes(b"no Parquet")
    watch.workspace.run(Service.GREEN)
    watch.run(*trips(13))
    instance = watch.workspace.instance
    state, read = plan.State(0, 0), []
    while runs := ended_runs(instance, state.look_from, state.recent, most=2):
        read += [run.run_id for run in runs]
        state = plan.plan(plan.Facts(0.0, runs), state, [], UI)
    assert read == [run.run_id for run in reversed(instance.get_runs())]
    assert state.place == last_place(instance)


def test_an_alert_of_checks_that_were_run_alone_names_the_month_and_what_can_be_typed(watch: Watch) -> None:
    assert watch.run(*trips(10)).success
    watch.tick()
    settings, key = watch.workspace.settings, dg.AssetKey(GREEN.split("/"))
    shutil.rmtree(Path(settings.lake_root, "tlc_bronze", "green_trips"))
    job = build_defs(settings).resolve_implicit_global_asset_job_def()
    checks = {dg.AssetCheckKey(key, name) for name in ("matches_contract", "rows_accounted_for")}
    alone = job.get_subset(asset_selection=set(), asset_check_selection=checks)
    assert not alone.execute_in_process(instance=watch.workspace.instance, raise_on_error=False).success
    watch.webhook.received.clear()
    watch.tick()
    (received,) = watch.webhook.received
    assert received["title"].startswith(f"[error] {GREEN}:rows_accounted_for 2024-01")
    assert "taxi-assets materialize --service green 2024-01" in received["message"]
    assert "__ASSET_JOB" not in received["title"] + received["message"]
