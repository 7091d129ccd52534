"""Claims about every engine: what it stores, replaces, upserts and reads, and that all agree.

The tables are made up and stand in a folder of the test's own. What a test starts from is mostly written by Polars,
which takes no time: that each engine goes on with what the other has stored is then claimed along the way.
"""

# Times are wall clock, without a zone.
# ruff: noqa: DTZ001

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import date, datetime
from decimal import Decimal as Exact
from math import inf, nan
from pathlib import Path
from typing import Annotated, Any

import duckdb
import narwhals.stable.v1 as nw
import pyarrow as pa
import pytest
from deltalake import DeltaTable
from polars.testing import assert_frame_equal

from taxi_assets.contracts import Bool, Contract, Date, Decimal, Float64, Int32, LocalTime, String, Strings, column
from taxi_assets.engines import DeltaLocation, Engine, cause_of, engine_of
from taxi_assets.errors import ContractError, LakeError
from taxi_assets_tests.engines.made_up import (
    MONDAY,
    TUESDAY,
    WEDNESDAY,
    CityDays,
    Sales,
    Shops,
    city_day,
    files,
    read,
    sale,
    sales,
    shops,
    stats,
)
from taxi_assets_tests.scenario import POLARS, collected

# --- replacing a partition


def test_the_first_write_makes_the_table(engine: Engine, at: DeltaLocation) -> None:
    assert at.open() is None
    assert (at.version(), at.row_count(), at.stored_partitions()) == (None, None, [])

    written = engine.replace(Sales, at, sales(sale(1), sale(2), by=engine), {"day": MONDAY})

    assert (written.rows, written.version, at.version()) == (2, 1, 1)
    assert written.bytes == sum(file.stat().st_size for file in files(at))
    assert read(Sales, at, by=engine).rows(named=True) == [sale(1), sale(2)]
    assert at.stored_partitions() == [{"day": "2024-01-01"}]


def test_replacing_touches_no_other_partition(engine: Engine, at: DeltaLocation) -> None:
    POLARS.replace(Sales, at, sales(sale(1)), {"day": MONDAY})
    POLARS.replace(Sales, at, sales(sale(2, TUESDAY)), {"day": TUESDAY})

    written = engine.replace(Sales, at, sales(sale(3), sale(4), by=engine), {"day": MONDAY})

    assert (written.rows, written.version) == (2, 3)
    assert read(Sales, at, by=engine)["number"].to_list() == [2, 3, 4]
    assert (at.row_count({"day": MONDAY}), at.row_count({"day": TUESDAY}), at.row_count()) == (2, 1, 3)


def test_replacing_twice_leaves_the_table_equal(engine: Engine, at: DeltaLocation) -> None:
    rows = sales(sale(1), sale(2, price=None, note=None, tags=None), by=engine)
    engine.replace(Sales, at, rows, {"day": MONDAY})
    once = read(Sales, at, by=engine)

    engine.replace(Sales, at, rows, {"day": MONDAY})

    assert_frame_equal(read(Sales, at, by=engine), once)


def test_a_partition_without_rows_is_stored_and_counts_none(engine: Engine, at: DeltaLocation) -> None:
    POLARS.replace(Sales, at, sales(sale(1)), {"day": MONDAY})
    POLARS.replace(Sales, at, sales(sale(2, TUESDAY)), {"day": TUESDAY})

    of_rows, of_none = (engine.replace(Sales, at, sales(by=engine), {"day": day}) for day in (MONDAY, WEDNESDAY))

    assert (of_rows.rows, of_none.rows) == (0, 0)
    assert of_none.version == at.version()
    assert [at.row_count({"day": day}) for day in (MONDAY, TUESDAY, WEDNESDAY)] == [0, 1, 0]
    assert at.row_count({"day": date(2024, 1, 4)}) is None
    assert read(Sales, at, by=engine)["number"].to_list() == [2]


