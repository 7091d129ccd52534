"""An HTTP server on this machine that serves files as TLC's does, and misbehaves when told to, one request at a time.

It knows ETag and If-None-Match, Range and If-Range. What it was asked is written down. Nothing of the project is in it.
"""

from __future__ import annotations

import hashlib
import socket
import struct
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

NO_SUCH_KEY = b'<?xml version="1.0" encoding="UTF-8"?>\n<Error><Code>AccessDenied</Code></Error>'
BLOCK = 64 * 1024
PATIENCE = 10.0

Behaviour = Callable[["Exchange"], None]


@dataclass(frozen=True)
class Asked:
    """A request as it arrived, and the status that it was answered with."""

    path: str
    headers: dict[str, str]
    status: int


@dataclass
class Exchange:
    """One request, with what is to be served for it, and the means to answer."""

    server: MisbehavingServer
    handler: BaseHTTPRequestHandler
    body: bytes
    etag: str | None

    def header(self, name: str) -> str:
        return str(self.handler.headers.get(name, ""))

    @property
    def start(self) -> int:
        """Where the range begins that was asked for."""
        return int(self.header("Range").removeprefix("bytes=").rstrip("-"))

    def head(self, status: int, length: int | None, **headers: str) -> None:
        """Send a status and headers; an underscore in a name stands for a hyphen."""
        self.server.note(self.handler, status)
        self.handler.send_response(status)
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        if self.etag and status in {200, 206, 304}:
            named.setdefault("ETag", self.etag)
        if length is not None:
            named["Content-Length"] = str(length)
        for name, value in named.items():
            self.handler.send_header(name, value)
        self.handler.end_headers()

    def send(self, content: bytes) -> None:
        """Send content in blocks, and let the test look around behind each."""
        for start in range(0, len(content), BLOCK):
            self.handler.wfile.write(content[start : start + BLOCK])
            self.handler.wfile.flush()
            self.server.on_block()

    def slam(self) -> None:
        """Cut the connection, so that the other side sees a reset."""
        self.handler.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.handler.connection.close()


@dataclass
class MisbehavingServer:
    """A server with files by their path; `plan` says how it behaves for the next requests of one."""

    files: dict[str, tuple[bytes, str | None]] = field(default_factory=dict)
    asked: list[Asked] = field(default_factory=list)
    on_block: Callable[[], None] = lambda: None
    released: threading.Event = field(default_factory=threading.Event)
    _plans: dict[str, list[Behaviour]] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def __enter__(self) -> Self:
        owner = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                owner.answer(self)

            def log_message(self, *_: Any) -> None:
                pass

        class Quiet(ThreadingHTTPServer):
            daemon_threads = True

            def handle_error(self, *_: Any) -> None:
                # The client went away, or the connection was cut on purpose.
                pass

        self._server = Quiet(("127.0.0.1", 0), Handler)
        threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.released.set()
        self._server.shutdown()
        self._server.server_close()

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def serve(self, path: str, body: bytes, etag: str | None = "") -> None:
        """Serve a file, with an ETag made of its bytes unless told."""
        self.files[path] = (body, f'"{hashlib.md5(body).hexdigest()}-1"' if etag == "" else etag)

    def plan(self, path: str, *behaviours: Behaviour) -> None:
        """Behave so for the next requests of a path, one after the other; the last goes on if it is for ever."""
        self._plans[path] = list(behaviours)

    def requests(self, path: str) -> list[Asked]:
        return [asked for asked in self.asked if asked.path == path]

    def statuses(self, path: str) -> list[int]:
        return [asked.status for asked in self.requests(path)]

    def note(self, handler: BaseHTTPRequestHandler, status: int) -> None:
        with self._lock:
            self.asked.append(
                Asked(handler.path, {name.lower(): text for name, text in handler.headers.items()}, status)
            )

    def answer(self, handler: BaseHTTPRequestHandler) -> None:
        with self._lock:
            plan = self._plans.get(handler.path, [])
            behaviour = plan.pop(0) if plan else properly
            if getattr(behaviour, "for_ever", False):
                plan.insert(0, behaviour)
        body, etag = self.files.get(handler.path, (b"", None))
        behaviour(Exchange(self, handler, body, etag))


# --- how it behaves


