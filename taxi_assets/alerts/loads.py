"""Loads that are going on: services of which more months are being stored, or are about to be.

A load is runs that are to end, and whatever is still to request runs: a backfill, a command, or the sensor of landing,
which requests a few months a tick.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Final

import dagster as dg
from dagster._core.execution.backfill import BULK_ACTION_TERMINAL_STATUSES, BulkActionsFilter, BulkActionStatus
from dagster._core.scheduler.instigation import InstigatorStatus, SensorInstigatorData
from dagster._core.storage.dagster_run import NOT_FINISHED_STATUSES

from taxi_assets.catalogs import CATALOGS
from taxi_assets.instance import BATCH, is_still_requesting
from taxi_assets.lake.metadata import asset_key
from taxi_assets.tlc.bronze.trips import BRONZE_TRIPS
from taxi_assets.tlc.partitions import MONTHS
from taxi_assets.tlc.sensor import load, tlc_landing
from taxi_assets.tlc.silver.trips import SILVER_TRIPS
from taxi_assets.tlc.trip_files import ServiceMonth, TripFiles
from taxi_assets.vocabulary import Service

_NEWEST: Final = 100
"""So many runs are looked at for the commands that requested them: of one that is still at it there is a new one."""


@dataclass(frozen=True, slots=True)
class Loads:
    """The loads at one moment: their services, and which files the sensor has dealt with; None while it is off.

    To be asked for before it is looked what is stored: what ends in between then counts as going on.
    """

    services: Collection[Service]
    seen: Mapping[ServiceMonth, str] | None

    @classmethod
    def of(cls, instance: dg.DagsterInstance) -> Loads:
        """Look into an instance."""
        unfinished = instance.get_runs(dg.RunsFilter(statuses=list(NOT_FINISHED_STATUSES)))
        requested = [run for run in instance.get_runs(limit=_NEWEST) if BATCH in run.tags]
        requesting = {batch for batch in {run.tags[BATCH] for run in requested} if is_still_requesting(batch)}
        statuses = [status for status in BulkActionStatus if status not in BULK_ACTION_TERMINAL_STATUSES]
        services: set[Service] = set()
        for run in (*unfinished, *(run for run in requested if run.tags[BATCH] in requesting)):
            services |= _services(run.job_name, run.tags.get("services"), run.asset_selection)
        for backfill in instance.get_backfills(BulkActionsFilter(statuses=statuses)):
            services |= _services(backfill.job_name or "", None, backfill.asset_selection)
        return cls(services, _seen(instance))

    def going_on(
        self, landed: TripFiles, stored: Collection[ServiceMonth], blocked: Collection[ServiceMonth]
    ) -> set[Service]:
        """Return the services whose load goes on, given what stands in landing, and in the lake."""
        waiting = {
            service
            for (service, month), files in landed.by_month.items()
            if self.seen is not None
            and (service, month) not in stored
            and (service, month) not in blocked
            and len(files) == 1
            and self.seen.get((service, month)) != files[0].file.version
            and MONTHS.has_partition_key(str(month))
        }
        return {*self.services, *waiting}


def _services(job: str, named: str | None, selected: Collection[dg.AssetKey] | None) -> set[Service]:
    """Return the services whose trips a run stores: by its tag, by the assets that it is for, or by its job."""
    if named:
        return {service for service in Service if service in named.split(",")}
    keys = selected or [
        key for catalog in CATALOGS for name, (_, keys) in catalog.load().jobs.items() if name == job for key in keys
    ]
    return {
        service
        for service in Service
        if asset_key(BRONZE_TRIPS[service]) in keys or asset_key(SILVER_TRIPS[service]) in keys
    }


def _seen(instance: dg.DagsterInstance) -> dict[ServiceMonth, str] | None:
    # An instance that isn't to last keeps no sensors, and can't be asked for them.
    for state in instance.all_instigator_state() if instance.schedule_storage else ():
        data = state.instigator_data
        is_on = state.status is not InstigatorStatus.STOPPED
        if state.instigator_name == tlc_landing.name and is_on and isinstance(data, SensorInstigatorData):
            return {service_month: known.identity for service_month, known in load(data.cursor).items()}
    return None