def test_a_partition_without_rows_can_be_replaced_by_rows(engine: Engine, at: DeltaLocation) -> None:
    POLARS.replace(Sales, at, sales(), {"day": MONDAY})

    engine.replace(Sales, at, sales(sale(1), by=engine), {"day": MONDAY})

    assert at.row_count({"day": MONDAY}) == 1
    assert read(Sales, at, by=engine)["number"].to_list() == [1]


def test_a_table_of_two_partition_columns_replaces_one_pair_of_values(engine: Engine, at: DeltaLocation) -> None:
    for city, day, count in (("Rome", MONDAY, 1), ("Rome", TUESDAY, 2), ("Oslo", MONDAY, 3)):
        POLARS.replace(CityDays, at, city_day(city, day, count), {"city": city, "day": day})

    engine.replace(CityDays, at, city_day("Rome", MONDAY, 4, engine), {"city": "Rome", "day": MONDAY})

    assert sorted(read(CityDays, at, by=engine).rows()) == [
        ("Oslo", 3, MONDAY),
        ("Rome", 2, TUESDAY),
        ("Rome", 4, MONDAY),
    ]
    assert at.row_count({"city": "Rome"}) == 2
    assert at.row_count({"city": "Rome", "day": MONDAY}) == 1


def test_any_text_can_be_a_partitions_value(engine: Engine, at: DeltaLocation) -> None:
    cities = ["São Paulo & N/A", "100% off, a=b", 'O\'Hare "Loop"', "back\\slash \\u0041\\'", "`a` -- b"]
    for city in cities:
        POLARS.replace(CityDays, at, city_day(city, MONDAY, 1), {"city": city, "day": MONDAY})

    for city in cities:
        engine.replace(CityDays, at, city_day(city, MONDAY, 2, engine), {"city": city, "day": MONDAY})

    some = [{"city": city, "day": MONDAY} for city in cities[::2]]
    assert read(CityDays, at, some, by=engine).rows() == [(city, 2, MONDAY) for city in sorted(cities[::2])]
    assert [at.row_count({"city": city, "day": MONDAY}) for city in cities] == [1] * len(cities)
    assert sorted(at.open().to_pyarrow_table()["city"].to_pylist()) == sorted(cities)  # type: ignore[union-attr]


@pytest.mark.parametrize("folder", ["my lake", "100% söe `it's`", "lake#1?"])
def test_a_lake_can_stand_in_a_folder_of_any_name(engine: Engine, tmp_path: Path, folder: str) -> None:
    sold, shop = (DeltaLocation(str(tmp_path / folder / table)) for table in ("sales", "shops"))

    written = engine.replace(Sales, sold, sales(sale(1), by=engine), {"day": MONDAY})
    engine.upsert(Shops, shop, shops((1, "Alpha", MONDAY), by=engine))

    assert (written.rows, written.bytes) == (1, sum(file.stat().st_size for file in files(sold)))
    assert read(Sales, sold, by=engine).rows(named=True) == [sale(1)]
    assert read(Shops, shop, by=engine).rows() == [(1, "Alpha", MONDAY)]
    assert {file.relative_to(tmp_path).parts[0] for file in tmp_path.rglob("*.parquet")} == {folder}


# --- what fails leaves the table as it was


@pytest.mark.parametrize(
    ("broken", "says"),
    [
        (nw.lit("not a number").alias("weight"), "not a number"),
        (nw.lit(1e12).alias("price"), r"(?i)decimal[(\[]10, ?2"),
    ],
    ids=["a value that is no number", "a value that does not fit"],
)
def test_a_frame_that_fails_leaves_the_table_as_it_was(
    engine: Engine, at: DeltaLocation, broken: nw.Expr, says: str
) -> None:
    POLARS.replace(Sales, at, sales(sale(1)), {"day": MONDAY})
    before = read(Sales, at)

    with pytest.raises(Exception, match=says) as error:
        engine.replace(Sales, at, sales(sale(1), by=engine).with_columns(broken), {"day": MONDAY})

    # Engines have errors of their own; each is one that a user is told in a line.
    assert isinstance(error.value, LakeError) or cause_of(error.value)
    assert at.version() == 1
    assert_frame_equal(read(Sales, at), before)


