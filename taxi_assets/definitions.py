"""The code location: everything that Dagster is told, in one place. What each thing is stands in its own file."""

from __future__ import annotations

import dagster as dg

from taxi_assets.alerts.routes import alerts_of
from taxi_assets.alerts.sensor import alerts_sensor
from taxi_assets.catalogs import ASSETS, all_checks
from taxi_assets.jobs import jobs, maintenance_job
from taxi_assets.lake.assets import IO_MANAGER
from taxi_assets.lake.io_manager import DeltaLakeIOManager
from taxi_assets.lake.passed_by import PASSED_BY, PassedBy
from taxi_assets.nyctaxi.catalog import MONTH_JOB as NYCTAXI_MONTH
from taxi_assets.nyctaxi.sensor import nyctaxi_landing
from taxi_assets.places import lake_of, landing_of, maintenance_of
from taxi_assets.runs import RUN_LOG, run_log
from taxi_assets.schedules import schedules
from taxi_assets.settings import Settings
from taxi_assets.tlc.catalog import MONTH_JOB as TLC_MONTH
from taxi_assets.tlc.sensor import tlc_landing
from taxi_assets.tlc.status import landing_status


def build_defs(settings: Settings) -> dg.Definitions:
    """Return all definitions, on the landing and the lake that the settings name."""
    lake, landing, passed_by = lake_of(settings), landing_of(settings), PassedBy()
    return dg.Definitions(
        assets=[*ASSETS, landing_status],
        asset_checks=all_checks(landing),
        jobs=[*jobs(settings.engine), maintenance_job()],
        schedules=schedules(),
        sensors=[tlc_landing, nyctaxi_landing, alerts_sensor],
        resources={
            IO_MANAGER: DeltaLakeIOManager(lake, passed_by),
            PASSED_BY: passed_by,
            "lake": lake,
            "landing": landing,
            "alerts": alerts_of(settings.alerts),
            "maintenance": maintenance_of(settings),
        },
        executor=dg.in_process_executor,
        loggers={RUN_LOG: run_log, "console": dg.colored_console_logger},
    )


defs = build_defs(Settings.load())


def tlc_month() -> dg.JobDefinition:
    """Return the job of a whole month, for runs that don't start from the UI."""
    return defs.resolve_job_def(TLC_MONTH)


def nyctaxi_month() -> dg.JobDefinition:
    """Return the job of a whole month of that catalog, likewise."""
    return defs.resolve_job_def(NYCTAXI_MONTH)
