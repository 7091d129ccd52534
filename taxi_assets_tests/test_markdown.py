"""Text made Markdown and back, and what is written out of it; that the UI shows it is for full/test_hostile_text.py."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from taxi_assets.errors import printable
from taxi_assets.markdown import markdown_of, text_of

pytestmark = pytest.mark.fast


@settings(max_examples=200, deadline=None)
@given(st.text(alphabet=st.sampled_from("\\`*_[]<>|~&!#+-=().1a @:/wht\n\u202eé"), max_size=30) | st.text(max_size=30))
def test_a_text_is_had_back_from_its_markdown(text: str) -> None:
    assert text_of(markdown_of(text)) == printable(text)


@pytest.mark.parametrize(
    ("text", "markdown"),
    [
        ("![i](/graphql?query=x)", r"!\[i\](/graphql?query=x)"),
        ("[l](javascript:x)", r"\[l\](javascript:x)"),
        ("<img src=x>", r"\<img src=x\>"),
        ("<http://a.example>", r"\<`http`://a.example\>"),
        ("see HTTPS://a.example", "see `HTTPS`://a.example"),
        ("www.a.example, me@a.example", "`www`.a.example, me`@`a.example"),
        ("# a", r"\# a"),
        ("- a", r"\- a"),
        ("12. a", r"12\. a"),
        ("    a", "&#32;   a"),
        ("a | b", r"a \| b"),
        ("`a` *b* _c_ ~d~ &amp; \\", r"\`a\` \*b\* \_c\_ \~d\~ \&amp; \\"),
        ("a\n# b", r"a\\n# b"),
    ],
)
def test_what_would_mean_something_in_markdown_means_nothing(text: str, markdown: str) -> None:
    assert markdown_of(text) == markdown


@pytest.mark.parametrize(
    "text",
    ["259 of 68,211 rows (0.380%)", "Unknown: store_and_fwd_flag (int), was 1.5 - 2 times.", "Nordrhein-Westfalen"],
)
def test_words_and_figures_are_left_as_they_are(text: str) -> None:
    assert markdown_of(text) == text


def test_a_result_of_former_versions_which_is_no_markdown_is_had_as_it_is() -> None:
    assert text_of("Unknown: _a (C:\\data), 'b*'.") == "Unknown: _a (C:\\data), 'b*'."


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a\x1b[2J\n", r"a\x1b[2J\n"),
        ("fare\u202etxt", r"fare\u202etxt"),
        ("\u2066a\u2069 \u061c\u200f", r"\u2066a\u2069 \u061c\u200f"),
        ("fare\u200bamount\ufeff\u00ad", r"fare\u200bamount\ufeff\xad"),
        ("fare\u200d_amount \u200c", r"fare\u200d_amount \u200c"),
        ("\u3164\u115f\u2800\u034f", r"\u3164\u115f\u2800\u034f"),
        ("क्\u200dष", "क्\u200dष"),
        ("क\u200dष", r"क\u200dष"),
        ("نمی\u200cشد", "نمی\u200cشد"),
        ("می\u200c", r"می\u200c"),
        ("ทดสอบ 中文 é ß 🚕", "ทดสอบ 中文 é ß 🚕"),
    ],
)
def test_what_cant_be_seen_is_written_out_and_what_scripts_need_stays(text: str, shown: str) -> None:
    assert printable(text) == shown
