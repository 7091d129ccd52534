"""The Spark session: how it is configured, when it starts, and what is said when it can't.

A process has one. It starts when the first step asks for it, so that whoever only looks at definitions starts no JVM.
"""

from __future__ import annotations

import logging
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Final, cast

import pyspark
from dagster_pyspark import LazyPySparkResource
from delta.version import __version__ as delta_version
from pyspark import SparkConf, SparkContext
from pyspark.java_gateway import launch_gateway
from pyspark.logger import PySparkLogger
from pyspark.sql import SparkSession

from taxi_assets.engines.spark_errors import cause_of
from taxi_assets.errors import LakeError, first_line

_OLDEST_JAVA: Final = 17
_DELTA_JAR: Final = f"delta-spark_{'.'.join(pyspark.__version__.split('.')[:2])}_2.13"
_DELTA_PACKAGE: Final = f"io.delta:{_DELTA_JAR}:{delta_version}"

# Without zones of any kind: a wall-clock time is the same wherever Spark runs.
_OF_SESSION: Final = {"spark.sql.session.timeZone": "UTC", "spark.sql.timestampType": "TIMESTAMP_NTZ"}
_DEFAULTS: Final = {
    # HotSpot never compiles a method of more than 8,000 bytes; wide rows have such, and are then better not fused.
    "spark.sql.codegen.hugeMethodLimit": "8000",
    # A write is of one partition: with a writer for it, Spark need not sort the rows by partition first.
    "spark.sql.maxConcurrentOutputFileWriters": "2",
    "spark.ui.showConsoleProgress": "false",
}
_OF_DELTA: Final = {
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
}
# What one machine holds is small for Spark, whose own defaults run 200 tasks where two do.
_LOCAL_DEFAULTS: Final = {
    "spark.databricks.delta.snapshotPartitions": "1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.sql.shuffle.partitions": str(max(2, os.cpu_count() or 1)),
    "spark.ui.enabled": "false",
}

# A JVM's command line is there for everyone on the machine to read.
_SECRET: Final = re.compile(r"secret|password|token|credential|\bsas\b|key", re.IGNORECASE)

_REASONS: Final = (
    r"Application has been killed\. Reason: (.+)$",
    r"^(?:Error occurred during initialization of VM\n)?((?:Invalid|Unrecognized|Conflicting|Multiple) .+)$",
    r"^(?:Exception in thread \".*?\" |Caused by: )(?:[\w.$]+: )?(.+)$",
    r"^Error: (.+)$",
)


@dataclass(frozen=True)
class SparkSetup:
    """Which Spark to use, and how.

    `master` is Spark's own: ``local[*]``, ``spark://host:7077``, ``yarn``, ``k8s://...``. `conf` are settings of
    Spark's (``spark.*``), which go before our defaults. `jars` is a folder that holds Delta's jars; without one Ivy
    fetches them once and keeps them. Spark's own log goes to the file `log`.
    """

    master: str
    # Not shown: they may hold secrets.
    conf: Mapping[str, str] = field(repr=False)
    jars: Path | None
    log: Path

    def session(self) -> SparkSession:
        """Return this process's session; it is started if there is none.

        Raises LakeError, in one line with what to do, if there is no fitting Java, no Delta, or no such master.
        """
        settings = self.settings()
        self.log.parent.mkdir(parents=True, exist_ok=True)
        with self.log.open("ab") as log:
            begins = log.tell()
            try:
                # There is no public way to ask whether this process has a context, or a JVM, already.
                if SparkContext._active_spark_context is None:  # noqa: SLF001
                    _start_context(settings, log)
                return _session(settings)
            except LakeError:
                raise
            except Exception as error:
                _stop_context()
                raise LakeError(f"{self._what_failed(begins, error)} Spark's log: {self.log}.") from error

    def settings(self) -> dict[str, str]:
        """Return all that Spark is told. Raises LakeError for a folder of jars without Delta's."""
        delta, jars = (
            ("spark.jars.packages", _DELTA_PACKAGE) if self.jars is None else ("spark.jars", _delta_in(self.jars))
        )
        return {
            **_DEFAULTS,
            # Nothing is put there, but Spark makes the folder, in the current one unless told otherwise.
            "spark.sql.warehouse.dir": str(self.log.with_name("spark-warehouse")),
            **(_local_defaults() if self.master.startswith("local") else {}),
            **self.conf,
            # Beside those that the user wants, such as a store's client.
            delta: ",".join(filter(None, (self.conf.get(delta), jars))),
            **_OF_SESSION,
            **_OF_DELTA,
            "spark.master": self.master,
        }

    def _what_failed(self, begins: int, error: Exception) -> str:
        said = self.log.read_bytes()[begins:].decode("utf-8", "replace")
        if "UNRESOLVED DEPENDENCIES" in said or "FAILED DOWNLOADS" in said:
            return (
                f"Spark can't fetch Delta's jar {_DELTA_PACKAGE}: it isn't in Ivy's cache, and no repository that "
                "answers has it. Run this once with a way to Maven Central, or set TAXI_SPARK__JARS to a folder that "
                "holds it and what it needs."
            )
        # From what says most: a cluster's refusal, the JVM's, and Spark's last exception.
        for pattern in _REASONS:
            found = re.findall(pattern, said, re.MULTILINE)
            if found:
                return f"Spark can't start with master {self.master}: {found[-1].rstrip('.')}."
        return f"Spark can't start with master {self.master}: {(cause_of(error) or first_line(error)).rstrip('.')}."


