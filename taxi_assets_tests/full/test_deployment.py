"""A server as deploy/ describes it, from a landed file to what the engineer on call sees, and many runs at once.

All tests share one server, whose queue takes twelve runs at once. Its sensor is switched on after months have run
without it: those it must leave alone.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from taxi_assets.calendars import Month, parse_months
from taxi_assets.jobs import ENGINE
from taxi_assets.sample import write_month
from taxi_assets.tlc.silver.green_trips import GreenTrips
from taxi_assets.tlc.vocabulary import Service
from taxi_assets_tests.full.browser import Ui, browsing
from taxi_assets_tests.full.deployed import DEPLOY, PASSWORD, UNITS, Deployment, a_postgres, deployed
from taxi_assets_tests.full.processes import MINUTE, Home, assert_equal_contents, contents, wait_for

pytestmark = pytest.mark.full

TWELVE = [str(month) for month in parse_months(["2023-01:2023-12"])]
TAKING_TURNS = ["2022-01", "2022-02", "2022-03"]
KILLED, BROKEN, BY_COMMAND, LANDED = "2022-04", "2022-05", "2022-06", "2024-01"
ROWS = 2_000

_EVENTS = """
query ($id: ID!) { logsForRun(runId: $id) { ... on EventConnection {
    events { __typename ... on MessageEvent { message } }
} } }"""


@pytest.fixture(scope="module")
def server(postgres: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    """Return a server that is up, and has run nothing yet."""
    folder = tmp_path_factory.mktemp("server")
    with a_postgres(postgres) as database, deployed(folder, database, runs_at_once=len(TWELVE)) as running:
        yield running


@pytest.fixture(scope="module")
def twelve(server: Deployment) -> tuple[list[dict[str, Any]], int]:
    """Request twelve months together, and return their runs, and the most of them that were going on at once."""
    land(server, *TWELVE)
    return server.ends_of(server.launch_runs("tlc_green", TWELVE))


@pytest.fixture(scope="module")
def landed(server: Deployment) -> dict[str, Any]:
    """Have a file land where others are done, switch the sensor on, and return the run that comes of it."""
    land(server, LANDED)
    server.start_sensor()
    (run,) = server.finished_runs_of_the_sensor(1)
    return run


@pytest.fixture(scope="module")
def ui(
    browser: str, server: Deployment, landed: dict[str, Any], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Ui]:
    """Return a browser on the server, after the landed file's run."""
    assert landed["status"] == "SUCCESS"
    with browsing(browser, server.server, tmp_path_factory.mktemp("screenshots")) as shown:
        yield shown


def land(server: Deployment, *months: str) -> None:
    for month in months:
        write_month(server.home.landing, Service.GREEN, Month.parse(month), ROWS)


def events_of(server: Deployment, run_id: str) -> list[dict[str, Any]]:
    events: list[dict[str, Any]] = server.server.ask(_EVENTS, id=run_id)["logsForRun"]["events"]
    return events


def process_of(server: Deployment, run_id: str) -> int | None:
    told = (re.search(r"\(pid: (\d+)\)", event.get("message") or "") for event in events_of(server, run_id))
    return next((int(found[1]) for found in told if found), None)


def test_twelve_months_requested_together_run_at_once_and_each_is_done(
    twelve: tuple[list[dict[str, Any]], int],
) -> None:
    runs, most_at_once = twelve

    assert {run["tags"]["dagster/partition"]: run["status"] for run in runs} == dict.fromkeys(TWELVE, "SUCCESS")
    assert len(runs) == most_at_once == len(TWELVE)


def test_the_tables_of_twelve_runs_at_once_equal_those_of_a_sequential_run(
    server: Deployment, twelve: tuple[list[dict[str, Any]], int], tmp_path: Path
) -> None:
    assert twelve
    one_by_one = Home.below(tmp_path, landing=server.home.landing)
    one_by_one.report("materialize", "--service", "green", f"{TWELVE[0]}:{TWELVE[-1]}")

    assert_equal_contents(contents(server.home.lake, TWELVE), contents(one_by_one.lake, TWELVE))


def test_two_runs_of_one_month_or_of_spark_wait_for_each_other(server: Deployment) -> None:
    land(server, *TAKING_TURNS)
    one, *others = TAKING_TURNS
    of_one_month = server.launch_runs("tlc_green", [one, one])
    # The queue knows what computes by this name alone.
    named_spark = server.launch_runs("tlc_green", others, **{ENGINE: "spark"})

    runs, _ = server.ends_of([*of_one_month, *named_spark])

    ends = {run["runId"]: (run["startTime"], run["endTime"]) for run in runs}
    assert {run["status"] for run in runs} == {"SUCCESS"}
    for pair in (of_one_month, named_spark):
        (_, end_of_first), (start_of_second, _) = sorted(ends[run_id] for run_id in pair)
        assert end_of_first <= start_of_second


def test_a_run_that_is_killed_is_tried_again_and_one_that_fails_by_its_file_isnt(server: Deployment) -> None:
    land(server, KILLED)
    broken = server.home.landing / f"green_tripdata_{BROKEN}.parquet"
    broken.write_bytes(b"no Parquet at all")
    (killed,) = server.launch_runs("tlc_green", [KILLED])
    os.kill(wait_for(lambda: process_of(server, killed), "the run's process", MINUTE), signal.SIGKILL)
    (failed,), _ = server.ends_of(server.launch_runs("tlc_green", [BROKEN]))

    def tried_again() -> list[dict[str, Any]]:
        return [run for run in server.runs_tagged("dagster/root_run_id", killed) if run["status"] == "SUCCESS"]

    assert wait_for(tried_again, "another try", 3 * MINUTE)[0]["tags"]["dagster/retry_number"] == "1"
    assert contents(server.home.lake, [KILLED])["tlc_bronze/green_trips"].height == ROWS

    def decided() -> str | None:
        (run,) = server.runs_tagged("dagster/partition", BROKEN)
        return run["tags"].get("dagster/will_retry")

    assert (failed["status"], wait_for(decided, "word on another try", MINUTE)) == ("FAILURE", "false")
    assert server.runs_tagged("dagster/root_run_id", failed["runId"]) == []
    broken.unlink()


