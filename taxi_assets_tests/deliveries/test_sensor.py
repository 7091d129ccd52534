"""The sensor of landing: which months it requests, once each, what it tells, and what its cursor keeps."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

import dagster as dg
import pytest

from taxi_assets.calendars import Month
from taxi_assets.definitions import build_defs
from taxi_assets.deliveries import plan as plans
from taxi_assets.deliveries.landed import Delivery, Landed, sorted_out
from taxi_assets.deliveries.plan import MOST_RUNS_A_TICK, Plan, Seen, dump, load
from taxi_assets.deliveries.sensor import landing_sensor
from taxi_assets.errors import LandingError
from taxi_assets.landing import LandedFile, Landing
from taxi_assets.places import landing_of
from taxi_assets.tlc import TLC
from taxi_assets.tlc.gold.fact_top_zones import FactTopZones
from taxi_assets.tlc.vocabulary import Service
from taxi_assets_tests.scenario import BLOCKED_MONTHS, MONTH, Workspace, keys_for, trips

pytestmark = pytest.mark.fast

GREEN, YELLOW = (Service.GREEN, MONTH), (Service.YELLOW, MONTH)


def landed(**identities: str) -> Landed:
    """Return a landing of January files, each service's with an identity: green="a"."""
    return files({f"{service}_tripdata_2024-01.parquet": identity for service, identity in identities.items()})


def files(identities: dict[str, str]) -> Landed:
    listing = [LandedFile(path, 1, identity) for path, identity in sorted(identities.items())]
    return sorted_out(TLC, Landing("/nowhere", {}), listing)


def plan(
    landed: Landed,
    seen: Mapping[Delivery, Seen],
    done: Mapping[Delivery, str],
    blocked: Mapping[Delivery, str] | None = None,
    most: int = MOST_RUNS_A_TICK,
) -> Plan:
    """Plan; no month is blocked unless one is given."""
    return plans.plan(TLC, landed, seen, done, blocked or {}, most)


def requested(planned: Plan) -> list[tuple[str, tuple[str, ...]]]:
    return [(str(request.period), request.feeds) for request in planned.requests]


# The planner


def test_a_new_file_is_requested_for_its_service_and_month() -> None:
    assert requested(plan(landed(green="a"), {}, {})) == [("2024-01", (Service.GREEN,))]


def test_what_was_requested_isnt_requested_again() -> None:
    first = plan(landed(green="a", yellow="b"), {}, {})
    second = plan(landed(green="a", yellow="b"), first.seen, {})
    assert (second.requests, second.messages, second.seen) == ((), (), first.seen)


def test_all_services_of_a_month_are_one_request() -> None:
    (request,) = plan(landed(yellow="b", green="a", fhvhv="c", fhv="d"), {}, {}).requests
    assert set(request.feeds) == set(Service)


def test_later_only_the_service_that_changed_is_requested() -> None:
    first = plan(landed(green="a", yellow="b"), {}, {})
    second = plan(landed(green="a", yellow="c"), first.seen, {})
    assert requested(second) == [("2024-01", (Service.YELLOW,))]
    assert second.seen[GREEN] == first.seen[GREEN]


def test_bytes_that_come_back_are_requested_again_under_a_key_of_their_own() -> None:
    seen: dict[Delivery, Seen] = {}
    keys = []
    for identity in ("a", "b", "a", "b"):
        planned = plan(landed(green=identity), seen, {})
        seen = load(TLC, dump(planned.seen))
        keys += [request.run_key for request in planned.requests]
    assert len(keys) == len(set(keys)) == 4


def test_run_keys_of_different_months_and_services_differ() -> None:
    every = {f"{service}_tripdata_2024-0{month}.parquet": "a" for service in Service for month in (1, 2)}
    alone = [plan(files({path: "a"}), {}, {}).requests[0].run_key for path in every]
    together = [request.run_key for request in plan(files(every), {}, {}).requests]
    assert len({*alone, *together}) == 2 * len(Service) + 2


