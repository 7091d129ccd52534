"""The catalog `nyctaxi`: the star of trips, from files of Databricks' sample."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Final

from taxi_assets.catalog import Catalog, Contents
from taxi_assets.errors import UsageError
from taxi_assets.months import Month


def _sample(
    folder: Path,
    months: Sequence[Month],
    _services: Sequence[str],
    rows: int,
    seed: int,
    on_step: Callable[[str], None],
    **_: bool,
) -> Iterator[str]:
    from taxi_assets.sample import RIDES_FILE, write_rides

    others = sorted(path.name for path in folder.glob("nyctaxi_trips*") if path.name != RIDES_FILE)
    if others:
        # All such files are one set of trips.
        raise UsageError(f"{folder} holds {', '.join(others)}, which is no sample. Nothing was written; name another.")
    on_step(f"Making {rows:,} rows of each month")
    planted = write_rides(folder, months, rows, seed=seed)
    faults = ", ".join(f"{count:,} of {rule}" for rule, count in planted.counts.items())
    yield f"{planted.path}: {planted.rows:,} rows; faults planted: {faults}"


def _load() -> Contents:
    from taxi_assets.nyctaxi.catalog import CONTENTS

    return CONTENTS


NYCTAXI: Final = Catalog("nyctaxi", (), "nyctaxi_trips_2016.parquet", _sample, _load)
