"""Checks of what a period stores, run alone from the command line and recorded as those of any run.

No table is made anew, so the rules that judge a file's rows aren't asked: they are checked while their table is made.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import dagster as dg

from taxi_assets import definitions
from taxi_assets.calendars import Period
from taxi_assets.catalog import Catalog
from taxi_assets.check_history import CheckResult, latest_results
from taxi_assets.commands import to_materialize
from taxi_assets.contracts import Contract, contract_of
from taxi_assets.errors import TaxiAssetsError
from taxi_assets.instance import open_instance
from taxi_assets.lake.metadata import asset_key
from taxi_assets.lake.partitions import partition_of
from taxi_assets.places import lake_of, landing_of
from taxi_assets.runs import RunOutcome, run_partition
from taxi_assets.settings import Settings

# A run of checks alone is of the job that makes all; the list of runs says so of it.
_TAGS: Final = {"only": "checks"}


def run(
    catalog: Catalog, settings: Settings, period: Period, table: type[Contract] | None, on_step: Callable[[str], None]
) -> tuple[RunOutcome, list[CheckResult]]:
    """Run the checks of what a period stores, in a table or in all; return how the run ended, and the results.

    Raises UsageError for a period that has no partition, TaxiAssetsError if it isn't stored.
    """
    keys = _checks_of(catalog, settings, period, table)
    instance = open_instance(settings.dagster_home)
    job = dg.build_reconstructable_job(definitions.__name__, definitions.period_job.__name__, (catalog.name,))
    outcome = run_partition(job, str(period), (), instance, on_step, _TAGS, checks=keys)
    results = latest_results(instance, keys, str(period))
    return outcome, [result for result in results if result.run_id == outcome.run_id]


def _checks_of(
    catalog: Catalog, settings: Settings, period: Period, table: type[Contract] | None
) -> list[dg.AssetCheckKey]:
    contents, lake = catalog.load(), lake_of(settings)
    partitions = {
        contract_of("/".join(key.path)): asset.partitions_def
        for asset in contents.tables
        if asset.partitions_def is not None
        for key in asset.keys
    }
    catalog.calendar.require([period])
    # A table without partitions holds what any period has left there.
    by_period = [contract for contract in partitions if contract.stored_as().replaced_by]
    stored = {
        contract
        for contract in by_period
        if lake.row_count(contract, partition_of(contract, partitions[contract], str(period))) is not None
    }
    if stored:
        stored |= {one for one in partitions.keys() - set(by_period) if lake.location(one).version() is not None}
    chosen = stored if table is None else stored & {table}
    if not chosen:
        names = None if table is None else [table.stored_as().key]
        what = f"Nothing of {catalog.name}" if table is None else f"Nothing of {table.stored_as().sql_name}"
        again = " or ".join(to_materialize(str(period), names or [one.stored_as().key for one in by_period]))
        raise TaxiAssetsError(f"{what} is stored for {period}. Run it first: {again}")
    tables = {asset_key(contract) for contract in chosen}
    every = {key for check in contents.checks(landing_of(settings)) for key in check.check_keys}
    return sorted(key for key in every if key.asset_key in tables)
