"""Fetching from a server that misbehaves: what stands in landing, what is reported, and what the server was asked.

Whatever the server does, nothing but a whole file stands under a final name: `landing` holds every test here to it.
"""

from __future__ import annotations

import base64
import gzip
import io
import os
import re
import signal
import threading
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, date, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from taxi_assets.calendars import Month
from taxi_assets.deliveries.landed import find_files
from taxi_assets.errors import UsageError
from taxi_assets.landing import Landing
from taxi_assets.sample import write_month
from taxi_assets.sample.files import NOTE as SAMPLES
from taxi_assets.tlc import TLC
from taxi_assets.tlc.fetch import Fetched, Server, Wanted, fetch, files
from taxi_assets.tlc.fetch.download import LONGEST_WAIT
from taxi_assets.tlc.vocabulary import Service
from taxi_assets.tlc.zone_lookup import find_zone_lookup
from taxi_assets_tests.misbehaving_server import (
    Behaviour,
    Exchange,
    MisbehavingServer,
    a_part_of_the_range,
    announcing,
    another_range,
    broken_after,
    dripping,
    for_ever,
    hanging_after,
    ignoring_if_range,
    ignoring_ranges,
    once_all_are_here,
    properly,
    reset_at_once,
    status,
    without_end,
)

pytestmark = pytest.mark.fast

MONTH = Month(2024, 1)
FILE = Wanted.trips(Service.YELLOW, MONTH)
PATH = f"/{FILE.path}"
LOOKUP = b'"LocationID","Borough","Zone","service_zone"\r\n1,"EWR","Newark Airport","EWR"\r\n'
ERROR_PAGE = b"\n <!DOCTYPE html><title>Sign in</title>"


def parquet(rows: int, first: int = 0) -> bytes:
    """Return a Parquet file: other rows, other bytes; the number of rows alone sets its size."""
    written = io.BytesIO()
    column = pa.array(range(first, first + rows), pa.int64())
    pq.write_table(pa.table({"n": column}), written, compression="none", use_dictionary=False)
    return written.getvalue()


def of_a_type_that_cant_be(whole: bytes) -> bytes:
    """Let the note on types, which Arrow leaves in a footer, say of integers of 64 bits that they have 96."""
    note = re.findall(rb"/{5}[A-Za-z0-9+/]+=*", whole)[-1]
    changed = base64.b64decode(note).replace(b"\x40\0\0\0", b"\x60\0\0\0")
    return whole.replace(note, base64.b64encode(changed))


WHOLE = parquet(100_000)
REISSUED = parquet(120_000, first=1)
# Whole blocks of the reader's.
HALF = 6 * 64 * 1024
BLOCKS_OVER = 20 * 64 * 1024
GOOD = {WHOLE, REISSUED, LOOKUP}


class Waits(list[float]):
    """Takes the place of waiting: notes the seconds, and lets none pass."""

    def __call__(self, seconds: float) -> None:
        self.append(seconds)


@pytest.fixture
def waits() -> Waits:
    return Waits()


@pytest.fixture
def landing(tmp_path: Path, server: MisbehavingServer) -> Iterator[Landing]:
    """A landing of which is seen, behind each block that is sent and at the end, that it holds whole files only."""
    folder, partial = tmp_path / "landing", set()
    folder.mkdir()

    def look() -> None:
        found = [path for path in folder.iterdir() if path.name in {FILE.name, Wanted.zones().name}]
        partial.update(path.name for path in found if path.read_bytes() not in GOOD)

    server.on_block = look
    yield Landing(str(folder), {})
    look()
    assert partial == set()


def fetch_all(
    landing: Landing,
    server: MisbehavingServer,
    *wanted: Wanted,
    attempts: int = 5,
    waits: Waits | None = None,
    jobs: int = 4,
) -> list[Fetched]:
    patience = Server(server.address, timeout=5, attempts=attempts)
    no_wait = Waits() if waits is None else waits
    return list(fetch(wanted or [FILE], landing, patience, jobs=jobs, wait=no_wait))


def fetch_one(
    landing: Landing, server: MisbehavingServer, file: Wanted = FILE, attempts: int = 5, waits: Waits | None = None
) -> Fetched:
    (outcome,) = fetch_all(landing, server, file, attempts=attempts, waits=waits)
    assert outcome.name == file.name
    assert "\n" not in outcome.says
    return outcome


def standing(landing: Landing, file: Wanted = FILE) -> bytes | None:
    path = Path(landing.root) / file.name
    return path.read_bytes() if path.exists() else None


def left_over(landing: Landing) -> list[Path]:
    """Return the parts of files that landing hides."""
    return sorted((Path(landing.root) / ".fetch").glob("*.part"))


def ranges(server: MisbehavingServer) -> list[str]:
    return [asked.headers.get("range", "") for asked in server.requests(PATH)]


def at_work() -> list[threading.Thread]:
    """Return the threads in which files are being fetched."""
    return [thread for thread in threading.enumerate() if thread.name.endswith("(work)")]


