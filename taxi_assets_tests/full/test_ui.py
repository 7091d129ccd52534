"""The UI as an engineer sees it, in a browser: the graph of assets, a table, a month and its checks."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator

import pytest

from taxi_assets.deliveries.status import State, meanings
from taxi_assets.tlc import TLC
from taxi_assets.tlc.catalog import CONTENTS
from taxi_assets.tlc.silver.green_trips import GreenTrips
from taxi_assets.tlc.vocabulary import Service
from taxi_assets_tests.full.browser import Ui, browsing
from taxi_assets_tests.full.conftest import REAL_MONTHS, SevenMonths
from taxi_assets_tests.full.processes import WEB_SERVER, serving
from taxi_assets_tests.scenario import keys_for

pytestmark = pytest.mark.full

_ALL_GROUPS = ",".join(f"global%40global%3Atlc_{layer}" for layer in ("bronze", "silver", "gold"))
_OBSERVE = """
import dagster as dg
from taxi_assets.definitions import defs
from taxi_assets_tests.scenario import STATUS
with dg.DagsterInstance.get() as instance:
    defs.resolve_implicit_global_asset_job_def().execute_in_process(instance=instance, asset_selection=[STATUS])
"""


@pytest.fixture(scope="module")
def ui(browser: str, seven_months: SevenMonths, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ui]:
    """Return a browser on the runs of the seven real months."""
    with (
        serving(seven_months.home, *WEB_SERVER) as server,
        browsing(browser, server, tmp_path_factory.mktemp("screenshots")) as shown,
    ):
        yield shown


def test_no_dialog_stands_between_the_user_and_the_assets(ui: Ui) -> None:
    assert ui.server.ask("{ shouldShowNux }") == {"shouldShowNux": False}


def test_the_graph_shows_every_table_in_the_group_of_its_layer(ui: Ui) -> None:
    # With its groups open the graph is larger than a usual window: what is outside isn't drawn, and what is drawn very
    # small has its name cut.
    usual = ui.page.viewport_size
    ui.page.set_viewport_size({"width": 2000, "height": 3600})
    page = ui.open(f"asset-groups?expanded={_ALL_GROUPS}")
    ui.shows("fact_top_zones")
    for _ in range(2):
        page.get_by_role("button", name="zoom_out").click()

    for layer in ("tlc_bronze", "tlc_silver", "tlc_gold"):
        ui.shows(layer)
    for name in {key.path[-1] for asset in CONTENTS.tables for key in asset.keys}:
        ui.shows(name)
    ui.shows("24 / 24 Passed")
    ui.screenshot("asset-graph")
    if usual:
        page.set_viewport_size(usual)


def test_the_checks_of_a_month_name_each_rule_and_show_how_many_rows_break_it_and_which(ui: Ui) -> None:
    page = ui.show_months_of_check("positive_fare_amount")
    for rule in GreenTrips.rules():
        ui.shows(rule.name)
    page.get_by_placeholder("Filter by partition").fill("2023-01")
    ui.shows("2023-01")
    page.get_by_text("2023-01", exact=True).first.click()

    ui.shows("259 of 68,211 rows (0.380%)")
    for column in ("source_row", "fare_amount"):
        ui.shows(column)
    ui.screenshot("checks-of-a-month")


@pytest.mark.parametrize("check", ["positive_fare_amount", "rows_accounted_for"])
def test_a_check_counts_as_passed_for_each_month_that_passed_it(check: str, ui: Ui) -> None:
    ui.show_months_of_check(check)

    ui.shows(f"Passed ({len(REAL_MONTHS)})")


def test_a_month_shows_its_rows_bytes_and_version(ui: Ui) -> None:
    ui.open("assets/tlc_silver/green_trips?view=partitions&partition=2023-01")

    for name in ("dagster/partition_row_count", "bytes_written", "table_version", "64693"):
        ui.shows(name)
    ui.screenshot("month")


def test_a_table_shows_its_story_and_its_columns_with_what_they_mean(ui: Ui) -> None:
    ui.open("assets/tlc_silver/green_trips?view=overview")

    ui.shows(GreenTrips.story())
    for column in GreenTrips.columns()[:10]:
        ui.shows(column.name)
        ui.shows(column.description)
    ui.screenshot("table")


def test_runs_of_the_command_line_are_on_the_overview_and_under_their_job_without_tags_that_nobody_reads(
    ui: Ui,
) -> None:
    ui.open("overview")
    ui.shows("tlc_month")
    ui.screenshot("overview")

    page = ui.open("locations/taxi_assets/jobs/tlc_month/runs")
    ui.shows("feeds: green")
    ui.shows("Success")
    for tag in ("taxi_assets_", "taxi_assets/"):
        assert page.get_by_text(tag, exact=False).count() == 0
    ui.screenshot("runs-of-a-job")


def test_a_quarantines_month_shows_rows_by_rule_and_silvers_links_there(ui: Ui) -> None:
    ui.open("assets/tlc_silver/green_trips?view=partitions&partition=2023-01")
    ui.shows("tlc_silver / green_trips_quarantine")
    ui.open("assets/tlc_silver/green_trips_quarantine?view=partitions&partition=2023-01")
    for text in ("rows_by_rule", "sample_rows", "positive_trip_distance", "3350", "failed_rules"):
        ui.shows(text)
    ui.screenshot("quarantine")


def test_golds_figures_can_be_plotted(ui: Ui) -> None:
    page = ui.open("assets/tlc_gold/fact_top_zones?view=overview")
    page.get_by_role("button", name="Plots").click()
    for figure in ("trips", "revenue", "average_fare", "quarantined_share"):
        ui.shows(figure)
    page.get_by_text("quarantined_share", exact=True).first.scroll_into_view_if_needed()
    ui.screenshot("plots")


def test_the_resources_page_shows_which_lake_one_is_on(ui: Ui, seven_months: SevenMonths) -> None:
    ui.open("locations/taxi_assets/resources/lake")
    ui.shows(str(seven_months.home.lake), exact=False)
    ui.shows("The lake: all tables below one root, and what computes them.")
    ui.screenshot("resource")


def test_the_picture_of_a_year_is_at_the_asset_of_landings_status(ui: Ui, seven_months: SevenMonths) -> None:
    # In a process of its own: this one has a browser's event loop.
    subprocess.run(
        [sys.executable, "-c", _OBSERVE], env=seven_months.home.environment(), capture_output=True, check=True
    )

    ui.open("assets/tlc_landing/status?view=overview")
    ui.shows("A year in one picture", exact=False)
    for text in (REAL_MONTHS[-1], Service.GREEN, State.OK, State.NOT_IN_LANDING):
        ui.shows(text)
    ui.shows(meanings(TLC)[State.OK], exact=False)
    ui.screenshot("status")


def test_nothing_is_called_out_of_date_after_the_months_have_run(ui: Ui) -> None:
    months = "[" + ", ".join(f'"{month}"' for month in REAL_MONTHS) + "]"
    tables = ", ".join(f"{{path: {json.dumps(key.path)}}}" for asset in CONTENTS.tables for key in asset.keys)
    status = f"staleStatusByPartition(partitions: {months})"
    nodes = ui.server.ask(f"{{ assetNodes(assetKeys: [{tables}]) {{ assetKey {{ path }} {status} }} }}")

    found = {"/".join(node["assetKey"]["path"]): set(node["staleStatusByPartition"]) for node in nodes["assetNodes"]}
    run = {"/".join(key.path) for key in keys_for([Service.GREEN])}
    assert {key: statuses for key, statuses in found.items() if key in run and statuses != {"FRESH"}} == {}
    assert {key for key, statuses in found.items() if statuses == {"MISSING"}} == set(found) - run
    assert "tlc_bronze/yellow_trips" not in run


def test_the_ui_asks_nobody_but_its_own_server(ui: Ui) -> None:
    ui.open("runs")
    ui.shows("tlc_month")

    assert ui.hosts - {"(within the page)"} == {"127.0.0.1"}
