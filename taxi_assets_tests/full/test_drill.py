"""The drill as `make drill` runs it, whatever the user has set for a lake of their own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import taxi_assets

pytestmark = pytest.mark.full

ROOT = Path(taxi_assets.__file__).parents[1]


def test_it_plays_the_night_to_its_end_in_folders_of_its_own_under_an_empty_home(tmp_path: Path) -> None:
    home, temporary = tmp_path / "home", tmp_path / "temporary"
    for folder in (home, temporary):
        folder.mkdir()
    of_the_user = {
        "TAXI_LAKE_ROOT": str(tmp_path / "lake"),
        "TAXI_ENGINE": "spark",
        "TAXI_ALERTS__ROUTES__MINE__URL": "json://127.0.0.1:1",
        "DAGSTER_HOME": str(tmp_path / "dagster"),
    }
    done = subprocess.run(
        [sys.executable, ROOT / "drill/run.py"],
        env={**os.environ, **of_the_user, "HOME": str(home), "TMPDIR": str(temporary), "PYTHONPATH": str(ROOT)},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.endswith("All alerts and recoveries were received, each once.\n")
    assert {path.name for path in tmp_path.iterdir()} == {"home", "temporary"}
    assert list(temporary.iterdir()) == []
