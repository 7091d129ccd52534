"""Claims about Spark and time zones: a wall-clock time is the same whatever the zone of the machine or of the session.

Each zone is a process of its own, as a JVM and Python have one zone from their start.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import narwhals.stable.v1 as nw
import polars as pl
import pytest

import taxi_assets
from taxi_assets.engines import DeltaLocation, Engine
from taxi_assets_tests.engines.made_up import MONDAY, TIMES, Times, read
from taxi_assets_tests.scenario import POLARS

pytestmark = pytest.mark.full

ROOT = Path(taxi_assets.__file__).parents[1]


# What the machine is set to, and what TAXI_SPARK__CONF would ask of the session in vain.
@pytest.mark.parametrize(("machine", "session"), [("America/New_York", "Asia/Kolkata"), ("Asia/Kolkata", "UTC")])
@pytest.mark.usefixtures("spark")  # Where Spark can't be started, that's why this isn't tested.
def test_times_are_read_written_and_compared_as_they_are_in_any_zone(
    tmp_path: Path, machine: str, session: str
) -> None:
    times = pl.LazyFrame({"number": range(len(TIMES)), "at": TIMES, "day": [MONDAY] * len(TIMES)})
    POLARS.replace(Times, DeltaLocation(str(tmp_path / "by_polars")), nw.from_native(times), {"day": MONDAY})

    process = subprocess.run(
        [sys.executable, "-m", "taxi_assets_tests.engines.zoned_process", str(tmp_path), session],
        env={**os.environ, "TZ": machine},
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )

    assert process.returncode == 0, process.stderr
    found = json.loads(process.stdout)
    assert found["read"] == [time.isoformat() for time in TIMES]
    assert [found[f"equal {number}"] for number in range(len(TIMES))] == [1] * len(TIMES)
    assert [found[f"earlier {number}"] for number in range(len(TIMES))] == list(range(len(TIMES)))
    for table in ("copied", "by_spark"):
        assert read(Times, DeltaLocation(str(tmp_path / table)))["at"].to_list() == TIMES


def test_the_zone_of_a_session_is_ours_though_another_was_asked_for(spark: Engine) -> None:
    assert spark.session().conf.get("spark.sql.session.timeZone") == "UTC"  # type: ignore[attr-defined]
