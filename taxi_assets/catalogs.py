"""All catalogs together: for who deals with every table, whatever it holds."""

from __future__ import annotations

from typing import Final

import dagster as dg

from taxi_assets.contracts import Contract, contract_of
from taxi_assets.lake.metadata import asset_key
from taxi_assets.landing import Landing
from taxi_assets.nyctaxi import catalog as nyctaxi
from taxi_assets.nyctaxi import checks as nyctaxi_checks
from taxi_assets.tlc import catalog as tlc
from taxi_assets.tlc import checks as tlc_checks

ASSETS: Final[tuple[dg.AssetsDefinition, ...]] = (*tlc.ASSETS, *nyctaxi.ASSETS)

GROUPS: Final = frozenset(group for asset in ASSETS for group in asset.group_names_by_key.values())
"""The groups of these assets: one a layer of each catalog."""


def all_checks(landing: Landing) -> list[dg.AssetChecksDefinition]:
    """Make the checks of every stored table."""
    return [*tlc_checks.all_checks(landing), *nyctaxi_checks.all_checks(landing)]


def contracts() -> list[type[Contract]]:
    """Return the contracts of all tables, bronze first."""
    return [contract_of("/".join(key.path)) for asset in ASSETS for key in sorted(asset.keys)]


def partitions_of(contract: type[Contract]) -> dg.PartitionsDefinition:
    """Return the partitions of the asset that is a contract's table."""
    key = asset_key(contract)
    return next(asset.partitions_def for asset in ASSETS if key in asset.keys and asset.partitions_def is not None)