def month_from_now(months: int) -> Month:
    today = date.today()  # noqa: DTZ011
    count = today.year * 12 + today.month - 1 + months
    return Month(count // 12, count % 12 + 1)


# --- a server that behaves


def test_a_file_is_fetched_under_the_name_that_landing_is_read_by(landing: Landing, server: MisbehavingServer) -> None:
    server.serve(PATH, WHOLE)
    outcome = fetch_one(landing, server)
    assert (outcome.state, outcome.size, outcome.says) == ("fetched", len(WHOLE), "")
    assert standing(landing) == WHOLE
    assert find_files(TLC, landing, (Service.YELLOW, MONTH))[0].file.path == "yellow_tripdata_2024-01.parquet"
    assert left_over(landing) == []


def test_the_zone_lookup_is_fetched_from_its_own_place(landing: Landing, server: MisbehavingServer) -> None:
    server.serve("/misc/taxi_zone_lookup.csv", LOOKUP)
    assert fetch_one(landing, server, Wanted.zones()).state == "fetched"
    found = find_zone_lookup(landing)
    assert found is not None
    assert (found.path, found.size) == ("taxi_zone_lookup.csv", len(LOOKUP))


@pytest.mark.parametrize("service", Service)
def test_every_service_has_its_file(service: Service) -> None:
    assert Wanted.trips(service, MONTH).path == f"trip-data/{service}_tripdata_2024-01.parquet"


def test_what_is_noted_beside_the_files_is_no_file_of_landings(landing: Landing, server: MisbehavingServer) -> None:
    server.serve(PATH, WHOLE)
    fetch_one(landing, server)
    assert list((Path(landing.root) / ".fetch").iterdir()) != []
    assert [file.path for file in landing.files()] == [FILE.name]


def test_a_file_that_is_there_and_unchanged_is_asked_for_but_not_sent(
    landing: Landing, server: MisbehavingServer
) -> None:
    server.serve(PATH, WHOLE)
    fetch_one(landing, server)
    before = landing.files()
    assert fetch_one(landing, server).state == "unchanged"
    assert server.statuses(PATH) == [200, 304]
    assert landing.files() == before


def test_a_file_that_was_issued_again_replaces_the_earlier_one(landing: Landing, server: MisbehavingServer) -> None:
    server.serve(PATH, WHOLE)
    fetch_one(landing, server)
    server.serve(PATH, REISSUED)
    with (Path(landing.root) / FILE.name).open("rb") as opened_before:
        assert fetch_one(landing, server).state == "fetched"
        assert opened_before.read() == WHOLE
    assert standing(landing) == REISSUED
    assert fetch_one(landing, server).state == "unchanged"


@pytest.mark.parametrize("touch", ["cut off", "other bytes of the same size", "gone"])
def test_a_file_that_isnt_what_was_fetched_any_longer_is_fetched_again(
    tmp_path: Path, server: MisbehavingServer, touch: str
) -> None:
    landing = Landing(str(tmp_path), {})
    server.serve(PATH, WHOLE)
    fetch_one(landing, server)
    path = Path(landing.root) / FILE.name
    if touch == "gone":
        path.unlink()
    else:
        path.write_bytes(WHOLE[:-1] if touch == "cut off" else WHOLE[::-1])
        os.utime(path, (1_700_000_000, 1_700_000_000))
    assert fetch_one(landing, server).state == "fetched"
    assert standing(landing) == WHOLE
    assert server.statuses(PATH) == [200, 200]


@pytest.mark.parametrize("etag", [None, 'W/"weak"', '"' + "x" * 500 + '"'], ids=["none", "weak", "very long"])
def test_without_an_etag_to_go_by_equal_bytes_leave_the_file_as_it_is(
    landing: Landing, server: MisbehavingServer, etag: str | None
) -> None:
    server.serve(PATH, WHOLE, etag)
    fetch_one(landing, server)
    before = landing.files()
    assert fetch_one(landing, server).state == "unchanged"
    assert server.statuses(PATH) == [200, 200]
    assert (landing.files(), left_over(landing)) == (before, [])


def test_a_damaged_note_costs_no_more_than_a_download(landing: Landing, server: MisbehavingServer) -> None:
    server.serve(PATH, WHOLE)
    fetch_one(landing, server)
    (Path(landing.root) / ".fetch" / f"{FILE.name}.json").write_text("{")
    assert fetch_one(landing, server).state == "unchanged"
    assert server.statuses(PATH) == [200, 200]
    assert fetch_one(landing, server).state == "unchanged"
    assert server.statuses(PATH) == [200, 200, 304]


def test_a_redirect_is_followed(landing: Landing, server: MisbehavingServer) -> None:
    server.serve("/elsewhere", WHOLE)
    server.plan(PATH, status(302, Location="/elsewhere?signature=secret"))
    server.files["/elsewhere?signature=secret"] = server.files["/elsewhere"]
    assert fetch_one(landing, server).state == "fetched"


def test_several_files_are_fetched_at_once(landing: Landing, server: MisbehavingServer) -> None:
    wanted = [Wanted.trips(Service.GREEN, Month(2024, number)) for number in range(1, 4)]
    together = once_all_are_here(threading.Barrier(3, timeout=5))
    for file in wanted:
        server.serve(f"/{file.path}", WHOLE)
        server.plan(f"/{file.path}", together)
    outcomes = fetch_all(landing, server, *wanted, attempts=1, jobs=3)
    assert {outcome.name: outcome.state for outcome in outcomes} == {file.name: "fetched" for file in wanted}


def test_not_more_files_are_fetched_at_once_than_were_asked_for(landing: Landing, server: MisbehavingServer) -> None:
    wanted = [Wanted.trips(Service.GREEN, Month(2024, number)) for number in range(1, 4)]
    together = for_ever(once_all_are_here(threading.Barrier(3, timeout=0.1)))
    for file in wanted:
        server.serve(f"/{file.path}", WHOLE)
        server.plan(f"/{file.path}", together)
    assert {outcome.state for outcome in fetch_all(landing, server, *wanted, attempts=1, jobs=2)} == {"failed"}


def test_one_file_that_fails_keeps_no_other_from_being_fetched(landing: Landing, server: MisbehavingServer) -> None:
    other = Wanted.trips(Service.GREEN, MONTH)
    server.serve(f"/{other.path}", WHOLE)
    server.serve(PATH, ERROR_PAGE)
    outcomes = {outcome.name: outcome.state for outcome in fetch_all(landing, server, FILE, other, jobs=1)}
    assert outcomes == {FILE.name: "failed", other.name: "fetched"}


def test_how_much_has_arrived_is_told_as_it_arrives(landing: Landing, server: MisbehavingServer) -> None:
    server.serve(PATH, WHOLE)
    server.plan(PATH, broken_after(HALF))
    told: list[tuple[str, int, int | None]] = []
    patience = Server(server.address, timeout=5)
    list(fetch([FILE], landing, patience, on_bytes=lambda *now: told.append(now), wait=Waits()))
    assert {(name, total) for name, _, total in told} == {(FILE.name, len(WHOLE))}
    assert [done for _, done, _ in told] == sorted(done for _, done, _ in told)
    assert {0, HALF, len(WHOLE)} <= {done for _, done, _ in told}


# --- connections that break


def test_a_connection_that_breaks_is_resumed_where_it_broke(
    landing: Landing, server: MisbehavingServer, waits: Waits
) -> None:
    server.serve(PATH, WHOLE)
    server.plan(PATH, broken_after(HALF))
    assert fetch_one(landing, server, waits=waits).state == "fetched"
    assert standing(landing) == WHOLE
    assert server.statuses(PATH) == [200, 206]
    assert ranges(server) == ["", f"bytes={HALF}-"]
    assert server.requests(PATH)[1].headers["if-range"] == server.files[PATH][1]
    assert waits == [1.0]


def test_what_has_arrived_is_resumed_by_a_later_fetch(landing: Landing, server: MisbehavingServer) -> None:
    server.serve(PATH, WHOLE)
    server.plan(PATH, broken_after(HALF))
    outcome = fetch_one(landing, server, attempts=1)
    assert (outcome.state, standing(landing)) == ("failed", None)
    assert "the connection broke" in outcome.says
    (part,) = [path.stat() for path in left_over(landing)]
    assert part.st_size == HALF
    assert fetch_one(landing, server, attempts=1).state == "fetched"
    assert (standing(landing), left_over(landing)) == (WHOLE, [])
    # Renamed, not copied: there is no moment at which half of it has the name.
    assert (Path(landing.root) / FILE.name).stat().st_ino == part.st_ino
    assert ranges(server) == ["", f"bytes={HALF}-"]


def test_a_part_without_an_etag_isnt_resumed_but_fetched_from_its_beginning(
    landing: Landing, server: MisbehavingServer
) -> None:
    server.serve(PATH, WHOLE, None)
    server.plan(PATH, broken_after(HALF))
    assert fetch_one(landing, server).state == "fetched"
    assert (standing(landing), ranges(server)) == (WHOLE, ["", ""])


@pytest.mark.parametrize(
    "behaviour", [ignoring_ranges, another_range, status(416)], ids=["ignored", "another range", "unsatisfiable"]
)
def test_a_server_that_cant_resume_is_asked_for_the_whole(
    landing: Landing, server: MisbehavingServer, behaviour: Behaviour
) -> None:
    server.serve(PATH, WHOLE)
    server.plan(PATH, broken_after(HALF), behaviour)
    assert fetch_one(landing, server).state == "fetched"
    assert (standing(landing), left_over(landing)) == (WHOLE, [])


def test_a_server_that_sends_less_than_the_rest_is_asked_for_what_is_missing_then(
    landing: Landing, server: MisbehavingServer
) -> None:
    server.serve(PATH, WHOLE)
    server.plan(PATH, broken_after(HALF), a_part_of_the_range)
    assert fetch_one(landing, server).state == "fetched"
    assert standing(landing) == WHOLE
    assert ranges(server) == ["", f"bytes={HALF}-", f"bytes={HALF + 64 * 1024}-"]


def test_a_part_that_has_no_rest_is_fetched_from_its_beginning(landing: Landing, server: MisbehavingServer) -> None:
    server.serve(PATH, WHOLE)
    server.plan(PATH, broken_after(HALF))
    fetch_one(landing, server, attempts=1)
    left_over(landing)[0].write_bytes(WHOLE)
    assert fetch_one(landing, server).state == "fetched"
    assert server.statuses(PATH) == [200, 416, 200]


def test_what_others_put_beside_the_parts_is_left_alone(landing: Landing, server: MisbehavingServer) -> None:
    server.serve(PATH, WHOLE)
    theirs = Path(landing.root) / ".fetch" / f"{FILE.name}.counterpart"
    theirs.parent.mkdir()
    theirs.write_text("theirs")
    assert fetch_one(landing, server).state == "fetched"
    assert theirs.read_text() == "theirs"


@pytest.mark.parametrize("resume", [properly, ignoring_if_range], ids=["If-Range kept", "If-Range ignored"])
def test_a_file_that_changed_since_it_broke_is_fetched_from_its_beginning(
    landing: Landing, server: MisbehavingServer, resume: Behaviour
) -> None:
    server.serve(PATH, WHOLE)
    server.plan(PATH, broken_after(HALF))
    fetch_one(landing, server, attempts=1)
    server.serve(PATH, REISSUED)
    server.plan(PATH, resume)
    assert fetch_one(landing, server).state == "fetched"
    assert (standing(landing), left_over(landing)) == (REISSUED, [])


def test_the_old_file_stands_while_a_new_one_breaks(landing: Landing, server: MisbehavingServer) -> None:
    server.serve(PATH, WHOLE)
    fetch_one(landing, server)
    server.serve(PATH, REISSUED)
    server.plan(PATH, broken_after(HALF))
    assert fetch_one(landing, server, attempts=1).state == "failed"
    assert standing(landing) == WHOLE
    assert fetch_one(landing, server).state == "fetched"
    assert standing(landing) == REISSUED


def test_a_part_is_dropped_when_the_server_goes_back_to_the_file_that_is_there(
    landing: Landing, server: MisbehavingServer
) -> None:
    server.serve(PATH, WHOLE)
    fetch_one(landing, server)
    server.serve(PATH, REISSUED)
    server.plan(PATH, broken_after(HALF))
    fetch_one(landing, server, attempts=1)
    server.serve(PATH, WHOLE)
    assert fetch_one(landing, server).state == "unchanged"
    assert (standing(landing), left_over(landing)) == (WHOLE, [])


def test_a_server_that_cuts_every_connection_is_asked_as_often_as_the_setting_says(
    landing: Landing, server: MisbehavingServer, waits: Waits
) -> None:
    server.plan(PATH, for_ever(reset_at_once))
    outcome = fetch_one(landing, server, attempts=3, waits=waits)
    assert (outcome.state, len(server.requests(PATH)), waits) == ("failed", 3, [1.0, 2.0])
    assert "3 attempts" in outcome.says


def test_a_server_that_hangs_is_given_up_after_the_timeout(landing: Landing, server: MisbehavingServer) -> None:
    server.serve(PATH, WHOLE)
    server.plan(PATH, hanging_after(HALF), hanging_after(0))
    patience = Server(server.address, timeout=0.1, attempts=2)
    (outcome,) = fetch([FILE], landing, patience, wait=Waits())
    assert outcome.state == "failed"
    assert "nothing came from the server for 0.1 s" in outcome.says


def test_an_address_where_no_server_is_says_so(landing: Landing) -> None:
    patience = Server("http://127.0.0.1:9", timeout=5, attempts=1)
    (outcome,) = fetch([FILE], landing, patience)
    assert outcome.state == "failed"
    assert f"http://127.0.0.1:9/{FILE.path}: the connection broke (Connection refused)" in outcome.says


# --- answers that aren't the file


def test_a_month_to_come_is_not_published_and_asked_for_once(
    landing: Landing, server: MisbehavingServer, waits: Waits
) -> None:
    file = Wanted.trips(Service.YELLOW, month_from_now(1))
    assert fetch_one(landing, server, file, waits=waits) == Fetched(file.name, "not published")
    assert (server.statuses(f"/{file.path}"), waits) == ([403], [])
    assert landing.files() == []


def test_a_mirror_says_not_published_with_404(landing: Landing, server: MisbehavingServer) -> None:
    file = Wanted.trips(Service.YELLOW, month_from_now(-1))
    server.plan(f"/{file.path}", status(404, b"<html>"))
    assert fetch_one(landing, server, file).state == "not published"
    assert server.statuses(f"/{file.path}") == [404]


def test_a_month_that_cant_be_yet_to_come_fails(landing: Landing, server: MisbehavingServer, waits: Waits) -> None:
    outcome = fetch_one(landing, server, waits=waits)
    assert (outcome.state, server.statuses(PATH), waits) == ("failed", [403], [])
    assert "2024-01 isn't yet to come" in outcome.says


def test_a_lookup_that_isnt_there_fails(landing: Landing, server: MisbehavingServer) -> None:
    outcome = fetch_one(landing, server, Wanted.zones())
    assert outcome.state == "failed"
    assert "TAXI_FETCH__ADDRESS" in outcome.says


def test_a_proxy_that_refuses_isnt_taken_for_a_month_to_come(landing: Landing, server: MisbehavingServer) -> None:
    file = Wanted.trips(Service.YELLOW, month_from_now(1))
    server.plan(f"/{file.path}", status(403, b"<html>Request blocked"))
    outcome = fetch_one(landing, server, file)
    assert outcome.state == "failed"
    assert "refuses" in outcome.says


def test_a_file_that_was_withdrawn_stays_in_landing_and_fails(landing: Landing, server: MisbehavingServer) -> None:
    file = Wanted.trips(Service.YELLOW, month_from_now(-1))
    server.serve(f"/{file.path}", WHOLE)
    fetch_one(landing, server, file)
    del server.files[f"/{file.path}"]
    outcome = fetch_one(landing, server, file)
    assert (outcome.state, standing(landing, file)) == ("failed", WHOLE)
    assert "was fetched from there before" in outcome.says


@pytest.mark.parametrize("code", [500, 502, 503, 429])
def test_a_server_in_trouble_is_asked_again(
    landing: Landing, server: MisbehavingServer, waits: Waits, code: int
) -> None:
    server.serve(PATH, WHOLE)
    server.plan(PATH, status(code), status(code))
    assert fetch_one(landing, server, waits=waits).state == "fetched"
    assert (server.statuses(PATH), waits) == ([code, code, 200], [1.0, 2.0])


def test_a_server_in_trouble_for_ever_is_given_up(landing: Landing, server: MisbehavingServer, waits: Waits) -> None:
    server.serve(PATH, WHOLE)
    server.plan(PATH, for_ever(status(500)))
    outcome = fetch_one(landing, server, waits=waits)
    assert (outcome.state, server.statuses(PATH), waits) == ("failed", [500] * 5, [1.0, 2.0, 4.0, 8.0])
    assert "the server answers 500 (5 attempts)" in outcome.says


def test_a_server_that_says_how_long_to_wait_is_obeyed(
    landing: Landing, server: MisbehavingServer, waits: Waits
) -> None:
    server.serve(PATH, WHOLE)
    then = format_datetime(datetime.now(UTC) + timedelta(seconds=30), usegmt=True)
    server.plan(PATH, status(429, Retry_After="7"), status(503, Retry_After=then), status(429, Retry_After="soon"))
    assert fetch_one(landing, server, waits=waits).state == "fetched"
    in_seconds, as_a_date, in_words = waits
    assert (in_seconds, in_words) == (7.0, 4.0)
    assert 20 < as_a_date <= 30


def test_a_server_that_asks_for_more_patience_than_there_is_is_left_alone(
    landing: Landing, server: MisbehavingServer, waits: Waits
) -> None:
    server.serve(PATH, WHOLE)
    server.plan(PATH, for_ever(status(429, Retry_After=str(int(LONGEST_WAIT) + 1))))
    outcome = fetch_one(landing, server, waits=waits)
    assert (outcome.state, server.statuses(PATH), waits) == ("failed", [429], [])
    assert "asks to wait 61 s" in outcome.says


@pytest.mark.parametrize("code", [204, 400, 401, 410])
def test_any_other_answer_fails_at_once(landing: Landing, server: MisbehavingServer, code: int) -> None:
    server.plan(PATH, status(code))
    outcome = fetch_one(landing, server)
    assert (outcome.state, server.statuses(PATH)) == ("failed", [code])
    assert f"answers {code}" in outcome.says


def test_a_redirect_in_circles_fails_without_showing_where_it_led(landing: Landing, server: MisbehavingServer) -> None:
    away = status(302, Location=f"{PATH}?signature=secret")
    server.plan(PATH, away)
    server.plan(f"{PATH}?signature=secret", for_ever(away))
    outcome = fetch_one(landing, server)
    assert outcome.state == "failed"
    assert "redirects" in outcome.says
    assert "secret" not in outcome.says


@pytest.mark.parametrize("place", ["http://[::1", "http://localhost:99999/", "http://.x..y/"])
def test_a_redirect_to_no_address_fails_that_file_alone(
    landing: Landing, server: MisbehavingServer, place: str
) -> None:
    server.plan(PATH, status(302, Location=place))
    outcome = fetch_one(landing, server)
    assert outcome.state == "failed"
    assert "redirects" in outcome.says
    assert place not in outcome.says


# --- bodies that aren't the file


BODIES: dict[str, tuple[Behaviour, str]] = {
    "an error page": (status(200, ERROR_PAGE, ETag='"page"'), "page of HTML or XML"),
    "an error in XML": (status(200, b"<Error/>"), "page of HTML or XML"),
    "nothing": (status(200), "the file is empty"),
    "blanks": (status(200, b" \r\n"), "the file is empty"),
    "a cut-off Parquet file": (status(200, WHOLE[:HALF]), "its end is missing"),
    "bytes without a footer": (status(200, WHOLE[:-100] + WHOLE[-8:]), "whole Parquet file"),
    "a footer of a type that can't be": (status(200, of_a_type_that_cant_be(WHOLE)), "its footer can't be read"),
    "text": (status(200, b"a,b\n" * 100), "whole Parquet file"),
    "less than there is, and says so": (announcing(HALF, sending=len(WHOLE)), "its end is missing"),
    "no length, and half": (announcing(None, sending=HALF), "its end is missing"),
    "less than announced": (for_ever(announcing(len(WHOLE) + 10, sending=len(WHOLE))), "the connection broke"),
}


@pytest.mark.parametrize(("behaviour", "problem"), BODIES.values(), ids=BODIES)
def test_what_isnt_a_whole_file_gets_no_name_and_replaces_none(
    landing: Landing, server: MisbehavingServer, behaviour: Behaviour, problem: str
) -> None:
    server.serve(PATH, REISSUED)
    fetch_one(landing, server)
    server.serve(PATH, WHOLE)
    server.plan(PATH, behaviour)
    outcome = fetch_one(landing, server, attempts=1)
    assert outcome.state == "failed"
    assert problem in outcome.says
    assert standing(landing) == REISSUED


@pytest.mark.parametrize("name", ["an error page", "a cut-off Parquet file"])
def test_what_was_refused_isnt_resumed(landing: Landing, server: MisbehavingServer, name: str) -> None:
    server.serve(PATH, WHOLE)
    server.plan(PATH, BODIES[name][0])
    assert fetch_one(landing, server).state == "failed"
    assert left_over(landing) == []
    assert fetch_one(landing, server).state == "fetched"
    assert server.statuses(PATH) == [200, 200]


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        (b"id,name\n1,Newark\n", "no column LocationID"),
        (LOOKUP.partition(b"\n")[0], "no rows"),
        (LOOKUP[:-20], "lacks fields"),
        (b"", "empty"),
        (ERROR_PAGE, "HTML"),
    ],
    ids=["another table", "no rows", "cut off", "empty", "error page"],
)
def test_what_isnt_a_zone_lookup_is_refused(
    landing: Landing, server: MisbehavingServer, body: bytes, problem: str
) -> None:
    server.serve("/misc/taxi_zone_lookup.csv", body)
    outcome = fetch_one(landing, server, Wanted.zones())
    assert (outcome.state, standing(landing, Wanted.zones())) == ("failed", None)
    assert problem in outcome.says


