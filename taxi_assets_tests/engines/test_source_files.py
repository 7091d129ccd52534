"""Source files read into typed rows: every row, under canonical names, in the contract's types, and nothing of it lost.

Bytes that are hardly CSV are test_odd_csvs.py's. What TLC's columns mean is tlc/'s to test, and so are files that can't
be used at all.
"""

from __future__ import annotations

import gzip
import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import polars as pl
import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from taxi_assets.engines.source_files import Format, open_source
from taxi_assets.errors import LandingError
from taxi_assets.landing import LandedFile, Landing
from taxi_assets_tests.engines.things import NOON, TYPES, from_csv, from_parquet, opened, rescued

pytestmark = pytest.mark.fast


# Types


@pytest.mark.parametrize(
    "code_type", [pa.int8(), pa.uint16(), pa.int32(), pa.int64(), pa.uint64(), pa.float32(), pa.float64()]
)
@pytest.mark.parametrize("text_type", [pa.string(), pa.large_string(), pa.dictionary(pa.int32(), pa.string())])
def test_whatever_a_parquet_files_types_are_the_rows_have_the_contracts(
    tmp_path: Path, code_type: pa.DataType, text_type: pa.DataType
) -> None:
    table = pa.table(
        {
            "at_time": pa.array([NOON, None], pa.timestamp("us")),
            "CodeID": pa.array([7, None], pa.int64()).cast(code_type),
            "amount": pa.array([12, None], pa.int64()),
            "word": pa.array(["N", None], pa.string()).cast(text_type),
        }
    )
    rows = from_parquet(tmp_path, table)
    assert {name: rows.schema[name] for name in TYPES} == TYPES
    assert rows.schema["source_row"] == pl.Int64
    assert rows.select(*TYPES).rows() == [(NOON, 7, 12.0, "N"), (None, None, None, None)]
    assert rescued(rows) == [None, None]


def test_columns_of_the_null_type_are_nulls_of_the_contracts_type(tmp_path: Path) -> None:
    nothing = pa.nulls(2)
    rows = from_parquet(tmp_path, pa.table({"at_time": nothing, "codeid": nothing, "amount": nothing, "word": nothing}))
    assert {name: rows.schema[name] for name in TYPES} == TYPES
    assert rows.select(*TYPES).null_count().row(0) == (2, 2, 2, 2)
    assert rescued(rows) == [None, None]


def test_columns_that_the_file_lacks_are_nulls_of_the_contracts_type(tmp_path: Path) -> None:
    rows = from_parquet(tmp_path, pa.table({"word": ["a"]}))
    assert {name: rows.schema[name] for name in TYPES} == TYPES
    assert rows.select("at", "code", "amount").row(0) == (None, None, None)


@pytest.mark.parametrize(
    ("type_of_file", "value", "wall_clock"),
    [
        (pa.timestamp("s"), NOON, NOON),
        (pa.timestamp("ms"), NOON.replace(microsecond=5000), NOON.replace(microsecond=5000)),
        (pa.timestamp("us"), NOON.replace(microsecond=5), NOON.replace(microsecond=5)),
        (pa.timestamp("ns"), NOON.replace(microsecond=5), NOON.replace(microsecond=5)),
        (pa.timestamp("us", "UTC"), NOON.replace(tzinfo=UTC), NOON),
        (pa.timestamp("ns", "America/New_York"), NOON.replace(tzinfo=ZoneInfo("America/New_York")), NOON),
        (pa.string(), "2024-01-10 12:00:00", NOON),
        (pa.string(), "2024-01-10T12:00:00", NOON),
        (pa.string(), "2024-01-10 12:00:00.25", NOON.replace(microsecond=250_000)),
        (pa.string(), " 01/10/2024 12:00:00 PM ", NOON),
        (pa.string(), "01/10/2024 12:00:00 AM", NOON.replace(hour=0)),
    ],
)
def test_a_time_in_any_form_is_its_own_wall_clock_in_microseconds(
    tmp_path: Path, type_of_file: pa.DataType, value: Any, wall_clock: datetime
) -> None:
    rows = from_parquet(tmp_path, pa.table({"at_time": pa.array([value], type_of_file)}))
    assert rows.schema["at"] == pl.Datetime("us")
    assert rows["at"].to_list() == [wall_clock]
    assert rescued(rows) == [None]


