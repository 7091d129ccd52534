"""Alerts in words: what each must name, how long it may become, and that text from data is nothing but text."""

from __future__ import annotations

from dataclasses import replace

import dagster as dg
import pytest

from taxi_assets.alerts import wording
from taxi_assets.alerts.facts import Severity
from taxi_assets.alerts.messages import Message, messages_of
from taxi_assets.alerts.plan import Facts, State, plan
from taxi_assets.alerts.texts import printable
from taxi_assets.tlc.vocabulary import Service
from taxi_assets_tests.alerts.happenings import (
    ALL,
    EMPTY,
    GOLD,
    GREEN,
    UI,
    after,
    all_sent,
    check,
    failed_run,
    lateness,
    run,
    tick,
)

pytestmark = pytest.mark.fast


def sent(state: State) -> Message:
    ((message, _),) = messages_of(state.due("all", (), 0.0), UI)
    return message


def test_a_failed_check_names_table_month_rule_count_share_tolerance_rows_run_and_what_to_do() -> None:
    message = sent(after(EMPTY, run(check())))
    assert message == Message(
        title=f"[warning] {GREEN} 2024-01: known_zones",
        body="\n".join([
            f"WARNING: the check known_zones of {GREEN} failed for 2024-01. The run is green.",
            "Rows that break it: 12 of 400, 3.000%; tolerance 1.000%",
            "Examples of known_zones:",
            "  source_row 1, pickup_location_id 999",
            "  source_row 2, pickup_location_id 999",
            "  source_row 3, pickup_location_id 999",
            "Run: http://ui:3000/runs/run-1",
            f"What to do: {wording.AFTER_A_CHECK} All checks: taxi-assets checks 2024-01",
        ]),
        tone="warning",
    )  # fmt: skip


def test_a_check_without_counts_is_told_in_its_own_words() -> None:
    body = sent(after(EMPTY, run(check(figures={}, examples=(), says="e_scooter_fee is new")))).body
    assert "Found: e_scooter_fee is new" in body
    assert "Examples" not in body


def test_a_failed_run_names_tables_cause_checks_rows_run_and_what_to_do() -> None:
    limit = check("within_publish_limit", severity=Severity.ERROR, figures={}, examples=(), says="390 of 400")
    message = sent(after(EMPTY, failed_run(check(), limit, check("times_exist", passed=True))))
    assert (message.title, message.tone) == (f"[error] {GREEN} 2024-01: run failed", "error")
    assert message.body.splitlines() == [
        f"ERROR: the run of 2024-01 failed at {GREEN}.",
        "Cause: The file is damaged. Fetch it again.",
        f"Not made, as they depend on it: {GOLD}",
        f"Check within_publish_limit of {GREEN} failed (error). Found: 390 of 400",
        f"Check known_zones of {GREEN} failed (warning). Rows that break it: 12 of 400, 3.000%; tolerance 1.000%",
        "Examples of known_zones:",
        *(f"  source_row {row}, pickup_location_id 999" for row in (1, 2, 3)),
        "Run: http://ui:3000/runs/run-1",
        "What to do: what the cause says; then taxi-assets materialize --service green 2024-01",
    ]


STAR, FACTS = "nyctaxi_bronze/trips_raw", "nyctaxi_gold/fact_trips"


@pytest.mark.parametrize(
    ("failed", "not_stored", "again"),
    [
        ((STAR,), [FACTS], "taxi-assets materialize --catalog nyctaxi 2024-01"),
        ((FACTS, GOLD), [], "taxi-assets materialize 2024-01 and taxi-assets materialize --catalog nyctaxi 2024-01"),
        ((f"{GREEN}:rows_accounted_for",), [], "taxi-assets materialize --service green 2024-01"),
        ((GOLD,), ["tlc_silver/dim_payment"], "taxi-assets materialize 2024-01"),
        ((GOLD,), [GREEN, "tlc_silver/dim_license"],
         "taxi-assets materialize --service green --service fhvhv 2024-01"),
        ((GOLD,), [f"tlc_silver/{service}_trips" for service in Service], "taxi-assets materialize 2024-01"),
        (("something",), [], "launch something again"),
    ],
)  # fmt: skip
def test_what_to_do_about_a_failed_run_is_the_command_for_its_catalog_and_services(
    failed: tuple[str, ...], not_stored: list[str], again: str
) -> None:
    checks = [check(table=table.partition(":")[0]) for table in failed if ":" in table]
    done = failed_run(*checks, failed=failed, not_stored=frozenset(not_stored), job="something")
    assert sent(after(EMPTY, done)).body.splitlines()[-1] == f"What to do: what the cause says; then {again}"