def test_a_frame_that_lacks_a_column_leaves_the_table_as_it_was(engine: Engine, at: DeltaLocation) -> None:
    POLARS.replace(Sales, at, sales(sale(1)), {"day": MONDAY})

    with pytest.raises(ContractError, match="lacks the columns note"):
        engine.replace(Sales, at, sales(sale(1), by=engine).drop("note"), {"day": MONDAY})

    assert at.version() == 1


def test_a_stored_table_with_other_columns_is_an_error_that_says_which(engine: Engine, at: DeltaLocation) -> None:
    class Changed(Contract, table="test_engine/changed", replaced_by=("day",)):
        """Sales of another time."""

        number: Int32 = column("Number.")
        price: Annotated[Decimal, 10, 2] = column("Price.")
        weight: Float64 = column("Weight.")
        at: LocalTime = column("When.")
        colour: String = column("Colour.", required=True)
        refunded: Bool = column("Refunded.")
        tags: Strings = column("Tags.")
        day: Date = column("Day.")

    POLARS.replace(Sales, at, sales(sale(1)), {"day": MONDAY})
    stored = files(at)

    with pytest.raises(
        ContractError, match=r"colour is new and required; note is gone; number was .*long.* and is .*integer"
    ) as error:
        engine.replace(Changed, at, sales(sale(1), by=engine), {"day": MONDAY})

    assert at.uri in str(error.value)
    assert "Changed" in str(error.value)
    assert (at.version(), files(at)) == (1, stored)


# --- a contract that has gained columns


class GrownSales(Sales, table="test_engine/grown_sales", replaced_by=("day",)):
    """One row per sale, of a time when colours and returns are written down, too."""

    colour: String = column("Colour.", after="number")
    returned_at: LocalTime = column("When it was brought back.")


class GrownShops(Shops, table="test_engine/grown_shops", keys=("shop",), sequence="seen"):
    """One row per shop, of a time when floors are counted."""

    floors: Int32 = column("Floors.", after="shop")


def grown_sales(*rows: dict[str, Any], by: Engine = POLARS) -> nw.LazyFrame[Any]:
    new = (nw.lit("red").alias("colour"), nw.lit(datetime(2024, 2, 1)).cast(nw.Datetime("us")).alias("returned_at"))
    return sales(*rows, by=by).with_columns(*new)


def test_a_stored_table_is_given_the_columns_that_its_contract_has_gained(engine: Engine, at: DeltaLocation) -> None:
    POLARS.replace(Sales, at, sales(sale(1)), {"day": MONDAY})

    written = engine.replace(GrownSales, at, grown_sales(sale(2, TUESDAY), by=engine), {"day": TUESDAY})

    assert (written.rows, written.version, at.version()) == (1, 3, 3)
    comments = {field.name: field.metadata["comment"] for field in DeltaTable(at.uri).schema().fields}
    assert comments == {column.name: column.description for column in GrownSales.columns()}
    old = {**sale(1), "colour": None, "returned_at": None}
    new = {**sale(2, TUESDAY), "colour": "red", "returned_at": datetime(2024, 2, 1)}
    for reader in (POLARS, engine):
        found = reader.read(GrownSales, at, None)
        assert found.collect_schema().names() == list(GrownSales.column_names())
        assert sorted(collected(found).rows(named=True), key=lambda row: int(row["number"])) == [old, new]
    sold = DeltaTable(at.uri).to_pyarrow_dataset()
    with duckdb.connect() as connection:
        connection.register("sold", sold)
        assert connection.sql("select number, colour from sold order by number").fetchall() == [(1, None), (2, "red")]


def test_an_old_partition_is_replaced_with_the_new_columns(engine: Engine, at: DeltaLocation) -> None:
    POLARS.replace(Sales, at, sales(sale(1)), {"day": MONDAY})

    engine.replace(GrownSales, at, grown_sales(sale(3), by=engine), {"day": MONDAY})

    assert read(GrownSales, at, by=engine)["colour"].to_list() == ["red"]


