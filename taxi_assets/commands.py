"""What to type to have a period run, for whoever tells a user what to do: the right catalog, and just the feeds."""

from __future__ import annotations

from collections.abc import Collection

import dagster as dg

from taxi_assets.catalog import Catalog
from taxi_assets.catalogs import all_catalogs


def to_materialize(periods: str, tables: Collection[str] | None = None) -> list[str]:
    """Return the commands that make a period of some tables, or of all, one a catalog; none for what is no table.

    A table that feeds share doesn't say for which of them it is to be made; the others beside it do.
    """
    first, *_ = all_catalogs()
    commands = []
    for catalog in all_catalogs():
        contents = catalog.load()
        keys = [key for asset in contents.tables for key in asset.keys]
        meant = [key for key in keys if tables is None or "/".join(key.path) in tables]
        if meant:
            options = [] if catalog is first else [f"--catalog {catalog.name}"]
            commands.append(" ".join(["taxi-assets materialize", *options, *_feeds(catalog, meant), periods]))
    return commands


def _feeds(catalog: Catalog, tables: Collection[dg.AssetKey]) -> list[str]:
    """Name the feeds that some tables are for alone; none, if that is all of them or none."""
    contents, every = catalog.load(), catalog.feed_names
    own = {feed for table in tables if len(of := contents.feeds_of(table)) == 1 for feed in of}
    return [f"--{catalog.feed_word} {feed}" for feed in every if feed in own] if len(own) < len(every) else []