# --- answers without an end


BOMB = gzip.compress(bytes(8_000_000))
SMALL = 1_000_000


def fetch_within(landing: Landing, server: MisbehavingServer, file: Wanted = FILE, **limits: float) -> Fetched:
    """Fetch a file within limits of the test's own, in one attempt."""
    patience = Server(server.address, timeout=5, attempts=1, **limits)  # type: ignore[arg-type]
    (outcome,) = fetch([file], landing, patience, wait=Waits())
    assert outcome.state == "failed"
    assert "\n" not in outcome.says
    return outcome


TOO_LARGE: dict[str, Behaviour] = {
    "no end": without_end(),
    "no end, and an ETag": without_end(ETag='"endless"'),
    "a length of terabytes": announcing(5 * 10**12, sending=0),
    "gzip that unpacks to more": status(200, BOMB, Content_Encoding="gzip"),
    "gzip in gzip": status(200, gzip.compress(BOMB), Content_Encoding="gzip, gzip"),
}


@pytest.mark.parametrize("behaviour", TOO_LARGE.values(), ids=TOO_LARGE)
def test_a_file_larger_than_a_month_can_be_is_refused_and_nothing_of_it_left(
    landing: Landing, server: MisbehavingServer, behaviour: Behaviour
) -> None:
    server.serve(PATH, WHOLE)
    server.plan(PATH, behaviour)
    outcome = fetch_within(landing, server, largest_mb=1)
    assert re.search(r"has [0-9,]+ bytes or more, and may have 1,000,000: .*TAXI_FETCH__LARGEST_MB\.$", outcome.says)
    assert (standing(landing), left_over(landing)) == (None, [])


