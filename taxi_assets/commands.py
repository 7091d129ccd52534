"""What to type to have a month run, for whoever tells a user what to do: the right catalog, and just the services."""

from __future__ import annotations

from collections.abc import Collection

from taxi_assets.catalogs import CATALOGS, all_tables
from taxi_assets.vocabulary import Service


def to_materialize(month: str, tables: Collection[str] | None = None) -> list[str]:
    """Return the commands that make a month of some tables, or of all, one a catalog; none for what is no table.

    A table that services share doesn't say for which of them it is to be made; the others beside it do.
    """
    services_of: dict[str, set[str]] = {}
    for asset in all_tables():
        for key, tags in asset.tags_by_key.items():
            if tables is None or "/".join(key.path) in tables:
                services_of.setdefault(tags["catalog"], set()).add(tags.get("service", ""))
    return [_command(month, catalog, services) for catalog, services in services_of.items()]


def _command(month: str, catalog: str, services: Collection[str]) -> str:
    options = [] if catalog == CATALOGS[0].name else [f"--catalog {catalog}"]
    named = [service for service in Service if service in services]
    if len(named) < len(Service):
        options += [f"--service {service}" for service in named]
    return " ".join(["taxi-assets materialize", *options, month])
