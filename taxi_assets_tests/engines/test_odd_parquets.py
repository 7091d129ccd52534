"""Parquet as few writers write it: values within values, types of their own, long names. All is kept, or refused.

What the usual types become is test_types_of_values.py's, what is made to fill memory full/test_absurd_files.py's.
"""

from __future__ import annotations

import io
import json
from datetime import date
from decimal import Decimal as Exact
from pathlib import Path
from typing import Any

import narwhals.stable.v1 as nw
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from taxi_assets.engines import DeltaLocation
from taxi_assets.engines.source_files import Format
from taxi_assets.errors import LandingError, UnreadableRowsError
from taxi_assets_tests.engines.made_up import MONDAY, CityDays
from taxi_assets_tests.engines.things import NOON, from_parquet, opened, rescued
from taxi_assets_tests.scenario import POLARS

pytestmark = pytest.mark.fast

INFINITE, NAN = float("inf"), float("nan")


class Made(pa.ExtensionType):
    """A type of a writer's own, stored as whole numbers."""

    def __init__(self) -> None:
        super().__init__(pa.int64(), "made.up")

    def __arrow_ext_serialize__(self) -> bytes:
        return b""


def days(*numbers: int) -> pa.Array:
    """Return dates, given in days from 1970."""
    return pa.array(numbers, pa.int32()).cast(pa.date32())


def deep(depth: int) -> pa.Array:
    """Return a number in a list in a list, so deep."""
    values = pa.array([1])
    for _ in range(depth):
        values = pa.ListArray.from_arrays(pa.array([0, 1], pa.int32()), values)
    return values


KEPT: dict[str, tuple[pa.Array, list[Any]]] = {
    "a date beyond all calendars": (days(2**31 - 1, 0), [2**31 - 1, "1970-01-01"]),
    "lists of what is no number": (
        pa.array([[1.5, NAN, INFINITE, -INFINITE], [1.5]]),
        ['["1.5","NaN","inf","-inf"]', "[1.5]"],
    ),
    "lists of bytes": (pa.array([[b"\x00\xff", None]]), ['["00ff",null]']),
    "lists of dates": (
        pa.array([[2**31 - 1, 0, None]], pa.list_(pa.int32())).cast(pa.list_(pa.date32())),
        ['["2147483647","1970-01-01",null]'],
    ),
    "lists of times beyond all years": (
        pa.array([[2**62, 0]], pa.list_(pa.timestamp("ms"))),
        [f'["{2**62}","1970-01-01 00:00:00"]'],
    ),
    "records of each": (
        pa.array(
            [{"b": b"\xff", "f": NAN, "d": date(2024, 1, 1), "t": NOON, "n": Exact("1.50"), "l": [{"b": b"\x01"}]}]
        ),
        ['{"b":"ff","f":"NaN","d":"2024-01-01","t":"2024-01-10 12:00:00","n":"1.50","l":[{"b":"01"}]}'],
    ),
    "a record that is none": (pa.array([{"a": 1}, None]), ['{"a":1}', None]),
    "records whose fields have names of any kind": (
        pa.array([{"*": 1.5, "^.*$": "EVIL", "^n$": [{"*": b"\xff"}], "": 1, "field_0": 2, 'x"\n': 3}]),
        ['{"*":1.5,"^.*$":"EVIL","^n$":[{"*":"ff"}],"":1,"field_0":2,"x\\"\\n":3}'],
    ),
    "maps": (pa.array([[("k", b"\xff")]], pa.map_(pa.string(), pa.binary())), ['[{"key":"k","value":"ff"}]']),
    "arrays of one length": (pa.array([[1.5, NAN]], pa.list_(pa.float64(), 2)), ['["1.5","NaN"]']),
    "lists in lists": (deep(20), ["[" * 20 + "1" + "]" * 20]),
    "a type of its writer's own": (pa.ExtensionArray.from_storage(Made(), pa.array([5])), [5]),
}


@pytest.mark.parametrize(("array", "kept"), KEPT.values(), ids=KEPT)
def test_what_nobody_knows_is_kept_as_it_is_whatever_its_type(tmp_path: Path, array: pa.Array, kept: list[Any]) -> None:
    rows = from_parquet(tmp_path, pa.table({"codeid": [1] * len(kept), "odd": array}))
    assert rescued(rows) == [None if each is None else {"odd": each} for each in kept]
    for each in kept:
        # What isn't one value is a text of JSON, for those who read it.
        assert not (isinstance(each, str) and each[0] in "[{") or json.loads(each)


def test_a_known_column_of_a_writers_own_type_is_what_it_is_stored_as(tmp_path: Path) -> None:
    rows = from_parquet(tmp_path, pa.table({"codeid": pa.ExtensionArray.from_storage(Made(), pa.array([5, 6]))}))
    assert rows["code"].to_list() == [5, 6]
    assert rescued(rows) == [None, None]


