"""What a disk or a store says that can't be written to: no room, read-only, not allowed. As one clear error.

Polars and delta-rs have the operating system's error in their texts only, each in types of its own.
"""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

import polars as pl
from deltalake.exceptions import DeltaError
from obstore.exceptions import BaseError

from taxi_assets.errors import LakeError

_OF_THE_PLACE: Final = {errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES, errno.EPERM, errno.EIO}
_IN_TEXT: Final = re.compile(r"\bos(?: error | { code: )(\d+)", re.IGNORECASE)


@contextmanager
def naming_the_place(uri: str) -> Iterator[None]:
    """Turn an error of the place that is written to into one LakeError; others are left as they are."""
    try:
        yield
    except Exception as error:
        number = place_error_number(error)
        if number is None:
            raise
        raise LakeError(
            f"{uri} can't be written: {os.strerror(number)}. What was stored before still stands. "
            "Make room or mend the place, and run this again."
        ) from error


def place_error_number(error: BaseException) -> int | None:
    """Return the operating system's number of an error of the place that is written to; None for any other error."""
    if not isinstance(error, (OSError, pl.exceptions.PolarsError, DeltaError, BaseError)):
        return None
    numbers = {getattr(error, "errno", None), *map(int, _IN_TEXT.findall(str(error)))}
    return next(iter(numbers & _OF_THE_PLACE), None)
