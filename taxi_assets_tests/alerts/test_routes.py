"""Routes: messages that reach a web and a mail server as they were meant, and what is said of those that don't."""

from __future__ import annotations

import io
import logging
import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from apprise.plugins.discord import NotifyDiscord
from apprise.plugins.google_chat import NotifyGoogleChat
from apprise.plugins.slack import NotifySlack

from taxi_assets.alerts.messages import Message, messages_of
from taxi_assets.alerts.plan import Facts, plan
from taxi_assets.alerts.routes import Alerts, Route, refuse_unknown_groups
from taxi_assets.catalogs import groups
from taxi_assets.errors import UsageError
from taxi_assets_tests.alerts.happenings import EMPTY, UI, after, check, failed_run, route, run, tick
from taxi_assets_tests.alerts.receivers import Mailbox, Webhook, written

pytestmark = pytest.mark.fast

SECRET = "wJalrXUtnFEMI"
MESSAGE = Message("[error] a title", "<b>bold</b> & *starred* `code` :smile: \\n\n  indented", "error")


@pytest.fixture
def webhook() -> Iterator[Webhook]:
    with Webhook() as running:
        yield running


@pytest.fixture
def mailbox() -> Iterator[Mailbox]:
    with Mailbox() as running:
        yield running


@pytest.fixture
def everything_logged() -> Iterator[io.StringIO]:
    """What a process logs at its most talkative; pytest's own log has what isn't passed on, too."""
    root, handler = logging.getLogger(), logging.StreamHandler(io.StringIO())
    level = root.level
    root.setLevel(logging.DEBUG)
    root.addHandler(handler)
    yield handler.stream
    root.removeHandler(handler)
    root.setLevel(level)


@pytest.mark.parametrize(("tone", "kind"), [("error", "failure"), ("warning", "warning"), ("well", "success")])
def test_a_webhook_receives_title_and_text_as_they_are_and_how_bad_it_is(
    webhook: Webhook, tone: str, kind: str
) -> None:
    message = Message(MESSAGE.title, MESSAGE.body, tone)  # type: ignore[arg-type]
    assert route(url=webhook.url).send(message) == ""
    received = webhook.only()
    assert (received["title"], received["message"], received["type"]) == (MESSAGE.title, MESSAGE.body, kind)


def test_a_mail_has_the_title_as_its_subject_and_the_text_as_it_is(mailbox: Mailbox) -> None:
    assert route(url=mailbox.url).send(MESSAGE) == ""
    (mail,) = mailbox.received
    assert (mail["subject"], mail["to"], mail["from"]) == (MESSAGE.title, "oncall@example.org", "lake@example.org")
    assert written(mail, "plain").splitlines() == MESSAGE.body.splitlines()


def test_where_html_is_wanted_text_is_escaped(webhook: Webhook, mailbox: Mailbox) -> None:
    assert route(url=f"{webhook.url}?format=html").send(MESSAGE) == ""
    assert route(url=f"{mailbox.url}&format=html").send(MESSAGE) == ""
    for html in (webhook.only()["message"], written(mailbox.received[0], "html")):
        assert "&lt;b&gt;bold&lt;/b&gt;" in html
        assert "<b>" not in html
        assert ":smile:" in html


def test_where_markdown_is_wanted_text_is_escaped(webhook: Webhook) -> None:
    assert route(url=f"{webhook.url}?format=markdown").send(MESSAGE) == ""
    assert r"\*starred\* \`code\`" in webhook.only()["message"]


HOSTILE = (
    "@everyone @here <@&123456789> <@U024BE7LH> <!channel> <!subteam^SAZ94GDB8> <users/all> @all @channel @room "
    "https://evil.example/a http://127.0.0.1:3000/graphql [ours](https://evil.example) [ours](//evil.example) "
    "![i](evil.example) <https://evil.example|The run> www.evil.example mailto:me@evil.example"
)
SERVICES = {
    "discord://123456789012345678/aBcDeFgHiJkLmNoPqRsTuVwXyZ": (NotifyDiscord, "notify_url", "{}"),
    "discord://123456789012345678/aBcDeFgHiJkLmNoPqRsTuVwXyZ?format=markdown": (NotifyDiscord, "notify_url", "{}"),
    "slack://T1JJ3T3L2/A1BRTD4JD/TIiajkdnlazkcOXrIdevi7FQ": (NotifySlack, "webhook_url", "{}"),
    "slack://T1JJ3T3L2/A1BRTD4JD/TIiajkdnlazkcOXrIdevi7FQ?format=markdown": (NotifySlack, "webhook_url", "{}"),
    "gchat://workspace/key/token": (NotifyGoogleChat, "notify_url", "{}/{{workspace}}"),
}


def strings(value: Any) -> Iterator[str]:
    """Yield all texts within what was received."""
    if isinstance(value, str):
        yield value
    else:
        for one in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
            yield from strings(one)


