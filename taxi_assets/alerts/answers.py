"""What receivers answer, of which no more is read than anybody needs: an answer without end would fill the memory.

Apprise's services ask by `requests` and `smtplib`, each by the module's name. What stands here takes the place of these
in Apprise's modules alone: whoever else asks by them reads all.
"""

from __future__ import annotations

import smtplib
import sys
import time
from collections.abc import Iterator
from typing import Any, Final

import requests
from requests.adapters import HTTPAdapter

MOST_BYTES: Final = 256 * 1024
"""Of an answer, unpacked. What is longer is no service's: its status counts, and the rest isn't read."""
MOST_SECONDS: Final = 5.0
"""So long an answer is read, from its first byte on; then as if it were too long."""

_BLOCK: Final = 16 * 1024


def read_no_more_than_needed() -> None:
    """Have all services of Apprise that are loaded read the beginnings of answers only."""
    for name, module in list(sys.modules.items()):
        if name.startswith("apprise."):
            for asked_by, instead in (("requests", _REQUESTS), ("smtplib", _SMTPLIB)):
                if vars(module).get(asked_by) is sys.modules[asked_by]:
                    setattr(module, asked_by, instead)


class _Beginning:
    """A response's bytes, of which only the beginning comes. Anything else is the response's own."""

    def __init__(self, raw: Any) -> None:
        self._raw = raw

    def __getattr__(self, name: str) -> Any:
        return getattr(self._raw, name)

    def stream(self, _amount: int | None = None, decode_content: bool | None = None) -> Iterator[bytes]:  # noqa: FBT001
        """Yield what there is as it comes, up to the limits; then hang up."""
        left, until = MOST_BYTES, time.monotonic() + MOST_SECONDS
        while left > 0 and time.monotonic() < until:
            block = self._raw.read1(min(left, _BLOCK), decode_content=decode_content)
            if not block:
                return
            left -= len(block)
            yield block
        self._raw.close()


class _Adapter(HTTPAdapter):
    def send(self, *args: Any, **kwargs: Any) -> requests.Response:
        response = super().send(*args, **kwargs)
        response.raw = _Beginning(response.raw)
        return response


class _Session(requests.Session):
    def __init__(self) -> None:
        super().__init__()
        self.mount("https://", _Adapter())
        self.mount("http://", _Adapter())


class _Requests:
    """Stands for the module `requests`."""

    Session = _Session

    def __getattr__(self, name: str) -> Any:
        return getattr(requests, name)

    def request(self, method: str, url: str, **kwargs: Any) -> requests.Response:
        with _Session() as session:
            return session.request(method, url, **kwargs)

    def get(self, url: str, params: Any = None, **kwargs: Any) -> requests.Response:
        return self.request("get", url, params=params, **kwargs)

    def post(self, url: str, data: Any = None, json: Any = None, **kwargs: Any) -> requests.Response:
        return self.request("post", url, data=data, json=json, **kwargs)

    def put(self, url: str, data: Any = None, **kwargs: Any) -> requests.Response:
        return self.request("put", url, data=data, **kwargs)

    def patch(self, url: str, data: Any = None, **kwargs: Any) -> requests.Response:
        return self.request("patch", url, data=data, **kwargs)

    def delete(self, url: str, **kwargs: Any) -> requests.Response:
        return self.request("delete", url, **kwargs)


class _Lines:
    """The lines that a mail server answers, up to the limits; then it counts as gone."""

    def __init__(self, file: Any) -> None:
        self._file, self._left, self._until = file, MOST_BYTES, time.monotonic() + MOST_SECONDS

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)

    def readline(self, size: int) -> bytes:
        if self._left <= 0 or time.monotonic() > self._until:
            raise OSError("it answers without end")
        line: bytes = self._file.readline(size)
        self._left -= len(line)
        return line


class _OfMail:
    """What is read of a mail server's answers; each is a few lines, of which the last one says that it is."""

    file: Any
    sock: Any

    def getreply(self) -> tuple[int, bytes]:
        file = self.file or self.sock.makefile("rb")
        self.file = _Lines(file)
        try:
            return super().getreply()  # type: ignore[no-any-return]
        finally:
            if self.file is not None:
                self.file = file


class _SMTP(_OfMail, smtplib.SMTP): ...


class _SMTPOverTLS(_OfMail, smtplib.SMTP_SSL): ...


class _Smtplib:
    """Stands for the module `smtplib`."""

    SMTP = _SMTP
    SMTP_SSL = _SMTPOverTLS

    def __getattr__(self, name: str) -> Any:
        return getattr(smtplib, name)


_REQUESTS: Final = _Requests()
_SMTPLIB: Final = _Smtplib()
