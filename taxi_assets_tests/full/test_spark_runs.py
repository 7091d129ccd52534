"""Runs on Spark as users meet them: when a JVM starts, what is read when it can't, and what a failure leaves."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import dagster as dg
import polars as pl
import pytest

from taxi_assets.engines import Engine
from taxi_assets.tlc.bronze.trips import BRONZE_TRIPS
from taxi_assets.tlc.silver.trips import QUARANTINES, SILVER_TRIPS
from taxi_assets.tlc.vocabulary import PAYMENT_TYPES, Service
from taxi_assets_tests.full.processes import Home
from taxi_assets_tests.scenario import MONTH, Workspace, in_file_columns, trips

pytestmark = pytest.mark.full

GREEN = Service.GREEN
# Java asks this address for whatever it fetches; nobody answers there.
CUT_OFF = {"JAVA_TOOL_OPTIONS": " ".join(f"-D{s}.proxyHost=127.0.0.1 -D{s}.proxyPort=9" for s in ("http", "https"))}


@pytest.fixture
def home(tmp_path: Path) -> Home:
    """Return a home with a small green month in landing."""
    found = Home.below(tmp_path)
    in_file_columns(GREEN, trips(20)).write_parquet(found.landing / f"green_tripdata_{MONTH}.parquet")
    return found


def failures(home: Home, **environment: str) -> list[str]:
    """Run the month on Spark, demand that it fails, and return what a user reads of it."""
    process = home.start("materialize", "--json", "--service", "green", str(MONTH), TAXI_ENGINE="spark", **environment)
    out, err = process.communicate(timeout=300)
    assert process.returncode == 1, out + err
    (report,) = json.loads(out)
    assert report["state"] == "failed"
    return [str(failure) for failure in report["failures"]]


def without_java(folder: Path) -> str:
    """Return a PATH on which all is found but Java."""
    folder.mkdir()
    for place in os.environ["PATH"].split(os.pathsep):
        for program in Path(place).glob("*") if Path(place).is_dir() else ():
            link = folder / program.name
            if not program.name.startswith("java") and not link.exists():
                link.symlink_to(program)
    return str(folder)


def test_on_polars_a_month_needs_no_java_and_imports_no_spark(home: Home, tmp_path: Path) -> None:
    code = (
        "import sys; from taxi_assets import cli; sys.argv[1:] = ['materialize', '--service', 'green', '2024-01']\n"
        "try: cli.main()\n"
        "finally: print([name for name in sys.modules if name.startswith(('pyspark', 'py4j', 'delta.'))])"
    )
    environment = home.environment(TAXI_ENGINE="polars", PATH=without_java(tmp_path / "bin"), JAVA_HOME="/nowhere")

    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, cwd=home.dagster, capture_output=True, text=True, check=True
    )

    assert "done" in done.stdout
    assert done.stdout.splitlines()[-1] == "[]"


def test_looking_at_the_definitions_on_spark_starts_no_jvm_and_needs_no_java(home: Home, tmp_path: Path) -> None:
    code = (
        "from taxi_assets.definitions import defs, period_job; defs.resolve_asset_graph(); period_job('tlc')\n"
        "from pyspark import SparkContext; print(SparkContext._gateway)"
    )
    environment = home.environment(TAXI_ENGINE="spark", PATH=without_java(tmp_path / "bin"))

    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, cwd=home.dagster, capture_output=True, text=True, check=True
    )

    assert done.stdout.split() == ["None"]


def test_without_java_what_the_process_makes_is_stored_and_the_first_step_on_spark_fails_in_one_line(
    home: Home, tmp_path: Path
) -> None:
    found = failures(home, PATH=without_java(tmp_path / "bin"), JAVA_HOME="")

    assert all("Spark needs Java, and there is none" in failure for failure in found)
    assert all("\n" not in failure for failure in found)
    assert pl.read_delta(str(home.lake / "tlc_bronze/green_trips")).height == 20
    assert pl.read_delta(str(home.lake / "tlc_silver/dim_payment")).height == len(PAYMENT_TYPES)


@pytest.mark.usefixtures("spark")
def test_a_secret_among_sparks_settings_is_set_and_stands_on_no_command_line(tmp_path: Path) -> None:
    code = """
import sys
from pathlib import Path
from taxi_assets.engines.spark_session import SparkSetup

