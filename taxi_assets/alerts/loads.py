"""Loads that are going on: tables of which more periods are being stored, or are about to be.

A load is runs that are to end, and whatever is still to request runs: a backfill, a command, or the sensor of landing,
which requests a few periods a tick.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Final

import dagster as dg
from dagster._core.execution.backfill import BULK_ACTION_TERMINAL_STATUSES, BulkActionsFilter, BulkActionStatus
from dagster._core.scheduler.instigation import InstigatorStatus, SensorInstigatorData
from dagster._core.storage.dagster_run import NOT_FINISHED_STATUSES

from taxi_assets.catalog import FEEDS, Catalog
from taxi_assets.catalogs import all_catalogs
from taxi_assets.deliveries.landed import Delivery, identity
from taxi_assets.deliveries.plan import load
from taxi_assets.deliveries.status import InLanding
from taxi_assets.instance import BATCH, is_still_requesting
from taxi_assets.lake.metadata import asset_key

_NEWEST: Final = 100
"""So many runs are looked at for the commands that requested them: of one that is still at it there is a new one."""
_FORMER_FEEDS: Final = "services"
"""What the tag `FEEDS` of a run was called before."""


@dataclass(frozen=True, slots=True)
class Loads:
    """The loads at one moment: their tables, and by catalog which files its sensor has dealt with, if that is on.

    To be asked for before it is looked what is stored: what ends in between then counts as going on.
    """

    tables: Collection[str]
    seen: Mapping[str, Mapping[Delivery, str]]

    @classmethod
    def of(cls, instance: dg.DagsterInstance) -> Loads:
        """Look into an instance."""
        unfinished = instance.get_runs(dg.RunsFilter(statuses=list(NOT_FINISHED_STATUSES)))
        requested = [run for run in instance.get_runs(limit=_NEWEST) if BATCH in run.tags]
        requesting = {batch for batch in {run.tags[BATCH] for run in requested} if is_still_requesting(batch)}
        statuses = [status for status in BulkActionStatus if status not in BULK_ACTION_TERMINAL_STATUSES]
        tables: set[str] = set()
        for run in (*unfinished, *(run for run in requested if run.tags[BATCH] in requesting)):
            named = run.tags.get(FEEDS) or run.tags.get(_FORMER_FEEDS)
            tables |= _tables(run.job_name, named, run.asset_selection)
        for backfill in instance.get_backfills(BulkActionsFilter(statuses=statuses)):
            tables |= _tables(backfill.job_name or "", None, backfill.asset_selection)
        return cls(tables, _seen(instance))

    def going_on(self, found: InLanding, stored: Collection[Delivery]) -> set[str]:
        """Return the tables of a catalog whose load goes on, given what stands in landing, and what is stored."""
        catalog, seen = found.catalog, self.seen.get(found.catalog.name)
        silver = {feed: tables.silver.stored_as().key for feed, tables in catalog.load().feeds.items()}
        waiting = {
            delivery[0]
            for delivery, files in found.landed.files.items()
            if seen is not None
            and delivery not in stored
            and delivery not in found.blocked
            and (len(files) == 1 or catalog.feed(delivery[0]).periods_in is not None)
            and seen.get(delivery) != identity(files)
            and catalog.calendar.has(delivery[1])
        }
        return {table for feed, table in silver.items() if table in self.tables or feed in waiting}


def _tables(job: str, named: str | None, selected: Collection[dg.AssetKey] | None) -> set[str]:
    """Return the tables that a run's feeds are waited for in: by the assets that it is for, its tag, or its job."""
    tables = set()
    for catalog in all_catalogs():
        contents = catalog.load()
        for feed, of_feed in contents.feeds.items():
            keys = {asset_key(of_feed.bronze), asset_key(of_feed.silver)}
            if selected:
                is_for = not keys.isdisjoint(selected)
            else:
                is_for = feed in catalog.jobs.get(job, ()) and (not named or feed in named.split(","))
            if is_for:
                tables.add(of_feed.silver.stored_as().key)
    return tables


def _seen(instance: dg.DagsterInstance) -> dict[str, dict[Delivery, str]]:
    sensors: dict[str, Catalog] = {catalog.sensor: catalog for catalog in all_catalogs()}
    seen = {}
    # An instance that isn't to last keeps no sensors, and can't be asked for them.
    for state in instance.all_instigator_state() if instance.schedule_storage else ():
        data, catalog = state.instigator_data, sensors.get(state.instigator_name)
        is_on = state.status is not InstigatorStatus.STOPPED
        if catalog is not None and is_on and isinstance(data, SensorInstigatorData):
            seen[catalog.name] = {one: known.identity for one, known in load(catalog, data.cursor).items()}
    return seen