@pytest.mark.parametrize("name", ["CodeID", "codeid", "CODEID", " CodeId "])
def test_the_case_of_a_column_and_blanks_around_it_dont_matter(tmp_path: Path, name: str) -> None:
    assert from_parquet(tmp_path, pa.table({name: [1]}))["code"].to_list() == [1]
    assert from_csv(tmp_path, f"{name},word\n1,a\n")["code"].to_list() == [1]


def test_the_order_of_a_files_columns_doesnt_matter(tmp_path: Path) -> None:
    there = pa.table({"word": ["a"], "amount": [2.5], "codeid": [1], "at_time": [NOON]})
    rows = from_parquet(tmp_path, there)
    assert rows.equals(
        from_parquet(tmp_path, there.select(["at_time", "codeid", "amount", "word"])).select(rows.columns)
    )
    assert rows.select(*TYPES).row(0) == (NOON, 1, 2.5, "a")


def test_two_columns_of_one_meaning_are_an_error_that_names_both(tmp_path: Path) -> None:
    for content in (pa.table({"amount": [1.0], "Amount": [2.0]}), "amount,Amount\n1,2\n"):
        with pytest.raises(
            LandingError, match=r"things\.\S+ can't be used: its columns 'amount' and 'Amount' are both amount"
        ):
            from_parquet(tmp_path, content) if isinstance(content, pa.Table) else from_csv(tmp_path, content)


# What is kept in _rescued_data


@pytest.mark.parametrize(
    ("name", "canonical", "array", "kept"),
    [
        ("CodeID", "code", pa.array([1.5]), 1.5),
        ("CodeID", "code", pa.array([2**31], pa.int64()), 2**31),
        ("CodeID", "code", pa.array([-(2**31) - 1], pa.int64()), -(2**31) - 1),
        ("CodeID", "code", pa.array([1e300]), 1e300),
        ("CodeID", "code", pa.array(["one"]), "one"),
        ("CodeID", "code", pa.array(["1.5"]), "1.5"),
        ("CodeID", "code", pa.array(["2147483648"]), "2147483648"),
        ("CodeID", "code", pa.array([True]), True),
        ("CodeID", "code", pa.array([NOON]), "2024-01-10 12:00:00"),
        ("Amount", "amount", pa.array(["$5"]), "$5"),
        ("Amount", "amount", pa.array(["1,234.50"]), "1,234.50"),
        ("Amount", "amount", pa.array(["NaN"]), "NaN"),
        ("Amount", "amount", pa.array(["inf"]), "inf"),
        ("At_Time", "at", pa.array(["yesterday"]), "yesterday"),
        ("At_Time", "at", pa.array(["2024-02-30 12:00:00"]), "2024-02-30 12:00:00"),
        ("At_Time", "at", pa.array(["0000-01-01 00:00:00"]), "0000-01-01 00:00:00"),
        ("At_Time", "at", pa.array(["-001-01-01 00:00:00"]), "-001-01-01 00:00:00"),
        ("At_Time", "at", pa.array(["12/31/0000 11:59:59 PM"]), "12/31/0000 11:59:59 PM"),
        ("At_Time", "at", pa.array([20240110], pa.int64()), 20240110),
    ],
)
def test_a_value_that_its_column_cant_hold_is_null_there_and_kept_under_the_canonical_name(
    tmp_path: Path, name: str, canonical: str, array: pa.Array, kept: Any
) -> None:
    rows = from_parquet(tmp_path, pa.table({name: array}))
    assert rows[canonical].to_list() == [None]
    assert rescued(rows) == [{canonical: kept}]


@pytest.mark.parametrize("value", [2**31 - 1, -(2**31), 0])
def test_the_largest_and_the_least_code_fit(tmp_path: Path, value: int) -> None:
    rows = from_parquet(tmp_path, pa.table({"codeid": [value]}))
    assert rows["code"].to_list() == [value]
    assert rescued(rows) == [None]


