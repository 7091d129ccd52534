"""A month that TLC issues once more: every table holds the new bytes' rows, and bronze's metadata says what changed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import dagster as dg
import polars as pl
import pytest
from deltalake import DeltaTable

from taxi_assets.engines.changed_rows import changed_rows
from taxi_assets.tlc.bronze.green_trips import GreenTrips
from taxi_assets.tlc.gold.fact_top_zones import FactTopZones
from taxi_assets.tlc.silver.green_trips import GreenTrips as SilverGreenTrips
from taxi_assets.tlc.silver.green_trips import GreenTripsQuarantine
from taxi_assets.tlc.vocabulary import Service
from taxi_assets_tests.scenario import MONTH, Workspace, in_file_columns, on, trips
from taxi_assets_tests.scenario import POLARS as ENGINE

pytestmark = pytest.mark.fast

LOOKUP = """LocationID,Borough,Zone,service_zone
132,Queens,{airport},Airports
161,Manhattan,Midtown,Yellow Zone
"""
CHANGED = ("rows_added", "rows_gone", "rows_same")


def issue(workspace: Workspace, rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Land rows as the month's file, run its bronze, and return what its metadata says of what changed."""
    workspace.land(Service.GREEN, rows)
    result = workspace.run_bronze(Service.GREEN)
    assert result.success, workspace.failures(result)
    return told(result)


def told(result: dg.ExecuteInProcessResult) -> dict[str, Any]:
    (event,) = result.asset_materializations_for_node("tlc_bronze__green_trips")
    return {name: event.metadata[name].value for name in CHANGED if name in event.metadata}


def said(added: int, gone: int, same: int) -> dict[str, int]:
    return dict(zip(CHANGED, (added, gone, same), strict=True))


def test_a_month_that_is_new_tells_of_no_change(workspace: Workspace) -> None:
    assert issue(workspace, trips(5)) == {}


def test_a_re_issued_month_tells_how_many_rows_were_added_are_gone_and_are_the_same(workspace: Workspace) -> None:
    rows = trips(10)
    issue(workspace, rows)
    # Row 1 is gone, row 2 has another tip (which is one gone and one added), and three are new.
    changed = [{**rows[1], "tip_amount": 9.0}, *rows[2:], *trips(3, vendor_id=1)]
    assert issue(workspace, changed) == said(4, 2, 8)


def test_rows_in_another_order_and_a_file_written_otherwise_are_the_same_rows(workspace: Workspace) -> None:
    rows = trips(10)
    issue(workspace, rows)
    assert issue(workspace, rows[::-1]) == said(0, 0, 10)
    path = workspace.land(Service.GREEN, rows)
    path.unlink()
    csv = in_file_columns(Service.GREEN, rows).write_csv(datetime_format="%Y-%m-%d %H:%M:%S")
    path.with_suffix(".csv").write_text(csv)
    assert told(workspace.run_bronze(Service.GREEN)) == said(0, 0, 10)


def test_rows_that_stand_several_times_are_counted_as_often_as_they_stand(workspace: Workspace) -> None:
    once, other = trips(2)
    issue(workspace, [once, once, once, other])
    assert issue(workspace, [once, other, other]) == said(1, 2, 2)


def test_what_was_rescued_is_part_of_a_row(workspace: Workspace) -> None:
    rows = trips(4)
    issue(workspace, rows)
    assert issue(workspace, [{**rows[0], "surge_fee": 0.75}, *rows[1:]]) == said(1, 1, 3)


def test_the_same_bytes_hold_the_same_rows_and_are_not_compared(workspace: Workspace) -> None:
    issue(workspace, trips(5))
    # Who compared them would find this row missing.
    DeltaTable(workspace.lake.location(GreenTrips).uri).delete("source_row = 3")
    assert issue(workspace, trips(5)) == said(0, 0, 5)


def test_another_month_that_is_stored_is_no_part_of_what_changed(workspace: Workspace) -> None:
    issue(workspace, trips(5))
    workspace.land(Service.GREEN, trips(7), MONTH.next())
    assert told(workspace.run_bronze(Service.GREEN, MONTH.next())) == {}
    assert issue(workspace, trips(4)) == said(0, 1, 4)


@pytest.fixture(scope="module")
def re_issued(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Workspace, dg.ExecuteInProcessResult]]:
    """Run a month, and once more with another file and another zone lookup: the lake, and how the second run went."""
    with dg.DagsterInstance.ephemeral() as instance:
        workspace = Workspace.below(tmp_path_factory.mktemp("re_issued"), instance)
        lookup = workspace.landing / "taxi_zone_lookup.csv"
        for airport, rows in {
            "JFK": [*trips(6), *trips(2, trip_distance=0.0)],
            "JFK Airport": [*trips(4, vendor_id=1), *trips(1, fare_amount=-12.0)],
        }.items():
            lookup.write_text(LOOKUP.format(airport=airport))
            workspace.land(Service.GREEN, rows)
            result = workspace.run(Service.GREEN)
            assert result.success, workspace.failures(result)
        yield workspace, result


def test_a_re_issued_month_is_replaced_in_every_table(
    re_issued: tuple[Workspace, dg.ExecuteInProcessResult],
) -> None:
    workspace, _ = re_issued
    assert workspace.table(GreenTrips).height == 5
    assert set(workspace.table(SilverGreenTrips)["vendor_id"]) == {1}
    assert workspace.table(GreenTripsQuarantine)["failed_rules"].to_list() == [["positive_fare_amount"]]
    assert workspace.table(FactTopZones).select("zone", "trip_count").rows() == [("JFK Airport", 4)]


def test_another_zone_lookup_tells_what_changed_in_it(re_issued: tuple[Workspace, dg.ExecuteInProcessResult]) -> None:
    (event,) = re_issued[1].asset_materializations_for_node("tlc_bronze__zones")
    assert {name: event.metadata[name].value for name in CHANGED} == said(1, 1, 1)


def test_tables_that_are_no_files_tell_of_no_change(re_issued: tuple[Workspace, dg.ExecuteInProcessResult]) -> None:
    events = [event for event in re_issued[1].get_asset_materialization_events() if event.asset_key]
    telling = {event.asset_key.to_user_string() for event in events if "rows_added" in event.materialization.metadata}
    assert telling == {"tlc_bronze/green_trips", "tlc_bronze/zones"}


def test_many_rows_are_compared_as_few_are() -> None:
    before = on(ENGINE, pl.LazyFrame({"a": range(100_000), "b": [None, "x"] * 50_000}))
    after = on(ENGINE, pl.LazyFrame({"a": range(30_000, 130_000), "b": [None, "x"] * 50_000}))
    found = changed_rows(before, after, ["a", "b"])
    assert (found.added, found.gone, found.same) == (30_000, 30_000, 70_000)
    assert changed_rows(before, after, ["b"]).same == 100_000
