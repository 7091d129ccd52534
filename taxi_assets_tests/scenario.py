"""Small worlds for tests: trips that break no rule until a test changes something, their files, and their runs."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Literal

import dagster as dg
import narwhals.stable.v1 as nw
import polars as pl
from dagster._core.definitions.reconstruct import ReconstructableJob

from taxi_assets.calendars import Month
from taxi_assets.contracts import Contract, Frame, Verdict, judge
from taxi_assets.definitions import build_defs
from taxi_assets.deliveries.status import InLanding
from taxi_assets.deliveries.status_asset import status_key
from taxi_assets.engines import Engine, PolarsEngine
from taxi_assets.lake.lake import Lake
from taxi_assets.lake.metadata import asset_key
from taxi_assets.places import lake_of, landing_of
from taxi_assets.settings import Settings
from taxi_assets.tlc import TLC
from taxi_assets.tlc.bronze.trips import BRONZE_TRIPS
from taxi_assets.tlc.catalog import CONTENTS
from taxi_assets.tlc.silver import fhv_trips, fhvhv_trips, for_hire_trips
from taxi_assets.tlc.silver.metered_trips import PARTS_OF_TOTAL, enrich
from taxi_assets.tlc.silver.trips import SILVER_TRIPS
from taxi_assets.tlc.vocabulary import METERED, Service

MONTH = Month(2024, 1)
POLARS = PolarsEngine()
BLOCKED_MONTHS = TLC.blocked_list
STATUS = status_key(TLC)
keys_for = CONTENTS.keys_for
PART_OF_ITS_OWN = {Service.YELLOW: "airport_fee", Service.GREEN: "ehail_fee"}

# The column names of TLC's files for the names of the contract, where they differ; yellow's times begin with t, green's
# with l.
_IN_FILES = {
    "vendor_id": "VendorID",
    "rate_code_id": "RatecodeID",
    "pickup_location_id": "PULocationID",
    "dropoff_location_id": "DOLocationID",
}
_WHEN_AND_WHERE = ("pickup_datetime", "dropoff_datetime", "pickup_location_id", "dropoff_location_id")


def trip(**changes: Any) -> dict[str, Any]:
    """Return a trip of ten minutes and two miles that breaks no rule, as bronze has it, with some columns changed."""
    pickup = datetime(2024, 1, 10, 12, 0)  # noqa: DTZ001
    usual = {
        "vendor_id": 2,
        "pickup_datetime": pickup,
        "dropoff_datetime": pickup + timedelta(minutes=10),
        "pickup_location_id": 132,
        "dropoff_location_id": 161,
        "rate_code_id": 1,
        "payment_type": 1,
        "passenger_count": 1,
        "trip_distance": 2.0,
        "fare_amount": 12.0,
        "extra": 1.0,
        "mta_tax": 0.5,
        "tip_amount": 3.0,
        "tolls_amount": 0.0,
        "improvement_surcharge": 1.0,
        "congestion_surcharge": 2.5,
        "cbd_congestion_fee": 0.0,
        "total_amount": 20.0,
        "store_and_fwd_flag": "N",
    }
    return {**usual, **changes}


def hired(**changes: Any) -> dict[str, Any]:
    """Return a for-hire trip of ten minutes that breaks no rule, as bronze has it, with some columns changed."""
    usual = {
        "dispatching_base_num": "B00001",
        **{name: trip()[name] for name in _WHEN_AND_WHERE},
    }
    return {**usual, **changes}


def high_volume(**changes: Any) -> dict[str, Any]:
    """Return a high-volume trip of ten minutes and two miles that breaks no rule, as bronze has it, with changes."""
    pickup = trip()["pickup_datetime"]
    usual = {
        "hvfhs_license_num": "HV0003",
        "dispatching_base_num": "B03404",
        "originating_base_num": "B03404",
        "request_datetime": pickup - timedelta(minutes=5),
        "on_scene_datetime": pickup - timedelta(minutes=1),
        **{name: trip()[name] for name in _WHEN_AND_WHERE},
        "trip_miles": 2.125,
        "trip_time": 600,
        "base_passenger_fare": 20.0,
        "tolls": 1.0,
        "bcf": 0.5,
        "sales_tax": 1.75,
        "congestion_surcharge": 2.75,
        "airport_fee": 2.5,
        "tips": 3.0,
        "driver_pay": 15.25,
        "shared_request_flag": "N",
        "shared_match_flag": "N",
        "wav_request_flag": "N",
        "wav_match_flag": "N",
    }
    return {**usual, **changes}


USUAL = {Service.YELLOW: trip, Service.GREEN: trip, Service.FHV: hired, Service.FHVHV: high_volume}
"""What makes a trip of a service that breaks no rule."""


def trips(count: int, **changes: Any) -> list[dict[str, Any]]:
    """Return trips that differ in their times, a minute apart."""
    start = trip()["pickup_datetime"]
    return [
        trip(**{
            "pickup_datetime": start + timedelta(minutes=number),
            "dropoff_datetime": start + timedelta(minutes=number + 10),
            **changes,
        })
        for number in range(count)
    ]  # fmt: skip


def on(engine: Engine, frame: pl.LazyFrame) -> Frame:
    """Return a frame as one of some engine's."""
    if isinstance(engine, PolarsEngine):
        return nw.from_native(frame)
    found: Frame = nw.from_native(engine.session().createDataFrame(frame.collect().to_arrow()))  # type: ignore[attr-defined]
    return found


