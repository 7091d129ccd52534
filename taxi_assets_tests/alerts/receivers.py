"""Where alerts arrive: a web server and a mail server on this machine, which can be out of order for a while."""

from __future__ import annotations

import json
import threading
from dataclasses import dataclass, field
from email import message_from_bytes, policy
from email.message import EmailMessage
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

from aiosmtpd.controller import Controller


@dataclass
class Webhook:
    """A web server that keeps the JSON which is posted to it; it answers with `status`."""

    status: int = 200
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
                self.end_headers()

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
        return f"json://127.0.0.1:{self._server.server_address[1]}/alerts"

    @property
    def titles(self) -> list[str]:
        return [message["title"] for message in self.received]

    def only(self) -> dict[str, Any]:
        """Return the one message that was received, and forget it."""
        (message,) = self.received
        self.received.clear()
        return message


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
