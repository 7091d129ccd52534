"""Claims about the README: what it lists is what there is."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from typer.main import get_command

from taxi_assets import readme_tables
from taxi_assets.cli import app
from taxi_assets.contracts import Contract, Int32, column, rule
from taxi_assets.settings import (
    AlertSettings,
    FetchSettings,
    MaintenanceSettings,
    RouteSettings,
    Settings,
    SparkSettings,
    UiSettings,
)

pytestmark = pytest.mark.fast

README = (Path(__file__).parent.parent / "README.md").read_text(encoding="utf-8")


def test_its_tables_and_rules_are_those_of_the_contracts() -> None:
    assert readme_tables.written_into(README) == README, "run: python -m taxi_assets.readme_tables README.md"


def test_its_commands_are_those_of_the_command_line() -> None:
    (listed,) = re.findall(r"\(`taxi-assets --help`\): (.*?)\.", README)
    commands = get_command(app).commands  # type: ignore[attr-defined]
    assert set(re.findall(r"`([\w-]+)`", listed)) == set(commands)


def test_its_settings_are_those_that_there_are() -> None:
    listed = set(re.findall(r"^\| (`TAXI_[^|]*|`DAGSTER_HOME`) \|", README, flags=re.MULTILINE))
    names = {name.removesuffix("__*") for entry in listed for name in re.findall(r"[A-Z_*]+", entry)}
    fields = {"DAGSTER_HOME" if field == "dagster_home" else f"TAXI_{field.upper()}" for field in Settings.model_fields}
    of_spark = {f"TAXI_SPARK__{field.upper()}" for field in SparkSettings.model_fields}
    of_fetch = {f"TAXI_FETCH__{field.upper()}" for field in FetchSettings.model_fields}
    of_alerts = {f"TAXI_ALERTS__{field.upper()}" for field in AlertSettings.model_fields if field != "routes"}
    of_routes = {f"TAXI_ALERTS__ROUTES__NAME__{field.upper()}" for field in RouteSettings.model_fields}
    of_maintenance = {f"TAXI_MAINTENANCE__{field.upper()}" for field in MaintenanceSettings.model_fields}
    of_ui = {f"TAXI_UI__{field.upper()}" for field in UiSettings.model_fields}
    assert names == fields | of_spark | of_fetch | of_alerts | of_routes | of_maintenance | of_ui


def test_its_rule_is_one_that_works() -> None:
    (example,) = re.findall(r"```python\n(@rule.*?)```", README, flags=re.DOTALL)
    names: dict[str, object] = {"rule": rule}
    source = "import narwhals.stable.v1 as nw\n" + example
    exec(source, names)

    class Tolled(Contract, table="readme_test/tolled", replaced_by=("tolls_amount",)):
        """A table that has what the README's rule reads."""

        tolls_amount: Int32 = column("Tolls.")
        plausible_tolls_amount = names["plausible_tolls_amount"]

    (found,) = Tolled.rules()
    assert (found.name, found.says) == ("plausible_tolls_amount", "The tolls are at most 200 USD.")
