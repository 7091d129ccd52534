"""Which requests reach a web server through the guard, told by their headers; that browsers send them is for full/."""

from __future__ import annotations

import asyncio
from typing import Any
from urllib.parse import urlencode

import pytest
from starlette.responses import PlainTextResponse
from starlette.types import Message, Receive, Scope, Send
from starlette.websockets import WebSocket

from taxi_assets.webserver.guard import Guard

pytestmark = pytest.mark.fast

HOST = "127.0.0.1:3000"
MUTATION = "mutation { startSensor(sensorSelector: {}) { __typename } }"
JSON = ("content-type", "application/json")


async def answering(scope: Scope, receive: Receive, send: Send) -> None:
    """Serve whoever comes."""
    if scope["type"] == "websocket":
        await WebSocket(scope, receive, send).accept()
    else:
        await PlainTextResponse("served")(scope, receive, send)


def ask(
    *headers: tuple[str, str],
    method: str = "GET",
    path: str = "/graphql",
    address: dict[str, str] | str = "",
    host: str | None = HOST,
    hosts: frozenset[str] = frozenset(),
    kind: str = "http",
) -> list[Message]:
    """Send one request through the guard, and return what is answered."""
    named = headers if host is None else (("host", host), *headers)
    scope: dict[str, Any] = {
        "type": kind,
        "method": method,
        "path": path,
        "query_string": (address if isinstance(address, str) else urlencode(address)).encode(),
        "headers": [(name.encode(), value.encode("latin-1")) for name, value in named],
    }
    answered: list[Message] = []

    async def receive() -> Message:
        return {"type": f"{kind}.connect" if kind == "websocket" else "http.request"}

    async def send(message: Message) -> None:
        answered.append(message)

    asyncio.run(Guard(answering, hosts)(scope, receive, send))
    return answered


def status(*headers: tuple[str, str], **request: Any) -> int:
    return int(ask(*headers, **request)[0]["status"])


def text(*headers: tuple[str, str], **request: Any) -> str:
    return str(ask(*headers, **request)[1]["body"].decode())


# --- Host


@pytest.mark.parametrize("host", [HOST, "localhost:3000", "LOCALHOST", "localhost:8080", "[::1]:3000", "127.0.0.1"])
def test_this_machine_is_known_by_its_own_names_whatever_the_port(host: str) -> None:
    assert status(host=host) == 200


@pytest.mark.parametrize(
    "host",
    [
        "evil.example", "evil.localhost", "localhost.evil.example", "127.0.0.1.evil.example", "localhost@evil.example",
        "localhost.", "127.0.0.1:3000, evil.example", "localhost:x", "0.0.0.0:3000", "192.168.0.2", "", None,
    ],
)  # fmt: skip
def test_a_name_that_nobody_gave_the_ui_is_refused(host: str | None) -> None:
    assert status(host=host) == 403


def test_two_names_at_once_are_refused() -> None:
    assert status(("host", HOST)) == 403


def test_a_refused_name_is_told_with_the_setting_that_takes_it() -> None:
    assert text(host="evil.example\x1b[2J") == (
        "Refused: the UI isn't known as evil.example\\x1b[2j. If that is its name, add it to TAXI_UI__HOSTS.\n"
    )


@pytest.mark.parametrize(("host", "answer"), [("Lake.example.org", 200), ("lake.example.org:3000", 403), (HOST, 200)])
def test_a_name_that_the_settings_give_is_known_as_a_browser_shows_it(host: str, answer: int) -> None:
    assert status(host=host, hosts=frozenset({"lake.example.org"})) == answer


# --- Origin


@pytest.mark.parametrize("kind", ["http", "websocket"])
@pytest.mark.parametrize(
    "origin",
    [
        "http://evil.example", "http://127.0.0.1:8080", "http://localhost:3000", f"ftp://{HOST}", f"//{HOST}", "http://[",
        "file://", "null", "",
    ],
)  # fmt: skip
def test_what_a_foreign_page_sends_is_refused(origin: str, kind: str) -> None:
    answer = ask(("origin", origin), kind=kind)[0]

    assert answer == {"type": "websocket.close", "code": 1000, "reason": ""} or answer["status"] == 403


