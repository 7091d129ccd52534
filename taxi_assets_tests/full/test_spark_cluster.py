"""A month on a real Spark cluster: a standalone master and two workers, processes of their own, and a driver outside.

The measure is the lake that Polars makes of the same files.
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import pytest

from taxi_assets.calendars import Month
from taxi_assets.sample import write_month
from taxi_assets.tlc.vocabulary import METERED
from taxi_assets_tests.full.processes import (
    MINUTE,
    Home,
    assert_equal_contents,
    contents,
    free_port,
    report_of,
    stop,
    wait_for,
)

# Where Spark can't be started, that's why nothing is tested here.
pytestmark = [pytest.mark.full, pytest.mark.usefixtures("spark")]

MONTH = "2024-01"
ROWS = 300_000
# Whoever needs a Python on a worker fails: they have no package of ours, nor PySpark.
NO_PYTHON = {"PYSPARK_PYTHON": "/nonexistent/python"}

_Found = TypeVar("_Found")


@dataclass(frozen=True)
class Cluster:
    """A master and the processes of its workers, which lead the process groups of their executors."""

    master: str
    workers: tuple[int, ...]

    def executors(self) -> dict[str, int]:
        """Return the processes of the executors that run now, by id."""
        found = {}
        # Told that the terminal is 80 columns wide, `ps` would cut off what executors are told by.
        for line in subprocess.check_output(["ps", "-A", "-ww", "-o", "pid=,pgid=,args="], text=True).splitlines():
            pid, group, command = line.split(maxsplit=2)
            number = re.search(r"\.CoarseGrainedExecutorBackend .*--executor-id (\d+)", command)
            if number and int(group) in self.workers:
                found[number[1]] = int(pid)
        return found


@dataclass(frozen=True)
class Driver:
    """A `taxi-assets` that runs the month on a cluster, and what it tells of its tasks while it does.

    It is asked for single tasks: what it counts per executor changes when that is gone.
    """

    process: subprocess.Popen[str]
    port: int

    def tasks(self, status: str) -> list[dict[str, Any]]:
        """Return its tasks of this status; none before there are any."""
        try:
            applications = self._ask("applications")
            stages = [self._ask(f"applications/{found['id']}/stages?details=true") for found in applications]
        except (OSError, ValueError):
            # Its port is closed at first, and then says in HTML that Spark is starting.
            return []
        told = [task for each in stages for stage in each for task in stage.get("tasks", {}).values()]
        return [task for task in told if task["status"] == status]

    def wait_for(self, find: Callable[[], _Found | None], what: str) -> _Found:
        """Wait for something to happen while it runs. Fails with what it says if it ends before."""

        def found() -> _Found | None:
            assert self.process.poll() is None, f"it ended before {what}: {self.process.communicate()}"
            return find()

        return wait_for(found, what, 5 * MINUTE)

    def _ask(self, what: str) -> Any:
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/api/v1/{what}", timeout=MINUTE) as answer:
            return json.load(answer)


@dataclass(frozen=True)
class SampleMonth:
    """A month of both services in a landing, and the tables that Polars makes of it."""

    landing: Path
    by_polars: dict[str, Any]


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """Return a cluster of two workers on this machine, with a core and a gigabyte each."""
    folder, port, web_port = tmp_path_factory.mktemp("cluster"), free_port(), free_port()
    master, here = f"spark://127.0.0.1:{port}", ("--host", "127.0.0.1", "--webui-port")

    def workers_of_master() -> int:
        """Return how many workers have joined it; -1 while it doesn't answer."""
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{web_port}/json/", timeout=MINUTE) as answer:
                return int(json.load(answer)["aliveworkers"])
        except (OSError, ValueError):
            return -1

    with ExitStack() as processes:
        arguments = (*here, str(web_port), "--port", str(port))
        processes.enter_context(_spark_class(folder / "master.log", "deploy.master.Master", *arguments))
        # A worker that finds no master tries again only after ten seconds.
        wait_for(lambda: workers_of_master() >= 0, f"the master to answer; its log: {folder}", 2 * MINUTE)
        workers = []
        for name in ("one", "two"):
            size = ("--cores", "1", "--memory", "1g", "--work-dir", str(folder / name))
            worker = _spark_class(folder / f"{name}.log", "deploy.worker.Worker", *here, "0", *size, master)
            workers.append(processes.enter_context(worker).pid)
        wait_for(lambda: workers_of_master() == 2, f"two workers to join the master; logs: {folder}", 2 * MINUTE)
        yield Cluster(master, tuple(workers))


