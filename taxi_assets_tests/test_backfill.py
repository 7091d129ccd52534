"""Months run by the command line whose records can't be kept: what is told of them, in whichever process they ran.

Runs that succeed are test_cli_runs.py's.
"""

from __future__ import annotations

import pickle
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import dagster as dg
import pytest

from taxi_assets import backfill
from taxi_assets.catalog import Catalog
from taxi_assets.catalogs import CATALOGS
from taxi_assets.deliveries.reports import Report
from taxi_assets.errors import TaxiAssetsError
from taxi_assets.instance import open_instance, process_tags
from taxi_assets_tests.scenario import MONTH

pytestmark = pytest.mark.fast

FULL = "can't be kept: database or disk is full. Each table has its months as they were before, or whole."
JANUARY = Report(str(MONTH), "waiting", ("green",))


@pytest.fixture
def instance(tmp_path: Path) -> Iterator[dg.DagsterInstance]:
    """Return the instance of the environment, as backfill opens it once for a process."""
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("DAGSTER_HOME", str(tmp_path))
        backfill._instance.cache_clear()
        yield backfill._instance()
        backfill._instance.cache_clear()


def refuse(home: Path, write: str) -> None:
    """Let the database of runs refuse what is written to it, as on a full disk."""
    with closing(sqlite3.connect(home / "history" / "runs.db")) as database:
        database.execute(
            f"CREATE TRIGGER full BEFORE {write} BEGIN SELECT RAISE(ABORT, 'database or disk is full'); END"
        )


@pytest.mark.parametrize("catalog", CATALOGS, ids=lambda catalog: catalog.name)
@pytest.mark.usefixtures("instance")
def test_a_run_that_cant_be_recorded_is_an_error_for_the_user_that_can_be_sent_to_another_process(
    tmp_path: Path, catalog: Catalog
) -> None:
    # Of a run itself Dagster would say that there is one of its id.
    refuse(tmp_path, "INSERT ON run_tags")

    with pytest.raises(TaxiAssetsError) as raised:
        backfill.run_here(catalog, {}, Report(str(MONTH), "waiting", ("yellow",)), lambda _step: None)

    assert FULL in str(pickle.loads(pickle.dumps(raised.value)))


def test_a_process_that_died_is_reported_although_the_end_of_its_run_cant_be_recorded(
    tmp_path: Path, instance: dg.DagsterInstance
) -> None:
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()

    @dg.job
    def something() -> None: ...

    tags = {**process_tags(), ".dagster/taxi_assets_process": str(gone.pid)}
    run_id = instance.create_run_for_job(something, status=dg.DagsterRunStatus.STARTED, tags=tags).run_id
    refuse(tmp_path, "UPDATE ON runs")

    report = backfill._died(instance, JANUARY, -signal.SIGKILL)

    assert report.state == "failed"
    (says,) = report.failures
    assert says.startswith(f"The process that ran {MONTH} is killed by signal 9. Run it again.")
    assert FULL in says

    with closing(sqlite3.connect(tmp_path / "history" / "runs.db")) as database:
        database.execute("DROP TRIGGER full")
    with open_instance(str(tmp_path)) as again:
        assert again.get_runs(dg.RunsFilter(run_ids=[run_id]))[0].status is dg.DagsterRunStatus.FAILURE
