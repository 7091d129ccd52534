"""The planner: what is told of what has happened, to whom, once each, and what is kept until it is sent."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from itertools import pairwise

import dagster as dg
import pytest
from hypothesis import given
from hypothesis import strategies as st

from taxi_assets.alerts.facts import RunFact, Severity
from taxi_assets.alerts.lateness import Lateness
from taxi_assets.alerts.messages import FEW, messages_of
from taxi_assets.alerts.notices import Notice
from taxi_assets.alerts.plan import LONGEST_WAIT, LOOK_BACK, QUIET, Facts, State, dump, load, plan
from taxi_assets.calendars import Month
from taxi_assets_tests.alerts.happenings import (
    ALL,
    EMPTY,
    GOLD,
    GREEN,
    UI,
    after,
    all_sent,
    check,
    failed_run,
    lateness,
    route,
    run,
    tick,
    told,
)

pytestmark = pytest.mark.fast

BACKFILL = (("dagster/backfill", "abc"),)


# Checks


def test_a_check_that_failed_is_told_though_its_run_is_green() -> None:
    assert told(after(EMPTY, run(check()))) == ["known_zones warning"]


def test_the_same_failure_isnt_told_again_however_often_its_month_is_run() -> None:
    state = all_sent(after(EMPTY, run(check())))
    for place in (2, 3):
        state = after(state, run(check(), place=place))
        assert told(state) == []


def test_nor_is_it_while_its_first_notice_is_still_to_be_sent() -> None:
    assert told(after(EMPTY, run(check()), run(check(), place=2))) == ["known_zones warning"]


def test_another_check_table_or_month_is_another_failure() -> None:
    state = all_sent(after(EMPTY, run(check())))
    others = [check("known_payment_type"), check(table="tlc_silver/yellow_trips"), check(month="2024-02")]
    assert len(told(after(state, run(*others, place=2)))) == 3


def test_a_warning_that_has_become_an_error_is_told_again_and_not_the_other_way_round() -> None:
    state = all_sent(after(EMPTY, run(check())))
    state = after(state, run(check(severity=Severity.ERROR), place=2))
    assert told(state) == ["known_zones error"]
    assert told(after(all_sent(state), run(check(), place=3))) == []


def test_that_a_check_passes_again_is_told_once() -> None:
    state = all_sent(after(EMPTY, run(check())))
    state = after(state, run(check(passed=True), place=2))
    assert told(state) == ["known_zones well"]
    assert told(after(all_sent(state), run(check(passed=True), place=3))) == []


def test_a_check_that_passes_and_hadnt_failed_isnt_told() -> None:
    assert told(after(EMPTY, run(check(passed=True)))) == []


def test_a_failure_after_it_was_well_is_told_again() -> None:
    state = all_sent(after(EMPTY, run(check()), run(check(passed=True), place=2)))
    assert told(after(state, run(check(), place=3))) == ["known_zones warning"]


def test_checks_of_a_cancelled_run_count() -> None:
    cancelled = run(check(), ended=dg.DagsterEventType.RUN_CANCELED)
    assert told(after(EMPTY, cancelled)) == ["known_zones warning"]


@given(st.lists(st.tuples(st.sampled_from("abc"), st.booleans(), st.booleans()), max_size=30))
def test_whatever_the_order_failures_and_recoveries_take_turns_and_the_last_told_is_how_it_is(
    evaluations: list[tuple[str, bool, bool]],
) -> None:
    state, heard, last = EMPTY, defaultdict(list), {}
    for place, (name, passed, sends) in enumerate(evaluations, start=1):
        state = load(dump(after(state, run(check(name, passed=passed), place=place))))
        last[name] = passed
        if sends:
            for notice in state.pending.get("all", ()):
                heard[notice.subject.check].append(notice.well)
            state = all_sent(state)
    for notice in state.pending.get("all", ()):
        heard[notice.subject.check].append(notice.well)
    for name, passed in last.items():
        assert heard[name][:1] in ([], [False])
        assert all(one is not other for one, other in pairwise(heard[name]))
        assert (heard[name][-1] if heard[name] else True) is passed


# Runs


def test_a_run_that_failed_is_one_notice_with_all_its_tables_and_its_checks_are_none_of_their_own() -> None:
    state = after(EMPTY, failed_run(check(), check("within_publish_limit"), failed=(GREEN, "tlc_silver/yellow_trips")))
    (notice,) = state.pending["all"]
    assert notice.subject.what == f"{GREEN},tlc_silver/yellow_trips"
    assert [subject.what for subject in state.open] == [GREEN, "tlc_silver/yellow_trips"]
    for part in (GREEN, "tlc_silver/yellow_trips", "The file is damaged.", "known_zones", "within_publish_limit", GOLD):
        assert part in notice.text


def test_a_run_that_fails_again_at_the_same_tables_isnt_told_again_and_at_others_it_is() -> None:
    state = all_sent(after(EMPTY, failed_run()))
    assert told(after(state, failed_run(place=2))) == []
    assert told(after(state, failed_run(place=2, failed=(GOLD,)))) == ["run error"]
    assert told(after(state, failed_run(place=2, month="2024-02"))) == ["run error"]


def all_told(state: State) -> tuple[Notice, ...]:
    return state.pending.get("all", ())


def test_each_table_that_a_run_failed_at_is_over_when_a_later_run_stores_it_for_that_month() -> None:
    state = all_sent(after(EMPTY, failed_run(failed=(GOLD, GREEN))))
    assert [notice.subject.what for notice in all_told(after(state, run(place=2)))] == [GREEN]
    both = frozenset({GREEN, GOLD})
    assert told(after(state, run(place=2, stored=both, month="2024-02"))) == []
    state = after(state, run(place=2, stored=both))
    assert told(state) == ["run well"]
    assert told(after(all_sent(state), run(place=3, stored=both))) == []


def test_a_run_that_failed_at_a_check_is_over_when_the_check_passes() -> None:
    state = all_sent(after(EMPTY, failed_run(failed=(f"{GREEN}:known_zones",))))
    assert told(after(state, run(place=2))) == []
    assert told(after(state, run(check(passed=True), place=2))) == ["run well"]


YELLOW_FILE, GREEN_FILE = "tlc_bronze/yellow_trips", "tlc_bronze/green_trips"


def test_of_two_services_that_one_run_failed_at_each_is_over_when_it_is_stored() -> None:
    state = all_sent(after(EMPTY, failed_run(failed=(GREEN_FILE, YELLOW_FILE))))
    # A run of both, of which one fails again, mends the other.
    both = failed_run(place=2, failed=(YELLOW_FILE,), stored=frozenset({GREEN_FILE}))
    state = after(load(dump(state)), both)
    assert [(notice.well, notice.says) for notice in all_told(state)] == [
        (True, f"{GREEN_FILE} 2024-01 is stored after all.")
    ]
    state = after(all_sent(state), run(place=3, stored=frozenset({YELLOW_FILE})))
    assert [(notice.well, notice.says) for notice in all_told(state)] == [
        (True, f"{YELLOW_FILE} 2024-01 is stored after all.")
    ]
    assert state.open == {}


def test_what_a_run_failed_at_anew_is_told_though_it_failed_also_at_what_is_open() -> None:
    state = all_sent(after(EMPTY, failed_run(failed=(GREEN_FILE,))))
    why = {GREEN_FILE: "Green's file is a page.", YELLOW_FILE: "Yellow's file is cut off."}
    state = after(state, failed_run(place=2, failed=(GREEN_FILE, YELLOW_FILE), why=why))
    (notice,) = all_told(state)
    assert (notice.subject.what, notice.says) == (YELLOW_FILE, "Yellow's file is cut off.")


def test_a_run_that_failed_at_no_table_is_over_when_its_job_ends_well() -> None:
    state = all_sent(after(EMPTY, failed_run(failed=("clean_up",), job="clean_up", month="")))
    assert told(after(state, run(place=2, month=""))) == []
    assert told(after(state, run(place=2, month="", job="clean_up"))) == ["run well"]


def test_what_held_for_rows_that_a_failed_run_didnt_publish_says_nothing_of_those_that_stand() -> None:
    state = all_sent(after(EMPTY, run(check())))
    state = after(state, failed_run(check(passed=True), place=2))
    assert told(state) == ["run error"]
    published = failed_run(check(passed=True), place=3, stored=frozenset({GREEN}), failed=(GOLD,))
    assert told(after(all_sent(state), published)) == ["known_zones well", "run well", "run error"]


def test_nor_does_what_held_for_rows_that_a_cancelled_run_didnt_publish() -> None:
    state = all_sent(after(EMPTY, run(check())))
    cancelled = run(check(passed=True), place=2, ended=dg.DagsterEventType.RUN_CANCELED, stored=frozenset())
    assert told(after(state, cancelled)) == []


def test_a_run_that_dagster_will_retry_has_not_failed_yet() -> None:
    state = after(EMPTY, failed_run(will_retry=True))
    assert told(state) == []
    assert told(after(state, failed_run(place=2))) == ["run error"]


# Sensors


def test_a_sensor_that_fails_tick_after_tick_is_told_once_and_once_more_when_it_ticks() -> None:
    state = after(EMPTY, tick(failed=True), tick(failed=True, at=2.0))
    assert told(state) == ["tick error"]
    state = after(all_sent(state), tick(failed=True, at=3.0))
    assert told(state) == []
    state = after(state, tick(failed=False, at=4.0), tick(failed=False, at=5.0))
    assert told(state) == ["tick well"]
    assert state.ticks == {"tlc_landing": 5.0}


# Names that nearly are months'


def named(state: State, *paths: str) -> State:
    """Return what is known after a look at the names in landing."""
    return plan(Facts(0.0, unread=dict.fromkeys(paths, "green_tripdata_2024-01.parquet")), state, [ALL], UI)


def test_a_file_whose_name_is_nearly_a_months_is_told_once_until_it_is_gone_or_renamed() -> None:
    state = named(EMPTY, "Yellow_tripdata_2024-01.parquet")
    assert told(state) == ["file warning"]
    state = named(all_sent(state), "Yellow_tripdata_2024-01.parquet", "a/trip data, 2.csv")
    assert told(state) == ["file warning"]
    state = named(load(dump(all_sent(state))), "a/trip data, 2.csv")
    assert told(state) == ["file well"]
    assert told(plan(Facts(0.0), all_sent(state), [ALL], UI)) == []
    assert told(named(all_sent(state))) == ["file well"]


def test_a_file_concerns_no_group_and_so_is_for_all_routes() -> None:
    gold = route("gold", groups=["tlc_gold"])
    state = plan(Facts(0.0, unread={"a,b/trip data.csv": "a.csv"}), EMPTY, [gold], UI)
    assert told(state, "gold") == ["file warning"]


# Months that are late


def looked(state: State, found: Lateness | None, *happened: RunFact, now: float = 0.0) -> State:
    """Return what is known after a look at what is late, and at some runs."""
    return plan(Facts(now, happened, lateness=found), state, [ALL], UI)


def test_what_is_late_when_alerts_are_switched_on_is_told_at_once_and_never_month_by_month() -> None:
    state = looked(EMPTY, lateness("2024-02:2024-06"))
    (notice,) = state.pending["all"]
    assert notice.subject.month == "2024-02:2024-06"
    state = all_sent(state)
    for now, (newest, first) in enumerate(pairwise(f"2024-{number:02}" for number in range(2, 7)), start=1):
        stored = [f"2024-01:{newest}"]
        state = looked(load(dump(state)), lateness(f"{first}:2024-06", stored=stored), now=now * 10 * QUIET)
        assert told(state) == []
    state = looked(state, lateness(stored=["2024-01:2024-06"]), now=99 * QUIET)
    assert [(notice.well, notice.says) for notice in state.pending["all"]] == [
        (True, f"{GREEN} has all that was late of 2024-02 to 2024-06.")
    ]


def test_a_late_month_is_told_once_until_it_is_stored_and_then_the_next_one() -> None:
    state = looked(EMPTY, lateness("2024-02"))
    assert told(state) == ["late warning"]
    state = looked(all_sent(state), lateness("2024-02:2024-03", landed=["2024-02"]))
    assert told(state) == []
    state = looked(state, lateness("2024-03", stored=["2024-01:2024-02"]))
    assert told(state) == ["late well"]
    state = looked(all_sent(state), lateness("2024-03", stored=["2024-01:2024-02"]), now=QUIET)
    assert told(state) == ["late warning"]
    assert told(looked(all_sent(state), lateness(stored=["2024-01:2024-03"]))) == ["late well"]


def test_a_late_month_isnt_over_because_a_later_one_is_stored() -> None:
    state = all_sent(looked(EMPTY, lateness("2024-02")))
    state = looked(state, lateness("2024-04", stored=["2024-01", "2024-03"]), now=1.0)
    state = looked(state, lateness("2024-04", stored=["2024-01", "2024-03"]), now=1.0 + QUIET)
    assert told(state) == ["late warning"]
    state = looked(all_sent(state), lateness("2024-04", stored=["2024-01:2024-03"]))
    assert [(notice.well, notice.says) for notice in state.pending["all"]] == [(True, f"{GREEN} has 2024-02.")]


def test_a_late_month_that_is_blocked_isnt_told_to_be_there_and_is_told_anew_once_it_isnt_blocked() -> None:
    state = all_sent(looked(EMPTY, lateness("2024-02")))
    state = looked(state, lateness(blocked=["2024-02"]))
    assert told(state) == []
    assert told(looked(state, lateness(stored=["2024-01:2024-02"]))) == []
    assert told(looked(state, lateness("2024-02"))) == ["late warning"]


def test_while_it_isnt_known_what_is_late_nothing_is_over() -> None:
    state = looked(all_sent(looked(EMPTY, lateness("2024-02"))), None)
    assert told(state) == []
    assert told(looked(state, lateness(stored=["2024-01:2024-02"]))) == ["late well"]


def test_while_more_of_a_service_is_loaded_nothing_of_it_is_late_however_many_looks_there_are() -> None:
    state = looked(EMPTY, lateness(stored=[]))
    newest = [f"{year}-{number:02}" for year in range(2009, 2025) for number in range(4, 13, 4)]
    for now, month in enumerate(newest):
        found = lateness(f"{Month.parse(month).next()}:2025-01", stored=[f"2009-01:{month}"], loading=True)
        # Again when nothing more has been stored for long: a month may take an hour.
        state = looked(load(dump(state)), found, now=now * 10 * QUIET)
        state = looked(load(dump(state)), found, now=(now * 10 + 5) * QUIET)
        assert told(state) == []
    found = lateness("2025-01", stored=["2009-01:2024-12"])
    assert told(looked(state, found, now=9_999 * QUIET)) == ["late warning"]


def test_nor_is_anything_late_until_nothing_more_has_been_stored_for_a_while() -> None:
    state = looked(EMPTY, lateness(stored=[]))
    for now, month in enumerate(["2024-01", "2024-02", "2024-03"]):
        state = looked(state, lateness("2024-04", stored=[f"2024-01:{month}"]), now=now * (QUIET - 1))
        assert told(state) == []
    found = lateness("2024-04", stored=["2024-01:2024-03"])
    assert told(looked(state, found, now=3 * (QUIET - 1))) == []
    assert told(looked(state, found, now=3 * QUIET)) == ["late warning"]


@pytest.mark.parametrize(
    "failed", ["tlc_bronze/green_trips", f"{GREEN}:rows_accounted_for", "tlc_bronze/zones", "tlc_month"]
)
def test_a_month_whose_run_failed_isnt_late_and_those_after_it_are(failed: str) -> None:
    failure = failed_run(failed=(failed,), month="2024-02")
    state = looked(EMPTY, lateness("2024-02", landed=["2024-02"]), failure)
    assert told(state) == ["run error"]
    state = looked(all_sent(state), lateness("2024-02:2024-03", landed=["2024-02"]))
    assert told(state) == ["late warning"]
    assert state.pending["all"][0].subject.month == "2024-03"


def test_a_month_with_a_failure_of_another_service_or_of_gold_is_late_all_the_same() -> None:
    for failed in ("tlc_bronze/yellow_trips", GOLD):
        state = looked(EMPTY, lateness("2024-02"), failed_run(failed=(failed,), month="2024-02"))
        assert told(state) == ["run error", "late warning"]


def test_a_month_whose_check_is_open_or_whose_run_is_done_once_more_isnt_late() -> None:
    assert told(looked(EMPTY, lateness("2024-02"), run(check(month="2024-02")))) == ["known_zones warning"]
    again = failed_run(month="2024-02", will_retry=True)
    assert told(looked(EMPTY, lateness("2024-02"), again)) == []


def test_a_late_month_that_couldnt_be_told_is_taken_back_once_its_run_has_failed() -> None:
    state = looked(EMPTY, lateness("2024-02"))
    state = looked(state, lateness("2024-02", landed=["2024-02"]), failed_run(month="2024-02"))
    assert told(state) == ["run error"]


# Routes


def test_a_route_is_told_what_is_bad_enough_and_of_its_groups_and_so_is_that_it_is_over() -> None:
    routes = [route("errors", "error"), route("gold", groups=["tlc_gold"]), route("silver", groups=["tlc_silver"])]
    state = after(EMPTY, run(check()), tick(failed=True), run(check(table=GOLD), place=2), routes=routes)
    assert told(state, "errors") == ["tick error"]
    assert sorted(told(state, "gold")) == ["known_zones warning", "tick error"]
    assert sorted(told(state, "silver")) == ["known_zones warning", "tick error"]
    state = after(all_sent(state), run(check(passed=True), place=3), tick(failed=False, at=2.0), routes=routes)
    assert told(state, "errors") == ["tick well"]
    assert told(state, "gold") == ["tick well"]
    assert told(state, "silver") == ["known_zones well", "tick well"]


def test_a_run_that_failed_at_tables_of_two_groups_is_for_both() -> None:
    routes = [route(group, groups=[group]) for group in ("tlc_silver", "tlc_gold", "tlc_bronze")]
    assert set(after(EMPTY, failed_run(failed=(GREEN, GOLD)), routes=routes).pending) == {"tlc_silver", "tlc_gold"}


def test_what_one_route_couldnt_be_sent_is_kept_for_it_alone() -> None:
    routes = [route("one"), route("other")]
    state = after(EMPTY, run(check()), routes=routes)
    state = state.sent("one", state.due("one", (), 0.0))
    state = after(load(dump(state)), run(check("times_exist"), place=2), routes=routes)
    assert told(state, "one") == ["times_exist warning"]
    assert told(state, "other") == ["known_zones warning", "times_exist warning"]


def test_what_was_pending_for_a_route_that_is_gone_is_dropped() -> None:
    state = after(EMPTY, run(check()), routes=[route("one"), route("other")])
    assert after(state, routes=[route("one")]).pending.keys() == {"one"}


# Many at once


def backfill(months: int, checks: int) -> State:
    names = [f"check_{number}" for number in range(checks)]
    days = [f"{2019 + number // 12}-{number % 12 + 1:02}" for number in range(months)]
    runs = [
        run(*(check(name, month=month) for name in names), place=place, month=month, batch=BACKFILL)
        for place, month in enumerate(days, start=1)
    ]
    return after(EMPTY, *runs)


def test_a_backfill_of_sixty_months_with_five_checks_that_fail_is_one_digest() -> None:
    state = backfill(60, 5)
    ((message, notices),) = messages_of(state.due("all", (), 0.0), UI)
    assert len(notices) == 300
    assert message.title == "[warning] failed checks: 300"
    lines = [line for line in message.body.splitlines() if line.startswith("- ")]
    assert len(lines) == 5
    assert f"{GREEN}: check_0: 60 months, 2019-01 to 2023-12" in message.body
    assert "12 of 400 rows" in lines[0]
    assert f"{UI}/runs/run-60" in lines[0]
    assert state.sent("all", notices).pending == {}


def test_a_few_are_told_in_full_and_one_more_makes_a_digest() -> None:
    ((few, _),) = messages_of(backfill(1, FEW).due("all", (), 0.0), UI)
    ((many, _),) = messages_of(backfill(1, FEW + 1).due("all", (), 0.0), UI)
    assert few.body.count("Examples of") == FEW
    assert "Examples of" not in many.body


def test_what_belongs_to_runs_that_go_on_waits_for_their_end_and_not_for_long() -> None:
    state = after(EMPTY, run(check(), batch=BACKFILL), now=100.0)
    state = after(state, run(check("times_exist"), place=2), now=101.0)
    assert [notice.subject.check for notice in state.due("all", {BACKFILL}, 101.0)] == ["times_exist"]
    assert len(state.due("all", (), 101.0)) == 2
    assert len(state.due("all", {BACKFILL}, 99.0 + LONGEST_WAIT)) == 1
    assert len(state.due("all", {BACKFILL}, 100.0 + LONGEST_WAIT)) == 2
    assert state.batches() == {BACKFILL, ()}


def test_a_recovery_among_many_failures_is_a_message_of_its_own() -> None:
    state = after(backfill(60, 5), run(check("check_0", passed=True, month="2019-01"), place=99))
    messages = [message for message, _ in messages_of(state.due("all", (), 0.0), UI)]
    assert [message.tone for message in messages] == ["warning", "well"]
    assert "2019-01" in messages[1].body


def test_the_cursor_of_three_hundred_open_failures_is_small() -> None:
    assert len(dump(all_sent(backfill(60, 5)))) < 40_000


# The cursor, and the place in the event log


def test_a_cursor_is_read_as_it_was_written() -> None:
    routes = [ALL, route("errors", "error")]
    state = after(EMPTY, run(check(), batch=BACKFILL), failed_run(place=2), tick(failed=True), routes=routes, now=5.5)
    state = plan(Facts(6.5, lateness=lateness("2024-02"), unread={"trip data": "a.csv"}), state, routes, UI)
    assert load(dump(state)) == state


OF_FORMER_VERSION = """{"start":1,"place":5,"recent":{"run-5":5},"ticks":{"tlc_landing":1.5},"open":[
    ["run","tlc_silver/green_trips,tlc_silver/green_trips_quarantine","2024-01","","error"],
    ["late","tlc_silver/green_trips","2024-02","","warning"],
    ["check","tlc_silver/green_trips","2024-01","known_zones","warning"]],
    "pending":{"all":[[["run","tlc_silver/green_trips,tlc_silver/green_trips_quarantine","2024-01",""],"error",false,
    "It says why.","","http://ui:3000/runs/run-5",5.0,[["dagster/backfill","abc"]]]]}}"""


def test_a_cursor_of_a_former_version_goes_on() -> None:
    state = load(OF_FORMER_VERSION)
    ((message, _),) = messages_of(state.due("all", (), 0.0), UI)
    assert "It says why." in message.body
    state = all_sent(state)
    assert told(looked(state, lateness("2024-02:2024-06"))) == []
    both = frozenset({GREEN, f"{GREEN}_quarantine"})
    state = after(state, run(check(passed=True), place=6, stored=both))
    assert told(state) == ["known_zones well", "run well"]
    assert told(looked(all_sent(state), lateness(stored=["2024-01:2024-02"]))) == ["late well"]


def test_runs_that_were_read_are_known_as_long_as_their_place_is_read_again() -> None:
    state = after(replace(EMPTY, start=10, place=10), run(place=20))
    assert (state.place, state.look_from, dict(state.recent)) == (20, 10, {"run-20": 20})
    state = after(state, run(place=20 + LOOK_BACK))
    assert (state.look_from, set(state.recent)) == (20, {f"run-{20 + LOOK_BACK}"})


def test_an_event_log_that_was_wiped_is_read_from_its_beginning() -> None:
    state = replace(EMPTY, start=4000, place=5000)
    assert state.in_log_up_to(5000) is state
    assert state.in_log_up_to(4990).look_from == 4000
    assert state.in_log_up_to(150).look_from == 0