def test_no_more_is_written_than_a_file_may_have(landing: Landing, server: MisbehavingServer) -> None:
    server.plan(PATH, without_end())
    told: list[int] = []
    limits = Server(server.address, timeout=5, attempts=1, largest_mb=1)
    list(fetch([FILE], landing, limits, on_bytes=lambda _name, done, _total: told.append(done)))
    assert max(told) <= SMALL


def test_a_part_that_is_too_large_by_now_is_removed(landing: Landing, server: MisbehavingServer) -> None:
    server.serve(PATH, parquet(400_000))
    server.plan(PATH, broken_after(BLOCKS_OVER))
    fetch_one(landing, server, attempts=1)
    assert len(left_over(landing)) == 1
    assert "TAXI_FETCH__LARGEST_MB" in fetch_within(landing, server, largest_mb=1).says
    assert left_over(landing) == []


def test_a_lookup_may_have_a_megabyte_whatever_a_month_may(landing: Landing, server: MisbehavingServer) -> None:
    server.plan("/misc/taxi_zone_lookup.csv", without_end())
    says = fetch_within(landing, server, Wanted.zones()).says
    assert "may have 1,000,000" in says
    assert "LARGEST_MB" not in says


TOOK_TOO_LONG = "the 0.3 s that a file may take (TAXI_FETCH__TIME_LIMIT) weren't enough"
DRIPS: dict[str, tuple[Behaviour, str]] = {
    "a body": (dripping(), TOOK_TOO_LONG),
    "a body, half of which is there": (dripping(HALF), TOOK_TOO_LONG),
    "a status": (dripping(head=b"HTTP/1.1 2"), TOOK_TOO_LONG),
    "a header": (dripping(head=b"HTTP/1.1 200 OK\r\nServer: "), TOOK_TOO_LONG),
    "a redirect": (dripping(head=b"HTTP/1.1 302 Found\r\nLocation: "), TOOK_TOO_LONG),
    "an answer that there is no file": (dripping(head=b"HTTP/1.1 404 Not Found\r\n\r\n"), "answers 404"),
}


