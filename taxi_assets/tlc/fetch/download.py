"""One file over HTTP to the local disk: tried again, resumed, of the length that was announced, and within limits.

Knows neither TLC nor landing. What has arrived stands in a part whose name holds the ETag of the file that it is a part
of: there is no note beside it that could be out of step with it.
"""

from __future__ import annotations

import re
import shutil
import ssl
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from os import fsync
from pathlib import Path
from stat import S_ISREG
from typing import Final
from urllib.parse import urljoin

import requests
import urllib3
from requests.utils import requote_uri

from taxi_assets.errors import FetchError
from taxi_assets.tlc.fetch.connections import Ending, session_until

LONGEST_WAIT: Final = 60.0
"""Seconds that are waited before another attempt; a server that asks for more is left alone."""

# What is read when a connection breaks is lost by the block.
_BLOCK: Final = 64 * 1024
_START: Final = 512
_MOST_REDIRECTS: Final = 10
# Left free on the disk, where lake, records and temporary files may be, too: so much, or this part of a small one.
_MARGIN: Final = 1_000_000_000
_MARGIN_OF_SMALL: Final = 0.05
_LONGEST_ETAG: Final = 80
_TOO_MANY_REQUESTS: Final = 429
_SERVER_ERROR: Final = 500
_NUMBER: Final = re.compile(r"[0-9]{1,18}")
_RANGE: Final = re.compile(rf"bytes ({_NUMBER.pattern})-[0-9]+/({_NUMBER.pattern})")
_PART: Final = re.compile(r"(?:\.((?:[0-9a-f]{2})+))?\.part")

OnBytes = Callable[[int, int | None], None]
"""Called with the bytes that are there and those that there will be, where known."""


@dataclass(frozen=True, slots=True)
class Server:
    """Where files are fetched from, and what is put up with.

    `timeout` is in seconds without a sign of life, `time_limit` in seconds for a file in all its `attempts`;
    `largest_mb` are the megabytes that a month's file may have.
    """

    address: str
    timeout: float = 30
    attempts: int = 5
    time_limit: float = 3600
    largest_mb: int = 2000


@dataclass(frozen=True, slots=True)
class Transfer:
    """A file to be downloaded: from where, into a part beside which stem, and how many bytes it may have at most.

    `known` is the ETag of the file that is there already. `keeps`: whether parts outlast the download.
    """

    url: str
    stem: Path
    known: str | None
    most: int
    keeps: bool


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


class TooLargeError(FetchError):
    """The file has more bytes than it may have. `size` is what was announced, or had arrived."""

    def __init__(self, url: str, size: int, most: int) -> None:
        super().__init__(f"{url} has {size:,} bytes or more, and may have {most:,}")
        self.size = size


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


def download(server: Server, transfer: Transfer, on_bytes: OnBytes, wait: Callable[[float], None]) -> Download | None:
    """Download a file into a part beside its stem, going on where an earlier attempt stopped; None if it is the known.

    Not to be called for one stem by two at once. What breaks off and can be resumed stays for the next attempt, nothing
    else; whoever takes the part renames or removes it. Raises FetchError, NotThereError where there is no such file,
    TooLargeError, an OSError of the disk, and whatever `on_bytes` and `wait` raise.
    """
    url, ends = transfer.url, time.monotonic() + server.time_limit
    with _leaving_what_can_be_resumed(transfer.stem):
        for attempt in range(1, server.attempts + 1):
            try:
                return _attempt(server, transfer, ends, on_bytes)
            except _TryAgainError as trouble:
                pause = max(trouble.after, min(2.0 ** (attempt - 1), LONGEST_WAIT))
                if trouble.after > LONGEST_WAIT:
                    raise FetchError(
                        f"{url}: {trouble.problem}, and asks to wait {trouble.after:.0f} s. Fetch again then."
                    ) from trouble
                if attempt == server.attempts:
                    times = f" ({attempt} attempts)" if attempt > 1 else ""
                    says = f"{url}: {trouble.problem}{times}. Fetch again later{_of_what_arrived(transfer)}."
                    raise FetchError(says) from trouble
                if time.monotonic() + pause >= ends:
                    raise _took_too_long(server, transfer) from trouble
                wait(pause)
    raise AssertionError("there is at least one attempt")


@contextmanager
def _leaving_what_can_be_resumed(stem: Path) -> Iterator[None]:
    """Leave nothing of a download that fails but a part that the next one goes on with."""
    try:
        yield
    except BaseException as error:
        if isinstance(error, TooLargeError) or _begun(stem) is None:
            remove_parts(stem)
        raise


def _of_what_arrived(transfer: Transfer) -> str:
    if transfer.keeps and _begun(transfer.stem):
        return "; what has arrived is kept"
    arrived = any(part.size for part in _parts(transfer.stem))
    return "; what had arrived can't be gone on with, and is removed" if arrived else ""


def _took_too_long(server: Server, transfer: Transfer) -> FetchError:
    return FetchError(
        f"{transfer.url}: the {server.time_limit:g} s that a file may take (TAXI_FETCH__TIME_LIMIT) weren't enough. "
        f"Fetch again later{_of_what_arrived(transfer)}."
    )


def remove_parts(stem: Path) -> None:
    """Remove what has arrived of a file: it is of no use."""
    for part in _parts(stem):
        part.path.unlink(missing_ok=True)