def _local_defaults() -> dict[str, str]:
    javas_own = " ".join(os.environ.get(name, "") for name in ("JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS"))
    if re.search(r"-XX:\+Use\w+GC\b", javas_own):
        # With two collectors named, a JVM doesn't start.
        return _LOCAL_DEFAULTS
    # G1, which Java takes by itself, pauses less and takes a fifth longer in all.
    return {**_LOCAL_DEFAULTS, "spark.driver.extraJavaOptions": "-XX:+UseParallelGC"}


def _start_context(settings: Mapping[str, str], log: IO[bytes]) -> None:
    """Start the JVM, unless there is one, and the Spark context in it, with what both have to say in the log.

    Settings whose names say that they are secrets are told to the context alone, not on the JVM's command line.
    """
    conf = SparkConf(loadDefaults=False).setAll(list(settings.items()))
    gateway = SparkContext._gateway  # noqa: SLF001
    if gateway is None:
        _require_java()
        of_all = [(name, value) for name, value in settings.items() if not _SECRET.search(name)]
        public = SparkConf(loadDefaults=False).setAll(of_all)
        gateway = launch_gateway(public, {"stdout": log, "stderr": log})  # type: ignore[no-untyped-call]
    context = SparkContext(conf=conf, gateway=gateway)
    if settings["spark.master"].startswith("local") and "PYSPARK_PYTHON" not in os.environ:
        # Workers on this machine are this Python's, not whichever `python3` is found first.
        context.pythonExec = sys.executable


def _stop_context() -> None:
    """Let the next step start another one: one that couldn't be used can't be mended."""
    context = SparkContext._active_spark_context  # noqa: SLF001
    if context is not None:
        context.stop()


def _session(settings: Mapping[str, str]) -> SparkSession:
    # PySpark prints each failing query's whole stack as one line of JSON; who runs it reads the cause in the error.
    for logger in ("DataFrameQueryContextLogger", "SQLQueryContextLogger"):
        PySparkLogger.getLogger(logger).setLevel(logging.CRITICAL)
    return cast("SparkSession", LazyPySparkResource(spark_config=dict(settings)).spark_session)


def _delta_in(folder: Path) -> str:
    """List a folder's jars. Raises LakeError if Delta's isn't among them."""
    jars = sorted(str(jar) for jar in folder.glob("*.jar"))
    if not any(_DELTA_JAR in jar for jar in jars):
        raise LakeError(
            f"There is no {_DELTA_JAR}-{delta_version}.jar in {folder}, which TAXI_SPARK__JARS names. "
            "Put it there, with the jars that it needs."
        )
    return ",".join(jars)


def _require_java() -> None:
    """Raise LakeError unless the Java that Spark will start is new enough."""
    home = os.environ.get("JAVA_HOME")
    java = shutil.which("java", path=f"{home}/bin") if home else shutil.which("java")
    where = f"JAVA_HOME is {home}" if home else "JAVA_HOME isn't set"
    what_to_do = f"Install Java {_OLDEST_JAVA} or newer (Debian: openjdk-{_OLDEST_JAVA}-jre-headless), or name it by "
    what_to_do += "JAVA_HOME; TAXI_ENGINE=polars needs none."
    if java is None:
        raise LakeError(f"Spark needs Java, and there is none ({where}). {what_to_do}")
    said = subprocess.run([java, "-version"], capture_output=True, text=True, check=False).stderr  # noqa: S603
    version = re.search(r'^.* version "(?:1\.)?(\d+).*$', said, re.MULTILINE)
    if version is None or int(version[1]) < _OLDEST_JAVA:
        found = version[0] if version else first_line(Exception(said))
        raise LakeError(f"Spark needs Java {_OLDEST_JAVA} or newer, and {java} is {found} ({where}). {what_to_do}")
