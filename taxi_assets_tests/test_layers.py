"""Claims about the code itself: which folder may import and name what, and what importing the package costs.

Read from the sources, so that a violation is found where it stands, by its file and line.
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

import taxi_assets
from taxi_assets.catalogs import CATALOGS

pytestmark = pytest.mark.fast

PACKAGE = "taxi_assets"
ROOT = Path(taxi_assets.__file__).parent
MECHANISMS = ("alerts", "contracts", "deliveries", "engines", "lake")
LAYERS = ("bronze", "silver", "gold")
ABOVE_CATALOGS = ("catalogs", "jobs", "definitions", "backfill", "settings", "cli")
OF_ALL_LAYERS = ("tlc.checks", "tlc.catalog", "tlc.fetch")
TABLES_OF_TLC = tuple(f"tlc.{layer}" for layer in LAYERS)
LONGEST_TABLE_FILE = 230

MODULES = sorted(ROOT.rglob("*.py"))
TABLE_FILES = [path for layer in LAYERS for path in sorted((ROOT / "tlc" / layer).glob("*.py"))]

ABOUT_TAXIS = re.compile(r"(?<![a-z])(fare|taxi(?![_-]assets|(?-i:_[A-Z]))|trip|borough|tlc)s?(?![a-z])", re.IGNORECASE)


def where(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


EACH_MODULE = pytest.mark.parametrize("path", MODULES, ids=where)


@cache
def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def imports(path: Path) -> Iterator[tuple[int, str]]:
    """Yield every module that a file imports, wherever in it, as line and name; `from a import b` gives a and a.b."""
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            module = "." * node.level + (node.module or "")
            yield node.lineno, module
            yield from ((node.lineno, f"{module}.{alias.name}") for alias in node.names)


def importing(path: Path, *forbidden: str) -> list[str]:
    """Return where a file imports one of some modules, or a module below one."""
    return [
        f"{where(path)}:{line} imports {name}"
        for line, name in imports(path)
        if any(name == module or name.startswith(f"{module}.") for module in forbidden)
    ]


def below(folder: str) -> list[Path]:
    return sorted((ROOT / folder).rglob("*.py"))


def test_there_is_something_to_look_at() -> None:
    assert all(below(folder) for folder in MECHANISMS)
    assert all(below(f"tlc/{layer}") for layer in LAYERS)


# --- mechanisms know nothing of taxis


@pytest.mark.parametrize("folder", MECHANISMS)
def test_mechanisms_import_nothing_of_a_catalog(folder: str) -> None:
    of_catalogs = [f"{PACKAGE}.{name}" for name in ("tlc", "nyctaxi", "transport")]

    assert [found for path in below(folder) for found in importing(path, *of_catalogs)] == []


@pytest.mark.parametrize("folder", MECHANISMS)
def test_mechanisms_have_no_word_for_what_taxis_do(folder: str) -> None:
    found = [
        f"{where(path)}:{number}: {line.strip()}"
        for path in below(folder)
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1)
        if ABOUT_TAXIS.search(line)
    ]

    assert found == []


@EACH_MODULE
def test_only_catalogs_and_samples_know_of_months_and_services(path: Path) -> None:
    catalogs = {one.name for one in CATALOGS}
    # `fetch` is a command of one catalog's alone.
    if path.relative_to(ROOT).parts[0] in {*catalogs, "sample"} or where(path) == "cli/landing.py":
        return
    named = [f"{where(path)}:{line}" for line, name in imports(path) if name.split(".")[-1] in {"Month", "Service"}]

    assert named == []


@pytest.mark.parametrize(
    "text", ["fare", "a trip", "trip_distance", "TLC's", "tlc_gold", "taxis", "Taxi zone", "pickup_borough"]
)
def test_the_words_that_are_looked_for_are_found(text: str) -> None:
    assert ABOUT_TAXIS.search(text)


@pytest.mark.parametrize(
    "text", ["taxi_assets.errors", "TaxiAssetsError", "TAXI_ENGINE", "strip()", "welfare", "description"]
)
def test_words_that_only_look_like_them_are_not(text: str) -> None:
    assert not ABOUT_TAXIS.search(text)


# --- imports point downwards


@pytest.mark.parametrize(
    ("folder", "above"),
    [
        ("contracts", ("engines", "lake", "landing", *ABOVE_CATALOGS)),
        ("engines", ("lake", *ABOVE_CATALOGS)),
        ("lake", ABOVE_CATALOGS),
        ("tlc/bronze", ("tlc.silver", "tlc.gold", *OF_ALL_LAYERS)),
        ("tlc/silver", ("tlc.gold", *OF_ALL_LAYERS)),
        ("tlc/gold", OF_ALL_LAYERS),
        ("tlc", ("nyctaxi", "transport", *ABOVE_CATALOGS)),
        ("nyctaxi", ("tlc", "transport", *ABOVE_CATALOGS)),
        ("deliveries", ("alerts", *ABOVE_CATALOGS)),
        ("alerts", ("definitions", "jobs", "cli")),
        ("sample", (*TABLES_OF_TLC, "lake", "engines", "tlc.fetch", "definitions", "cli")),
        ("tlc/fetch", ("lake", *TABLES_OF_TLC, *ABOVE_CATALOGS)),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_no_module_imports_what_stands_above_it(folder: str, above: tuple[str, ...]) -> None:
    forbidden = [f"{PACKAGE}.{name}" for name in above]

    assert [found for path in below(folder) for found in importing(path, *forbidden)] == []


@pytest.mark.parametrize("catalog", [one.name for one in CATALOGS])
def test_which_catalog_it_is_is_known_in_its_own_folder_alone(catalog: str) -> None:
    own, whole = set(below(catalog)), {f"{PACKAGE}.{catalog}", f"{PACKAGE}.{catalog}.catalog"}
    others = [path for path in MODULES if path not in own]
    named = [
        f"{where(path)}:{node.lineno}"
        for path in others
        for node in ast.walk(tree_of(path))
        if isinstance(node, ast.Constant) and node.value == catalog
    ]

    assert named == []
    assert {where(path) for path in others for _, name in imports(path) if name in whole} == {"catalogs.py"}


def test_vocabulary_calendars_and_errors_build_on_nothing_else() -> None:
    for name in ("tlc/vocabulary", "calendars", "errors"):
        allowed = {"", f"{PACKAGE}.errors", f"{PACKAGE}.calendars"}
        ours = {module for _, module in imports(ROOT / f"{name}.py") if module.startswith(PACKAGE)}
        assert {module for module in ours if not module.startswith(tuple(allowed - {""}))} == set(), name


@EACH_MODULE
def test_every_import_names_its_module_in_full(path: Path) -> None:
    assert [f"{line}: {name}" for line, name in imports(path) if name.startswith(".")] == []


# --- engines


@EACH_MODULE
def test_only_engines_and_the_sample_use_an_engines_own_api(path: Path) -> None:
    if path.relative_to(ROOT).parts[0] in {"engines", "sample"}:
        return
    found = importing(path, "polars", "pyspark", "delta")

    assert found == []


@pytest.mark.parametrize("layer", [f"tlc/{layer}" for layer in LAYERS])
def test_tables_are_written_in_narwhals_and_reach_delta_through_the_lake(layer: str) -> None:
    assert [
        found for path in below(layer) for found in importing(path, "deltalake", "obstore", "pyarrow", "pandera")
    ] == []


# --- what an import costs


def imported_by(module: str) -> set[str]:
    """Return the top-level packages that a fresh interpreter has loaded after importing a module."""
    code = f"import sys, {module}; print(*{{name.partition('.')[0] for name in sys.modules}})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT.parent)
    return set(done.stdout.split())


HEAVY = {"dagster", "polars", "pandera", "narwhals", "deltalake", "duckdb", "pyarrow", "pyspark", "requests", "apprise"}


@pytest.mark.parametrize("module", [PACKAGE, f"{PACKAGE}.cli"])
def test_the_package_and_its_command_line_import_nothing_heavy(module: str) -> None:
    loaded = imported_by(module)

    assert PACKAGE in loaded
    assert loaded & HEAVY == set()


# --- names, docstrings, sizes


@EACH_MODULE
def test_no_module_is_named_after_nothing(path: Path) -> None:
    assert path.stem not in {"utils", "util", "helpers", "helper", "common", "base", "misc"}
    assert path.parent.name not in {"utils", "util", "helpers", "helper", "common", "base", "misc"}


@EACH_MODULE
def test_every_module_opens_by_saying_what_belongs_in_it(path: Path) -> None:
    empty = not path.read_text(encoding="utf-8").strip()

    assert empty or ast.get_docstring(tree_of(path)), where(path)


@pytest.mark.parametrize("path", TABLE_FILES, ids=where)
def test_a_tables_file_can_be_read_at_one_sitting(path: Path) -> None:
    lines = path.read_text(encoding="utf-8").splitlines()
    if path.stem == "metered_trips":
        # Two tables' rules stand in it, once; each rule with its reason and source.
        assert len(lines) <= 2 * LONGEST_TABLE_FILE
    else:
        assert len(lines) <= LONGEST_TABLE_FILE


@pytest.mark.parametrize("layer", LAYERS)
@pytest.mark.parametrize("catalog", [one.name for one in CATALOGS])
def test_each_table_stands_in_a_file_of_its_name(catalog: str, layer: str) -> None:
    for path in below(f"{catalog}/{layer}"):
        for node in ast.walk(tree_of(path)):
            if isinstance(node, ast.ClassDef):
                tables = [
                    keyword.value.value
                    for keyword in node.keywords
                    if keyword.arg == "table" and isinstance(keyword.value, ast.Constant)
                ]
                for table in tables:
                    assert table.removesuffix("_quarantine") == f"{catalog}_{layer}/{path.stem}", where(path)
