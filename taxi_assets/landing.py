"""Landing: the folder or bucket where source files arrive. Lists, identifies and fingerprints files.

Read-only: nothing here writes to landing; fetch/ does. What files are called is their catalog's to know
(deliveries/landed.py sorts them), what is inside them engines/source_files.py's.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import stat
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path, PurePosixPath
from typing import Any, Final

import obstore
from obstore.store import ObjectStore

from taxi_assets.errors import LandingError, first_line, printable
from taxi_assets.object_store import open_store

NOT_SHOWN: Final = "what isn't shown, as a link leads out of landing to it"
"""Stands in a message for what a file holds that whoever put the link there may not be allowed to read."""

_BLOCK: Final = 4 * 1024 * 1024
_LONGEST_TEXT: Final = 1024 * 1024
_KINDS: Final = {
    stat.S_IFDIR: "a folder",
    stat.S_IFIFO: "a pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}
_NOT_LOOKED_AT: Final = "what may not be looked at"
_OF_NO_FILE: Final = "Put the file itself there, or take this out of landing."


@dataclass(frozen=True, slots=True)
class LandedFile:
    """A file as a listing shows it. `identity` changes when it is written again, on a local disk even if unchanged.

    `no_file` is what stands there instead, such as a link that leads nowhere: there is nothing to be read, or reading
    would never end. `leads_out`: a link that leads out of landing leads to it.
    """

    path: str
    size: int
    identity: str
    # Not compared: a bucket's identity says whether it is the same file.
    modified: datetime | None = field(default=None, compare=False)
    """When it was last written, by its store; None where that isn't known."""
    no_file: str = ""
    leads_out: bool = False

    @property
    def name(self) -> str:
        """The last part of the path."""
        return PurePosixPath(self.path).name

    @property
    def version(self) -> str:
        """Path and identity as one text: what a stored month is recorded to have come from."""
        return f"{self.path}@{self.identity}"

    def unusable(self, problem: str, remedy: str = "Fetch it again, or take it out of landing.") -> LandingError:
        """Return the error that says why this file can't be used, and what to do."""
        return LandingError(f"{self.path} can't be used: {problem}. {remedy}")

    def require_file(self) -> None:
        """See that it can be opened. Raises LandingError, saying what it is instead of a file."""
        if self.no_file:
            raise self.unusable(f"it is {self.no_file}, not a file", _OF_NO_FILE)

    def quoted(self, content: str) -> str:
        """Return what a message may show of what the file holds: nothing, where a link leads out of landing to it.

        Whoever writes into landing may lead a link to what they may not read themselves.
        """
        return NOT_SHOWN if self.leads_out else content

    def unreadable(self, error: Exception) -> LandingError:
        """Return the error that says what keeps this file from being read, as its store has it."""
        return self.unusable(f"it can't be read ({first_line(error)})", "See that it is there and may be read.")


