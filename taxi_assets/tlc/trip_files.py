"""The files that TLC publishes: what they are called, and which of them stand in landing.

Names only. What a file's columns mean is in bronze/layouts.py.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Final

from taxi_assets.engines.source_files import Format
from taxi_assets.errors import LandingError
from taxi_assets.landing import LandedFile, Landing
from taxi_assets.months import Month
from taxi_assets.vocabulary import Service

ServiceMonth = tuple[Service, Month]

ZONE_LOOKUPS: Final = ("taxi_zone_lookup.csv", "taxi+_zone_lookup.csv")
"""The names under which TLC has published its zone lookup."""

_TRIP_FILE: Final = re.compile(
    rf"(?P<service>{'|'.join(Service)})_tripdata_(?P<year>[0-9]{{4}})[-_](?P<month>0[1-9]|1[0-2])"
    rf"\.(?P<format>{'|'.join(map(re.escape, Format))})"
)
_LOOKS_LIKE_TRIPS: Final = re.compile(r"trip[-_ ]?data", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class TripFile:
    """A landed file whose name says which service's trips of which month it holds, and how it's written."""

    file: LandedFile
    service: Service
    month: Month
    format: Format

    @classmethod
    def parse(cls, file: LandedFile) -> TripFile | None:
        """Read a file's name: ``green_tripdata_2024-01.parquet``, ``.csv`` or ``.csv.gz``; None for any other."""
        match = _TRIP_FILE.fullmatch(file.name)
        if match is None or match["year"] < "2009":
            return None
        month = Month(int(match["year"]), int(match["month"]))
        return cls(file, Service(match["service"]), month, Format(match["format"]))


@dataclass(frozen=True, slots=True)
class TripFiles:
    """The trip files that stand in landing at one moment.

    `unread` are paths that look like trip files but are never read: the name is off, or the service is none of ours.
    """

    by_month: Mapping[ServiceMonth, tuple[TripFile, ...]]
    unread: tuple[str, ...]

    @classmethod
    def of(cls, files: Iterable[LandedFile]) -> TripFiles:
        """Sort a listing of landing by service and month."""
        by_month: dict[ServiceMonth, list[TripFile]] = {}
        unread = []
        for file in files:
            trip_file = TripFile.parse(file)
            if trip_file is not None:
                by_month.setdefault((trip_file.service, trip_file.month), []).append(trip_file)
            elif _LOOKS_LIKE_TRIPS.search(file.name) or _is_in_a_trip_files_place(file):
                unread.append(file.path)
        return cls({key: tuple(found) for key, found in sorted(by_month.items())}, tuple(unread))


def _is_in_a_trip_files_place(file: LandedFile) -> bool:
    """Whether a file stands in a folder that is called like a trip file, as Spark writes Parquet."""
    return any(_TRIP_FILE.fullmatch(folder.name) for folder in PurePosixPath(file.path).parents)


def find_trip_file(landing: Landing, service: Service, month: Month) -> TripFile | None:
    """Return the one file of a service's month, None if there is none.

    Raises LandingError if there is more than one, or one whose name isn't read and may mean that month.
    """
    found = TripFiles.of(landing.files())
    files = found.by_month.get((service, month), ())
    if files:
        return the_only(files)
    near = [path for path in found.unread if service in path.lower() and str(month.year) in path]
    if near:
        raise LandingError(
            f"{no_file(landing, service, month)} "
            f"{', '.join(near)} is not a name that is read; rename it if it is that month, or else move it away."
        )
    return None


def no_file(landing: Landing, service: Service, month: Month) -> str:
    """Say that landing has no file for a service's month, and which names are read."""
    return (
        f"There is no {service} file for {month} in {landing.root}: "
        f"{service}_tripdata_{month}.parquet (or .csv, .csv.gz) is expected."
    )


def the_only(files: tuple[TripFile, ...]) -> TripFile:
    """Return the one file of a month. Raises LandingError naming them all if there are several, or if it is no file."""
    if len(files) > 1:
        names = " and ".join(file.file.path for file in files)
        raise LandingError(
            f"{len(files)} files stand in landing for {files[0].service} {files[0].month}: {names}. "
            "Which one holds the month can't be told; move the others away."
        )
    files[0].file.require_file()
    return files[0]


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
