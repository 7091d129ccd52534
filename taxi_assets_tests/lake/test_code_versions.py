"""Code versions: that they change with the sources that decide a table's values, and with no others."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from taxi_assets.lake import code_versions
from taxi_assets.lake.code_versions import code_version
from taxi_assets.tlc.catalog import CONTENTS

pytestmark = pytest.mark.fast


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A package of tables: gold reads silver's key, report its module; `other` stands apart."""
    sources = {
        "__init__": "",
        "gold": "from versions_test.silver import KEY\nfrom versions_test.engines import run\n",
        "report": "from versions_test import silver as trips\n",
        "silver": "from __future__ import annotations\nfrom versions_test.words import WORDS\nKEY = 1\n",
        "words": "WORDS = {}\n",
        "other": "KEY = 2\n",
        "engines": "def run(): ...\n",
    }
    folder = tmp_path / "versions_test"
    folder.mkdir()
    for name, source in sources.items():
        (folder / f"{name}.py").write_text(source)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(code_versions, "_PACKAGE", "versions_test")
    code_version.cache_clear()
    yield folder
    code_version.cache_clear()
    for name in [name for name in sys.modules if name.split(".")[0] == "versions_test"]:
        del sys.modules[name]


def versions() -> dict[str, str]:
    code_version.cache_clear()
    return {name: code_version(f"versions_test.{name}") for name in ("gold", "silver", "report", "other")}


@pytest.mark.parametrize(
    ("changed", "tables"),
    [
        ("gold", {"gold"}),
        ("silver", {"gold", "silver", "report"}),
        ("words", {"gold", "silver", "report"}),
        ("other", {"other"}),
        ("engines", set()),
    ],
)
def test_a_changed_source_changes_the_versions_of_what_builds_on_it(
    package: Path, changed: str, tables: set[str]
) -> None:
    before = versions()
    path = package / f"{changed}.py"
    path.write_text(path.read_text() + "LIMIT = 3\n")
    after = versions()
    assert {name for name in before if before[name] != after[name]} == tables


def test_changed_data_changes_the_versions_of_the_tables_in_its_folder(package: Path) -> None:
    (package / "names").mkdir()
    data = package / "names" / "columns.csv"
    data.write_text("a,b\n")
    before = versions()
    data.write_text("a,c\n")
    after = versions()
    assert {name for name in before if before[name] != after[name]} == set(before)


@pytest.mark.usefixtures("package")
def test_an_unchanged_source_keeps_its_version() -> None:
    assert versions() == versions()


def test_every_table_has_a_version_and_tables_of_different_files_have_different_ones() -> None:
    found = {asset.node_def.name: set(asset.code_versions_by_key.values()) for asset in CONTENTS.tables}
    assert all(len(one) == 1 and None not in one for one in found.values())
    assert len(set.union(*found.values())) == len(CONTENTS.tables)
