"""A metric view that can't be computed is refused by the line and the field that is wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

from taxi_assets.catalogs import contracts
from taxi_assets.errors import UsageError
from taxi_assets.metrics import load_view, shipped_views
from taxi_assets_tests.metrics.shops import TABLES, VIEW

pytestmark = pytest.mark.fast

COLUMNS = {name: contract.column_names() for name, contract in TABLES.items()}


def refusal(folder: Path, text: str) -> str:
    path = folder / "shops.yaml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(UsageError) as refused:
        load_view(path, COLUMNS)
    return str(refused.value)


def line_of(text: str, part: str) -> int:
    return text[: text.index(part)].count("\n") + 1


@pytest.mark.parametrize(
    ("written", "instead", "field", "says"),
    [
        ('version: "1.1"', 'version: "0.1"', "version", "Input should be '1.1'"),
        ("comment: Sales of shops.", "owner: me", "owner", "isn't supported"),
        ("source: shops.sales", "source: shops.sale", "source", "There is no table 'shops.sale'. Is it shops.sales?"),
        ("amount >= 0", "amount >=", "filter", "this is no SQL expression"),
        ("amount >= 0", "price >= 0", "filter", "source has no column 'price'. It has: day_id"),
        ("source: shops.days", "source: shops.dates", "joins.days.source", "There is no table 'shops.dates'"),
        ("= days.day_id", "= day.day_id", "joins.days.on", "there is no 'day'. There are: source, days."),
        ("source.day_id =", "places.shop_id =", "joins.days.on", "there is no 'places'. There are: source, days."),
        ("using: [shop_id]", "using: [shop]", "joins.places.using", "has no column 'shop'"),
        ("using: [shop_id]", "cardinality: many", "joins.places.cardinality", "isn't supported"),
        ("expr: days.date", "expr: days.day", "dimensions.date.expr", "days has no column 'day'"),
        ("expr: days.date", "expr: MAX(days.date)", "dimensions.date.expr", "this aggregates"),
        (
            "DATE_TRUNC('MONTH', date)",
            "DAYOFWEEK(date)",
            "dimensions.month.expr",
            "function day_of_week isn't supported",
        ),
        ("DATE_TRUNC('MONTH', date)", "SQRT(shop)", "dimensions.month.expr", "or, sum, try_divide, upper, year."),
        ("name: city", "name: Shop", "dimensions.Shop.name", "there is another Shop"),
        ("expr: places.city", "exp: places.city", "dimensions.city.expr", "missing"),
        ("expr: COUNT(*)", "expr: amount", "measures.sales.expr", "a measure aggregates"),
        ("expr: COUNT(*)", "expr: SUM(amount) OVER ()", "measures.sales.expr", "isn't supported"),
        ("expr: COUNT(*)", "expr: SUM(amount); DROP TABLE x", "measures.sales.expr", "isn't supported"),
        ("expr: COUNT(*)", "expr: SUM((SELECT 1))", "measures.sales.expr", "isn't supported"),
        ("expr: COUNT(*)", "expr: SUM(COUNT(*))", "measures.sales.expr", "COUNT(*) is already an aggregate"),
        ("expr: COUNT(*)", "expr: SUM(MEASURE(revenue))", "measures.sales.expr", "is already an aggregate"),
        ("expr: COUNT(*)", "expr: SUM(amount) + date", "measures.sales.expr", "date isn't aggregated"),
        ("expr: COUNT(*)", "expr: CAST(AVG(amount) AS INT)", "measures.sales.expr", "DuckDB rounds"),
        ("expr: COUNT(*)", f"expr: {'(' * 2000}COUNT(*)", "measures.sales.expr", "nested too deep"),
        (
            "MEASURE(pieces)",
            "MEASURE(peaces)",
            "measures.revenue_per_piece.expr",
            "no measure 'peaces' before this one",
        ),
        ("range: trailing 7 day", "range: trailing week", "measures.week_before.window.0.range", "match pattern"),
        ("order: date", "order: day", "measures.week_before.window.0.order", "no dimension 'day'. There are: date"),
        ("range: all", "range: all, offset: -1 day", "measures.of_all_days.window.0.offset", "isn't supported"),
        (
            "expr: MEASURE(revenue)\n",
            "expr: MEASURE(week_before)\n",
            "measures.so_far.expr",
            "nor have a window itself",
        ),
    ],
)
def test_what_is_wrong_with_a_view_is_said_with_its_line_and_field(
    tmp_path: Path, written: str, instead: str, field: str, says: str
) -> None:
    text = VIEW.replace(written, instead, 1)
    assert text != VIEW

    refused = refusal(tmp_path, text)

    where, _, problem = refused.partition(": ")
    assert says in problem
    assert where.endswith(f", {field}")
    line = int(where.split("line ")[1].split(",")[0])
    # What is missing has no line of its own: that of what it is missing in.
    assert line in {line_of(text, instead), line_of(text, instead) - 1}


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("version: [", "this is no YAML"),
        ("", "shops.yaml, line 1, the whole"),
        ("- version", "the whole"),
        ("[" * 2000, "shops.yaml: this is no YAML: it is nested too deep."),
        (VIEW + "version: '1.1'\n", "line 72: this is no YAML: found duplicate key"),
    ],
)
def test_what_is_no_view_at_all_is_said_so(tmp_path: Path, text: str, says: str) -> None:
    assert says in refusal(tmp_path, text)


def test_a_version_needs_no_quotes(tmp_path: Path) -> None:
    (tmp_path / "shops.yaml").write_text(VIEW.replace('"1.1"', "1.1"), encoding="utf-8")

    assert load_view(tmp_path / "shops.yaml", COLUMNS).version == "1.1"


@pytest.mark.parametrize("content", [b"a: \x07b", b"\xff\xfe"])
def test_a_file_of_no_text_is_said_to_be_no_yaml(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "shops.yaml").write_bytes(content)

    with pytest.raises(UsageError, match=r"shops.yaml: this is no YAML"):
        load_view(tmp_path / "shops.yaml")


def test_a_file_that_cant_be_read_is_said_so(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="can't be read: No such file"):
        load_view(tmp_path / "none.yaml")


@pytest.mark.parametrize("name", shipped_views())
def test_a_view_that_is_shipped_names_only_tables_and_columns_that_there_are(name: str) -> None:
    columns = {contract.stored_as().sql_name: contract.column_names() for contract in contracts()}

    assert load_view(shipped_views()[name], columns).comment