def test_a_file_that_moved_to_another_folder_is_a_new_one() -> None:
    first = plan(files({"green_tripdata_2024-01.parquet": "a"}), {}, {})
    assert len(plan(files({"new/green_tripdata_2024-01.parquet": "a"}), first.seen, {}).requests) == 1


def test_a_file_that_went_and_comes_back_as_it_was_isnt_requested_again() -> None:
    first = plan(landed(green="a"), {}, {})
    gone = plan(landed(), first.seen, {})
    assert gone.requests == ()
    assert plan(landed(green="a"), gone.seen, {}).requests == ()


def test_a_file_that_a_stored_month_came_from_isnt_requested_though_the_cursor_doesnt_know_it() -> None:
    done = {GREEN: "green_tripdata_2024-01.parquet@a"}
    first = plan(landed(green="a", yellow="b"), {}, done)
    assert requested(first) == [("2024-01", (Service.YELLOW,))]
    # Once it is known, the cursor decides: a re-issue is requested, and so is its taking back.
    second = plan(landed(green="c", yellow="b"), first.seen, done)
    third = plan(landed(green="a", yellow="b"), second.seen, done)
    assert requested(second) == requested(third) == [("2024-01", (Service.GREEN,))]


def test_a_stored_month_that_came_from_another_file_is_requested() -> None:
    assert requested(plan(landed(green="b"), {}, {GREEN: "green_tripdata_2024-01.parquet@a"})) == [
        ("2024-01", (Service.GREEN,))
    ]


def test_two_files_of_a_month_are_told_by_both_names_and_hold_up_no_other() -> None:
    both = {"green_tripdata_2024-01.parquet": "a", "green_tripdata_2024-01.csv.gz": "b"}
    planned = plan(
        files({**both, "yellow_tripdata_2024-01.parquet": "c", "green_tripdata_2024-02.parquet": "d"}), {}, {}
    )
    assert requested(planned) == [("2024-01", (Service.YELLOW,)), ("2024-02", (Service.GREEN,))]
    (message,) = planned.messages
    assert all(name in message for name in both)
    assert GREEN not in planned.seen
    assert requested(plan(files({"green_tripdata_2024-01.csv.gz": "b"}), planned.seen, {})) == [
        ("2024-01", (Service.GREEN,))
    ]


def test_a_tick_requests_so_many_months_and_the_rest_follow_the_earliest_first() -> None:
    names = [
        f"{service}_tripdata_{year}-{month:02d}.parquet"
        for service in Service
        for year in (2022, 2023)
        for month in range(1, 13)
    ]
    everything = files(dict.fromkeys(names, "a"))
    seen: dict[Delivery, Seen] = {}
    ticks = []
    while (planned := plan(everything, seen, {}, most=10)).requests:
        ticks.append([str(request.period) for request in planned.requests])
        assert all(set(request.feeds) == set(Service) for request in planned.requests)
        assert [message for message in planned.messages if "waiting" in message] == (
            [f"{24 - 10 * len(ticks)} more months are waiting for the next ticks."] if len(ticks) < 3 else []
        )
        seen = dict(planned.seen)
    assert [len(tick) for tick in ticks] == [10, 10, 4]
    assert [month for tick in ticks for month in tick] == [
        f"{year}-{month:02d}" for year in (2022, 2023) for month in range(1, 13)
    ]


def test_names_that_arent_read_are_told() -> None:
    odd = ["green_tripdata_2024-1.parquet", "green_tripdata_2024-01 (1).parquet", "green_tripdata_2024-01.parquet.part"]
    planned = plan(files(dict.fromkeys([*odd, "notes.txt"], "a")), {}, {})
    assert planned.requests == ()
    assert all(any(name in message for message in planned.messages) for name in odd)
    assert not any("notes.txt" in message for message in planned.messages)


