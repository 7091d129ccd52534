"""The checks of a catalog's tables, and the steps of a run that make a table or check it: what status looks up."""

from __future__ import annotations

from dataclasses import dataclass

import dagster as dg

from taxi_assets.catalog import Catalog
from taxi_assets.landing import Landing


@dataclass(frozen=True, slots=True)
class Steps:
    """The steps of a run that make a table, and all that make it or check what is stored of it."""

    making: frozenset[str]
    all: frozenset[str]


def check_keys(catalog: Catalog, landing: Landing) -> list[dg.AssetCheckKey]:
    """List every check there is: those of the stored tables, and the rules that come with the tables' assets."""
    contents = catalog.load()
    return sorted(key for one in (*contents.tables, *contents.checks(landing)) for key in one.check_keys)


def steps_of_tables(catalog: Catalog, landing: Landing) -> dict[dg.AssetKey, Steps]:
    """Return the steps of each table."""
    contents = catalog.load()
    making = {table: {asset.node_def.name} for asset in contents.tables for table in asset.keys}
    every = {table: set(names) for table, names in making.items()}
    for checks in contents.checks(landing):
        for key in checks.check_keys:
            every[key.asset_key].add(checks.node_def.name)
    return {table: Steps(frozenset(names), frozenset(every[table])) for table, names in making.items()}
