"""One file over HTTP to the local disk: tried again, resumed, and of the length that was announced.

Knows neither TLC nor landing. What has arrived stands in a part whose name holds the ETag of the file that it is a part
of: there is no note beside it that could be out of step with it.
"""

from __future__ import annotations

import re
import ssl
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from os import fsync
from pathlib import Path
from typing import Final

import requests
import urllib3

from taxi_assets.errors import FetchError

LONGEST_WAIT: Final = 60.0
"""Seconds that are waited before another attempt; a server that asks for more is left alone."""

# What is read when a connection breaks is lost by the block.
_BLOCK: Final = 64 * 1024
_LONGEST_ETAG: Final = 80
_TOO_MANY_REQUESTS: Final = 429
_SERVER_ERROR: Final = 500
_RANGE: Final = re.compile(r"bytes (\d+)-\d+/(\d+)")
_PART: Final = re.compile(r"(?:\.([0-9a-f]+))?\.part")

OnBytes = Callable[[int, int | None], None]
"""Called with the bytes that are there and those that there will be, where known."""


@dataclass(frozen=True, slots=True)
class Server:
    """Where files are fetched from; seconds without a sign of life that are put up with, and attempts at a file."""

    address: str
    timeout: float = 30
    attempts: int = 5


@dataclass(frozen=True, slots=True)
class Download:
    """A file that has arrived in full. Without a strong ETag, its server can't be asked if it has changed."""

    part: Path
    etag: str | None


class NotThereError(FetchError):
    """The server says that there is no such file. `by_bucket`: as a bucket says it, in XML; others refuse in HTML."""

    def __init__(self, url: str, status: int, *, by_bucket: bool) -> None:
        super().__init__(f"{url} answers {status}")
        self.url, self.status, self.by_bucket = url, status, by_bucket


class _TryAgainError(Exception):
    """An attempt failed in a way that may pass. `after`: seconds that the server asks to wait."""

    def __init__(self, problem: str, after: float = 0) -> None:
        super().__init__(problem)
        self.problem, self.after = problem, after


@dataclass(frozen=True, slots=True)
class _Part:
    path: Path
    etag: str | None
    size: int


def download(
    session: requests.Session,
    server: Server,
    url: str,
    stem: Path,
    known: str | None,
    on_bytes: OnBytes,
    wait: Callable[[float], None],
) -> Download | None:
    """Download a file into a part beside `stem`, going on where an earlier attempt stopped; None if it is the `known`.

    Not to be called for one stem by two at once. What breaks off stays for the next attempt; whoever takes the part
    renames or removes it. Raises FetchError, NotThereError where there is no such file, an OSError of the disk, and
    whatever `on_bytes` and `wait` raise.
    """
    for attempt in range(1, server.attempts + 1):
        try:
            return _attempt(session, server, url, stem, known, on_bytes)
        except _TryAgainError as trouble:
            if trouble.after > LONGEST_WAIT:
                raise FetchError(
                    f"{url}: {trouble.problem}, and asks to wait {trouble.after:.0f} s. Fetch again then."
                ) from trouble
            if attempt == server.attempts:
                times = f" ({attempt} attempts)" if attempt > 1 else ""
                raise FetchError(
                    f"{url}: {trouble.problem}{times}. Fetch again later; what has arrived is kept."
                ) from trouble
            wait(max(trouble.after, min(2.0 ** (attempt - 1), LONGEST_WAIT)))
    raise AssertionError("there is at least one attempt")


def remove_parts(stem: Path) -> None:
    """Remove what has arrived of a file: it is of no use."""
    for part in _parts(stem):
        part.path.unlink(missing_ok=True)


def _attempt(
    session: requests.Session, server: Server, url: str, stem: Path, known: str | None, on_bytes: OnBytes
) -> Download | None:
    begun = next((part for part in _parts(stem) if part.etag and part.size), None)
    # Lengths and ranges are those of the file only if the server doesn't compress it on the way.
    headers = {"Accept-Encoding": "identity", "User-Agent": "taxi-assets"}
    if known:
        headers["If-None-Match"] = known
    if begun and begun.etag:
        headers |= {"Range": f"bytes={begun.size}-", "If-Range": begun.etag}
    try:
        with session.get(url, headers=headers, stream=True, timeout=server.timeout) as response:
            if response.status_code == requests.codes.not_modified and known:
                remove_parts(stem)
                return None
            _require_a_file(response, url, stem)
            return _receive(response, stem, begun, on_bytes)
    except (requests.TooManyRedirects, requests.exceptions.InvalidSchema, requests.exceptions.InvalidURL) as error:
        raise FetchError(f"{url}: the server redirects to where nothing is. See TAXI_FETCH__ADDRESS.") from error
    except requests.RequestException as error:
        if any(isinstance(link, ssl.SSLCertVerificationError) for link in _links(error)):
            raise FetchError(f"{url}: the server's certificate isn't trusted. See TAXI_FETCH__ADDRESS.") from error
        raise _TryAgainError(_problem(error, server.timeout)) from error
    except (ValueError, urllib3.exceptions.HTTPError) as error:
        # Not shown: it holds where a redirect led, which may be signed.
        raise FetchError(f"{url}: the server redirects to what is no address. See TAXI_FETCH__ADDRESS.") from error


