"""What Dagster and status say of a table that was restored: what is stored now, and never what was there before."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import dagster as dg
import pytest

from taxi_assets.contracts import Contract
from taxi_assets.deliveries.status import InLanding, State, draw
from taxi_assets.lake.metadata import asset_key
from taxi_assets.lake.restored import record
from taxi_assets.lake.versions import history, restore
from taxi_assets.places import landing_of
from taxi_assets.tlc import TLC
from taxi_assets.tlc.bronze.green_trips import GreenTrips as BronzeGreenTrips
from taxi_assets.tlc.silver.dim_zone import DimZone
from taxi_assets.tlc.silver.green_trips import GreenTrips
from taxi_assets.tlc.vocabulary import Service
from taxi_assets_tests.scenario import MONTH, Workspace, trips

pytestmark = pytest.mark.full

FILE = f"green_tripdata_{MONTH}.parquet"


def run(workspace: Workspace, count: int) -> None:
    """Land so many trips as the month's file, and run it."""
    # A new file, as the old one may be that of other tests, too.
    (workspace.landing / FILE).unlink(missing_ok=True)
    workspace.land(Service.GREEN, trips(count))
    result = workspace.run(Service.GREEN)
    assert result.success, workspace.failures(result)


@pytest.fixture(scope="module")
def pristine(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a month of green that was run, re-issued and run again; to be copied."""
    folder = tmp_path_factory.mktemp("re_issued")
    (folder / "dagster").mkdir()
    with dg.DagsterInstance.local_temp(str(folder / "dagster")) as instance:
        workspace = Workspace.below(folder, instance)
        run(workspace, 3)
        run(workspace, 5)
    return folder


@pytest.fixture
def re_issued(pristine: Path, tmp_path: Path) -> Iterator[Workspace]:
    """The month in a landing, a lake and an instance of the test's own."""
    for name in ("lake", "dagster"):
        shutil.copytree(pristine / name, tmp_path / name)
    with dg.DagsterInstance.local_temp(str(tmp_path / "dagster")) as instance:
        workspace = Workspace.below(tmp_path, instance)
        # Its date is part of what the file is known by.
        (workspace.landing / FILE).hardlink_to(pristine / "landing" / FILE)
        yield workspace


def put_back(workspace: Workspace, contract: type[Contract], number: int) -> None:
    record(workspace.instance, contract, TLC.calendar.partitions, number, restore(workspace.lake, contract, number))


def last(workspace: Workspace, contract: type[Contract]) -> dg.AssetMaterialization:
    event = workspace.instance.get_latest_materialization_event(asset_key(contract))
    assert event is not None
    assert event.asset_materialization is not None
    return event.asset_materialization


def status(workspace: Workspace) -> State:
    landing = landing_of(workspace.settings)
    picture = draw(InLanding.of(TLC, landing, workspace.instance), workspace.lake, workspace.instance, [MONTH])
    return picture.cells[Service.GREEN, MONTH].state


def first_version(workspace: Workspace, contract: type[Contract]) -> int:
    """Return the version that the month's first run made."""
    return min(one.number for one in history(workspace.lake, contract, 20) if one.partitions)


def test_commits_name_the_run_that_made_them(re_issued: Workspace) -> None:
    runs = {run.run_id for run in re_issued.instance.get_runs()}

    assert len(runs) == 2
    for contract in (BronzeGreenTrips, GreenTrips, DimZone):
        assert {one.run_id for one in history(re_issued.lake, contract, 20) if one.files_added} == runs


def test_a_restored_month_is_recorded_as_what_once_stored_it(re_issued: Workspace) -> None:
    key = asset_key(BronzeGreenTrips)
    first, second = reversed([
        one.asset_materialization
        for one in re_issued.instance.fetch_materializations(key, limit=10).records
        if one.asset_materialization
    ])  # fmt: skip
    version = first_version(re_issued, BronzeGreenTrips)

    put_back(re_issued, BronzeGreenTrips, version)

    now = last(re_issued, BronzeGreenTrips)
    for name in ("source_identity", "source_fingerprint", "dagster/partition_row_count"):
        assert now.metadata[name] == first.metadata[name] != second.metadata[name]
    assert (now.partition, now.tags) == (str(MONTH), first.tags)
    assert now.metadata["restored_version"].value == version
    assert now.metadata["table_version"].value == re_issued.lake.location(BronzeGreenTrips).version()


@pytest.mark.parametrize("contract", [BronzeGreenTrips, GreenTrips], ids=["bronze", "silver"])
def test_a_month_that_was_put_back_is_stale_until_it_is_run_again(
    re_issued: Workspace, contract: type[Contract]
) -> None:
    assert status(re_issued) is State.OK

    put_back(re_issued, contract, first_version(re_issued, contract))
    assert status(re_issued) is State.STALE

    run(re_issued, 5)
    assert status(re_issued) is State.OK


def test_a_month_that_holds_what_its_last_run_stored_needs_no_new_record(re_issued: Workspace) -> None:
    at = re_issued.lake.location(GreenTrips)
    version, before = at.version(), last(re_issued, GreenTrips)
    assert version is not None
    # What no run of ours did.
    table = at.open()
    assert table is not None
    table.delete()

    put_back(re_issued, GreenTrips, version)

    assert last(re_issued, GreenTrips) == before
    assert status(re_issued) is State.OK


def test_a_month_that_restoring_takes_away_is_observed_as_no_longer_stored(re_issued: Workspace) -> None:
    put_back(re_issued, GreenTrips, 0)

    (record_,) = re_issued.instance.fetch_observations(asset_key(GreenTrips), limit=5).records
    assert record_.asset_observation is not None
    assert record_.asset_observation.partition == str(MONTH)
    assert "No longer stored" in str(record_.asset_observation.description)
    assert status(re_issued) is State.LANDED


def test_of_a_table_without_months_the_table_is_observed(re_issued: Workspace) -> None:
    put_back(re_issued, DimZone, 1)

    (record_,) = re_issued.instance.fetch_observations(asset_key(DimZone), limit=5).records
    assert record_.asset_observation is not None
    assert (record_.asset_observation.partition, record_.asset_observation.metadata["restored_version"].value) == (
        None,
        1,
    )