def test_a_file_of_a_month_to_come_is_told_and_holds_up_no_other() -> None:
    planned = plan(files({"green_tripdata_2024-01.parquet": "a", "green_tripdata_2099-01.parquet": "b"}), {}, {})
    assert requested(planned) == [("2024-01", (Service.GREEN,))]
    (message,) = planned.messages
    assert "green_tripdata_2099-01.parquet" in message
    assert "yet to come" in message


REASON = {GREEN: "Fares are in cents."}


def test_a_blocked_month_is_passed_by_with_the_reason_and_holds_up_no_other_service() -> None:
    planned = plan(landed(green="a", yellow="b"), {}, {}, REASON)
    assert requested(planned) == [("2024-01", (Service.YELLOW,))]
    (message,) = planned.messages
    why = "green 2024-01 is blocked (blocked_months.txt): Fares are in cents."
    assert message == f"green_tripdata_2024-01.parquet is passed by. {why}"


@pytest.mark.parametrize("before", [{}, {"green": "a"}], ids=["landed since", "requested before it was blocked"])
def test_a_month_is_requested_once_it_is_blocked_no_more_under_a_key_of_its_own(before: dict[str, str]) -> None:
    landing = landed(green="a")
    first, seen = plan(landed(**before), {}, {}).requests, plan(landed(**before), {}, {}).seen
    blocked = plan(landing, load(TLC, dump(seen)), {}, REASON)
    assert blocked.requests == plan(landing, blocked.seen, {}, REASON).requests == ()
    (again,) = plan(landing, load(TLC, dump(blocked.seen)), {}).requests
    assert again.run_key not in {request.run_key for request in first}


def test_a_month_that_was_stored_before_it_was_blocked_is_neither_told_nor_requested_afterwards() -> None:
    done = {GREEN: "green_tripdata_2024-01.parquet@a"}
    for seen in ({}, plan(landed(green="a"), {}, {}).seen):
        blocked = plan(landed(green="a"), seen, done, REASON)
        assert (blocked.requests, blocked.messages) == ((), ())
        assert plan(landed(green="a"), blocked.seen, done).requests == ()


def test_a_re_issue_of_a_stored_month_is_passed_by_while_it_is_blocked() -> None:
    done = {GREEN: "green_tripdata_2024-01.parquet@a"}
    blocked = plan(landed(green="b"), plan(landed(green="a"), {}, {}).seen, done, REASON)
    assert blocked.requests == ()
    assert len(blocked.messages) == 1
    assert requested(plan(landed(green="b"), blocked.seen, done)) == [("2024-01", (Service.GREEN,))]


def test_a_cursor_is_read_back_as_it_was_written() -> None:
    seen = {GREEN: Seen('a/"b" é.parquet@1-2', 3), YELLOW: Seen("x", 0), (Service.GREEN, Month(2009, 12)): Seen("y", 1)}
    assert load(TLC, dump(seen)) == seen


def test_a_sensor_that_never_ran_knows_nothing() -> None:
    assert load(TLC, None) == load(TLC, "") == {}


# The sensor


def tick(workspace: Workspace, cursor: str | None = None) -> dg.SensorResult:
    context = dg.build_sensor_context(
        instance=workspace.instance,
        cursor=cursor,
        resources={"landing": landing_of(workspace.settings), "lake": workspace.lake},
    )
    result = landing_sensor(TLC)(context)
    assert isinstance(result, dg.SensorResult)
    return result


def rewrite(path: Path, content: bytes, at: int) -> None:
    path.write_bytes(content)
    os.utime(path, (at, at))


def test_the_sensor_requests_a_landed_file_once_over_a_restart_and_again_when_it_is_written_again(
    workspace: Workspace,
) -> None:
    path = workspace.landing / "green_tripdata_2024-01.parquet"
    rewrite(path, b"a", 1_700_000_000)
    first = tick(workspace)
    assert [request.partition_key for request in first.run_requests or []] == ["2024-01"]
    assert first.cursor
    quiet = tick(workspace, first.cursor)
    assert not quiet.run_requests
    assert quiet.skip_reason is not None
    assert "Nothing new" in str(quiet.skip_reason.skip_message)
    rewrite(path, b"b", 1_700_000_100)
    again = tick(workspace, quiet.cursor)
    keys = {request.run_key for result in (first, again) for request in result.run_requests or []}
    assert len(keys) == 2


