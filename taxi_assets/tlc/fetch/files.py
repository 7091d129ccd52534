"""The files that TLC publishes, fetched: where each is, when it is good, and what became of each that was asked for.

Several at once, in threads, as they wait for the network. HTTP is download.py's, writing landing place.py's.
"""

from __future__ import annotations

import csv
import threading
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Final, Literal

import obstore
import requests

from taxi_assets.calendars import Month
from taxi_assets.deliveries.landed import feed_files
from taxi_assets.engines.parquet_footer import read_footer
from taxi_assets.errors import FetchError, first_line
from taxi_assets.landing import Landing
from taxi_assets.object_store import open_store
from taxi_assets.sample import read_planted
from taxi_assets.tlc import TLC
from taxi_assets.tlc.fetch.download import NotThereError, Server, TooLargeError, Transfer, download, remove_parts
from taxi_assets.tlc.fetch.place import Place
from taxi_assets.tlc.vocabulary import Service
from taxi_assets.tlc.zone_lookup import ZONE_LOOKUPS

LATEST_ARRIVAL: Final = 6
"""Months after which a month is published: TLC takes about two, at times more. Older ones aren't yet to come."""

_MB: Final = 1_000_000
# TLC's has 12 KB.
_LARGEST_LOOKUP: Final = _MB
_START: Final = 512
_LOOK: Final = 0.2
_PATIENCE_AT_END: Final = 1.0

State = Literal["fetched", "unchanged", "not published", "failed"]
OnBytes = Callable[[str, int, int | None], None]
"""Called, in the thread of that file, with its name, the bytes that are there and, where known, those to come."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """A file of TLC's: its name in landing, and its path below TLC's address. The zone lookup has no month."""

    name: str
    path: str
    service: Service | None = None
    month: Month | None = None

    @classmethod
    def trips(cls, service: Service, month: Month) -> Wanted:
        """Return the file of a service's month."""
        name = f"{service}_tripdata_{month}.parquet"
        return cls(name, f"trip-data/{name}", service, month)

    @classmethod
    def zones(cls) -> Wanted:
        """Return the zone lookup."""
        return cls(ZONE_LOOKUPS[0], f"misc/{ZONE_LOOKUPS[0]}")


@dataclass(frozen=True, slots=True)
class Fetched:
    """What became of a file. `size` is that of the file fetched; `says` why it isn't in landing, and what to do."""

    name: str
    state: State
    size: int | None = None
    seconds: float = 0.0
    says: str = ""


class _StoppedError(Exception):
    """The fetch was interrupted; what has arrived stays for the next one."""


def fetch(
    wanted: Sequence[Wanted],
    landing: Landing,
    server: Server,
    *,
    jobs: int = 4,
    on_bytes: OnBytes = lambda _name, _done, _total: None,
    wait: Callable[[float], None] | None = None,
) -> Generator[Fetched, None, None]:
    """Fetch files into landing, `jobs` at once, and report on each as it ends; `wait` is how attempts are spaced.

    Raises UsageError or LandingError, before anything is fetched, for a landing that can't be written or read. Closing
    the iterator (as an interrupt does) stops within a block of bytes, and leaves parts to be resumed.
    """
    place = Place.of(landing)
    taken = _taken(wanted, landing, place)
    return _fetch(wanted, _Fetcher(place, server, landing.root, taken, on_bytes, wait), jobs)


def _fetch(wanted: Sequence[Wanted], fetcher: _Fetcher, jobs: int) -> Generator[Fetched, None, None]:
    waiting: SimpleQueue[Wanted] = SimpleQueue()
    ended: SimpleQueue[Fetched | BaseException] = SimpleQueue()
    for file in wanted:
        waiting.put(file)

    def work() -> None:
        try:
            with suppress(Empty):
                while not fetcher.stop.is_set():
                    ended.put(fetcher.fetch(waiting.get_nowait()))
        except BaseException as error:  # noqa: BLE001 - a bug in a thread is raised where it is seen
            ended.put(error)

    # Daemons, as a server that doesn't answer mustn't hold up an interrupt: wherever they end, landing is whole.
    threads = [threading.Thread(target=work, daemon=True) for _ in range(min(jobs, len(wanted)))]
    try:
        for thread in threads:
            thread.start()
        for _ in wanted:
            outcome = _next(ended)
            if isinstance(outcome, BaseException):
                raise outcome
            yield outcome
    finally:
        fetcher.stop.set()
        for thread in threads:
            thread.join(_PATIENCE_AT_END)


def _next(ended: SimpleQueue[Fetched | BaseException]) -> Fetched | BaseException:
    while True:
        # Looked up now and then: a library's handler of signals can keep an interrupt from ending a wait without limit.
        with suppress(Empty):
            return ended.get(timeout=_LOOK)