@pytest.mark.parametrize(("behaviour", "says"), DRIPS.values(), ids=DRIPS)
def test_what_comes_a_byte_at_a_time_ends_when_the_files_time_is_over(
    landing: Landing, server: MisbehavingServer, behaviour: Behaviour, says: str
) -> None:
    server.serve(PATH, WHOLE, None)
    server.plan(PATH, for_ever(behaviour))
    outcome = fetch_within(landing, server, time_limit=0.3)
    assert says in outcome.says
    assert (standing(landing), left_over(landing), at_work()) == (None, [], [])


def test_what_had_arrived_when_time_was_over_is_kept_if_it_can_be_resumed(
    landing: Landing, server: MisbehavingServer
) -> None:
    server.serve(PATH, WHOLE)
    server.plan(PATH, dripping(HALF))
    assert fetch_within(landing, server, time_limit=0.3).says.endswith("Fetch again later; what has arrived is kept.")
    (arrived,) = [part.stat().st_size for part in left_over(landing)]
    assert arrived >= HALF
    assert fetch_one(landing, server).state == "fetched"
    assert ranges(server) == ["", f"bytes={arrived}-"]


def test_what_had_arrived_and_cant_be_resumed_is_said_to_be_removed(
    landing: Landing, server: MisbehavingServer
) -> None:
    server.serve(PATH, WHOLE, None)
    server.plan(PATH, broken_after(HALF))
    says = fetch_one(landing, server, attempts=1).says
    assert says.endswith("Fetch again later; what had arrived can't be gone on with, and is removed.")
    assert left_over(landing) == []