@dataclass(frozen=True)
class Landing:
    """A landing folder or bucket. `root` is a local path or a URL (s3://, az://, gs://) without a slash at its end.

    A file that was last written less than `settle_seconds` ago may still be on its way.
    """

    root: str
    # Not shown: they may hold secrets.
    storage_options: Mapping[str, str] = field(repr=False)
    settle_seconds: int = 0

    @property
    def store(self) -> ObjectStore:
        """The object store below the root. Raises LandingError if there is none."""
        try:
            return open_store(self.root, self.storage_options)
        except (OSError, ValueError, obstore.exceptions.BaseError) as error:
            raise self._unreachable(error) from error

    def files(self) -> list[LandedFile]:
        """List all files, however deep, sorted by path; not hidden ones, which are unfinished, or notes on others.

        What stands there and is none, such as a pipe or an empty folder called like a file, is listed too, as it may
        stand where a file is looked for. One whose path holds what can't be seen is listed under another, which is no
        catalog's, and never read. Raises LandingError if the root isn't there.
        """
        try:
            entries = {} if self._is_bucket else {entry.path: entry for entry in _walked(self.root)}
            found = [file for file in self._listed(entries) if not _is_hidden(file["path"])]
        except (OSError, obstore.exceptions.BaseError) as error:
            raise self._unreachable(error) from error
        files = [
            LandedFile(
                path=_readable(file["path"]),
                size=file["size"],
                identity=(file["e_tag"] or f"{file['size']}-{file['last_modified'].isoformat()}").strip('"'),
                modified=file.get("last_modified"),
                leads_out=file["path"] in entries and entries[file["path"]].leads_out,
            )
            for file in found
        ]
        others = [
            LandedFile(_readable(path), 0, no_file, no_file=no_file)
            for path, no_file in self._no_files(entries.values(), {file["path"] for file in found})
        ]
        return sorted([*files, *others], key=lambda file: file.path)

    def uri(self, file: LandedFile) -> str:
        """Return where a file stands, for a reader that opens it itself."""
        return f"{self.root}/{file.path}"

    def settles_at(self, file: LandedFile) -> datetime | None:
        """Return when a file will have stood still for long enough to be all there is; None if it has."""
        if file.modified is None or not self.settle_seconds:
            return None
        settled = file.modified + timedelta(seconds=self.settle_seconds)
        return settled if settled > datetime.now(UTC) else None

    def fingerprint(self, file: LandedFile) -> str:
        """Return a file's SHA-256: the same for the same bytes, whatever its name and date.

        Raises LandingError if it is no file.
        """
        file.require_file()
        digest = hashlib.sha256()
        # A reader: obstore's streams take five times as long (0.12).
        reader = obstore.open_reader(self.store, file.path, buffer_size=_BLOCK)
        while block := reader.read(_BLOCK):
            digest.update(block)
        return digest.hexdigest()

    def require_as_read(self, files: Collection[LandedFile], table: str) -> None:
        """See that files are as they were listed. Raises LandingError that says what `table` may hold otherwise."""
        now = set(self.files())
        changed = [file.path for file in files if file not in now]
        if changed:
            raise LandingError(
                f"{', '.join(changed)} was replaced or taken away while it was read: {table} may hold rows of either. "
                "Run the month again."
            )

    def read_text(self, path: str) -> str | None:
        """Return what a text file in UTF-8 says; None if nothing of that name is there, nor a link that leads nowhere.

        Raises LandingError if what is there can't be read, is no file, or too long to be a text.
        """
        try:
            return self._read_text(path)
        except (OSError, UnicodeDecodeError, obstore.exceptions.BaseError) as error:
            raise LandingError(
                f"{path} in landing can't be read: {first_line(error)}. See that it may be read, and is text in UTF-8."
            ) from error

    def leads_out(self, path: str) -> bool:
        """Whether a link that leads out of landing leads to a file."""
        return not self._is_bucket and _leads_out(self.root, path)

    def _read_text(self, path: str) -> str | None:
        found = self._kind_of(path)
        if found is None:
            return None
        if found:
            raise LandingError(f"{path} in landing can't be read: it is {found}, not a file. {_OF_NO_FILE}")
        answer = obstore.get(self.store, path)
        size = answer.meta["size"]
        if size > _LONGEST_TEXT:
            raise LandingError(
                f"{path} in landing can't be read: it has {size:,} bytes, which no such text has. "
                "See that it is the file that it is to be."
            )
        # One that says that it is empty may be none of a disk's, and reading it never end.
        return bytes(answer.bytes()).decode("utf-8-sig") if size else ""

    def _kind_of(self, path: str) -> str | None:
        """Say what stands under a name instead of a file: '' for a file, None if nothing does."""
        if not self._is_bucket:
            full = os.path.join(self.root, path)  # noqa: PTH118 - as it is written: a Path would mend it
            return _what_stands_at(full)
        try:
            obstore.head(self.store, path)
        except FileNotFoundError:
            return _KINDS[stat.S_IFDIR] if any(obstore.list(self.store, path)) else None
        return ""

    @property
    def _is_bucket(self) -> bool:
        return "://" in self.root

    def _listed(self, entries: Mapping[str, _Entry]) -> Iterator[Mapping[str, Any]]:
        try:
            # Whole, as one path that no store can address, or a folder that holds itself, ends it.
            yield from [file for batch in obstore.list(self.store) for file in batch]
        except (obstore.exceptions.InvalidPathError, obstore.exceptions.GenericError):
            if self._is_bucket:
                raise
            # File by file, so that one that can't be addressed doesn't keep the others.
            store = self.store
            for path in (entry.path for entry in entries.values() if not entry.no_file):
                if printable(path) != path:
                    yield {"path": path, "size": 0, "e_tag": "unknown"}
                    continue
                with contextlib.suppress(FileNotFoundError):
                    yield dict(obstore.head(store, path))

    def _no_files(self, entries: Iterable[_Entry], listed: Collection[str]) -> Iterator[tuple[str, str]]:
        """Yield what is none, and says so; and what the store has left out, as it may not be looked at."""
        for entry in entries:
            if entry.no_file:
                yield entry.path, entry.no_file
            elif entry.path not in listed:
                no_file = _what_stands_at(os.path.join(self.root, entry.path))  # noqa: PTH118
                if no_file:
                    yield entry.path, no_file

    def _unreachable(self, error: Exception) -> LandingError:
        problem = getattr(error, "strerror", None) or first_line(error)
        folder = getattr(error, "filename", None)
        if isinstance(folder, str) and os.path.realpath(folder) != os.path.realpath(self.root):
            return LandingError(
                f"Landing at {self.root} can't be listed: {printable(folder)} in it can't ({problem}). "
                "Let it be read, or take it out of landing."
            )
        return LandingError(
            f"Landing at {self.root} can't be listed: {problem}. "
            "Set TAXI_LANDING_ROOT to the folder or bucket that holds the monthly files."
        )


