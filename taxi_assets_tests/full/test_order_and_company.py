"""What must make no difference to the tables: the machine's time zone, the order of months, and who else runs.

The measure is always the lake of the seven months, which one process made one after the other.
"""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import polars as pl
import pytest

from taxi_assets_tests.full.conftest import SevenMonths
from taxi_assets_tests.full.processes import Home, assert_equal_contents, contents, report_of

pytestmark = pytest.mark.full

GREEN = ("materialize", "--service", "green")
SIX = ("2021-01", "2021-02", "2022-02", "2022-03", "2023-01", "2023-02")


# In 2023-03 New York's clocks leave out an hour that a naive conversion would move.
@pytest.mark.parametrize("zone", ["Asia/Tokyo", "America/New_York"])
def test_the_time_zone_of_the_machine_changes_nothing(zone: str, tmp_path: Path, seven_months: SevenMonths) -> None:
    home = Home.below(tmp_path, seven_months.home.landing)
    before = datetime.now(UTC).replace(tzinfo=None)

    home.report(*GREEN, "2023-03", TZ=zone)

    assert_equal_contents(contents(home.lake, ["2023-03"]), contents(seven_months.home.lake, ["2023-03"]))
    ingested = pl.read_delta(str(home.lake / "tlc_bronze/green_trips"))["ingested_at"].unique().to_list()
    assert before <= ingested[0] <= datetime.now(UTC).replace(tzinfo=None), "in UTC, wherever the machine is"


def test_months_between_which_the_files_types_change_can_run_in_either_order(
    tmp_path: Path, seven_months: SevenMonths
) -> None:
    home = Home.below(tmp_path, seven_months.home.landing)

    for month in ("2023-02", "2023-01"):
        home.report(*GREEN, month)

    months = ["2023-01", "2023-02"]
    assert_equal_contents(contents(home.lake, months), contents(seven_months.home.lake, months))
    assert _newest_months(home.lake) == {"2023-02"}, "the newest month wins, though it ran first"


def test_six_processes_that_fill_an_empty_lake_at_the_same_time_lose_nothing(
    tmp_path: Path, seven_months: SevenMonths
) -> None:
    homes = [Home.below(tmp_path / month, seven_months.home.landing).on_lake(tmp_path / "lake") for month in SIX]

    processes = [home.start(*GREEN, month, "--json") for home, month in zip(homes, SIX, strict=True)]
    reports = [report_of(process) for process in processes]

    assert [report[0]["state"] for report in reports] == ["done"] * 6
    assert_equal_contents(contents(tmp_path / "lake", SIX), contents(seven_months.home.lake, SIX))
    assert _newest_months(tmp_path / "lake") == {"2023-02"}


def test_two_processes_that_run_one_month_at_the_same_time_leave_it_once(
    tmp_path: Path, seven_months: SevenMonths
) -> None:
    homes = [Home.below(tmp_path / name, seven_months.home.landing).on_lake(tmp_path / "lake") for name in ("a", "b")]

    processes = [home.start(*GREEN, "2021-02", "--json") for home in homes]
    for process in processes:
        report_of(process)

    assert_equal_contents(contents(tmp_path / "lake", ["2021-02"]), contents(seven_months.home.lake, ["2021-02"]))


def _newest_months(lake: Path) -> set[str]:
    return {
        month
        for table in ("dim_zone", "dim_payment")
        for month in pl.read_delta(str(lake / "tlc_silver" / table))["source_month"].dt.strftime("%Y-%m")
    }
