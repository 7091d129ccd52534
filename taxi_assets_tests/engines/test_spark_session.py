"""Claims about starting Spark: what it's told, and what a user reads when it can't start. Nothing is started here.

What needs a JVM is in full/test_spark_runs.py.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from taxi_assets.engines.spark_session import SparkSetup
from taxi_assets.errors import LakeError

pytestmark = pytest.mark.fast


@pytest.fixture
def setup(tmp_path: Path) -> SparkSetup:
    """A setup that is all defaults."""
    return SparkSetup("local[*]", {}, None, tmp_path / "spark.log")


@pytest.fixture
def no_java(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A machine without Java; returns the one folder of its PATH."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    # Other tests of this process may have started a JVM and a context, which would be used again.
    for started in ("_gateway", "_active_spark_context"):
        monkeypatch.setattr(f"pyspark.SparkContext.{started}", None)
    return folder


def complaint(setup: SparkSetup) -> str:
    with pytest.raises(LakeError) as caught:
        setup.session()
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.mark.usefixtures("no_java")
def test_without_java_the_error_says_what_to_install_and_what_needs_none(setup: SparkSetup) -> None:
    said = complaint(setup)

    assert "there is none (JAVA_HOME isn't set)" in said
    assert "openjdk-17-jre-headless" in said
    assert "TAXI_ENGINE=polars needs none" in said


@pytest.mark.usefixtures("no_java")
def test_a_java_home_without_java_is_named(setup: SparkSetup, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "jdk"))

    assert f"JAVA_HOME is {tmp_path / 'jdk'}" in complaint(setup)


@pytest.mark.parametrize("version", ['openjdk version "11.0.29" 2025-10-21', 'java version "1.8.0_471"'])
def test_a_java_that_is_too_old_is_shown(setup: SparkSetup, no_java: Path, version: str) -> None:
    # A Java as old as that can't be had here; this says what it would say.
    java = no_java / "java"
    java.write_text(f"#!/bin/sh\necho '{version}' >&2\n")
    java.chmod(0o755)

    assert f"needs Java 17 or newer, and {java} is {version}" in complaint(setup)


def test_a_folder_of_jars_without_deltas_is_an_error_that_names_both(setup: SparkSetup, tmp_path: Path) -> None:
    (tmp_path / "other-1.0.jar").touch()

    said = complaint(replace(setup, jars=tmp_path))

    assert f"There is no delta-spark_4.2_2.13-4.4.0.jar in {tmp_path}, which TAXI_SPARK__JARS names" in said


def test_a_folder_of_jars_takes_the_place_of_fetching_them(setup: SparkSetup, tmp_path: Path) -> None:
    jars = [tmp_path / "delta-spark_4.2_2.13-4.4.0.jar", tmp_path / "delta-storage-4.4.0.jar"]
    for jar in jars:
        jar.touch()

    settings = replace(setup, jars=tmp_path).settings()

    assert settings["spark.jars"] == ",".join(map(str, jars))
    assert "spark.jars.packages" not in settings
    assert setup.settings()["spark.jars.packages"] == "io.delta:delta-spark_4.2_2.13:4.4.0"


def test_packages_that_a_user_wants_are_fetched_beside_deltas(setup: SparkSetup) -> None:
    settings = replace(setup, conf={"spark.jars.packages": "org.apache.hadoop:hadoop-aws:3.5.0"}).settings()

    assert settings["spark.jars.packages"].split(",") == [
        "org.apache.hadoop:hadoop-aws:3.5.0",
        "io.delta:delta-spark_4.2_2.13:4.4.0",
    ]


def test_only_a_local_master_gets_what_suits_small_data(setup: SparkSetup) -> None:
    small = {"spark.sql.shuffle.partitions", "spark.databricks.delta.snapshotPartitions", "spark.ui.enabled"}

    assert small <= set(setup.settings())
    assert small.isdisjoint(replace(setup, master="spark://there:7077").settings())


@pytest.mark.parametrize("variable", ["JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS"])
def test_a_collector_that_java_is_told_already_stays_the_only_one(
    setup: SparkSetup, monkeypatch: pytest.MonkeyPatch, variable: str
) -> None:
    for name in ("JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS"):
        monkeypatch.delenv(name, raising=False)
    assert setup.settings()["spark.driver.extraJavaOptions"] == "-XX:+UseParallelGC"

    monkeypatch.setenv(variable, "-Xss4m -XX:+UseZGC")

    assert "spark.driver.extraJavaOptions" not in setup.settings()


def test_what_a_user_sets_goes_before_our_defaults_but_not_before_what_the_tables_need(setup: SparkSetup) -> None:
    wanted = {
        "spark.sql.shuffle.partitions": "64",
        "spark.app.name": "mine",
        "spark.sql.session.timeZone": "Asia/Tokyo",
    }

    settings = replace(setup, conf=wanted).settings()

    assert settings["spark.sql.shuffle.partitions"] == "64"
    assert settings["spark.app.name"] == "mine"
    assert settings["spark.sql.session.timeZone"] == "UTC"


def test_a_setup_does_not_show_what_may_be_a_secret(setup: SparkSetup) -> None:
    assert "abc123" not in repr(replace(setup, conf={"spark.hadoop.fs.s3a.secret.key": "abc123"}))
