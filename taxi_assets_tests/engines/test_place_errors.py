"""Errors of the operating system while a table is written: which are of its place, and which of what is read."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from taxi_assets.engines.place_errors import naming_the_place
from taxi_assets.errors import LakeError

pytestmark = pytest.mark.fast


def told(table: Path, error: Exception) -> str:
    """Return what is said of an error that arises as a table is written; nothing if it isn't of the table's place."""
    with pytest.raises(Exception) as raised, naming_the_place(str(table)):  # noqa: PT011 - which it is, is asked here
        raise error
    return str(raised.value) if isinstance(raised.value, LakeError) else ""


@pytest.mark.parametrize("say", ["Permission denied (os error 13)", "Input/output error (os error 5)"])
def test_an_error_that_names_a_file_elsewhere_is_of_what_is_read(tmp_path: Path, say: str) -> None:
    # As Polars says it.
    for kind in (OSError, PermissionError, pl.exceptions.ComputeError):
        assert told(tmp_path / "table", kind(f"{say}: {tmp_path}/landing/file.parquet")) == ""
    assert told(tmp_path / "table", PermissionError(13, "Permission denied", str(tmp_path / "file.parquet"))) == ""


def test_an_error_that_names_a_file_of_the_table_is_of_its_place(tmp_path: Path) -> None:
    table = tmp_path / "table"
    for error in (
        PermissionError(f"Permission denied (os error 13): {table}/day=1/file.parquet"),
        PermissionError(13, "Permission denied", str(table / "file.parquet")),
    ):
        assert told(table, error).startswith(f"{table} can't be written: Permission denied. ")


def test_an_error_of_writing_is_of_the_place_whatever_it_names(tmp_path: Path) -> None:
    error = OSError("No space left on device (os error 28): /tmp/spilled")

    assert told(tmp_path, error).startswith(f"{tmp_path} can't be written: No space left on device. ")


def test_of_an_error_that_names_no_file_both_are_said(tmp_path: Path) -> None:
    error = pl.exceptions.ComputeError("parquet: underlying IO error: Input/output error (os error 5)")

    assert told(tmp_path, error).startswith(f"{tmp_path} can't be written, or what goes there can't be read: Input")
