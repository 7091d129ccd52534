"""Jobs: what is run for a month as a whole, or for the lake. Which assets there are is for their catalogs to say."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import dagster as dg

from taxi_assets.catalogs import contracts
from taxi_assets.lake.maintenance import maintenance_op
from taxi_assets.nyctaxi import catalog as nyctaxi
from taxi_assets.tlc import catalog as tlc
from taxi_assets.vocabulary import Service

MAINTENANCE: Final = "lake_maintenance"
ENGINE: Final = "taxi_assets/engine"
"""Tag that names what computes a run, for the queue to limit the runs of each engine."""


def jobs(engine: str) -> list[dg.UnresolvedAssetJobDefinition]:
    """Return the job of a whole month of each catalog, and for TLC's one per service: its own tables and the shared."""
    whole = "from landed file to gold, with all checks."
    return [
        _month_job(tlc.MONTH_JOB, tlc.keys_for(list(Service)), engine, f"A month of all services, {whole}"),
        *(_month_job(f"tlc_{one}", tlc.keys_for([one]), engine, f"A month of {one} trips, {whole}") for one in Service),
        _month_job(nyctaxi.MONTH_JOB, nyctaxi.all_keys(), engine, f"A month of the star of trips, {whole}"),
    ]


def maintenance_job() -> dg.JobDefinition:
    """Return the job that maintains every table, a step each: where one fails, the others are done all the same."""
    steps = [maintenance_op(contract) for contract in contracts()]

    @dg.job(
        name=MAINTENANCE,
        description=(
            "Of each table: makes small files one, deletes those that nobody can need any more, checkpoints and cleans "
            "the log. What was done is the latest observation of the table's asset."
        ),
        executor_def=dg.in_process_executor,
    )
    def maintenance() -> None:
        for step in steps:
            step()

    return maintenance


def _month_job(
    name: str, keys: Sequence[dg.AssetKey], engine: str, description: str
) -> dg.UnresolvedAssetJobDefinition:
    return dg.define_asset_job(
        name,
        selection=dg.AssetSelection.assets(*keys),
        description=description,
        tags={ENGINE: engine},
        # A process per step costs about 1.5 s each; months run side by side as runs instead.
        executor_def=dg.in_process_executor,
    )
