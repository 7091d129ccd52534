"""What a file's columns and words are taken for: the tables in tlc/bronze/layouts/, applied to files made here.

Real files are in full/test_eras.py; what makes a file unusable is in test_bad_files.py.
"""

from __future__ import annotations

import gzip
import io
import re
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from taxi_assets.calendars import Month
from taxi_assets.errors import LandingError
from taxi_assets.landing import Landing
from taxi_assets.tlc.bronze.layouts import lines_of, words
from taxi_assets.tlc.bronze.month_file import read_month
from taxi_assets.tlc.bronze.trips import BRONZE_TRIPS
from taxi_assets.tlc.vocabulary import Service
from taxi_assets_tests.scenario import MONTH, USUAL, in_file_columns, trips

pytestmark = pytest.mark.fast

GREEN = Service.GREEN


def read(folder: Path, frame: pl.DataFrame, service: Service = GREEN, month: Month = MONTH) -> pl.DataFrame:
    """Read a frame as bronze does that is written as a month's Parquet file."""
    frame.write_parquet(folder / f"{service}_tripdata_{month}.parquet")
    (result,) = read_month(Landing(str(folder), {}), None, service, month, BRONZE_TRIPS[service])
    found: pl.DataFrame = result.value.collect().to_native()
    return found


@pytest.mark.parametrize(
    ("flags", "expected"),
    [
        (pl.Series([0.0, 1.0, float("nan"), None]), ["N", "Y", None, None]),
        (pl.Series([0.0, 1.0, float("nan"), None], dtype=pl.Float32), ["N", "Y", None, None]),
        (pl.Series([0, 1, 1, None]), ["N", "Y", "Y", None]),
        (pl.Series([False, True, True, None]), ["N", "Y", "Y", None]),
        (pl.Series([" n", "y", "", "*"]), ["N", "Y", None, "*"]),
        (pl.Series([None] * 4), [None] * 4),
    ],
    ids=["doubles", "floats", "whole numbers", "truth values", "texts", "nothing"],
)
def test_a_flag_is_y_or_n_whatever_a_writer_made_of_it(tmp_path: Path, flags: pl.Series, expected: list[Any]) -> None:
    found = read(tmp_path, in_file_columns(GREEN, trips(4)).with_columns(store_and_fwd_flag=flags))

    assert found["store_and_fwd_flag"].to_list() == expected
    assert found["_rescued_data"].is_null().all()


def test_old_words_for_payments_and_vendors_are_codes_and_a_word_that_nobody_knows_is_rescued(tmp_path: Path) -> None:
    said = ["CASH", "Cas", "CSH ", "Credit", "CRE", "crd", "No Charge", "NOC", "Dis", "UNK", "NA ", "2", "barter"]
    vendors = ["VTS", "CMT", "DDS", "vts", "CMT", "2", "1", "VTS", "VTS", "VTS", "VTS", "VTS", "ACME"]
    file = in_file_columns(GREEN, trips(len(said))).with_columns(
        payment_type=pl.Series(said), VendorID=pl.Series(vendors)
    )

    found = read(tmp_path, file)

    assert found["payment_type"].to_list() == [2, 2, 2, 1, 1, 1, 3, 3, 4, 5, 5, 2, None]
    assert found["vendor_id"].to_list() == [2, 1, 3, 2, 1, 2, 1, 2, 2, 2, 2, 2, None]
    assert found["_rescued_data"].is_null().sum() == len(said) - 1
    assert found["_rescued_data"][-1] == '{"vendor_id":"ACME","payment_type":"barter"}'


@pytest.mark.parametrize("service", list(Service))
def test_the_row_numbers_that_pandas_adds_are_no_part_of_the_data(tmp_path: Path, service: Service) -> None:
    file = in_file_columns(service, [USUAL[service]()] * 3).with_row_index("__index_level_0__")

    assert read(tmp_path, file, service)["_rescued_data"].is_null().all()


def test_a_column_under_the_contracts_own_name_needs_no_line(tmp_path: Path) -> None:
    assert "rate_code_id" not in {line.file_column for line in lines_of(GREEN)}
    file = in_file_columns(GREEN, trips(2)).rename({"RatecodeID": "Rate_Code_ID"})

    assert read(tmp_path, file)["rate_code_id"].to_list() == [1, 1]


@pytest.mark.parametrize("service", list(Service))
def test_every_line_names_a_column_of_the_contract_says_since_when_and_where_that_is_from(service: Service) -> None:
    columns = set(BRONZE_TRIPS[service].column_names())

    for line in lines_of(service):
        assert line.column in columns | {""}, line
        assert line.file_column == line.file_column.strip().lower(), line
        assert line.source, line
        assert line.until is None or line.since <= line.until, line
    assert set(words()) <= columns | set(BRONZE_TRIPS[Service.YELLOW].column_names())


# --- what errors show of a file


def parquet_of(*names: str) -> bytes:
    written = io.BytesIO()
    pq.write_table(pa.table([pa.array([1])] * len(names), names=list(names)), written)
    return written.getvalue()


def read_landing(folder: Path) -> None:
    """Read the month as bronze does that stands in a folder."""
    list(read_month(Landing(str(folder), {}), None, GREEN, MONTH, BRONZE_TRIPS[GREEN]))


SECRETIVE: dict[str, tuple[str, bytes]] = {
    "other columns": ("csv", b"SECRET,SECRET too\n1,2\n"),
    "no table at all": ("csv", b"SECRET:x:0:0:root\nSECRET:x:1:1\n"),
    "other columns, gzipped": ("csv.gz", gzip.compress(b"SECRET,SECRET too\n1,2\n")),
    "no gzip": ("csv.gz", b"SECRET:x:0:0:root\n"),
    "no Parquet": ("parquet", b"SECRET:x:0:0:root\n"),
    "an error answer": ("csv", b"<Error><Code>SECRET</Code></Error>\n1\n"),
    "other columns in Parquet": ("parquet", parquet_of("SECRET")),
    "columns of one name in Parquet": ("parquet", parquet_of("SECRET", "SECRET")),
}


@pytest.mark.parametrize(("ending", "content"), SECRETIVE.values(), ids=SECRETIVE)
def test_nothing_is_quoted_of_what_a_link_leads_out_of_landing_to(tmp_path: Path, ending: str, content: bytes) -> None:
    name = f"green_tripdata_2024-01.{ending}"
    (tmp_path / "landing").mkdir()
    (tmp_path / "secret").write_bytes(content)
    (tmp_path / "landing" / name).symlink_to(tmp_path / "secret")
    with pytest.raises(LandingError, match=f"^{name} can't be used: ") as caught:
        read_landing(tmp_path / "landing")
    assert not re.search("SE|b'", str(caught.value))


def test_of_a_file_of_landings_own_the_columns_are_shown(tmp_path: Path) -> None:
    (tmp_path / "green_tripdata_2024-01.csv").write_bytes(SECRETIVE["other columns"][1])
    with pytest.raises(LandingError, match="It has SECRET, SECRET too"):
        read_landing(tmp_path)
