"""Seven real green months, run by the command line, against numbers that an independent SQL found in the files."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path

import dagster as dg
import polars as pl
import pyarrow.parquet as pq
import pytest

from taxi_assets.check_history import latest_results
from taxi_assets.definitions import defs
from taxi_assets_tests.full.conftest import REAL_MONTHS, SevenMonths
from taxi_assets_tests.full.processes import first_day

pytestmark = pytest.mark.full


@dataclass(frozen=True)
class Truth:
    """How many rows a file has, how many break each rule (one may break several), and what is left."""

    rows: int
    pickup_in_file_month: int
    pickup_before_dropoff: int
    positive_fare_amount: int
    positive_trip_distance: int
    plausible_trip_distance: int
    kept: int
    kept_total_amount: Decimal


RULES = (
    "pickup_in_file_month",
    "pickup_before_dropoff",
    "positive_fare_amount",
    "positive_trip_distance",
    "plausible_trip_distance",
)
TRUTH = {
    "2021-01": Truth(76_518, 3, 66, 290, 2_553, 53, 73_777, Decimal("1752681.47")),
    "2021-02": Truth(64_572, 2, 69, 225, 2_056, 29, 62_358, Decimal("1476438.64")),
    "2022-02": Truth(69_399, 23, 98, 340, 3_738, 79, 65_357, Decimal("1137482.45")),
    "2022-03": Truth(78_537, 24, 145, 387, 4_394, 68, 73_861, Decimal("1325076.97")),
    "2023-01": Truth(68_211, 4, 61, 259, 3_350, 34, 64_693, Decimal("1408051.76")),
    "2023-02": Truth(64_809, 26, 81, 276, 2_857, 37, 61_723, Decimal("1349388.27")),
    "2023-03": Truth(72_044, 9, 94, 280, 3_382, 53, 68_422, Decimal("1524344.26")),
}
NOT_BROKEN_IN_THESE = (
    "required_values_present",
    "values_fit_their_types",
    "plausible_fare_amount",
    "not_an_exact_duplicate",
)


@pytest.fixture(scope="module")
def tables(seven_months: SevenMonths) -> dict[str, pl.DataFrame]:
    """Return the trips that are stored, by layer."""
    lake = seven_months.home.lake
    return {
        "bronze": pl.read_delta(str(lake / "tlc_bronze/green_trips")),
        "kept": pl.read_delta(str(lake / "tlc_silver/green_trips")),
        "quarantined": pl.read_delta(str(lake / "tlc_silver/green_trips_quarantine")),
    }


@pytest.fixture(scope="module")
def recorded(seven_months: SevenMonths) -> dict[str, dict[str, int | None]]:
    """Return, by month, how many rows fail each check of the silver trips, as Dagster's instance has it."""
    checks = [
        key
        for key in defs.resolve_asset_graph().asset_check_keys
        if key.asset_key.path == ["tlc_silver", "green_trips"]
    ]
    with dg.DagsterInstance.from_config(str(seven_months.home.dagster)) as instance:
        return {
            month: {result.name: result.rows_failing for result in latest_results(instance, checks, month)}
            for month in REAL_MONTHS
        }


def test_the_months_that_landed_are_done(seven_months: SevenMonths) -> None:
    done = [entry["month"] for entry in seven_months.report if entry["state"] == "done"]

    assert tuple(done) == REAL_MONTHS


def test_the_months_that_did_not_land_are_reported_and_not_failed(seven_months: SevenMonths) -> None:
    others = [entry for entry in seven_months.report if entry["month"] not in REAL_MONTHS]

    assert len(others) == 27 - 7
    assert {entry["state"] for entry in others} == {"not in landing"}
    assert all(entry["not_in_landing"] == ["green"] for entry in others)


@pytest.mark.parametrize("month", REAL_MONTHS)
def test_every_row_of_the_file_is_stored_once(
    month: str, seven_months: SevenMonths, tables: dict[str, pl.DataFrame]
) -> None:
    in_file = pq.read_metadata(seven_months.home.landing / f"green_tripdata_{month}.parquet").num_rows
    rows = {layer: _of_month(table, month)["source_row"].to_list() for layer, table in tables.items()}

    assert in_file == TRUTH[month].rows
    assert sorted(rows["bronze"]) == list(range(1, in_file + 1))
    assert sorted(rows["kept"] + rows["quarantined"]) == list(range(1, in_file + 1))


@pytest.mark.parametrize("month", REAL_MONTHS)
def test_as_many_rows_are_kept_as_the_files_hold_good_ones_and_their_revenue_is_right_to_the_cent(
    month: str, tables: dict[str, pl.DataFrame]
) -> None:
    kept = _of_month(tables["kept"], month)

    assert (kept.height, kept["total_amount"].sum()) == (TRUTH[month].kept, TRUTH[month].kept_total_amount)


@pytest.mark.parametrize("month", REAL_MONTHS)
def test_the_quarantine_names_each_rule_as_often_as_the_file_breaks_it(
    month: str, tables: dict[str, pl.DataFrame]
) -> None:
    named = _of_month(tables["quarantined"], month)["failed_rules"].explode().value_counts()

    assert dict(named.iter_rows()) == {rule: getattr(TRUTH[month], rule) for rule in RULES}


@pytest.mark.parametrize("month", REAL_MONTHS)
def test_the_recorded_checks_count_what_the_file_breaks(month: str, recorded: dict[str, dict[str, int | None]]) -> None:
    found = recorded[month]

    assert {rule: found[rule] for rule in RULES} == {rule: getattr(TRUTH[month], rule) for rule in RULES}
    assert {rule: found[rule] for rule in NOT_BROKEN_IN_THESE} == dict.fromkeys(NOT_BROKEN_IN_THESE, 0)


def test_174_charges_of_2023_01_are_known_to_have_been_refunded(recorded: dict[str, dict[str, int | None]]) -> None:
    assert recorded["2023-01"]["not_reversed"] == 174


def test_the_command_line_shows_the_checks_that_are_recorded(
    seven_months: SevenMonths, recorded: dict[str, dict[str, int | None]]
) -> None:
    shown = {
        check["check"]: check["rows_failing"]
        for check in seven_months.home.report("checks", "2023-01")
        if check["table"] == "tlc_silver.green_trips"
    }

    assert shown == recorded["2023-01"]


def test_no_check_of_a_real_month_fails(seven_months: SevenMonths) -> None:
    reported = {entry["month"]: entry.get("checks_failed", []) for entry in seven_months.report}

    assert {month: failed for month, failed in reported.items() if failed} == {}


def test_each_month_was_one_run_and_is_recorded_where_the_ui_looks(seven_months: SevenMonths) -> None:
    runs = [entry["run_id"] for entry in seven_months.report if entry["month"] in REAL_MONTHS]

    assert len(set(runs)) == 7
    assert (Path(seven_months.home.dagster) / "history" / "runs.db").exists()


def _of_month(table: pl.DataFrame, month: str) -> pl.DataFrame:
    return table.filter(pl.col("source_month") == first_day(month))