def test_columns_that_a_stored_table_has_not_been_given_yet_are_read_as_null(engine: Engine, at: DeltaLocation) -> None:
    POLARS.replace(Sales, at, sales(sale(1)), {"day": MONDAY})

    found = engine.read(GrownSales, at, [{"day": MONDAY}])

    assert list(found.collect_schema().items()) == [(one.name, one.dtype.narwhals) for one in GrownSales.columns()]
    assert collected(found).select("number", "colour", "returned_at").rows() == [(1, None, None)]
    assert at.version() == 1


def test_an_upserted_table_is_given_new_columns_and_keeps_the_rows_that_have_none(
    engine: Engine, at: DeltaLocation
) -> None:
    POLARS.upsert(Shops, at, shops((1, "Alpha", MONDAY), (2, "Beta", MONDAY)))

    with_floors = shops((2, "Beta", TUESDAY), (3, "Gamma", TUESDAY), by=engine).with_columns(nw.lit(4).alias("floors"))
    engine.upsert(GrownShops, at, with_floors)

    assert read(GrownShops, at, by=engine).select("shop", "floors").rows() == [(1, None), (2, 4), (3, 4)]


@pytest.mark.fast
def test_writers_at_the_same_time_give_a_table_its_new_columns_once_and_lose_nothing(at: DeltaLocation) -> None:
    POLARS.replace(Sales, at, sales(sale(0)), {"day": MONDAY})
    days = [date(2024, 1, number) for number in range(2, 8)]

    def replacing(number: int) -> Callable[[], Any]:
        rows = grown_sales(sale(number + 1, days[number]))
        return lambda: POLARS.replace(GrownSales, at, rows, {"day": days[number]})

    at_the_same_time(*map(replacing, range(6)))

    assert read(GrownSales, at).select("number", "colour").rows() == [(0, None), *((n, "red") for n in range(1, 7))]
    operations = [entry["operation"] for entry in DeltaTable(at.uri).history()]
    assert operations.count("ADD COLUMN") == 1


@pytest.mark.fast
def test_opening_a_table_to_write_at_the_same_time_gives_it_its_new_columns_once(at: DeltaLocation) -> None:
    POLARS.replace(Sales, at, sales(sale(0)), {"day": MONDAY})

    opened = at_the_same_time(*[lambda: at.create_if_missing(GrownSales)] * 6)

    assert {table.version() for table in opened} == {2}
    assert {field.name for field in opened[-1].schema().fields} == set(GrownSales.column_names())


# --- reading what isn't there


def test_reading_a_table_that_does_not_exist_is_an_error_that_names_it(engine: Engine, at: DeltaLocation) -> None:
    with pytest.raises(LakeError, match=r"There is no table test_engine/sales yet .*Materialize it first"):
        engine.read(Sales, at, None)


def test_reading_what_is_no_delta_log_is_an_error_that_names_the_place(engine: Engine, at: DeltaLocation) -> None:
    log = Path(at.uri) / "_delta_log"
    log.mkdir(parents=True)
    (log / "00000000000000000000.json").write_text("this is no log")

    with pytest.raises(LakeError, match="can't be read") as error:
        engine.read(Sales, at, None)
    assert at.uri in str(error.value)


def test_a_table_that_needs_what_its_reader_lacks_isnt_called_damaged(engine: Engine, at: DeltaLocation) -> None:
    at.create_if_missing(Sales)
    log = Path(at.uri) / "_delta_log" / "00000000000000000000.json"
    actions = [json.loads(line) for line in log.read_text().splitlines()]
    (protocol,) = (action["protocol"] for action in actions if "protocol" in action)
    for of in ("readerFeatures", "writerFeatures"):
        protocol[of].append("mindReading")
    log.write_text("\n".join(map(json.dumps, actions)))

    with pytest.raises(LakeError, match="Feature 'mindReading' is not supported") as error:
        engine.read(Sales, at, None)
    assert "damaged" not in str(error.value)


# --- reading