def collected(frame: Frame) -> pl.DataFrame:
    """Return a frame's rows, whichever engine computes them."""
    found: pl.DataFrame = frame.collect(backend="polars").to_native()
    return found


def bronze(service: Service, rows: Sequence[dict[str, Any]], month: Month = MONTH, engine: Engine = POLARS) -> Frame:
    """Return trips as the month's bronze rows; `source_row` counts them, columns that aren't given are null."""
    contract = BRONZE_TRIPS[service]
    about = {
        "source_file": f"{service}.parquet",
        "source_fingerprint": "0" * 64,
        "ingested_at": datetime(2024, 3, 1),  # noqa: DTZ001
        "source_month": month.first_day,
    }
    full = [{**about, "source_row": number, **row} for number, row in enumerate(rows, start=1)]
    return on(engine, pl.LazyFrame(full, schema=_polars_schema(contract)))


def zones(engine: Engine = POLARS) -> Frame:
    """Return a lookup of zones 1 to 265; tests ask for 132, JFK in Queens, and 161, Midtown in Manhattan."""
    names = {132: ("Queens", "JFK Airport"), 161: ("Manhattan", "Midtown Center"), 264: ("Unknown", "N/A")}
    rows = [(zone, *names.get(zone, ("Brooklyn", f"Zone {zone}"))) for zone in range(1, 266)]
    schema = {"location_id": pl.Int32, "borough": pl.String, "zone": pl.String}
    return on(engine, pl.LazyFrame(rows, schema=schema, orient="row"))


def enriched(service: Service, rows: Sequence[dict[str, Any]], month: Month = MONTH, engine: Engine = POLARS) -> Frame:
    """Return trips with all that silver and its rules need."""
    return transformed(service, bronze(service, rows, month, engine), zones(engine))


def transformed(service: Service, stored: Frame, lookup: Frame) -> Frame:
    """Do to bronze rows what the service's silver asset does before they are judged."""
    if service is Service.FHV:
        return fhv_trips.with_bases(for_hire_trips.enrich(stored, lookup))
    if service is Service.FHVHV:
        return fhvhv_trips.with_company_and_total(for_hire_trips.enrich(stored, lookup))
    return enrich(stored, lookup, parts=(*PARTS_OF_TOTAL, PART_OF_ITS_OWN[service]))


def judged(service: Service, rows: Sequence[dict[str, Any]], month: Month = MONTH, engine: Engine = POLARS) -> Verdict:
    """Return the verdict of the service's silver contract on some trips."""
    return judge(SILVER_TRIPS[service], enriched(service, rows, month, engine), row_id="source_row")


def in_file_columns(service: Service, rows: Sequence[dict[str, Any]]) -> pl.DataFrame:
    """Return trips under the column names of the service's files."""
    names = dict(_IN_FILES)
    if service in METERED:
        initial = "t" if service is Service.YELLOW else "l"
        names |= {end: f"{initial}pep_{end}" for end in ("pickup_datetime", "dropoff_datetime")}
    return pl.DataFrame(
        [{names.get(name, name): value for name, value in row.items()} for row in rows], infer_schema_length=None
    )


def settled(path: Path) -> Path:
    """Have a file last written long ago: it is then used, even if it looks cut off."""
    os.utime(path, (1_600_000_000, 1_600_000_000))
    return path


def month_job_on(
    landing_root: str, lake_root: str, engine: Literal["polars", "spark"], dagster_home: str
) -> dg.JobDefinition:
    """Return the job of a month on some landing and lake, computed by an engine."""
    settings = Settings(landing_root=landing_root, lake_root=lake_root, engine=engine, DAGSTER_HOME=dagster_home)  # type: ignore[call-arg]
    return build_defs(settings).resolve_job_def("tlc_month")