def test_only_the_rows_that_lose_something_have_rescued_data(tmp_path: Path) -> None:
    rows = from_csv(tmp_path, "codeid,amount\n1,2\nx,y\n3,z\n,\n5,6\n")
    assert rows["code"].to_list() == [1, None, 3, None, 5]
    assert rows["amount"].to_list() == [2.0, None, None, None, 6.0]
    assert rescued(rows) == [None, {"code": "x", "amount": "y"}, {"amount": "z"}, None, None]


def test_a_column_that_nobody_knows_is_kept_under_its_own_name_where_it_holds_something(tmp_path: Path) -> None:
    table = pa.table({
        "CodeID": [1, 2, 3],
        "Surge_Fee": [1.25, None, 0.0],
        "note": ["", "  ", "night"],
        "tags": [["a", "b"], None, None],
        "always_null": pa.nulls(3),
    })  # fmt: skip
    assert rescued(from_parquet(tmp_path, table)) == [
        {"Surge_Fee": 1.25, "tags": '["a","b"]'},
        None,
        {"Surge_Fee": 0.0, "note": "night"},
    ]
    assert rescued(from_csv(tmp_path, "CodeID,Surge Fee\n1,1.25\n2,\n3, 0 \n")) == [
        {"Surge Fee": "1.25"},
        None,
        {"Surge Fee": "0"},
    ]


@pytest.mark.parametrize(
    "text",
    [
        'say "hi"',
        "back\\slash",
        "two\nlines\r\tand tabs",
        "Åéß 東京 🚕",
        "\x00\x01\x1f\x7f",
        '{"json": [1]}',
        "'",
        "{}",
        "a\u2028b",
    ],
)
def test_rescued_data_is_json_whatever_the_value_and_the_columns_name(tmp_path: Path, text: str) -> None:
    table = pa.table({"amount": [text], "codeid": [text], "not known": [text], f"x{text}": [text]})
    assert rescued(from_parquet(tmp_path, table)) == [
        {"amount": text, "code": text, "not known": text, f"x{text}": text}
    ]


# CSV


def test_tlcs_mixed_line_ends_the_blank_second_line_and_two_surplus_empty_fields_are_read(tmp_path: Path) -> None:
    content = "CodeID,At_Time,Amount,Word\n\r\n1,2016-07-01 00:00:01,1.5,N,,\r\n2,2016-07-01 00:00:02,2.5,Y,,\r\n"
    rows = from_csv(tmp_path, content)
    assert rows.select("source_row", "code", "amount", "word").rows() == [(1, 1, 1.5, "N"), (2, 2, 2.5, "Y")]
    assert rows["at"].to_list() == [datetime(2016, 7, 1, 0, 0, 1), datetime(2016, 7, 1, 0, 0, 2)]  # noqa: DTZ001
    assert rescued(rows) == [None, None]


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("last", ["", "end", "end end", "end blank end"])
def test_rows_count_from_one_whatever_ends_the_lines_and_the_file(tmp_path: Path, end: str, last: str) -> None:
    tail = last.replace("end", end).replace(" ", "").replace("blank", "   ")
    rows = from_csv(tmp_path, f"codeid,word{end}1,a{end}{end}2,b{end}  {end}3,c{tail}")
    assert rows.select("source_row", "code", "word").rows() == [(1, 1, "a"), (2, 2, "b"), (3, 3, "c")]


def test_blank_lines_before_the_header_are_passed_over(tmp_path: Path) -> None:
    assert from_csv(tmp_path, "\r\n\r\ncodeid,word\r\n1,a\r\n")["code"].to_list() == [1]


def test_a_byte_order_mark_is_no_part_of_the_first_columns_name(tmp_path: Path) -> None:
    rows = from_csv(tmp_path, "\ufeffCodeID,word\n1,a\n")
    assert rows["code"].to_list() == [1]
    assert rescued(rows) == [None]


