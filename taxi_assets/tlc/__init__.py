"""The catalog `tlc`: New York's taxis and for-hire vehicles, from the monthly files of the TLC."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Final

from taxi_assets.calendars import Calendar, Month, Period
from taxi_assets.catalog import Catalog, Contents, Feed
from taxi_assets.tlc.vocabulary import FIRST_MONTH, Service

MONTHLY: Final = Calendar(Month, "source_month", Month(2009, 1))
"""From the month in which yellow's files begin. One calendar for all services: assets of one job must share theirs."""


def _sample(
    folder: Path,
    periods: Sequence[Period],
    feeds: Sequence[str],
    rows: int,
    seed: int,
    on_step: Callable[[str], None],
    *,
    clean: bool,
) -> Iterator[str]:
    from taxi_assets.sample import NOTE, refuse_to_replace, services_of, write_month

    months = [Month.of(period.first_day) for period in periods]
    wanted = [(Service(service), month) for month in months for service in feeds or services_of(month)]
    refuse_to_replace(folder, wanted)
    for service, month in wanted:
        on_step(f"Making {rows:,} rows of {service} {month}")
        planted = write_month(folder, service, month, rows, seed=seed, clean=clean)
        yield f"{planted.path}: {rows:,} rows, {sum(planted.counts.values()):,} faults planted"
    yield f"What was planted is listed in {folder / NOTE}."


def _load() -> Contents:
    from taxi_assets.tlc.catalog import CONTENTS

    return CONTENTS


def _feed(service: Service) -> Feed:
    return Feed(
        service,
        pattern=rf"{service}_tripdata_(?P<year>[0-9]{{4}})[-_](?P<month>0[1-9]|1[0-2])",
        file_name=f"{service}_tripdata_{{:%Y-%m}}",
        first=FIRST_MONTH[service],
        late_after=2,
        comes="TLC publishes a month about two months after it",
        how_to_get=f"taxi-assets fetch {service} {{periods}}; if it says 'not published', TLC is late",
    )


TLC: Final = Catalog(
    "tlc",
    MONTHLY,
    feeds=tuple(map(_feed, Service)),
    file_name="green_tripdata_2024-01.parquet",
    nearly=r"trip[-_ ]?data",
    blocked_list="blocked_months.txt",
    sample=_sample,
    load=_load,
    feed_word="service",
)
