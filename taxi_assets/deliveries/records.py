"""What Dagster's instance has on record of deliveries: which files each came from, and how its runs ended.

Each question is asked once for all periods. What stands in landing is landed.py's to say, what stands in the lake the
Delta logs'.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, Final

import dagster as dg
from dagster._core.storage.tags import ROOT_RUN_ID_TAG

from taxi_assets.catalog import Catalog
from taxi_assets.contracts import Contract
from taxi_assets.deliveries.landed import Delivery, identity_of
from taxi_assets.lake.metadata import SOURCE_FILES, SOURCE_IDENTITY, asset_key
from taxi_assets.lake.restored import RESTORED_VERSION

_NOT_DONE: Final = (dg.DagsterRunStatus.FAILURE, dg.DagsterRunStatus.CANCELED)


def sources_of(instance: dg.DagsterInstance, catalog: Catalog, wanted: Collection[Delivery]) -> dict[Delivery, str]:
    """Look up which files each stored bronze period came from, as `identity_of` has them."""
    sources: dict[Delivery, str] = {}
    for feed, tables in catalog.load().feeds.items():
        places = _last_stored(instance, tables.bronze, feed, wanted)
        if not places:
            continue
        of_periods = dg.AssetRecordsFilter(asset_key(tables.bronze), storage_ids=list(places.values()))
        for record in instance.fetch_materializations(of_periods, limit=len(places)).records:
            identity = record.asset_materialization and _identity_in(record.asset_materialization.metadata)
            if identity and record.partition_key:
                sources[feed, catalog.calendar.period(record.partition_key)] = identity
    return sources


def sources_of_silver(
    instance: dg.DagsterInstance, catalog: Catalog, wanted: Collection[Delivery]
) -> dict[Delivery, str]:
    """Look up which files each stored silver period came from.

    Unknown if only bronze was stored again since, or silver was restored to what an earlier bronze may have been.
    """
    current: set[Delivery] = set()
    for feed, tables in catalog.load().feeds.items():
        silver = _last_stored(instance, tables.silver, feed, wanted)
        bronze = _last_stored(instance, tables.bronze, feed, wanted)
        of_bronze = {key: place for key, place in silver.items() if place >= bronze.get(key, place)}
        restored = _restored(instance, tables.silver, of_bronze.values())
        current |= {(feed, catalog.calendar.period(key)) for key in of_bronze.keys() - restored}
    return {
        delivery: source for delivery, source in sources_of(instance, catalog, wanted).items() if delivery in current
    }


def _identity_in(metadata: Mapping[str, Any]) -> str:
    """Return which files a materialization is recorded to have come from; an empty text, if none are."""
    if SOURCE_IDENTITY in metadata:
        return str(metadata[SOURCE_IDENTITY].value)
    return identity_of(map(str, metadata[SOURCE_FILES].value)) if SOURCE_FILES in metadata else ""


def not_made_good(instance: dg.DagsterInstance, run_ids: Collection[str]) -> set[str]:
    """Return those of some runs that failed or were cancelled, unless Dagster's re-execution of it succeeded since."""
    if not run_ids:
        return set()
    failed = instance.get_runs(dg.RunsFilter(run_ids=list(run_ids), statuses=list(_NOT_DONE)))
    if not failed:
        return set()
    roots = {run.run_id: run.root_run_id or run.run_id for run in failed}
    again = instance.get_runs(dg.RunsFilter(tags={ROOT_RUN_ID_TAG: sorted(set(roots.values()))}))
    # The newest come first, and the last to be put in stays.
    newest = {run.tags[ROOT_RUN_ID_TAG]: run.status for run in reversed(again)}
    return {run_id for run_id, root in roots.items() if newest.get(root) is not dg.DagsterRunStatus.SUCCESS}


def runs_of_checks(instance: dg.DagsterInstance, run_ids: Collection[str]) -> set[str]:
    """Return those of some runs that were to make nothing: runs of checks alone."""
    found = instance.get_runs(dg.RunsFilter(run_ids=list(run_ids))) if run_ids else []
    # A run of a whole job has no selection of assets; one of none of them has an empty one.
    none = [run for run in found if run.asset_selection is not None or run.asset_check_selection]
    return {run.run_id for run in none if not run.asset_selection}


def last_to_make(instance: dg.DagsterInstance, table: dg.AssetKey, partition_key: str) -> str | None:
    """Return the last run that was to make a table's partition; None if none was."""
    # No public counterpart to this question; test_upstream.py pins the answer.
    planned = instance.event_log_storage.get_latest_planned_materialization_info(table, partition_key)
    return planned.run_id if planned else None


def done_steps(instance: dg.DagsterInstance, run_ids: Collection[str]) -> dict[str, set[str]]:
    """Return the steps of some runs that succeeded, by the run's id."""
    success = dg.DagsterEventType.STEP_SUCCESS
    return {
        run_id: {
            str(record.event_log_entry.get_dagster_event().step_key)
            for record in instance.get_records_for_run(run_id, of_type=success).records
        }
        for run_id in run_ids
    }


def _restored(instance: dg.DagsterInstance, contract: type[Contract], places: Collection[int]) -> set[str]:
    """Return the partition keys of those of some materializations that restoring a table has recorded."""
    if not places:
        return set()
    of_periods = dg.AssetRecordsFilter(asset_key(contract), storage_ids=list(places))
    records = instance.fetch_materializations(of_periods, limit=len(places)).records
    return {
        str(record.partition_key)
        for record in records
        if record.asset_materialization and RESTORED_VERSION in record.asset_materialization.metadata
    }


def _last_stored(
    instance: dg.DagsterInstance, contract: type[Contract], feed: str, wanted: Collection[Delivery]
) -> Mapping[str, int]:
    """Return where in the event log the last materializations of a feed's periods stand, by partition key."""
    keys = {str(period) for owner, period in wanted if owner == feed}
    if not keys:
        # Asked of no partition, Dagster answers for all.
        return {}
    return instance.get_latest_storage_id_by_partition(
        asset_key(contract), dg.DagsterEventType.ASSET_MATERIALIZATION, keys
    )
