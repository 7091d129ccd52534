"""The command line, called in this process: exit statuses, what goes where, and errors of one line.

Commands that run months are in test_cli_runs.py: each needs a process of its own.
"""

from __future__ import annotations

import io
import json
import signal
import sqlite3
import threading
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from datetime import date
from importlib.metadata import version
from pathlib import Path

import narwhals.stable.v1 as nw
import polars as pl
import pytest

from taxi_assets import cli
from taxi_assets.cli import terminal
from taxi_assets.engines import DeltaLocation
from taxi_assets.instance import open_instance
from taxi_assets.sample import NOTE
from taxi_assets.tlc.gold.nyc_taxi_daily import NycTaxiDaily
from taxi_assets.tlc.vocabulary import Service
from taxi_assets_tests.misbehaving_server import Exchange, MisbehavingServer, properly, status
from taxi_assets_tests.scenario import POLARS

pytestmark = pytest.mark.fast


@dataclass(frozen=True)
class Outcome:
    """How a command ended and what it wrote."""

    status: int
    out: str
    err: str


Run = Callable[..., Outcome]


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> str:
    """An instance's folder for all tests here: none records a run in it, and making its databases takes time."""
    return str(tmp_path_factory.mktemp("home"))


@pytest.fixture
def run(tmp_path: Path, home: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Return a function that runs a command on an empty landing and an empty lake."""
    (tmp_path / "landing").mkdir()
    (tmp_path / "lake").mkdir()
    monkeypatch.setenv("TAXI_LANDING_ROOT", str(tmp_path / "landing"))
    monkeypatch.setenv("TAXI_LAKE_ROOT", str(tmp_path / "lake"))
    monkeypatch.setenv("DAGSTER_HOME", home)

    def call(*words: str) -> Outcome:
        monkeypatch.setattr("sys.argv", ["taxi-assets", *words])
        try:
            cli.main()
        except SystemExit as exit_:
            status = int(exit_.code or 0)
        else:
            status = 0
        written = capsys.readouterr()
        return Outcome(status, written.out, written.err)

    return call


def only_line(outcome: Outcome) -> str:
    """Return the one line that an error wrote to stderr."""
    (line,) = outcome.err.splitlines()
    return line


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (["materialize", "--catalog", "trains", "2024-01"], "There is no catalog 'trains'. There are: tlc, nyctaxi."),
        (["materialize", "--catalog", "nyctaxi", "--feed", "green", "2016-01"], "in nyctaxi; there is trips."),
        (["materialize", "--service", "purple", "2016-01"], "There is no service 'purple' in tlc; there are yellow, "),
        (["status", "--catalog", "trains"], "There is no catalog 'trains'."),
        (["materialize", "2024-1"], "'2024-1' is not a month"),
        (["materialize", "2024-13"], "There is no month 2024-13"),
        (["materialize", "2024-03:2024-01"], "runs backwards. Write the earlier month first: 2024-01:2024-03."),
        (["materialize", "2008-12"], "2008-12"),
        (["materialize", "2024-01", "2199-01"], "There is no partition for 2199-01: months run from 2009-01 to"),
        (["materialize", "--catalog", "nyctaxi", "2199-01"], "There is no partition for 2199-01: months run from"),
        (["checks", "January"], "'January' is not a month"),
        (["status", "2024-03:2024-01"], "runs backwards"),
        (["sample", "2024-00"], "There is no month 2024-00"),
        (["sample", "--catalog", "trains", "2024-01"], "There is no catalog 'trains'. There are: tlc, nyctaxi."),
        (
            ["sample", "--catalog", "nyctaxi", "--service", "green", "2016-01"],
            "There is no feed 'green' in nyctaxi; there is trips.",
        ),
        (["fetch", "purple", "2024-01"], "There is no service 'purple'. There are: yellow, green"),
        (["fetch", "yellow"], "taxi-assets fetch yellow 2024-01:2024-06"),
        (["fetch", "zones", "2024-01"], "taxi-assets fetch zones"),
        (["fetch", "yellow", "2024-13"], "There is no month 2024-13"),
        (["history", "tlc_silver.yelow_trips"], "no table 'tlc_silver.yelow_trips'. Did you mean tlc_silver.yellow"),
        (["restore", "zzz", "1"], "no table 'zzz'. There are: tlc_bronze.yellow_trips, "),
        (["metrics", "daily"], "There is no metric view 'daily', nor a file. There are: tlc_daily"),
        (["metrics", "tlc_daily", "--measures", "trip"], "There is no measure 'trip'. Is it trips?"),
        (["metrics", "tlc_daily", "--measures", "trips", "--by", "dau"], "There is no dimension 'dau'. Is it day?"),
        (["metrics", "tlc_daily", "--measures", "trips", "--json", "--csv"], "Either --json or --csv."),
        (
            ["metrics", "tlc_daily", "--by", "month"],
            "--by of which measures? Name them with --measures; taxi-assets met",
        ),
        (["metrics", "tlc_daily", "--where", "hour = 1"], "--where of which measures? Name them with --measures"),
        (["metrics", "tlc_daily", "--measures", ",", "--by", "month"], "--measures of which measures?"),
        (["metrics", "--by", "month"], "--by of which view? Those there are: taxi-assets metrics"),
        (["metrics", "--measures", "trips"], "--measures of which view?"),
        (["sql", "--json", "--csv", "SELECT 1"], "Either --json or --csv."),
        (["tables", "tlc_silver.yelow_trips"], "no table 'tlc_silver.yelow_trips'. Did you mean tlc_silver.yellow"),
        (
            ["sample", "--catalog", "nyctaxi", "--clean", "2016-01"],
            "--clean isn't for this catalog",
        ),
    ],
)
def test_wrong_use_is_one_line_on_stderr_and_status_2(run: Run, words: list[str], problem: str) -> None:
    outcome = run(*words)
    assert outcome.status == 2
    assert outcome.out == ""
    assert problem in only_line(outcome)


@pytest.mark.parametrize(
    "words", [["materialize", "--service", "purple", "2024-01"], ["materialise"], ["tables", "--jsno"], ["sql"]]
)
def test_words_that_no_command_knows_are_status_2_without_a_stack(run: Run, words: list[str]) -> None:
    outcome = run(*words)
    assert outcome.status == 2
    assert outcome.out == ""
    assert "Traceback" not in outcome.err


@pytest.mark.parametrize(
    "command",
    ["", "sample", "fetch", "materialize", "checks", "status", "tables", "sql", "metrics", "history", "restore",
     "alert-test"],
)  # fmt: skip
def test_h_and_help_show_the_same_of_every_command(run: Run, command: str) -> None:
    shown = run(*command.split(), "-h")
    assert (shown.status, shown.err) == (0, "")
    assert "Usage: " in shown.out
    assert shown == run(*command.split(), "--help")


def test_the_version_is_the_packages(run: Run) -> None:
    assert run("--version") == Outcome(0, f"taxi-assets {version('taxi-assets')}\n", "")


def test_a_variable_that_sets_nothing_is_named_in_a_line_and_the_command_is_done(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TAXI_LANDING_ROT", "s3://elsewhere")
    outcome = run("sql", "SELECT 1 AS n")
    assert (outcome.status, outcome.out) == (0, "n\n1\n")
    assert only_line(outcome) == "TAXI_LANDING_ROT is no setting, and has no effect (is it TAXI_LANDING_ROOT?)."


def test_a_setting_that_makes_no_sense_is_one_line_and_status_2(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TAXI_ENGINE", "duck")
    outcome = run("tables")
    assert outcome.status == 2
    assert "TAXI_ENGINE" in only_line(outcome)


def test_an_instance_that_cant_be_made_is_one_line_that_names_the_setting(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a_file").write_text("in the way")
    monkeypatch.setenv("DAGSTER_HOME", str(tmp_path / "a_file"))
    outcome = run("status", "2024-01")
    assert outcome.status == 2
    assert "DAGSTER_HOME" in only_line(outcome)


def test_a_landing_that_isnt_there_is_one_line_and_status_1(run: Run, tmp_path: Path) -> None:
    (tmp_path / "landing").rmdir()
    outcome = run("materialize", "2024-01")
    assert outcome.status == 1
    assert "TAXI_LANDING_ROOT" in only_line(outcome)
    assert "TAXI_LANDING_ROOT" in only_line(run("status"))


def test_status_makes_no_lake_where_there_is_none(run: Run, tmp_path: Path) -> None:
    (tmp_path / "lake").rmdir()
    assert run("status").status == 0
    assert not (tmp_path / "lake").exists()


def test_months_of_which_none_is_in_landing_are_each_listed_and_status_1(run: Run, tmp_path: Path) -> None:
    outcome = run("materialize", "2024-01:2024-02")
    assert outcome.status == 1
    assert [line.split()[0] for line in outcome.out.splitlines()] == ["2024-01", "2024-02"]
    assert str(tmp_path / "landing") in only_line(outcome)


@pytest.mark.parametrize("name", ["green_tripdata_2024-1.parquet", "green_tripdata_2024-01.parquet/part-0.parquet"])
def test_a_file_whose_name_nearly_is_a_months_is_named_where_none_is_found(run: Run, tmp_path: Path, name: str) -> None:
    landed = tmp_path / "landing" / name
    landed.parent.mkdir(parents=True, exist_ok=True)
    landed.touch()
    outcome = run("materialize", "--service", "green", "2024-01")
    assert outcome.status == 1
    assert only_line(outcome).endswith(f"Files are named like green_tripdata_2024-01.parquet, and not as {name}.")


@pytest.mark.parametrize("names", [["green_tripdata_2024-1.parquet"], ["a_tripdata.csv", "green-trip-data.parquet"]])
def test_names_that_nearly_are_a_months_are_told_beside_the_status_of_others(
    run: Run, tmp_path: Path, names: list[str]
) -> None:
    for name in (*names, "green_tripdata_2024-01.parquet"):
        (tmp_path / "landing" / name).touch()
    outcome = run("status", "2024-01")
    assert (outcome.status, outcome.out.splitlines()[1].split("\t")[2]) == (0, "landed")
    assert only_line(outcome).startswith("Not read, as ")
    assert f"green_tripdata_2024-01.parquet: {', '.join(names)}. Rename what is a month's" in only_line(outcome)
    as_json = run("status", "--json", "2024-01")
    assert (json.loads(as_json.out)[0]["month"], as_json.err) == ("2024-01", outcome.err)


def test_of_many_names_that_nearly_are_a_months_some_are_told_and_how_many_more(run: Run, tmp_path: Path) -> None:
    for day in range(8):
        (tmp_path / "landing" / f"green_tripdata_2024-01-{day}.parquet").touch()
    assert "2024-01-4.parquet and 3 more. Rename" in only_line(run("status", "2024-01"))


def test_months_of_which_none_is_in_landing_are_json_on_stdout_too(run: Run) -> None:
    outcome = run("materialize", "--json", "--service", "green", "2024-01")
    assert outcome.status == 1
    (report,) = json.loads(outcome.out)
    assert (report["month"], report["state"], report["not_in_landing"]) == ("2024-01", "not in landing", ["green"])


def test_checks_of_a_month_that_never_ran_say_how_to_run_it_in_each_catalog(run: Run) -> None:
    outcome = run("checks", "2016-01")
    assert outcome.status == 1
    line = only_line(outcome)
    assert line.endswith(": taxi-assets materialize 2016-01 or taxi-assets materialize --catalog nyctaxi 2016-01")


def test_tables_of_an_empty_lake_are_listed_without_rows(run: Run) -> None:
    outcome = run("tables")
    header, *lines = outcome.out.splitlines()
    assert outcome.status == 0
    assert header.split("\t") == ["table", "rows", "partitions", "version", "holds"]
    assert "tlc_gold.fact_top_zones" in [line.split("\t")[0] for line in lines]
    assert all(line.split("\t")[1] == "" for line in lines)
    assert {len(line.split("\t")) for line in lines} == {5}


@pytest.fixture
def daily(tmp_path: Path) -> None:
    """A gold table in the lake: January, then February, then January again."""
    at = DeltaLocation(str(tmp_path / "lake" / "tlc_gold" / "nyc_taxi_daily"))
    for run_id, month, rows in (("a", 1, 1), ("b", 2, 1), ("c", 1, 2)):
        day = date(2024, month, 1)
        table = {"service_type": ["green", "yellow"], "trip_date": [day] * 2, "trip_count": [3, 4], "repeat_count": 0}
        frame = pl.LazyFrame(table).head(rows).with_columns(
            avg_fare=pl.lit(None, pl.Decimal(18, 2)), source_month=pl.lit(day), repeat_count=pl.lit(0, pl.Int64)
        )  # fmt: skip
        POLARS.replace(NycTaxiDaily, at, nw.from_native(frame), {"source_month": day}, run_id=run_id)


@pytest.mark.usefixtures("run", "daily")
@pytest.mark.parametrize("name", ["tlc_gold.nyc_taxi_daily", "tlc_gold/nyc_taxi_daily"])
def test_history_shows_which_run_wrote_which_month(run: Run, name: str) -> None:
    header, *lines = [line.split("\t") for line in run("history", name).out.splitlines()]
    shown = [dict(zip(header, line, strict=True)) for line in lines]
    assert [(one["version"], one["partitions"], one["rows_added"], one["run"]) for one in shown] == [
        ("3", "2024-01", "2", "c"),
        ("2", "2024-02", "1", "b"),
        ("1", "2024-01", "1", "a"),
        ("0", "", "0", ""),
    ]
    assert [row["version"] for row in json.loads(run("history", name, "--last", "2", "--json").out)] == [3, 2]


@pytest.mark.usefixtures("run", "daily")
def test_restore_says_what_it_did_and_how_to_undo_it(run: Run) -> None:
    outcome = run("restore", "tlc_gold.nyc_taxi_daily", "1")
    assert (outcome.status, outcome.err) == (0, "")
    assert outcome.out.splitlines()[:3] == [
        "tlc_gold.nyc_taxi_daily is as version 1 was; that is version 4 now.",
        "Put back: 2024-01",
        "No longer stored: 2024-02",
    ]
    assert outcome.out.strip().endswith("taxi-assets restore tlc_gold.nyc_taxi_daily 3")
    assert run("sql", "SELECT count(*) AS n FROM tlc_gold.nyc_taxi_daily").out == "n\n1\n"
    assert run("restore", "tlc_gold.nyc_taxi_daily", "3").status == 0
    assert run("sql", "SELECT count(*) AS n FROM tlc_gold.nyc_taxi_daily").out == "n\n3\n"


@pytest.mark.usefixtures("run", "daily")
def test_a_table_that_was_restored_and_not_recorded_is_one_line_that_says_both(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DAGSTER_HOME", str(tmp_path / "home"))
    open_instance(str(tmp_path / "home")).dispose()
    with closing(sqlite3.connect(tmp_path / "home" / "history" / "runs" / "index.db")) as database:
        database.execute(
            "CREATE TRIGGER full BEFORE INSERT ON event_logs BEGIN SELECT RAISE(ABORT, 'database or disk is full'); END"
        )

    outcome = run("restore", "tlc_gold.nyc_taxi_daily", "1")

    assert (outcome.status, outcome.out) == (1, "")
    assert "is as version 1 was, and that is version 4 now. But Dagster's records" in only_line(outcome)
    assert "database or disk is full. Mend these, restore tlc_gold.nyc_taxi_daily to version 3" in only_line(outcome)


@pytest.mark.usefixtures("run", "daily")
@pytest.mark.parametrize(
    ("version", "status", "problem"), [("9", 2, "There is no version 9"), ("3", 2, "is the current one")]
)
def test_a_version_that_cant_be_restored_is_one_line(run: Run, version: str, status: int, problem: str) -> None:
    outcome = run("restore", "tlc_gold.nyc_taxi_daily", version)
    assert (outcome.status, outcome.out) == (status, "")
    assert problem in only_line(outcome)


def test_history_of_a_table_that_isnt_stored_yet_is_one_line(run: Run) -> None:
    outcome = run("history", "tlc_gold.nyc_taxi_daily")
    assert outcome.status == 1
    assert "There is no table tlc_gold/nyc_taxi_daily yet" in only_line(outcome)


def test_tables_are_json_for_a_program(run: Run) -> None:
    outcome = run("tables", "--json")
    found = {row["table"]: row["rows"] for row in json.loads(outcome.out)}
    assert found["tlc_silver.green_trips"] is None


def test_the_status_of_an_empty_lake_is_twelve_months_of_each_service_and_makes_the_instance(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DAGSTER_HOME", str(tmp_path / "not" / "yet"))
    outcome = run("status")
    header, *lines = [line.split("\t") for line in outcome.out.splitlines()]
    assert (outcome.status, outcome.err) == (0, "")
    assert header == ["month", *Service]
    assert len(lines) == 12
    assert {cell for line in lines for cell in line[1:]} == {"not in landing", "not published"}


def test_the_status_of_named_months_is_json_with_an_object_for_each_month_and_service(run: Run, tmp_path: Path) -> None:
    (tmp_path / "landing" / "green_tripdata_2024-01.parquet").write_bytes(b"a")
    for name in ("yellow_tripdata_2024-02.parquet", "yellow_tripdata_2024-02.csv"):
        (tmp_path / "landing" / name).write_bytes(b"a")
    rows = json.loads(run("status", "--json", "2024-01:2024-02").out)
    assert [(row["month"], row["service"]) for row in rows] == [
        (month, service) for month in ("2024-01", "2024-02") for service in Service
    ]
    found = {(row["month"], row["service"]): row["status"] for row in rows if row["status"] != "not in landing"}
    assert found == {("2024-01", "green"): "landed", ("2024-02", "yellow"): "two files"}
    assert {(row["checks_not_passed"], row["warnings"], row["errors"]) for row in rows} == {(0, 0, 0)}


def test_sql_writes_tab_separated_lines_into_a_pipe(run: Run) -> None:
    outcome = run("sql", "SELECT 1234 AS n, 'a b' AS word, NULL AS nothing UNION ALL SELECT 5, 'c', NULL ORDER BY n")
    assert (outcome.status, outcome.err) == (0, "")
    assert outcome.out == "n\tword\tnothing\n5\tc\t\n1234\ta b\t\n"


HOSTILE = "chr(27) || '[2J' || chr(155) || chr(10) || chr(9) || chr(8238) || '[red]x'"


def test_what_data_holds_steers_no_terminal_and_forges_no_line(run: Run) -> None:
    outcome = run("sql", f"SELECT {HOSTILE} AS word, 1 AS n")
    assert outcome.out == "word\tn\n\\x1b[2J\\x9b\\n\\t\\u202e[red]x\t1\n"

    as_json = run("sql", "--json", f"SELECT {HOSTILE} AS word").out
    assert json.loads(as_json) == [{"word": "\x1b[2J\x9b\n\t\u202e[red]x"}]
    assert as_json.isascii()
    assert "\x1b" not in as_json


def on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> io.StringIO:
    """Let commands write to a terminal, and return what it shows."""
    shown = io.StringIO()
    console = terminal.Terminal(file=shown, force_terminal=True, width=200, color_system=None)
    for module in (terminal, cli.metrics, cli.periods):
        monkeypatch.setattr(module, "out", console)
    return shown


# What markup, emoji codes, escapes of these and a line's end would be to Rich.
NO_MARKUP = [
    "root:x:0:0",
    ":x:",
    "[red]a[/red]",
    "[/]",
    "[link=http://a]b[/link]",
    "C:\\",
    "\\[red]",
    "a\\\\",
    ":warning:",
]


@pytest.mark.parametrize("text", NO_MARKUP)
def test_what_is_shown_is_what_is_there(run: Run, monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    assert run("sql", f"SELECT '{text}' AS word").out == f"word\n{text}\n"
    assert run("sql", "--csv", f"SELECT '{text}' AS word").out == f"word\n{text}\n"
    assert json.loads(run("sql", "--json", f"SELECT '{text}' AS word").out) == [{"word": text}]
    failed = run("sql", f"SELECT error('{text}')")
    assert failed.err == f"This SQL can't be run. Invalid Input Error: {text}\n"

    shown = on_a_terminal(monkeypatch)
    assert run("sql", f"""SELECT '{text}' AS "{text}" """).status == 0
    _, header, _, row, _ = shown.getvalue().splitlines()
    assert (header.strip("┃ "), row.strip("│ ")) == (text, text)
    terminal.say(text, (text, "red"))
    terminal.out.print(text)
    assert shown.getvalue().splitlines()[-2:] == [text * 2, text]


def test_what_a_command_is_at_is_shown_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    shown = on_a_terminal(monkeypatch)
    with terminal.at_work("[red]:x:") as says:
        says("[/]:warning:")
    assert "[/]:warning:" in shown.getvalue()


@pytest.mark.parametrize("columns", [1, 13], ids=["a table", "record by record"])
def test_on_a_terminal_data_is_shown_as_text_too(monkeypatch: pytest.MonkeyPatch, columns: int) -> None:
    console = on_a_terminal(monkeypatch)
    row = {f"\x1b]0;{number}[red]": "\x1b[2J\r\n[bold]x" for number in range(columns)}

    terminal.show([row], as_json=False)

    shown = console.getvalue()
    assert "\\x1b]0;0[red]" in shown
    assert "\\x1b[2J\\r\\n[bold]x" in shown
    assert "\x1b[2J" not in shown
    assert "\r" not in shown


def test_an_error_that_quotes_data_steers_no_terminal(run: Run) -> None:
    outcome = run("sql", "SELECT error(chr(27) || '[2J')")
    assert outcome.status == 2
    assert "\x1b" not in outcome.err
    assert "\\x1b[2J" in outcome.err


def test_sql_writes_its_header_when_there_are_no_rows(run: Run) -> None:
    assert run("sql", "SELECT 1 AS n WHERE false").out == "n\n"
    assert json.loads(run("sql", "--json", "SELECT 1 AS n WHERE false").out) == []


def test_sql_is_json_with_dates_and_decimals_as_text(run: Run) -> None:
    outcome = run("sql", "--json", "SELECT DATE '2024-01-31' AS day, 1.25::DECIMAL(10,2) AS usd, [1, 2] AS list")
    assert json.loads(outcome.out) == [{"day": "2024-01-31", "usd": "1.25", "list": [1, 2]}]


def test_sql_is_csv_with_nulls_as_nothing(run: Run) -> None:
    outcome = run("sql", "--csv", """SELECT 'a, "b"' AS word, NULL AS nothing, 1.50::DECIMAL(10,2) AS usd""")
    assert (outcome.status, outcome.out) == (0, 'word,nothing,usd\n"a, ""b""",,1.50\n')


def test_sql_shows_the_tables_and_their_columns_with_units_and_descriptions(run: Run) -> None:
    listed = [line.split("\t") for line in run("sql", "SHOW TABLES").out.splitlines()]
    assert listed[0] == ["table", "holds"]
    assert [table for table, _ in listed[1:]] == [row["table"] for row in json.loads(run("tables", "--json").out)]
    described = run("sql", "DESCRIBE tlc_gold.nyc_taxi_daily").out
    assert "avg_fare\tDECIMAL(10,2)\tUSD\tAverage fare, repeats left out; " in described
    assert described == run("tables", "tlc_gold.nyc_taxi_daily").out == run("tables", "tlc_gold/nyc_taxi_daily").out


@pytest.mark.usefixtures("run", "daily")
@pytest.mark.parametrize("command", ["sql", "metrics"])
def test_a_table_whose_file_is_missing_is_one_line_and_status_1(run: Run, tmp_path: Path, command: str) -> None:
    for file in (tmp_path / "lake").rglob("*.parquet"):
        file.unlink()
    view = tmp_path / "view.yaml"
    view.write_text(VIEW)
    outcome = run("sql", "FROM tlc_gold.nyc_taxi_daily") if command == "sql" else run("metrics", str(view), *TRIPS)
    assert (outcome.status, outcome.out) == (1, "")
    assert only_line(outcome).startswith("tlc_gold.nyc_taxi_daily can't be read, as its data file ")
    assert only_line(outcome).endswith(" is missing. Put it back, or materialize again what was in it.")


VIEW = """
version: "1.1"
source: tlc_gold.nyc_taxi_daily
dimensions:
  - {name: month, expr: "DATE_TRUNC('MONTH', trip_date)"}
  - {name: day, expr: "trip_date + INTERVAL 0 DAY"}
  - {name: first_month, expr: "trip_date + INTERVAL 1 DAY"}
measures:
  - {name: trips, expr: SUM(trip_count)}
  - {name: average, expr: AVG(trip_count) / 3}
  - {name: share, expr: AVG(trip_count) / 30}
"""
TRIPS = ("--measures", "trips,average,share", "--by", "month,day,first_month")


@pytest.mark.usefixtures("run", "daily")
def test_metrics_are_rounded_and_months_are_months_for_people_and_exact_for_programs(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    view = tmp_path / "view.yaml"
    view.write_text(VIEW)
    asked = ("metrics", str(view), *TRIPS)
    exact = ["2024-01-01 00:00:00", "2024-01-01 00:00:00", "2024-01-02 00:00:00", "7", str(3.5 / 3), str(3.5 / 30)]
    assert run(*asked).out.splitlines()[1].split("\t") == exact
    assert run(*asked, "--csv").out.splitlines()[1].split(",") == exact
    assert json.loads(run(*asked, "--json").out)[0]["average"] == 3.5 / 3

    shown = on_a_terminal(monkeypatch)
    assert run(*asked).status == 0
    row = shown.getvalue().splitlines()[3]
    assert [cell.strip() for cell in row.strip("│").split("│")] == [
        "2024-01", "2024-01-01", "2024-01-02", "7", "1.17", "0.1167",
    ]  # fmt: skip


def test_lists_of_views_and_their_fields_are_csv_too(run: Run) -> None:
    assert run("metrics", "--csv").out.splitlines()[0] == "view,source,holds"
    assert "measure,trips,SUM(trip_count)," in run("metrics", "tlc_daily", "--csv").out


@pytest.mark.parametrize(
    "statement",
    [
        "INSERT INTO tlc_gold.fact_top_zones VALUES (1)",
        "CREATE TABLE mine AS SELECT 1",
        "COPY (SELECT 1) TO 'out.csv'",
        "ATTACH 'other.duckdb'",
        "SELECT * FROM read_csv('/etc/passwd')",
        "SELECT CAST('x' AS INTEGER)",
    ],
)
def test_sql_that_isnt_a_question_to_the_lake_is_refused_without_a_stack(run: Run, statement: str) -> None:
    outcome = run("sql", statement)
    assert outcome.status == 2
    assert outcome.out == ""
    assert outcome.err.startswith("This SQL ")
    assert "Traceback" not in outcome.err


def test_a_sample_of_rides_is_one_file_of_all_months_and_its_faults_are_told(run: Run, tmp_path: Path) -> None:
    outcome = run("sample", "--catalog", "nyctaxi", "2016-01:2016-02", "--rows", "400")

    assert outcome.status == 0
    assert "800 rows; faults planted: 2 of positive_fare_amount, 4 of positive_trip_distance" in outcome.out
    assert [path.name for path in (tmp_path / "landing").iterdir()] == ["nyctaxi_trips_sample.parquet"]


def test_a_sample_of_rides_isnt_put_beside_real_ones(run: Run, tmp_path: Path) -> None:
    (tmp_path / "landing" / "nyctaxi_trips_2016.parquet").write_bytes(b"real")

    outcome = run("sample", "--catalog", "nyctaxi", "2016-01", "--rows", "10")

    assert outcome.status == 2
    assert "nyctaxi_trips_2016.parquet, which is no sample" in only_line(outcome)


def test_metrics_are_listed_and_asked_by_their_names(run: Run) -> None:
    assert [row["view"] for row in json.loads(run("metrics", "--json").out)] == ["tlc_daily", "trips_metrics"]
    fields = {(row["kind"], row["name"]) for row in json.loads(run("metrics", "tlc_daily", "--json").out)}
    assert {("measure", "revenue"), ("dimension", "borough")} < fields
    question = ("metrics", "tlc_daily", "--measures", "trips, revenue")
    # Of no rows there is a sum, but no group.
    assert json.loads(run(*question, "--json").out) == [{"trips": None, "revenue": None}]
    assert run(*question, "--by", "service,day", "--csv").out == "service,day,trips,revenue\n"
    assert run(*question, "--by", "service,day").out == "service\tday\ttrips\trevenue\n"


def test_sample_writes_a_file_per_service_and_month_and_a_note_of_what_is_planted(run: Run, tmp_path: Path) -> None:
    outcome = run(
        "sample", "2024-01:2024-02", "--service", "green", "--rows", "200", "--landing", str(tmp_path / "made")
    )
    assert outcome.status == 0
    names = {path.name for path in (tmp_path / "made").iterdir()}
    assert {"green_tripdata_2024-01.parquet", "green_tripdata_2024-02.parquet", NOTE} <= names
    assert not any(name.startswith("yellow") for name in names)
    assert str(tmp_path / "made" / NOTE) in outcome.out


@pytest.mark.parametrize("command", [["tables"], ["sql", "SELECT 1"]])
def test_a_lake_that_isnt_there_is_told_rather_than_made(run: Run, tmp_path: Path, command: list[str]) -> None:
    (tmp_path / "lake").rmdir()
    outcome = run(*command)
    assert outcome.status == 2
    assert f"There is no lake at {tmp_path / 'lake'}" in only_line(outcome)
    assert not (tmp_path / "lake").exists()


def test_sample_replaces_no_file_that_isnt_a_sample(run: Run, tmp_path: Path) -> None:
    real = tmp_path / "landing" / "green_tripdata_2024-01.parquet"
    real.write_bytes(b"TLC's own")
    outcome = run("sample", "--rows", "10", "2024-01")
    assert outcome.status == 2
    assert "green_tripdata_2024-01.parquet" in only_line(outcome)
    assert (real.read_bytes(), len(list((tmp_path / "landing").iterdir()))) == (b"TLC's own", 1)


def test_a_sample_replaces_a_sample(run: Run) -> None:
    assert [run("sample", "--rows", str(rows), "--service", "green", "2024-01").status for rows in (10, 20)] == [0, 0]


def test_sample_needs_a_folder_where_landing_is_a_bucket(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TAXI_LANDING_ROOT", "s3://bucket/landing")
    monkeypatch.setenv("TAXI_LANDING_STORAGE__PROVIDER", "s3")
    outcome = run("sample", "2024-01")
    assert outcome.status == 2
    assert "--landing FOLDER" in only_line(outcome)


LOOKUP = b"LocationID,Borough,Zone,service_zone\n1,EWR,Newark Airport,EWR\n"


@pytest.fixture
def tlc(server: MisbehavingServer, monkeypatch: pytest.MonkeyPatch) -> MisbehavingServer:
    """TLC's server as the settings name it, with the zone lookup, and no month."""
    monkeypatch.setenv("TAXI_FETCH__ADDRESS", server.address)
    monkeypatch.setenv("TAXI_FETCH__ATTEMPTS", "1")
    server.serve("/misc/taxi_zone_lookup.csv", LOOKUP)
    return server


def test_fetch_brings_a_file_into_landing_and_says_so_on_a_line(
    run: Run, tlc: MisbehavingServer, tmp_path: Path
) -> None:
    outcome = run("fetch", "zones")
    assert (outcome.status, outcome.err) == (0, "")
    assert outcome.out.startswith("taxi_zone_lookup.csv  fetched  0.0 MB, ")
    assert (tmp_path / "landing/taxi_zone_lookup.csv").read_bytes() == LOOKUP
    assert run("fetch", "zones").out.startswith("taxi_zone_lookup.csv  unchanged")
    assert tlc.statuses("/misc/taxi_zone_lookup.csv") == [200, 304]


def press_ctrl_c(exchange: Exchange) -> None:
    """Interrupt who asks, and answer after all."""
    signal.pthread_kill(int(threading.main_thread().ident or 0), signal.SIGINT)
    properly(exchange)


def test_fetch_that_is_interrupted_is_one_line_and_status_130(run: Run, tlc: MisbehavingServer) -> None:
    tlc.plan("/misc/taxi_zone_lookup.csv", press_ctrl_c)
    outcome = run("fetch", "zones")
    assert (outcome.status, outcome.out) == (130, "")
    assert only_line(outcome).startswith("Interrupted. Files that were done stand whole in landing; fetch again")


def test_any_other_command_that_is_interrupted_is_one_line_and_status_130(
    run: Run, server: MisbehavingServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TAXI_LANDING_ROOT", "s3://bucket/landing")
    storage = {"PROVIDER": "s3", "ENDPOINT": server.address, "REGION": "a", "ACCESS_KEY_ID": "a"}
    for name, value in (storage | {"SECRET_ACCESS_KEY": "a"}).items():
        monkeypatch.setenv(f"TAXI_LANDING_STORAGE__{name}", value)
    server.plan("/bucket?list-type=2&prefix=landing%2F", press_ctrl_c)
    outcome = run("status")
    assert outcome == Outcome(130, "", "Interrupted.\n")


def test_fetch_of_a_month_to_come_is_no_failure(run: Run, tlc: MisbehavingServer) -> None:
    outcome = run("fetch", "green", "2199-01")
    assert (outcome.status, outcome.out) == (0, "green_tripdata_2199-01.parquet  not published\n")
    assert [asked.path for asked in tlc.asked] == ["/trip-data/green_tripdata_2199-01.parquet"]


def test_fetch_with_a_file_that_fails_says_why_on_one_line_and_is_status_1(run: Run, tlc: MisbehavingServer) -> None:
    tlc.plan("/trip-data/green_tripdata_2199-01.parquet", status(500))
    outcome = run("fetch", "green", "2199-01:2199-02")
    assert outcome.status == 1
    lines = outcome.out.splitlines()
    assert {line.split("  ")[0]: line.split("  ")[1] for line in lines if not line.startswith(" ")} == {
        "green_tripdata_2199-01.parquet": "failed",
        "green_tripdata_2199-02.parquet": "not published",
    }
    (reason,) = [line for line in lines if line.startswith(" ")]
    url = f"{tlc.address}/trip-data/green_tripdata_2199-01.parquet"
    assert reason == f"    {url}: the server answers 500. Fetch again later."


def test_fetch_is_json_in_the_order_of_the_months(run: Run, tlc: MisbehavingServer) -> None:
    tlc.plan("/trip-data/green_tripdata_2199-01.parquet", status(500))
    outcome = run("fetch", "--json", "--jobs", "2", "green", "2199-02", "2199-01", "2199-01:2199-02")
    assert outcome.status == 1
    assert [(entry["name"], entry["state"]) for entry in json.loads(outcome.out)] == [
        ("green_tripdata_2199-01.parquet", "failed"),
        ("green_tripdata_2199-02.parquet", "not published"),
    ]


def test_fetch_into_a_landing_that_cant_be_written_is_one_line_and_status_2(
    run: Run, tlc: MisbehavingServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a_file").write_text("in the way")
    monkeypatch.setenv("TAXI_LANDING_ROOT", str(tmp_path / "a_file"))
    outcome = run("fetch", "zones")
    assert (outcome.status, tlc.asked) == (2, [])
    assert "TAXI_LANDING_ROOT" in only_line(outcome)


@pytest.mark.parametrize(
    "words", [["status"], ["checks", "2024-01"], ["materialize", "2024-01"]], ids=lambda words: words[0]
)
def test_a_command_in_a_wrong_folder_leaves_nothing_there(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: list[str]
) -> None:
    wrong = tmp_path / "wrong"
    wrong.mkdir()
    monkeypatch.chdir(wrong)
    for name in ("TAXI_LANDING_ROOT", "TAXI_LAKE_ROOT", "DAGSTER_HOME"):
        monkeypatch.delenv(name)

    assert run(*words).status != 0
    assert list(wrong.iterdir()) == []
