"""What tests share: the tiers, what they need of the machine, and a workspace of landing, lake and Dagster instance."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import dagster as dg
import pytest

# Before anything of the project is imported: its definitions open the lake that the environment names.
os.environ["TAXI_LAKE_ROOT"] = tempfile.mkdtemp(prefix="taxi-assets-lake-")
os.environ["TAXI_LANDING_ROOT"] = tempfile.mkdtemp(prefix="taxi-assets-landing-")

# Tests start many JVMs, each for a few small frames: compiled twice, their code would never earn it back. Of what it
# compiles but once Java keeps too little for all that Spark generates, and spends half its time on compiling that anew.
os.environ.setdefault("JAVA_TOOL_OPTIONS", "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=512m -XX:+UseSerialGC")

from taxi_assets.engines import Engine, PolarsEngine, make_spark_engine
from taxi_assets.errors import TaxiAssetsError
from taxi_assets_tests.full.disks import Disk, mounted
from taxi_assets_tests.misbehaving_server import MisbehavingServer
from taxi_assets_tests.scenario import Workspace

# What a test of the full tier may need of the machine, by fixture. TAXI_REQUIRE names those whose absence is an error.
_REQUIRED = set(filter(None, os.environ.get("TAXI_REQUIRE", "").split(",")))


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run a test that asks for an `engine` on each: on Polars in the fast tier, on Spark in the full one.

    Such a test has no mark of a tier itself, nor has its module.
    """
    if "engine" in metafunc.fixturenames:
        on_each = [pytest.param("polars", marks=pytest.mark.fast), pytest.param("spark", marks=pytest.mark.full)]
        metafunc.parametrize("engine", on_each, indirect=True)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Hold every test to a tier, and keep what is slow or needs more than the repository out of the fast one."""
    slow = {"real_data", "browser", "spark", "postgres", "systemd", "disk"}
    for item in items:
        fixtures = set(getattr(item, "fixturenames", ()))
        fast, full = item.get_closest_marker("fast"), item.get_closest_marker("full")
        if bool(fast) == bool(full):
            raise pytest.UsageError(f"{item.nodeid} must have one tier: pytestmark = pytest.mark.fast, or .full")
        if fast and slow & fixtures:
            raise pytest.UsageError(f"{item.nodeid} is marked fast but asks for {', '.join(slow & fixtures)}")
        if ((full and "engine" in fixtures) or "spark" in fixtures) and "spark" not in item.nodeid:
            raise pytest.UsageError(f"{item.nodeid} runs on Spark: its file, its name or a parameter must say so")


def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Give all that is on Spark to one process, as no machine is asked for two at once, and other files to the others.

    By names, as pytest-xdist 3.8 doesn't see its groups with pytest 9.2.
    """
    from xdist.scheduler import LoadScopeScheduling

    class SparkApart(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            return "spark" if "spark" in nodeid else nodeid.partition("::")[0]

    return SparkApart(config, log)


@pytest.fixture(scope="session")
def real_data() -> Path:
    """Return the folder of real files that TAXI_REAL_DATA names."""
    folder = os.environ.get("TAXI_REAL_DATA", "")
    if folder and Path(folder).is_dir():
        return Path(folder)
    return _absent("real_data", f"TAXI_REAL_DATA names no folder of real files (is '{folder}')")


@pytest.fixture(scope="session")
def browser() -> str:
    """Return the path of a Chromium."""
    found = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    return found or _absent("browser", "there is no Chromium on this machine")


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Disk]:
    """Return a small disk."""
    with ExitStack() as stack:
        try:
            small = stack.enter_context(mounted(tmp_path / "disk"))
        except subprocess.CalledProcessError as error:
            _absent("mount", f"no disk can be mounted: {error.stderr.decode().strip()}")
        yield small


@pytest.fixture(scope="session")
def postgres() -> Path:
    """Return the folder of a Postgres's programs; Debian keeps them off the path."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb")) or [shutil.which("initdb")]
    return Path(found[-1]).parent if found[-1] else _absent("postgres", "there is no Postgres on this machine")


@pytest.fixture(scope="session")
def systemd() -> str:
    """Return the path of what checks systemd's units."""
    return shutil.which("systemd-analyze") or _absent("systemd", "there is no systemd on this machine")


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Engine:
    """Return the engine on a Spark of this process, started once for all tests."""
    try:
        found = make_spark_engine("local[*]", {}, None, tmp_path_factory.mktemp("spark") / "spark.log")
        found.session()  # type: ignore[attr-defined]
    except TaxiAssetsError as error:
        return _absent("spark", f"Spark can't be started, so nothing is tested on it. {error}")
    return found


@pytest.fixture
def engine(request: pytest.FixtureRequest) -> Engine:
    """Return the engine that `pytest_generate_tests` names."""
    found: Engine = PolarsEngine() if request.param == "polars" else request.getfixturevalue("spark")
    return found


@pytest.fixture
def instance() -> Iterator[dg.DagsterInstance]:
    """Return a Dagster instance that is gone after the test."""
    with dg.DagsterInstance.ephemeral() as ephemeral:
        yield ephemeral


@pytest.fixture
def workspace(tmp_path: Path, instance: dg.DagsterInstance) -> Workspace:
    """Return an empty landing and an empty lake."""
    return Workspace.below(tmp_path, instance)


@pytest.fixture
def server() -> Iterator[MisbehavingServer]:
    """Return a server of this machine that has no file yet, and can be told to misbehave."""
    with MisbehavingServer() as running:
        yield running


def _absent(need: str, problem: str) -> Any:
    if need in _REQUIRED:
        pytest.fail(f"{problem}; here it is required (TAXI_REQUIRE)")
    pytest.skip(f"{problem}; this test needs it")
