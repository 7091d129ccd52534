"""`taxi-assets check`: what it looks at, what it records, and how it ends where something is wrong."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import dagster as dg
import pytest

from taxi_assets.tlc.vocabulary import Service
from taxi_assets_tests.scenario import trips
from taxi_assets_tests.test_cli_runs import Shell

pytestmark = pytest.mark.full

GREEN = "tlc_silver.green_trips"


@pytest.fixture(scope="module")
def shell(tmp_path_factory: pytest.TempPathFactory) -> Shell:
    """January of green, run. Tests leave its lake as it is."""
    shell = Shell(tmp_path_factory.mktemp("check"))
    (shell.folder / "landing").mkdir()
    shell.land(Service.GREEN, "2024-01", trips(12))
    ran = shell("materialize", "2024-01")
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return shell


@pytest.fixture
def damaged(shell: Shell, tmp_path: Path) -> Shell:
    """The same without bronze, so that silver's rows come from nowhere."""
    shutil.copytree(shell.folder, tmp_path / "copy")
    shutil.rmtree(tmp_path / "copy" / "lake" / "tlc_bronze" / "green_trips")
    return Shell(tmp_path / "copy")


def test_the_stored_checks_of_a_month_are_run_shown_and_recorded_and_no_table_is_made(shell: Shell) -> None:
    checked = shell("check", "2024-01", "--json")
    assert (checked.returncode, checked.stderr) == (0, "")
    found = {(row["table"], row["check"]): row for row in json.loads(checked.stdout)}
    assert {row["status"] for row in found.values()} == {"passed"}
    assert (GREEN, "rows_accounted_for") in found
    assert ("tlc_gold.fact_top_zones", "reconciles_with_silver") in found
    assert ("tlc_bronze.zones", "unique_keys") in found
    assert (GREEN, "positive_fare_amount") not in found
    assert not any("yellow" in table for table, _ in found)
    with dg.DagsterInstance.from_config(str(shell.folder / "dagster")) as instance:
        newest, first = instance.get_runs()
        assert (newest.job_name, newest.status, newest.asset_selection) == (
            "tlc_month",
            dg.DagsterRunStatus.SUCCESS,
            None,
        )
        assert (newest.tags["dagster/partition"], newest.tags["only"]) == ("2024-01", "checks")
        materialized = instance.fetch_materializations(dg.AssetKey(["tlc_silver", "green_trips"]), limit=9).records
        assert {record.event_log_entry.run_id for record in materialized} == {first.run_id}


def test_the_checks_of_one_table_are_run_alone(shell: Shell) -> None:
    checked = shell("check", "2024-01", "--table", GREEN, "--json")
    assert {(row["table"], row["status"]) for row in json.loads(checked.stdout)} == {(GREEN, "passed")}


def test_an_error_is_status_1_and_all_others_are_looked_at(damaged: Shell) -> None:
    checked = damaged("check", "2024-01")
    assert checked.returncode == 1
    assert "Traceback" not in checked.stdout + checked.stderr
    header, *lines = [line.split("\t") for line in checked.stdout.splitlines()]
    found = {(row["table"], row["check"]): row for row in (dict(zip(header, line, strict=True)) for line in lines)}
    failed = found[GREEN, "rows_accounted_for"]
    assert (failed["status"], failed["says"]) == ("failed", "bronze 0; kept 12; quarantined 0")
    assert found["tlc_gold.fact_top_zones", "reconciles_with_silver"]["status"] == "passed"
    assert {key for key, row in found.items() if row["status"] == "failed"} == {(GREEN, "rows_accounted_for")}


def test_a_month_that_isnt_stored_says_what_to_run(shell: Shell) -> None:
    for words, problem in (
        (("2024-02",), "Nothing of tlc is stored for 2024-02. Run it first: taxi-assets materialize 2024-02"),
        (
            ("2024-01", "--table", "tlc_silver.yellow_trips"),
            "Nothing of tlc_silver.yellow_trips is stored for 2024-01.",
        ),
    ):
        checked = shell("check", *words)
        assert (checked.returncode, checked.stdout) == (1, "")
        (line,) = checked.stderr.splitlines()
        assert line.startswith(problem)
