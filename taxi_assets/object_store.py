"""Object stores: one way to open a folder or a bucket, with the options that delta-rs and Polars take as well."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from obstore.store import LocalStore, ObjectStore, from_url


def open_store(root: str, options: Mapping[str, str], *, make: bool = False) -> ObjectStore:
    """Open a local path or a URL (s3://, az://, gs://); `make` a local folder that isn't there.

    Raises an OSError or obstore's own error if that can't be.
    """
    # obstore's overloads tell providers apart by the names of options, which are known at run time only.
    named: dict[str, Any] = dict(options)
    store: ObjectStore = from_url(root, **named) if "://" in root else LocalStore(root, mkdir=make)
    return store
