"""The sensor of this catalog: files that are new or were written again become runs of the months that they hold.

`plan` is pure: what stands in landing and what is known of it, to what should be run.
"""

# Without postponed annotations, which Dagster doesn't resolve for `context`.

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import dagster as dg

from taxi_assets.errors import LandingError
from taxi_assets.lake.metadata import asset_key
from taxi_assets.landing import Landing
from taxi_assets.months import Month
from taxi_assets.nyctaxi.bronze.trips_raw import SOURCE_FILES, TripsRaw
from taxi_assets.nyctaxi.trip_files import TripFile, trip_files

MONTH_JOB: Final = "nyctaxi_month"
MOST_RUNS_A_TICK: Final = 8
"""Months requested by one tick; the rest follow with the next ticks.

A tick lasts until its runs are queued, which takes SQLite 1 s of a core for each (tlc/sensor.py): it stays under 10 s.
"""


@dataclass(frozen=True, slots=True)
class Known:
    """What earlier ticks left: each file's version and months, months that still wait, and how many were requested."""

    files: Mapping[str, tuple[str, tuple[Month, ...]]] = field(default_factory=dict)
    waiting: tuple[Month, ...] = ()
    requested: int = 0

    def dump(self) -> str:
        """Write it as a sensor's cursor."""
        files = {path: [version, [str(month) for month in months]] for path, (version, months) in self.files.items()}
        return json.dumps([files, [str(month) for month in self.waiting], self.requested])

    @classmethod
    def load(cls, cursor: str | None) -> "Known":
        """Read a cursor; nothing is known without one."""
        if not cursor:
            return cls()
        files, waiting, requested = json.loads(cursor)
        return cls(
            {path: (version, tuple(map(Month.parse, months))) for path, (version, months) in files.items()},
            tuple(map(Month.parse, waiting)),
            requested,
        )


@dataclass(frozen=True, slots=True)
class Plan:
    """Which months to run now, each with its run key; what is known afterwards; and what a person should be told."""

    requests: tuple[tuple[Month, str], ...]
    known: Known
    messages: tuple[str, ...]


def plan(
    landed: list[TripFile],
    known: Known,
    months_of: Callable[[TripFile], list[Month]],
    is_stored: Callable[[Month, list[str]], bool],
    most: int = MOST_RUNS_A_TICK,
) -> Plan:
    """Decide which months to request: those that a new or rewritten file holds, or that one held which is so no longer.

    A month that no file holds any longer can't be run: what is stored of it stays, which is said once.

    `months_of` looks into a file, which may raise LandingError. `is_stored` says whether a month was made of files of
    just these versions; a month that was isn't requested. A month that is requested again has another run key.
    """
    files: dict[str, tuple[str, tuple[Month, ...]]] = {}
    messages: list[str] = []
    changed = set(known.waiting)
    for trip_file in landed:
        path, version = trip_file.file.path, trip_file.file.version
        before = known.files.get(path)
        if before is not None and before[0] == version:
            files[path] = before
            continue
        try:
            months = tuple(months_of(trip_file))
        except LandingError as error:
            messages.append(str(error))
            if before is not None:
                files[path] = before
            continue
        files[path] = (version, months)
        changed |= {*months, *(before[1] if before else ())}
    gone = known.files.keys() - files.keys()
    changed |= {month for path in gone for month in known.files[path][1]}
    versions = {month: [version for version, months in files.values() if month in months] for month in changed}
    messages += [
        f"No file in landing holds {month} any longer; what is stored of it stays."
        for month in sorted(month for month in changed if not versions[month])
    ]
    fresh = sorted(month for month in changed if versions[month] and not is_stored(month, versions[month]))
    now, later = fresh[:most], tuple(fresh[most:])
    requests = tuple((month, f"{month}|{known.requested + number}") for number, month in enumerate(now, start=1))
    if later:
        messages.append(f"{len(later)} more months are waiting for the next ticks.")
    return Plan(requests, Known(files, later, known.requested + len(now)), tuple(messages))


@dg.sensor(
    job_name=MONTH_JOB,
    minimum_interval_seconds=60,
    description="Requests a run of each month that a file of trips holds which has landed or was written again.",
)
def nyctaxi_landing(context: dg.SensorEvaluationContext, landing: dg.ResourceParam[Landing]) -> dg.SensorResult:
    landed = trip_files(landing.files())
    planned = plan(
        landed,
        Known.load(context.cursor),
        lambda trip_file: trip_file.months(landing),
        lambda month, versions: _made_of(context.instance, month) == sorted(versions),
    )
    for message in planned.messages:
        context.log.warning(message)
    requests = [dg.RunRequest(run_key=key, partition_key=str(month)) for month, key in planned.requests]
    nothing_new = f"Nothing new among {len(landed)} files. " + " ".join(planned.messages)
    return dg.SensorResult(
        run_requests=requests,
        skip_reason=None if requests else dg.SkipReason(nothing_new.strip()),
        cursor=planned.known.dump(),
    )


def _made_of(instance: dg.DagsterInstance, month: Month) -> list[str] | None:
    """Look up which files a stored month came from, as `LandedFile.version` has them; None for one never stored."""
    of_month = dg.AssetRecordsFilter(asset_key(TripsRaw), asset_partitions=[str(month)])
    for record in instance.fetch_materializations(of_month, limit=1).records:
        found: Any = record.asset_materialization and record.asset_materialization.metadata.get(SOURCE_FILES)
        return sorted(found.value) if found else None
    return None
