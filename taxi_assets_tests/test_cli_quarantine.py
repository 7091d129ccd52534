"""`taxi-assets quarantine`: which rows it shows of which tables, how, and what it says where there are none."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest

from taxi_assets.contracts import Contract, Frame
from taxi_assets.engines import DeltaLocation
from taxi_assets.tlc.silver.trips import QUARANTINES, SILVER_TRIPS
from taxi_assets.tlc.vocabulary import Service
from taxi_assets_tests.scenario import MONTH, POLARS, judged, trip, trips

# Its fixtures: a command's outcome on folders of its own.
from taxi_assets_tests.test_cli import Run, home, only_line, run  # noqa: F401

pytestmark = pytest.mark.fast

GREEN, YELLOW = "tlc_silver.green_trips_quarantine", "tlc_silver.yellow_trips_quarantine"


@pytest.fixture(autouse=True)
def stored(run: Run, tmp_path: Path) -> None:  # noqa: F811
    """Store January: of green 25 rows without distance and a refund, of yellow a refund."""
    del run
    refund = trip(fare_amount=-12.0, store_and_fwd_flag="\x1b[31m")
    for service, rows in (
        (Service.GREEN, [*trips(30), *trips(25, trip_distance=0.0, vendor_id=1), refund]),
        (Service.YELLOW, [*trips(9), refund]),
    ):
        verdict = judged(service, rows)
        store(tmp_path, SILVER_TRIPS[service], verdict.kept)
        store(tmp_path, QUARANTINES[service], verdict.quarantined)


def store(folder: Path, contract: type[Contract], rows: Frame) -> None:
    at = DeltaLocation(str(folder / "lake" / contract.stored_as().key), {})
    POLARS.replace(contract, at, rows, {"source_month": MONTH.first_day}, run_id="a")


def lines(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text), delimiter="\t"))


def test_the_rows_of_a_month_are_shown_with_the_rules_that_each_breaks(run: Run) -> None:  # noqa: F811
    outcome = run("quarantine", "2024-01", "--service", "green", "--service", "yellow")
    assert (outcome.status, outcome.err) == (0, "")
    shown = [(row["table"], row["source_row"], row["failed_rules"], row["fare_amount"]) for row in lines(outcome.out)]
    # Twenty of each table, the first of them.
    assert len(shown) == 20 + 1
    assert shown[0] == (YELLOW, "10", "positive_fare_amount", "-12.0")
    assert shown[1] == (GREEN, "31", "positive_trip_distance", "12.0")


def test_only_rows_that_break_a_rule_are_shown_and_no_more_than_wanted(run: Run) -> None:  # noqa: F811
    refused = run("quarantine", "2024-01", "--rule", "positive_fare_amount", "--service", "green", "--json")
    assert [row["source_row"] for row in json.loads(refused.out)] == [56]
    three = run("quarantine", "2024-01", "--table", "tlc_silver.green_trips", "--limit", "3", "--json")
    assert [row["source_row"] for row in json.loads(three.out)] == [31, 32, 33]


def test_json_and_csv_have_every_row_and_all_columns_and_no_control_characters(run: Run) -> None:  # noqa: F811
    as_json = json.loads(run("quarantine", "2024-01", "--table", GREEN, "--json").out)
    written = run("quarantine", "2024-01", "--table", GREEN, "--csv").out
    as_csv = list(csv.DictReader(io.StringIO(written)))
    assert len(as_json) == len(as_csv) == 26
    columns = ["table", *QUARANTINES[Service.GREEN].column_names()]
    assert list(as_json[0]) == list(as_csv[0]) == columns
    assert as_json[-1]["failed_rules"] == ["positive_fare_amount"]
    assert (as_csv[-1]["failed_rules"], as_csv[-1]["total_amount"]) == ("positive_fare_amount", "20.0")
    assert "\x1b" not in written


@pytest.mark.parametrize(
    ("words", "status", "problem"),
    [
        (["2024-02"], 1, "2024-02 isn't stored in tlc_silver.yellow_trips, tlc_silver.green_trips, "),
        (["2024-02", "--service", "green"], 1, "Run it first: taxi-assets materialize --service green 2024-02"),
        (["2024-01", "--rule", "foo"], 2, "There is no rule 'foo' that quarantines rows of tlc_silver.yellow_trips, "),
        (["2024-01", "--rule", "known_zones", "--service", "green"], 2, "There are: values_fit_their_types, "),
        (["2024-01", "--table", "tlc_gold.nyc_taxi_daily"], 2, "tlc_gold.nyc_taxi_daily has no quarantine."),
        (["2024-01", "--table", "tlc_silver.gren_trips"], 2, "Did you mean tlc_silver.green_trips"),
        (["2024-01", "--table", GREEN, "--service", "green"], 2, "Either --feed or --table."),
        (["2024-01", "--catalog", "nyctaxi", "--feed", "green"], 2, "There is no feed 'green' in nyctaxi; there is "),
        (["2024-01", "--catalog", "nyctaxi", "--table", GREEN], 2, "is of the catalog tlc, not of nyctaxi."),
        (["2016-01", "--catalog", "nyctaxi"], 1, "2016-01 isn't stored in nyctaxi_silver.trips_enriched."),
        (["2024-01", "--json", "--csv"], 2, "Either --json or --csv."),
        (["January"], 2, "'January' is not a month"),
    ],
)  # fmt: skip
def test_what_cant_be_shown_is_one_line(run: Run, words: list[str], status: int, problem: str) -> None:  # noqa: F811
    outcome = run("quarantine", *words)
    assert (outcome.status, outcome.out) == (status, "")
    assert problem in only_line(outcome)


def test_a_month_of_which_no_row_is_quarantined_is_no_error(run: Run, tmp_path: Path) -> None:  # noqa: F811
    verdict = judged(Service.GREEN, trips(9))
    store(tmp_path, SILVER_TRIPS[Service.GREEN], verdict.kept)
    store(tmp_path, QUARANTINES[Service.GREEN], verdict.quarantined)
    outcome = run("quarantine", "2024-01", "--service", "green", "--json")
    assert (outcome.status, json.loads(outcome.out), outcome.err) == (0, [], "")
    assert run("quarantine", "2024-01", "--service", "green").out.splitlines()[1:] == []