def test_a_job_that_isnt_of_a_month_is_to_be_launched_again() -> None:
    done = failed_run(month="", job="lake_maintenance", failed=("lake_maintenance",))
    assert sent(after(EMPTY, done)).body.endswith("; then launch lake_maintenance again")


def test_a_check_of_a_cancelled_run_says_so_and_doesnt_say_that_its_month_is_stored() -> None:
    cancelled = run(check(), ended=dg.DagsterEventType.RUN_CANCELED, stored=frozenset(), not_stored=frozenset({GREEN}))
    body = sent(after(EMPTY, cancelled)).body
    assert f"known_zones of {GREEN} failed for 2024-01. The run was cancelled." in body
    assert "green." not in body
    assert wording.AFTER_A_CHECK not in body
    assert "taxi-assets materialize --service green 2024-01" in body


@pytest.mark.parametrize(("table", "options"), [(GREEN, ""), (FACTS, " --catalog nyctaxi")])
def test_a_digest_names_the_status_of_the_catalogs_that_it_is_about(table: str, options: str) -> None:
    last = sent(after(EMPTY, run(*(check(f"check_{number}", table=table) for number in range(10))))).body.splitlines()[
        -1
    ]
    assert "taxi-assets checks MONTH" in last
    assert f"taxi-assets status{options} shows what has become of each month" in last
    assert last.count("taxi-assets status") == 1


def test_a_failed_run_of_many_checks_shows_the_worst_and_counts_the_others() -> None:
    many = [check(f"check_{rows}", figures={"rows_failing": rows}, says=f"{rows} rows") for rows in range(1, 41)]
    body = sent(after(EMPTY, failed_run(*many))).body
    assert "check_40" in body
    assert "37 more checks failed." in body
    assert "check_1 " not in body
    assert body.count("source_row") == 3


def test_causes_that_differ_are_all_told() -> None:
    body = sent(after(EMPTY, failed_run(causes=("The first.", "The second.")))).body
    assert "Cause: The first.\nAnd: The second." in body


def test_a_sensor_names_itself_its_cause_and_where_its_ticks_are() -> None:
    message = sent(after(EMPTY, tick(failed=True)))
    assert message.title == "[error] tlc_landing: tick failed"
    assert "Cause: Landing can't be listed." in message.body
    assert f"{UI}/automation" in message.body


IF_NOT = "if it says 'not published', TLC is late"
LAG = "which should be stored by now: TLC publishes a month about two months after it."


@pytest.mark.parametrize(
    ("late", "landed", "title", "lacks", "do"),
    [
        ("2024-02", [], "2024-02", "2024-02", f"taxi-assets fetch green 2024-02; {IF_NOT}"),
        ("2024-02", ["2024-02"], "2024-02", "2024-02",
         "its file stands in landing: taxi-assets materialize --service green 2024-02"),
        ("2024-02:2024-05", [], "2024-02 to 2024-05", "4 months, 2024-02 to 2024-05",
         f"taxi-assets fetch green 2024-02:2024-05; {IF_NOT}"),
        ("2024-02:2024-05", ["2024-03", "2024-05"], "2024-02 to 2024-05", "4 months, 2024-02 to 2024-05",
         ("files of 2 stand in landing: taxi-assets materialize --service green 2024-03 2024-05. "
          f"taxi-assets fetch green 2024-02 2024-04; {IF_NOT}")),
    ],
    ids=["absent", "landed", "several", "some landed"],
)  # fmt: skip
def test_late_months_say_how_to_come_by_them(late: str, landed: list[str], title: str, lacks: str, do: str) -> None:
    message = sent(plan(Facts(0.0, lateness=lateness(late, landed=landed)), EMPTY, [ALL], UI))
    assert message.title == f"[warning] {GREEN} {title}: late"
    assert message.body.splitlines() == [f"WARNING: {GREEN} lacks {lacks}, {LAG}", f"What to do: {do}"]