def test_some_partitions_can_be_read_and_none(engine: Engine, at: DeltaLocation) -> None:
    days = [MONDAY, TUESDAY, WEDNESDAY]
    for number, day in enumerate(days):
        POLARS.replace(Sales, at, sales(sale(number, day)), {"day": day})

    assert read(Sales, at, [{"day": days[0]}, {"day": days[2]}], by=engine)["number"].to_list() == [0, 2]
    assert read(Sales, at, [{"day": date(2025, 1, 1)}], by=engine).height == 0
    assert read(Sales, at, [], by=engine).height == 0


def test_columns_are_read_in_the_contracts_order_and_types(engine: Engine, at: DeltaLocation) -> None:
    POLARS.replace(Sales, at, sales(sale(1)), {"day": MONDAY})

    frame = engine.read(Sales, at, None)

    assert list(frame.collect_schema().items()) == [(column.name, column.dtype.narwhals) for column in Sales.columns()]
    assert_frame_equal(collected(frame), read(Sales, at))


def test_a_frame_that_was_read_stays_what_it_was_when_the_table_is_written(engine: Engine, at: DeltaLocation) -> None:
    POLARS.replace(Sales, at, sales(sale(1)), {"day": MONDAY})
    frame = engine.read(Sales, at, None)

    POLARS.replace(Sales, at, sales(sale(2), sale(3)), {"day": MONDAY})

    assert collected(frame)["number"].to_list() == [1]


def test_the_engine_of_a_frame_is_the_one_that_computes_it(engine: Engine, at: DeltaLocation) -> None:
    POLARS.replace(Sales, at, sales(sale(1)), {"day": MONDAY})

    for frame in (engine.read(Sales, at, None), sales(sale(1), by=engine)):
        assert type(engine_of(frame)) is type(engine)


def test_a_literal_holds_the_values_in_their_types(engine: Engine) -> None:
    values = {"id": [2, 1], "name": ["two", None], "at": [datetime(2024, 3, 10, 2, 30), None], "share": [0.5, -0.0]}

    found = engine.literal(values)

    assert type(engine_of(found)) is type(engine)
    assert collected(found).sort("id").rows() == list(
        zip(*(reversed(column) for column in values.values()), strict=True)
    )
    assert list(found.collect_schema().values()) == [nw.Int64(), nw.String(), nw.Datetime("us"), nw.Float64()]


# --- what others read


def test_a_double_that_is_no_number_is_stored_and_the_log_stays_readable(engine: Engine, at: DeltaLocation) -> None:
    weights = [0.5, inf, nan, -inf]
    for day in (MONDAY, TUESDAY):
        rows = [sale(number, day, weight=weight) for number, weight in enumerate(weights)]
        engine.replace(Sales, at, sales(*rows, by=engine), {"day": day})

    assert sum(file["numRecords"] for file in stats(at)) == at.row_count() == 8
    for reader in (POLARS, engine):
        mondays = read(Sales, at, [{"day": MONDAY}], by=reader)
        assert str(mondays["weight"].to_list()) == str(weights)
        finite = reader.read(Sales, at, None).filter(nw.col("weight") == 0.5)
        assert collected(finite)["number"].to_list() == [0, 0]
        infinite = reader.read(Sales, at, [{"day": MONDAY}]).filter(nw.col("weight") < -1.0)
        assert collected(infinite)["number"].to_list() == [3]
    dataset = DeltaTable(at.uri).to_pyarrow_dataset()
    assert str(dataset.to_table().sort_by("number")["weight"].to_pylist()[::2]) == str(weights)
    with duckdb.connect() as connection:
        connection.register("sold", dataset)
        stored = connection.sql("select weight from sold order by day, number").fetchall()
    assert str([weight for (weight,) in stored]) == str(weights * 2)


