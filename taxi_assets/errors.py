"""The errors that a user can meet. Each carries one message: what is wrong, where, and what to do.

A programming error is none of these: it keeps its own type and its stack.
"""

from __future__ import annotations

import re
import sys
import unicodedata
from typing import Final

# How delta-rs draws one cause below the other; and what a bucket's server answers.
_CAUSE: Final = re.compile(r"\s*\x1b\[31m\u21b3\x1b\[0m\s*")
# Letters and marks by their category, of which nothing is seen: fillers of Hangul and Khmer, and an empty Braille cell.
_BLANK_LETTERS: Final = re.compile("[\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0]")
_VIRAMA: Final = 9
_ANSWER: Final = re.compile(r"<Code>(?P<code>[^<]*)</Code>\s*<Message>(?P<message>[^<]*)</Message>")


def first_line(error: BaseException) -> str:
    """Return another library's error in one line: what a store answered, or the first line; its type if it is mute."""
    text = _CAUSE.sub(": ", str(error)).strip()
    answer = _ANSWER.search(text)
    if answer:
        text = f"{answer['code']}: {answer['message'].strip().rstrip('.')}"
    return printable(next(iter(text.splitlines()), type(error).__name__))


def error_of_the_records(error: Exception) -> TaxiAssetsError | None:
    """Return what to tell of an error of the database in which Dagster records runs; None for any other error."""
    # It is another error, if whose it is was never imported; importing it takes long.
    sqlalchemy = sys.modules.get("sqlalchemy.exc")
    if sqlalchemy is None or not isinstance(error, sqlalchemy.DBAPIError):
        return None
    return TaxiAssetsError(
        f"Dagster's records, in DAGSTER_HOME, can't be kept: {first_line(error.orig or error)}. Each table has its "
        "months as they were before, or whole. Make room or mend the place, and run this again."
    )


def printable(text: str) -> str:
    r"""Return a text with what can't be seen in it written out, as ``\x1b``.

    Names and values come from files that anyone may have made: none of them shall steer a terminal, turn the direction
    of what is beside it, or look like a line of ours. Joiners stay where scripts such as Devanagari or Persian need
    them.
    """
    if text.isprintable() and not _BLANK_LETTERS.search(text):
        return text
    around = zip(" " + text, text, text[1:] + " ", strict=False)
    return "".join(
        char if _is_seen(char) or _joins(before, char, after) else char.encode("unicode_escape").decode()
        for before, char, after in around
    )


def _is_seen(char: str) -> bool:
    # Blanks of all widths are no printable ones to Python.
    return (char.isprintable() and not _BLANK_LETTERS.match(char)) or unicodedata.category(char) == "Zs"


def _joins(before: str, char: str, after: str) -> bool:
    """Whether a character is a joiner where it changes how letters are written (RFC 5892, appendix A)."""
    if char not in {"\u200c", "\u200d"}:
        return False
    after_virama = unicodedata.combining(before) == _VIRAMA
    in_a_word = all(unicodedata.bidirectional(letter) == "AL" for letter in (before, after))
    return after_virama or (char == "\u200c" and in_a_word)


class TaxiAssetsError(Exception):
    """Base of all errors whose message is written for the user; the command line prints only the message."""


class UsageError(TaxiAssetsError):
    """The user asked for something that makes no sense (a month, a setting, a table name)."""


class UnknownSettingWarning(UserWarning):
    """A variable is called like a setting, and sets none."""


class InterruptedByUserError(TaxiAssetsError):
    """The user ended it, by Ctrl-C. The message says what that leaves."""


class LandingError(TaxiAssetsError):
    """A file in landing is absent, ambiguous, or not what its name says."""


class FetchError(TaxiAssetsError):
    """A file can't be fetched. Landing is as it was."""


class ContractError(TaxiAssetsError):
    """A frame or a stored table doesn't have the columns and types of its contract."""


class LakeError(TaxiAssetsError):
    """The lake can't be read or written as asked."""


class OutOfTimeError(LakeError):
    """What was asked of the lake took longer than it was given."""


class UnreadableRowsError(LakeError):
    """Rows that were to be stored can't be computed, as what they come from is damaged."""


class FailingRuleError(TaxiAssetsError):
    """Rows break a rule of which one broken row keeps a partition from being published."""


class PublishLimitExceededError(TaxiAssetsError):
    """So many rows of a partition break rules that it wasn't published; what was stored before still stands."""
