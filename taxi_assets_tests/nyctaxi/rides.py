"""Small worlds for tests of this catalog: rides that break no rule until a test changes something."""

# Times are wall clock, without a zone.
# ruff: noqa: DTZ001

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import dagster as dg
import polars as pl

from taxi_assets.calendars import Month
from taxi_assets.contracts import Contract, Frame
from taxi_assets.definitions import build_defs
from taxi_assets.engines import Engine
from taxi_assets.lake.lake import Lake
from taxi_assets.nyctaxi.trip_files import TRIP_COLUMNS
from taxi_assets.places import lake_of
from taxi_assets.settings import Settings
from taxi_assets_tests.scenario import POLARS, collected, on

MONTH = Month(2016, 1)
SCHEMA: dict[str, Any] = {
    "tpep_pickup_datetime": pl.Datetime("us"),
    "tpep_dropoff_datetime": pl.Datetime("us"),
    "trip_distance": pl.Float64,
    "fare_amount": pl.Float64,
    "pickup_zip": pl.Int32,
    "dropoff_zip": pl.Int32,
}


def ride(**changes: Any) -> dict[str, Any]:
    """Return a ride of ten minutes and two miles through Manhattan, with some columns changed."""
    pickup = datetime(2016, 1, 13, 12)
    usual = dict(zip(TRIP_COLUMNS, (pickup, pickup + timedelta(minutes=10), 2.0, 9.5, 10001, 10018), strict=True))
    return {**usual, **changes}


def rides(count: int, month: Month = MONTH, **changes: Any) -> list[dict[str, Any]]:
    """Return rides that begin a minute apart."""
    start = datetime(month.year, month.number, 13, 12)
    return [
        ride(**{
            "tpep_pickup_datetime": start + timedelta(minutes=number),
            "tpep_dropoff_datetime": start + timedelta(minutes=number + 10),
            **changes,
        })
        for number in range(count)
    ]  # fmt: skip


def bronze(rows: Sequence[dict[str, Any]], engine: Engine = POLARS) -> Frame:
    """Return rides as bronze has them; `trip_key` tells them apart."""
    about = {"source_month": MONTH.first_day, "_rescued_data": None}
    full = [{**about, "trip_key": f"ride {number}", **row} for number, row in enumerate(rows)]
    schema = {**SCHEMA, "trip_key": pl.String, "source_month": pl.Date, "_rescued_data": pl.String}
    return on(engine, pl.LazyFrame(full, schema=schema))


@dataclass(frozen=True)
class Star:
    """A landing, a lake and an instance of a test's own."""

    settings: Settings
    instance: dg.DagsterInstance

    @classmethod
    def below(cls, folder: Path, instance: dg.DagsterInstance) -> Star:
        """Make empty ones below a folder."""
        (folder / "landing").mkdir()
        roots = {"landing_root": str(folder / "landing"), "lake_root": str(folder / "lake")}
        return cls(Settings(**roots, DAGSTER_HOME=str(folder / "dagster")), instance)  # type: ignore[arg-type]

    @property
    def lake(self) -> Lake:
        """The lake, to look into."""
        return lake_of(self.settings)

    def land(self, rows: Sequence[dict[str, Any]], name: str = "nyctaxi_trips.parquet") -> None:
        """Write rides as a file of landing."""
        frame, path = pl.DataFrame(rows, schema=SCHEMA), Path(self.settings.landing_root) / name
        if name.endswith(".csv"):
            frame.write_csv(path)
        else:
            frame.write_parquet(path)

    def run(self, month: Month = MONTH) -> dg.ExecuteInProcessResult:
        """Run a month; failures are in the result."""
        job = build_defs(self.settings).resolve_job_def("nyctaxi_month")
        return job.execute_in_process(instance=self.instance, partition_key=str(month), raise_on_error=False)

    def table(self, contract: type[Contract]) -> pl.DataFrame:
        """Return all that a table holds."""
        return collected(self.lake.read(contract))
