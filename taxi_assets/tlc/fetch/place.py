"""Landing as a place to write to: whole files under their names, and beside them, hidden, what is known of them.

In a folder's `.fetch` stand parts of files, a lock and a note for each; a file moves in by being renamed. Into a
bucket, which has no renaming, a file is put from a temporary folder, and only its note stands in `.fetch`.
"""

from __future__ import annotations

import filecmp
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory, TemporaryFile
from typing import Final

import obstore
from filelock import FileLock
from obstore.store import ObjectStore

from taxi_assets.errors import UsageError
from taxi_assets.landing import Landing

HIDDEN: Final = ".fetch"


@dataclass(frozen=True)
class Place:
    """A landing that can be written. `folder` is None for a bucket."""

    store: ObjectStore
    folder: Path | None

    @classmethod
    def of(cls, landing: Landing) -> Place:
        """Make a landing's folder if need be. Raises UsageError if it can't be written, LandingError for no bucket."""
        if "://" in landing.root:
            return cls(landing.store, None)
        folder = Path(landing.root)
        try:
            (folder / HIDDEN).mkdir(parents=True, exist_ok=True)
            # An existing one may be read-only all the same; and files are renamed into the folder itself.
            for needed in (folder, folder / HIDDEN):
                with TemporaryFile(dir=needed):
                    pass
        except OSError as error:
            raise UsageError(
                f"TAXI_LANDING_ROOT is {folder}, which can't be written: {error.strerror}. Name a folder that can be."
            ) from error
        return cls(landing.store, folder)

    @property
    def keeps_parts(self) -> bool:
        """Whether what has arrived of a file is there for a later fetch."""
        return self.folder is not None

    @contextmanager
    def stem(self, name: str) -> Iterator[Path]:
        """Give the path that a file's parts are named after, to one process at a time; others wait."""
        if self.folder is None:
            with TemporaryDirectory(prefix="taxi-assets-fetch-") as folder:
                yield Path(folder) / name
        else:
            with FileLock(self.folder / HIDDEN / f"{name}.lock"):
                yield self.folder / HIDDEN / name

    def etag(self, name: str) -> str | None:
        """Return the ETag that a file was fetched with; None if it wasn't, or isn't any longer the file that was."""
        if self.folder and not all((self.folder / path).is_file() for path in (name, _note(name))):
            # A pipe of that name would never end.
            return None
        try:
            note = json.loads(bytes(obstore.get(self.store, _note(name)).bytes()))
            return str(note["etag"]) if note["file"] == self._shown(name) else None
        except (FileNotFoundError, KeyError, TypeError, ValueError):
            return None

    def move_in(self, part: Path, name: str, etag: str | None) -> bool:
        """Give a whole file its name, in place of an earlier one, at once; False if that had the same bytes.

        A folder's file of the same bytes stays as it is: to whoever watches landing, a new one would be a new event.
        """
        final = self.folder / name if self.folder else None
        same = bool(final and final.exists() and filecmp.cmp(part, final, shallow=False))
        if final is None:
            obstore.put(self.store, name, part)
        elif same:
            part.unlink()
        else:
            part.replace(final)
        # Last: broken off before, the earlier note no longer fits the file, and it is fetched again.
        if etag:
            note = {"etag": etag, "file": self._shown(name)}
            obstore.put(self.store, _note(name), json.dumps(note).encode())
        return not same

    def _shown(self, name: str) -> list[str]:
        # Survives a copy of the folder that keeps dates, and no change of the file.
        file = obstore.head(self.store, name)
        return [str(file["size"]), file["last_modified"].isoformat()]


def _note(name: str) -> str:
    return f"{HIDDEN}/{name}.json"
