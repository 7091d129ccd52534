"""The Spark engine: on whatever cluster its session reaches, by delta-spark. For months that no one process holds."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date
from typing import Any, Final, TypeVar

import narwhals.stable.v1 as nw
import polars as pl
import pyarrow as pa
from delta import exceptions as delta_exceptions
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - what everyone calls it
from pyspark.sql.pandas.functions import arrow_udf

from taxi_assets.contracts import Contract, Frame
from taxi_assets.engines.arrays import ArrayFunction, over_arrow
from taxi_assets.engines.conform import as_declared, conform
from taxi_assets.engines.delta_log import DeltaLocation, files_of, made_by, retry_on_conflict
from taxi_assets.engines.engine import NO_NOTES, Members, Partition, PartitionValue, Written
from taxi_assets.engines.polars_engine import PolarsEngine
from taxi_assets.engines.spark_rows import flag_rows, hold
from taxi_assets.engines.upserts import one_row_a_key, wins

_T = TypeVar("_T")
_LOOKED_UP: Final = "_looked_up"
_USER_METADATA: Final = "spark.databricks.delta.commitInfo.userMetadata"
# Each by its name: in Python, unlike in Java, Delta derives none from DeltaConcurrentModificationException.
_CONFLICTS: Final = (
    delta_exceptions.ConcurrentAppendException,
    delta_exceptions.ConcurrentDeleteDeleteException,
    delta_exceptions.ConcurrentDeleteReadException,
    delta_exceptions.ConcurrentTransactionException,
    delta_exceptions.ConcurrentWriteException,
    delta_exceptions.MetadataChangedException,
    delta_exceptions.ProtocolChangedException,
)


@dataclass(frozen=True)
class SparkEngine:
    """Implements `Engine` on Spark's data frames; `session` returns the session, which may have to start first."""

    session: Callable[[], SparkSession]

    def read(self, contract: type[Contract], location: DeltaLocation, partitions: Sequence[Partition] | None) -> Frame:
        """See `Engine.read`. All that is asked of the frame is answered from one version, whoever writes meanwhile."""
        table = location.open_stored(contract)
        rows = self.session().read.format("delta").option("versionAsOf", table.version()).load(_hadoop_uri(location))
        if partitions is not None:
            rows = rows.where(" OR ".join(["false", *map(_predicate, partitions)]))
            files = [file for partition in partitions for file in files_of(table, partition)]
            # Spark decides what is asked of these while it plans, and neither reads nor computes for it.
            empty = frozenset.intersection(*(file.empty for file in files)) if files else frozenset()
            types = {field.name: field.dataType for field in rows.schema if field.name in empty}
            rows = rows.withColumns({name: F.lit(None).cast(dtype) for name, dtype in types.items()})
        return as_declared(contract, nw.from_native(rows))

    def replace(
        self,
        contract: type[Contract],
        location: DeltaLocation,
        frame: Frame,
        partition: Partition,
        notes: Mapping[str, str] = NO_NOTES,
        *,
        run_id: str = "",
    ) -> Written:
        """See `Engine.replace`."""
        assert not notes, "Spark can't write into a data file's footer."
        location.create_if_missing(contract)
        rows: DataFrame = nw.to_native(conform(contract, frame))
        writer = rows.write.format("delta").mode("overwrite").option("replaceWhere", _predicate(partition))
        with self._commits_named(run_id):
            _retried(lambda: writer.save(_hadoop_uri(location)), location)
        files = location.files(partition)
        if files:
            rows_written = location.row_count(partition) or 0
            return Written(rows_written, sum(file.bytes for file in files), location.version() or 0)
        # Spark writes no file without rows, and a partition without files can't be told from one that never was.
        nothing = pl.DataFrame(rows.limit(0).toArrow())
        return PolarsEngine().replace(contract, location, nw.from_native(nothing.lazy()), partition, run_id=run_id)

    def upsert(self, contract: type[Contract], location: DeltaLocation, frame: Frame, *, run_id: str = "") -> Written:
        """See `Engine.upsert`."""
        # Held, as it is asked for repeated keys first, and then for its rows.
        rows: DataFrame = nw.to_native(conform(contract, frame)).persist()
        try:
            newest: DataFrame = nw.to_native(one_row_a_key(contract, nw.from_native(rows)))
            with self._commits_named(run_id):
                return self._merge(contract, location, newest)
        finally:
            rows.unpersist()

    @contextmanager
    def _commits_named(self, run_id: str) -> Iterator[None]:
        """Let the session's commits say which run makes them."""
        conf = self.session().conf
        if run_id:
            conf.set(_USER_METADATA, json.dumps(made_by(run_id)))
        try:
            yield
        finally:
            conf.unset(_USER_METADATA)

    def _merge(self, contract: type[Contract], location: DeltaLocation, rows: DataFrame) -> Written:
        location.create_if_missing(contract)
        before = location.files()
        merge = (
            f"MERGE INTO delta.`{_hadoop_uri(location).replace('`', '``')}` AS stored USING {{new}} AS new ON "
            + " AND ".join(f"stored.`{key}` = new.`{key}`" for key in contract.stored_as().keys)
            + f" WHEN MATCHED AND {wins(contract, '`')} THEN UPDATE SET *"
            " WHEN NOT MATCHED THEN INSERT *"
        )
        merged = _retried(lambda: self.session().sql(merge, new=rows).collect()[0], location)
        added = sum(file.bytes for file in location.files() if file not in before)
        return Written(int(merged["num_affected_rows"]), added, location.version() or 0)

    def flag_rows(self, frame: Frame, repeats: Mapping[str, Sequence[str]], members: Members, *, row_id: str) -> Frame:
        """See `Engine.flag_rows`."""
        among = {flag: (columns, nw.to_native(small)) for flag, (columns, small) in members.items()}
        return nw.from_native(flag_rows(nw.to_native(frame), row_id, repeats, among))

    def hold(self, frame: Frame) -> Frame:
        """See `Engine.hold`."""
        return nw.from_native(hold(nw.to_native(frame)))

    def look_up(self, frame: Frame, small: Frame, key: str, small_key: str) -> Frame:
        """See `Engine.look_up`."""
        table: DataFrame = nw.to_native(small).dropna(subset=[small_key]).withColumnRenamed(small_key, _LOOKED_UP)
        rows: DataFrame = nw.to_native(frame)
        joined = rows.join(F.broadcast(table), F.col(key) == F.col(_LOOKED_UP), "left")
        return nw.from_native(joined.drop(_LOOKED_UP))

    def with_computed(self, frame: Frame, name: str, columns: Sequence[str], compute: ArrayFunction) -> Frame:
        """See `Engine.with_computed`."""
        rows: DataFrame = nw.to_native(frame)
        function = arrow_udf(over_arrow(compute), "int")  # type: ignore[call-overload]
        return nw.from_native(rows.withColumn(name, function(*columns)))

    def with_digest(self, frame: Frame, name: str, columns: Sequence[str]) -> Frame:
        """See `Engine.with_digest`."""
        rows: DataFrame = nw.to_native(frame)
        return nw.from_native(rows.withColumn(name, F.sha2(F.concat_ws("|", *columns), 256)))

    def with_keys(self, frame: Frame, named: Mapping[str, str]) -> Frame:
        """See `Engine.with_keys`."""
        rows: DataFrame = nw.to_native(frame)
        return nw.from_native(
            rows.withColumns({name: F.xxhash64(F.col(column).cast("string")) for name, column in named.items()})
        )

    def seconds_between(self, start: nw.Expr, end: nw.Expr) -> nw.Expr:
        """See `Engine.seconds_between`."""
        return (end - start).cast(nw.Int64)

    def literal(self, columns: Mapping[str, Sequence[Any]]) -> Frame:
        """See `Engine.literal`."""
        return nw.from_native(self.session().createDataFrame(pa.table(dict(columns))))


def _retried(write: Callable[[], _T], location: DeltaLocation) -> _T:
    return retry_on_conflict(write, location.uri, _CONFLICTS)


def _predicate(partition: Partition) -> str:
    return "(" + " AND ".join(f"`{name}` = {_sql(value)}" for name, value in partition.items()) + ")"


def _sql(value: PartitionValue) -> str:
    if isinstance(value, date):
        return f"DATE'{value.isoformat()}'"
    if isinstance(value, str):
        return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"
    return str(value)


def _hadoop_uri(location: DeltaLocation) -> str:
    # Hadoop's client for S3 has a scheme of its own.
    return location.uri.replace("s3://", "s3a://", 1)