def test_of_a_bucket_nothing_is_said_to_be_kept(tmp_path: Path, server: MisbehavingServer) -> None:
    server.serve(PATH, WHOLE)
    server.plan(PATH, broken_after(HALF))
    (tmp_path / "bucket").mkdir()
    says = fetch_one(Landing(f"file://{tmp_path}/bucket", {}), server, attempts=1).says
    assert says.endswith("is removed.")


def test_the_time_of_a_file_is_that_of_all_its_attempts(
    landing: Landing, server: MisbehavingServer, waits: Waits
) -> None:
    server.plan(PATH, for_ever(status(503, Retry_After="50")))
    patience = Server(server.address, timeout=5, time_limit=40)
    (outcome,) = fetch([FILE], landing, patience, wait=waits)
    assert "the 40 s that a file may take" in outcome.says
    assert (server.statuses(PATH), waits) == ([503], [])


@pytest.mark.parametrize("code", [302, 403, 404, 503])
def test_an_answer_that_is_no_file_isnt_read_to_an_end_that_it_hasnt(
    landing: Landing, server: MisbehavingServer, code: int
) -> None:
    server.serve("/elsewhere", WHOLE)
    server.plan(PATH, without_end(code, Location="/elsewhere"))
    outcome = fetch_one(landing, server, attempts=1)
    assert outcome.state == ("fetched" if code == 302 else "failed")