def test_the_sensor_passes_a_blocked_month_by_until_its_line_is_deleted(workspace: Workspace) -> None:
    (workspace.landing / "green_tripdata_2024-01.parquet").write_bytes(b"a")
    blocks = workspace.landing / BLOCKED_MONTHS
    blocks.write_text("green 2024-01 fares are in cents")
    quiet = tick(workspace)
    assert not quiet.run_requests
    assert quiet.skip_reason is not None
    assert "green 2024-01 is blocked (blocked_months.txt): fares are in cents." in str(quiet.skip_reason.skip_message)
    blocks.write_text("# nothing is blocked")
    assert [request.partition_key for request in tick(workspace, quiet.cursor).run_requests or []] == ["2024-01"]


def test_no_month_is_requested_while_what_is_blocked_cant_be_told(workspace: Workspace) -> None:
    (workspace.landing / "green_tripdata_2024-01.parquet").write_bytes(b"a")
    (workspace.landing / BLOCKED_MONTHS).write_text("gren 2024-01 fares are in cents")
    with pytest.raises(LandingError, match="line 1: There is no service 'gren' in tlc"):
        tick(workspace)


def test_no_month_is_requested_once_the_list_of_the_blocked_is_lost(workspace: Workspace) -> None:
    (workspace.landing / "green_tripdata_2024-01.parquet").write_bytes(b"a")
    (workspace.landing / BLOCKED_MONTHS).write_text("green 2024-01 fares are in cents")
    quiet = tick(workspace)
    (workspace.landing / BLOCKED_MONTHS).unlink()
    with pytest.raises(LandingError, match="is gone: which months are blocked isn't known"):
        tick(workspace, quiet.cursor)


def test_what_stands_in_the_place_of_a_file_is_said_and_not_requested(workspace: Workspace) -> None:
    (workspace.landing / "green_tripdata_2024-01.parquet").symlink_to("nowhere")
    result = tick(workspace)
    assert not result.run_requests
    assert result.skip_reason is not None
    assert "it is a link that leads nowhere, not a file" in str(result.skip_reason.skip_message)


def test_the_ticks_message_names_what_isnt_read(workspace: Workspace) -> None:
    (workspace.landing / "green_tripdata_2024-1.parquet").write_bytes(b"a")
    result = tick(workspace)
    assert result.skip_reason is not None
    assert "green_tripdata_2024-1.parquet" in str(result.skip_reason.skip_message)


def test_a_request_selects_the_services_own_tables_and_the_shared_ones(workspace: Workspace) -> None:
    (workspace.landing / "green_tripdata_2024-01.parquet").write_bytes(b"a")
    (request,) = tick(workspace).run_requests or []
    assert set(request.asset_selection or []) == set(keys_for([Service.GREEN]))
    assert not any("yellow" in key.path[1] for key in request.asset_selection or [])


def test_a_request_is_run_as_it_stands_and_then_known_without_a_cursor(workspace: Workspace) -> None:
    workspace.land(Service.GREEN, trips(10))
    result = tick(workspace)
    (request,) = result.run_requests or []
    done = (
        build_defs(workspace.settings)
        .resolve_job_def(TLC.period_job)
        .execute_in_process(
            instance=workspace.instance,
            partition_key=request.partition_key,
            asset_selection=request.asset_selection,
            raise_on_error=False,
        )
    )
    assert done.success, workspace.failures(done)
    assert workspace.table(FactTopZones)["service_type"].to_list() == ["green"]
    assert not tick(workspace, cursor=None).run_requests
