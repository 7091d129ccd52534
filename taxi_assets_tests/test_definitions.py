"""The code location: that every asset, check and job is declared as the UI needs it, and that loading says nothing."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import dagster as dg
import pytest
from dagster._core.remote_representation.external_data import RepositorySnap
from dagster_shared.serdes import serialize_value

from taxi_assets.definitions import build_defs, defs
from taxi_assets.lake.metadata import asset_key
from taxi_assets.lake.partitions import partitions_of
from taxi_assets.nyctaxi import NYCTAXI
from taxi_assets.nyctaxi.gold.fact_trips import FactTrips
from taxi_assets.settings import Settings
from taxi_assets.tlc import TLC
from taxi_assets.tlc.silver.trips import SILVER_TRIPS
from taxi_assets.tlc.vocabulary import Service

pytestmark = pytest.mark.fast

GRAPH = defs.resolve_asset_graph()
KEYS = sorted(GRAPH.materializable_asset_keys)
NAMES = ["/".join(key.path) for key in KEYS]
SHARED = {
    "tlc_bronze/zones", "tlc_silver/dim_zone",
    "tlc_gold/fact_trips_borough_hour", "tlc_gold/fact_top_zones", "tlc_gold/nyc_taxi_daily",
}  # fmt: skip
STAR = {
    "nyctaxi_bronze/trips_raw", "nyctaxi_silver/trips_enriched", "nyctaxi_silver/trips_enriched_quarantine",
    "nyctaxi_silver/riders", "nyctaxi_gold/dim_date", "nyctaxi_gold/dim_zone", "nyctaxi_gold/dim_time_of_day",
    "nyctaxi_gold/dim_rider", "nyctaxi_gold/fact_trips",
}  # fmt: skip
SERVICES = ("yellow", "green", "fhv", "fhvhv")
# What only the trips of some services name.
OF_SOME = {
    "tlc_silver/dim_payment": ("yellow", "green"),
    "tlc_silver/dim_base": ("fhv", "fhvhv"),
    "tlc_silver/dim_license": ("fhvhv",),
}


def of_service(service: str) -> set[str]:
    trips = {f"tlc_bronze/{service}_trips", f"tlc_silver/{service}_trips", f"tlc_silver/{service}_trips_quarantine"}
    return trips | {table for table, services in OF_SOME.items() if service in services}


def test_a_table_is_of_its_own_catalogs_months() -> None:
    of_catalogs = {SILVER_TRIPS[Service.GREEN]: TLC, FactTrips: NYCTAXI}
    for contract, catalog in of_catalogs.items():
        assert partitions_of(contract) is catalog.calendar.partitions


def test_the_tables_of_the_design_are_assets() -> None:
    of_tlc = SHARED | set(OF_SOME) | {table for service in SERVICES for table in of_service(service)}
    assert set(NAMES) == of_tlc | STAR


@pytest.mark.parametrize("key", KEYS, ids=NAMES)
def test_an_asset_has_all_that_the_ui_shows_of_it(key: dg.AssetKey) -> None:
    asset = GRAPH.get(key)
    catalog, _, layer = key.path[0].partition("_")
    assert asset.group_name == key.path[0]
    assert asset.owners
    assert {"delta", layer} <= asset.kinds
    assert asset.tags["catalog"] == catalog
    assert asset.tags["layer"] == layer
    services = OF_SOME.get("/".join(key.path)) or [s for s in SERVICES if key.path[1].startswith(f"{s}_trips")]
    assert asset.tags.get("feed") == (".".join(services) or None)
    assert asset.code_version
    assert asset.metadata["dagster/table_name"] == ".".join(key.path)
    assert "One row per" in (asset.description or "")


@pytest.mark.parametrize("key", KEYS, ids=NAMES)
def test_an_assets_columns_are_all_described_and_have_unique_names(key: dg.AssetKey) -> None:
    schema = GRAPH.get(key).metadata["dagster/column_schema"]
    columns = schema.columns if isinstance(schema, dg.TableSchema) else schema.schema.columns
    assert columns
    assert [column.name for column in columns if not column.description] == []
    assert len({column.name for column in columns}) == len(columns)
    assert [column.name for column in columns if column.name == "source_month"] == ["source_month"]


def test_all_assets_have_the_same_partitions_whose_keys_are_months() -> None:
    definitions = {GRAPH.get(key).partitions_def for key in KEYS}
    (months,) = definitions
    assert months is not None
    keys = months.get_partition_keys()
    assert keys[:2] == ["2009-01", "2009-02"]
    assert all(re.fullmatch(r"\d{4}-\d{2}", key) for key in keys)


@pytest.mark.parametrize("service", SILVER_TRIPS)
def test_every_rule_is_a_described_check_of_its_services_silver_table(service: str) -> None:
    contract = SILVER_TRIPS[service]  # type: ignore[index]
    checks = {
        key.name: GRAPH.get_check_spec(key) for key in GRAPH.asset_check_keys if key.asset_key == asset_key(contract)
    }
    rules = {rule.name: rule for rule in contract.rules()}
    assert rules
    assert rules.keys() < checks.keys()
    for name, rule in rules.items():
        described = checks[name].description or ""
        assert rule.why in described
        assert rule.source in described
        assert f"Rows that break it are {'quarantined' if rule.quarantines else 'kept and counted'}" in described
        assert not checks[name].blocking


@pytest.mark.parametrize("key", sorted(GRAPH.asset_check_keys), ids=lambda key: f"{key.asset_key.path[-1]}-{key.name}")
def test_every_check_is_described_and_has_the_partitions_of_its_asset(key: dg.AssetCheckKey) -> None:
    spec = GRAPH.get_check_spec(key)
    assert spec.description
    assert spec.partitions_def == GRAPH.get(key.asset_key).partitions_def
    assert spec.name == spec.name.lower()


def test_the_checks_of_the_stored_tables_block_and_drift_doesnt() -> None:
    blocking = {key.name for key in GRAPH.asset_check_keys if GRAPH.get_check_spec(key).blocking}
    assert blocking == {
        "rows_accounted_for", "matches_contract", "unique_keys", "no_orphans_in_dim_zone", "no_orphans_in_dim_payment",
        "no_orphans_in_dim_base", "no_orphans_in_dim_license", "no_orphans_in_zones",
        "reconciles_with_silver", "within_publish_limit", "riders_are_stable", "no_collision", "one_fact_per_trip",
        "no_orphans_in_dim_date", "no_orphans_in_dim_time_of_day", "no_orphans_in_dim_rider", "values_are_stable",
    }  # fmt: skip


def test_every_table_is_held_to_its_contract_as_stored() -> None:
    assert {key.asset_key for key in GRAPH.asset_check_keys if key.name == "matches_contract"} == set(KEYS)


@pytest.mark.parametrize(
    ("job", "assets"),
    [
        ("tlc_month", set(NAMES) - STAR),
        ("nyctaxi_month", STAR),
        *((f"tlc_{service}", SHARED | of_service(service)) for service in SERVICES),
    ],
)
def test_a_job_runs_the_assets_of_its_services_with_all_their_checks_by_month(job: str, assets: set[str]) -> None:
    resolved = defs.resolve_job_def(job)
    layer = resolved.asset_layer
    assert {"/".join(key.path) for key in layer.selected_asset_keys} == assets
    expected = {key for key in GRAPH.asset_check_keys if "/".join(key.asset_key.path) in assets}
    assert set(layer.asset_graph.asset_check_keys) & expected == expected
    assert resolved.partitions_def == GRAPH.get(KEYS[0]).partitions_def
    assert resolved.description


def test_the_sensors_of_landing_start_the_job_of_a_whole_month_and_that_of_alerts_none() -> None:
    sensors = {sensor.name: sensor for sensor in defs.sensors or [] if isinstance(sensor, dg.SensorDefinition)}
    assert sensors.keys() == {"tlc_landing", "nyctaxi_landing", "alerts"}
    assert sensors["tlc_landing"].job_name == "tlc_month"
    assert sensors["nyctaxi_landing"].job_name == "nyctaxi_month"
    assert sensors["alerts"].targets == []
    assert {sensor.default_status for sensor in sensors.values()} == {dg.DefaultSensorStatus.STOPPED}


def test_definitions_of_other_settings_stand_beside_each_other(tmp_path: Path) -> None:
    one, other = (
        build_defs(Settings(lake_root=str(tmp_path / name), landing_root=str(tmp_path / name))) for name in ("a", "b")
    )
    assert one.resources is not None
    assert other.resources is not None
    assert one.resources["lake"].root == str(tmp_path / "a")
    assert other.resources["lake"].root == str(tmp_path / "b")
    with dg.build_resources(one.resources) as there:
        assert (there.lake.root, there.landing.root) == (str(tmp_path / "a"), str(tmp_path / "a"))


def test_every_resource_is_described_and_the_ui_shows_which_lake_and_landing_one_is_on_and_no_secret() -> None:
    options = {"provider": "s3", "region": "here", "access_key_id": "hidden", "secret_access_key": "hidden"}
    settings = Settings(
        lake_root="s3://lake/tables",
        landing_root="s3://landing/files",
        lake_storage=options,
        landing_storage=options,
        engine="spark",
        spark={"conf": {"spark.hidden": "hidden"}},
        alerts={"routes": {"oncall": {"url": "json://hidden", "severity": "error", "groups": "tlc_gold"}}},
    )
    repository = build_defs(settings).get_repository_def()
    snaps = {snap.name: snap for snap in RepositorySnap.from_def(repository).resources or []}
    assert snaps.keys() == {"lake", "landing", "alerts", "maintenance", "passed_by", "lake_io_manager"}
    assert [name for name, snap in snaps.items() if not snap.resource_snapshot.description] == []
    shown = {name: snap.configured_values for name, snap in snaps.items()}
    assert shown["lake"]["root"] == '"s3://lake/tables"'
    assert shown["landing"]["root"] == '"s3://landing/files"'
    assert shown["alerts"]["routes"] == '["oncall: error, tlc_gold"]'
    assert "hidden" not in serialize_value(RepositorySnap.from_def(repository))


def test_loading_the_definitions_says_nothing_and_writes_nothing(tmp_path: Path) -> None:
    environment = {
        **os.environ, "TAXI_LAKE_ROOT": str(tmp_path / "lake"), "TAXI_LANDING_ROOT": str(tmp_path / "landing"),
        "DAGSTER_HOME": str(tmp_path / "home"),
    }  # fmt: skip
    code = "from taxi_assets.definitions import defs; defs.resolve_all_job_defs()"
    loaded = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert (loaded.stdout, loaded.stderr) == ("", "")
    assert list(tmp_path.iterdir()) == []


def test_a_resource_that_the_launchpad_sets_anew_ends_the_run_before_it_begins(
    tmp_path: Path, instance: dg.DagsterInstance
) -> None:
    job = build_defs(Settings(landing_root=str(tmp_path), lake_root=str(tmp_path / "a"))).resolve_job_def("tlc_month")
    lake = {"storage": "local", "engine": "polars", "spark_master": "(none)"}
    result = job.execute_in_process(
        instance=instance,
        partition_key="2024-01",
        run_config={"resources": {"lake": {"config": {**lake, "root": str(tmp_path / "b")}}}},
        raise_on_error=False,
    )
    assert not result.success
    (failed,) = (event for event in result.all_events if event.event_type is dg.DagsterEventType.RUN_FAILURE)
    assert "LakeResource can't be set for one run (root)" in str(failed.event_specific_data)
    assert list(tmp_path.iterdir()) == []
