"""Claims about the Polars engine: what replacing, upserting and reading do to a Delta table, and who else can read it.

The tables are made up and stand in a folder of the test's own. Writers at the same time are claimed about in lake/.
"""

# Times are wall clock, without a zone.
# ruff: noqa: DTZ001

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import date, datetime
from decimal import Decimal as Exact
from math import inf, nan
from pathlib import Path
from typing import Annotated, Any

import duckdb
import narwhals.stable.v1 as nw
import polars as pl
import pyarrow.compute as pc  # type: ignore[import-untyped]
import pytest
from deltalake import DeltaTable

from taxi_assets.contracts import (
    Bool,
    Contract,
    Date,
    Decimal,
    Float64,
    Int32,
    Int64,
    LocalTime,
    String,
    Strings,
    column,
)
from taxi_assets.engines import DeltaLocation, PolarsEngine, engine_of, polars_engine
from taxi_assets.engines.delta_log import statistics_json
from taxi_assets.errors import ContractError, LakeError, UnreadableRowsError

pytestmark = pytest.mark.fast

ENGINE = PolarsEngine()
MONDAY, TUESDAY = date(2024, 1, 1), date(2024, 1, 2)


class Sales(Contract, table="test_engine/sales", partition=("day",)):
    """One row per sale."""

    number: Int64 = column("Number of the sale.", required=True)
    price: Annotated[Decimal, 10, 2] = column("What was paid.", unit="USD")
    weight: Float64 = column("Weight by the scale.", unit="kg")
    at: LocalTime = column("When it was paid.")
    note: String = column("What the clerk wrote.")
    refunded: Bool = column("Whether it was paid back.")
    tags: Strings = column("Tags.")
    day: Date = column("Day of the sale.", required=True)


class Shops(Contract, table="test_engine/shops", keys=("shop",), sequence="seen"):
    """One row per shop."""

    shop: Int32 = column("Number of the shop.", required=True)
    name: String = column("Name.", required=True)
    seen: Date = column("When it was last seen.", required=True)


class CityDays(Contract, table="test_engine/city_days", partition=("city", "day")):
    """One row per city and day."""

    city: String = column("City.", required=True)
    count: Int64 = column("How many.", required=True)
    day: Date = column("Day.", required=True)


def sale(number: int, day: date = MONDAY, **changes: Any) -> dict[str, Any]:
    """Return a sale, some columns changed."""
    usual = {
        "number": number,
        "price": Exact("12.34"),
        "weight": 0.5,
        "at": datetime(day.year, day.month, day.day, 9, 30, 0, 250_000),
        "note": "cash",
        "refunded": False,
        "tags": ["a", "b"],
        "day": day,
    }
    return usual | changes


SALE_TYPES = {
    "number": pl.Int64,
    "price": pl.Decimal(10, 2),
    "weight": pl.Float64,
    "at": pl.Datetime("us"),
    "note": pl.String,
    "refunded": pl.Boolean,
    "tags": pl.List(pl.String),
    "day": pl.Date,
}


def sales(*rows: dict[str, Any]) -> nw.LazyFrame:
    return nw.from_native(pl.LazyFrame(list(rows), schema=SALE_TYPES))


def shops(*rows: tuple[int, str, date]) -> nw.LazyFrame:
    return nw.from_native(
        pl.LazyFrame(list(rows), schema={"shop": pl.Int32, "name": pl.String, "seen": pl.Date}, orient="row")
    )


def read(
    contract: type[Contract], at: DeltaLocation, partitions: Sequence[dict[str, Any]] | None = None
) -> pl.DataFrame:
    """Return what a table holds, sorted by its first column."""
    rows: pl.DataFrame = ENGINE.read(contract, at, partitions).to_native().collect()
    return rows.sort(rows.columns[0])


def files(at: DeltaLocation) -> set[Path]:
    """Return all data files below a table's folder, those that no commit names included."""
    return set(Path(at.uri).rglob("*.parquet"))


def stats(at: DeltaLocation) -> list[dict[str, Any]]:
    """Return the statistics of each file that was ever added, as the log has them."""
    log = [json.loads(line) for entry in sorted(Path(at.uri).glob("_delta_log/*.json")) for line in entry.open()]
    return [json.loads(action["add"]["stats"], parse_constant=_no_json) for action in log if "add" in action]


