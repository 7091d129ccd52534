"""The catalogs that there are, and their tables together: for who deals with every table, whatever it holds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from taxi_assets.catalog import Catalog
from taxi_assets.errors import UsageError
from taxi_assets.nyctaxi import NYCTAXI
from taxi_assets.tlc import TLC

if TYPE_CHECKING:
    import dagster as dg

    from taxi_assets.contracts import Contract

CATALOGS: Final = (TLC, NYCTAXI)
"""All of them; the first is the one that is meant where none is named."""


def all_catalogs() -> tuple[Catalog, ...]:
    """Return all catalogs."""
    return CATALOGS


def catalog_named(name: str) -> Catalog:
    """Return the catalog of a name. Raises UsageError if there is none."""
    for catalog in CATALOGS:
        if catalog.name == name:
            return catalog
    raise UsageError(f"There is no catalog '{name}'. There are: {', '.join(one.name for one in CATALOGS)}.")


def all_tables() -> list[dg.AssetsDefinition]:
    """Return the assets that are tables, or several, bronze first in each catalog."""
    return [table for catalog in CATALOGS for table in catalog.load().tables]


def groups() -> frozenset[str]:
    """Return the groups of these assets: one a layer of each catalog."""
    return frozenset(group for asset in all_tables() for group in asset.group_names_by_key.values())


def contracts() -> list[type[Contract]]:
    """Return the contracts of all tables, bronze first."""
    from taxi_assets.contracts import contract_of

    return [contract_of("/".join(key.path)) for asset in all_tables() for key in sorted(asset.keys)]