def _attempt(server: Server, transfer: Transfer, ends: float, on_bytes: OnBytes) -> Download | None:
    with session_until(max(0.0, ends - time.monotonic())) as (session, ending):
        try:
            return _ask(session, ending, server, transfer, on_bytes)
        except _TryAgainError as trouble:
            if ending.has_come:
                raise _took_too_long(server, transfer) from trouble
            raise


def _ask(
    session: requests.Session, ending: Ending, server: Server, transfer: Transfer, on_bytes: OnBytes
) -> Download | None:
    url, stem, known, begun = transfer.url, transfer.stem, transfer.known, _begun(transfer.stem)
    # Lengths and ranges are those of the file only if the server doesn't compress it on the way.
    headers = {"Accept-Encoding": "identity", "User-Agent": "taxi-assets"}
    if known:
        headers["If-None-Match"] = known
    if begun and begun.etag:
        headers |= {"Range": f"bytes={begun.size}-", "If-Range": begun.etag}
    try:
        with _answer(session, url, headers, server.timeout) as response:
            if response.status_code == requests.codes.not_modified and known:
                remove_parts(stem)
                return None
            _require_a_file(response, url, stem)
            return _receive(response, ending, transfer, begun, on_bytes)
    except (requests.TooManyRedirects, requests.exceptions.InvalidSchema, requests.exceptions.InvalidURL) as error:
        raise FetchError(f"{url}: the server redirects to where nothing is. See TAXI_FETCH__ADDRESS.") from error
    except requests.RequestException as error:
        if any(isinstance(link, ssl.SSLCertVerificationError) for link in _links(error)):
            raise FetchError(f"{url}: the server's certificate isn't trusted. See TAXI_FETCH__ADDRESS.") from error
        raise _TryAgainError(_problem(error, server.timeout)) from error
    except (ValueError, urllib3.exceptions.HTTPError) as error:
        # Not shown: it holds where a redirect led, which may be signed.
        raise FetchError(f"{url}: the server redirects to what is no address. See TAXI_FETCH__ADDRESS.") from error


@contextmanager
def _answer(
    session: requests.Session, url: str, headers: dict[str, str], timeout: float
) -> Iterator[requests.Response]:
    """Give a server's answer, from where redirects lead to."""
    for _ in range(_MOST_REDIRECTS + 1):
        with session.get(url, headers=headers, stream=True, timeout=timeout) as response:
            target = session.get_redirect_target(response)
            if target is None:
                yield response
                return
            url = urljoin(response.url, requote_uri(target))
    raise requests.TooManyRedirects


def _require_a_file(response: requests.Response, url: str, stem: Path) -> None:
    status = response.status_code
    if status == _TOO_MANY_REQUESTS or status >= _SERVER_ERROR:
        raise _TryAgainError(f"the server answers {status}", _seconds(response.headers.get("Retry-After", "")))
    if status == requests.codes.requested_range_not_satisfiable:
        remove_parts(stem)
        raise _TryAgainError(f"the server answers {status}, as it has no more than had arrived before")
    if status in {requests.codes.forbidden, requests.codes.not_found}:
        start = next(response.iter_content(_START), b"").lstrip()
        raise NotThereError(url, status, by_bucket=start.startswith((b"<?xml", b"<Error>")))
    if status not in {requests.codes.ok, requests.codes.partial}:
        raise FetchError(f"{url}: the server answers {status}, which isn't a file. See TAXI_FETCH__ADDRESS.")


def _receive(
    response: requests.Response, ending: Ending, transfer: Transfer, begun: _Part | None, on_bytes: OnBytes
) -> Download:
    stem, etag, total = transfer.stem, _etag(response), _length(response)
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
    _require_small(transfer, total or 0)
    _require_room(transfer, total - start if total else 0)
    with part.open("ab") as file:
        on_bytes(size, total)
        for block in response.iter_content(_BLOCK):
            _require_small(transfer, size + len(block))
            _require_room(transfer, len(block))
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
    if total is None and ending.has_come:
        raise _TryAgainError("the connection broke")
    return Download(part, etag)


def _require_small(transfer: Transfer, size: int) -> None:
    if size > transfer.most:
        raise TooLargeError(transfer.url, size, transfer.most)


def _require_room(transfer: Transfer, to_come: int) -> None:
    disk = shutil.disk_usage(transfer.stem.parent)
    margin = min(_MARGIN, disk.total * _MARGIN_OF_SMALL)
    if disk.free - to_come < margin:
        raise FetchError(
            f"{transfer.url}: {to_come:,} bytes are to come now, and the disk of {transfer.stem.parent} has "
            f"{disk.free:,} free, of which {margin:,.0f} stay free. Make room, and fetch again"
            f"{_of_what_arrived(transfer)}."
        )


def _begun(stem: Path) -> _Part | None:
    """Return what can be gone on with of a file."""
    return next((part for part in _parts(stem) if part.etag and part.size), None)


def _parts(stem: Path) -> Iterator[_Part]:
    for path in sorted(stem.parent.glob(f"{stem.name}.*part")):
        found = _PART.fullmatch(path.name.removeprefix(stem.name))
        if found:
            etag = bytes.fromhex(found[1]).decode("latin-1") if found[1] else None
            there = path.lstat()
            # A link that someone has put there is none of ours: nothing is written through it.
            yield _Part(path, etag, there.st_size if S_ISREG(there.st_mode) else 0)


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
    return int(length) if _NUMBER.fullmatch(length) and "Content-Encoding" not in response.headers else None


def _seconds(retry_after: str) -> float:
    if _NUMBER.fullmatch(retry_after.strip()):
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