def test_a_file_whose_name_is_off_is_told_with_what_to_call_it() -> None:
    message = sent(
        plan(Facts(0.0, unread={"Green_tripdata_2024-01.parquet": "green_tripdata_2024-01.parquet"}), EMPTY, [ALL], UI)
    )
    assert message.title == "[warning] Green_tripdata_2024-01.parquet: not read"
    off = "Its name is nearly one that is read, or what it is of is unknown: it is never read."
    assert message.body.splitlines() == [
        f"WARNING: Green_tripdata_2024-01.parquet stands in landing. {off}",
        "What to do: rename it, if it is to be read, as in green_tripdata_2024-01.parquet; or else move it away",
    ]


def test_two_services_whose_files_are_bad_are_one_message() -> None:
    names = tuple(f"tlc_bronze/{service}_trips" for service in ("green", "yellow"))
    failure = failed_run(failed=names, why={names[0]: "A page.", names[1]: "Cut off."}, not_stored=frozenset())
    message = sent(after(EMPTY, failure))
    assert message.title == "[error] tlc_bronze/green_trips, tlc_bronze/yellow_trips 2024-01: run failed"
    assert message.body.splitlines()[:3] == [
        "ERROR: the run of 2024-01 failed at tlc_bronze/green_trips, tlc_bronze/yellow_trips.",
        "Cause: A page.",
        "And: Cut off.",
    ]


@pytest.mark.parametrize(
    ("failed", "says"),
    [
        ((GREEN,), f"{GREEN} 2024-01 is stored after all."),
        ((GREEN, f"{GREEN}_quarantine"), f"{GREEN} and {GREEN}_quarantine 2024-01 are stored after all."),
        ((f"{GREEN}:known_zones",), f"The check known_zones of {GREEN} holds again for 2024-01."),
        (("tlc_month",), "tlc_month 2024-01 ended well."),
    ],
    ids=["a table", "tables", "a check", "a job"],
)
def test_that_a_failed_run_was_made_good_is_told_in_the_words_of_what_had_failed(
    failed: tuple[str, ...], says: str
) -> None:
    passed = [check(name, passed=True) for name in ("known_zones",)]
    state = all_sent(after(EMPTY, failed_run(failed=failed)))
    state = after(state, run(*passed, place=2, stored=frozenset({GREEN, f"{GREEN}_quarantine"})))
    assert sent(state).body.splitlines() == [says, "Run: http://ui:3000/runs/run-2"]


def test_a_digest_has_the_worst_first_and_ends_after_some_lines_with_how_many_are_left() -> None:
    many = [check(f"check_{number:02}") for number in range(40)]
    message = sent(after(EMPTY, run(*many), failed_run(place=2, month="2024-02")))
    lines = message.body.splitlines()
    assert message.title == "[error] failed runs: 1, failed checks: 40"
    assert lines[:2] == [
        (
            f"- [error] {GREEN} 2024-02: run failed. The file is damaged. Fetch it again. Do: what the cause says; "
            "then taxi-assets materialize --service green 2024-02. http://ui:3000/runs/run-2"
        ),
        (
            f"- [warning] {GREEN} 2024-01: check_00. 12 of 400 rows (3.000%). Do: taxi-assets checks 2024-01. "
            "http://ui:3000/runs/run-1"
        ),
    ]
    assert "... and 16 more of 16 tables and checks." in lines
    assert len(message.body) < 10_000


