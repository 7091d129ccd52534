"""What Spark's errors say: the cause in one line, which Spark puts under hundreds of lines of Java's stack."""

from __future__ import annotations

from py4j.protocol import Py4JError, Py4JJavaError
from pyspark.errors import PySparkException

from taxi_assets.errors import first_line


def cause_of(error: BaseException) -> str | None:
    """Return the first line of the deepest cause of one of Spark's errors; None for any other error."""
    if isinstance(error, Py4JJavaError):
        cause = error.java_exception
        while cause.getCause() is not None:
            cause = cause.getCause()
        return first_line(Exception(cause.toString()))
    if not isinstance(error, (PySparkException, Py4JError)):
        return None
    # Where the Java error had a cause, PySpark has translated it, too, and keeps it here.
    while (deeper := getattr(error, "_cause", None)) is not None:
        error = deeper
    return first_line(error)
