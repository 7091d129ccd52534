"""A made-up catalog gets all that catalogs have: it is a folder, and a line in `catalogs.py`.

It stands in the tests' folder `bakery`: two daily feeds, one of them snapshots of a dimension.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import dagster as dg
import pytest

from taxi_assets import catalogs, cli, definitions
from taxi_assets.alerts.routes import Alerts
from taxi_assets.alerts.sensor import alerts_sensor
from taxi_assets.calendars import Calendar, Day
from taxi_assets.deliveries.sensor import landing_sensor
from taxi_assets.instance import open_instance
from taxi_assets.places import lake_of, landing_of
from taxi_assets.settings import Settings
from taxi_assets_tests.alerts.happenings import UI, route
from taxi_assets_tests.alerts.receivers import Webhook
from taxi_assets_tests.bakery import BAKERY
from taxi_assets_tests.bakery.tables import DimShop, RawSales, Sales, Takings

pytestmark = pytest.mark.full

FOLDER = Path(__file__).parents[1] / "bakery"


class Bakery:
    """A landing, a lake and an instance, in which the bakery is one of the catalogs."""

    def __init__(self, settings: Settings, run: Callable[..., tuple[int, str]]) -> None:
        self.settings, self.run = settings, run
        self.lake, self.landing = lake_of(settings), landing_of(settings)

    @property
    def instance(self) -> dg.DagsterInstance:
        return open_instance(self.settings.dagster_home)

    def land(self, name: str, *rows: str) -> Path:
        """Write a file of comma-separated values."""
        path = Path(self.settings.landing_root) / name
        path.write_text("\n".join(rows) + "\n")
        return path

    def land_days(self) -> None:
        """Write two days of both feeds, with a sale that breaks a rule, and a shop that gets another name."""
        self.land("sales_2024_01_05.csv", "sale_id,shop_id,amount", "1,a,10.50", "2,a,0", "3,b,7")
        self.land("sales_2024_01_06.csv", "sale_id,shop_id,amount", "4,b,1")
        self.land("shops_2024_01_05.csv", "shop_id,name", "a,Rye", "b,Oat")
        self.land("shops_2024_01_06.csv", "shop_id,name", "a,Rye and Sons")

    def statuses(self) -> dict[tuple[str, str], str]:
        """Return what `status` says of the two days, by feed and day."""
        _, out = self.run("status", "--catalog", "bakery", "--json", "2024-01-05:2024-01-06")
        return {(row["feed"], row["period"]): row["status"] for row in json.loads(out)}

    def rows(self, contract: type) -> list[tuple[object, ...]]:
        return sorted(self.lake.read(contract).select(contract.column_names()).collect().rows())  # type: ignore[attr-defined]


@pytest.fixture
def bakery(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Bakery:
    folders = {"TAXI_LANDING_ROOT": tmp_path / "landing", "TAXI_LAKE_ROOT": tmp_path / "lake"}
    folders["TAXI_LANDING_ROOT"].mkdir()
    for name, folder in {**folders, "DAGSTER_HOME": tmp_path / "home"}.items():
        monkeypatch.setenv(name, str(folder))
    # The line in catalogs.py.
    monkeypatch.setattr(catalogs, "CATALOGS", (*catalogs.CATALOGS, BAKERY))
    settings = Settings.load()
    monkeypatch.setattr(definitions, "defs", definitions.build_defs(settings))

    def run(*words: str) -> tuple[int, str]:
        monkeypatch.setattr("sys.argv", ["taxi-assets", *words])
        try:
            cli.main()
        except SystemExit as ended:
            return int(ended.code or 0), capsys.readouterr().out
        return 0, capsys.readouterr().out

    return Bakery(settings, run)


def test_what_it_has_no_samples_of_is_said(bakery: Bakery) -> None:
    assert bakery.run("sample", "--catalog", "bakery", "2024-01-05") == (2, "")


def test_it_takes_less_than_150_lines() -> None:
    assert sum(len(path.read_text().splitlines()) for path in FOLDER.glob("*.py")) < 150


def test_the_command_line_runs_its_days_from_landing_to_gold(bakery: Bakery) -> None:
    bakery.land_days()
    assert set(bakery.statuses().values()) == {"landed"}

    status, out = bakery.run("materialize", "--catalog", "bakery", "--jobs", "1", "--missing", "2024-01-05:2024-01-06")

    assert status == 0, out
    assert [row[0] for row in bakery.rows(Sales)] == ["1", "3", "4"]
    assert [row[:2] for row in bakery.rows(Takings)] == [("a", 1), ("b", 1), ("b", 1)]
    assert [row[:2] for row in bakery.rows(DimShop)] == [("a", "Rye and Sons"), ("b", "Oat")]
    assert bakery.statuses() == {
        ("sales", "2024-01-05"): "checks failing",
        ("shops", "2024-01-05"): "materialized",
        ("sales", "2024-01-06"): "materialized",
        ("shops", "2024-01-06"): "materialized",
    }
    _, checks = bakery.run("checks", "--json", "2024-01-05")
    found = {(row["table"], row["check"], row["status"]) for row in json.loads(checks)}
    assert ("bakery_silver.sales", "positive_amount", "warned") in found
    assert ("bakery_gold.takings", "matches_contract", "passed") in found
    _, quarantined = bakery.run("quarantine", "--catalog", "bakery", "--json", "2024-01-05")
    assert [row["sale_id"] for row in json.loads(quarantined)] == ["2"]
    assert bakery.run("materialize", "--catalog", "bakery", "--missing", "2024-01-05:2024-01-06") == (
        0,
        "Nothing to do: none of these days is missing.\n",
    )


def test_its_sensor_requests_each_day_once_and_of_a_re_issue_just_its_feed(bakery: Bakery) -> None:
    def tick(cursor: str | None) -> dg.SensorResult:
        resources = {"landing": bakery.landing, "lake": bakery.lake}
        context = dg.build_sensor_context(instance=bakery.instance, cursor=cursor, resources=resources)
        result = landing_sensor(BAKERY)(context)
        assert isinstance(result, dg.SensorResult)
        return result

    bakery.land_days()
    first = tick(None)
    assert [(one.partition_key, one.tags["feeds"]) for one in first.run_requests or []] == [
        ("2024-01-05", "sales,shops"),
        ("2024-01-06", "sales,shops"),
    ]
    assert not tick(first.cursor).run_requests
    bakery.land("shops_2024_01_06.csv", "shop_id,name", "a,Rye and Daughters")
    (again,) = tick(first.cursor).run_requests or []
    assert (again.partition_key, again.tags["feeds"]) == ("2024-01-06", "shops")
    assert {"/".join(key.path) for key in again.asset_selection or []} == {
        "bakery_bronze/shops", "bakery_silver/dim_shop",
    }  # fmt: skip
    bakery.land(BAKERY.blocked_list, "shops 2024-01-06 a wrong name")
    blocked = tick(first.cursor)
    assert not blocked.run_requests
    assert "shops 2024-01-06 is blocked (bakery_blocked.txt): a wrong name." in str(blocked.skip_reason)


def test_a_day_that_is_blocked_is_passed_by_for_its_feed_alone(bakery: Bakery) -> None:
    bakery.land_days()
    bakery.land("bakery_blocked.txt", "sales 2024-01-05:2024-01-06 the till was broken")

    status, _ = bakery.run("materialize", "--catalog", "bakery", "2024-01-05")

    assert status == 0
    assert bakery.lake.row_count(RawSales) is None
    assert [row[:2] for row in bakery.rows(DimShop)] == [("a", "Rye"), ("b", "Oat")]
    assert bakery.statuses()["sales", "2024-01-05"] == "blocked"


def test_its_days_are_told_of_as_late(bakery: Bakery, monkeypatch: pytest.MonkeyPatch) -> None:
    bakery.land_days()
    assert bakery.run("materialize", "--catalog", "bakery", "--feed", "sales", "2024-01-05")[0] == 0
    monkeypatch.setattr(Calendar, "now", lambda calendar: calendar.kind.of(Day.parse("2024-01-09").day))
    with Webhook() as webhook:
        resources = {
            "landing": bakery.landing, "lake": bakery.lake, "alerts": Alerts((route("hook", url=webhook.url),), UI)
        }  # fmt: skip
        alerts_sensor(dg.build_sensor_context(instance=bakery.instance, cursor=None, resources=resources))
        told = webhook.only()
    assert told["title"] == "[warning] bakery_silver/sales 2024-01-06 to 2024-01-07: late"
    assert "taxi-assets materialize --catalog bakery --feed sales 2024-01-06" in told["message"]


@pytest.mark.usefixtures("bakery")
def test_the_ui_has_its_sensor_jobs_status_and_partitions_to_backfill() -> None:
    defs = definitions.defs
    graph = defs.resolve_asset_graph()
    assert defs.resolve_sensor_def("bakery_landing").job_name == "bakery_day"
    assert defs.resolve_job_def("bakery_shops").partitions_def == BAKERY.calendar.partitions
    assert dg.AssetCheckKey(dg.AssetKey(["bakery_landing", "status"]), "nothing_late") in graph.asset_check_keys
    assert graph.get(dg.AssetKey(["bakery_silver", "sales"])).partitions_def == BAKERY.calendar.partitions
