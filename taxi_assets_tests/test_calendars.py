"""Months as a user writes them: single ones, ranges, and what is said of a text that is neither."""

from __future__ import annotations

from datetime import date

import pytest

from taxi_assets.calendars import Month, parse_months
from taxi_assets.errors import UsageError

pytestmark = pytest.mark.fast


def test_a_month_is_read_and_written_as_year_and_two_digits() -> None:
    month = Month.parse("2024-01")
    assert month == Month(2024, 1)
    assert str(month) == "2024-01"


def test_blanks_around_a_month_dont_matter() -> None:
    assert Month.parse(" 2024-01\n") == Month(2024, 1)


@pytest.mark.parametrize(
    "text",
    [
        "2024-1",
        "2024/01",
        "202401",
        "2024-01-01",
        "24-01",
        "2024-0\N{FULLWIDTH DIGIT ONE}",
        "January 2024",
        "",
        "2024_01",
        "x2024-01",
    ],
)
def test_what_isnt_a_month_is_an_error_that_shows_how_to_write_one(text: str) -> None:
    with pytest.raises(UsageError) as caught:
        Month.parse(text)
    assert str(caught.value) == f"'{text}' is not a month. Write it as year and month with two digits: 2024-01."


@pytest.mark.parametrize("text", ["2024-00", "2024-13", "2024-99", "0000-01"])
def test_a_month_that_no_calendar_has_is_an_error_that_names_it(text: str) -> None:
    with pytest.raises(UsageError, match=f"There is no month {text}; months run from 01 to 12"):
        Month.parse(text)


def test_a_month_stands_in_tables_as_the_date_of_its_first_day() -> None:
    assert Month(2023, 12).first_day == date(2023, 12, 1)
    assert Month.of(date(2023, 12, 31)) == Month(2023, 12)


@pytest.mark.parametrize(("month", "after"), [("2024-01", "2024-02"), ("2024-11", "2024-12"), ("2024-12", "2025-01")])
def test_december_is_followed_by_january(month: str, after: str) -> None:
    assert Month.parse(month).next() == Month.parse(after)


def test_months_are_ordered_by_year_first() -> None:
    assert sorted([Month(2024, 1), Month(2023, 12), Month(2023, 2)]) == [
        Month(2023, 2),
        Month(2023, 12),
        Month(2024, 1),
    ]


def test_a_range_holds_both_its_ends_and_crosses_new_year() -> None:
    assert [str(month) for month in parse_months(["2023-11:2024-02"])] == ["2023-11", "2023-12", "2024-01", "2024-02"]


def test_a_range_from_a_month_to_itself_is_that_month() -> None:
    assert parse_months(["2024-01:2024-01"]) == [Month(2024, 1)]


def test_months_named_twice_run_once_and_in_order() -> None:
    found = parse_months(["2024-03", "2024-01:2024-03", "2023-12"])
    assert [str(month) for month in found] == ["2023-12", "2024-01", "2024-02", "2024-03"]


def test_a_backward_range_is_an_error_that_shows_it_the_right_way_round() -> None:
    with pytest.raises(UsageError) as caught:
        parse_months(["2024-02:2023-11"])
    assert str(caught.value) == (
        "The range '2024-02:2023-11' runs backwards. Write the earlier month first: 2023-11:2024-02."
    )


@pytest.mark.parametrize("text", ["2024-01:", ":2024-01", "2024-01:2024", "2024-01:2024-02:2024-03"])
def test_half_a_range_is_an_error(text: str) -> None:
    with pytest.raises(UsageError, match="is not a month"):
        parse_months([text])