@pytest.mark.parametrize(
    ("field", "word"),
    [
        ('"plain"', "plain"),
        ('"with, comma"', "with, comma"),
        ('"say ""hi"""', 'say "hi"'),
        ('""', None),
        ('""""', '"'),
        (' " blanks " ', "blanks"),
        ("it's", "it's"),
        ("  bare  ", "bare"),
        ('",,,"', ",,,"),
        ('5" by 6" pipe', '5" by 6" pipe'),
        ('"plain" ', "plain"),
        (' "with, comma"\t', "with, comma"),
        ('say "hi"', 'say "hi"'),
        ("東京", "東京"),
    ],
)
def test_fields_are_unquoted_as_csv_does_it(tmp_path: Path, field: str, word: str | None) -> None:
    rows = from_csv(tmp_path, f'"CodeID",word,"amount"\n1,{field},2.5\n3,{field},\n')
    assert rows.select("code", "word", "amount").rows() == [(1, word, 2.5), (3, word, None)]
    assert rescued(rows) == [None, None]


@pytest.mark.parametrize(
    ("field", "code"),
    [("1", 1), ("1.0", 1), ("1.", 1), (" 1 ", 1), ("-1", -1), ("+1", 1), ("01", 1), ("", None), ("  ", None)],
)
def test_whole_numbers_are_read_as_tlc_has_written_them(tmp_path: Path, field: str, code: int | None) -> None:
    rows = from_csv(tmp_path, f"codeid,word\n{field},a\n")
    assert rows["code"].to_list() == [code]
    assert rescued(rows) == [None]


@pytest.mark.parametrize(
    ("field", "amount"),
    [(".50", 0.5), ("-.50", -0.5), ("5.", 5.0), ("007.10", 7.1), (" 1.25 ", 1.25), ("1e2", 100.0), ("", None)],
)
def test_amounts_are_read_as_tlc_has_written_them(tmp_path: Path, field: str, amount: float | None) -> None:
    rows = from_csv(tmp_path, f"amount,word\n{field},a\n")
    assert rows["amount"].to_list() == [amount]
    assert rescued(rows) == [None]


def test_a_line_that_was_cut_off_is_a_row_and_kept_whole(tmp_path: Path) -> None:
    rows = from_csv(tmp_path, "codeid,at_time,amount,word\n1,2024-01-10 12:00:00,1.5,a\n2,2024-01-1")
    assert rows.select("source_row", "code", "at", "amount", "word").row(1) == (2, 2, None, None, None)
    assert rescued(rows) == [None, {"at": "2024-01-1", "_line": "2,2024-01-1"}]


def test_fields_behind_the_last_column_are_kept(tmp_path: Path) -> None:
    rows = from_csv(tmp_path, "codeid,word\n1,a,,\n2,b,late,\n3,c,,x\n")
    assert rows["word"].to_list() == ["a", "b", "c"]
    assert rescued(rows) == [None, {"_surplus_fields": "late"}, {"_surplus_fields": "x"}]


def test_columns_whose_name_is_empty_or_repeated_are_kept_by_their_place(tmp_path: Path) -> None:
    rows = from_csv(tmp_path, "codeid,,other,other\n1,a,b,c\n2,,,\n")
    assert rescued(rows) == [{"_column_2": "a", "other": "b", "_column_4": "c"}, None]


@pytest.mark.parametrize("name", ["source_row", "_line", "_surplus_fields", "_rescued_data", "source_month"])
def test_a_column_that_is_called_like_one_of_ours_is_kept_like_any_unknown_one(tmp_path: Path, name: str) -> None:
    # These two would say that a line had too few fields, or too many.
    key = f"{name} (in the file)" if name in {"_line", "_surplus_fields"} else name
    expected = [{key: "x"}, {key: "y"}]
    csv = from_csv(tmp_path, f"codeid,{name}\n1,x\n2,y\n")
    parquet = from_parquet(tmp_path, pa.table({"codeid": [1, 2], name: ["x", "y"]}))
    for rows in (csv, parquet):
        assert rows["source_row"].to_list() == [1, 2]
        assert rescued(rows) == expected


TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\n"), max_size=8)


@example(lines=["\xa0", "\u2028", "\x0b\x0c", "\x1c\x85"])
@settings(max_examples=15, deadline=None, derandomize=True)
@given(lines=st.lists(TEXT, min_size=1, max_size=6))
def test_as_many_rows_are_read_as_are_counted_whatever_the_lines_hold(
    lines: list[str], tmp_path_factory: pytest.TempPathFactory
) -> None:
    # That the two agree is asserted by `from_csv`.
    from_csv(tmp_path_factory.mktemp("lines"), "\n".join(["codeid,word", "1,a", *lines]))


