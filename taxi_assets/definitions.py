"""The code location: everything that Dagster is told, in one place. What each thing is stands in its own file."""

from __future__ import annotations

import dagster as dg

from taxi_assets.alerts.routes import alerts_of
from taxi_assets.alerts.sensor import alerts_sensor
from taxi_assets.catalogs import CATALOGS, catalog_named
from taxi_assets.jobs import EXECUTOR, jobs, maintenance_job
from taxi_assets.lake.assets import IO_MANAGER
from taxi_assets.lake.io_manager import DeltaLakeIOManager
from taxi_assets.lake.passed_by import PASSED_BY, PassedBy
from taxi_assets.places import lake_of, landing_of, maintenance_of
from taxi_assets.runs import RUN_LOG, run_log
from taxi_assets.schedules import schedules
from taxi_assets.settings import Settings


def build_defs(settings: Settings) -> dg.Definitions:
    """Return all definitions, on the landing and the lake that the settings name."""
    lake, landing, passed_by = lake_of(settings), landing_of(settings), PassedBy()
    contents = [catalog.load() for catalog in CATALOGS]
    return dg.Definitions(
        assets=[asset for one in contents for asset in (*one.tables, *one.others)],
        asset_checks=[check for one in contents for check in one.checks(landing)],
        jobs=[*jobs(settings.engine), maintenance_job()],
        schedules=schedules(),
        sensors=[*(sensor for one in contents for sensor in one.sensors), alerts_sensor],
        resources={
            IO_MANAGER: DeltaLakeIOManager(lake, passed_by),
            PASSED_BY: passed_by,
            "lake": lake,
            "landing": landing,
            "alerts": alerts_of(settings.alerts),
            "maintenance": maintenance_of(settings),
        },
        executor=EXECUTOR,
        loggers={RUN_LOG: run_log, "console": dg.colored_console_logger},
    )


defs = build_defs(Settings.load())


def month_job(catalog: str) -> dg.JobDefinition:
    """Return a catalog's job of a whole month, for runs that don't start from the UI."""
    return defs.resolve_job_def(next(iter(catalog_named(catalog).load().jobs)))
