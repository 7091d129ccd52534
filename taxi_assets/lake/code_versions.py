"""Code versions: what Dagster compares to say that an asset's code has changed since a partition was made.

A version is a digest of the sources that decide an asset's values: its module, what that imports from this package, and
the data in the folders of both.
Mechanisms aside: a change there would mark every table. Where one changes what tables hold, say so in the release, and
materialize them again.
"""

from __future__ import annotations

import ast
import hashlib
import importlib.util
from functools import cache
from pathlib import Path
from typing import Final

_PACKAGE: Final = "taxi_assets"
_DATA: Final = (".csv", ".zip")
_MECHANISMS: Final = (
    "calendars", "catalog", "contracts", "deliveries", "engines", "errors", "lake", "landing", "settings",
)  # fmt: skip


@cache
def code_version(module: str) -> str:
    """Digest a module's source together with the sources it builds on."""
    digest = hashlib.sha256()
    sources = sorted(_sources(module, set()))
    for name in sources:
        digest.update(_source_of(name).encode())
    for path in sorted({path for name in sources for path in _data_beside(name)}):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:12]


def _sources(module: str, seen: set[str]) -> set[str]:
    if module in seen:
        return seen
    seen.add(module)
    for node in ast.walk(ast.parse(_source_of(module))):
        if isinstance(node, ast.ImportFrom) and node.module:
            # What is imported from a package may itself be a module.
            for name in (node.module, *(f"{node.module}.{alias.name}" for alias in node.names)):
                if _decides_values(name) and not _is_catalog(name) and _is_module(name):
                    _sources(name, seen)
    return seen


def _data_beside(module: str) -> list[Path]:
    """List what stands in a module's folder, and in those below that are no packages, and isn't Python's."""
    spec = importlib.util.find_spec(module)
    if spec is None or spec.origin is None:
        return []
    folder = Path(spec.origin).parent
    below = (each for each in folder.iterdir() if each.is_dir() and not (each / "__init__.py").exists())
    return [
        path
        for place in (folder, *(each for each in below if each.name != "__pycache__"))
        for path in place.iterdir()
        if path.is_file() and path.suffix in _DATA
    ]


def _decides_values(name: str) -> bool:
    package, _, rest = name.partition(".")
    return package == _PACKAGE and bool(rest) and rest.split(".")[0] not in _MECHANISMS


def _is_catalog(name: str) -> bool:
    """Whether it is a catalog's own package, which says what files there are, and so leads to all its tables."""
    spec = importlib.util.find_spec(name) if name.count(".") == 1 else None
    return spec is not None and spec.submodule_search_locations is not None


def _is_module(name: str) -> bool:
    try:
        return importlib.util.find_spec(name) is not None
    except ModuleNotFoundError:
        return False


def _source_of(module: str) -> str:
    spec = importlib.util.find_spec(module)
    if spec is None or spec.origin is None:
        return ""
    return Path(spec.origin).read_text(encoding="utf-8")