# Size


def test_rows_are_numbered_without_gaps_across_row_groups_in_the_files_order(tmp_path: Path) -> None:
    count = 270_000
    rows = from_parquet(tmp_path, pl.DataFrame({"codeid": range(count)}), row_group_size=100_000)
    assert rows["source_row"].equals(pl.Series("source_row", range(1, count + 1), dtype=pl.Int64))
    assert rows["code"].equals(pl.Series("code", range(count), dtype=pl.Int32))


def test_rows_are_numbered_without_gaps_in_a_csv_of_several_blocks(tmp_path: Path) -> None:
    count = 270_000
    lines = [f"{number},word {number},,,,\r\n" for number in range(count)]
    rows = from_csv(tmp_path, "codeid,word\n\r\n" + "".join(lines))
    assert rows["source_row"].equals(pl.Series("source_row", range(1, count + 1), dtype=pl.Int64))
    assert rows["code"].equals(pl.Series("code", range(count), dtype=pl.Int32))
    assert rows["_rescued_data"].null_count() == count


# What writers of Parquet do


@pytest.mark.parametrize("type_of_file", [pa.float16(), pa.float32(), pa.float64()])
def test_what_is_no_finite_number_fits_no_column_of_numbers_and_is_kept(
    tmp_path: Path, type_of_file: pa.DataType
) -> None:
    infinite, nan = float("inf"), float("nan")
    numbers = pa.array([1.0, nan, None, 2.5, infinite, -infinite]).cast(type_of_file)
    rows = from_parquet(tmp_path, pa.table({"codeid": numbers, "amount": numbers}))
    assert rows["code"].to_list() == [1, None, None, None, None, None]
    assert rows["amount"].to_list() == [1.0, None, None, 2.5, None, None]
    assert rescued(rows) == [
        None,
        {"code": "NaN", "amount": "NaN"},
        None,
        {"code": 2.5},
        {"code": "inf", "amount": "inf"},
        {"code": "-inf", "amount": "-inf"},
    ]


@pytest.mark.parametrize("text", ["NaN", "nan", "-nan", "inf", "-Infinity"])
def test_the_text_of_what_is_no_finite_number_is_kept_like_any_that_doesnt_parse(tmp_path: Path, text: str) -> None:
    rows = from_csv(tmp_path, f"codeid,amount,word\n{text},{text},a\n1,2.5,b\n")
    assert rows.select("code", "amount", "word").rows() == [(None, None, "a"), (1, 2.5, "b")]
    assert rescued(rows) == [{"code": text, "amount": text}, None]


def test_nan_in_a_column_of_texts_is_no_text(tmp_path: Path) -> None:
    rows = from_parquet(tmp_path, pa.table({"word": [1.0, float("nan")]}))
    assert rows["word"].to_list() == ["1.0", None]
    assert rescued(rows) == [None, None]


def test_numbers_that_json_has_no_form_for_are_kept_as_text(tmp_path: Path) -> None:
    infinite, nan = float("inf"), float("nan")
    rows = from_parquet(tmp_path, pa.table({"codeid": [infinite, -infinite, 1.0], "odd": [nan, 1.5, infinite]}))
    assert rescued(rows) == [{"code": "inf", "odd": "NaN"}, {"code": "-inf", "odd": 1.5}, {"odd": "inf"}]


@pytest.mark.parametrize(("unit", "a_second"), [("ms", 1_000), ("us", 1_000_000)])
def test_a_time_beyond_the_years_that_can_be_written_is_kept_as_the_number_that_it_is(
    tmp_path: Path, unit: str, a_second: int
) -> None:
    last, first = 253_402_300_799 * a_second, -62_135_596_800 * a_second
    ticks = [last, last + a_second, first, first - 1, 2**61]
    rows = from_parquet(tmp_path, pa.table({"at_time": pa.array(ticks, pa.timestamp(unit))}))
    assert rows["at"].to_list() == [
        datetime(9999, 12, 31, 23, 59, 59), None, datetime(1, 1, 1), None, None,  # noqa: DTZ001
    ]  # fmt: skip
    assert rescued(rows) == [None, {"at": ticks[1]}, None, {"at": ticks[3]}, {"at": ticks[4]}]


