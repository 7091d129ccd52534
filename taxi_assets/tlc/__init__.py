"""The catalog `tlc`: New York's taxis and for-hire vehicles, from the monthly files of the TLC."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Final

from taxi_assets.catalog import Catalog, Contents
from taxi_assets.months import Month
from taxi_assets.vocabulary import Service


def _sample(
    folder: Path,
    months: Sequence[Month],
    services: Sequence[str],
    rows: int,
    seed: int,
    on_step: Callable[[str], None],
    *,
    clean: bool,
) -> Iterator[str]:
    from taxi_assets.sample import NOTE, refuse_to_replace, services_of, write_month

    wanted = [(Service(service), month) for month in months for service in services or services_of(month)]
    refuse_to_replace(folder, wanted)
    for service, month in wanted:
        on_step(f"Making {rows:,} rows of {service} {month}")
        planted = write_month(folder, service, month, rows, seed=seed, clean=clean)
        yield f"{planted.path}: {rows:,} rows, {sum(planted.counts.values()):,} faults planted"
    yield f"What was planted is listed in {folder / NOTE}."


def _load() -> Contents:
    from taxi_assets.tlc.catalog import CONTENTS

    return CONTENTS


TLC: Final = Catalog("tlc", tuple(Service), "green_tripdata_2024-01.parquet", _sample, _load)