def test_a_redirect_goes_on_so_often_and_no_more(landing: Landing, server: MisbehavingServer) -> None:
    server.serve(PATH, WHOLE)
    server.plan(PATH, *[status(302, Location=PATH)] * 10)
    assert fetch_one(landing, server, attempts=1).state == "fetched"
    server.plan(PATH, *[status(302, Location=PATH)] * 11)
    assert "redirects to where nothing is" in fetch_one(landing, server, attempts=1).says


@pytest.mark.parametrize("header", ["Content-Length", "Retry-After"])
def test_a_number_of_more_digits_than_any_is_none(landing: Landing, server: MisbehavingServer, header: str) -> None:
    server.serve(PATH, WHOLE)
    line = f"{header}: {'9' * 6_000}\r\n".encode()
    code = b"200 OK" if header == "Content-Length" else b"503 Busy"

    def answer(exchange: Exchange) -> None:
        exchange.server.note(exchange.handler, 200)
        exchange.handler.wfile.write(b"HTTP/1.0 " + code + b"\r\n" + line + b"\r\n" + exchange.body)

    server.plan(PATH, answer)
    outcome = fetch_one(landing, server, attempts=2)
    assert outcome.state == "fetched", outcome.says


# --- parts that others have made


def test_nothing_is_written_through_a_link_that_is_called_like_a_part(
    landing: Landing, server: MisbehavingServer, tmp_path: Path
) -> None:
    server.serve(PATH, WHOLE)
    theirs = tmp_path / "theirs"
    theirs.write_bytes(WHOLE[:HALF])
    etag = str(server.files[PATH][1]).encode().hex()
    part = Path(landing.root) / ".fetch" / f"{FILE.name}.{etag}.part"
    part.parent.mkdir()
    part.symlink_to(theirs)
    assert fetch_one(landing, server).state == "fetched"
    assert theirs.read_bytes() == WHOLE[:HALF]
    assert (standing(landing), ranges(server)) == (WHOLE, [""])


@pytest.mark.parametrize("name", [FILE.name, f".fetch/{FILE.name}.json", f".fetch/{FILE.name}.part", SAMPLES])
def test_a_pipe_where_a_file_is_looked_for_keeps_no_fetch_waiting(
    tmp_path: Path, server: MisbehavingServer, name: str
) -> None:
    server.serve(PATH, WHOLE)
    landing = Landing(str(tmp_path), {})
    fetch_one(landing, server)
    (tmp_path / name).unlink(missing_ok=True)
    os.mkfifo(tmp_path / name)
    assert fetch_one(landing, server).state in {"fetched", "unchanged"}
    assert standing(landing) == WHOLE


def test_a_part_whose_name_holds_no_etag_is_left_alone(landing: Landing, server: MisbehavingServer) -> None:
    server.serve(PATH, WHOLE)
    theirs = Path(landing.root) / ".fetch" / f"{FILE.name}.abc.part"
    theirs.parent.mkdir()
    theirs.write_text("theirs")
    assert fetch_one(landing, server).state == "fetched"
    assert theirs.read_text() == "theirs"


# --- what stands in landing already


@pytest.mark.parametrize(
    "name", ["yellow_tripdata_2024-01.csv", "yellow_tripdata_2024-01.csv.gz", "2024/yellow_tripdata_2024_01.parquet"]
)
def test_a_month_that_stands_there_in_another_form_is_said_so_and_not_asked_for(
    landing: Landing, server: MisbehavingServer, name: str
) -> None:
    server.serve(PATH, WHOLE)
    (Path(landing.root) / name).parent.mkdir(exist_ok=True)
    (Path(landing.root) / name).write_bytes(b"VendorID\n1\n")
    outcome = fetch_one(landing, server)
    assert (outcome.state, standing(landing), server.asked) == ("failed", None, [])
    assert f"as {name} stands in {landing.root}" in outcome.says


def test_a_lookup_under_its_other_name_is_said_so(landing: Landing, server: MisbehavingServer) -> None:
    server.serve("/misc/taxi_zone_lookup.csv", LOOKUP)
    (Path(landing.root) / "taxi+_zone_lookup.csv").write_bytes(LOOKUP)
    outcome = fetch_one(landing, server, Wanted.zones())
    assert (outcome.state, server.asked) == ("failed", [])
    assert "taxi+_zone_lookup.csv" in outcome.says


def test_a_made_up_month_isnt_replaced_by_a_real_one(tmp_path: Path, server: MisbehavingServer) -> None:
    server.serve(PATH, WHOLE)
    write_month(tmp_path, Service.YELLOW, MONTH, 10)
    made_up = Landing(str(tmp_path), {})
    before = standing(made_up)
    outcome = fetch_one(made_up, server)
    assert (outcome.state, standing(made_up), server.asked) == ("failed", before, [])
    assert "made-up" in outcome.says


def test_a_landing_that_isnt_there_is_made(tmp_path: Path, server: MisbehavingServer) -> None:
    server.serve(PATH, WHOLE)
    assert fetch_one(Landing(str(tmp_path / "a/b"), {}), server).state == "fetched"
    assert (tmp_path / "a/b" / FILE.name).read_bytes() == WHOLE