@dataclass(frozen=True)
class Workspace:
    """A landing, a lake and an instance of a test's own, and what one does with them."""

    settings: Settings
    instance: dg.DagsterInstance

    @classmethod
    def below(
        cls, folder: Path, instance: dg.DagsterInstance, engine: Literal["polars", "spark"] = "polars"
    ) -> Workspace:
        """Make empty ones below a folder, for runs on an engine."""
        (folder / "landing").mkdir()
        roots = {"landing_root": str(folder / "landing"), "lake_root": str(folder / "lake")}
        settings = Settings(**roots, engine=engine, DAGSTER_HOME=str(folder / "dagster"))  # type: ignore[arg-type]
        return cls(settings, instance)

    @property
    def landing(self) -> Path:
        """The landing's folder."""
        return Path(self.settings.landing_root)

    @property
    def lake(self) -> Lake:
        """The lake, to look into."""
        return lake_of(self.settings)

    def land(self, service: Service, rows: Sequence[dict[str, Any]], month: Month = MONTH) -> Path:
        """Write trips as the service's Parquet file of a month."""
        path = self.landing / f"{service}_tripdata_{month}.parquet"
        in_file_columns(service, rows).write_parquet(path)
        return path

    @property
    def in_landing(self) -> InLanding:
        """What stands in landing now."""
        return InLanding.of(TLC, landing_of(self.settings), self.instance)

    @property
    def job(self) -> ReconstructableJob:
        """The job of a month, for runs that Dagster can go on with where they failed."""
        return dg.build_reconstructable_job(
            __name__,
            month_job_on.__name__,
            (self.settings.landing_root, self.settings.lake_root, self.settings.engine, self.settings.dagster_home),
        )

    def run(self, *services: Service, month: Month = MONTH) -> dg.JobExecutionResult:
        """Run a month from landing to gold, by default of yellow and green; failures are in the result."""
        # As Dagster runs it: execute_in_process has an executor of its own.
        return dg.execute_job(
            self.job,
            self.instance,
            tags={"dagster/partition": str(month)},
            asset_selection=keys_for(services or METERED),
        )

    def run_bronze(self, service: Service, month: Month = MONTH) -> dg.ExecuteInProcessResult:
        """Run a service's bronze table of a month alone, with the checks of it."""
        return self.run_alone(BRONZE_TRIPS[service], month)

    def run_alone(self, contract: type[Contract], month: Month = MONTH) -> dg.ExecuteInProcessResult:
        """Run a table of a month alone, with the checks of it."""
        return (
            build_defs(self.settings)
            .resolve_job_def("tlc_month")
            .execute_in_process(
                instance=self.instance,
                partition_key=str(month),
                asset_selection=[asset_key(contract)],
                raise_on_error=False,
            )
        )

    def run_bronze_checks(self, service: Service, month: Month = MONTH) -> dg.ExecuteInProcessResult:
        """Run the checks of a service's stored bronze month alone."""
        job, table = build_defs(self.settings).resolve_job_def("tlc_month"), asset_key(BRONZE_TRIPS[service])
        keys = {key for key in job.asset_layer.asset_graph.asset_check_keys if key.asset_key == table}
        return job.get_subset(asset_selection=set(), asset_check_selection=keys).execute_in_process(
            instance=self.instance, tags={"dagster/partition": str(month)}, raise_on_error=False
        )

    def table(self, contract: type[Contract]) -> pl.DataFrame:
        """Return all that a table holds, sorted."""
        rows = collected(self.lake.embedded().read(contract))
        return rows.sort([name for name, dtype in rows.schema.items() if dtype != pl.List(pl.String)])

    def failures(self, result: dg.ExecutionResult) -> list[str]:
        """Return what a user reads of the steps that failed."""
        found = []
        for event in result.all_events:
            if event.is_step_failure:
                data = event.step_failure_data
                found.append(data.user_failure_data.description if data.user_failure_data else data.error.message)
        return [str(text) for text in found]


def _polars_schema(contract: type[Contract]) -> dict[str, pl.DataType]:
    frame = nw.from_native(pl.DataFrame()).lazy()
    typed = frame.with_columns(*(nw.lit(None).cast(c.dtype.narwhals).alias(c.name) for c in contract.columns()))
    return dict(typed.to_native().collect_schema())
