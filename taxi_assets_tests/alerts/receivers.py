"""Where alerts arrive: a web server and a mail server on this machine, which can be out of order for a while."""

from __future__ import annotations

import gzip
import json
import socketserver
import threading
from contextlib import suppress
from dataclasses import dataclass, field
from email import message_from_bytes, policy
from email.message import EmailMessage
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

from aiosmtpd.controller import Controller


@dataclass
class Webhook:
    """A web server that keeps the JSON which is posted to it; it answers with `status`, and with `answer`, packed."""

    status: int = 200
    answer: bytes = b""
    received: list[dict[str, Any]] = field(default_factory=list)
    asked: int = 0

    def __enter__(self) -> Self:
        owner = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                owner.asked += 1
                if owner.status == 200:
                    owner.received.append(json.loads(body))
                self.send_response(owner.status)
                self.send_header("Content-Encoding", "gzip")
                self.end_headers()
                self.wfile.write(gzip.compress(owner.answer))

            def log_message(self, *_: Any) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    @property
    def url(self) -> str:
        return f"json://{self.address}/alerts"

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self._server.server_address[1]}"

    @property
    def titles(self) -> list[str]:
        return [message["title"] for message in self.received]

    def only(self) -> dict[str, Any]:
        """Return the one message that was received, and forget it."""
        (message,) = self.received
        self.received.clear()
        return message


@dataclass
class Endless:
    """A server whose answers don't end, until whoever asked hangs up. `sent`: the most that was taken of one."""

    begins: bytes
    goes_on: bytes
    sent: int = 0

    @classmethod
    def of_http(cls, status: int = 200, goes_on: bytes = b"x" * 65_536, headers: str = "") -> Endless:
        """Return one that answers with a status and a body."""
        return cls(f"HTTP/1.1 {status} Whatever\r\n{headers}\r\n".encode(), goes_on)

    def __enter__(self) -> Self:
        owner = self

        class Handler(socketserver.BaseRequestHandler):
            def handle(self) -> None:
                # Whoever doesn't hang up has been sent enough to see it.
                sent = 0
                with suppress(OSError):
                    self.request.sendall(owner.begins)
                    while sent < MUCH:
                        self.request.sendall(owner.goes_on)
                        sent += len(owner.goes_on)
                owner.sent = max(owner.sent, sent)

        self._server = socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self._server.server_address[1]}"


MUCH = 100_000_000
"""Bytes that no receiver's answer has."""


def much_packed() -> bytes:
    """Return gzip's bytes, of which there are few, of much."""
    return gzip.compress(bytes(MUCH))


@dataclass
class Mailbox:
    """A mail server that keeps what it is sent."""

    received: list[EmailMessage] = field(default_factory=list)

    def __enter__(self) -> Self:
        owner = self

        class Handler:
            async def handle_DATA(self, _server: Any, _session: Any, envelope: Any) -> str:  # noqa: N802
                message = message_from_bytes(envelope.content, policy=policy.default)
                assert isinstance(message, EmailMessage)
                owner.received.append(message)
                return "250 OK"

        # Port 0 is taken for any that is free; the controller then looks for itself at the port it was told.
        class AnyPort(Controller):
            def _trigger_server(self) -> None:
                self.port = self.server.sockets[0].getsockname()[1]
                super()._trigger_server()

        self._controller = AnyPort(Handler(), hostname="127.0.0.1", port=0)
        self._controller.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._controller.stop()

    @property
    def url(self) -> str:
        return f"mailto://127.0.0.1:{self._controller.port}/oncall@example.org?from=lake@example.org&mode=insecure"


def written(message: EmailMessage, kind: str) -> str:
    """Return the part of a mail that is of a kind: plain or html."""
    part = message.get_body((kind,))
    assert part is not None
    return str(part.get_content())