def test_what_waited_among_many_is_told_in_lines_though_few_are_left() -> None:
    state = after(EMPTY, run(*(check(f"check_{number}", month="2024-02") for number in range(10)), batch=(("a", "b"),)))
    state = after(state, run(check(), place=2))
    ((message, notices),) = messages_of(state.due("all", {(("a", "b"),)}, 0.0), UI)
    assert len(notices) == 1
    assert f"- [warning] {GREEN} 2024-01: known_zones. 12 of 400 rows (3.000%)." in message.body


def test_a_line_of_a_digest_has_all_months_of_a_failure_the_last_cause_and_one_command_for_all() -> None:
    months = [*(f"2024-{number:02}" for number in range(1, 7)), "2024-09"]
    causes = [f"green_tripdata_{month}.parquet is a page. Fetch it again." for month in months]
    failures = [
        failed_run(place=place, month=month, causes=(cause,))
        for place, (month, cause) in enumerate(zip(months, causes, strict=True))
    ]
    body = sent(after(EMPTY, *failures)).body
    assert body.splitlines()[0] == (
        f"- [error] {GREEN}: run failed: 7 months, 2024-01 to 2024-09. 2024-09: {causes[-1]} Do: what the cause says; "
        "then taxi-assets materialize --service green 2024-01:2024-06 2024-09. http://ui:3000/runs/run-6"
    )
    other = replace(failures[0], causes=("The disk is full.",))
    assert "Fetch it again. (2 causes in all.) Do: " in sent(after(EMPTY, other, *failures[1:])).body


def test_a_digest_of_files_whose_names_are_off_is_one_line() -> None:
    body = sent(
        plan(Facts(0.0, unread={f"trip data {number}.csv": "a.csv" for number in range(200)}), EMPTY, [ALL], UI)
    ).body
    assert body.splitlines()[0].startswith(
        "- [warning] 200 files: trip data 0.csv, trip data 1.csv, trip data 10.csv and 197 more: not read. "
    )


def test_a_digest_of_what_is_well_again_says_so_and_nothing_to_do() -> None:
    names = [f"check_{number}" for number in range(9)]
    state = all_sent(after(EMPTY, run(*map(check, names))))
    message = sent(after(state, run(*(check(name, passed=True) for name in names), place=2)))
    assert message.title == "[well again] failed checks: 9"
    assert message.body.splitlines()[0] == (
        f"- check_0 of {GREEN} holds again for 2024-01: 12 of 400 rows (3.000%) http://ui:3000/runs/run-2"
    )
    assert "Do: " not in message.body


def test_what_is_cut_ends_with_a_word_and_says_that_it_is_cut() -> None:
    text = "One two three four five six seven."
    assert printable(text, 40) == text
    assert [printable(text, longest) for longest in (33, 34, 20, 19)] == [
        "One two three four five six…",
        text,
        "One two three four…",
        "One two three four…",
    ]
    assert printable("x" * 50, 20) == "x" * 19 + "…"
    assert printable("one " + " " * 50, 20) == "one …"


HOSTILE = 'a\nb\x1b[31m\u202ereversed\r\nBcc: me@example.org <script>alert("x")</script>' + "x" * 5_000


def test_text_from_data_is_one_line_of_bounded_length_without_control_characters() -> None:
    shown = printable(HOSTILE, 60)
    assert len(shown) <= 60
    assert shown.endswith("…")
    assert shown.isprintable()
    assert shown.startswith("a b [31m reversed Bcc: me@example.org")
    assert printable("plain", 60) == "plain"


def test_no_line_of_an_alert_begins_with_what_data_or_an_error_says() -> None:
    hostile = check(says=HOSTILE, figures={}, examples=({"source_file": HOSTILE},))
    state = after(EMPTY, run(hostile), failed_run(hostile, place=2, month="2024-02", causes=(HOSTILE,)))
    for message, _ in messages_of(state.due("all", (), 0.0), UI):
        assert not any(line.startswith(("b", "Bcc")) for line in message.body.splitlines())
        assert len(message.body) < 6_000
        assert "<script>" not in message.title


def test_the_link_is_to_the_run_in_the_ui_that_the_settings_name() -> None:
    assert wording.link_of(run(), "https://dagster.example.org") == "https://dagster.example.org/runs/run-1"