@pytest.fixture(scope="module")
def month(tmp_path_factory: pytest.TempPathFactory) -> SampleMonth:
    """Return a made-up month, run by Polars."""
    home = Home.below(tmp_path_factory.mktemp("by-polars"))
    for service in METERED:
        write_month(home.landing, service, Month.parse(MONTH), ROWS)
    home.report("materialize", MONTH)
    return SampleMonth(home.landing, contents(home.lake))


def test_a_month_on_a_cluster_leaves_the_tables_that_polars_leaves(
    cluster: Cluster, month: SampleMonth, tmp_path: Path
) -> None:
    home = Home.below(tmp_path, month.landing)

    with _running(home, cluster) as driver:
        driver.wait_for(lambda: len(_executors_of(driver.tasks("SUCCESS"))) == 2, "both executors have ended a task")
        report = report_of(driver.process)

    assert report[0]["state"] == "done"
    assert_equal_contents(contents(home.lake), month.by_polars)


def test_a_month_is_right_though_an_executor_is_killed_with_a_task_of_silver_in_hand(
    cluster: Cluster, month: SampleMonth, tmp_path: Path
) -> None:
    home = Home.below(tmp_path, month.landing)
    silver = home.lake / "tlc_silver" / "green_trips" / "_delta_log"

    with _running(home, cluster) as driver:
        # A table's first commit makes it, without rows, just before the second one's are computed.
        driver.wait_for(lambda: _commits(silver) == 1, "green's silver is begun")
        number = driver.wait_for(lambda: _executors_of(driver.tasks("RUNNING")), "an executor has a task").pop()
        pid = cluster.executors()[number]
        # One that stands still ends no task between the driver's word and its death.
        os.kill(pid, signal.SIGSTOP)
        task = driver.wait_for(_Held(driver, number), "the halted executor holds a task")
        os.kill(pid, signal.SIGKILL)
        assert _commits(silver) == 1, "green's silver was published before the executor was killed"
        lost = driver.wait_for(lambda: _by_id(driver.tasks("FAILED")).get(task), "the task is lost with its executor")
        report = report_of(driver.process)

    assert lost["executorId"] == number
    assert lost["errorMessage"].startswith("ExecutorLostFailure"), lost["errorMessage"]
    assert report[0]["state"] == "done"
    assert_equal_contents(contents(home.lake), month.by_polars)


@dataclass
class _Held:
    """Asks which task an executor holds: one that it is said to have twice in a row, some time apart.

    What it ended just before it was halted may still be on its way to the driver the first time.
    """

    driver: Driver
    executor: str
    before: frozenset[int] = frozenset()

    def __call__(self) -> int | None:
        now = frozenset(_by_id([task for task in self.driver.tasks("RUNNING") if task["executorId"] == self.executor]))
        both, self.before = now & self.before, now
        return next(iter(both), None)


def _executors_of(tasks: list[dict[str, Any]]) -> set[str]:
    return {task["executorId"] for task in tasks} - {"driver"}


def _by_id(tasks: list[dict[str, Any]]) -> dict[int, dict[str, Any]]:
    return {task["taskId"]: task for task in tasks}


def _commits(log: Path) -> int:
    return len(list(log.glob("*.json")))


@contextmanager
def _running(home: Home, cluster: Cluster) -> Iterator[Driver]:
    """Run the month on a cluster, and let no driver outlive the test."""
    port = free_port()
    conf = {
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.ui.port": str(port),
        # What the driver tells is as it is now, not as it was a moment ago.
        "spark.ui.liveUpdate.period": "0",
        # As many tasks as there are cores: Spark's and Delta's own defaults, 200 and 50, are for large clusters.
        "spark.sql.shuffle.partitions": "2",
        "spark.databricks.delta.snapshotPartitions": "2",
    }
    settings = {"TAXI_ENGINE": "spark", "TAXI_SPARK__MASTER": cluster.master, "TAXI_SPARK__CONF": json.dumps(conf)}
    process = home.start("materialize", MONTH, "--json", **settings, **NO_PYTHON)
    try:
        yield Driver(process, port)
    finally:
        # Its JVM ends with it, and its executors with that.
        process.kill()
        process.wait()


@contextmanager
def _spark_class(log: Path, name: str, *arguments: str) -> Iterator[subprocess.Popen[bytes]]:
    """Run one of Spark's own programs for a while, and stop it with all that it has started."""
    from pyspark.find_spark_home import _find_spark_home

    home = _find_spark_home()
    # What executors put on disk goes below the test's folder, where it stays if they are killed.
    environment = {**os.environ, **NO_PYTHON, "SPARK_HOME": home, "SPARK_LOCAL_DIRS": str(log.with_suffix(".scratch"))}
    with log.open("w") as written:
        process = subprocess.Popen(
            [f"{home}/bin/spark-class", f"org.apache.spark.{name}", *arguments],
            env=environment,
            stdout=written,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            yield process
        finally:
            stop(process)
