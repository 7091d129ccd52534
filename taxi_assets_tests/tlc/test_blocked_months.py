"""The file in landing that blocks months: what it may say, and what is told of a line that says something else."""

from __future__ import annotations

from pathlib import Path

import pytest

from taxi_assets.errors import LandingError
from taxi_assets.landing import Landing
from taxi_assets.months import Month
from taxi_assets.tlc.blocked_months import BLOCKED_MONTHS, blocked_months
from taxi_assets.vocabulary import Service

pytestmark = pytest.mark.fast


def blocked(folder: Path, text: str | bytes) -> dict[str, str]:
    """Return what a file of this text blocks."""
    content = text if isinstance(text, bytes) else text.encode()
    (folder / BLOCKED_MONTHS).write_bytes(content)
    return {
        f"{service} {month}": reason for (service, month), reason in blocked_months(Landing(str(folder), {})).items()
    }


def test_without_the_file_nothing_is_blocked(tmp_path: Path) -> None:
    assert blocked_months(Landing(str(tmp_path), {})) == {}


def test_a_line_blocks_a_month_or_a_range_of_a_service_with_its_reason(tmp_path: Path) -> None:
    text = (
        "# service month reason\n\ngreen 2024-03  Fares are in cents, TLC is told.\nfhv\t2019-12:2020-01\twithdrawn\n"
    )
    assert blocked(tmp_path, text) == {
        "green 2024-03": "Fares are in cents, TLC is told.",
        "fhv 2019-12": "withdrawn",
        "fhv 2020-01": "withdrawn",
    }


def test_lines_may_end_as_on_windows_and_begin_with_a_byte_order_mark(tmp_path: Path) -> None:
    assert blocked(tmp_path, b"\xef\xbb\xbfgreen 2024-03 bad\r\nyellow 2024-03 bad, too\r\n") == {
        "green 2024-03": "bad",
        "yellow 2024-03": "bad, too",
    }


def test_a_month_that_is_blocked_twice_has_both_reasons(tmp_path: Path) -> None:
    assert blocked(tmp_path, "green 2024-01:2024-02 old meters\ngreen 2024-02 cents") == {
        "green 2024-01": "old meters",
        "green 2024-02": "old meters; cents",
    }


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("gren 2024-03 bad", "There is no service 'gren'; there are yellow, green, fhv, fhvhv."),
        ("green 2024-3 bad", "'2024-3' is not a month."),
        ("green 2024-13 bad", "There is no month 2024-13"),
        ("green 2024-05:2024-03 bad", "The range '2024-05:2024-03' runs backwards."),
        ("green 2024-03", "there is none"),
        ("green", "there is none"),
    ],
    ids=["no service", "no month", "month 13", "backwards", "no reason", "no month and no reason"],
)
def test_a_mistake_is_one_error_that_names_the_line_and_what_a_line_is(tmp_path: Path, line: str, problem: str) -> None:
    with pytest.raises(LandingError) as caught:
        blocked(tmp_path, f"# so far so good\nyellow 2024-01 fine\n{line}\nfhv wrong as well\n")
    message = str(caught.value)
    assert message.startswith("blocked_months.txt in landing, line 3: ")
    assert problem in message
    assert message.endswith("A line is a service, a month or a range, and why: green 2024-03 fares are in cents.")
    assert "\n" not in message


def test_a_file_that_is_no_text_is_an_error_that_names_it(tmp_path: Path) -> None:
    with pytest.raises(LandingError, match=r"blocked_months\.txt in landing can't be read: .*UTF-8"):
        blocked(tmp_path, b"green 2024-03 \xff\xfe")


def test_a_month_that_has_other_services_too_is_blocked_for_its_own_alone(tmp_path: Path) -> None:
    (tmp_path / BLOCKED_MONTHS).write_text("green 2024-03 bad")
    assert set(blocked_months(Landing(str(tmp_path), {}))) == {(Service.GREEN, Month(2024, 3))}
