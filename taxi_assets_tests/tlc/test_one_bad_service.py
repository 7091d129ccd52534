"""A month of which one service's file is bad: gold is made of the sound ones, the run fails and names the bad one."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from datetime import date
from pathlib import Path

import dagster as dg
import narwhals.stable.v1 as nw
import polars as pl
import pytest

from taxi_assets.contracts import Contract, contract_of
from taxi_assets.definitions import build_defs
from taxi_assets.deliveries.status import draw
from taxi_assets.lake.stored_checks import Stored
from taxi_assets.places import landing_of
from taxi_assets.tlc.bronze.trips import BRONZE_TRIPS
from taxi_assets.tlc.bronze.zones import Zones
from taxi_assets.tlc.checks import all_checks
from taxi_assets.tlc.gold.fact_top_zones import FactTopZones
from taxi_assets.tlc.gold.fact_trips_borough_hour import FactTripsBoroughHour
from taxi_assets.tlc.gold.nyc_taxi_daily import NycTaxiDaily
from taxi_assets.tlc.silver.dim_payment import DimPayment
from taxi_assets.tlc.silver.trips import SILVER_TRIPS
from taxi_assets.tlc.vocabulary import Service
from taxi_assets_tests.scenario import MONTH, Workspace, trips

pytestmark = pytest.mark.full

GOLD = (FactTripsBoroughHour, FactTopZones, NycTaxiDaily)


def over_its_publish_limit(path: Path) -> None:
    """Leave a file whose fares are all refunds."""

    pl.read_parquet(path).with_columns(fare_amount=-5.0).write_parquet(path)


def not_what_its_name_says(path: Path) -> None:
    path.write_text("no Parquet")


def damaged(path: Path) -> None:
    """Overwrite the first data page, which shows when the rows are stored."""
    content = bytearray(path.read_bytes())
    content[4:200] = b"\xff" * 196
    path.write_bytes(bytes(content))


BAD = {
    "over its publish limit": over_its_publish_limit,
    "not what its name says": not_what_its_name_says,
    "damaged": damaged,
}


def trips_by_service(workspace: Workspace, table: type[Contract]) -> dict[str, int]:
    """Return how many trips a gold table counts for each service of the month."""
    counts: dict[str, int] = {}
    for row in workspace.table(table).rows(named=True):
        counts[row["service_type"]] = counts.get(row["service_type"], 0) + row["trip_count"]
    return counts


def states(workspace: Workspace) -> dict[Service, str]:
    picture = draw(workspace.in_landing, workspace.lake, workspace.instance, [MONTH])
    return {service: picture.cells[service, MONTH].status for service in (Service.YELLOW, Service.GREEN)}


@pytest.fixture(params=list(BAD))
def spoil(request: pytest.FixtureRequest) -> Callable[[Path], None]:
    return BAD[request.param]


def test_gold_is_made_of_the_sound_services_and_the_run_fails_for_the_bad_one(
    workspace: Workspace, spoil: Callable[[Path], None]
) -> None:
    workspace.land(Service.GREEN, trips(12))
    spoil(workspace.land(Service.YELLOW, trips(10)))
    result = workspace.run()
    assert not result.success
    (failure,) = workspace.failures(result)
    assert "yellow" in failure
    assert "green" not in failure
    for table in GOLD:
        assert trips_by_service(workspace, table) == {"green": 12}
    assert states(workspace) == {Service.YELLOW: "failed", Service.GREEN: "materialized"}


def test_a_bad_re_issue_leaves_its_service_as_it_was_in_gold(
    workspace: Workspace, spoil: Callable[[Path], None]
) -> None:
    workspace.land(Service.GREEN, trips(12))
    workspace.land(Service.YELLOW, trips(10))
    assert workspace.run().success
    workspace.land(Service.GREEN, trips(13))
    spoil(workspace.land(Service.YELLOW, trips(9)))
    assert not workspace.run().success
    for table in GOLD:
        assert trips_by_service(workspace, table) == {"green": 13, "yellow": 10}


def test_the_mended_file_run_by_itself_leaves_no_service_failed(
    workspace: Workspace, spoil: Callable[[Path], None]
) -> None:
    workspace.land(Service.GREEN, trips(12))
    spoil(workspace.land(Service.YELLOW, trips(10)))
    assert not workspace.run().success
    workspace.land(Service.YELLOW, trips(10))
    result = workspace.run(Service.YELLOW)
    assert result.success, workspace.failures(result)
    assert states(workspace) == {Service.YELLOW: "materialized", Service.GREEN: "materialized"}
    assert trips_by_service(workspace, NycTaxiDaily) == {"green": 12, "yellow": 10}


def test_a_service_is_failed_until_gold_is_made_of_it(workspace: Workspace) -> None:
    workspace.land(Service.GREEN, trips(12))
    workspace.land(Service.YELLOW, trips(10))
    in_the_way = Path(workspace.settings.lake_root) / "tlc_gold"
    in_the_way.parent.mkdir()
    in_the_way.write_text("a file where gold is to stand")
    assert not workspace.run().success
    assert states(workspace) == {Service.YELLOW: "failed", Service.GREEN: "failed"}
    in_the_way.unlink()
    assert workspace.run(Service.YELLOW).success
    assert states(workspace) == {Service.YELLOW: "materialized", Service.GREEN: "materialized"}


def test_what_a_refusal_says_of_the_tables_is_so(workspace: Workspace) -> None:
    workspace.land(Service.YELLOW, trips(10))
    (workspace.landing / "taxi_zone_lookup.csv").write_text("no,lookup\n1,2\n")
    result = workspace.run(Service.YELLOW)
    (failure,) = workspace.failures(result)
    assert failure.endswith("tlc_bronze/zones stands as before.")
    stored = {event.asset_key for event in result.all_events if event.is_step_materialization and event.asset_key}
    # The others are stored: nothing says that they aren't.
    assert stored == {
        dg.AssetKey(list(contract.stored_as().path)) for contract in (BRONZE_TRIPS[Service.YELLOW], DimPayment)
    }
    assert workspace.lake.row_count(Zones) is None
    assert workspace.lake.row_count(SILVER_TRIPS[Service.YELLOW]) is None


def test_a_refused_file_of_trips_says_so_of_its_bronze_table_alone(workspace: Workspace) -> None:
    not_what_its_name_says(workspace.land(Service.YELLOW, trips(10)))
    result = workspace.run(Service.YELLOW)
    (failure,) = workspace.failures(result)
    assert failure.endswith("tlc_bronze/yellow_trips stands as before.")
    assert workspace.lake.row_count(Zones) == 265


def run_checks(workspace: Workspace) -> dg.ExecuteInProcessResult:
    """Run the checks of what is stored of the month alone."""
    job = build_defs(workspace.settings).resolve_job_def("tlc_month")
    every = {key for checks in all_checks(landing_of(workspace.settings)) for key in checks.check_keys}
    keys = {key for key in every if is_stored(workspace, key.asset_key)}
    subset = job.get_subset(asset_selection=set(), asset_check_selection=keys)
    tags = {"dagster/partition": str(MONTH)}
    return subset.execute_in_process(instance=workspace.instance, tags=tags, raise_on_error=False)


def is_stored(workspace: Workspace, table: dg.AssetKey) -> bool:
    return workspace.lake.location(contract_of("/".join(table.path))).version() is not None


def lose_a_row(workspace: Workspace, service: Service) -> None:
    """Leave a row less in silver than its bronze has."""
    silver, month = SILVER_TRIPS[service], {"source_month": MONTH.first_day}
    rows = workspace.lake.read(silver, [month]).filter(nw.col("source_row") > 1)
    workspace.lake.engine.replace(silver, workspace.lake.location(silver), rows, month, {}, run_id="by hand")


def test_a_run_of_checks_alone_that_fails_makes_no_service_failed(workspace: Workspace) -> None:
    workspace.land(Service.GREEN, trips(12))
    workspace.land(Service.YELLOW, trips(10))
    assert workspace.run().success
    lose_a_row(workspace, Service.YELLOW)
    assert not run_checks(workspace).success
    assert states(workspace)[Service.YELLOW] == "checks failing"


def test_a_run_of_checks_alone_hides_no_month_that_failed(workspace: Workspace) -> None:
    workspace.land(Service.GREEN, trips(12))
    in_the_way = Path(workspace.settings.lake_root) / "tlc_gold"
    in_the_way.parent.mkdir()
    in_the_way.write_text("a file where gold is to stand")
    assert not workspace.run(Service.GREEN).success
    in_the_way.unlink()
    run_checks(workspace)
    assert states(workspace)[Service.GREEN] == "failed"


def test_a_blocking_check_that_fails_makes_its_own_service_failed_alone(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    workspace.land(Service.GREEN, trips(12))
    workspace.land(Service.YELLOW, trips(10))
    count = Stored.count

    def one_too_many(stored: Stored, contract: type[Contract]) -> int:
        return count(stored, contract) + (contract is BRONZE_TRIPS[Service.YELLOW])

    monkeypatch.setattr(Stored, "count", one_too_many)
    assert not workspace.run().success
    assert trips_by_service(workspace, NycTaxiDaily) == {"green": 12}
    found = states(workspace)
    assert found[Service.YELLOW] == "failed"
    assert found[Service.GREEN] != "failed"


@pytest.mark.parametrize("table", ["green_trips", "green_trips_quarantine"])
def test_a_silver_table_that_cant_be_written_withholds_nothing_of_other_services(
    workspace: Workspace, table: str
) -> None:
    workspace.land(Service.GREEN, [*trips(12), *trips(1, fare_amount=-5.0, vendor_id=1)])
    workspace.land(Service.YELLOW, trips(10))
    in_the_way = Path(workspace.settings.lake_root) / "tlc_silver" / table
    in_the_way.mkdir(parents=True)
    # Of other columns than the contract's.
    pl.DataFrame({"fare": [1], "source_month": [date(2009, 1, 1)]}).write_delta(
        in_the_way, delta_write_options={"partition_by": ["source_month"]}
    )

    result = workspace.run()

    assert not result.success
    assert "tlc_silver__green_trips" in {event.step_key for event in result.all_events if event.is_step_failure}
    for gold in GOLD:
        assert trips_by_service(workspace, gold) == {"yellow": 10}
    found = states(workspace)
    assert found[Service.GREEN] == "failed"
    assert found[Service.YELLOW] != "failed"
    stored = {"/".join(event.asset_key.path) for event in result.all_events if event.is_step_materialization}
    assert f"tlc_silver/{table}" not in stored

    shutil.rmtree(in_the_way)
    assert workspace.run(Service.GREEN).success
    for gold in GOLD:
        assert trips_by_service(workspace, gold) == {"green": 12, "yellow": 10}


def test_gold_is_made_without_a_service_whose_stored_rows_cant_be_loaded_and_fails(workspace: Workspace) -> None:
    workspace.land(Service.GREEN, trips(12))
    workspace.land(Service.YELLOW, trips(10))
    assert workspace.run().success
    log = Path(workspace.lake.location(SILVER_TRIPS[Service.GREEN]).uri) / "_delta_log"
    for entry in log.glob("*.json"):
        entry.write_text('{"cut off')
    workspace.land(Service.YELLOW, trips(11))

    result = workspace.run(Service.YELLOW)

    assert not result.success
    failures = workspace.failures(result)
    assert all("tlc_silver/green_trips" in failure for failure in failures), failures
    for gold in GOLD:
        assert trips_by_service(workspace, gold) == {"yellow": 11}