def test_the_command_line_works_on_the_servers_instance(server: Deployment) -> None:
    land(server, BY_COMMAND)

    (done,) = server.home.report("materialize", "--service", "green", BY_COMMAND)
    checks = server.home.report("checks", BY_COMMAND)
    cells = server.home.report("status", BY_COMMAND)

    assert [run["runId"] for run in server.runs_tagged("dagster/partition", BY_COMMAND)] == [done["run_id"]]
    assert len(checks) >= len(done["checks"])
    assert {cell["status"] for cell in cells if cell["service"] == "green"} == {"checks failing"}


def test_a_database_that_is_out_of_reach_is_one_line_without_its_password(server: Deployment) -> None:
    elsewhere = f"postgresql+psycopg2://taxi:{PASSWORD}@127.0.0.1:1/postgres"

    process = server.home.start("checks", LANDED, DAGSTER_POSTGRES_URL=elsewhere)
    out, err = process.communicate(timeout=MINUTE)

    assert (process.returncode, out) == (2, "")
    assert err.count("\n") == 1
    assert 'connection to server at "127.0.0.1", port 1 failed' in err
    assert PASSWORD not in err


def test_a_landed_file_is_requested_by_a_tick_queued_run_by_the_daemon_and_stored(
    server: Deployment, landed: dict[str, Any]
) -> None:
    assert landed["status"] == "SUCCESS"
    assert {name: landed["tags"][name] for name in ("dagster/partition", "feeds")} == {
        "dagster/partition": LANDED,
        "feeds": "green",
    }
    # A tag that is listed nowhere, and by which the queue tells runs apart.
    assert landed["runId"] in {run["runId"] for run in server.runs_tagged(ENGINE, "polars")}
    assert "RunEnqueuedEvent" in {event["__typename"] for event in events_of(server, landed["runId"])}
    assert [tick["runIds"] for tick in server.ticks_with_runs()] == [[landed["runId"]]]
    assert contents(server.home.lake, [LANDED])["tlc_bronze/green_trips"].height == ROWS


def test_the_engineer_on_call_sees_the_run_its_checks_and_the_tick_that_requested_it(
    ui: Ui, landed: dict[str, Any]
) -> None:
    ui.open(f"runs/{landed['runId']}")
    for text in (landed["runId"][:8], "Success", "tlc_silver__green_trips", "RUN_SUCCESS"):
        ui.shows(text)
    ui.screenshot("server-run")

    page = ui.show_months_of_check("positive_fare_amount")
    for rule in GreenTrips.rules():
        ui.shows(rule.name)
    page.get_by_placeholder("Filter by partition").fill(LANDED)
    page.get_by_text(LANDED, exact=True).first.click()
    ui.shows(f"of {ROWS:,} rows", exact=False)
    ui.screenshot("server-checks")

    ui.open("locations/taxi_assets/sensors/tlc_landing")
    ui.shows("1 run requested", exact=False)
    ui.screenshot("server-tick")


@pytest.mark.usefixtures("landed")
def test_nothing_listens_beyond_this_machine(server: Deployment) -> None:
    assert server.listens_on() == {"127.0.0.1"}


@pytest.mark.parametrize("name", ["Host", "Origin"])
def test_its_ui_knows_the_names_that_its_settings_give_and_no_others(server: Deployment, name: str) -> None:
    def answer(value: str) -> int:
        request = urllib.request.Request(f"{server.server.url}/server_info", headers={name: value})
        try:
            with urllib.request.urlopen(request, timeout=MINUTE) as answered:
                return int(answered.status)
        except urllib.error.HTTPError as error:
            return error.code

    scheme = "" if name == "Host" else "https://"
    assert [answer(f"{scheme}{host}") for host in ("lake.example.org", "evil.example.org")] == [200, 403]


@pytest.mark.usefixtures("landed")
def test_no_log_tells_of_a_locked_database_nor_of_the_password(server: Deployment) -> None:
    written = {path: path.read_bytes() for path in server.home.dagster.rglob("*") if path.is_file()}
    written |= {path: path.read_bytes() for path in server.logs.values()}
    written[Path("the database")] = server.database.dump().encode()

    assert all(any(path.name == log.name for path in written) for log in server.logs.values())
    for text in (b"database is locked", PASSWORD.encode()):
        assert [str(path) for path, content in written.items() if text in content] == []


def test_systemd_finds_nothing_wrong_with_the_units(systemd: str, tmp_path: Path) -> None:
    shutil.copytree(DEPLOY / "systemd", tmp_path / "etc/systemd/system")
    shutil.copytree("/usr/lib/systemd/system", tmp_path / "usr/lib/systemd/system", symlinks=True)
    programs = tmp_path / "opt/taxi-assets/.venv/bin"
    programs.mkdir(parents=True)
    for program in ("dagster", "dagster-daemon", "python"):
        (programs / program).touch(0o755)
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/sh").touch(0o755)

    units = [unit.name for unit in UNITS.values()]
    found = subprocess.run(
        [systemd, "verify", "--man=no", f"--root={tmp_path}", *units], capture_output=True, text=True, check=False
    )

    assert (found.returncode, found.stderr) == (0, "")
