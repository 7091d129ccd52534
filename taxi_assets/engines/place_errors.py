"""What a disk or a store says that can't be written to: no room, read-only, not allowed. As one clear error.

Polars and delta-rs have the operating system's error in their texts only, each in types of its own.
"""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import polars as pl
from deltalake.exceptions import DeltaError
from obstore.exceptions import BaseError

from taxi_assets.errors import LakeError

_OF_WRITING: Final = {errno.ENOSPC, errno.EDQUOT, errno.EROFS}
_OF_THE_PLACE: Final = _OF_WRITING | {errno.EACCES, errno.EPERM, errno.EIO}
_IN_TEXT: Final = re.compile(r"\bos(?: error | { code: )(\d+)", re.IGNORECASE)
# As Polars tells which file it was, where it does.
_FILE_IN_TEXT: Final = re.compile(r"\(os error \d+\): (?:file://)?(/[^\n]+)")


@contextmanager
def naming_the_place(uri: str) -> Iterator[None]:
    """Turn an error of the place that is written to into one LakeError; others are left as they are."""
    try:
        yield
    except Exception as error:
        number = place_error_number(error, uri)
        if number is None:
            raise
        # Rows are read while they are written, and an error that names no file may be of either.
        of_either = number not in _OF_WRITING and uri not in str(error) and _file_of(error) is None
        problem = "can't be written, or what goes there can't be read" if of_either else "can't be written"
        raise LakeError(
            f"{uri} {problem}: {os.strerror(number)}. What was stored before still stands. "
            "Make room or mend the place, and run this again."
        ) from error


def place_error_number(error: BaseException, uri: str) -> int | None:
    """Return the operating system's number of an error of the place that is written to; None for any other error.

    One that names a file elsewhere is of what is read.
    """
    if not isinstance(error, (OSError, pl.exceptions.PolarsError, DeltaError, BaseError)):
        return None
    numbers = {getattr(error, "errno", None), *map(int, _IN_TEXT.findall(str(error)))}
    number = next(iter(numbers & _OF_THE_PLACE), None)
    file = _file_of(error)
    is_elsewhere = file is not None and not file.is_relative_to(Path(uri.removeprefix("file://")).absolute())
    return None if is_elsewhere and number not in _OF_WRITING else number


def _file_of(error: BaseException) -> Path | None:
    """Return the file that an error names; None if it names none."""
    name = getattr(error, "filename", None)
    found = _FILE_IN_TEXT.search(str(error))
    return Path(os.fsdecode(name)) if isinstance(name, (str, bytes)) else Path(found[1]) if found else None
