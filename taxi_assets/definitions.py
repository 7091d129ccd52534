"""The code location: everything that Dagster is told, in one place. What each thing is stands in its own file."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import dagster as dg

from taxi_assets.alerts.sensor import alerts_sensor
from taxi_assets.catalogs import all_catalogs, catalog_named, contracts
from taxi_assets.deliveries.sensor import landing_sensor
from taxi_assets.deliveries.status_asset import nothing_late, status_asset
from taxi_assets.jobs import EXECUTOR, jobs, maintenance_job
from taxi_assets.places import landing_of
from taxi_assets.resources import resources_of
from taxi_assets.runs import RUN_LOG, run_log
from taxi_assets.schedules import schedules
from taxi_assets.settings import Settings


def build_defs(settings: Settings, resources: Mapping[str, Any] | None = None) -> dg.Definitions:
    """Return all definitions, on the landing and the lake that the settings name; some `resources` may be replaced."""
    landing, catalogs = landing_of(settings), all_catalogs()
    contents = [catalog.load() for catalog in catalogs]
    return dg.Definitions(
        assets=[*(table for one in contents for table in one.tables), *map(status_asset, catalogs)],
        asset_checks=[*(check for one in contents for check in one.checks(landing)), *map(nothing_late, catalogs)],
        jobs=[*(job for catalog in catalogs for job in jobs(catalog, settings.engine)), maintenance_job(contracts())],
        schedules=schedules(),
        sensors=[*map(landing_sensor, catalogs), alerts_sensor],
        resources={**resources_of(settings), **(resources or {})},
        executor=EXECUTOR,
        loggers={RUN_LOG: run_log, "console": dg.colored_console_logger},
    )


defs = build_defs(Settings.load())


def period_job(catalog: str) -> dg.JobDefinition:
    """Return a catalog's job of a whole period, for runs that don't start from the UI."""
    return defs.resolve_job_def(catalog_named(catalog).period_job)
