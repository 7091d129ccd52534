"""The code location: everything that Dagster is told, in one place. What each thing is stands in its own file."""

from __future__ import annotations

import dagster as dg

from taxi_assets.alerts.sensor import alerts_sensor
from taxi_assets.catalogs import CATALOGS, catalog_named
from taxi_assets.jobs import EXECUTOR, jobs, maintenance_job
from taxi_assets.places import landing_of
from taxi_assets.resources import resources_of
from taxi_assets.runs import RUN_LOG, run_log
from taxi_assets.schedules import schedules
from taxi_assets.settings import Settings


def build_defs(settings: Settings) -> dg.Definitions:
    """Return all definitions, on the landing and the lake that the settings name."""
    landing = landing_of(settings)
    contents = [catalog.load() for catalog in CATALOGS]
    return dg.Definitions(
        assets=[asset for one in contents for asset in (*one.tables, *one.others)],
        asset_checks=[check for one in contents for check in one.checks(landing)],
        jobs=[*jobs(settings.engine), maintenance_job()],
        schedules=schedules(),
        sensors=[*(sensor for one in contents for sensor in one.sensors), alerts_sensor],
        resources=resources_of(settings),
        executor=EXECUTOR,
        loggers={RUN_LOG: run_log, "console": dg.colored_console_logger},
    )


defs = build_defs(Settings.load())


def month_job(catalog: str) -> dg.JobDefinition:
    """Return a catalog's job of a whole month, for runs that don't start from the UI."""
    return defs.resolve_job_def(next(iter(catalog_named(catalog).load().jobs)))
