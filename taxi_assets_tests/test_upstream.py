"""What the code relies on in Dagster, Pandera, Narwhals, Polars and delta-rs.

An upgrade that changes it fails here first. Nothing of ours is tested here.
"""

import gzip
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

# First, as it sets Pandera's switches before Pandera is imported.
import taxi_assets.contracts  # noqa: F401  # isort: skip
import dagster as dg
import narwhals.stable.v1 as nw
import pandera.polars as pa
import polars as pl
import pyarrow.parquet as pq
import pytest
from dagster._core.definitions.source_asset import SYSTEM_METADATA_KEY_SOURCE_ASSET_OBSERVATION as UNRECORDED
from dagster._core.event_api import PartitionKeyFilter
from deltalake import CommitProperties, DeltaTable, Field, Schema
from deltalake.exceptions import CommitFailedError
from deltalake.schema import PrimitiveType
from deltalake.transaction import AddAction
from polars.io.plugins import register_io_source

pytestmark = pytest.mark.fast

# Dagster

DAYS = dg.StaticPartitionsDefinition(["a", "b"])
CHECK = dg.AssetCheckKey(dg.AssetKey("kept"), "limit")


def two_tables(*, passed: bool, fails: bool) -> dg.AssetsDefinition:
    """Return a step of two tables that reports a check and then fails, or hands both tables over."""

    @dg.multi_asset(
        outs={
            name: dg.AssetOut(key=name, dagster_type=Any, io_manager_key="kept_in_memory")
            for name in ("kept", "quarantined")
        },
        partitions_def=DAYS,
        check_specs=[dg.AssetCheckSpec("limit", asset="kept", blocking=True, partitions_def=DAYS)],
    )
    def step() -> Iterator[Any]:
        yield dg.AssetCheckResult(
            passed=passed,
            asset_key="kept",
            check_name="limit",
            severity=dg.AssetCheckSeverity.ERROR,
            metadata={"rows": 3},
        )
        if fails:
            raise dg.Failure(description="too many", allow_retries=False)
        yield dg.MaterializeResult(asset_key="kept", value=nw.from_native(pl.LazyFrame({"a": [1]})), metadata={"n": 1})
        yield dg.MaterializeResult(asset_key="quarantined", value=nw.from_native(pl.LazyFrame({"a": [2]})))

    return step


class Memory(dg.IOManager):
    """Keeps what it is given, by asset."""

    def __init__(self) -> None:
        self.given: dict[str, Any] = {}

    def handle_output(self, context: dg.OutputContext, obj: Any) -> None:
        self.given[context.asset_key.path[-1]] = obj
        context.add_output_metadata({"written": True})

    def load_input(self, context: dg.InputContext) -> Any:
        return self.given[context.asset_key.path[-1]]


def run_step(instance: dg.DagsterInstance, memory: Memory, **how: bool) -> dg.ExecuteInProcessResult:
    return dg.materialize(
        [two_tables(**how)],
        instance=instance,
        partition_key="a",
        resources={"kept_in_memory": memory},
        raise_on_error=False,
    )


@pytest.fixture
def memory() -> Memory:
    return Memory()


def test_a_check_result_that_comes_before_a_failure_is_recorded(instance: dg.DagsterInstance, memory: Memory) -> None:
    result = run_step(instance, memory, passed=False, fails=True)
    assert not result.success
    assert memory.given == {}
    (found,) = result.get_asset_check_evaluations()
    assert (found.check_name, found.passed, found.severity) == ("limit", False, dg.AssetCheckSeverity.ERROR)
    (failure,) = (event for event in result.all_events if event.is_step_failure)
    assert failure.step_failure_data.user_failure_data is not None
    assert failure.step_failure_data.user_failure_data.description == "too many"


def test_two_lazy_frames_reach_the_io_manager_as_values_with_both_sides_metadata(
    instance: dg.DagsterInstance, memory: Memory
) -> None:
    result = run_step(instance, memory, passed=True, fails=False)
    assert result.success
    assert {name: frame.collect()["a"].to_list() for name, frame in memory.given.items()} == {
        "kept": [1],
        "quarantined": [2],
    }
    events = {event.asset_key.path[0]: event.metadata for event in result.asset_materializations_for_node("step")}
    assert {name: value.value for name, value in events["kept"].items() if name in ("n", "written")} == {
        "n": 1,
        "written": True,
    }


