"""Claims about `taxi-assets materialize` when it is killed: at every step, and within the write of every table.

A month of yellow and green has two issues. Each round lands the other one, runs it and kills it at another moment, on
what the rounds before it left: so every round but the first is the run again after a kill, too.
"""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import count, cycle
from pathlib import Path

import dagster as dg
import polars as pl
import pytest
from dagster import DagsterEventType, DagsterRunStatus

from taxi_assets.calendars import Month
from taxi_assets.instance import open_instance
from taxi_assets.sample import write_month
from taxi_assets.tlc.vocabulary import METERED
from taxi_assets_tests.full.forks import Write, died, start_cli
from taxi_assets_tests.full.processes import Home, assert_equal_contents, contents
from taxi_assets_tests.full.rounds import rounds

pytestmark = [pytest.mark.full, pytest.mark.soak]

MONTH = "2024-01"
Tables = Mapping[str, pl.DataFrame]


@dataclass(frozen=True)
class Issue:
    """An issue of the month, and the tables that a run of it makes in a lake of its own, in that order."""

    landing: Path
    tables: Tables
    order: tuple[str, ...]


@pytest.fixture(scope="module")
def issues(tmp_path_factory: pytest.TempPathFactory) -> tuple[Issue, Issue]:
    """Return two issues with other rows, each run once and left in peace."""
    found = []
    for seed, rows in enumerate((2_000, 1_700)):
        home = Home.below(tmp_path_factory.mktemp("issue"))
        for service in METERED:
            write_month(home.landing, service, Month.parse(MONTH), rows, seed=seed)
        assert ran(home)
        with open_instance(str(home.dagster)) as instance:
            stored = events_of_last_run(instance, DagsterEventType.ASSET_MATERIALIZATION)
        order = tuple("/".join(event.asset_key.path) for event in stored if event.asset_key)
        found.append(Issue(home.landing, contents(home.lake), order))
    one, other = found
    assert [name for name in one.tables if not one.tables[name].equals(other.tables[name])] == [
        name for name in one.tables if not name.startswith(("tlc_bronze/zones", "tlc_silver/dim"))
    ]
    return one, other


@pytest.fixture
def home(tmp_path: Path) -> Home:
    """Return an empty home."""
    return Home.below(tmp_path)


def events_of_last_run(instance: dg.DagsterInstance, kind: DagsterEventType) -> list[dg.DagsterEvent]:
    (run,) = instance.get_runs(limit=1)
    return [entry.dagster_event for entry in instance.all_logs(run.run_id, of_type=kind) if entry.dagster_event]


def land(issue: Issue, home: Home) -> None:
    for file in issue.landing.glob("*.parquet"):
        shutil.copy(file, home.landing)


def ran(home: Home, dies_at: tuple[DagsterEventType, int] | None = None) -> bool:
    """Run the month, to its end or to an event that kills it, and tell whether it came to its end."""
    return not died(start_cli(home, "materialize", MONTH, dies_at=dies_at), home.log)


def assert_as_before_or_complete(after: Tables, before: Tables, complete: Tables) -> None:
    """Demand that every table can be read, and is what it was or what it was to be."""
    for name, rows in after.items():
        assert rows.equals(complete[name]) or rows.equals(before.get(name, rows.clear())), name


def assert_complete(home: Home, issue: Issue, killed: int) -> None:
    """Demand the tables of a run that wasn't disturbed, and that none of those killed counts as going on."""
    assert_equal_contents(contents(home.lake), issue.tables)
    with open_instance(str(home.dagster)) as instance:
        runs = [run.status for run in instance.get_runs()]
    assert runs[0] is DagsterRunStatus.SUCCESS
    assert runs.count(DagsterRunStatus.FAILURE) == killed
    assert set(runs) == {DagsterRunStatus.SUCCESS, DagsterRunStatus.FAILURE}


def test_a_run_that_is_killed_as_any_of_its_steps_begins_leaves_each_table_as_it_was_or_complete(
    issues: tuple[Issue, Issue], home: Home
) -> None:
    before: Tables = {}
    stride, killed = rounds(1, 4), 0
    for step, issue in zip(count(1, stride), cycle(issues), strict=False):
        land(issue, home)
        if ran(home, (DagsterEventType.STEP_START, step)):
            break
        after = contents(home.lake)
        assert_as_before_or_complete(after, before, issue.tables)
        before = after
        killed += 1

    assert_complete(home, issue, killed=killed)
    with open_instance(str(home.dagster)) as instance:
        steps = events_of_last_run(instance, DagsterEventType.STEP_START)
    # The last kill was to be at a step that there isn't.
    assert step - stride <= len(steps) < step
    assert len(steps) > len(issue.order)


def test_a_run_that_is_killed_within_the_write_of_any_table_leaves_it_as_it_was_or_complete(
    issues: tuple[Issue, Issue], home: Home
) -> None:
    land(issues[0], home)
    assert ran(home)
    before, states = contents(home.lake), Counter[str]()
    for name, issue in zip(issues[0].order, cycle(reversed(issues)), strict=False):
        land(issue, home)
        write = Write.to(home.lake / name)
        process = start_cli(home, "materialize", MONTH)
        state = write.kill(process)
        assert died(process, home.log)
        states[state] += 1
        after = contents(home.lake)
        assert_as_before_or_complete(after, before, issue.tables)
        assert after[name].equals((issue.tables if state == "committed" else before)[name]), (name, state)
        before = after

    assert states["data file begun"] + states["data file whole"] > len(issues[0].order) / 2, states
    assert ran(home)
    assert_complete(home, issue, killed=len(issue.order))


def test_a_month_whose_kept_and_quarantined_rows_are_of_two_issues_is_told_to_have_failed(
    issues: tuple[Issue, Issue], home: Home
) -> None:
    kept, quarantined = "tlc_silver/green_trips", "tlc_silver/green_trips_quarantine"
    old, new = issues
    land(old, home)
    assert ran(home)
    land(new, home)

    assert not ran(home, (DagsterEventType.ASSET_MATERIALIZATION, new.order.index(kept) + 1))

    stored = contents(home.lake)
    assert stored[kept].equals(new.tables[kept])
    assert stored[quarantined].equals(old.tables[quarantined])
    assert status(home) == dict.fromkeys(METERED, "failed")
    checks = {(check["table"], check["check"]): check["status"] for check in home.report("checks", MONTH)}
    assert checks["tlc_silver.green_trips", "rows_accounted_for"] == "not run"
    home.report("materialize", MONTH)
    assert_complete(home, new, killed=1)
    assert status(home) == dict.fromkeys(METERED, "checks failing")


def status(home: Home) -> dict[str, str]:
    return {cell["service"]: cell["status"] for cell in home.report("status", MONTH) if cell["service"] in METERED}
