"""The IO manager in Dagster's hands: what an input gets for which partitions, and what an output leaves in the table.

Writing itself, and many writers at once, are engines/ tests'.
"""

from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import Any

import dagster as dg
import narwhals.stable.v1 as nw
import polars as pl
import pytest

from taxi_assets.contracts import Contract, Date, Int64, String, column
from taxi_assets.engines import PolarsEngine
from taxi_assets.lake.assets import IO_MANAGER
from taxi_assets.lake.io_manager import DeltaLakeIOManager
from taxi_assets.lake.lake import Lake
from taxi_assets.lake.metadata import asset_key
from taxi_assets.lake.passed_by import PassedBy

pytestmark = pytest.mark.full

MONTHS = dg.MonthlyPartitionsDefinition(start_date="2023-11", fmt="%Y-%m", end_date="2024-05")
DAYS_OF_CITIES = dg.MultiPartitionsDefinition({
    "day": dg.DailyPartitionsDefinition(start_date="2024-01-01", end_date="2024-02-01"),
    "city": dg.StaticPartitionsDefinition(["nyc", "chicago"]),
})  # fmt: skip


class Things(Contract, table="io_test/things", replaced_by=("source_month",)):
    """Things by month."""

    thing: Int64 = column("A thing.")
    source_month: Date = column("Month.")


class Visits(Contract, table="io_test/visits", replaced_by=("day", "city")):
    """Visits by day and city."""

    visits: Int64 = column("How many.")
    day: Date = column("Day.")
    city: String = column("City.")


class Names(Contract, table="io_test/names", keys=("thing",), sequence="source_month"):
    """Names by thing; the newest month wins."""

    thing: Int64 = column("A thing.")
    name: String = column("Its name.")
    source_month: Date = column("Newest month.")


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return Lake(str(tmp_path), {}, PolarsEngine())


@pytest.fixture(scope="module")
def instance() -> Iterator[dg.DagsterInstance]:
    """One for all runs here, as making one takes longer than such a run."""
    with dg.DagsterInstance.ephemeral() as ephemeral:
        yield ephemeral


def months_of(*numbers: int) -> nw.LazyFrame:
    days = [date(2024, number, 1) for number in numbers]
    return nw.from_native(
        pl.LazyFrame(
            {"thing": list(numbers), "source_month": days}, schema={"thing": pl.Int64, "source_month": pl.Date}
        )
    )


def store(lake: Lake, *numbers: int) -> None:
    for number in numbers:
        lake.engine.replace(Things, lake.location(Things), months_of(number), {"source_month": date(2024, number, 1)})


@dg.asset(
    key=asset_key(Things),
    partitions_def=MONTHS,
    io_manager_key=IO_MANAGER,
    dagster_type=Any,
    backfill_policy=dg.BackfillPolicy.single_run(),
)
def things() -> nw.LazyFrame:
    return months_of(1, 2, 3)


def loaded(lake: Lake, instance: dg.DagsterInstance, *, month: str | None, **asset_in: Any) -> list[int] | str | None:
    """Run an asset that takes things as its input: what it got, None, or the failure's message."""
    got: list[Any] = []

    @dg.asset(ins={"rows": dg.AssetIn(asset_key(Things), **asset_in)}, partitions_def=MONTHS if month else None)
    def probe(rows: Any) -> None:
        got.append(None if rows is None else sorted(rows.to_native().collect()["thing"]))

    result = dg.materialize(
        [things, probe],
        selection=[probe],
        instance=instance,
        partition_key=month,
        resources={IO_MANAGER: DeltaLakeIOManager(lake, PassedBy()), "io_manager": dg.mem_io_manager},
        raise_on_error=False,
    )
    if result.success:
        (rows,) = got
        return rows  # type: ignore[no-any-return]
    (failure,) = (event for event in result.all_events if event.is_step_failure)
    data = failure.step_failure_data.user_failure_data
    assert data is not None, failure.step_failure_data.error
    return str(data.description)


OPTIONAL = {"metadata": {"optional": True}}
TWO_MONTHS = {"partition_mapping": dg.TimeWindowPartitionMapping(start_offset=-1)}


def test_an_input_holds_its_runs_month_alone(lake: Lake, instance: dg.DagsterInstance) -> None:
    store(lake, 1, 2, 3)
    assert loaded(lake, instance, month="2024-02") == [2]


def test_an_input_may_be_a_range_of_months(lake: Lake, instance: dg.DagsterInstance) -> None:
    store(lake, 1, 2, 3)
    assert loaded(lake, instance, month="2024-03", **TWO_MONTHS) == [2, 3]


def test_an_asset_without_partitions_gets_all_months_that_are_stored(lake: Lake, instance: dg.DagsterInstance) -> None:
    store(lake, 1, 3)
    assert loaded(lake, instance, month=None, **OPTIONAL) == [1, 3]


def test_a_month_that_was_never_stored_is_one_message_that_names_table_and_month(
    lake: Lake, instance: dg.DagsterInstance
) -> None:
    store(lake, 1)
    message = loaded(lake, instance, month="2024-02")
    assert isinstance(message, str)
    assert "io_test/things doesn't hold" in message
    assert "2024-02" in message or "2024, 2" in message
    assert message.endswith("Materialize that partition first.")


def test_a_range_of_which_a_month_is_missing_names_just_that_one(lake: Lake, instance: dg.DagsterInstance) -> None:
    store(lake, 3)
    message = loaded(lake, instance, month="2024-03", **TWO_MONTHS)
    assert isinstance(message, str)
    assert "2024-02" in message or "2024, 2" in message
    assert "2024-03" not in message