def _readable(path: str) -> str:
    shown = printable(path)
    return path if path == shown else f"{shown} (a name that can't be read)"


def _is_hidden(path: str) -> bool:
    return any(part.startswith(".") for part in PurePosixPath(path).parts)


@dataclass(frozen=True, slots=True)
class _Entry:
    """What stands in a local landing: a file, or what stands there as if it were one, under its path below the root."""

    path: str
    no_file: str
    leads_out: bool


def _walked(root: str) -> Iterator[_Entry]:
    """Walk a local landing, along links, too, and into each folder once; not into hidden ones."""
    real_root, walked = os.path.realpath(root), set[str]()
    waiting = [("", False)]
    while waiting:
        folder, by_link = waiting.pop()
        here = os.path.join(real_root, folder)  # noqa: PTH118
        if os.path.realpath(here) in walked:
            continue
        walked.add(os.path.realpath(here))
        # A folder that is taken away meanwhile holds nothing; landing itself must be there.
        with contextlib.suppress(*((FileNotFoundError,) if folder else ())), os.scandir(here) as found:
            shown = [entry for entry in found if not entry.name.startswith(".")]
            if not shown and PurePosixPath(folder).suffix:
                # Called as files are.
                yield _Entry(folder, "an empty folder", leads_out=False)
            for entry in shown:
                path = f"{folder}/{entry.name}" if folder else entry.name
                linked = by_link or entry.is_symlink()
                # Asked of the system only where it is a link, as a listing tells of the others.
                kind = _no_file(entry.path) if linked or not entry.is_file() else ""
                if kind == _KINDS[stat.S_IFDIR]:
                    waiting.append((path, linked))
                else:
                    yield _Entry(path, kind, linked and _leads_out(real_root, path))


def _what_stands_at(path: str) -> str | None:
    """Say what stands under a path instead of a file: '' for a file, None if nothing does."""
    try:
        # Not whether it exists: that is denied, too, of what may not be looked at.
        os.lstat(path)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except PermissionError:
        return _NOT_LOOKED_AT
    return _no_file(path)


def _no_file(path: str) -> str:
    """Say what stands under a path instead of a file; '' if it is one."""
    try:
        mode = Path(path).stat().st_mode
    except OSError as error:
        if isinstance(error, PermissionError):
            return _NOT_LOOKED_AT
        nowhere = isinstance(error, FileNotFoundError)
        return "a link that leads nowhere" if nowhere else f"a link that can't be followed ({error.strerror})"
    return _KINDS.get(stat.S_IFMT(mode), "")


def _leads_out(root: str, path: str) -> bool:
    real_root = os.path.realpath(root)
    return os.path.commonpath([real_root, os.path.realpath(os.path.join(real_root, path))]) != real_root  # noqa: PTH118