def _no_json(constant: str) -> None:
    raise AssertionError(f"{constant} is no JSON; other readers of the log fail on it")


@pytest.fixture
def at(tmp_path: Path) -> DeltaLocation:
    return DeltaLocation(str(tmp_path / "test_engine" / "table"))


# --- replacing a partition


def test_the_first_write_makes_the_table(at: DeltaLocation) -> None:
    assert at.open() is None
    assert (at.version(), at.row_count(), at.stored_partitions()) == (None, None, [])

    written = ENGINE.replace(Sales, at, sales(sale(1), sale(2)), {"day": MONDAY})

    assert (written.rows, written.version, at.version()) == (2, 1, 1)
    assert read(Sales, at).rows(named=True) == [sale(1), sale(2)]
    assert at.stored_partitions() == [{"day": "2024-01-01"}]


def test_the_bytes_that_are_reported_are_the_files(at: DeltaLocation) -> None:
    written = ENGINE.replace(Sales, at, sales(sale(1)), {"day": MONDAY})

    assert [file.stat().st_size for file in files(at)] == [written.bytes]


def test_replacing_touches_no_other_partition(at: DeltaLocation) -> None:
    ENGINE.replace(Sales, at, sales(sale(1)), {"day": MONDAY})
    ENGINE.replace(Sales, at, sales(sale(2, TUESDAY)), {"day": TUESDAY})

    ENGINE.replace(Sales, at, sales(sale(3), sale(4)), {"day": MONDAY})

    assert read(Sales, at)["number"].to_list() == [2, 3, 4]
    assert (at.row_count({"day": MONDAY}), at.row_count({"day": TUESDAY}), at.row_count()) == (2, 1, 3)


def test_replacing_twice_leaves_the_table_equal(at: DeltaLocation) -> None:
    rows = sales(sale(1), sale(2, price=None, note=None, tags=None))
    ENGINE.replace(Sales, at, rows, {"day": MONDAY})
    once = read(Sales, at)

    ENGINE.replace(Sales, at, rows, {"day": MONDAY})

    assert read(Sales, at).equals(once)


def test_a_partition_without_rows_is_stored_and_counts_none(at: DeltaLocation) -> None:
    ENGINE.replace(Sales, at, sales(sale(1)), {"day": MONDAY})

    written = ENGINE.replace(Sales, at, sales(), {"day": MONDAY})

    assert written.rows == 0
    assert at.row_count({"day": MONDAY}) == 0
    assert at.row_count({"day": TUESDAY}) is None
    assert read(Sales, at).height == 0


def test_a_table_of_two_partition_columns_replaces_one_pair_of_values(at: DeltaLocation) -> None:
    for city, day, count in (("Rome", MONDAY, 1), ("Rome", TUESDAY, 2), ("Oslo", MONDAY, 3), ("Rome", MONDAY, 4)):
        frame = pl.LazyFrame({"city": [city], "count": [count], "day": [day]})
        ENGINE.replace(CityDays, at, nw.from_native(frame), {"city": city, "day": day})

    assert read(CityDays, at)["count"].sort().to_list() == [2, 3, 4]
    assert at.row_count({"city": "Rome"}) == 2
    assert at.row_count({"city": "Rome", "day": MONDAY}) == 1


@pytest.mark.parametrize("city", ["New York", "São Paulo", "N/A", "100%", "a=b", "50% off/2"])
def test_any_text_can_be_a_partitions_value(at: DeltaLocation, city: str) -> None:
    frame = nw.from_native(pl.LazyFrame({"city": [city], "count": [1], "day": [MONDAY]}))

    ENGINE.replace(CityDays, at, frame, {"city": city, "day": MONDAY})
    ENGINE.replace(CityDays, at, frame, {"city": city, "day": MONDAY})

    assert read(CityDays, at, [{"city": city, "day": MONDAY}]).rows() == [(city, 1, MONDAY)]
    assert at.row_count({"city": city, "day": MONDAY}) == 1
    assert at.open().to_pyarrow_table()["city"].to_pylist() == [city]


@pytest.mark.parametrize("folder", ["my lake", "lake#1", "söe"])
def test_a_lake_can_stand_in_a_folder_of_any_name(tmp_path: Path, folder: str) -> None:
    at = DeltaLocation(str(tmp_path / folder / "sales"))

    ENGINE.replace(Sales, at, sales(sale(1)), {"day": MONDAY})

    assert read(Sales, at)["number"].to_list() == [1]
    assert {file.relative_to(tmp_path).parts[0] for file in tmp_path.rglob("*.parquet")} == {folder}


