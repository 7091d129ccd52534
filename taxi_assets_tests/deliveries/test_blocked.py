"""The file in landing that blocks months: what it may say, and what is told of a line that says something else."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable
from pathlib import Path

import dagster as dg
import pytest

from taxi_assets.calendars import Month
from taxi_assets.deliveries.blocked import blocked_in
from taxi_assets.errors import LandingError
from taxi_assets.landing import Landing
from taxi_assets.tlc import TLC
from taxi_assets.tlc.bronze.trips import BRONZE_TRIPS
from taxi_assets.tlc.vocabulary import Service
from taxi_assets_tests.scenario import BLOCKED_MONTHS, USUAL, Workspace

pytestmark = pytest.mark.fast


def blocked(folder: Path, text: str | bytes) -> dict[str, str]:
    """Return what a file of this text blocks."""
    content = text if isinstance(text, bytes) else text.encode()
    (folder / BLOCKED_MONTHS).write_bytes(content)
    return {
        f"{service} {month}": reason
        for (service, month), reason in blocked_in(TLC, Landing(str(folder), {}), None).items()
    }


def test_without_the_file_nothing_is_blocked(tmp_path: Path) -> None:
    assert blocked_in(TLC, Landing(str(tmp_path), {}), None) == {}


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
        ("gren 2024-03 bad", "There is no service 'gren' in tlc; there are yellow, green, fhv, fhvhv."),
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
    assert message.endswith("A line is a service, a month or a range, and why: fhvhv 2019-03 its amounts are in cents.")
    assert "\n" not in message


def test_a_file_that_is_no_text_is_an_error_that_names_it(tmp_path: Path) -> None:
    with pytest.raises(LandingError, match=r"blocked_months\.txt in landing can't be read: .*UTF-8"):
        blocked(tmp_path, b"green 2024-03 \xff\xfe")


def test_a_month_that_has_other_services_too_is_blocked_for_its_own_alone(tmp_path: Path) -> None:
    (tmp_path / BLOCKED_MONTHS).write_text("green 2024-03 bad")
    assert set(blocked_in(TLC, Landing(str(tmp_path), {}), None)) == {(Service.GREEN, Month(2024, 3))}


# --- a list that is lost


def a_socket(path: Path) -> None:
    # Its own path may be too long for a socket's address.
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(os.path.relpath(path))


INSTEAD: dict[str, tuple[Callable[[Path], None], str]] = {
    "a dangling link": (lambda path: path.symlink_to("nowhere"), "a link that leads nowhere"),
    "a link to itself": (lambda path: path.symlink_to(path.name), "a link that can't be followed"),
    "a folder": (lambda path: path.mkdir(), "a folder"),
    "a link to a folder": (lambda path: path.symlink_to("."), "a folder"),
    "a pipe": (os.mkfifo, "a pipe"),
    "a link to a device": (lambda path: path.symlink_to("/dev/zero"), "a device"),
    "a socket": (a_socket, "a socket"),
}


@pytest.mark.parametrize(("put", "what"), INSTEAD.values(), ids=INSTEAD)
def test_what_is_no_file_is_an_error_that_says_what_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, put: Callable[[Path], None], what: str
) -> None:
    monkeypatch.chdir(tmp_path)
    put(tmp_path / BLOCKED_MONTHS)
    with pytest.raises(
        LandingError, match=rf"^blocked_months\.txt in landing can't be read: it is {what}.*, not a file"
    ):
        blocked_in(TLC, Landing(str(tmp_path), {}), None)


def test_a_folder_of_that_name_in_a_bucket_is_an_error(tmp_path: Path) -> None:
    (tmp_path / BLOCKED_MONTHS).mkdir()
    (tmp_path / BLOCKED_MONTHS / "green").write_text("green 2024-03 bad")
    with pytest.raises(LandingError, match="can't be read: it is a folder, not a file"):
        blocked_in(TLC, Landing(f"file://{tmp_path}", {}), None)


def test_a_bucket_without_the_list_blocks_nothing(tmp_path: Path) -> None:
    assert blocked_in(TLC, Landing(f"file://{tmp_path}", {}), None) == {}


def test_a_file_without_an_end_is_refused_by_its_size(tmp_path: Path) -> None:
    with (tmp_path / BLOCKED_MONTHS).open("wb") as endless:
        endless.truncate(3_000_000_000)
    with pytest.raises(LandingError, match="it has 3,000,000,000 bytes, which no such text has"):
        blocked_in(TLC, Landing(str(tmp_path), {}), None)


def test_a_file_that_says_it_is_empty_isnt_read(tmp_path: Path) -> None:
    # As those of /proc do, some of which never end.
    (tmp_path / BLOCKED_MONTHS).symlink_to("/proc/self/status")
    assert blocked_in(TLC, Landing(str(tmp_path), {}), None) == {}


def test_a_link_to_a_list_elsewhere_is_followed(tmp_path: Path) -> None:
    (tmp_path / "landing").mkdir()
    (tmp_path / "list").write_text("green 2024-03 bad")
    (tmp_path / "landing" / BLOCKED_MONTHS).symlink_to("../list")
    assert blocked_in(TLC, Landing(str(tmp_path / "landing"), {}), None) == {(Service.GREEN, Month(2024, 3)): "bad"}


@pytest.mark.parametrize("line", ["root:x:0:0 secret", "green root:x:0:0 secret", "green"])
def test_nothing_is_quoted_of_a_file_that_a_link_out_of_landing_leads_to(tmp_path: Path, line: str) -> None:
    (tmp_path / "landing").mkdir()
    (tmp_path / "list").write_text(line)
    (tmp_path / "landing" / BLOCKED_MONTHS).symlink_to(tmp_path / "list")
    with pytest.raises(LandingError, match="line 1: It is what isn't shown") as caught:
        blocked_in(TLC, Landing(str(tmp_path / "landing"), {}), None)
    assert "root" not in str(caught.value)


@pytest.mark.parametrize("text", ["green 2024-03 bad", ""])
def test_a_list_that_was_there_and_is_gone_is_an_error_until_one_is_there(
    tmp_path: Path, instance: dg.DagsterInstance, text: str
) -> None:
    landing = Landing(str(tmp_path), {})
    assert blocked_in(TLC, landing, instance) == {}
    (tmp_path / BLOCKED_MONTHS).write_text(text)
    known = blocked_in(TLC, landing, instance)
    (tmp_path / BLOCKED_MONTHS).unlink()
    for _ in range(2):
        with pytest.raises(
            LandingError, match=r"was in .* before, and is gone: .* put an empty file of that name there"
        ):
            blocked_in(TLC, landing, instance)
    (tmp_path / BLOCKED_MONTHS).write_text(text)
    assert blocked_in(TLC, landing, instance) == known


@pytest.mark.parametrize("service", Service)
def test_no_services_month_is_run_once_the_list_is_lost(workspace: Workspace, service: Service) -> None:
    rows = [USUAL[service]()]
    workspace.land(service, rows)
    (workspace.landing / BLOCKED_MONTHS).write_text(f"{service} 2024-01 bad")
    assert workspace.run_bronze(service).success
    (workspace.landing / BLOCKED_MONTHS).unlink()
    result = workspace.run_bronze(service)
    assert "blocked_months.txt was in" in workspace.failures(result)[0]
    assert workspace.lake.row_count(BRONZE_TRIPS[service]) is None
    (workspace.landing / BLOCKED_MONTHS).write_text("")
    assert workspace.run_bronze(service).success
    assert workspace.lake.row_count(BRONZE_TRIPS[service]) == 1


def test_a_list_that_is_gone_from_one_landing_is_missed_in_no_other(
    tmp_path: Path, instance: dg.DagsterInstance
) -> None:
    (tmp_path / BLOCKED_MONTHS).write_text("")
    blocked_in(TLC, Landing(str(tmp_path), {}), instance)
    (tmp_path / "other").mkdir()
    assert blocked_in(TLC, Landing(str(tmp_path / "other"), {}), instance) == {}


def test_what_cant_be_made_sense_of_isnt_forgotten_either(tmp_path: Path, instance: dg.DagsterInstance) -> None:
    landing = Landing(str(tmp_path), {})
    (tmp_path / BLOCKED_MONTHS).write_text("green")
    with pytest.raises(LandingError, match="line 1"):
        blocked_in(TLC, landing, instance)
    (tmp_path / BLOCKED_MONTHS).unlink()
    with pytest.raises(LandingError, match="is gone"):
        blocked_in(TLC, landing, instance)


def test_months_in_other_digits_than_ours_are_a_mistake(tmp_path: Path) -> None:
    with pytest.raises(LandingError, match="is not a month"):
        blocked(tmp_path, "green 2024-0\N{FULLWIDTH DIGIT THREE} bad")