@pytest.mark.parametrize(
    ("unit", "by_arrow", "years"),
    [
        ("us", False, (1600, 1900, 2024, 2098, 3019, 9999)),
        ("us", True, (1600, 1900, 2024, 2098, 3019, 9999)),
        ("ns", True, (1700, 1900, 2001, 2024, 2098, 2262)),
    ],
)
def test_a_time_of_96_bits_is_the_one_that_was_written_in_whatever_year(
    tmp_path: Path, *, unit: str, by_arrow: bool, years: tuple[int, ...]
) -> None:
    # As Spark long wrote times. Nanoseconds, which some read them as, hold the years 1677 to 2262.
    times = [datetime(year, 1, 2, 3, 4, 5, 678_901) for year in years]  # noqa: DTZ001
    table = pa.table({"at_time": pa.array([*times, None], pa.timestamp(unit)), "word": ["N"] * 7})
    rows = from_parquet(tmp_path, table, use_deprecated_int96_timestamps=True, store_schema=by_arrow)
    assert rows["at"].to_list() == [*times, None]
    assert rows["source_row"].to_list() == list(range(1, 8))
    assert rows["word"].to_list() == ["N"] * 7
    assert rescued(rows) == [None] * 7


def test_times_in_a_zone_that_nobody_knows_are_an_error_that_names_both(tmp_path: Path) -> None:
    table = pa.table({"at_time": pa.array([NOON], pa.timestamp("us", "Eastern Standard Time"))})
    with pytest.raises(LandingError, match=r"'at_time' are said to be in the zone 'Eastern Standard Time'"):
        from_parquet(tmp_path, table)


@pytest.mark.parametrize("text", ["2024-01-10T12:00:00Z", "2024-01-10 12:00", "2024-01-10T12:00:00"])
def test_times_are_read_in_the_forms_that_programs_write(tmp_path: Path, text: str) -> None:
    table = pa.table({"at_time": pa.array([text]).dictionary_encode(), "codeid": pa.array(["7"]).dictionary_encode()})
    rows = from_parquet(tmp_path, table)
    assert rows.select("at", "code").rows() == [(NOON, 7)]


def test_unknown_bytes_lists_and_records_are_kept_and_their_own_keys_taken_for_nothing_of_ours(tmp_path: Path) -> None:
    table = pa.table(
        {
            "codeid": [1],
            "blob": pa.array([b"\x00\xff"]),
            "list": pa.array([[1, 2]]),
            "record": pa.array([{"amount": 3}]),
            "word": pa.array([["N"]]),
        }
    )
    rows = from_parquet(tmp_path, table)
    (kept,) = rescued(rows)
    assert kept is not None
    assert kept["blob"] == "00ff"
    assert {name: json.loads(kept[name]) for name in ("list", "record", "word")} == {
        "list": [1, 2], "record": {"amount": 3}, "word": ["N"],
    }  # fmt: skip
    assert '"amount":' not in rows["_rescued_data"].item()


def test_a_repeated_column_name_is_an_error_that_says_which(tmp_path: Path) -> None:
    table = pa.Table.from_arrays([pa.array([1]), pa.array([2])], names=["codeid", "codeid"])
    with pytest.raises(LandingError, match=r"things.parquet can't be used: .*more than one column named 'codeid'"):
        from_parquet(tmp_path, table)


def test_a_gzipped_file_under_a_csvs_name_is_told_its_right_name(tmp_path: Path) -> None:
    (tmp_path / "things.csv").write_bytes(gzip.compress(b"codeid\n1\n"))
    with pytest.raises(LandingError, match=r"it is gzipped.*Name it .csv.gz"):
        opened(tmp_path, "things.csv", Format.CSV)


@pytest.mark.parametrize("file_format", Format)
def test_a_file_that_is_gone_since_it_was_listed_is_one_error_that_names_it(
    tmp_path: Path, file_format: Format
) -> None:
    gone = LandedFile(f"things.{file_format}", 100, "before")
    with pytest.raises(LandingError, match=rf"things\.{file_format} can't be used: it can't be read .*may be read"):
        open_source(Landing(str(tmp_path), {}), gone, file_format)