def properly(exchange: Exchange) -> None:
    """Answer as a good server does; 403 with XML for what isn't there, as a bucket does."""
    if exchange.handler.path not in exchange.server.files:
        status(403, NO_SUCH_KEY, Content_Type="application/xml")(exchange)
    elif exchange.etag and exchange.header("If-None-Match") == exchange.etag:
        exchange.head(304, None)
    elif exchange.header("Range") and exchange.header("If-Range") in {"", exchange.etag}:
        start, size = exchange.start, len(exchange.body)
        if start >= size:
            exchange.head(416, 0, Content_Range=f"bytes */{size}")
            return
        exchange.head(206, size - start, Content_Range=f"bytes {start}-{size - 1}/{size}")
        exchange.send(exchange.body[start:])
    else:
        exchange.head(200, len(exchange.body))
        exchange.send(exchange.body)


def for_ever(behaviour: Behaviour) -> Behaviour:
    def behave(exchange: Exchange) -> None:
        behaviour(exchange)

    behave.for_ever = True  # type: ignore[attr-defined]
    return behave


def status(code: int, body: bytes = b"", **headers: str) -> Behaviour:
    def behave(exchange: Exchange) -> None:
        exchange.head(code, len(body), **headers)
        exchange.handler.wfile.write(body)

    return behave


def broken_after(size: int) -> Behaviour:
    """Announce the whole file, send so many bytes, and cut the connection."""

    def behave(exchange: Exchange) -> None:
        exchange.head(200, len(exchange.body))
        exchange.send(exchange.body[:size])
        # A reset would take what is still on its way with it.
        exchange.handler.connection.shutdown(socket.SHUT_WR)

    return behave


def reset_at_once(exchange: Exchange) -> None:
    exchange.server.note(exchange.handler, 0)
    exchange.slam()


def announcing(length: int | None, *, sending: int) -> Behaviour:
    """Announce a length (None: none at all) and send another."""

    def behave(exchange: Exchange) -> None:
        exchange.head(200, length)
        exchange.send(exchange.body[:sending])

    return behave


def ignoring_ranges(exchange: Exchange) -> None:
    exchange.head(200, len(exchange.body))
    exchange.send(exchange.body)


def another_range(exchange: Exchange) -> None:
    """Answer a range with one as long that begins a byte before it."""
    start, size = exchange.start, len(exchange.body)
    exchange.head(206, size - start, Content_Range=f"bytes {start - 1}-{size - 2}/{size}")
    exchange.send(exchange.body[start - 1 : -1])


def a_part_of_the_range(exchange: Exchange) -> None:
    """Answer a range with its beginning, as a server may."""
    start, size = exchange.start, len(exchange.body)
    exchange.head(206, BLOCK, Content_Range=f"bytes {start}-{start + BLOCK - 1}/{size}")
    exchange.send(exchange.body[start : start + BLOCK])


def ignoring_if_range(exchange: Exchange) -> None:
    """Answer with the range of whatever the file is by now."""
    del exchange.handler.headers["If-Range"]
    properly(exchange)


def hanging_after(size: int) -> Behaviour:
    """Send so many bytes, and then nothing until the server is closed or let go."""

    def behave(exchange: Exchange) -> None:
        exchange.head(200, len(exchange.body))
        exchange.send(exchange.body[:size])
        exchange.server.released.wait(PATIENCE)

    return behave


def once_all_are_here(barrier: threading.Barrier) -> Behaviour:
    """Answer only when as many requests are under way as the barrier has parties; otherwise never well."""

    def behave(exchange: Exchange) -> None:
        try:
            barrier.wait()
        except threading.BrokenBarrierError:
            status(500)(exchange)
        else:
            properly(exchange)

    return behave


def without_end(code: int = 200, content: bytes = bytes(BLOCK), **headers: str) -> Behaviour:
    """Answer with the same content over and over, until the other side has gone."""

    def behave(exchange: Exchange) -> None:
        exchange.head(code, None, **headers)
        while not exchange.server.released.is_set():
            exchange.send(content)

    return behave


def dripping(size: int = 0, *, head: bytes = b"") -> Behaviour:
    """Answer with so many bytes of the file, or the beginning of a head instead; then with one at a time, slowly."""

    def behave(exchange: Exchange) -> None:
        if head:
            exchange.server.note(exchange.handler, 0)
            exchange.handler.wfile.write(head)
        else:
            exchange.head(200, None)
            exchange.send(exchange.body[:size])
        for place in range(size, len(exchange.body)):
            if exchange.server.released.wait(0.02):
                return
            exchange.handler.wfile.write(b"x" if head else exchange.body[place : place + 1])
            exchange.handler.wfile.flush()

    return behave
