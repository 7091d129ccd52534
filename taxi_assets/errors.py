"""The errors that a user can meet. Each carries one message: what is wrong, where, and what to do.

A programming error is none of these: it keeps its own type and its stack.
"""

from __future__ import annotations


def first_line(error: BaseException) -> str:
    """Return the first line of another library's error, where it says what is wrong; its type if it is mute."""
    return next(iter(str(error).strip().splitlines()), type(error).__name__)


class TaxiAssetsError(Exception):
    """Base of all errors whose message is written for the user; the command line prints only the message."""


class UsageError(TaxiAssetsError):
    """The user asked for something that makes no sense (a month, a setting, a table name)."""


class LandingError(TaxiAssetsError):
    """A file in landing is absent, ambiguous, or not what its name says. Nothing was stored."""


class FetchError(TaxiAssetsError):
    """A file can't be fetched. Landing is as it was."""


class ContractError(TaxiAssetsError):
    """A frame or a stored table doesn't have the columns and types of its contract. Nothing was stored."""


class LakeError(TaxiAssetsError):
    """The lake can't be read or written as asked."""


class UnreadableRowsError(LakeError):
    """Rows that were to be stored can't be computed, as what they come from is damaged. Nothing was stored."""


class PublishLimitExceededError(TaxiAssetsError):
    """So many rows of a partition break rules that it wasn't published; what was stored before still stands."""