def _require_a_file(response: requests.Response, url: str, stem: Path) -> None:
    status = response.status_code
    if status == _TOO_MANY_REQUESTS or status >= _SERVER_ERROR:
        raise _TryAgainError(f"the server answers {status}", _seconds(response.headers.get("Retry-After", "")))
    if status == requests.codes.requested_range_not_satisfiable:
        remove_parts(stem)
        raise _TryAgainError(f"the server answers {status}, as it has no more than had arrived before")
    if status in {requests.codes.forbidden, requests.codes.not_found}:
        start = next(response.iter_content(_BLOCK), b"").lstrip()
        raise NotThereError(url, status, by_bucket=start.startswith((b"<?xml", b"<Error>")))
    if status not in {requests.codes.ok, requests.codes.partial}:
        raise FetchError(f"{url}: the server answers {status}, which isn't a file. See TAXI_FETCH__ADDRESS.")


def _receive(response: requests.Response, stem: Path, begun: _Part | None, on_bytes: OnBytes) -> Download:
    etag, total = _etag(response), _length(response)
    start = 0
    if response.status_code == requests.codes.partial:
        found = _RANGE.fullmatch(response.headers.get("Content-Range", ""))
        if begun is None or found is None or int(found[1]) != begun.size or etag != begun.etag:
            remove_parts(stem)
            raise _TryAgainError("the server answers with another part of the file than was asked for")
        part, start, total = begun.path, begun.size, int(found[2])
    else:
        remove_parts(stem)
        part = _part_path(stem, etag)
    size = start
    with part.open("ab") as file:
        on_bytes(size, total)
        for block in response.iter_content(_BLOCK):
            file.write(block)
            size += len(block)
            on_bytes(size, total)
        file.flush()
        # Before it gets its final name: a machine that loses power mustn't find a name without the bytes.
        fsync(file.fileno())
    if total is not None and size != total:
        if size > total:
            remove_parts(stem)
        raise _TryAgainError(f"{size:,} of {total:,} bytes have arrived")
    return Download(part, etag)


def _parts(stem: Path) -> Iterator[_Part]:
    for path in sorted(stem.parent.glob(f"{stem.name}.*part")):
        found = _PART.fullmatch(path.name.removeprefix(stem.name))
        if found:
            etag = bytes.fromhex(found[1]).decode("latin-1") if found[1] else None
            yield _Part(path, etag, path.stat().st_size)


def _part_path(stem: Path, etag: str | None) -> Path:
    written = f"{etag.encode('latin-1').hex()}." if etag else ""
    return stem.with_name(f"{stem.name}.{written}part")


def _etag(response: requests.Response) -> str | None:
    etag = response.headers.get("ETag", "")
    # A weak one (W/) says that two files mean the same, not that their bytes are equal.
    strong = etag.startswith('"') and "Content-Encoding" not in response.headers
    return etag if strong and len(etag) <= _LONGEST_ETAG else None


def _length(response: requests.Response) -> int | None:
    length = response.headers.get("Content-Length", "")
    return int(length) if length.isdecimal() and "Content-Encoding" not in response.headers else None


def _seconds(retry_after: str) -> float:
    if retry_after.strip().isdecimal():
        return float(retry_after)
    try:
        return max(0.0, (parsedate_to_datetime(retry_after) - datetime.now(UTC)).total_seconds())
    except (TypeError, ValueError):
        return 0.0


def _problem(error: requests.RequestException, timeout: float) -> str:
    # Not the error's own words: they show where a redirect led, which may be signed with a secret.
    links = list(_links(error))
    if any(isinstance(link, (requests.Timeout, TimeoutError)) for link in links):
        return f"nothing came from the server for {timeout:g} s"
    reasons = [link.strerror for link in links if isinstance(link, OSError) and link.strerror]
    return f"the connection broke ({reasons[-1]})" if reasons else "the connection broke"


def _links(error: BaseException) -> Iterator[BaseException]:
    """Yield an error, and what led to it."""
    link: BaseException | None = error
    while link is not None:
        yield link
        link = link.__cause__ or link.__context__