# --- what fails leaves nothing behind


@pytest.mark.parametrize(
    ("broken", "error"),
    [
        (sales(sale(1)).with_columns(nw.lit("not a number").alias("weight")), UnreadableRowsError),
        (sales(sale(1)).with_columns(nw.lit(1e12).alias("price")), UnreadableRowsError),
        (sales(sale(1)).drop("note"), ContractError),
    ],
    ids=["a value that is no number", "a value that does not fit", "a missing column"],
)
def test_a_frame_that_fails_leaves_the_table_as_it_was_and_no_file_behind(
    at: DeltaLocation, broken: nw.LazyFrame, error: type[Exception]
) -> None:
    ENGINE.replace(Sales, at, sales(sale(1)), {"day": MONDAY})
    before, stored = read(Sales, at), files(at)

    with pytest.raises(error):
        ENGINE.replace(Sales, at, broken, {"day": MONDAY})

    assert at.version() == 1
    assert read(Sales, at).equals(before)
    assert files(at) == stored


def test_a_stored_table_with_other_columns_is_an_error_that_says_which(at: DeltaLocation) -> None:
    class Changed(Contract, table="test_engine/changed", partition=("day",)):
        """Sales of another time."""

        number: Int32 = column("Number.")
        price: Annotated[Decimal, 10, 2] = column("Price.")
        weight: Float64 = column("Weight.")
        at: LocalTime = column("When.")
        colour: String = column("Colour.")
        refunded: Bool = column("Refunded.")
        tags: Strings = column("Tags.")
        day: Date = column("Day.")

    ENGINE.replace(Sales, at, sales(sale(1)), {"day": MONDAY})
    stored = files(at)

    with pytest.raises(
        ContractError, match=r"colour is new; note is gone; number was .*long.* and is .*integer"
    ) as error:
        ENGINE.replace(Changed, at, sales(sale(1)), {"day": MONDAY})

    assert at.uri in str(error.value)
    assert "Changed" in str(error.value)
    assert (at.version(), files(at)) == (1, stored)


def test_reading_a_table_that_does_not_exist_is_an_error_that_names_it(at: DeltaLocation) -> None:
    with pytest.raises(LakeError, match=r"There is no table test_engine/sales yet .*Materialize it first"):
        ENGINE.read(Sales, at, None)


def test_reading_what_is_no_delta_log_is_an_error_that_names_the_place(at: DeltaLocation) -> None:
    log = Path(at.uri) / "_delta_log"
    log.mkdir(parents=True)
    (log / "00000000000000000000.json").write_text("this is no log")

    with pytest.raises(LakeError, match="can't be read") as error:
        ENGINE.read(Sales, at, None)
    assert at.uri in str(error.value)


# --- reading


def test_some_partitions_can_be_read_and_none(at: DeltaLocation) -> None:
    days = [date(2024, 1, number) for number in (1, 2, 3)]
    for number, day in enumerate(days):
        ENGINE.replace(Sales, at, sales(sale(number, day)), {"day": day})

    assert read(Sales, at, [{"day": days[0]}, {"day": days[2]}])["number"].to_list() == [0, 2]
    assert read(Sales, at, [{"day": date(2025, 1, 1)}]).height == 0
    assert read(Sales, at, []).height == 0


def test_columns_are_read_in_the_contracts_order_and_types(at: DeltaLocation) -> None:
    ENGINE.replace(Sales, at, sales(sale(1)), {"day": MONDAY})

    schema = ENGINE.read(Sales, at, None).collect_schema()

    assert list(schema.items()) == [(column.name, column.dtype.narwhals) for column in Sales.columns()]


def test_the_engine_of_a_frame_that_was_read_is_the_one_that_read_it(at: DeltaLocation) -> None:
    ENGINE.replace(Sales, at, sales(sale(1)), {"day": MONDAY})

    assert engine_of(ENGINE.read(Sales, at, None)) == ENGINE


# --- what stands in the Delta log, and what others read