def test_the_last_result_of_a_check_is_found_for_a_partition_and_for_no_other(
    instance: dg.DagsterInstance, memory: Memory
) -> None:
    run_step(instance, memory, passed=True, fails=False)
    run_step(instance, memory, passed=False, fails=True)

    def latest(partition: str) -> Any:
        storage = instance.event_log_storage
        found = storage.get_latest_asset_check_execution_by_key(
            [CHECK], partition_filter=PartitionKeyFilter(key=partition)
        )
        return found.get(CHECK)

    assert latest("a").evaluation.passed is False
    assert latest("a").evaluation.metadata["rows"].value == 3
    assert latest("b") is None


def test_the_states_of_checks_are_found_by_partition_with_the_run_that_planned_or_evaluated_them_last(
    instance: dg.DagsterInstance, memory: Memory
) -> None:
    def states() -> list[tuple[str | None, str, str]]:
        found = instance.event_log_storage.get_asset_check_partition_info([CHECK], partition_keys=["a", "b"])
        return [(info.partition_key, info.latest_execution_status.value, info.latest_planned_run_id) for info in found]

    assert states() == []
    first = run_step(instance, memory, passed=False, fails=True)
    assert states() == [("a", "FAILED", first.run_id)]
    second = run_step(instance, memory, passed=True, fails=False)
    assert states() == [("a", "SUCCEEDED", second.run_id)]
    job = dg.Definitions(assets=[two_tables(passed=True, fails=False)], resources={"kept_in_memory": memory})
    planned = instance.create_run_for_job(job.resolve_implicit_global_asset_job_def(), tags={"dagster/partition": "a"})
    assert states() == [("a", "PLANNED", planned.run_id)]


def test_the_last_materialization_of_each_partition_is_found_at_its_place_in_the_log(
    instance: dg.DagsterInstance, memory: Memory
) -> None:
    runs = [run_step(instance, memory, passed=True, fails=False).run_id for _ in range(2)]
    places = instance.get_latest_storage_id_by_partition(
        dg.AssetKey("kept"), dg.DagsterEventType.ASSET_MATERIALIZATION, {"a", "b"}
    )
    assert places.keys() == {"a"}
    wanted = dg.AssetRecordsFilter(dg.AssetKey("kept"), storage_ids=list(places.values()))
    assert [record.run_id for record in instance.fetch_materializations(wanted, limit=10).records] == runs[1:]


def test_materializations_are_fetched_by_partition_newest_first(instance: dg.DagsterInstance, memory: Memory) -> None:
    runs = [run_step(instance, memory, passed=True, fails=False).run_id for _ in range(2)]
    wanted = dg.AssetRecordsFilter(asset_key=dg.AssetKey("kept"), asset_partitions=["a"])
    records = instance.fetch_materializations(wanted, limit=10).records
    assert [record.run_id for record in records] == runs[::-1]
    other = dg.AssetRecordsFilter(asset_key=dg.AssetKey("kept"), asset_partitions=["b"])
    assert instance.fetch_materializations(other, limit=10).records == []


def test_a_blocking_check_that_fails_after_the_write_keeps_downstream_from_running(
    instance: dg.DagsterInstance,
) -> None:
    ran: list[str] = []

    @dg.asset
    def table() -> None:
        ran.append("table")

    @dg.asset_check(asset=table, blocking=True)
    def whole() -> dg.AssetCheckResult:
        return dg.AssetCheckResult(passed=False, severity=dg.AssetCheckSeverity.ERROR)

    @dg.asset(deps=[table])
    def downstream() -> None:
        ran.append("downstream")

    defs = dg.Definitions(assets=[table, downstream], asset_checks=[whole])
    result = defs.resolve_implicit_global_asset_job_def().execute_in_process(instance=instance, raise_on_error=False)
    assert not result.success
    assert ran == ["table"]


