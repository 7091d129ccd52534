r"""Text in Markdown, where Dagster's UI renders it: descriptions of check results and events, and Markdown metadata.

What comes from files, names or people is data there: an image in it would be asked for by whoever opens the page. All
of it goes through `markdown_of` on its way in, and through `text_of` on its way out to whoever renders none. Elsewhere
(text and table metadata, failures, logs, ticks, tags) the UI shows text as it is, and `printable` is enough.
"""

from __future__ import annotations

import re
from typing import Final

from taxi_assets.errors import printable

# What means something within a line; an underscore within a word doesn't.
_WITHIN: Final = r"(?P<within>[\\`*\[\]<>|~&]|_(?<![^\W_]_)|_(?![^\W_]))"
# What makes a list, heading, quotation or rule of a line that it begins, and a blank, which makes code of it.
_BEGINNING: Final = r"\A(?:(?P<first>[-+=#])|(?P<number>\d{1,9})(?P<dot>[.)])|(?P<blank>\s))"
# GitHub's Markdown makes links of addresses that aren't marked up, and finds them after it has undone all escapes. A
# piece of code within one keeps it from being found, and is shown like the rest.
_LINKED: Final = r"(?P<linked>https?(?=://)|www(?=\.)|@)"
_SPECIAL: Final = re.compile(f"{_BEGINNING}|{_LINKED}|{_WITHIN}", re.IGNORECASE)
_ESCAPED: Final = re.compile(r"\\(?P<mark>[!-/:-@\[-`{-~])|`(?P<linked>https?|www|@)`|&#(?P<blank>\d+);", re.IGNORECASE)


def markdown_of(text: str) -> str:
    """Return Markdown that is shown as a text, in one line, whatever is in it; what can't be seen is written out."""
    return _SPECIAL.sub(_escaped, printable(text))


def text_of(markdown: str) -> str:
    """Return the text that `markdown_of` has made Markdown of."""
    return _ESCAPED.sub(lambda found: found["mark"] or found["linked"] or chr(int(found["blank"])), markdown)


def _escaped(found: re.Match[str]) -> str:
    if found["linked"]:
        return f"`{found['linked']}`"
    if found["blank"]:
        return f"&#{ord(found['blank'])};"
    return f"{found['number'] or ''}\\{found['dot'] or found['first'] or found['within']}"