def test_the_log_holds_statistics_of_every_column_that_has_some(at: DeltaLocation) -> None:
    ENGINE.replace(
        Sales,
        at,
        sales(sale(1, weight=0.25), sale(2, price=Exact("-0.01"), note=None), sale(3, note="card")),
        {"day": MONDAY},
    )

    (found,) = stats(at)

    assert found["numRecords"] == 3
    noon = "2024-01-01T09:30:00.250000"
    least = {"number": 1, "price": -0.01, "weight": 0.25, "at": noon, "note": "card", "refunded": False}
    greatest = {"number": 3, "price": 12.34, "weight": 0.5, "at": noon, "note": "cash", "refunded": False}
    assert found["minValues"] == least
    assert found["maxValues"] == greatest
    assert found["nullCount"] == {"number": 0, "price": 0, "weight": 0, "at": 0, "note": 1, "refunded": 0}


def test_readers_skip_files_by_these_statistics(at: DeltaLocation) -> None:
    for day, first in ((MONDAY, 1), (TUESDAY, 100)):
        ENGINE.replace(Sales, at, sales(sale(first, day), sale(first + 9, day)), {"day": day})
    tuesdays = next(file for file in files(at) if TUESDAY.isoformat() in str(file))

    dataset = DeltaTable(at.uri).to_pyarrow_dataset()
    hit = [Path(fragment.path).name for fragment in dataset.get_fragments(filter=pc.field("number") > 50)]
    assert hit == [tuesdays.name]


def test_a_long_text_has_no_statistic_rather_than_a_shortened_one(at: DeltaLocation) -> None:
    ENGINE.replace(Sales, at, sales(sale(1, note="z" * 33), sale(2, note="a")), {"day": MONDAY})

    (found,) = stats(at)

    assert "note" not in found["minValues"] | found["maxValues"]
    assert (found["numRecords"], found["nullCount"]["note"]) == (2, 0)


@pytest.mark.parametrize("weight", [inf, -inf, nan], ids=str)
def test_a_double_that_is_no_number_is_stored_and_the_log_stays_readable(at: DeltaLocation, weight: float) -> None:
    ENGINE.replace(Sales, at, sales(sale(1, weight=weight), sale(2)), {"day": MONDAY})

    assert at.row_count({"day": MONDAY}) == 2
    assert stats(at)[0]["numRecords"] == 2
    assert str(read(Sales, at)["weight"].to_list()) == str([weight, 0.5])
    at_least_it = nw.to_native(ENGINE.read(Sales, at, None)).filter(
        pl.col("weight").cast(pl.String) == pl.lit(weight).cast(pl.String)
    )
    assert at_least_it.collect()["number"].to_list() == [1]


def test_the_log_holds_the_contracts_descriptions(at: DeltaLocation) -> None:
    ENGINE.replace(Sales, at, sales(sale(1)), {"day": MONDAY})
    table = DeltaTable(at.uri)

    assert (table.metadata().name, table.metadata().description) == ("test_engine.sales", "One row per sale.")
    assert table.metadata().partition_columns == ["day"]
    comments = {field.name: field.metadata["comment"] for field in table.schema().fields}
    assert comments == {column.name: column.description for column in Sales.columns()}
    types = {field.name: getattr(field.type, "type", "") for field in table.schema().fields}
    assert types["at"] == "timestamp_ntz"
    assert types["price"] == "decimal(10,2)"


def test_any_reader_of_delta_gets_the_values_and_exact_types(at: DeltaLocation) -> None:
    ENGINE.replace(Sales, at, sales(sale(1), sale(2, price=None)), {"day": MONDAY})
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


# --- upserting by key


def test_new_keys_are_inserted(at: DeltaLocation) -> None:
    ENGINE.upsert(Shops, at, shops((1, "Alpha", MONDAY)))

    written = ENGINE.upsert(Shops, at, shops((2, "Beta", MONDAY)))

    assert read(Shops, at).rows() == [(1, "Alpha", MONDAY), (2, "Beta", MONDAY)]
    assert (written.rows, written.version) == (1, at.version())
    assert at.row_count() == 2


@pytest.mark.parametrize(
    ("stored", "arrives", "stays"),
    [(MONDAY, TUESDAY, "new name"), (TUESDAY, MONDAY, "old name"), (MONDAY, MONDAY, "new name")],
    ids=["a newer row wins", "an older row loses", "an equally new row wins"],
)
def test_of_two_rows_with_one_key_the_newest_stays(at: DeltaLocation, stored: date, arrives: date, stays: str) -> None:
    ENGINE.upsert(Shops, at, shops((1, "old name", stored), (2, "other", MONDAY)))

    written = ENGINE.upsert(Shops, at, shops((1, "new name", arrives)))

    assert read(Shops, at).rows() == [(1, stays, max(stored, arrives)), (2, "other", MONDAY)]
    assert written.rows == (stays == "new name")


