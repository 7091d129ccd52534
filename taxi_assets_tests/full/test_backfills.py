"""Many months by the command line: several at once, those that are chosen, and what an interrupt leaves."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path

import dagster as dg
import pytest
from dagster import DagsterRunStatus

from taxi_assets.calendars import Month, parse_months
from taxi_assets.instance import open_instance
from taxi_assets.sample import write_month
from taxi_assets.tlc.vocabulary import Service
from taxi_assets_tests.full.processes import MINUTE, Home, assert_equal_contents, contents, wait_for
from taxi_assets_tests.scenario import BLOCKED_MONTHS

pytestmark = pytest.mark.full

MONTHS = parse_months(["2024-01:2024-04"])
RANGE = f"{MONTHS[0]}:{MONTHS[-1]}"


@pytest.fixture
def home(tmp_path: Path) -> Home:
    """Return a home whose landing has four small months of green."""
    home = Home.below(tmp_path)
    for month in MONTHS:
        write_month(home.landing, Service.GREEN, month, 500)
    return home


def ended(home: Home, *arguments: str) -> tuple[int, list[dict[str, object]]]:
    """Run `materialize` to its end, and return its exit status and reports."""
    process = home.start("materialize", *arguments, "--json")
    out, err = process.communicate(timeout=10 * MINUTE)
    assert "database is locked" not in err
    return process.returncode, json.loads(out)


def states(home: Home) -> dict[str, str]:
    """Return what `status` says of green's months."""
    rows = home.report("status", RANGE)
    return {row["month"]: row["status"].partition(":")[0] for row in rows if row["service"] == "green"}


def lives(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return True


def test_months_at_once_fill_the_lake_as_one_after_the_other_and_a_bad_one_fails_alone(home: Home) -> None:
    bad = home.landing / f"green_tripdata_{MONTHS[1]}.parquet"
    bad.write_bytes(b"no Parquet")
    status, reports = ended(home, "--jobs", "3", RANGE)
    assert status == 1
    assert [(report["month"], report["state"]) for report in reports] == [
        (str(month), "failed" if month == MONTHS[1] else "done") for month in MONTHS
    ]
    alone = home.on_lake(home.lake.with_name("alone"))
    ended(alone, "--jobs", "1", RANGE)
    good = [str(month) for month in MONTHS if month != MONTHS[1]]
    assert_equal_contents(contents(home.lake, good), contents(alone.lake, good))


def test_only_what_is_missing_failed_or_stale_is_run_and_what_is_blocked_is_told(home: Home) -> None:
    good, stale, failed, blocked = (str(month) for month in MONTHS)
    later = Month(2024, 5)
    (home.landing / f"green_tripdata_{failed}.parquet").write_bytes(b"no Parquet")
    (home.landing / BLOCKED_MONTHS).write_text(f"green {blocked} Fares are in cents.")
    assert ended(home, RANGE)[0] == 1
    write_month(home.landing, Service.GREEN, Month.parse(stale), 400, seed=1)
    write_month(home.landing, Service.GREEN, Month.parse(failed), 400)
    write_month(home.landing, Service.GREEN, later, 400)
    assert states(home) == {good: "checks failing", stale: "stale", failed: "failed", blocked: "blocked"}

    status, reports = ended(home, "--missing", "--stale", f"{RANGE[:7]}:{later}")

    assert status == 0
    assert {report["month"]: report["state"] for report in reports} == {
        stale: "done", blocked: "blocked", str(later): "done",
    }  # fmt: skip
    assert next(report["blocked"] for report in reports if report["month"] == blocked) == {
        "green": "Fares are in cents."
    }
    assert {report["month"] for report in ended(home, "--failed", RANGE)[1]} == {failed, blocked}
    assert set(states(home).values()) == {"checks failing", "blocked"}
    assert {report["state"] for report in ended(home, "--missing", "--stale", "--failed", RANGE)[1]} == {"blocked"}


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_interrupted_every_run_ends_as_failed_none_begins_and_the_months_run_well_again(home: Home, jobs: str) -> None:
    for month in MONTHS[:2]:
        # So that a run lasts until the interrupt is there.
        write_month(home.landing, Service.GREEN, month, 400_000)
    with open_instance(str(home.dagster)) as instance:
        process = home.start("materialize", "--jobs", jobs, RANGE)
        wait_for(lambda: len(at_work(instance)) == int(jobs), "the runs to begin", 5 * MINUTE)
        runs = at_work(instance)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=2 * MINUTE)
        assert process.returncode == 130
        assert err.strip() == "Interrupted. Months that were done are stored whole; run the others again."
        assert not any(lives(int(run.tags[".dagster/taxi_assets_process"])) for run in runs)
        found = {run.run_id: run.status for run in instance.get_runs()}
        assert len(found) == int(jobs)
        assert {found[run.run_id] for run in runs} == {DagsterRunStatus.FAILURE}
    assert ended(home, RANGE)[0] == 0


def at_work(instance: dg.DagsterInstance) -> list[dg.DagsterRun]:
    return list(instance.get_runs(filters=dg.RunsFilter(statuses=[DagsterRunStatus.STARTED])))
