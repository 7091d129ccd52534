"""What Dagster is told of a restored table, so that the UI and whoever reads its records see what is stored now.

A partition that was put back is recorded as the materialization that once stored it, with its data version, so that
what was made of the other rows since is out of date by Dagster's own reckoning.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import dagster as dg

from taxi_assets.contracts import Contract
from taxi_assets.lake.metadata import TABLE_VERSION, asset_key
from taxi_assets.lake.partitions import key_of
from taxi_assets.lake.versions import Restored

RESTORED_VERSION: Final = "restored_version"
"""Metadata of a materialization that was recorded by restoring: the version of the table that was put back."""

_MOST_LOOKED_AT: Final = 100
# They tell of the write, not of the rows.
_OF_THE_WRITE: Final = ("rows_added", "rows_gone", "rows_same", "bytes_written", "dagster/row_count")


def record(
    instance: dg.DagsterInstance,
    contract: type[Contract],
    definition: dg.PartitionsDefinition,
    number: int,
    restored: Restored,
) -> None:
    """Record what became of each partition, or of the table if it is none of partitions.

    Of a partition that holds what its last materialization stored, nothing needs to be said.
    """
    key = asset_key(contract)
    now = {RESTORED_VERSION: number, TABLE_VERSION: restored.version}
    if not contract.stored_as().replaced_by:
        says = f"Version {number} of the table was put back."
        instance.report_runless_asset_event(dg.AssetObservation(key, says, metadata=now))
    for texts in restored.changed if contract.stored_as().replaced_by else ():
        partition = key_of(definition, texts)
        stored = _materializations(instance, key, partition)
        made = next((one for one in stored if _version(one) <= number), None)
        if made is None or made is not stored[0]:
            instance.report_runless_asset_event(_as_now(key, partition, made, now))
    for texts in restored.gone if contract.stored_as().replaced_by else ():
        partition, says = key_of(definition, texts), f"No longer stored: version {number} of the table didn't hold it."
        instance.report_runless_asset_event(dg.AssetObservation(key, says, partition=partition, metadata=now))


def _as_now(
    key: dg.AssetKey, partition: str, made: dg.AssetMaterialization | None, now: Mapping[str, Any]
) -> dg.AssetMaterialization:
    kept = {} if made is None else {name: one for name, one in made.metadata.items() if name not in _OF_THE_WRITE}
    return dg.AssetMaterialization(
        key, partition=partition, metadata={**kept, **now}, tags=None if made is None else made.tags
    )


def _materializations(instance: dg.DagsterInstance, key: dg.AssetKey, partition: str) -> list[dg.AssetMaterialization]:
    """Return a partition's materializations, the newest first."""
    of_partition = dg.AssetRecordsFilter(key, asset_partitions=[partition])
    records = instance.fetch_materializations(of_partition, limit=_MOST_LOOKED_AT).records
    return [one.asset_materialization for one in records if one.asset_materialization is not None]


def _version(made: dg.AssetMaterialization) -> float:
    """Return which version of the table a materialization made; a later one than any if it doesn't say."""
    version = made.metadata.get(TABLE_VERSION)
    return float("inf") if version is None else int(str(version.value))