def test_an_output_marked_as_of_a_source_is_recorded_as_nothing_and_what_needs_it_runs(
    instance: dg.DagsterInstance,
) -> None:
    @dg.asset(partitions_def=DAYS, dagster_type=Any, check_specs=[dg.AssetCheckSpec("limit", asset="kept")])
    def kept() -> Iterator[Any]:
        yield dg.MaterializeResult(value="nothing", metadata={UNRECORDED: True})
        yield dg.Output(None, output_name="kept_limit")

    @dg.asset(partitions_def=DAYS)
    def downstream(kept: Any) -> None:
        assert kept == "nothing"

    memory = dg.mem_io_manager
    result = dg.materialize([kept, downstream], instance=instance, partition_key="a", resources={"io_manager": memory})
    assert result.success
    assert instance.get_materialized_partitions(dg.AssetKey("kept")) == set()
    assert instance.get_materialized_partitions(dg.AssetKey("downstream")) == {"a"}
    assert result.get_asset_check_evaluations() == []


def test_an_io_manager_can_keep_an_output_from_being_recorded(instance: dg.DagsterInstance) -> None:
    class Refusing(dg.IOManager):
        def handle_output(self, context: dg.OutputContext, _obj: Any) -> None:
            context.output_metadata[UNRECORDED] = True  # type: ignore[index]

        def load_input(self, context: dg.InputContext) -> None: ...

    @dg.asset(dagster_type=Any)
    def kept() -> Iterator[Any]:
        yield dg.MaterializeResult(value=1, metadata={"rows": 1})

    assert dg.materialize([kept], instance=instance, resources={"io_manager": Refusing()}).success
    assert instance.get_latest_materialization_event(dg.AssetKey("kept")) is None


def test_of_a_run_without_a_partition_an_evaluation_of_one_is_recorded_and_a_result_is_an_error(
    instance: dg.DagsterInstance,
) -> None:
    @dg.asset(name="kept", partitions_def=DAYS)
    def kept() -> None: ...

    def checked(*found: Any) -> dg.ExecuteInProcessResult:
        spec = dg.AssetCheckSpec("limit", asset="kept", partitions_def=DAYS, blocking=True)

        @dg.multi_asset_check(specs=[spec], can_subset=True)
        def limit() -> Iterator[Any]:
            yield from found

        job = dg.Definitions([kept], asset_checks=[limit]).resolve_implicit_global_asset_job_def()
        alone = job.get_subset(asset_selection=set(), asset_check_selection={CHECK})
        return alone.execute_in_process(instance=instance, raise_on_error=False)

    dg.materialize([kept], instance=instance, partition_key="a")
    assert not checked(dg.AssetCheckResult(passed=True, asset_key="kept", check_name="limit")).success
    for passed in (True, False):
        evaluation = dg.AssetCheckEvaluation(
            asset_key=CHECK.asset_key, check_name="limit", passed=passed, metadata={}, blocking=True, partition="a"
        )
        result = checked(dg.Output(None, output_name="kept_limit"), evaluation)
        assert result.success == passed
        latest = instance.event_log_storage.get_latest_asset_check_execution_by_key([CHECK])[CHECK]
        assert latest.partition == "a"
        assert latest.evaluation is not None
        assert latest.evaluation.passed == passed


def test_a_failing_check_that_warns_leaves_the_run_green(instance: dg.DagsterInstance) -> None:
    @dg.asset
    def table() -> None: ...

    @dg.asset_check(asset=table)
    def drift() -> dg.AssetCheckResult:
        return dg.AssetCheckResult(passed=False, severity=dg.AssetCheckSeverity.WARN)

    defs = dg.Definitions(assets=[table], asset_checks=[drift])
    assert defs.resolve_implicit_global_asset_job_def().execute_in_process(instance=instance).success


# Pandera and Narwhals


def test_a_native_false_check_of_a_model_hands_out_a_narwhals_expression() -> None:
    class Model(pa.DataFrameModel):
        fare: float = pa.Field(nullable=True)

        @pa.dataframe_check(name="positive", description="why", native=False)
        def positive(cls, _frame: Any) -> Any:
            return nw.col("fare") > 0

    (check,) = Model.to_schema().checks
    assert (check.name, check.description) == ("positive", "why")
    frame = nw.from_native(pl.LazyFrame({"fare": [1.0, -1.0, None]}))
    expression = check(frame.to_native()).check_output
    assert frame.select(nw.all()).with_columns(kept=expression).collect()["kept"].to_list() == [True, False, None]


