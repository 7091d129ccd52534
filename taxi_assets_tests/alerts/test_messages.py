"""Alerts in words: what each must name, how long it may become, and that text from data is nothing but text."""

from __future__ import annotations

import dagster as dg
import pytest

from taxi_assets.alerts import messages
from taxi_assets.alerts.facts import Severity
from taxi_assets.alerts.messages import Message, messages_of, printable
from taxi_assets.alerts.plan import Facts, State, plan
from taxi_assets.vocabulary import Service
from taxi_assets_tests.alerts.happenings import (
    ALL,
    EMPTY,
    GOLD,
    GREEN,
    UI,
    after,
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
            f"What to do: {messages.AFTER_A_CHECK} All checks: taxi-assets checks 2024-01",
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
    assert messages.AFTER_A_CHECK not in body
    assert "taxi-assets materialize --service green 2024-01" in body


@pytest.mark.parametrize(("table", "of_tlc"), [(GREEN, True), (FACTS, False)])
def test_a_digest_names_status_only_for_what_it_shows(table: str, of_tlc: bool) -> None:  # noqa: FBT001
    last = sent(after(EMPTY, run(*(check(f"check_{number}", table=table) for number in range(10))))).body.splitlines()[
        -1
    ]
    assert "taxi-assets checks MONTH" in last
    assert ("taxi-assets status" in last) is of_tlc


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


@pytest.mark.parametrize(
    ("landed", "do"),
    [(False, "taxi-assets fetch green 2024-02"), (True, "taxi-assets materialize --service green 2024-02")],
)
def test_a_late_month_says_how_to_come_by_it(landed: bool, do: str) -> None:  # noqa: FBT001
    message = sent(plan(Facts(0.0, lateness=lateness("2024-02", landed=landed)), EMPTY, [ALL], UI))
    assert message.title == f"[warning] {GREEN} 2024-02: late"
    assert do in message.body


def test_a_digest_has_the_worst_first_and_ends_after_some_lines_with_how_many_are_left() -> None:
    many = [check(f"check_{number:02}") for number in range(40)]
    message = sent(after(EMPTY, run(*many), failed_run(place=2, month="2024-02")))
    lines = message.body.splitlines()
    assert message.title == "[error] failed runs: 1, failed checks: 40"
    assert lines[0].startswith(f"- [error] {GREEN}: 2024-02. 2024-02: The file is damaged.")
    assert "... and 16 more of 16 tables and checks." in lines
    assert len(message.body) < 10_000


def test_what_waited_among_many_is_told_in_lines_though_few_are_left() -> None:
    state = after(EMPTY, run(*(check(f"check_{number}", month="2024-02") for number in range(10)), batch=(("a", "b"),)))
    state = after(state, run(check(), place=2))
    ((message, notices),) = messages_of(state.due("all", {(("a", "b"),)}, 0.0), UI)
    assert len(notices) == 1
    assert f"- [warning] {GREEN}: known_zones: 2024-01." in message.body


HOSTILE = 'a\nb\x1b[31m\u202ereversed\r\nBcc: me@example.org <script>alert("x")</script>' + "x" * 5_000


def test_text_from_data_is_one_line_of_bounded_length_without_control_characters() -> None:
    shown = printable(HOSTILE, 60)
    assert len(shown) == 60
    assert shown.isprintable()
    assert shown.startswith("a b [31m reversed Bcc: me@example.org <script>")
    assert printable("plain", 60) == "plain"


def test_no_line_of_an_alert_begins_with_what_data_or_an_error_says() -> None:
    hostile = check(says=HOSTILE, figures={}, examples=({"source_file": HOSTILE},))
    state = after(EMPTY, run(hostile), failed_run(hostile, place=2, month="2024-02", causes=(HOSTILE,)))
    for message, _ in messages_of(state.due("all", (), 0.0), UI):
        assert not any(line.startswith(("b", "Bcc")) for line in message.body.splitlines())
        assert len(message.body) < 6_000
        assert "<script>" not in message.title


def test_the_link_is_to_the_run_in_the_ui_that_the_settings_name() -> None:
    assert messages.link_of(run(), "https://dagster.example.org") == "https://dagster.example.org/runs/run-1"
