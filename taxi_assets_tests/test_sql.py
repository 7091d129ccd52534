"""The lake in SQL: every stored table under its name, read-only, and no way out of it."""

from __future__ import annotations

import re
import shutil
import signal
import threading
from array import array
from collections.abc import Mapping
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from types import MappingProxyType
from typing import Final

import narwhals.stable.v1 as nw
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake.transaction import AddAction

from taxi_assets import sql
from taxi_assets.contracts import Contract, Date, String, column
from taxi_assets.engines import PolarsEngine
from taxi_assets.errors import LakeError, OutOfTimeError, UsageError
from taxi_assets.lake.lake import Lake

pytestmark = pytest.mark.fast

MONTH = date(2024, 1, 1)
NO_BOUNDS = '{"numRecords": 2, "minValues": {}, "maxValues": {}, "nullCount": {"name": 0}}'
NO_OPTIONS: Final[Mapping[str, str]] = MappingProxyType({})


class Cabs(Contract, table="sql_test/cabs", replaced_by=("source_month",)):
    """Cabs by month."""

    name: String = column("Name.")
    source_month: Date = column("Month.")


class Never(Contract, table="sql_test/never_stored", replaced_by=("source_month",)):
    """A table that is never stored."""

    source_month: Date = column("Month.")


def store(lake: Lake, *names: str) -> None:
    """Put cabs of some names in the place of those that the lake has."""
    rows = nw.from_native(pl.LazyFrame({"name": list(names), "source_month": [MONTH] * len(names)}))
    lake.engine.replace(Cabs, lake.location(Cabs), rows, {"source_month": MONTH})


def with_cabs(root: str, options: Mapping[str, str] = NO_OPTIONS) -> Lake:
    """Return a lake with two cabs."""
    lake = Lake(root, options, PolarsEngine())
    store(lake, "a", "b")
    return lake


def without_bounds(lake: Lake) -> None:
    """Take the bounds of a lake's cabs from the log, as ours does with those of long texts."""
    table = lake.location(Cabs).open_stored(Cabs)
    (path,), (size,) = (table.get_add_actions().column(name).to_pylist() for name in ("path", "size_bytes"))
    action = AddAction(path, size, {"source_month": MONTH.isoformat()}, 0, True, NO_BOUNDS)
    table.create_write_transaction([action], "overwrite", table.schema(), ["source_month"])


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Lake:
    return with_cabs(str(tmp_path_factory.mktemp("lake")))


def ask(lake: Lake, statement: str, as_of: datetime | None = None) -> list[tuple[object, ...]]:
    return sql.query(lake, [Cabs, Never], statement, as_of)[1]


def commit_time(lake: Lake, version: int) -> datetime:
    """Return when a version of the cabs was committed, as the log has it."""
    (made,) = (c["timestamp"] for c in lake.location(Cabs).open_stored(Cabs).history() if c["version"] == version)
    return datetime.fromtimestamp(made / 1000, UTC)


def test_a_table_is_asked_under_its_name(lake: Lake) -> None:
    assert ask(lake, "SELECT * FROM sql_test.cabs ORDER BY name") == [("a", MONTH), ("b", MONTH)]
    assert ask(lake, "FROM sql_test.cabs SELECT count(*)") == [(2,)]


def test_a_column_that_a_contract_has_gained_is_null_where_files_lack_it(tmp_path: Path) -> None:
    class Painted(Cabs, table="sql_test/painted", replaced_by=("source_month",)):
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