def test_a_decimal_sum_is_exact_and_keeps_its_places() -> None:
    frame = nw.from_native(pl.LazyFrame({"usd": [0.1] * 10})).select(nw.col("usd").cast(nw.Decimal(10, 2)))
    assert str(frame.select(nw.col("usd").sum()).collect().item()) == "1.00"


def test_a_condition_on_null_is_null_until_it_is_filled() -> None:
    frame = nw.from_native(pl.LazyFrame({"fare": [None, 1.0]}))
    breaks = ~(nw.col("fare") > 0)
    assert frame.select(raw=breaks, filled=breaks.fill_null(False)).collect().rows() == [(None, False), (False, False)]


# Polars


def test_bytes_are_divided_into_lines_of_text_unless_they_arent_utf8_or_begin_like_a_zipped_file() -> None:
    assert pl.read_lines(b"a\n\n\xc3\xa9,\x00\nlast")["line"].to_list() == ["a", "", "é,\x00", "last"]
    with pytest.raises(pl.exceptions.ComputeError, match="invalid utf8"):
        pl.read_lines(b"\na\n\xe9\n")
    assert pl.read_lines(gzip.compress(b"a\n"))["line"].to_list() == ["a"]


def test_an_error_of_a_source_in_python_reaches_who_collects_as_it_is() -> None:
    def read(*_: Any) -> Iterator[pl.DataFrame]:
        yield pl.DataFrame({"row": [1]})
        raise LookupError("it is damaged")

    rows = register_io_source(read, schema={"row": pl.Int64()})
    with pytest.raises(LookupError, match=r"^it is damaged$"):
        rows.select(pl.col("row") * 2).collect(engine="streaming")


def test_frames_are_put_side_by_side_row_by_row_in_the_streaming_engine(tmp_path: Path) -> None:
    count = 300_000
    pl.DataFrame({"row": range(count)}).write_parquet(tmp_path / "x.parquet", row_group_size=50_000)
    rows = pl.scan_parquet(tmp_path / "x.parquet")
    beside = rows.select(twice=pl.col("row") * 2).collect(engine="streaming").lazy()
    found = pl.concat([rows, beside], how="horizontal").collect(engine="streaming")
    assert found.height == count
    assert (found["row"] * 2 == found["twice"]).all()
    assert found["row"].is_sorted()


def test_once_pythons_own_handler_is_put_back_an_interrupt_leaves_alone_what_polars_computes() -> None:
    code = """if True:
        import os, signal, threading
        from concurrent.futures import ThreadPoolExecutor, wait
        import polars as pl

        signal.signal(signal.SIGINT, signal.getsignal(signal.SIGINT))
        rows = pl.LazyFrame({"row": range(1_000_000)}).sort("row", descending=True)

        def compute():
            for _ in range(200):
                rows.collect()
            print("computed")

        computing = ThreadPoolExecutor(1).submit(compute)
        threading.Thread(target=lambda: (rows.collect(), os.kill(os.getpid(), signal.SIGINT))).start()
        try:
            while not wait([computing], timeout=0.1).done:
                pass
        except KeyboardInterrupt:
            print("interrupted", flush=True)
        computing.result()
    """
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=False)
    assert (ended.stdout.split(), ended.stderr) == (["interrupted", "computed"], "")


def test_a_left_join_that_keeps_the_left_order_does_so_in_the_streaming_engine() -> None:
    left = pl.LazyFrame({"key": [n % 7 for n in range(50_000)], "row": range(50_000)})
    right = pl.LazyFrame({"key": range(5), "name": [f"n{n}" for n in range(5)]})
    found = left.join(right, on="key", how="left", maintain_order="left").collect(engine="streaming")
    assert found["row"].to_list() == list(range(50_000))


def test_structs_are_equal_by_hash_when_their_nulls_are() -> None:
    rows = pl.DataFrame({"a": [1, 1, None, None, 1], "b": [None, None, "x", "x", "x"]})
    assert rows.select(~pl.struct("a", "b").hash().is_first_distinct()).to_series().to_list() == [
        False,
        True,
        False,
        True,
        False,
    ]