def sent_of_hostile_data(webhook: Webhook, destination: Route) -> str:
    """Send alerts in full and as a digest, with what data holds wherever it may stand, and return what is received."""
    hostile = check(says=HOSTILE, figures={}, examples=({HOSTILE: HOSTILE},), month=HOSTILE[:40])
    failure = failed_run(hostile, place=2, causes=(HOSTILE,), month=HOSTILE[40:80])
    well = run(replace(hostile, passed=True), place=3)
    first = after(EMPTY, run(hostile), failure, replace(tick(failed=True), says=HOSTILE), routes=[destination])
    first = plan(Facts(0.0, [well], unread={HOSTILE: "a.csv"}), first, [destination], UI)
    digest = plan(Facts(0.0, unread={f"{number}{HOSTILE}": "a.csv" for number in range(9)}), first, [destination], UI)
    for state in (first, digest):
        for message, _ in messages_of(state.due(destination.name, (), 0.0), UI):
            assert destination.send(message) == ""
    received = "\n".join(text for message in webhook.received for text in strings(message))
    webhook.received.clear()
    return received


@pytest.mark.parametrize("url", SERVICES)
def test_what_data_holds_mentions_nobody_and_leads_nowhere_at_services_that_act_on_it(
    url: str, webhook: Webhook, monkeypatch: pytest.MonkeyPatch
) -> None:
    service, where, path = SERVICES[url]
    webhook.answer = b"ok"
    monkeypatch.setattr(service, where, path.format(f"http://{webhook.address}"))
    monkeypatch.setattr(service, "request_rate_per_sec", 0)
    received = sent_of_hostile_data(webhook, route(url=url))
    assert UI in received
    assert "everyone" in received
    links = re.findall(r"\w+:/+[^\s|>)]*", received)
    assert {link for link in links if not link.startswith((UI, "https://github.com/caronc/apprise"))} == set()
    assert not re.search(r"@\w|(?<!\[)<[@!#u]|\]\(|www\.|mailto:", received), received
    assert '"parse": ["everyone"]' not in received


@pytest.mark.parametrize("options", ["", "?format=markdown", "?format=html"])
def test_nor_does_it_in_text_markdown_or_html(options: str, webhook: Webhook) -> None:
    received = sent_of_hostile_data(webhook, route(url=webhook.url + options))
    assert {link for link in re.findall(r"\w+:/+[^\s|>)<]*", received) if not link.startswith(UI)} == set()
    assert not re.search(r"@\w|<(?!br/>|\\?\])|(?<!\\)\]\(|www\.|mailto:", received), received


def test_a_server_that_refuses_is_told_by_its_answer(webhook: Webhook) -> None:
    webhook.status = 500
    assert "500" in route(url=webhook.url).send(MESSAGE)
    assert webhook.asked == 1


@pytest.mark.parametrize(
    ("url", "says"),
    [
        (f"json://{SECRET}:{SECRET}@127.0.0.1:1/{SECRET}", "onnection"),
        (f"mailto://user:{SECRET}@127.0.0.1:1/{SECRET}@example.org?from=a@example.org&mode=insecure", "mail"),
        (f"nosuch://{SECRET}", "TAXI_ALERTS__ROUTES__ALL__URL is no URL that Apprise understands"),
        (f"slack://{SECRET}", "TAXI_ALERTS__ROUTES__ALL__URL is no URL that Apprise understands"),
        (SECRET, "TAXI_ALERTS__ROUTES__ALL__URL is no URL that Apprise understands"),
    ],
    ids=["nobody listens", "no mail server", "unknown service", "incomplete", "no URL"],
)
def test_what_cant_be_sent_says_why_and_nowhere_what_the_url_holds(
    url: str, says: str, capfd: pytest.CaptureFixture[str], everything_logged: io.StringIO
) -> None:
    wrong = route(url=url).send(MESSAGE)
    logging.getLogger("taxi_assets").warning("what is logged is seen here")
    captured = capfd.readouterr()
    assert says in wrong
    assert "what is logged is seen here" in everything_logged.getvalue()
    assert SECRET not in wrong + captured.out + captured.err + everything_logged.getvalue()


def test_a_text_too_long_for_its_service_is_sent_in_parts(webhook: Webhook) -> None:
    lines = [f"line {number}: {'x' * 80}" for number in range(600)]
    assert route(url=webhook.url).send(Message("title", "\n".join(lines), "error")) == ""
    received = "\n".join(message["message"] for message in webhook.received)
    assert len(webhook.received) > 1
    assert all(line.split(":")[0] in received for line in lines)


def test_a_route_for_a_group_that_there_isnt_is_refused_by_its_settings_name() -> None:
    refuse_unknown_groups(Alerts((route("gold", groups=["tlc_gold"]),), UI), groups())
    with pytest.raises(UsageError, match=r"TAXI_ALERTS__ROUTES__GOLD__GROUPS names tlc_glod; groups are: nyctaxi_"):
        refuse_unknown_groups(Alerts((route("gold", groups=["tlc_glod"]),), UI), groups())
