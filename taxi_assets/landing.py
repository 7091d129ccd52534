"""Landing: the folder or bucket where source files arrive. Lists, identifies and fingerprints files.

Read-only: nothing here writes to landing; fetch/ does. What files are called is their catalog's to know
(tlc/trip_files.py), what is inside them engines/source_files.py's.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path, PurePosixPath
from typing import Any, Final

import obstore
from obstore.store import ObjectStore

from taxi_assets.errors import LandingError, first_line, printable
from taxi_assets.object_store import open_store

_BLOCK: Final = 4 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class LandedFile:
    """A file as a listing shows it. `identity` changes when it is written again, on a local disk even if unchanged."""

    path: str
    size: int
    identity: str
    # Not compared: a bucket's identity says whether it is the same file.
    modified: datetime | None = field(default=None, compare=False)
    """When it was last written, by its store; None where that isn't known."""

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

        One whose path holds what can't be seen is listed under another, which is no catalog's, and never read. Raises
        LandingError if the root isn't there.
        """
        try:
            found = [file for file in self._listed() if not _is_hidden(file["path"])]
        except (OSError, obstore.exceptions.BaseError) as error:
            raise self._unreachable(error) from error
        return sorted(
            (
                LandedFile(
                    path=_readable(file["path"]),
                    size=file["size"],
                    identity=(file["e_tag"] or f"{file['size']}-{file['last_modified'].isoformat()}").strip('"'),
                    modified=file.get("last_modified"),
                )
                for file in found
            ),
            key=lambda file: file.path,
        )

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
        """Return a file's SHA-256: the same for the same bytes, whatever its name and date."""
        digest = hashlib.sha256()
        # A reader: obstore's streams take five times as long (0.12).
        reader = obstore.open_reader(self.store, file.path, buffer_size=_BLOCK)
        while block := reader.read(_BLOCK):
            digest.update(block)
        return digest.hexdigest()

    def read_text(self, path: str) -> str | None:
        """Return what a text file in UTF-8 says; None if it isn't there. Raises LandingError if it can't be read."""
        try:
            return bytes(obstore.get(self.store, path).bytes()).decode("utf-8-sig")
        except FileNotFoundError:
            return None
        except (OSError, UnicodeDecodeError, obstore.exceptions.BaseError) as error:
            raise LandingError(
                f"{path} in landing can't be read: {first_line(error)}. See that it may be read, and is text in UTF-8."
            ) from error

    def _listed(self) -> Iterator[Mapping[str, Any]]:
        try:
            # Whole, as one path that no store can address, or a folder that holds itself, ends it.
            yield from [file for batch in obstore.list(self.store) for file in batch]
        except (obstore.exceptions.InvalidPathError, obstore.exceptions.GenericError):
            if "://" in self.root:
                raise
            yield from self._walked()

    def _walked(self) -> Iterator[Mapping[str, Any]]:
        """List a local landing file by file, so that one that can't be addressed doesn't keep the others."""
        store, walked = self.store, set[str]()
        for folder, folders, names in os.walk(self.root, followlinks=True):
            if os.path.realpath(folder) in walked:
                folders.clear()
                continue
            walked.add(os.path.realpath(folder))
            for file in (Path(folder) / name for name in names):
                path = file.relative_to(self.root).as_posix()
                if not file.is_file():
                    continue
                if printable(path) != path:
                    yield {"path": path, "size": 0, "e_tag": "unknown"}
                    continue
                with contextlib.suppress(FileNotFoundError):
                    yield dict(obstore.head(store, path))

    def _unreachable(self, error: Exception) -> LandingError:
        return LandingError(
            f"Landing at {self.root} can't be listed: {first_line(error)}. "
            "Set TAXI_LANDING_ROOT to the folder or bucket that holds the monthly files."
        )


def _readable(path: str) -> str:
    shown = printable(path)
    return path if path == shown else f"{shown} (a name that can't be read)"


def _is_hidden(path: str) -> bool:
    return any(part.startswith(".") for part in PurePosixPath(path).parts)