class _Fetcher:
    """Fetches one file after the other; shared by the threads of a fetch."""

    def __init__(
        self,
        place: Place,
        server: Server,
        root: str,
        taken: Mapping[Wanted, str],
        on_bytes: OnBytes,
        wait: Callable[[float], None] | None,
    ) -> None:
        self.place, self.server, self.root, self.taken = place, server, root, taken
        self.stop = threading.Event()
        self.on_bytes = on_bytes
        self.wait = self.stop.wait if wait is None else wait

    def fetch(self, file: Wanted) -> Fetched:
        """Fetch a file, and say what became of it."""
        begun = time.monotonic()
        try:
            if file in self.taken:
                raise FetchError(self.taken[file])  # noqa: TRY301 - reported like all that goes wrong
            state, size = self._fetch(file)
        except FetchError as error:
            return Fetched(file.name, "failed", says=str(error))
        except (OSError, obstore.exceptions.BaseError) as error:
            problem = getattr(error, "strerror", None) or first_line(error)
            says = f"{file.name} can't be written to {self.root}: {problem}. See its room and rights, and fetch again."
            return Fetched(file.name, "failed", says=says)
        return Fetched(file.name, state, size, round(time.monotonic() - begun, 1))

    def _fetch(self, file: Wanted) -> tuple[State, int | None]:
        url = f"{self.server.address}/{file.path}"
        with self.place.stem(file.name) as stem:
            known = self.place.etag(file.name)
            most = _LARGEST_LOOKUP if file.month is None else self.server.largest_mb * _MB
            transfer = Transfer(url, stem, known, most, self.place.keeps_parts)
            try:
                arrived = download(self.server, transfer, self._progress(file), self._wait)
            except TooLargeError as error:
                setting = "" if file.month is None else ", and TAXI_FETCH__LARGEST_MB"
                raise FetchError(
                    f"{error}: it isn't what its name says. What had arrived is removed. "
                    f"See TAXI_FETCH__ADDRESS{setting}."
                ) from error
            except NotThereError as error:
                if _is_yet_to_come(file, error) and known is None:
                    return "not published", None
                raise FetchError(_absence(file, error, fetched_before=known is not None)) from error
            if arrived is None:
                return "unchanged", None
            problem = _problem(arrived.part, file)
            if problem:
                remove_parts(stem)
                raise FetchError(
                    f"{url}: {problem}. Nothing was stored. See TAXI_FETCH__ADDRESS, or fetch again later."
                )
            size = arrived.part.stat().st_size
            return ("fetched" if self.place.move_in(arrived.part, file.name, arrived.etag) else "unchanged"), size

    def _progress(self, file: Wanted) -> Callable[[int, int | None], None]:
        def report(done: int, total: int | None) -> None:
            if self.stop.is_set():
                raise _StoppedError
            self.on_bytes(file.name, done, total)

        return report

    def _wait(self, seconds: float) -> None:
        self.wait(seconds)
        if self.stop.is_set():
            raise _StoppedError


def _taken(wanted: Sequence[Wanted], landing: Landing, place: Place) -> dict[Wanted, str]:
    """Say of the files that mustn't be fetched why: two of a month, or of the lookup, would make both unreadable."""
    landed = landing.files()
    trip_files, _ = feed_files(TLC, landed)
    samples = read_planted(place.folder) if place.folder else {}
    taken = {}
    for file in wanted:
        if file.service is not None and file.month is not None:
            standing = [one.file.path for one in trip_files if (one.feed, one.period) == (file.service, file.month)]
        else:
            standing = [found.path for found in landed if found.name in ZONE_LOOKUPS]
        others = [path for path in standing if path != file.name]
        if others:
            taken[file] = (
                f"{file.name} isn't fetched, as {', '.join(others)} stands in {landing.root} for it; "
                "of two files, none would be read. Move it away, and fetch again."
            )
        elif file.name in samples and file.name in standing:
            taken[file] = (
                f"{file.name} isn't fetched, as a made-up one stands in {landing.root}. "
                "Move the samples away, or set TAXI_LANDING_ROOT to another folder."
            )
    return taken


def _is_yet_to_come(file: Wanted, answer: NotThereError) -> bool:
    if file.month is None or not (answer.by_bucket or answer.status == requests.codes.not_found):
        return False
    today = Month.of(date.today())  # noqa: DTZ011 - a day more or less makes no difference
    months_ago = (today.year - file.month.year) * 12 + today.number - file.month.number
    return months_ago <= LATEST_ARRIVAL


def _absence(file: Wanted, answer: NotThereError, *, fetched_before: bool) -> str:
    if fetched_before:
        return f"{answer}, though {file.name} was fetched from there before. The file in landing stays as it is."
    if answer.status == requests.codes.forbidden and not answer.by_bucket:
        return f"{answer}: the server, or a proxy before it, refuses to serve us. See TAXI_FETCH__ADDRESS, and proxies."
    if file.month is None:
        return f"{answer}: there is no such file. See TAXI_FETCH__ADDRESS."
    return (
        f"{answer}: there is no such file, and {file.month} isn't yet to come. "
        f"See whether {file.service} has begun by then, and TAXI_FETCH__ADDRESS."
    )


def _problem(part: Path, file: Wanted) -> str | None:
    """Say what is wrong with a file that has arrived in full; None if it is what its name says."""
    size = part.stat().st_size
    with part.open("rb") as opened:
        start = opened.read(_START)
    if not start.strip():
        return "the file is empty"
    if start.lstrip().startswith(b"<"):
        return "what came is a page of HTML or XML, not a file"
    try:
        if file.name.endswith(".parquet"):
            read_footer(open_store(str(part.parent), {}), part.name, size)
        else:
            _require_lookup(part)
    except (ValueError, csv.Error) as error:
        return f"what came is not a whole {'Parquet file' if file.month else 'zone lookup'}: {error}"
    return None


def _require_lookup(part: Path) -> None:
    with part.open(encoding="utf-8", errors="replace", newline="") as opened:
        header, *rows = [row for row in csv.reader(opened) if row]
    if "locationid" not in {name.strip().lower() for name in header}:
        raise ValueError("it has no column LocationID")
    if not rows or any(len(row) != len(header) for row in rows):
        raise ValueError("it has no rows, or one that lacks fields")
