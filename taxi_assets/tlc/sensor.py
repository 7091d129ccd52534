"""The sensor of this catalog: new and re-issued files in landing become runs of just their months and services.

`plan` is pure: what stands in landing and what is known of it, to what should be run. The sensor around it only fetches
and stores.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import dagster as dg

from taxi_assets.errors import LandingError, TaxiAssetsError
from taxi_assets.lake.lake import Lake
from taxi_assets.landing import Landing
from taxi_assets.months import Month
from taxi_assets.tlc.assets import MONTH_JOB, keys_for, run_tags
from taxi_assets.tlc.blocked_months import says_blocked
from taxi_assets.tlc.month_records import sources_of
from taxi_assets.tlc.partitions import MONTHS
from taxi_assets.tlc.status import STATUS, InLanding, draw, news
from taxi_assets.tlc.trip_files import ServiceMonth, TripFiles, the_only
from taxi_assets.vocabulary import Service

MOST_RUNS_A_TICK: Final = 4
"""Months requested by one tick; the rest follow with the next ticks.

A tick lasts until its runs are queued, and with all four services a run plans some 170 events, each some commits of
SQLite's: 2 s of a core. So many keep a tick under 10 s, and request months faster than two at once are run.
"""


@dataclass(frozen=True, slots=True)
class Seen:
    """The file of a service's month as last dealt with: its identity, and how often it was requested."""

    identity: str
    times: int


@dataclass(frozen=True, slots=True)
class MonthRequest:
    """A run to be requested: a month, and the services whose file is new or was written again."""

    month: Month
    services: tuple[Service, ...]
    run_key: str


@dataclass(frozen=True, slots=True)
class Plan:
    """What to do now, what is known afterwards, and what a person should be told."""

    requests: tuple[MonthRequest, ...]
    seen: Mapping[ServiceMonth, Seen]
    messages: tuple[str, ...]


def plan(
    landed: TripFiles,
    seen: Mapping[ServiceMonth, Seen],
    done: Mapping[ServiceMonth, str],
    blocked: Mapping[ServiceMonth, str],
    most: int = MOST_RUNS_A_TICK,
) -> Plan:
    """Decide which months to request.

    `seen` is what earlier plans left, `done` the identity of the file that each stored month came from; a file that is
    neither's is new. A run key holds how many times its month was requested, so that bytes that come back are requested
    again. A file whose month is `blocked` is new until it is stored, whatever was requested of it: its month is
    requested once it is blocked no more.
    """
    after = dict(seen)
    messages = [f"Not read, as the name is off or the service unknown: {path}" for path in landed.unread]
    fresh: dict[Month, dict[Service, Seen]] = {}
    for (service, month), files in landed.by_month.items():
        if not MONTHS.has_partition_key(str(month)):
            messages.append(f"Not read, as {month} is yet to come: {', '.join(found.file.path for found in files)}")
            continue
        try:
            file = the_only(files).file
        except LandingError as error:
            messages.append(str(error))
            continue
        identity = file.version
        before, stored = seen.get((service, month)), done.get((service, month)) == identity
        if (service, month) in blocked:
            if not stored:
                messages.append(f"{file.path} is passed by. {says_blocked((service, month), blocked[service, month])}")
                after[service, month] = Seen("", before.times if before else 0)
        elif before is None and stored:
            after[service, month] = Seen(identity, 0)
        elif before is None or before.identity != identity:
            fresh.setdefault(month, {})[service] = Seen(identity, before.times + 1 if before else 1)
    requests = []
    for month, services in sorted(fresh.items())[:most]:
        after.update({(service, month): now for service, now in services.items()})
        key = "|".join(f"{service}:{now.times}:{now.identity}" for service, now in sorted(services.items()))
        requests.append(MonthRequest(month, tuple(sorted(services)), f"{month}|{key}"))
    if len(fresh) > most:
        messages.append(f"{len(fresh) - most} more months are waiting for the next ticks.")
    return Plan(tuple(requests), after, tuple(messages))


def dump(seen: Mapping[ServiceMonth, Seen]) -> str:
    """Write what is known as a sensor's cursor."""
    return json.dumps({f"{service}/{month}": [known.identity, known.times] for (service, month), known in seen.items()})


def load(cursor: str | None) -> dict[ServiceMonth, Seen]:
    """Read a cursor that `dump` wrote; nothing is known without one, nor of services that there are no longer."""
    known = {}
    for key, (identity, times) in json.loads(cursor or "{}").items():
        service, _, month = key.partition("/")
        if service in set(Service):
            known[Service(service), Month.parse(month)] = Seen(identity, times)
    return known


@dg.sensor(
    job_name=MONTH_JOB,
    minimum_interval_seconds=30,
    description=(
        "Requests a run of each month of which a file has landed or was written again, for just its services. "
        "Keeps the picture in tlc_landing/status up to date."
    ),
)
def tlc_landing(
    context: dg.SensorEvaluationContext, landing: dg.ResourceParam[Landing], lake: dg.ResourceParam[Lake]
) -> dg.SensorResult:
    found, seen = InLanding.of(landing, context.instance), load(context.cursor)
    landed, blocked = found.files, found.blocked
    unknown = [known for known in landed.by_month if known not in seen or known in blocked]
    planned = plan(landed, seen, sources_of(context.instance, unknown), blocked)
    for message in planned.messages:
        context.log.warning(message)
    requests = [
        dg.RunRequest(
            run_key=request.run_key,
            partition_key=str(request.month),
            asset_selection=keys_for(request.services),
            tags=run_tags(request.services),
        )
        for request in planned.requests
    ]
    nothing_new = f"Nothing new among {len(landed.by_month)} files. " + " ".join(planned.messages)
    return dg.SensorResult(
        run_requests=requests,
        skip_reason=None if requests else dg.SkipReason(nothing_new.strip()),
        cursor=dump(planned.seen),
        asset_events=_status(context, found, lake),
    )


def _status(context: dg.SensorEvaluationContext, found: InLanding, lake: Lake) -> list[dg.AssetObservation]:
    try:
        return news(context.instance, draw(found, lake, context.instance))
    except TaxiAssetsError as error:
        # A picture that can't be drawn is no reason to leave months waiting.
        context.log.warning("%s isn't up to date: %s", STATUS.to_user_string(), error)
        return []