# delta-rs

SCHEMA = Schema([Field("row", PrimitiveType("long")), Field("month", PrimitiveType("date"))])


def added(folder: Path, month: str, rows: list[int]) -> AddAction:
    """Write a data file of a month, as the engine does, for a commit to name."""
    name = f"{month}-{'-'.join(map(str, rows))}.parquet"
    path = folder / f"month={month}" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    pl.DataFrame({"row": rows}, schema={"row": pl.Int64}).write_parquet(path)
    return AddAction(
        path=f"month={month}/{name}", size=path.stat().st_size, partition_values={"month": month}, modification_time=0,
        data_change=True, stats=f'{{"numRecords": {pq.read_metadata(path).num_rows}}}',
    )  # fmt: skip


def replace(table: DeltaTable, action: AddAction, month: str) -> None:
    table.create_write_transaction(
        [action],
        mode="overwrite",
        schema=table.schema(),
        partition_by=["month"],
        partition_filters=[("month", "=", month)],
        commit_properties=CommitProperties(max_commit_retries=0),
    )


def rows_of(folder: Path) -> list[int]:
    return sorted(pl.scan_delta(DeltaTable(folder)).collect()["row"])


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """A table of January with rows 1 and 2, and February with row 3."""
    DeltaTable.create(tmp_path, SCHEMA, mode="ignore", partition_by=["month"])
    replace(DeltaTable(tmp_path), added(tmp_path, "2024-01-01", [1, 2]), "2024-01-01")
    replace(DeltaTable(tmp_path), added(tmp_path, "2024-02-01", [3]), "2024-02-01")
    return tmp_path


def test_a_transaction_with_partition_filters_replaces_only_what_they_select(table: Path) -> None:
    february = {uri for uri in DeltaTable(table).file_uris() if "month=2024-02-01" in uri}
    replace(DeltaTable(table), added(table, "2024-01-01", [7]), "2024-01-01")
    assert rows_of(table) == [3, 7]
    assert {uri for uri in DeltaTable(table).file_uris() if "month=2024-02-01" in uri} == february


def test_creating_a_table_that_exists_with_mode_ignore_leaves_it_alone(table: Path) -> None:
    before = DeltaTable(table).version()
    DeltaTable.create(table, SCHEMA, mode="ignore", partition_by=["month"])
    assert DeltaTable(table).version() == before
    assert rows_of(table) == [1, 2, 3]


def test_a_commit_on_an_outdated_snapshot_of_its_partition_is_refused_without_retries(table: Path) -> None:
    first, second = DeltaTable(table), DeltaTable(table)
    replace(first, added(table, "2024-01-01", [7]), "2024-01-01")
    with pytest.raises(CommitFailedError):
        replace(second, added(table, "2024-01-01", [8]), "2024-01-01")
    assert rows_of(table) == [3, 7]


def test_the_log_tells_each_partitions_rows(table: Path) -> None:
    actions = DeltaTable(table).get_add_actions(flatten=True)
    months = [str(month) for month in actions.column("partition.month").to_pylist()]
    assert dict(zip(months, actions.column("num_records").to_pylist(), strict=True)) == {
        "2024-01-01": 2,
        "2024-02-01": 1,
    }


def test_a_merge_updates_only_rows_whose_sequence_isnt_older(tmp_path: Path) -> None:
    pl.DataFrame({"key": [1, 2], "name": ["old", "new"], "seq": [1, 5]}).write_delta(tmp_path)
    source = pl.DataFrame({"key": [1, 2, 3], "name": ["x", "y", "z"], "seq": [3, 3, 3]})
    metrics = (
        DeltaTable(tmp_path)
        .merge(source=source, predicate="stored.key = new.key", source_alias="new", target_alias="stored")
        .when_matched_update_all(predicate="new.seq >= stored.seq")
        .when_not_matched_insert_all()
        .execute()
    )
    assert (metrics["num_target_rows_updated"], metrics["num_target_rows_inserted"]) == (1, 1)
    assert pl.read_delta(str(tmp_path)).sort("key").rows() == [(1, "x", 3), (2, "new", 5), (3, "z", 3)]
