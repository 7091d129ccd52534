"""Object stores: one way to open a folder or a bucket, with the options that delta-rs and Polars take as well."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from obstore.fsspec import FsspecStore
from obstore.store import LocalStore, ObjectStore, from_url

# Renaming is delta-rs' own affair; and obstore refuses what a URL says, too: the bucket, and after an @ the account.
_NOT_OBSTORES: Final = {"bucket", "container_name", "allow_unsafe_rename"}
_OF_THE_CLIENT: Final = {"allow_http"}


def open_store(root: str, options: Mapping[str, str], *, make: bool = False) -> ObjectStore:
    """Open a local path or a URL (s3://, az://, gs://); `make` a local folder that isn't there.

    Raises an OSError or obstore's own error if that can't be.
    """
    store: ObjectStore = from_url(root, **_named(root, options)) if "://" in root else LocalStore(root, mkdir=make)
    return store


def file_system(root: str, options: Mapping[str, str]) -> FsspecStore:
    """Return the store of a URL in the form that DuckDB takes. It is asked for files by their whole URLs."""
    # Untyped for the sake of its overloads; and not kept by fsspec for the next who asks with equal options.
    make: Any = FsspecStore
    store: FsspecStore = make(root.partition("://")[0], skip_instance_cache=True, **_named(root, options))
    return store


def _named(root: str, options: Mapping[str, str]) -> dict[str, Any]:
    """Return options as obstore takes them."""
    refused = {*_NOT_OBSTORES, "account_name"} if "@" in root else _NOT_OBSTORES
    # Untyped, as obstore's overloads tell providers apart by the names, which are known at run time only.
    named: dict[str, Any] = {name: value for name, value in options.items() if name not in refused}
    client = {name: named.pop(name) for name in _OF_THE_CLIENT & named.keys()}
    return {**named, "client_options": client}
