"""What a metric view answers is what looping over its rows finds, whatever is asked by whatever."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import date, timedelta
from itertools import chain, combinations
from pathlib import Path
from typing import Any

import pytest

from taxi_assets.errors import UsageError
from taxi_assets.lake.lake import Lake
from taxi_assets.metrics import MetricView, answer, compile_query, load_view
from taxi_assets_tests.metrics.shops import TABLES, VIEW, lake_of, rows

pytestmark = pytest.mark.fast

Row = dict[str, Any]
DIMENSIONS = ("date", "month", "is_weekend", "shop", "city")
GROUPINGS = [
    *chain.from_iterable(combinations(DIMENSIONS, count) for count in range(3)),
    ("city", "date"),
    DIMENSIONS,
]
CONDITIONS: dict[str | None, Callable[[Row], bool]] = {
    None: lambda _: True,
    "city = 'Aachen'": lambda row: row["city"] == "Aachen",
    "shop IS NULL OR shop > 1": lambda row: row["shop"] is None or row["shop"] > 1,
}
DATE_CONDITIONS: dict[str, Callable[[Row], bool]] = {
    "date = DATE'2024-02-01'": lambda row: row["date"] == date(2024, 2, 1),
    "date > DATE'2024-01-26' AND is_weekend": lambda row: row["date"] > date(2024, 1, 26) and row["is_weekend"],
    "month = DATE'2024-02-01'": lambda row: row["month"] == date(2024, 2, 1),
    "MONTH(date) = 2 AND YEAR(date) = 2024 AND DAY(date) > 1": lambda row: row["date"] > date(2024, 2, 1),
}
DAY = timedelta(days=1)
WINDOWS: dict[str, tuple[Callable[[date, date], bool], str]] = {
    "week_before": (lambda day, at: at - 7 * DAY <= day < at, "amount"),
    "buyers_of_the_week_before": (lambda day, at: at - 7 * DAY <= day < at, "buyer"),
    "so_far": (lambda day, at: day <= at, "amount"),
    "of_the_day": (lambda day, at: day == at, "amount"),
    "next_two_days": (lambda day, at: at < day <= at + 2 * DAY, "amount"),
    "of_all_days": (lambda _day, _at: True, "amount"),
}


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Lake:
    return lake_of(tmp_path_factory.mktemp("shops"))


@pytest.fixture(scope="module")
def view(tmp_path_factory: pytest.TempPathFactory) -> MetricView:
    path = tmp_path_factory.mktemp("view") / "shops.yaml"
    path.write_text(VIEW, encoding="utf-8")
    return load_view(path, {name: contract.column_names() for name, contract in TABLES.items()})


def sold() -> list[Row]:
    return [row for row in rows() if row["amount"] >= 0]  # type: ignore[operator]


def grouped(found: Iterable[Row], by: tuple[str, ...]) -> dict[tuple[Any, ...], list[Row]]:
    groups: dict[tuple[Any, ...], list[Row]] = {}
    for row in found:
        groups.setdefault(tuple(row[name] for name in by), []).append(row)
    return groups if by else groups or {(): []}


def total(found: list[Row], column: str) -> int | None:
    if column == "buyer":
        return len({row["buyer"] for row in found}) if found else None
    return sum(row[column] for row in found) if found else None


def plain(found: list[Row]) -> Row:
    pieces, weekend = total(found, "quantity"), sum(row["is_weekend"] for row in found)
    return {
        "revenue": total(found, "amount"),
        "sales": len(found),
        "pieces": pieces,
        "revenue_per_piece": total(found, "amount") / pieces if pieces else None,  # type: ignore[operator]
        "weekend_share": weekend / len(found) if found else None,
        "buyers": len({row["buyer"] for row in found}),
    }


def keyed(answered: list[Row], by: tuple[str, ...], measures: Iterable[str]) -> dict[tuple[Any, ...], Row]:
    return {tuple(row[name] for name in by): {name: row[name] for name in measures} for row in answered}


@pytest.mark.parametrize("where", CONDITIONS)
@pytest.mark.parametrize("by", GROUPINGS, ids=",".join)
def test_measures_are_those_of_each_groups_rows(
    lake: Lake, view: MetricView, by: tuple[str, ...], where: str | None
) -> None:
    expected = {key: plain(of) for key, of in grouped(filter(CONDITIONS[where], sold()), by).items()}

    answered = answer(lake, TABLES, view, list(plain([])), by, where)

    found = keyed(answered, by, plain([]))
    assert len(answered) == len(found) == len(expected)
    for key, measures in expected.items():
        assert found[key] == {name: pytest.approx(value) for name, value in measures.items()}


@pytest.mark.parametrize("where", [*CONDITIONS, *DATE_CONDITIONS])
@pytest.mark.parametrize("by", GROUPINGS, ids=",".join)
def test_a_window_holds_the_rows_around_the_date_of_a_group_and_else_like_it(
    lake: Lake, view: MetricView, by: tuple[str, ...], where: str | None
) -> None:
    everywhere = CONDITIONS.get(where, lambda _: True)
    picked = {**CONDITIONS, **DATE_CONDITIONS}[where]
    of_the_date = {"date", "month", "is_weekend"}
    alike = tuple(name for name in by if name not in of_the_date)
    pool = grouped(filter(everywhere, sold()), alike)
    expected = {}
    for key, of in grouped(filter(picked, sold()), by).items():
        like = pool[tuple(value for name, value in zip(by, key, strict=True) if name in alike)]
        expected[key] = {}
        for name, (within, column) in WINDOWS.items():
            at = (min if name == "of_the_day" else max)(row["date"] for row in of)
            expected[key][name] = total([row for row in like if within(row["date"], at)], column)

    answered = answer(lake, TABLES, view, list(WINDOWS), by, where)

    assert len(answered) == len(expected)
    assert keyed(answered, by, WINDOWS) == expected


@pytest.fixture(scope="module")
def by_month(tmp_path_factory: pytest.TempPathFactory) -> MetricView:
    """Return the view with windows that are ordered by what is coarser than a day."""
    path = tmp_path_factory.mktemp("by-month") / "shops.yaml"
    path.write_text(VIEW.replace("order: date", "order: month").replace("7 day", "1 month"), encoding="utf-8")
    return load_view(path)


def test_a_finer_dimension_than_the_one_that_orders_a_window_is_one_of_those_to_be_alike(
    lake: Lake, by_month: MetricView
) -> None:
    by_day = answer(lake, TABLES, by_month, ["of_the_day"], ["date"])

    assert [row["of_the_day"] for row in by_day] == [
        total(of, "amount") for _, of in sorted(grouped(sold(), ("date",)).items())
    ]


def test_a_column_beside_the_one_that_orders_a_window_is_refused_where_it_doesnt_follow_from_it(
    lake: Lake, tmp_path: Path
) -> None:
    text = VIEW.replace("order: date", "order: is_weekend")
    (tmp_path / "shops.yaml").write_text(text, encoding="utf-8")
    view = load_view(tmp_path / "shops.yaml")

    assert answer(lake, TABLES, view, ["of_the_day"], ["is_weekend"])
    with pytest.raises(UsageError, match=r"`days`.`date` doesn't follow from is_weekend, .* shops.days has several"):
        answer(lake, TABLES, view, ["of_the_day"], ["date"])


def test_a_measure_of_windowed_measures_is_made_of_their_values(lake: Lake, view: MetricView) -> None:
    names = ["share_of_so_far", "growth", "of_the_day", "week_before", "so_far"]
    answered = answer(lake, TABLES, view, names, ["date"])

    assert len(answered) == 13
    for row in answered[1:-3]:
        assert row["growth"] == pytest.approx(row["of_the_day"] - row["week_before"] / 7)
        assert row["share_of_so_far"] == pytest.approx(row["of_the_day"] / row["so_far"])


def test_a_result_is_sorted_by_its_dimensions_with_nulls_first(lake: Lake, view: MetricView) -> None:
    cities = [row["city"] for row in answer(lake, TABLES, view, ["sales"], ["city"])]

    assert cities == [None, "Aachen", "Bonn"]


@pytest.mark.parametrize("dialect", ["duckdb", "spark"])
@pytest.mark.parametrize(
    ("measures", "by", "where", "joined"),
    [
        (["revenue"], ["shop"], None, set()),
        (["revenue"], ["month"], None, {"days"}),
        (["revenue"], [], "city = 'Bonn'", {"places"}),
        (["weekend_share"], ["city"], None, {"days", "places"}),
        (["week_before"], [], None, {"days"}),
    ],
)
def test_only_joins_that_a_question_needs_are_in_its_query(
    view: MetricView, measures: list[str], by: list[str], where: str | None, joined: set[str], dialect: Any
) -> None:
    statement = compile_query(view, measures, by, where, dialect=dialect)

    assert {name for name in ("days", "places") if f"shops.{name}" in statement} == joined


def test_a_join_that_promises_nothing_is_always_made(view: MetricView) -> None:
    unsure = view.model_copy(update={"joins": tuple(one.model_copy(update={"rely": None}) for one in view.joins)})

    assert "shops.places" in compile_query(unsure, ["revenue"])


@pytest.mark.parametrize(
    ("measures", "by", "where", "says"),
    [
        (["revenu"], [], None, "There is no measure 'revenu'. Is it revenue?"),
        (["revenue"], ["town"], None, "There is no dimension 'town'. There are: date, month, is_weekend, shop, city."),
        ([], ["city"], None, "Which measures?"),
        (["revenue", "revenue"], [], None, "Asked for more than once: revenue."),
        (["revenue"], [], "town = 'Bonn'", "The condition town = 'Bonn': There is no dimension 'town'."),
        (["revenue"], [], "revenue > 5", "There is no dimension 'revenue'"),
        (["revenue"], [], "city = ", "The condition city = : this is no SQL expression"),
        (["revenue"], [], "SUM(shop) > 3", "this aggregates; only a measure does."),
        (["revenue"], [], "shop IN (SELECT 1)", "isn't supported"),
        (["week_before"], [], "date > DATE'2024-01-01' OR city = 'Bonn'", "mixes date, which orders a window"),
    ],
)
def test_a_question_that_cant_be_answered_is_refused_by_one_line(
    view: MetricView, measures: list[str], by: list[str], where: str | None, says: str
) -> None:
    with pytest.raises(UsageError) as refused:
        compile_query(view, measures, by, where)

    assert says in str(refused.value)
    assert "\n" not in str(refused.value)