def test_the_order_of_upserts_makes_no_difference(at: DeltaLocation, tmp_path: Path) -> None:
    other = DeltaLocation(str(tmp_path / "other"))
    earlier, later = shops((1, "a", MONDAY), (2, "b", MONDAY)), shops((2, "B", TUESDAY), (3, "C", TUESDAY))

    for frame in (earlier, later):
        ENGINE.upsert(Shops, at, frame)
    for frame in (later, earlier):
        ENGINE.upsert(Shops, other, frame)

    assert read(Shops, at).rows() == [(1, "a", MONDAY), (2, "B", TUESDAY), (3, "C", TUESDAY)]
    assert read(Shops, other).equals(read(Shops, at))


def test_a_key_that_stands_twice_in_one_upsert_is_an_error_and_nothing_is_written(at: DeltaLocation) -> None:
    ENGINE.upsert(Shops, at, shops((1, "Alpha", MONDAY)))

    with pytest.raises(ContractError, match=r"1 keys of test_engine/shops \(shop\) stand in several rows"):
        ENGINE.upsert(Shops, at, shops((2, "Beta", MONDAY), (2, "Beta again", TUESDAY)))

    assert read(Shops, at).rows() == [(1, "Alpha", MONDAY)]


def test_an_upsert_of_nothing_changes_nothing(at: DeltaLocation) -> None:
    ENGINE.upsert(Shops, at, shops((1, "Alpha", MONDAY)))

    assert ENGINE.upsert(Shops, at, shops()).rows == 0
    assert read(Shops, at).rows() == [(1, "Alpha", MONDAY)]


def test_a_write_that_is_cut_short_after_its_commit_keeps_the_file_that_the_commit_names(
    at: DeltaLocation, monkeypatch: pytest.MonkeyPatch
) -> None:
    commit = polars_engine.replace_partition

    def commit_and_be_stopped(*arguments: Any) -> int:
        commit(*arguments)
        raise KeyboardInterrupt

    monkeypatch.setattr(polars_engine, "replace_partition", commit_and_be_stopped)
    with pytest.raises(KeyboardInterrupt):
        ENGINE.replace(Sales, at, sales(sale(1), sale(2)), {"day": MONDAY})

    assert read(Sales, at)["number"].to_list() == [1, 2]


def test_a_decimal_that_a_double_would_round_is_no_bound_of_its_file() -> None:
    exact, rounded = Exact("1234567.89"), Exact("9999999999999999.99")

    found = json.loads(statistics_json(1, {"exact": (exact, exact, 0), "rounded": (rounded, rounded, 0)}))

    assert (found["minValues"], found["maxValues"]) == ({"exact": 1234567.89}, {"exact": 1234567.89})


def test_a_failed_write_tells_its_own_error_though_the_log_cant_be_read_either(
    at: DeltaLocation, monkeypatch: pytest.MonkeyPatch
) -> None:
    ENGINE.replace(Sales, at, sales(sale(1)), {"day": MONDAY})

    def damage_the_log_and_fail(*_arguments: Any) -> int:
        (Path(at.uri) / "_delta_log" / f"{2:020}.json").write_text("{")
        raise LakeError("the error that led here")

    monkeypatch.setattr(polars_engine, "replace_partition", damage_the_log_and_fail)
    with pytest.raises(LakeError, match="the error that led here"):
        ENGINE.replace(Sales, at, sales(sale(2)), {"day": MONDAY})


# --- what Narwhals can't say


def flagged(frame: pl.LazyFrame, flags: dict[str, Sequence[str]]) -> pl.DataFrame:
    numbered = nw.from_native(frame.with_row_index("row"))
    found: pl.DataFrame = ENGINE.flag_rows(numbered, flags, {}, row_id="row").to_native().collect()
    return found.drop("row")