@pytest.mark.parametrize("root", ["a_file", "a_file/landing", "/proc/landing"])
def test_a_landing_that_cant_be_written_is_one_line_before_anything_is_asked_for(
    tmp_path: Path, server: MisbehavingServer, root: str
) -> None:
    (tmp_path / "a_file").write_text("in the way")
    with pytest.raises(UsageError, match=r"^TAXI_LANDING_ROOT is .*, which can't be written: .*\.$"):
        fetch_one(Landing(str(tmp_path / root), {}), server)
    assert server.asked == []


def test_a_file_that_cant_be_written_is_reported_as_that(tmp_path: Path, server: MisbehavingServer) -> None:
    server.serve(PATH, WHOLE)
    (tmp_path / FILE.name).mkdir()
    outcome = fetch_one(Landing(str(tmp_path), {}), server)
    assert outcome.state == "failed"
    assert outcome.says.startswith(f"{FILE.name} can't be written to {tmp_path}: Is a directory. ")


def test_a_store_that_cant_rename_gets_whole_files_and_notes_their_etag(
    tmp_path: Path, server: MisbehavingServer
) -> None:
    server.serve(PATH, WHOLE)
    server.plan(PATH, broken_after(HALF))
    (tmp_path / "bucket").mkdir()
    bucket = Landing(f"file://{tmp_path}/bucket", {})
    assert fetch_one(bucket, server).state == "fetched"
    assert (tmp_path / "bucket" / FILE.name).read_bytes() == WHOLE
    assert {path.name for path in (tmp_path / "bucket/.fetch").iterdir()} == {f"{FILE.name}.json"}
    assert fetch_one(bucket, server).state == "unchanged"
    server.serve(PATH, REISSUED)
    assert fetch_one(bucket, server).state == "fetched"
    assert (tmp_path / "bucket" / FILE.name).read_bytes() == REISSUED
    assert server.statuses(PATH) == [200, 206, 304, 200]


# --- interrupts, and others that fetch


def test_an_interrupt_doesnt_wait_for_the_server_and_leaves_what_has_arrived_to_be_resumed(
    landing: Landing, server: MisbehavingServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "_PATIENCE_AT_END", 0.01)
    server.serve(PATH, WHOLE)
    server.plan(PATH, hanging_after(HALF))
    main = threading.main_thread().ident
    assert main is not None

    def press_ctrl_c(_name: str, done: int, _total: int | None) -> None:
        if done == HALF:
            signal.pthread_kill(main, signal.SIGINT)

    patience = Server(server.address, timeout=5, attempts=1)
    with pytest.raises(KeyboardInterrupt), closing(fetch([FILE], landing, patience, on_bytes=press_ctrl_c)) as ended:
        list(ended)
    assert len(at_work()) == 1, "the thread is still waiting for the server"
    server.released.set()
    for thread in at_work():
        thread.join()
    assert standing(landing) is None
    (part,) = left_over(landing)
    arrived = part.stat().st_size
    assert arrived == HALF
    assert fetch_one(landing, server).state == "fetched"
    assert (standing(landing), ranges(server)[1:]) == (WHOLE, [f"bytes={arrived}-"])


def test_after_an_interrupt_nothing_more_arrives(
    landing: Landing, server: MisbehavingServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "_PATIENCE_AT_END", 0.01)
    other = Wanted.trips(Service.GREEN, MONTH)
    for path in (PATH, f"/{other.path}"):
        server.serve(path, WHOLE)
    at_half, interrupted = threading.Event(), threading.Event()

    def held_up(name: str, done: int, _total: int | None) -> None:
        if name == FILE.name and done == HALF:
            at_half.set()
            interrupted.wait(5)

    with closing(fetch([FILE, other], landing, Server(server.address, timeout=5), on_bytes=held_up)) as ended:
        assert next(ended).name == other.name
        # The other file may be there before half of this one is.
        assert at_half.wait(5)
    interrupted.set()
    for thread in at_work():
        thread.join()
    assert (standing(landing), [part.stat().st_size for part in left_over(landing)]) == (None, [HALF + 64 * 1024])


def test_an_interrupt_ends_the_waiting_between_attempts(landing: Landing, server: MisbehavingServer) -> None:
    server.serve(PATH, WHOLE)
    other = Wanted.trips(Service.GREEN, MONTH)
    server.serve(f"/{other.path}", WHOLE)
    server.plan(PATH, for_ever(status(503, Retry_After="50")))
    with closing(fetch([FILE, other], landing, Server(server.address, timeout=5), jobs=2)) as ended:
        assert next(ended).name == other.name
    assert at_work() == []
    assert len(server.requests(PATH)) <= 1


def test_two_who_fetch_the_same_file_take_turns(landing: Landing, server: MisbehavingServer) -> None:
    server.serve(PATH, WHOLE)
    # Were both to ask at once, both would be served; alone, one is turned away after a moment, and asks again.
    server.plan(PATH, for_ever(once_all_are_here(threading.Barrier(2, timeout=0.2))))
    states: list[str] = []

    def one() -> None:
        states.extend(outcome.state for outcome in fetch_all(landing, server, attempts=1))

    both = [threading.Thread(target=one) for _ in range(2)]
    for thread in both:
        thread.start()
    for thread in both:
        thread.join()
    assert states == ["failed", "failed"]
    server.plan(PATH)
    both = [threading.Thread(target=one) for _ in range(2)]
    for thread in both:
        thread.start()
    for thread in both:
        thread.join()
    assert sorted(states[2:]) == ["fetched", "unchanged"]
    assert standing(landing) == WHOLE
