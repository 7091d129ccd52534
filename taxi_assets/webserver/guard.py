"""What is refused before Dagster's web server sees it: it asks nobody who they are, and every browser can reach it.

A page of any web site can have a browser send requests to 127.0.0.1, and a name that its owner points there even reads
the answers. What tells those from the UI's own is what browsers say of a request: Host, Origin and Sec-Fetch-Site. The
rules hold for all paths, so that no other spelling of one leads around them. Nothing of Dagster belongs here.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Final
from urllib.parse import urlsplit

from graphql import GraphQLSyntaxError, OperationDefinitionNode, OperationType, parse
from starlette.datastructures import Headers, MutableHeaders, QueryParams
from starlette.responses import PlainTextResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from starlette.websockets import WebSocketClose

from taxi_assets.errors import printable

# No name server is asked for these, so none can point a foreign page's name at them. Any port: `ssh -L` picks its own.
_THIS_MACHINE: Final = re.compile(r"(localhost|127\.0\.0\.1|\[::1\])(:\d+)?")
_SETTING: Final = "TAXI_UI__HOSTS"
# A foreign page can't send these without asking first (CORS), which Dagster's web server never grants.
_BODIES: Final = {"application/json", "application/graphql"}
_UNFRAMED: Final = {"X-Frame-Options": "SAMEORIGIN", "Content-Security-Policy": "frame-ancestors 'self'"}


class Guard:
    """An ASGI application that passes on to another what neither a foreign page nor a foreign name can have sent.

    `hosts` are names under which it is served, besides this machine's, each as a browser shows it: with its port,
    unless that is the scheme's own.
    """

    def __init__(self, app: ASGIApp, hosts: Collection[str]) -> None:
        self._app = app
        self._hosts = frozenset(hosts)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request or a websocket's with a refusal, or have it answered."""
        if scope["type"] not in {"http", "websocket"}:
            await self._app(scope, receive, send)
            return
        refusal = self._refusal(scope)
        if scope["type"] == "http":
            await (refusal or self._app)(scope, receive, _unframed(send))
        else:
            # No page sees why its websocket wasn't opened, so nothing is said; the server answers 403.
            await (WebSocketClose() if refusal else self._app)(scope, receive, send)

    def _refusal(self, scope: Scope) -> Response | None:
        headers = Headers(scope=scope)
        return self._of_host(headers) or self._of_origin(scope, headers) or _of_body(headers) or _of_address(scope)

    def _of_host(self, headers: Headers) -> Response | None:
        hosts = [host.lower() for host in headers.getlist("host")]
        if len(hosts) == 1 and (hosts[0] in self._hosts or _THIS_MACHINE.fullmatch(hosts[0])):
            return None
        return _refused(403, f"the UI isn't known as {_listed(hosts)}. If that is its name, add it to {_SETTING}.")

    def _of_origin(self, scope: Scope, headers: Headers) -> Response | None:
        host = headers["host"].lower()
        for origin in headers.getlist("origin"):
            whose = _host_of(origin)
            if whose != host and whose not in self._hosts:
                return _refused(
                    403,
                    f"pages of {printable(origin)} may not use the UI of {host}. If they are its own, add their host "
                    f"to {_SETTING}.",
                )
        # What comes without an Origin may be an image or a frame of anyone's. To follow a link to the UI is all right.
        if headers.get("sec-fetch-site", "none") in {"none", "same-origin"} or _follows_a_link(scope, headers):
            return None
        return _refused(403, "a page of another site may link to the UI, and not make it a part of itself.")


def _follows_a_link(scope: Scope, headers: Headers) -> bool:
    how = (scope.get("method"), headers.get("sec-fetch-mode"), headers.get("sec-fetch-dest"))
    return how == ("GET", "navigate", "document")


def _of_body(headers: Headers) -> Response | None:
    # By its first part alone: to Dagster "text/plain; application/json" is JSON, to a browser it is harmless text.
    kinds = [kind.partition(";")[0].strip().lower() for kind in headers.getlist("content-type")]
    if not kinds or (len(kinds) == 1 and kinds[0] in _BODIES):
        return None
    return _refused(415, f"a body of type {_listed(kinds)}. Send {' or '.join(sorted(_BODIES))}.")


def _of_address(scope: Scope) -> Response | None:
    documents = QueryParams(scope["query_string"]).getlist("query")
    if not any(_may_change_something(document) for document in documents):
        return None
    return _refused(405, "a mutation in an address, where any image may name it. Send it by POST.", {"Allow": "POST"})


def _may_change_something(document: str) -> bool:
    try:
        definitions = parse(document, no_location=True).definitions
    except GraphQLSyntaxError:
        # Nor is it GraphQL to Dagster, which parses it alike.
        return False
    operations = [node.operation for node in definitions if isinstance(node, OperationDefinitionNode)]
    # Whichever of them is named as the one to execute.
    return OperationType.MUTATION in operations


def _host_of(origin: str) -> str | None:
    try:
        parts = urlsplit(origin)
    except ValueError:
        return None
    return parts.netloc.lower() if parts.scheme in {"http", "https"} else None


def _listed(values: Collection[str]) -> str:
    return printable(", ".join(values)) or "nothing"


def _refused(status: int, why: str, headers: dict[str, str] | None = None) -> Response:
    return PlainTextResponse(
        f"Refused: {why}\n", status, headers={"X-Content-Type-Options": "nosniff", **(headers or {})}
    )


def _unframed(send: Send) -> Send:
    """Have every answer say that foreign pages may not frame it."""

    async def send_unframed(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            for name, value in _UNFRAMED.items():
                # Beside a policy that the page already has: browsers keep to both.
                headers.append(name, value)
        await send(message)

    return send_unframed