def test_a_row_is_a_repeat_if_an_earlier_one_has_the_same_values() -> None:
    frame = pl.LazyFrame({"a": [1, 2, 1, 1], "b": ["x", "x", "y", "x"]})

    found = flagged(frame, {"same_a": ["a"], "same_both": ["a", "b"]})

    assert found.columns == ["a", "b", "same_a", "same_both"]
    assert found["same_a"].to_list() == [False, False, True, True]
    assert found["same_both"].to_list() == [False, False, False, True]


def test_nulls_are_equal_to_each_other_and_to_nothing_else() -> None:
    frame = pl.LazyFrame({"a": [None, None, 0, None], "b": ["", "", "", None]}, schema={"a": pl.Int64, "b": pl.String})

    assert flagged(frame, {"same": ["a", "b"]})["same"].to_list() == [False, True, False, False]


def test_values_that_change_places_are_not_the_same() -> None:
    frame = pl.LazyFrame({"a": [1, 2, None, 1], "b": [2, 1, 1, None]})

    assert flagged(frame, {"same": ["a", "b"]})["same"].to_list() == [False] * 4


def test_looking_up_keeps_every_row_in_its_order() -> None:
    orders = nw.from_native(pl.LazyFrame({"number": range(1_000), "shop": [number % 7 for number in range(1_000)]}))
    names = nw.from_native(pl.LazyFrame({"id": [5, 3, 1], "name": ["five", "three", "one"]}))

    found = ENGINE.look_up(orders, names, "shop", "id").to_native().collect()

    assert found["number"].to_list() == list(range(1_000))
    assert found["name"].to_list()[:7] == [None, "one", None, "three", None, "five", None]


def test_nothing_is_found_for_a_null() -> None:
    orders = nw.from_native(pl.LazyFrame({"shop": [None, 1]}))
    names = nw.from_native(pl.LazyFrame({"id": [None, 1], "name": ["nothing", "one"]}))

    assert ENGINE.look_up(orders, names, "shop", "id").to_native().collect()["name"].to_list() == [None, "one"]


@pytest.mark.parametrize("ids", [[-1, 3, 1], [2_000_000_000, 3, 1], [], [None]])
def test_looking_up_takes_keys_of_any_size(ids: list[int | None]) -> None:
    schema = {"shop": pl.Int32}
    orders = nw.from_native(pl.LazyFrame({"shop": [3, -1, 2_000_000_000, 1, 4]}, schema=schema))
    names = nw.from_native(
        pl.LazyFrame({"id": ids, "name": [str(id_) for id_ in ids]}, schema_overrides={"id": pl.Int32})
    )

    found = ENGINE.look_up(orders, names, "shop", "id").to_native().collect()

    assert found["name"].to_list() == [str(shop) if shop in ids else None for shop in found["shop"]]


def test_a_row_is_a_member_if_its_values_stand_among_the_others_and_none_is_missing() -> None:
    frame = pl.LazyFrame({"a": [1, 1, None, 2], "b": ["x", "y", "x", "y"]})
    others = nw.from_native(pl.LazyFrame({"a": [1, None, 1], "b": ["x", "x", "x"]}))

    numbered = nw.from_native(frame.with_row_index("row"))
    found = ENGINE.flag_rows(numbered, {}, {"known": (("a", "b"), others)}, row_id="row").to_native().collect()

    assert found["known"].to_list() == [True, False, False, False]


def test_repeats_in_more_columns_are_found_among_those_in_fewer() -> None:
    rows = [(number % 5, number % 3, number % 2) for number in range(60)]
    frame = pl.LazyFrame(rows, schema=["a", "b", "c"], orient="row")

    found = flagged(frame, {"wide": ["a", "b", "c"], "narrow": ["a", "b"]})

    assert found["narrow"].to_list() == [row[:2] in [other[:2] for other in rows[:at]] for at, row in enumerate(rows)]
    assert found["wide"].to_list() == [row in rows[:at] for at, row in enumerate(rows)]


def test_seconds_between_two_times_are_whole_and_signed() -> None:
    start = datetime(2024, 1, 1, 12)
    ends = [datetime(2024, 1, 1, 12, 1, 30), datetime(2024, 1, 1, 11, 59), datetime(2024, 1, 2, 12), None]
    frame = nw.from_native(pl.LazyFrame({"start": [start] * 4, "end": ends}))

    found = frame.select(ENGINE.seconds_between(nw.col("start"), nw.col("end")).alias("seconds")).collect()

    assert [row[0] for row in found.rows()] == [90, -60, 86_400, None]
