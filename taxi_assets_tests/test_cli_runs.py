"""Months run by the command line as a user starts it: in a process of its own, on the environment's settings."""

from __future__ import annotations

import json
import os
import re
import shlex
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from taxi_assets.calendars import Month
from taxi_assets.tlc.vocabulary import Service
from taxi_assets_tests.full.processes import wait_for
from taxi_assets_tests.scenario import in_file_columns, trips
from taxi_assets_tests.test_readme import README

pytestmark = pytest.mark.full

FEBRUARY = Month(2024, 2)


@dataclass(frozen=True)
class Shell:
    """A folder with a landing, a lake and an instance, and commands run on them."""

    folder: Path

    def __call__(self, *words: str, **variables: str) -> subprocess.CompletedProcess[str]:
        """Run a command, with more in its environment."""
        process = self.start(*words, **variables)
        out, err = process.communicate()
        return subprocess.CompletedProcess(words, process.returncode, out, err)

    def start(self, *words: str, **variables: str) -> subprocess.Popen[str]:
        """Start a command, with more in its environment."""
        environment = {
            **os.environ,
            "TAXI_LANDING_ROOT": str(self.folder / "landing"),
            "TAXI_LAKE_ROOT": str(self.folder / "lake"),
            "DAGSTER_HOME": str(self.folder / "dagster"),
            **variables,
        }
        command = [sys.executable, "-m", "taxi_assets.cli", *words]
        return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def land(self, service: Service, month: str, rows: list[dict[str, object]]) -> None:
        """Write a month's file."""
        in_file_columns(service, rows).write_parquet(self.folder / "landing" / f"{service}_tripdata_{month}.parquet")


def february(count: int) -> list[dict[str, object]]:
    ends = ("pickup_datetime", "dropoff_datetime")
    return [{**row, **{end: row[end].replace(month=2) for end in ends}} for row in trips(count)]


@pytest.fixture(scope="module")
def shell(tmp_path_factory: pytest.TempPathFactory) -> Shell:
    """January of green is good, February of green is over the publish limit and of yellow good; March isn't there."""
    shell = Shell(tmp_path_factory.mktemp("cli"))
    (shell.folder / "landing").mkdir()
    shell.land(Service.GREEN, "2024-01", trips(12))
    shell.land(Service.GREEN, "2024-02", [{**row, "fare_amount": -1.0} for row in february(10)])
    shell.land(Service.YELLOW, "2024-02", february(10))
    return shell


@pytest.fixture(scope="module")
def ran(shell: Shell) -> subprocess.CompletedProcess[str]:
    """Run January to March."""
    return shell("materialize", "2024-01:2024-03")


def test_a_failed_month_is_status_1_and_the_others_run(ran: subprocess.CompletedProcess[str], shell: Shell) -> None:
    assert ran.returncode == 1, ran.stderr
    states = {line.split()[0]: line for line in ran.stdout.splitlines() if line.startswith("2024-")}
    assert "done" in states["2024-01"]
    assert "yellow" in states["2024-01"]
    assert "failed" in states["2024-02"]
    assert "not in landing" in states["2024-03"] or "no file" in states["2024-03"]
    asked = shell("sql", "SELECT source_month, count(*) AS n FROM tlc_silver.green_trips GROUP BY ALL")
    assert asked.stdout == "source_month\tn\n2024-01-01\t12\n"


def test_a_failure_is_told_in_the_words_meant_for_the_user_without_colours_or_a_stack(
    ran: subprocess.CompletedProcess[str],
) -> None:
    (told,) = (line for line in ran.stdout.splitlines() if "10 of 10 rows" in line and "break rules" in line)
    assert "Nothing was published" in told
    assert "\x1b" not in ran.stdout + ran.stderr
    assert "Traceback" not in ran.stdout + ran.stderr
    assert ran.stderr.strip() == ""


def test_months_that_arent_in_landing_dont_fail_the_others(ran: subprocess.CompletedProcess[str], shell: Shell) -> None:
    del ran
    again = shell("materialize", "--json", "--service", "green", "2023-12", "2024-01")
    assert again.returncode == 0, again.stderr
    reports = json.loads(again.stdout)
    assert [(report["month"], report["state"]) for report in reports] == [
        ("2023-12", "not in landing"),
        ("2024-01", "done"),
    ]
    assert reports[1]["run_id"]
    assert reports[1]["failures"] == []


def test_checks_of_a_run_month_are_listed_for_programs_and_people(
    ran: subprocess.CompletedProcess[str], shell: Shell
) -> None:
    del ran
    listed = shell("checks", "2024-02")
    assert listed.returncode == 0
    header, *lines = [line.split("\t") for line in listed.stdout.splitlines()]
    rows = [dict(zip(header, line, strict=True)) for line in lines]
    as_json = json.loads(shell("checks", "2024-02", "--json").stdout)
    assert [(row["table"], row["check"], row["status"]) for row in rows] == [
        (row["table"], row["check"], row["status"]) for row in as_json
    ]
    found = {(row["table"], row["check"]): row for row in as_json}
    limit = found["tlc_silver.green_trips", "within_publish_limit"]
    assert limit["status"] == "failed"
    rule = found["tlc_silver.green_trips", "positive_fare_amount"]
    assert (rule["status"], rule["rows_failing"], rule["tolerance"]) == ("warned", 10, 0.02)
    assert found["tlc_silver.yellow_trips", "matches_contract"]["status"] == "passed"
    assert found["tlc_silver.green_trips", "matches_contract"]["status"] == "not run"
    # Gold is made of yellow, which is sound.
    assert found["tlc_gold.fact_top_zones", "unique_keys"]["status"] == "passed"


