"""Jobs: what is run for a period as a whole, or for the lake. Which assets there are is for their catalogs to say."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

import dagster as dg

from taxi_assets.catalog import Catalog
from taxi_assets.contracts import Contract
from taxi_assets.instance import HIDDEN
from taxi_assets.lake.maintenance import maintenance_op

MAINTENANCE: Final = "lake_maintenance"
ENGINE: Final = f"{HIDDEN}engine"
"""Tag that names what computes a run, for the queue to limit the runs of each engine."""
EXECUTOR: Final = dg.in_process_executor.configured(
    {"step_dependency_config": {"require_upstream_step_success": False}}, name="in_process"
)
"""Runs the steps of a run in its process; one that fails keeps only those from running that it has handed nothing over.

A process per step would cost about 1.5 s each; partitions run side by side as runs instead.
"""


def jobs(catalog: Catalog, engine: str) -> list[dg.UnresolvedAssetJobDefinition]:
    """Return the jobs of a catalog: of a whole period, and of a period of each feed."""
    contents, word = catalog.load(), catalog.calendar.kind.word
    return [
        dg.define_asset_job(
            name,
            selection=dg.AssetSelection.assets(*contents.keys_for(feeds)),
            description=f"A {word} of {_named(catalog, feeds)}, from landed file to gold, with all checks.",
            tags={ENGINE: engine},
            executor_def=EXECUTOR,
        )
        for name, feeds in catalog.jobs.items()
    ]


def maintenance_job(contracts: Iterable[type[Contract]]) -> dg.JobDefinition:
    """Return the job that maintains every table, a step each: where one fails, the others are done all the same."""
    steps = [maintenance_op(contract) for contract in contracts]

    @dg.job(
        name=MAINTENANCE,
        description=(
            "Of each table: makes small files one, deletes those that nobody can need any more, checkpoints and cleans "
            "the log. What was done is the latest observation of the table's asset."
        ),
        executor_def=EXECUTOR,
    )
    def maintenance() -> None:
        for step in steps:
            step()

    return maintenance


def _named(catalog: Catalog, feeds: Sequence[str]) -> str:
    return f"all {catalog.feed_word}s" if len(feeds) == len(catalog.feeds) > 1 else ", ".join(feeds)