def test_any_reader_of_delta_gets_the_values_and_exact_types(engine: Engine, at: DeltaLocation) -> None:
    engine.replace(Sales, at, sales(sale(1), sale(2, price=None), by=engine), {"day": MONDAY})
    sold = DeltaTable(at.uri).to_pyarrow_dataset()

    with duckdb.connect() as connection:
        connection.register("sold", sold)
        typed = connection.sql(
            'select typeof(price), typeof("at"), typeof(day), typeof(tags) from sold limit 1'
        ).fetchall()
        rows = connection.sql('select number, price, "at", day, tags from sold order by number').fetchall()

    assert typed == [("DECIMAL(10,2)", "TIMESTAMP", "DATE", "VARCHAR[]")]
    first = (Exact("12.34"), datetime(2024, 1, 1, 9, 30, 0, 250_000), MONDAY, ["a", "b"])
    assert rows == [(1, *first), (2, None, *first[1:])]


def test_the_log_holds_the_contracts_descriptions(engine: Engine, at: DeltaLocation) -> None:
    engine.replace(Sales, at, sales(sale(1), by=engine), {"day": MONDAY})
    table = DeltaTable(at.uri)

    assert (table.metadata().name, table.metadata().description) == ("test_engine.sales", "One row per sale.")
    assert table.metadata().partition_columns == ["day"]
    comments = {field.name: field.metadata["comment"] for field in table.schema().fields}
    assert comments == {column.name: column.description for column in Sales.columns()}
    types = {field.name: getattr(field.type, "type", "") for field in table.schema().fields}
    assert types["at"] == "timestamp_ntz"
    assert types["price"] == "decimal(10,2)"


def test_no_row_is_skipped_for_a_time_finer_than_the_logs_statistics(engine: Engine, at: DeltaLocation) -> None:
    # Delta's own writers have milliseconds in the log, cut off.
    paid, before = datetime(2024, 1, 1, 9, 30, 0, 250_999), datetime(2024, 1, 1, 9, 30, 0, 250_500)
    engine.replace(Sales, at, sales(sale(1, at=paid), by=engine), {"day": MONDAY})

    for reader in (POLARS, engine):
        assert collected(reader.read(Sales, at, None).filter(nw.col("at") > before))["at"].to_list() == [paid]
    later = pa.compute.field("at") > pa.scalar(before)
    assert DeltaTable(at.uri).to_pyarrow_dataset().to_table(filter=later)["at"].to_pylist() == [paid]


# --- upserting by key


def test_new_keys_are_inserted(engine: Engine, at: DeltaLocation) -> None:
    engine.upsert(Shops, at, shops((1, "Alpha", MONDAY), by=engine))

    written = engine.upsert(Shops, at, shops((2, "Beta", MONDAY), by=engine))

    assert read(Shops, at, by=engine).rows() == [(1, "Alpha", MONDAY), (2, "Beta", MONDAY)]
    assert (written.rows, written.version) == (1, at.version())
    assert at.row_count() == 2


def test_of_two_rows_with_one_key_the_newest_stays(engine: Engine, at: DeltaLocation) -> None:
    POLARS.upsert(
        Shops, at, shops((1, "older", MONDAY), (2, "newer", TUESDAY), (3, "first", MONDAY), (4, "alone", MONDAY))
    )

    written = engine.upsert(
        Shops, at, shops((1, "newer", TUESDAY), (2, "older", MONDAY), (3, "equally new", MONDAY), by=engine)
    )

    assert read(Shops, at, by=engine).rows() == [
        (1, "newer", TUESDAY),
        (2, "newer", TUESDAY),
        (3, "equally new", MONDAY),
        (4, "alone", MONDAY),
    ]
    assert written.rows == 2


def test_the_order_of_upserts_makes_no_difference(engine: Engine, at: DeltaLocation, tmp_path: Path) -> None:
    other = DeltaLocation(str(tmp_path / "other"))
    earlier, later = [(1, "a", MONDAY), (2, "b", MONDAY)], [(2, "B", TUESDAY), (3, "C", TUESDAY)]
    POLARS.upsert(Shops, at, shops(*earlier))
    POLARS.upsert(Shops, other, shops(*later))

    engine.upsert(Shops, at, shops(*later, by=engine))
    engine.upsert(Shops, other, shops(*earlier, by=engine))

    assert read(Shops, at, by=engine).rows() == [(1, "a", MONDAY), (2, "B", TUESDAY), (3, "C", TUESDAY)]
    assert_frame_equal(read(Shops, other, by=engine), read(Shops, at, by=engine))


