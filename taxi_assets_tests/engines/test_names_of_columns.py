"""Any name that a file's column can have is a name: no pattern, no column of ours, and its values are kept under it."""

from __future__ import annotations

import csv
import gzip
import io
import json
from collections.abc import Sequence
from pathlib import Path

import polars as pl
import pytest

from taxi_assets.contracts import Contract, Float64, Int32, String, column
from taxi_assets.engines.source_files import Format, canonical_names, open_source
from taxi_assets.engines.typed_rows import RESCUED, typed
from taxi_assets.landing import Landing

pytestmark = pytest.mark.fast


class Sale(Contract):
    """A sale."""

    total_amount: Float64 = column("What was paid.")
    vendor: Int32 = column("Who sold.")
    note: String = column("A remark.")


PATTERNS = [
    "*", "^.*$", "^total_amount$", "^total.*$", "^vendor|note$", "^$", "^(", "^[a-z$", "$", "^", "**", "total_*",
]  # fmt: skip
MARKS = [
    "`note`", "a.b", "total_amount.x", "$1", "\\", "\\n", "{}", "{total_amount}", "%s", "'", "a'b", "[0]",
    "\u2211", "\u200b",
]  # fmt: skip
OURS = [
    "\\nrow", "raw_0", "raw_1", "lost_0", "lost_1", "column_0", "column_1", "_column_1", "_column_2", "_line",
    "_surplus_fields", "_rescued_data", "source_row", "source_file", "source_month", "failed_rules", "fields", "text",
    "count", "x", "literal", "total_amount (in the file)", "index", "len",
]  # fmt: skip
OF_PARQUET_ALONE = ["\nrow", "\nline", "\nsurplus", "\nbroken", "a,b", 'say "hi"', " other", "other ", "", "\0", "a\nb"]
IN_CSV = [*PATTERNS, *MARKS, *OURS]


def columns(names: Sequence[str]) -> dict[str, list[str]]:
    """Return the columns of two sales, and a column of each name with values of its own."""
    return {
        "total_amount": ["1.5", "2.5"],
        **{name: [f"EVIL {place}", f"MORE {place}"] for place, name in enumerate(names)},
        "vendor": ["7", "8"],
        "note": ["one", "two"],
    }


def as_parquet(names: Sequence[str]) -> bytes:
    buffer = io.BytesIO()
    pl.DataFrame(columns(names)).write_parquet(buffer)
    return buffer.getvalue()


def as_csv(names: Sequence[str]) -> bytes:
    text, found = io.StringIO(), columns(names)
    writer = csv.writer(text, lineterminator="\n")
    writer.writerows([list(found), *zip(*found.values(), strict=True)])
    return text.getvalue().encode()


def read(folder: Path, content: bytes, file_format: Format) -> tuple[pl.DataFrame, tuple[str, ...]]:
    """Return a file's rows in the contract's types, and the names of its columns."""
    (folder / f"sales.{file_format}").write_bytes(content)
    landing = Landing(str(folder), {})
    (file,) = landing.files()
    source = open_source(landing, file, file_format)
    mapped = canonical_names(source, {name: name for name in Sale.column_names()})
    assert set(source.types) == set(source.columns)
    rows: pl.DataFrame = typed(source, mapped, Sale).collect().to_native()
    return rows, source.columns


def hold(rows: pl.DataFrame, keys: Sequence[str]) -> None:
    """See that the sales are as they were written, and each other column's values are rescued under its key."""
    ours = rows.select("source_row", "total_amount", "vendor", "note").rows()
    assert ours == [(1, 1.5, 7, "one"), (2, 2.5, 8, "two")]
    for text, word in zip(rows[RESCUED], ("EVIL", "MORE"), strict=True):
        pairs = json.loads(text, object_pairs_hook=list)
        assert pairs == [(key, f"{word} {place}") for place, key in enumerate(keys)]


def key(name: str) -> str:
    """What `_rescued_data` calls a column: by its name, unless that is one of the keys that mean something else."""
    return f"{name} (in the file)" if name in {"_line", "_surplus_fields"} else name


@pytest.mark.parametrize("name", [*IN_CSV, *OF_PARQUET_ALONE])
def test_a_column_of_any_name_is_kept_under_it_from_parquet(tmp_path: Path, name: str) -> None:
    rows, names = read(tmp_path, as_parquet([name]), Format.PARQUET)
    assert names == ("total_amount", name, "vendor", "note")
    hold(rows, [key(name)])


@pytest.mark.parametrize("name", IN_CSV)
def test_a_column_of_any_name_is_kept_under_it_from_csv(tmp_path: Path, name: str) -> None:
    rows, names = read(tmp_path, as_csv([name]), Format.CSV)
    assert names == ("total_amount", name, "vendor", "note")
    hold(rows, [key(name)])


@pytest.mark.parametrize("file_format", list(Format))
def test_columns_of_all_these_names_in_one_file_are_kept_apart(tmp_path: Path, file_format: Format) -> None:
    content = as_parquet(IN_CSV) if file_format is Format.PARQUET else as_csv(IN_CSV)
    rows, _ = read(tmp_path, gzip.compress(content) if file_format is Format.CSV_GZ else content, file_format)
    hold(rows, [key(name) for name in IN_CSV])


def test_a_name_that_means_a_column_of_ours_under_other_capitals_is_no_second_one(tmp_path: Path) -> None:
    rows, _ = read(tmp_path, as_parquet(["^TOTAL_AMOUNT$", "Total_Amount_"]), Format.PARQUET)
    hold(rows, ["^TOTAL_AMOUNT$", "Total_Amount_"])


def test_nameless_columns_are_told_from_one_that_is_called_like_them(tmp_path: Path) -> None:
    content = b"total_amount,vendor,note,_column_5,\n1.5,7,one,EVIL 0,EVIL 1\n2.5,8,two,MORE 0,MORE 1\n"
    rows, names = read(tmp_path, content, Format.CSV)
    assert len(set(names)) == 5
    hold(rows, names[3:])