@pytest.mark.parametrize("kind", ["http", "websocket"])
def test_what_the_uis_own_page_sends_is_served(kind: str) -> None:
    answer = ask(("origin", f"http://{HOST}"), ("sec-fetch-site", "same-origin"), kind=kind)[0]

    assert answer["type"] == "websocket.accept" or answer["status"] == 200


def test_a_tunnels_page_is_the_uis_own_under_its_own_port() -> None:
    assert status(("origin", "http://localhost:8080"), host="localhost:8080") == 200


def test_behind_a_proxy_that_hides_its_name_the_settings_tell_whose_pages_are_the_uis_own() -> None:
    page = ("origin", "https://lake.example.org")

    assert status(page, hosts=frozenset({"lake.example.org"})) == 200
    assert text(page) == (
        "Refused: pages of https://lake.example.org may not use the UI of 127.0.0.1:3000. If they are its own, add "
        "their host to TAXI_UI__HOSTS.\n"
    )


@pytest.mark.parametrize("site", ["cross-site", "same-site", "a new word"])
@pytest.mark.parametrize(
    ("how", "answer"),
    [
        ({"mode": "no-cors", "dest": "image"}, 403),
        ({"mode": "no-cors", "dest": "empty"}, 403),
        ({"mode": "navigate", "dest": "iframe"}, 403),
        ({"mode": "navigate", "dest": "document"}, 200),
        ({}, 403),
    ],
)
def test_a_foreign_page_may_link_to_the_ui_and_nothing_else(site: str, how: dict[str, str], answer: int) -> None:
    headers = [(f"sec-fetch-{name}", value) for name, value in how.items()]

    assert status(("sec-fetch-site", site), *headers) == answer


def test_a_form_that_leads_to_the_ui_is_no_link() -> None:
    headers = [("sec-fetch-site", "cross-site"), ("sec-fetch-mode", "navigate"), ("sec-fetch-dest", "document")]

    assert status(*headers, method="POST") == 403


# --- what is asked


@pytest.mark.parametrize(
    "document",
    [
        MUTATION,
        f"query a {{ version }} {MUTATION}",
        f"{{ version }} {MUTATION}",
        "#\n,mutation\n{ a: wipeAssets(assetPartitionRanges: []) { ...f } } fragment f on AssetWipeSuccess { id }",
        "\ufeffmutation($a: Int = 1) @b { c(d: $a) }",
    ],
)
@pytest.mark.parametrize("method", ["GET", "HEAD", "POST"])
@pytest.mark.parametrize("path", ["/graphql", "/graphql\n", "/prefix/graphql"])
def test_a_mutation_in_an_address_is_refused(document: str, method: str, path: str) -> None:
    assert status(method=method, path=path, address={"query": document, "operationName": "a"}) == 405


def test_a_mutation_beside_a_query_of_the_same_name_is_refused() -> None:
    twice = f"{urlencode({'query': MUTATION})}&{urlencode({'query': '{ version }'})}"

    assert status(address=twice) == 405


@pytest.mark.parametrize(
    "document", ["{ version }", "query mutation { version }", "{ runsOrError { id } } # mutation", "no GraphQL", ""]
)
def test_a_question_in_an_address_is_served(document: str) -> None:
    assert status(address={"query": document}) == 200


@pytest.mark.parametrize(
    ("kind", "answer"),
    [
        ("application/json", 200),
        ("Application/JSON; charset=utf-8", 200),
        ("application/graphql", 200),
        ("text/plain", 415),
        ("text/plain; application/json", 415),
        ("multipart/form-data; boundary=application/json", 415),
        ("application/x-www-form-urlencoded", 415),
        ("application/json, text/plain", 415),
        ("", 415),
    ],
)
def test_a_body_is_of_a_type_that_no_form_can_send(kind: str, answer: int) -> None:
    assert status(("content-type", kind), method="POST") == answer


def test_two_types_of_one_body_are_refused() -> None:
    assert status(JSON, ("content-type", "text/plain"), method="POST") == 415


def test_no_foreign_page_may_frame_what_is_served_or_refused() -> None:
    for host in (HOST, "evil.example"):
        headers = dict(ask(host=host)[0]["headers"])

        assert headers[b"x-frame-options"] == b"SAMEORIGIN"
        assert headers[b"content-security-policy"] == b"frame-ancestors 'self'"
