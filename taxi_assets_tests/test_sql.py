"""The lake in SQL: every stored table under its name, read-only, and no way out of it."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import narwhals.stable.v1 as nw
import polars as pl
import pytest

from taxi_assets import sql
from taxi_assets.contracts import Contract, Date, String, column
from taxi_assets.engines import PolarsEngine
from taxi_assets.errors import UsageError
from taxi_assets.lake.lake import Lake

pytestmark = pytest.mark.fast

MONTH = date(2024, 1, 1)


class Cabs(Contract, table="sql_test/cabs", partition=("source_month",)):
    """Cabs by month."""

    name: String = column("Name.")
    source_month: Date = column("Month.")


class Never(Contract, table="sql_test/never_stored", partition=("source_month",)):
    """A table that is never stored."""

    source_month: Date = column("Month.")


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Lake:
    lake = Lake(str(tmp_path_factory.mktemp("lake")), {}, PolarsEngine())
    rows = nw.from_native(pl.LazyFrame({"name": ["a", "b"], "source_month": [MONTH, MONTH]}))
    lake.engine.replace(Cabs, lake.location(Cabs), rows, {"source_month": MONTH})
    return lake


def ask(lake: Lake, statement: str) -> list[tuple[object, ...]]:
    return sql.query(lake, [Cabs, Never], statement)[1]


def test_a_table_is_asked_under_its_name(lake: Lake) -> None:
    assert ask(lake, "SELECT * FROM sql_test.cabs ORDER BY name") == [("a", MONTH), ("b", MONTH)]
    assert ask(lake, "FROM sql_test.cabs SELECT count(*)") == [(2,)]


def test_a_column_that_a_contract_has_gained_is_null_where_files_lack_it(tmp_path: Path) -> None:
    class Painted(Cabs, table="sql_test/painted", partition=("source_month",)):
        """Cabs by month, of a time when colours are written down, too."""

        colour: String = column("Colour.", after="name")

    lake = Lake(str(tmp_path), {}, PolarsEngine())
    old = nw.from_native(pl.LazyFrame({"name": ["a"], "source_month": [MONTH]}))
    lake.engine.replace(Cabs, lake.location(Painted), old, {"source_month": MONTH})
    everything = "SELECT * FROM sql_test.painted ORDER BY name"
    assert sql.query(lake, [Painted], everything)[1] == [("a", None, MONTH)]

    new = nw.from_native(
        pl.LazyFrame({"name": ["b"], "colour": ["red"], "source_month": [date(2024, 2, 1)]}),
    )
    lake.engine.replace(Painted, lake.location(Painted), new, {"source_month": date(2024, 2, 1)})
    assert sql.query(lake, [Painted], everything)[1] == [("a", None, MONTH), ("b", "red", date(2024, 2, 1))]


def test_a_statement_without_rows_in_its_answer_still_has_columns(lake: Lake) -> None:
    assert sql.query(lake, [Cabs], "SELECT name FROM sql_test.cabs WHERE name = 'z'") == (["name"], [])


def test_columns_of_one_name_are_told_apart_by_who_asks_rather_than_dropped(lake: Lake) -> None:
    with pytest.raises(UsageError, match="gives two columns one name"):
        ask(lake, "SELECT 1 AS a, 2 AS a")


def test_a_table_of_which_nothing_is_stored_yet_is_there_without_rows(lake: Lake) -> None:
    assert sql.query(lake, [Never], "SELECT * FROM sql_test.never_stored") == (["source_month"], [])


def test_the_tables_that_are_listed_are_those_there_are(lake: Lake) -> None:
    listed = ask(lake, "SELECT table_schema || '.' || table_name FROM information_schema.tables ORDER BY 1")
    assert listed == [("sql_test.cabs",), ("sql_test.never_stored",)]


@pytest.mark.parametrize(
    "statement",
    [
        "SELECT * FROM sql_test.unheard_of",
        "SELECT nothing FROM sql_test.cabs",
        "SELEC 1",
        "",
        "INSERT INTO sql_test.cabs VALUES ('c', '2024-01-01')",
        "DELETE FROM sql_test.cabs",
        "CREATE TABLE sql_test.more AS SELECT 1",
        "DROP VIEW sql_test.cabs",
        "SELECT 1; SELECT 2; CREATE TABLE x (y INT)",
    ],
)
def test_what_cant_be_run_or_isnt_a_question_is_an_error_of_ours(lake: Lake, statement: str) -> None:
    with pytest.raises(UsageError, match=r"^This SQL "):
        ask(lake, statement)


@pytest.mark.parametrize(
    "statement",
    [
        "COPY (SELECT 1) TO '{folder}/out.csv'",
        "ATTACH '{folder}/other.duckdb'",
        "SELECT * FROM read_csv('{folder}/secret.csv')",
        "SELECT * FROM '{folder}/secret.csv'",
        "SELECT * FROM read_text('{folder}/secret.csv')",
        "SELECT * FROM glob('{folder}/*')",
        "EXPORT DATABASE '{folder}/out'",
        "INSTALL httpfs",
        "LOAD httpfs",
        "SET enable_external_access = true",
        "SELECT * FROM read_parquet('https://example.com/x.parquet')",
    ],
)
def test_no_statement_gets_at_other_files_or_the_network(lake: Lake, tmp_path: Path, statement: str) -> None:
    (tmp_path / "secret.csv").write_text("a,b\n1,2\n")
    with pytest.raises(UsageError, match=r"^This SQL "):
        ask(lake, statement.format(folder=tmp_path))
    assert [path.name for path in tmp_path.iterdir()] == ["secret.csv"]


def test_an_error_that_shows_only_while_rows_are_fetched_is_one_of_ours_too(lake: Lake) -> None:
    with pytest.raises(UsageError, match=r"^This SQL "):
        ask(lake, "SELECT CAST(name AS INTEGER) FROM sql_test.cabs")


def test_no_python_variable_of_the_program_is_a_table(lake: Lake) -> None:
    with pytest.raises(UsageError, match="contracts"):
        ask(lake, "SELECT * FROM contracts")