@pytest.mark.parametrize("codec", ["none", "snappy", "gzip", "brotli", "lz4", "zstd"])
def test_a_file_is_read_whatever_packs_it(tmp_path: Path, codec: str) -> None:
    rows = from_parquet(tmp_path, pa.table({"codeid": [1, 2], "word": ["a", "b"]}), compression=codec)
    assert rows.select("code", "word").rows() == [(1, "a"), (2, "b")]


WIDE, ZONED = pa.decimal256(70, 2), pa.timestamp("us", "Eastern Standard Time")
REFUSED: dict[str, tuple[pa.Table, str]] = {
    "decimals that are too long": (
        pa.table({"amount": pa.array([Exact(1)], WIDE)}),
        "its column 'amount' holds decimals of 70 digits, and 38 are the most",
    ),
    "decimals that are too long, within lists": (
        pa.table({"codeid": [1], "odd": pa.array([[Exact(1)]], pa.list_(WIDE))}),
        "its column 'odd' holds decimals of 70 digits",
    ),
    "times in a zone that nobody knows, within lists": (
        pa.table({"codeid": [1], "odd": pa.array([[NOON]], pa.list_(ZONED))}),
        "times in its column 'odd' are said to be in the zone 'Eastern Standard Time'",
    ),
    "lists in too many lists": (
        pa.table({"codeid": [1], "odd": deep(21)}),
        "'odd' holds values within values, more than 20",
    ),
    "records with a field twice": (
        pa.table({"codeid": [1], "odd": pa.StructArray.from_arrays([pa.array([1]), pa.array([2])], ["a", "a"])}),
        "records in its column 'odd' have more than one field named 'a'",
    ),
    "a name of megabytes": (
        pa.table({"codeid": [1], "x" * 1_000_000: [1]}),
        "its columns' names have 1,000,006 characters; those of no table have more than 100,000",
    ),
    "a long name in each of many rows": (
        pa.table({"codeid": pa.array([1] * 123_457, pa.int8()), "x" * 90_000: pa.array([1] * 123_457, pa.int8())}),
        "its columns' names, in each of 123,457 rows, are more than the 1.1 GB",
    ),
    "no rows": (pa.table({"codeid": pa.array([], pa.int32())}), "it has no rows"),
    "no columns": (pa.table({}), "it has no rows"),
}


@pytest.mark.parametrize(("table", "problem"), REFUSED.values(), ids=REFUSED)
def test_what_cant_be_kept_is_one_error_that_names_the_file_and_the_column(
    tmp_path: Path, table: pa.Table, problem: str
) -> None:
    pq.write_table(table, tmp_path / "things.parquet")
    with pytest.raises(LandingError, match=rf"^things\.parquet can't be used: .*{problem}") as caught:
        opened(tmp_path, "things.parquet", Format.PARQUET)
    assert len(str(caught.value)) < 400


def as_parquet(**columns: Any) -> bytes:
    buffer = io.BytesIO()
    pq.write_table(pa.table(columns), buffer)
    return buffer.getvalue()


@pytest.mark.parametrize(
    ("length", "problem"),
    [
        (0, "its footer has no bytes"),
        (1, "its footer can't be read"),
        (2**31, "its end is missing"),
        (2**32 - 1, "its end"),
    ],
)
def test_a_footer_of_another_length_is_one_error_that_says_so(tmp_path: Path, length: int, problem: str) -> None:
    (tmp_path / "things.parquet").write_bytes(as_parquet(codeid=[1])[:-8] + length.to_bytes(4, "little") + b"PAR1")
    with pytest.raises(LandingError, match=rf"can't be used: it is not a whole Parquet file: {problem}"):
        opened(tmp_path, "things.parquet", Format.PARQUET)


def test_rows_that_are_packed_in_a_way_that_nobody_unpacks_arent_called_damaged(
    tmp_path: Path, at: DeltaLocation
) -> None:
    data = as_parquet(count=[1])
    length = int.from_bytes(data[-8:-4], "little")
    # The number of Snappy, between the end of a list and the number of values, becomes that of LZO.
    footer = data[-8 - length : -8].replace(b"\x15\x02\x16", b"\x15\x06\x16")
    (tmp_path / "lzo.parquet").write_bytes(data[: -8 - length] + footer + data[-8:])
    rows = pl.scan_parquet(tmp_path / "lzo.parquet").select(city=pl.lit("A"), count="count", day=pl.lit(MONDAY))
    with pytest.raises(UnreadableRowsError, match=r"^it is written in a way that can't be read here .*Lzo"):
        POLARS.replace(CityDays, at, nw.from_native(rows), {"city": "A", "day": MONDAY})