def test_checks_that_failed_or_warned_can_be_listed_alone(ran: subprocess.CompletedProcess[str], shell: Shell) -> None:
    del ran
    everything, some = (json.loads(shell("checks", *only, "2024-02", "--json").stdout) for only in ([], ["--failed"]))
    assert some == [row for row in everything if row["status"] in {"failed", "warned"}]
    assert {row["status"] for row in some} == {"failed", "warned"}
    assert json.loads(shell("checks", "--failed", "--json", "2024-01").stdout) == []
    header, *lines = shell("checks", "--failed", "2024-01").stdout.splitlines()
    assert (header.split("\t")[:3], lines) == (["status", "table", "check"], [])
    shown = shell("checks", "--failed", "2024-01", FORCE_COLOR="1", TERM="dumb").stdout
    assert re.fullmatch(r"None of the \d+ checks of 2024-01 that ran failed or warned\.\n", shown)


def test_a_name_that_nearly_is_a_months_is_told_beside_the_months_that_ran(
    ran: subprocess.CompletedProcess[str], shell: Shell
) -> None:
    del ran
    near = shell.folder / "landing" / "green_tripdata_2024-1.parquet"
    near.touch()
    again = shell("materialize", "--service", "green", "2024-01")
    near.unlink()
    assert (again.returncode, again.stdout.split()[:2]) == (0, ["2024-01", "done"])
    assert again.stderr.startswith(
        "Not read, as its name is nearly, and not quite, like green_tripdata_2024-01.parquet"
    )
    assert "green_tripdata_2024-1.parquet. Rename" in again.stderr


@pytest.mark.parametrize(
    "words",
    [
        ("sql", "SELECT count(*) FROM range(100000000000) WHERE hash(range) % 7 = 1"),
        ("metrics", "VIEW", "--measures", "n"),
    ],
    ids=["sql", "metrics"],
)
def test_a_query_that_is_interrupted_is_one_line_and_status_130(
    ran: subprocess.CompletedProcess[str], shell: Shell, tmp_path: Path, words: list[str]
) -> None:
    del ran
    view = tmp_path / "view.yaml"
    # Each row with each: more than can be counted.
    joins = [
        f"  - {{name: z{n}, source: tlc_bronze.zones, on: source.zone <> z{n}.zone, rely: {{at_most_one_match: true}}}}"
        for n in range(9)
    ]
    longest = " || ".join(f"z{n}.zone" for n in range(9))
    dimensions, measures = "dimensions: [{name: zone, expr: zone}]", f"measures: [{{name: n, expr: 'MAX({longest})'}}]"
    view.write_text("\n".join(['version: "1.1"', "source: tlc_bronze.zones", dimensions, measures, "joins:", *joins]))
    (temporary := tmp_path / "temporary").mkdir()
    process = shell.start(*(str(view) if word == "VIEW" else word for word in words), TMPDIR=str(temporary))
    wait_for(lambda: any(temporary.iterdir()), "the query to begin", 60)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out, err) == (130, "", "Interrupted.\n")
    assert list(temporary.iterdir()) == []


def test_tables_are_listed_with_their_rows_and_partitions(ran: subprocess.CompletedProcess[str], shell: Shell) -> None:
    del ran
    found = {row["table"]: row for row in json.loads(shell("tables", "--json").stdout)}
    assert (found["tlc_silver.green_trips"]["rows"], found["tlc_silver.green_trips"]["partitions"]) == (12, 1)
    assert (found["tlc_bronze.green_trips"]["rows"], found["tlc_bronze.green_trips"]["partitions"]) == (22, 2)
    assert found["tlc_silver.dim_zone"]["rows"] == 265


def test_the_status_of_the_months_tells_which_failed_and_which_isnt_there(
    ran: subprocess.CompletedProcess[str], shell: Shell
) -> None:
    del ran
    listed = json.loads(shell("status", "--json", "2024-01:2024-03").stdout)
    assert {(row["month"], row["service"]): row["status"] for row in listed if row["status"] != "not in landing"} == {
        ("2024-01", "green"): "materialized", ("2024-02", "green"): "failed",
        ("2024-02", "yellow"): "materialized",
    }  # fmt: skip
    assert shell("status", "2024-01").stdout.splitlines()[1].split("\t")[:3] == ["2024-01", "not in landing", "ok"]


def test_the_readmes_picture_of_a_year_is_what_its_commands_show(tmp_path: Path) -> None:
    commands, picture = re.search(
        r"## A year in one picture.*?```console\n(.*?)```.*?```\n(.*?)```", README, flags=re.DOTALL
    ).groups()  # type: ignore[union-attr]
    (tmp_path / "landing").mkdir()
    shell = Shell(tmp_path)
    for line in commands.splitlines():
        done = shell(*shlex.split(line, comments=True)[1:], FORCE_COLOR="1", TERM="dumb", COLUMNS="140", LINES="50")
        assert done.returncode == 0, done.stderr
    assert [line.rstrip() for line in done.stdout.splitlines()] == picture.splitlines()
