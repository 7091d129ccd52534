"""What tests share: the tiers, what they need of the machine, and a workspace of landing, lake and Dagster instance."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import dagster as dg
import pytest

# Before anything of the project is imported: its definitions open the lake that the environment names.
os.environ["TAXI_LAKE_ROOT"] = tempfile.mkdtemp(prefix="taxi-assets-lake-")
os.environ["TAXI_LANDING_ROOT"] = tempfile.mkdtemp(prefix="taxi-assets-landing-")

from taxi_assets_tests.scenario import Workspace

# What a test of the full tier may need of the machine, by fixture. TAXI_REQUIRE names those whose absence is an error.
_REQUIRED = set(filter(None, os.environ.get("TAXI_REQUIRE", "").split(",")))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Hold every test to a tier, and keep what is slow or needs more than the repository out of the fast one."""
    slow = {"real_data", "browser"}
    for item in items:
        fixtures = set(getattr(item, "fixturenames", ()))
        fast, full = item.get_closest_marker("fast"), item.get_closest_marker("full")
        if bool(fast) == bool(full):
            raise pytest.UsageError(f"{item.nodeid} must have one tier: pytestmark = pytest.mark.fast, or .full")
        if fast and slow & fixtures:
            raise pytest.UsageError(f"{item.nodeid} is marked fast but asks for {', '.join(slow & fixtures)}")


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
def instance() -> Iterator[dg.DagsterInstance]:
    """Return a Dagster instance that is gone after the test."""
    with dg.DagsterInstance.ephemeral() as ephemeral:
        yield ephemeral


@pytest.fixture
def workspace(tmp_path: Path, instance: dg.DagsterInstance) -> Workspace:
    """Return an empty landing and an empty lake."""
    return Workspace.below(tmp_path, instance)


def _absent(need: str, problem: str) -> Path:
    if need in _REQUIRED:
        pytest.fail(f"{problem}; here it is required (TAXI_REQUIRE)")
    pytest.skip(f"{problem}; this test needs it")
