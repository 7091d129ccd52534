"""TLC's zone lookup among landing's files: what it is called, and where it stands."""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import Final

from taxi_assets.errors import LandingError
from taxi_assets.landing import LandedFile, Landing

ZONE_LOOKUPS: Final = ("taxi_zone_lookup.csv", "taxi+_zone_lookup.csv")
"""The names under which TLC has published its zone lookup."""


def find_zone_lookup(landing: Landing) -> LandedFile | None:
    """Return the zone lookup that stands in landing, None if there is none.

    Raises LandingError for more than one, and for a folder that is called so.
    """
    files = landing.files()
    for file in files:
        if any(folder.name in ZONE_LOOKUPS for folder in PurePosixPath(file.path).parents):
            raise LandingError(
                f"{file.path} stands in a folder that is called like the zone lookup. Put the file itself into "
                "landing, or take the folder away."
            )
    lookups = [file for file in files if file.name in ZONE_LOOKUPS]
    if len(lookups) > 1:
        names = " and ".join(file.path for file in lookups)
        raise LandingError(f"{len(lookups)} zone lookups stand in landing: {names}. Keep one of them.")
    return lookups[0] if lookups else None
