"""Errors as Dagster's UI shows them: the message for the user first, instead of a stack whose end holds it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import dagster as dg

from taxi_assets.engines import cause_of
from taxi_assets.errors import TaxiAssetsError, printable


@contextmanager
def one_clear_failure(where: str) -> Iterator[None]:
    """Turn an error written for the user, or an engine's, into a Failure that begins with it.

    Others keep their type and stack.
    """
    try:
        yield
    except TaxiAssetsError as error:
        raise dg.Failure(
            description=printable(str(error)),
            metadata={"where": where, "error": type(error).__name__},
            allow_retries=False,
        ) from error
    except Exception as error:
        cause = cause_of(error)
        if cause is None:
            raise
        raise dg.Failure(
            description=f"{where} failed: {cause} What was stored before still stands.",
            metadata={"where": where, "error": type(error).__name__},
        ) from error
