"""Connections that end at a moment, whatever the server does: a timeout is started anew by each byte that comes.

Reading can wait in a header, in a body or in TLS, and only the end of the connection ends that in each of them.
"""

from __future__ import annotations

import socket
import threading
from collections.abc import Generator, Iterator
from contextlib import contextmanager, suppress
from typing import Any

import requests
from requests.adapters import HTTPAdapter
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.connectionpool import HTTPConnectionPool, HTTPSConnectionPool


class Ending:
    """Whether the moment has come at which a session's connections end."""

    def __init__(self) -> None:
        self.has_come = False
        self._sockets: list[socket.socket] = []
        self._lock = threading.Lock()

    def watch(self, connected: socket.socket) -> None:
        """Let a connection end with the others."""
        with self._lock:
            # A handle of its own: TLS takes the other over, and whoever reads a body's end closes it.
            self._sockets.append(connected.dup())
            if self.has_come:
                self._cut()

    def come(self) -> None:
        """End all connections."""
        with self._lock:
            self.has_come = True
            self._cut()

    def let_go(self) -> None:
        """Give up the handles of the connections."""
        with self._lock:
            for each in self._sockets:
                each.close()
            self._sockets.clear()

    def _cut(self) -> None:
        for each in self._sockets:
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)


@contextmanager
def session_until(seconds: float) -> Iterator[tuple[requests.Session, Ending]]:
    """Give a session whose connections end after so many seconds; what is asked of it then fails, or ends early.

    It leaves redirects to the caller.
    """
    ending = Ending()
    timer = threading.Timer(seconds, ending.come)
    timer.daemon = True
    timer.start()
    try:
        with _Session() as session:
            for scheme in ("http://", "https://"):
                session.mount(scheme, _Adapter(ending))
            yield session, ending
    finally:
        timer.cancel()
        ending.let_go()


class _Session(requests.Session):
    def resolve_redirects(self, *_: Any, **__: Any) -> Generator[requests.Response]:
        """Follow no redirect: requests would first read its body, which may not end."""
        yield from ()


class _Adapter(HTTPAdapter):
    def __init__(self, ending: Ending) -> None:
        self._ending = ending
        super().__init__()

    def init_poolmanager(self, *args: Any, **kwargs: Any) -> None:
        super().init_poolmanager(*args, **kwargs)
        self.poolmanager.pool_classes_by_scheme = _pools(self._ending)

    def proxy_manager_for(self, *args: Any, **kwargs: Any) -> Any:
        manager = super().proxy_manager_for(*args, **kwargs)
        manager.pool_classes_by_scheme = _pools(self._ending)
        return manager


def _pools(ending: Ending) -> dict[str, type[HTTPConnectionPool]]:
    class Plain(HTTPConnection):
        def _new_conn(self) -> socket.socket:
            connected = super()._new_conn()
            ending.watch(connected)
            return connected

    class Secure(HTTPSConnection):
        def _new_conn(self) -> socket.socket:
            connected = super()._new_conn()
            ending.watch(connected)
            return connected

    class PlainPool(HTTPConnectionPool):
        ConnectionCls = Plain

    class SecurePool(HTTPSConnectionPool):
        ConnectionCls = Secure

    return {"http": PlainPool, "https": SecurePool}