def test_rows_of_a_key_of_which_none_is_the_newest_are_an_error_and_nothing_is_written(
    engine: Engine, at: DeltaLocation
) -> None:
    POLARS.upsert(Shops, at, shops((1, "Alpha", MONDAY)))

    with pytest.raises(ContractError, match=r"1 keys of test_engine/shops \(shop\) stand in several rows"):
        engine.upsert(Shops, at, shops((2, "Beta", MONDAY), (2, "Beta again", MONDAY), by=engine))

    assert read(Shops, at).rows() == [(1, "Alpha", MONDAY)]


def test_an_upsert_of_nothing_changes_nothing(engine: Engine, at: DeltaLocation) -> None:
    POLARS.upsert(Shops, at, shops((1, "Alpha", MONDAY)))

    assert engine.upsert(Shops, at, shops(by=engine)).rows == 0
    assert read(Shops, at).rows() == [(1, "Alpha", MONDAY)]


# --- in turn and at the same time

# Values at the edges of their types, which two writers might store in two ways.
ODD: dict[int, dict[str, Any]] = {
    0: {"price": Exact("-99999999.99"), "weight": -0.0, "at": datetime(1900, 1, 1), "note": "", "tags": []},
    1: {"price": None, "weight": None, "at": None, "note": None, "refunded": None, "tags": None},
    2: {"price": Exact("0.01"), "weight": 5e-324, "at": datetime(2098, 12, 31, 23, 59, 59, 999_999), "tags": [None]},
    3: {"number": 2**63 - 1, "weight": inf, "at": datetime(1, 1, 1), "note": "Ω 🚕 \x00\n'\"\\", "tags": ["", "ü"]},
    4: {"number": -(2**63), "weight": nan, "at": datetime(2024, 3, 10, 2, 30), "note": "n" * 5_000, "refunded": True},
}


def odd_sales(day: date, by: Engine) -> nw.LazyFrame[Any]:
    return sales(*(sale(**{"number": number, "day": day, **odd}) for number, odd in ODD.items()), by=by)


@pytest.mark.full
@pytest.mark.parametrize("first", ["polars", "spark"])
def test_polars_and_spark_replace_and_read_each_others_partitions_in_turn(
    spark: Engine, at: DeltaLocation, tmp_path: Path, first: str
) -> None:
    in_turn = [POLARS, spark] if first == "polars" else [spark, POLARS]
    days = [MONDAY, TUESDAY]
    alone = DeltaLocation(str(tmp_path / "alone"))
    for day, writer, replacer in zip(days, in_turn, reversed(in_turn), strict=True):
        writer.replace(Sales, at, sales(sale(7, day), sale(8, day), by=writer), {"day": day})
        assert replacer.replace(Sales, at, odd_sales(day, replacer), {"day": day}).rows == len(ODD)
        POLARS.replace(Sales, alone, odd_sales(day, POLARS), {"day": day})

    assert at.version() == 4
    assert [at.row_count({"day": day}) for day in days] == [len(ODD)] * 2
    for reader in in_turn:
        found = read(Sales, at, by=reader).sort("number", "day")
        assert_frame_equal(found, read(Sales, alone).sort("number", "day"), check_exact=True)
        # Frames are equal though one's zero is negative.
        assert [str(weight) for weight in found.filter(number=0)["weight"]] == ["-0.0", "-0.0"]


