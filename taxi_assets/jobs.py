"""Jobs: what is run for a month as a whole, or for the lake. Which assets there are is for their catalogs to say."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import dagster as dg

from taxi_assets.catalogs import CATALOGS, contracts
from taxi_assets.lake.maintenance import maintenance_op

MAINTENANCE: Final = "lake_maintenance"
ENGINE: Final = "taxi_assets/engine"
"""Tag that names what computes a run, for the queue to limit the runs of each engine."""


def jobs(engine: str) -> list[dg.UnresolvedAssetJobDefinition]:
    """Return the jobs of a whole month of each catalog."""
    return [_month_job(name, *job, engine) for catalog in CATALOGS for name, job in catalog.load().jobs.items()]


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


def _month_job(name: str, of: str, keys: Sequence[dg.AssetKey], engine: str) -> dg.UnresolvedAssetJobDefinition:
    return dg.define_asset_job(
        name,
        selection=dg.AssetSelection.assets(*keys),
        description=f"A month of {of}, from landed file to gold, with all checks.",
        tags={ENGINE: engine},
        # A process per step costs about 1.5 s each; months run side by side as runs instead.
        executor_def=dg.in_process_executor,
    )
