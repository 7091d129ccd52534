"""Receivers that answer without end: what was sent counts by its status, and neither memory nor time is lost."""

from __future__ import annotations

import tracemalloc

import pytest
import requests
from apprise.plugins.slack import NotifySlack

from taxi_assets.alerts.answers import MOST_BYTES
from taxi_assets.alerts.messages import Message
from taxi_assets_tests.alerts.happenings import route
from taxi_assets_tests.alerts.receivers import MUCH, Endless, Webhook, much_packed

pytestmark = pytest.mark.fast

SLACK = "slack://T1JJ3T3L2/A1BRTD4JD/TIiajkdnlazkcOXrIdevi7FQ"
MESSAGE = Message("[error] a title", "a text", "error")
CHUNK = b"%x\r\n%s\r\n" % (65_536, b"x" * 65_536)
PACKED = "Content-Encoding: gzip\r\nConnection: close\r\n"


@pytest.mark.parametrize(
    ("endless", "says"),
    [
        (Endless.of_http(200), ""),
        (Endless.of_http(500), "500"),
        (Endless.of_http(200, CHUNK, "Transfer-Encoding: chunked\r\n"), ""),
        (Endless.of_http(500, CHUNK, "Transfer-Encoding: chunked\r\n"), "500"),
        (Endless.of_http(302, headers="Location: /alerts\r\n"), "JSON"),
    ],
    ids=["sent", "refused", "sent, in chunks", "refused, in chunks", "led round"],
)
def test_an_answer_without_end_counts_by_its_status_and_little_of_it_is_read(endless: Endless, says: str) -> None:
    with endless:
        said = route(url=f"json://{endless.address}/alerts").send(MESSAGE)
    assert says in said
    assert bool(said) is bool(says)
    assert endless.sent < MUCH


def test_an_answer_that_unpacks_to_much_isnt_unpacked() -> None:
    packed = much_packed()
    with Endless.of_http(200, packed, PACKED) as endless:
        destination = route(url=f"json://{endless.address}/alerts")
        assert destination.send(MESSAGE) == ""
        tracemalloc.start()
        assert destination.send(MESSAGE) == ""
        _, most = tracemalloc.get_traced_memory()
        tracemalloc.stop()
    assert most < MUCH / 10


def test_a_mail_server_that_answers_without_end_is_given_up() -> None:
    with Endless(b"220-hello\r\n", b"220-and more\r\n" * 5_000) as endless:
        url = f"mailto://{endless.address}/oncall@example.org?from=lake@example.org&mode=insecure"
        assert route(url=url).send(MESSAGE) != ""
    assert endless.sent < MUCH


def test_an_answer_that_ends_is_read_whole_though_it_is_packed(monkeypatch: pytest.MonkeyPatch) -> None:
    # This one counts as sent if it is answered so, and says otherwise what it was answered.
    for answer, sent in ((b"ok", True), (b"o" * (MOST_BYTES - 1), False)):
        with Webhook(answer=answer) as webhook:
            monkeypatch.setattr(NotifySlack, "webhook_url", f"http://{webhook.address}")
            assert (route(url=SLACK).send(MESSAGE) == "") is sent


def test_whoever_else_asks_reads_all() -> None:
    with Webhook(answer=b"x" * 4 * MOST_BYTES) as webhook:
        assert route(url=webhook.url).send(MESSAGE) == ""
        answer = requests.post(f"http://{webhook.address}", data="{}", timeout=60)
        assert len(answer.content) == 4 * MOST_BYTES