def test_a_table_that_doesnt_exist_is_a_missing_month_too(lake: Lake, instance: dg.DagsterInstance) -> None:
    assert "Materialize that partition first" in str(loaded(lake, instance, month="2024-02"))
    assert loaded(lake, instance, month="2024-02", **OPTIONAL) is None


def test_an_optional_input_is_none_where_its_month_was_never_stored(lake: Lake, instance: dg.DagsterInstance) -> None:
    store(lake, 1)
    assert loaded(lake, instance, month="2024-02", **OPTIONAL) is None
    assert loaded(lake, instance, month="2024-01", **OPTIONAL) == [1]


def test_a_month_that_was_stored_without_rows_is_stored(lake: Lake, instance: dg.DagsterInstance) -> None:
    lake.engine.replace(Things, lake.location(Things), months_of(), {"source_month": date(2024, 2, 1)})
    assert loaded(lake, instance, month="2024-02") == []
    assert loaded(lake, instance, month="2024-02", **OPTIONAL) == []


def written(
    lake: Lake, instance: dg.DagsterInstance, assets: list[dg.AssetsDefinition], **run: Any
) -> dg.ExecuteInProcessResult:
    return dg.materialize(
        assets, instance=instance, resources={IO_MANAGER: DeltaLakeIOManager(lake, PassedBy())}, **run
    )


def test_a_run_of_one_month_stores_that_months_rows_of_what_it_is_given(
    lake: Lake, instance: dg.DagsterInstance
) -> None:
    written(lake, instance, [things], partition_key="2024-02")
    assert lake.read(Things).to_native().collect().rows() == [(2, date(2024, 2, 1))]


def test_a_run_of_a_range_stores_every_month_of_it_and_leaves_others_alone(
    lake: Lake, instance: dg.DagsterInstance
) -> None:
    store(lake, 4)
    tags = {"dagster/asset_partition_range_start": "2024-01", "dagster/asset_partition_range_end": "2024-03"}
    result = written(lake, instance, [things], tags=tags)
    assert sorted(lake.read(Things).to_native().collect()["thing"]) == [1, 2, 3, 4]
    events = result.asset_materializations_for_node("io_test__things")
    assert sorted(str(event.partition) for event in events) == ["2024-01", "2024-02", "2024-03"]


def test_a_table_of_days_and_cities_is_replaced_one_city_and_day_at_a_time(
    lake: Lake, instance: dg.DagsterInstance
) -> None:
    visits: dict[str, int] = {}

    @dg.asset(key=asset_key(Visits), partitions_def=DAYS_OF_CITIES, io_manager_key=IO_MANAGER, dagster_type=Any)
    def counted(context: dg.AssetExecutionContext) -> nw.LazyFrame:
        keys = context.partition_key.keys_by_dimension  # type: ignore[attr-defined]
        row = {
            "visits": [visits[context.partition_key]],
            "day": [date.fromisoformat(keys["day"])],
            "city": [keys["city"]],
        }
        return nw.from_native(pl.LazyFrame(row))

    def run(day: str, city: str, count: int) -> None:
        key = dg.MultiPartitionKey({"day": day, "city": city})
        visits[str(key)] = count
        written(lake, instance, [counted], partition_key=key)

    run("2024-01-30", "nyc", 1)
    run("2024-01-30", "chicago", 2)
    run("2024-01-31", "nyc", 3)
    run("2024-01-30", "nyc", 4)
    assert sorted(lake.read(Visits).to_native().collect().rows()) == [
        (2, date(2024, 1, 30), "chicago"),
        (3, date(2024, 1, 31), "nyc"),
        (4, date(2024, 1, 30), "nyc"),
    ]


@pytest.mark.parametrize("order", [("2024-01", "2024-02"), ("2024-02", "2024-01")])
def test_a_table_with_keys_holds_the_newest_months_row_in_whatever_order_months_run(
    lake: Lake, instance: dg.DagsterInstance, order: tuple[str, str]
) -> None:
    @dg.asset(key=asset_key(Names), partitions_def=MONTHS, io_manager_key=IO_MANAGER, dagster_type=Any)
    def named(context: dg.AssetExecutionContext) -> nw.LazyFrame:
        month = date.fromisoformat(f"{context.partition_key}-01")
        rows = {"thing": [0, month.month], "name": [f"of {context.partition_key}"] * 2, "source_month": [month] * 2}
        return nw.from_native(pl.LazyFrame(rows))

    for month in order:
        written(lake, instance, [named], partition_key=month)
    assert lake.read(Names).to_native().collect().sort("thing").select("thing", "name").rows() == [
        (0, "of 2024-02"),
        (1, "of 2024-01"),
        (2, "of 2024-02"),
    ]


def test_a_frame_that_lacks_a_column_fails_in_the_contracts_words_and_nothing_is_stored(
    lake: Lake, instance: dg.DagsterInstance
) -> None:
    @dg.asset(key=asset_key(Things), partitions_def=MONTHS, io_manager_key=IO_MANAGER, dagster_type=Any)
    def incomplete() -> nw.LazyFrame:
        return months_of(1).select("source_month")

    result = written(lake, instance, [incomplete], partition_key="2024-01", raise_on_error=False)
    (failure,) = (event for event in result.all_events if event.is_step_failure)
    assert "lacks the columns thing" in str(failure.step_failure_data.user_failure_data.description)  # type: ignore[union-attr]
    assert lake.row_count(Things, {"source_month": date(2024, 1, 1)}) is None