setup = SparkSetup("local[1]", {"spark.hadoop.fs.s3a.secret.key": "not-for-all"}, None, Path(sys.argv[1]) / "spark.log")
context = setup.session().sparkContext
lines = [path.read_bytes() for path in Path("/proc").glob("[0-9]*/cmdline")]
of_jvms = [line for line in lines if b"org.apache.spark.deploy" in line and b"java" in line.split(b"\\0")[0]]
print(bool(of_jvms), any(b"not-for-all" in line for line in of_jvms))
print(context._jsc.hadoopConfiguration().get("fs.s3a.secret.key"))
"""
    done = subprocess.run([sys.executable, "-c", code, str(tmp_path)], capture_output=True, text=True, check=True)

    assert done.stdout.split() == ["True", "False", "not-for-all"]


@pytest.mark.usefixtures("spark")
def test_without_deltas_jar_and_a_way_to_it_the_error_names_the_jar_and_the_setting(home: Home, tmp_path: Path) -> None:
    conf = {"spark.jars.ivy": str(tmp_path / "empty-cache")}

    found = failures(home, TAXI_SPARK__CONF=json.dumps(conf), **CUT_OFF)

    assert all("Spark can't fetch Delta's jar io.delta:delta-spark_4.2_2.13:4.4.0" in failure for failure in found)
    assert all("TAXI_SPARK__JARS" in failure and "\n" not in failure for failure in found)


@pytest.mark.usefixtures("spark")
@pytest.mark.parametrize(
    ("settings", "why"),
    [
        ({"TAXI_SPARK__MASTER": "nonsense"}, "master nonsense: Master must either be yarn or start with spark"),
        ({"TAXI_SPARK__CONF": '{"spark.driver.memory": "lots"}'}, "Invalid maximum heap size: -Xmxlots"),
        ({"TAXI_SPARK__CONF": '{"spark.executor.memory": "lots"}'}, "Executor memory must be a positive number"),
    ],
)
def test_what_keeps_spark_from_starting_is_said_in_one_line_with_where_its_log_is(
    home: Home, settings: dict[str, str], why: str
) -> None:
    found = failures(home, **settings)

    assert all(why in failure for failure in found)
    assert all(failure.endswith(f". Spark's log: {home.dagster / 'spark.log'}.") for failure in found)
    assert all(failure.count("\n") == 0 and ".." not in failure for failure in found)


def test_cut_off_from_the_network_a_month_runs_with_the_jars_that_were_kept(home: Home, spark: Engine) -> None:
    del spark  # which has fetched them by now
    report = home.report("materialize", "--service", "green", str(MONTH), TAXI_ENGINE="spark", **CUT_OFF)

    assert [month["state"] for month in report] == ["done"]


def test_with_a_folder_of_jars_nothing_is_fetched_or_looked_for(home: Home, spark: Engine, tmp_path: Path) -> None:
    listed = spark.session().sparkContext.getConf().get("spark.jars", "")  # type: ignore[attr-defined]
    jars = tmp_path / "jars"
    jars.mkdir()
    for jar in listed.split(","):
        shutil.copy(jar.removeprefix("file://"), jars)

    report = home.report(
        "materialize", "--service", "green", str(MONTH), TAXI_ENGINE="spark", TAXI_SPARK__JARS=str(jars),
        TAXI_SPARK__CONF=json.dumps({"spark.jars.ivy": str(tmp_path / "empty-cache")}), **CUT_OFF,
    )  # fmt: skip

    assert [month["state"] for month in report] == ["done"]


@pytest.mark.usefixtures("spark")
def test_a_step_that_fails_on_spark_says_why_in_one_line_and_leaves_the_month_as_it_was(
    tmp_path: Path, instance: dg.DagsterInstance
) -> None:
    workspace = Workspace.below(tmp_path, instance, engine="spark")
    workspace.land(GREEN, trips(20))
    assert workspace.run(GREEN).success
    before = workspace.table(SILVER_TRIPS[GREEN])
    month = Path(workspace.settings.lake_root) / "tlc_silver/green_trips" / f"source_month={MONTH.first_day}"
    stored = month.rename(tmp_path / "aside")
    # A file where Spark would make the month's folder: no write can succeed.
    month.touch()
    workspace.land(GREEN, trips(30))

    failed = workspace.run(GREEN)

    month.unlink()
    stored.rename(month)
    # Gold, of what was stored before, fails as well: its rows are aside.
    said, *_ = workspace.failures(failed)
    assert said.startswith("tlc_silver/green_trips 2024-01 failed: ")
    assert str(month.name) in said
    assert said.endswith("tlc_silver/green_trips 2024-01 stands as before.")
    assert "\n" not in said
    assert workspace.table(SILVER_TRIPS[GREEN]).equals(before)
    assert workspace.table(QUARANTINES[GREEN]).height == 0
    assert workspace.table(BRONZE_TRIPS[GREEN]).height == 30
    assert workspace.run(GREEN).success
    assert workspace.table(SILVER_TRIPS[GREEN]).height == 30