@pytest.mark.full
@pytest.mark.parametrize("first", ["polars", "spark"])
def test_polars_and_spark_upsert_each_others_rows_in_turn(spark: Engine, at: DeltaLocation, first: str) -> None:
    one, other = (POLARS, spark) if first == "polars" else (spark, POLARS)

    one.upsert(Shops, at, shops((1, "a", MONDAY), (2, "b", MONDAY), by=one))
    other.upsert(Shops, at, shops((2, "B", TUESDAY), (3, "C", TUESDAY), by=other))
    last = one.upsert(Shops, at, shops((2, "older", MONDAY), (3, "newest", WEDNESDAY), (4, "d", MONDAY), by=one))

    assert (last.rows, last.version) == (2, at.version())
    for reader in (one, other):
        assert read(Shops, at, by=reader).rows() == [
            (1, "a", MONDAY),
            (2, "B", TUESDAY),
            (3, "newest", WEDNESDAY),
            (4, "d", MONDAY),
        ]


def at_the_same_time(*writers: Callable[[], Any]) -> list[Any]:
    """Call several writers in threads that begin together, and return what each returned."""
    together = threading.Barrier(len(writers))

    def write(writer: Callable[[], Any]) -> Any:
        together.wait(30)
        return writer()

    with ThreadPoolExecutor(len(writers)) as pool:
        return list(pool.map(write, writers))


@pytest.mark.full
def test_writes_of_different_partitions_by_polars_and_spark_at_once_lose_nothing_of_a_new_table(
    spark: Engine, at: DeltaLocation
) -> None:
    days = [date(2024, 1, number) for number in range(1, 7)]
    writers = [spark, POLARS, spark, POLARS, spark, spark]

    def replacing(number: int) -> Callable[[], Any]:
        writer, day = writers[number], days[number]
        rows = sales(*(sale(10 * number + more, day) for more in range(number + 1)), by=writer)
        return lambda: writer.replace(Sales, at, rows, {"day": day})

    written = at_the_same_time(*map(replacing, range(6)))

    assert [done.rows for done in written] == [1, 2, 3, 4, 5, 6]
    assert all(1 <= done.version <= (at.version() or 0) for done in written)
    expected = [10 * number + more for number in range(6) for more in range(number + 1)]
    assert read(Sales, at)["number"].to_list() == read(Sales, at, by=spark)["number"].to_list() == expected


@pytest.mark.full
def test_upserts_of_different_keys_by_polars_and_spark_at_once_lose_nothing_of_a_new_table(
    spark: Engine, at: DeltaLocation
) -> None:
    writers = [spark, POLARS, spark, POLARS]

    def upserting(number: int) -> Callable[[], Any]:
        writer = writers[number]
        rows = shops(*((10 * number + more, f"by {number}", MONDAY) for more in range(number + 1)), by=writer)
        return lambda: writer.upsert(Shops, at, rows)

    written = at_the_same_time(*map(upserting, range(4)))

    assert [done.rows for done in written] == [1, 2, 3, 4]
    expected = [(10 * number + more, f"by {number}", MONDAY) for number in range(4) for more in range(number + 1)]
    assert read(Shops, at).rows() == read(Shops, at, by=spark).rows() == expected


@pytest.mark.full
def test_a_write_of_spark_that_another_writer_came_in_between_is_done_again(
    spark: Engine, at: DeltaLocation, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from pyspark.sql import functions

    # Spark's workers are otherwise whichever python3 is found first.
    monkeypatch.setattr(spark.session().sparkContext, "pythonExec", sys.executable)  # type: ignore[attr-defined]
    uri, came = at.uri, tmp_path / "came"
    POLARS.replace(Sales, at, sales(sale(1)), {"day": MONDAY})

    def come_in_between(number: int) -> int:
        # In Spark's own worker, while the rows are computed that Spark is about to commit.
        if not came.exists():
            came.touch()
            DeltaTable(uri).delete("day = '2024-01-01'")
        return number

    native = nw.to_native(sales(sale(2), by=spark))
    while_computed = functions.udf(come_in_between, "long", useArrow=False)
    rows = nw.from_native(native.withColumn("number", while_computed("number")))

    written = spark.replace(Sales, at, rows, {"day": MONDAY})

    assert [entry["operation"] for entry in DeltaTable(uri).history()] == ["WRITE", "DELETE", "WRITE", "CREATE TABLE"]
    assert (written.rows, written.version) == (1, 3)
    assert read(Sales, at)["number"].to_list() == [2]