WAYS_OUT = [
    "COPY (SELECT 1) TO '{outside}/out.csv'",
    "COPY (SELECT 1 AS name) TO '{stored}' (FORMAT parquet)",
    "EXPLAIN ANALYZE COPY (SELECT 1 AS name) TO '{stored}' (FORMAT parquet, USE_TMP_FILE false)",
    "EXPLAIN ANALYZE COPY (SELECT 1) TO '{outside}/out.csv'",
    "SELECT * FROM query('COPY (SELECT 1) TO ''{stored}''')",
    "EXPORT DATABASE '{outside}/out'",
    "IMPORT DATABASE '{outside}'",
    "ATTACH '{outside}/other.duckdb'",
    "SELECT * FROM read_duckdb('{outside}/other.duckdb')",
    "SELECT * FROM read_csv('{outside}/secret.csv')",
    "SELECT * FROM sniff_csv('{outside}/secret.csv')",
    "SELECT * FROM '{outside}/secret.csv'",
    "FROM '{outside}/secret.csv'",
    "FROM 'file://{outside}/secret.csv'",
    "SELECT * FROM read_text('{outside}/secret.csv')",
    "SELECT * FROM read_blob('{outside}/secret.csv')",
    "SELECT * FROM read_text('{lake}/not_a_table.txt')",
    "SELECT * FROM read_text('{lake}/link_to_secret.csv')",
    "SELECT * FROM read_text('{lake}/../secret.csv')",
    "SELECT * FROM read_text('{stored}/../../../../../secret.csv')",
    "SELECT * FROM glob('{outside}/*')",
    "SELECT * FROM glob('{lake}/*')",
    "SELECT * FROM read_parquet('{lake}/**/*.parquet')",
    "SELECT (SELECT content FROM read_text('{outside}/secret.csv')) FROM sql_test.cabs",
    "WITH out AS (FROM read_text('{outside}/secret.csv')) FROM out",
    "WITH new AS (INSERT INTO sql_test.cabs VALUES ('c', '2024-01-01') RETURNING name) SELECT * FROM new",
    "PIVOT (FROM read_csv('{outside}/secret.csv')) ON a USING sum(b)",
    "SELECT * FROM query('FROM read_text(''{outside}/secret.csv'')')",
    "SELECT * FROM query_table('{outside}/secret.csv')",
    "SELECT * FROM json_execute_serialized_sql(json_serialize_sql('FROM read_text(''{outside}/secret.csv'')'))",
    "SELECT * FROM read_text('/etc/passwd')",
    "SELECT * FROM read_text('/proc/self/environ')",
    "SELECT * FROM read_csv('/dev/stdin')",
    "SELECT getenv('HOME')",
    "SELECT * FROM duckdb_secrets()",
    "CREATE SECRET (TYPE s3, KEY_ID 'a', SECRET 'b')",
    "INSTALL httpfs",
    "LOAD httpfs",
    "LOAD '{outside}/extension.duckdb_extension'",
    "SELECT * FROM read_parquet('http://127.0.0.1:9/x.parquet')",
    "SELECT * FROM 's3://bucket/x.parquet'",
    "SELECT * FROM delta_scan('{lake}')",
    "SET enable_external_access = true",
    "SET lock_configuration = false",
    "RESET lock_configuration",
    "SET allowed_paths = ['/etc/passwd']",
    "SET allowed_directories = ['/']",
    "PRAGMA enable_profiling = 'json'",
    "SELECT * FROM enable_profiling(save_location = '{outside}/out.json')",
    "SELECT * FROM enable_logging(storage = 'file', storage_path = '{outside}/out')",
    "CALL enable_logging(storage = 'file', storage_path = '{outside}/out')",
    "SELECT 1; COPY (SELECT 1) TO '{outside}/out.csv'",
    "CREATE VIEW sql_test.out AS FROM read_text('{outside}/secret.csv')",
    "PREPARE out AS SELECT 1",
    "DESCRIBE '{outside}/secret.csv'",
    "DESCRIBE TABLE '{outside}/secret.csv'",
    "DESCRIBE FROM read_csv('{outside}/secret.csv')",
    "SHOW '{outside}/secret.csv'",
    "SUMMARIZE '{outside}/secret.csv'",
    "SUMMARIZE FROM read_text('{outside}/secret.csv')",
    "SUMMARIZE SELECT * FROM glob('{outside}/*')",
    "SELECT * FROM (DESCRIBE '{outside}/secret.csv')",
    "SHOW TABLES FROM '{outside}/other.duckdb'",
    "SHOW TABLES; COPY (SELECT 1) TO '{outside}/out.csv'",
    "DESCRIBE sql_test.cabs; DROP VIEW sql_test.cabs",
    "DESCRIBE sql_test.cabs; COPY (SELECT 1) TO '{outside}/out.csv'",
    "EXPLAIN SELECT * FROM read_text('{outside}/secret.csv')",
    "EXPLAIN (FORMAT json) COPY (SELECT 1) TO '{outside}/out.csv'",
    "EXPLAIN (ANALYZE) COPY (SELECT 1) TO '{outside}/out.csv'",
    "SELECT * FROM read_text(current_setting('temp_directory') || '/../secret.csv')",
    "SELECT * FROM glob(current_setting('temp_directory') || '/../secret.csv')",
    "SELECT * FROM enable_logging(storage = 'file', storage_path = current_setting('temp_directory') || '/../out')",
    "SET temp_directory = '{outside}'",
    "SET memory_limit = '1TB'",
    "RESET memory_limit",
    "SET max_temp_directory_size = '1TB'",
    "PRAGMA temp_directory = '{outside}'",
    "SET VARIABLE a = 1",
    "USE sql_test",
    "CHECKPOINT",
    "VACUUM",
    "BEGIN",
    "CALL pragma_version()",
]


