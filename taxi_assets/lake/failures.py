"""Errors as Dagster's UI shows them: the message for the user first, instead of a stack whose end holds it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import dagster as dg

from taxi_assets.engines import cause_of
from taxi_assets.errors import ContractError, LandingError, TaxiAssetsError, first_line, printable


@contextmanager
def one_clear_failure(where: str, untouched: str = "") -> Iterator[None]:
    """Turn an error written for the user, or an engine's, into a Failure that begins with it.

    Others keep their type and stack. `untouched` names the tables that nothing was written to, and the message says so
    of them.
    """
    says = f" {untouched} as before." if untouched else ""
    try:
        yield
    except TaxiAssetsError as error:
        # Others say themselves what has become of the table.
        says = says if isinstance(error, (LandingError, ContractError)) else ""
        raise dg.Failure(
            description=printable(f"{error}{says}"),
            metadata={"where": where, "error": type(error).__name__},
            allow_retries=False,
        ) from error
    except Exception as error:
        cause = cause_of(error)
        if cause is None:
            raise
        raise dg.Failure(
            description=f"{where} failed: {cause}{says}",
            metadata={"where": where, "error": type(error).__name__},
        ) from error


def said_by(error: Exception) -> str:
    """Return what an error says to the user, in one line."""
    description = error.description if isinstance(error, dg.Failure) else None
    return description or f"{type(error).__name__}: {first_line(error)}"
