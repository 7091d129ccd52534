"""Our programs as users run them, in processes and folders of their own, and the tables that they leave.

Nothing is computed here. What is expected of the tables is in the tests, which work it out from the files.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path
from typing import Any, TypeVar

import polars as pl
from polars.testing import assert_frame_equal

import taxi_assets
from taxi_assets.catalogs import all_tables
from taxi_assets.contracts import contract_of

WORKSPACE_YAML = Path(taxi_assets.__file__).parents[1] / "workspace.yaml"
MINUTE = 60.0
WEB_SERVER = ("python", "-m", "taxi_assets.webserver")
MAKE_UI = ("python", "-m", "taxi_assets.webserver.dev")

_Found = TypeVar("_Found")


@dataclass(frozen=True)
class Home:
    """Where a process finds landing and lake, and keeps its runs. Its current folder is that of its runs."""

    landing: Path
    lake: Path
    dagster: Path

    @classmethod
    def below(cls, folder: Path, landing: Path | None = None) -> Home:
        """Name folders below another one; landing may be elsewhere, it's only read."""
        home = cls(landing or folder / "landing", folder / "lake", folder / "dagster")
        home.landing.mkdir(parents=True, exist_ok=True)
        home.dagster.mkdir(parents=True)
        return home

    @property
    def log(self) -> Path:
        """Return where a forked process writes what it has to say."""
        return self.dagster / "cli.log"

    def on_lake(self, lake: Path) -> Home:
        """Return this home on another lake."""
        return replace(self, lake=lake)

    def environment(self, **changes: str) -> dict[str, str]:
        """Return the environment of a process that runs here."""
        roots = {"TAXI_LANDING_ROOT": self.landing, "TAXI_LAKE_ROOT": self.lake, "DAGSTER_HOME": self.dagster}
        return {**os.environ, **{name: str(path) for name, path in roots.items()}, **changes}

    def start(self, *arguments: str, **environment: str) -> subprocess.Popen[str]:
        """Start `taxi-assets` with some arguments."""
        return subprocess.Popen(
            [sys.executable, "-m", "taxi_assets.cli", *arguments],
            env=self.environment(**environment),
            cwd=self.dagster,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def report(self, *arguments: str, **environment: str) -> Any:
        """Run `taxi-assets` to its end, demand that it succeeds, and return the JSON that it wrote."""
        return report_of(self.start(*arguments, "--json", **environment))


def report_of(process: subprocess.Popen[str], seconds: float = 5 * MINUTE) -> Any:
    """Wait for a `taxi-assets` that writes JSON, demand that it succeeds, and return the JSON."""
    try:
        out, err = process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        process.kill()
        raise
    assert process.returncode == 0, out + err
    return json.loads(out)


def contents(lake: Path, months: Collection[str] = ()) -> dict[str, pl.DataFrame]:
    """Return what a lake's tables hold, sorted, but for when it was ingested; of some months only, if any are named.

    Then the dimensions are returned without the month that wrote a row last: they aren't replaced by month.
    """
    found = {}
    for key in sorted("/".join(key.path) for asset in all_tables() for key in asset.keys):
        if not any((lake / key / "_delta_log").glob("*.json")):
            continue
        rows = pl.read_delta(str(lake / key)).drop("ingested_at", "_ingested_at", strict=False)
        if months and contract_of(key).stored_as().replaced_by:
            rows = rows.filter(pl.col("source_month").is_in([first_day(month) for month in months]))
        elif months:
            rows = rows.drop("source_month")
        found[key] = rows.sort([name for name, dtype in rows.schema.items() if dtype != pl.List(pl.String)])
    return found


def assert_equal_contents(actual: Mapping[str, pl.DataFrame], expected: Mapping[str, pl.DataFrame]) -> None:
    """Demand that two lakes have the same tables with equal rows."""
    assert list(actual) == list(expected)
    for key, rows in expected.items():
        assert rows.height > 0, f"{key} is empty: nothing would be compared"
        assert_frame_equal(actual[key], rows, check_exact=True)


def first_day(month: str) -> date:
    """Return a month's date in the tables."""
    return date.fromisoformat(f"{month}-01")


def wait_for(find: Callable[[], _Found | None], what: str, seconds: float) -> _Found:
    """Ask again and again until the answer is true. Fails, saying what was waited for, when the time is up."""
    deadline, pause = time.monotonic() + seconds, threading.Event()
    while not (found := find()):
        if time.monotonic() > deadline:
            raise AssertionError(f"waited {seconds:.0f} s in vain for {what}")
        pause.wait(0.5)
    return found


@dataclass(frozen=True)
class Server:
    """Dagster's web server, answering on this machine."""

    url: str
    log: Path

    def ask(self, query: str, **variables: Any) -> Any:
        """Ask its GraphQL what the UI would, and return the answer's data."""
        request = urllib.request.Request(
            f"{self.url}/graphql",
            json.dumps({"query": query, "variables": variables}).encode(),
            {"Content-Type": "application/json"},
        )
        with urllib.request.urlopen(request, timeout=3 * MINUTE) as answer:
            found = json.load(answer)
        assert "errors" not in found, found["errors"]
        return found["data"]

    def is_up(self) -> bool:
        """Whether it answers and has loaded the code location."""
        query = "{ repositoriesOrError { ... on RepositoryConnection { nodes { name } } } }"
        try:
            return bool(self.ask(query)["repositoriesOrError"].get("nodes"))
        except (urllib.error.URLError, ConnectionError, TimeoutError):
            return False


@contextmanager
def serving(home: Home, *command: str, **environment: str) -> Iterator[Server]:
    """Run a web server's command on a home for a while, and stop it with all its children."""
    port = str(free_port())
    log = home.dagster / "server.log"
    program = str(Path(sys.executable).parent / command[0])
    with log.open("w") as written:
        process = subprocess.Popen(
            [program, *command[1:], "-w", str(WORKSPACE_YAML), "-h", "127.0.0.1", "-p", port],
            env=home.environment(**environment),
            cwd=home.dagster,
            stdout=written,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            server = Server(f"http://127.0.0.1:{port}", log)
            wait_for(server.is_up, f"{command[-1]} to answer; its log: {log}", 2 * MINUTE)
            yield server
        finally:
            stop(process)


def free_port() -> int:
    """Return a port of this machine that nothing listens on."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


def stop(process: subprocess.Popen[bytes]) -> None:
    """End a process that was started with a session of its own, and all that it has started."""
    for how in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(process.pid, how)
            process.wait(20)
        except ProcessLookupError:
            return
        except subprocess.TimeoutExpired:
            continue