@pytest.mark.parametrize("statement", WAYS_OUT)
def test_no_statement_gets_at_other_files_the_network_or_the_settings_or_writes(
    tmp_path: Path, statement: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Where temporary files go, too.
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    root = tmp_path / "lake"
    lake = with_cabs(str(root))
    (stored,) = root.rglob("*.parquet")
    (tmp_path / "secret.csv").write_text("a,b\n1,2\n")
    (root / "not_a_table.txt").write_text("a")
    (root / "link_to_secret.csv").symlink_to(tmp_path / "secret.csv")
    before = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")}
    with pytest.raises(UsageError, match=r"^This SQL "):
        ask(lake, statement.format(outside=tmp_path, lake=root, stored=stored))
    assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")} == before


def test_a_table_that_a_statement_doesnt_write_out_is_an_error_rather_than_empty(lake: Lake) -> None:
    with pytest.raises(UsageError, match=r"Write out the name of sql_test.cabs"):
        ask(lake, "SELECT * FROM query_table('sql_test.' || 'ca' || 'bs')")


def test_rows_are_found_though_the_log_has_no_bounds_of_them(tmp_path: Path) -> None:
    lake = with_cabs(str(tmp_path))
    without_bounds(lake)
    assert ask(lake, "SELECT count(*) FROM sql_test.cabs WHERE name >= 'b'") == [(1,)]


def test_an_error_that_shows_only_while_rows_are_fetched_is_one_of_ours_too(lake: Lake) -> None:
    with pytest.raises(UsageError, match=r"^This SQL "):
        ask(lake, "SELECT CAST(name AS INTEGER) FROM sql_test.cabs")


NAMES = "SELECT name FROM sql_test.cabs ORDER BY name"


@pytest.fixture(scope="module")
def twice_stored(tmp_path_factory: pytest.TempPathFactory) -> Lake:
    """A lake whose cabs were made (version 0), stored (1), and replaced (2), and which was copied since."""
    lake = with_cabs(str(tmp_path_factory.mktemp("original")))
    while datetime.now(UTC) <= commit_time(lake, 1) + timedelta(milliseconds=1):
        pass
    store(lake, "c")
    copy = tmp_path_factory.mktemp("copies") / "copy"
    shutil.copytree(lake.root, copy, copy_function=shutil.copyfile)
    return Lake(str(copy), {}, PolarsEngine())


@pytest.mark.parametrize(("version", "names"), [(1, ["a", "b"]), (2, ["c"])])
def test_a_table_is_asked_as_of_a_time_by_what_its_log_says(twice_stored: Lake, version: int, names: list[str]) -> None:
    found = ask(twice_stored, NAMES, commit_time(twice_stored, version))
    assert [name for (name,) in found] == names


def test_between_two_commits_a_table_is_as_the_earlier_left_it_and_after_the_last_as_it_is(twice_stored: Lake) -> None:
    just_before = commit_time(twice_stored, 2) - timedelta(milliseconds=1)
    assert ask(twice_stored, NAMES, just_before) == [("a",), ("b",)]
    assert ask(twice_stored, NAMES, datetime.now(UTC) + timedelta(days=1)) == [("c",)]


def test_a_time_without_a_zone_is_this_machines(twice_stored: Lake) -> None:
    local = commit_time(twice_stored, 1).astimezone().replace(tzinfo=None)
    assert ask(twice_stored, NAMES, local) == [("a",), ("b",)]


def test_a_table_that_didnt_exist_then_is_absent_and_the_message_says_so(twice_stored: Lake) -> None:
    early = commit_time(twice_stored, 0) - timedelta(seconds=1)
    with pytest.raises(UsageError, match=re.escape(f"Of sql_test.cabs there was nothing yet at {early}.")):
        ask(twice_stored, NAMES, early)
    with pytest.raises(UsageError, match=r"Of sql_test.never_stored there was nothing yet at"):
        ask(twice_stored, "FROM sql_test.never_stored", datetime.now(UTC))


def test_what_was_vacuumed_since_is_told(tmp_path: Path) -> None:
    lake = with_cabs(str(tmp_path))
    then = commit_time(lake, 1)
    store(lake, "c")
    table = lake.location(Cabs).open_stored(Cabs)
    table.vacuum(retention_hours=0, enforce_retention_duration=False, dry_run=False)
    with pytest.raises(
        LakeError, match=r"^sql_test.cabs can't be read, as .* is missing. It may have been vacuumed since"
    ):
        ask(lake, NAMES, then)


def test_a_time_before_what_a_cleaned_log_still_knows_is_told(tmp_path: Path) -> None:
    lake = with_cabs(str(tmp_path))
    then = commit_time(lake, 1)
    store(lake, "c")
    lake.location(Cabs).open_stored(Cabs).create_checkpoint()
    for version in (0, 1):
        (tmp_path / f"sql_test/cabs/_delta_log/{version:020}.json").unlink()
    with pytest.raises(LakeError, match=r"its log was cleaned up to version 2. Name a later time."):
        ask(lake, NAMES, then)


def test_no_python_variable_of_the_program_is_a_table(lake: Lake) -> None:
    with pytest.raises(UsageError, match="contracts"):
        ask(lake, "SELECT * FROM contracts")


# What there is


@pytest.mark.parametrize("statement", ["SHOW TABLES", "show all tables;", " SHOW\n", "DESCRIBE"])
def test_tables_are_shown_under_the_names_that_they_are_asked_by(lake: Lake, statement: str) -> None:
    assert sql.query(lake, [Cabs, Never], statement) == (
        ["table", "holds"],
        [("sql_test.cabs", "Cabs by month."), ("sql_test.never_stored", "A table that is never stored.")],
    )


def test_of_a_time_the_tables_are_shown_that_there_were(twice_stored: Lake) -> None:
    then = commit_time(twice_stored, 1)
    assert ask(twice_stored, "SHOW TABLES", then) == [("sql_test.cabs", "Cabs by month.")]
    assert ask(twice_stored, "SHOW TABLES", then - timedelta(days=1)) == []


@pytest.mark.parametrize(
    "statement",
    ["DESCRIBE sql_test.cabs", 'desc "sql_test"."cabs" ;', "SHOW TABLE sql_test.cabs", "describe table SQL_TEST.Cabs"],
)
def test_a_table_is_described_by_its_contract(lake: Lake, statement: str) -> None:
    assert sql.query(lake, [Cabs, Never], statement) == (
        ["column_name", "column_type", "unit", "description"],
        [("name", "VARCHAR", "", "Name."), ("source_month", "DATE", "", "Month.")],
    )


def test_what_else_tells_of_tables_is_answered_by_duckdb(lake: Lake) -> None:
    assert ask(lake, "SHOW TABLES FROM sql_test") == [("cabs",), ("never_stored",)]
    assert ask(lake, "SELECT column_name FROM (DESCRIBE SELECT name FROM sql_test.cabs)") == [("name",)]
    assert [row[:4] for row in ask(lake, "SUMMARIZE sql_test.cabs")] == [
        ("name", "VARCHAR", "a", "b"), ("source_month", "DATE", "2024-01-01", "2024-01-01"),
    ]  # fmt: skip
    with pytest.raises(UsageError, match="Table with name unheard_of does not exist"):
        ask(lake, "DESCRIBE sql_test.unheard_of")


@pytest.mark.parametrize(
    ("statement", "instead"),
    [
        ("EXPLAIN SELECT 1", "EXPLAIN isn't answered; ask the SELECT itself."),
        ("COPY (SELECT 1) TO 'out.csv'", "To write a file: taxi-assets sql --csv QUERY > FILE."),
        ("USE sql_test", "write a table's name with its schema."),
        ("PRAGMA table_info('sql_test.cabs')", "ask DESCRIBE."),
        ("INSERT INTO sql_test.cabs VALUES ('c', '2024-01-01')", "SHOW TABLES, DESCRIBE or SUMMARIZE."),
    ],
)
def test_a_statement_that_isnt_answered_is_told_what_to_do_instead(lake: Lake, statement: str, instead: str) -> None:
    with pytest.raises(UsageError) as caught:
        ask(lake, statement)
    assert str(caught.value).endswith(instead)


# What can't be read, and what a query may take

FOR_EVER = "SELECT count(*) FROM range(100000000000) WHERE hash(range) % 7 = 1"


def test_a_table_whose_file_is_missing_is_named_with_the_file_and_a_remedy(tmp_path: Path) -> None:
    lake = with_cabs(str(tmp_path))
    (file,) = tmp_path.rglob("*.parquet")
    file.unlink()
    says = f"sql_test.cabs can't be read, as its data file {file} is missing. Put it back, or materialize again"
    with pytest.raises(LakeError, match=f"^{re.escape(says)}"):
        ask(lake, NAMES)
    assert ask(lake, "SELECT 1") == [(1,)]


def test_a_table_whose_file_is_damaged_is_named_in_one_line(tmp_path: Path) -> None:
    lake = with_cabs(str(tmp_path))
    (file,) = tmp_path.rglob("*.parquet")
    file.write_bytes(b"PAR1")
    with pytest.raises(LakeError, match=rf"^sql_test.cabs can't be read, as its data file {file} can't be used: .*\.$"):
        ask(lake, NAMES)


def test_a_stored_text_that_isnt_utf_8_is_one_line(tmp_path: Path) -> None:
    lake = with_cabs(str(tmp_path))
    (file,) = tmp_path.rglob("*.parquet")
    offsets = pa.py_buffer(array("i", [0, 2, 3]).tobytes())
    names = pa.StringArray.from_buffers(2, offsets, pa.py_buffer(b"\xff\xfea"))
    pq.write_table(pa.table({"name": names}), file)
    with pytest.raises(
        LakeError, match=r"^sql_test.cabs can't be read, .* is not valid UTF8!?\. Put it back"
    ) as caught:
        ask(lake, "SELECT name FROM sql_test.cabs")
    assert "\n" not in str(caught.value)


def test_a_query_that_isnt_utf_8_is_one_line(lake: Lake) -> None:
    with pytest.raises(UsageError, match=r"^This SQL isn't text in UTF-8.$"):
        ask(lake, "SELECT '\udcff'")


def test_what_is_held_on_disk_is_in_a_folder_that_is_gone_afterwards(
    lake: Lake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    asked = "SELECT value FROM duckdb_settings() WHERE name = 'temp_directory'"
    ((folder,),) = ask(lake, asked)
    assert Path(str(folder)).parent == tmp_path
    with pytest.raises(UsageError):
        ask(lake, "SELEC 1")
    assert list(tmp_path.iterdir()) == []


def test_a_query_that_needs_more_than_it_may_take_fails_with_a_remedy(
    lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sql, "_MEMORY", "50MB")
    much = "SELECT count(*) FROM (SELECT DISTINCT range, hash(range) FROM range(5000000))"
    assert ask(lake, much) == [(5_000_000,)]
    monkeypatch.setattr(sql, "_SHARE_OF_FREE_DISK", 0)
    with pytest.raises(LakeError, match=r"needs more than half of .* name a folder on a larger disk: TMPDIR."):
        ask(lake, much)


def test_without_a_folder_for_temporary_files_one_line_says_so(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", "/no/such/folder")
    with pytest.raises(
        LakeError, match=r"^There is no folder for temporary files: No such file or directory. Name one"
    ):
        ask(lake, "SELECT 1")


def test_a_query_that_takes_longer_than_it_was_given_is_ended(
    lake: Lake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with pytest.raises(OutOfTimeError, match=r"was ended. Ask for less, or give it longer: --timeout.$"):
        sql.query(lake, [Cabs], FOR_EVER, timeout=0.1)
    assert list(tmp_path.iterdir()) == []
    assert sql.query(lake, [Cabs], "SELECT 1", timeout=60)[1] == [(1,)]


def test_an_interrupt_ends_a_query_and_removes_its_folder(
    lake: Lake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    main = threading.main_thread().ident
    assert main is not None

    def press_ctrl_c_once_it_runs() -> None:
        while not any(tmp_path.iterdir()):
            pass
        signal.pthread_kill(main, signal.SIGINT)

    before = threading.active_count()
    presses = threading.Thread(target=press_ctrl_c_once_it_runs)
    presses.start()
    with pytest.raises(KeyboardInterrupt):
        ask(lake, FOR_EVER)
    presses.join()
    assert list(tmp_path.iterdir()) == []
    assert threading.active_count() == before
