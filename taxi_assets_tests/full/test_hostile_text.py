"""Text that someone put into a file, by each way that leads into the UI: pages show it, and make nothing of it.

A page makes something of a text if it has an image or a link of it, or asks for what it names. One link is the UI's own
doing and no harm: an address in a run's log becomes one that leads where it says.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path

import polars as pl
import pytest
from playwright.sync_api import expect

from taxi_assets.calendars import Month, parse_months
from taxi_assets.errors import printable
from taxi_assets.sample import write_month
from taxi_assets.tlc.vocabulary import Service
from taxi_assets_tests.full.browser import SECONDS, Ui, browsing
from taxi_assets_tests.full.launched import Dagster
from taxi_assets_tests.full.processes import MAKE_UI, MINUTE, Home, serving
from taxi_assets_tests.scenario import BLOCKED_MONTHS

pytestmark = pytest.mark.full

MONTH, BLOCKED = Month(2024, 1), Month(2023, 2)
HOSTILE = (
    "![i](/graphql?query=mutation%7BsetNuxSeen%7D&hostile) [l](/hostile) <img src=/hostile> <a href=/hostile>l</a> "
    "http://hostile.example www.hostile.example a@hostile.example\u202e"
)
WITHOUT_BLANKS = "![i](/graphql?hostile)[l](/hostile)"
# Each begins a line of a list in the picture, where more has a meaning than within a sentence.
REASONS = [
    HOSTILE,
    "# hostile", "> hostile", "- hostile", "1. hostile", "1) hostile", "--- hostile", "===", "| a | b | hostile",
    "~~~ hostile", "```hostile", "`hostile`", "``` `` hostile", "**hostile** __hostile__ _hostile_ ~~hostile~~",
    "<!-- hostile -->", "<script>hostile</script>", "<details open>hostile</details>", "&lt;hostile&gt; &#33;",
    "hostile\\", "\\[hostile](/hostile)", "[hostile]: /hostile", "[hostile] [^1] [x]", "![hostile][hostile]",
    "<http://hostile.example>", "<a@hostile.example>", "HTTPS://hostile.example/a_b_c", "(http://hostile.example)",
    "http://`www`.hostile.example", "xmpp:a@hostile.example/b", "a@b@hostile.example", "mailto:a@hostile.example",
    "https://https://hostile.example",
]  # fmt: skip
_MADE = """
() => [...document.querySelectorAll("img, a, iframe, script, details")]
  .filter(made => /hostile/.test(made.src || made.href || made.textContent))
  .map(made => made.outerHTML)"""


@pytest.fixture(scope="module")
def dev(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Dagster]:
    """Return what `make ui` starts, after months that are hostile as far as they can be have run."""
    home = Home.below(tmp_path_factory.mktemp("landed"))
    shutil.copy(str(files("taxi_assets") / "dagster.yaml"), home.dagster)
    write_hostile_files(home.landing)
    with serving(home, *MAKE_UI) as server:
        running = Dagster(server, home)
        # One after the other: the UI shows a check's last result, and of a month that is passed by there is none.
        for month in (BLOCKED, MONTH):
            (run,), _ = running.ends_of(running.launch_runs("tlc_month", [str(month)]))
            assert run["status"] == "SUCCESS"
        running.start_sensor()
        yield running


@pytest.fixture(scope="module")
def ui(browser: str, dev: Dagster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ui]:
    """Return a browser on it, which notes what is asked for."""
    with browsing(browser, dev.server, tmp_path_factory.mktemp("screenshots")) as shown:
        yield shown


def write_hostile_files(landing: Path) -> None:
    for service in (Service.GREEN, Service.FHV):
        write_month(landing, service, MONTH, 500)
    green, fhv = (landing / f"{service}_tripdata_{MONTH}.parquet" for service in (Service.GREEN, Service.FHV))
    rows = pl.read_parquet(green)
    rows.with_columns(pl.lit("x").alias(HOSTILE)).write_parquet(green)
    rows = pl.read_parquet(fhv)
    few = pl.int_range(pl.len()) < 3
    bases = pl.when(few).then(pl.lit(HOSTILE)).otherwise("dispatching_base_num").alias("dispatching_base_num")
    rows.with_columns(bases).write_parquet(fhv)
    shutil.copy(green, landing / f"green_tripdata_{WITHOUT_BLANKS.replace('/', chr(92))}.parquet")
    # The picture ends with the newest month that anything is known of.
    year = parse_months([f"{BLOCKED}:{MONTH}"])[:-1]
    blocked = [(service, month) for service in (Service.GREEN, Service.YELLOW, Service.FHV) for month in year]
    lines = [f"{service} {month} {reason}" for (service, month), reason in zip(blocked, REASONS, strict=False)]
    assert len(lines) == len(REASONS)
    (landing / BLOCKED_MONTHS).write_text("\n".join(lines), encoding="utf-8")


def assert_shown(ui: Ui, text: str = HOSTILE) -> None:
    """Demand that a page shows a text as it is, and has made nothing of it."""
    expect(ui.page.locator("body")).to_contain_text(printable(text), timeout=60 * SECONDS, use_inner_text=True)
    ui.page.wait_for_load_state("networkidle")
    assert ui.page.evaluate(_MADE) == []
    assert_nothing_asked(ui)


def assert_nothing_asked(ui: Ui) -> None:
    assert [address for address in ui.addresses if "hostile" in address] == []
    assert ui.hosts - {"(within the page)"} == {"127.0.0.1"}


def test_a_column_is_named_by_the_check_that_finds_it(ui: Ui) -> None:
    ui.open("assets/tlc_bronze/green_trips?view=checks&checkDetail=no_unknown_columns")
    # The asset has a tab of the same name; the check's stand after it, and come later.
    ui.shows("Execution history")
    assert_shown(ui)
    ui.page.get_by_role("tab", name="Execution history").click()
    assert_shown(ui)


@pytest.mark.parametrize(
    ("table", "check"),
    [("tlc_bronze/green_trips", "nothing_rescued"), ("tlc_silver/fhv_trips", "base_number_format")],
    ids=["what was rescued", "a value"],
)
def test_rows_are_shown_as_examples(ui: Ui, table: str, check: str) -> None:
    page = ui.show_months_of_check(check, table)
    page.get_by_placeholder("Filter by partition").fill(str(MONTH))
    page.get_by_text(str(MONTH), exact=True).first.click()
    assert_shown(ui)


def test_why_months_are_blocked_stands_in_the_picture_of_a_year(ui: Ui) -> None:
    ui.open("assets/tlc_landing/status?view=overview")
    ui.page.get_by_text("[Show Markdown]").first.click()
    for reason in REASONS:
        assert_shown(ui, reason.rstrip("."))


def test_why_a_month_was_passed_by_stands_with_its_partition(ui: Ui) -> None:
    ui.open("assets/tlc_bronze/green_trips?view=events")
    ui.page.get_by_text(str(BLOCKED)).first.click()
    assert_shown(ui)


def test_what_a_run_passed_by_stands_in_its_log(ui: Ui, dev: Dagster) -> None:
    (run,) = dev.runs_tagged("dagster/partition", str(BLOCKED))
    ui.open(f"runs/{run['runId']}")
    ui.page.get_by_placeholder("Filter…").fill("blocked")
    expect(ui.page.locator("body")).to_contain_text(printable(HOSTILE), timeout=60 * SECONDS, use_inner_text=True)

    made = ui.page.locator("a[href*=hostile], img[src*=hostile]")
    assert {one.get_attribute("href") for one in made.all()} == {one.inner_text() for one in made.all()}
    assert_nothing_asked(ui)


def test_a_name_that_isnt_read_stands_in_the_sensors_tick(ui: Ui) -> None:
    ui.open("locations/taxi_assets/sensors/tlc_landing")
    ui.page.get_by_text("View logs").first.click(timeout=2 * MINUTE * SECONDS)
    assert_shown(ui, WITHOUT_BLANKS.replace("/", "\\"))


def test_a_line_that_isnt_understood_fails_a_tick_and_a_run_which_quote_it(ui: Ui, dev: Dagster) -> None:
    (dev.home.landing / BLOCKED_MONTHS).write_text(f"{WITHOUT_BLANKS} 2024-01 why")
    (run_id,) = dev.launch_runs("tlc_green", [str(MONTH)])
    dev.ends_of([run_id])

    ui.open(f"runs/{run_id}")
    assert_shown(ui, WITHOUT_BLANKS)

    ui.open("locations/taxi_assets/sensors/tlc_landing")
    expect(ui.page.get_by_text("Failure").first).to_be_visible(timeout=2 * MINUTE * SECONDS)
    ui.page.get_by_text("View", exact=True).first.click()
    assert_shown(ui, WITHOUT_BLANKS)
