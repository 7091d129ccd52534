"""The UI as `make ui` serves it, in a browser that also visits foreign pages: these change nothing, and the user all.

The same attacks succeed on Dagster's own web server, which shows that they are ones.
"""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.resources import files
from pathlib import Path
from typing import Any

import psutil
import pytest

from taxi_assets.calendars import Month
from taxi_assets.sample import write_month
from taxi_assets.tlc.vocabulary import Service
from taxi_assets_tests.full.browser import Ui, browsing
from taxi_assets_tests.full.launched import REPOSITORY, Dagster
from taxi_assets_tests.full.processes import (
    MAKE_UI,
    MINUTE,
    WORKSPACE_YAML,
    Home,
    Server,
    contents,
    first_day,
    free_port,
    serving,
    stop,
    wait_for,
)

pytestmark = pytest.mark.full

LAUNCHED, BACKFILLED = "2024-01", ["2024-02", "2024-03"]
SENSORS = ("tlc_landing", "nyctaxi_landing", "alerts")
ATTACKED = "tlc_gold/nyc_taxi_daily"

# What any page can send without being asked: an image's address, text that Dagster takes for JSON, and no body at all.
_ATTACK = """
async ([server, [image, text, empty], asset]) => {
  const start = name => `mutation { startSensor(sensorSelector: {repositoryName: "__repository__",
    repositoryLocationName: "taxi_assets", sensorName: "${name}"}) { __typename } }`
  const inAddress = name => `${server}/graphql?query=${encodeURIComponent(start(name))}`
  const post = (address, more) => fetch(address, {method: "POST", mode: "no-cors", ...more})
  const shown = new Image()
  const loaded = new Promise(done => { shown.onload = shown.onerror = done })
  shown.src = inAddress(image)
  const socket = new WebSocket(server.replace("http", "ws") + "/graphql", "graphql-ws")
  const opened = new Promise(done => { socket.onopen = () => done(true); socket.onerror = () => done(false) })
  const body = JSON.stringify({query: start(text)})
  await post(`${server}/graphql`, {headers: {"Content-Type": "text/plain; application/json"}, body})
  await post(inAddress(empty))
  await post(`${server}/report_asset_materialization/${asset}`)
  await loaded
  return opened
}"""
_STATE = """
query ($asset: AssetKeyInput!, $tlc: SensorSelector!, $nyctaxi: SensorSelector!, $alerts: SensorSelector!) {
  assetOrError(assetKey: $asset) { ... on Asset { assetMaterializations { timestamp } } }
  tlc_landing: sensorOrError(sensorSelector: $tlc) { ... on Sensor { sensorState { status } } }
  nyctaxi_landing: sensorOrError(sensorSelector: $nyctaxi) { ... on Sensor { sensorState { status } } }
  alerts: sensorOrError(sensorSelector: $alerts) { ... on Sensor { sensorState { status } } }
}"""


class ForeignSite(BaseHTTPRequestHandler):
    """A web site of someone else's, which has one page."""

    page = ""

    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        self.wfile.write(self.page.encode())

    def log_message(self, *_: Any) -> None:
        pass


@contextmanager
def foreign_site(page: str = "") -> Iterator[int]:
    """Serve a page for a while, at the port that is returned."""
    handler = type("Handler", (ForeignSite,), {"page": page})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as site:
        threading.Thread(target=site.serve_forever, daemon=True).start()
        yield int(site.server_address[1])
        site.shutdown()


def a_home(folder: Path) -> Home:
    home = Home.below(folder)
    shutil.copy(str(files("taxi_assets") / "dagster.yaml"), home.dagster)
    return home


@pytest.fixture(scope="module")
def dev(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Dagster]:
    """Return what `make ui` starts, on three months that have landed."""
    home = a_home(tmp_path_factory.mktemp("guarded"))
    for month in (LAUNCHED, *BACKFILLED):
        write_month(home.landing, Service.GREEN, Month.parse(month), 500)
    with serving(home, *MAKE_UI) as server:
        yield Dagster(server, home)


@pytest.fixture(scope="module")
def ui(browser: str, dev: Dagster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ui]:
    """Return a browser on it."""
    with browsing(browser, dev.server, tmp_path_factory.mktemp("screenshots")) as shown:
        yield shown


def state_of(server: Server) -> dict[str, Any]:
    """Return which sensors run, and how often the asset that is attacked was reported to have been stored."""
    selectors = {name.partition("_")[0]: {**REPOSITORY, "sensorName": name} for name in SENSORS}
    found = server.ask(_STATE, asset={"path": ATTACKED.split("/")}, **selectors)
    running = {name: found[name]["sensorState"]["status"] == "RUNNING" for name in SENSORS}
    return {**running, ATTACKED: len(found["assetOrError"].get("assetMaterializations", []))}


def attack(ui: Ui, server: Server, host: str) -> Any:
    """Send all that a foreign page can from one; return whether a websocket was opened."""
    with foreign_site() as port:
        ui.page.goto(f"http://{host}:{port}/")
        return ui.page.evaluate(_ATTACK, [server.url, SENSORS, ATTACKED])


def answer_of(address: str, **headers: str) -> tuple[int, str]:
    request = urllib.request.Request(address, headers={name.replace("_", "-"): text for name, text in headers.items()})
    try:
        with urllib.request.urlopen(request, timeout=MINUTE) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


def launch(ui: Ui, months: str, button: str) -> None:
    """Materialize months of green's bronze as the asset's page offers it."""
    page = ui.open("assets/tlc_bronze/green_trips?view=overview")
    page.get_by_role("button", name="Materialize").first.click()
    chosen = page.get_by_placeholder("ex: ", exact=False)
    chosen.fill(months)
    chosen.press("Enter")
    page.get_by_role("button", name=button).click()


# --- what is refused


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1"], ids=["another host", "another port"])
def test_a_foreign_page_changes_nothing_and_hears_nothing(ui: Ui, dev: Dagster, host: str) -> None:
    before = state_of(dev.server)

    opened = attack(ui, dev.server, host)

    assert not opened
    assert state_of(dev.server) == before == {**dict.fromkeys(SENSORS, False), ATTACKED: 0}


def test_dagsters_own_web_server_does_all_that_a_foreign_page_asks(ui: Ui, tmp_path: Path) -> None:
    with serving(a_home(tmp_path), "dagster-webserver") as server:
        opened = attack(ui, server, "evil.example")

        assert opened
        assert state_of(server) == {**dict.fromkeys(SENSORS, True), ATTACKED: 1}


def test_a_name_that_was_bound_to_this_machine_reads_nothing(ui: Ui, dev: Dagster) -> None:
    port = dev.server.url.rpartition(":")[2]

    answer = ui.page.goto(f"http://rebound.example:{port}/graphql?query=%7Bversion%7D")

    assert answer
    assert answer.status == 403
    assert answer.text().endswith("If that is its name, add it to TAXI_UI__HOSTS.\n")
    assert answer_of(f"{dev.server.url}/server_info", Host="evil.example")[0] == 403


def test_a_mutation_in_an_address_is_refused_from_the_uis_own_pages_too(ui: Ui, dev: Dagster) -> None:
    ui.open("runs")
    address = "/graphql?query=mutation%7BsetNuxSeen%7D"

    status, text = ui.page.evaluate(
        "async a => { const r = await fetch(a); return [r.status, await r.text()] }", address
    )

    assert (status, text) == answer_of(f"{dev.server.url}{address}")
    assert (status, text.count("\n")) == (405, 1)


def test_no_foreign_page_shows_the_ui_in_a_frame_though_it_may_link_to_it(ui: Ui, dev: Dagster) -> None:
    page = f'<iframe src="{dev.server.url}/runs"></iframe> <a href="{dev.server.url}/runs">the runs</a>'
    with foreign_site(page) as port:
        ui.page.goto(f"http://evil.example:{port}/")
        _, frame = ui.page.frames
        assert frame.url.startswith("chrome-error:")
        assert "dagster" not in frame.content()

        ui.page.get_by_text("the runs").click()

        ui.shows("Overview")
        assert ui.page.url == f"{dev.server.url}/runs"


# --- what a user does


def test_a_run_is_launched_and_its_end_is_seen_without_loading_the_page_again(ui: Ui, dev: Dagster) -> None:
    heard: list[Any] = []

    def hear(frame: Any) -> None:
        heard.append(frame)

    ui.page.on("websocket", lambda websocket: websocket.on("framereceived", hear))
    launch(ui, LAUNCHED, "Launch 1 run")

    (run,) = wait_for(lambda: dev.runs_tagged("dagster/partition", LAUNCHED), "the run", MINUTE)
    ui.open(f"runs/{run['runId']}")
    heard.clear()
    ended, _ = dev.ends_of([run["runId"]])

    ui.shows("RUN_SUCCESS")
    assert heard
    assert [run["status"] for run in ended] == ["SUCCESS"]
    assert set(contents(dev.home.lake)["tlc_bronze/green_trips"]["source_month"]) == {first_day(LAUNCHED)}


def test_a_backfill_is_started(ui: Ui, dev: Dagster) -> None:
    launch(ui, f"[{BACKFILLED[0]}...{BACKFILLED[-1]}]", "Launch backfill")

    def ended() -> list[dict[str, Any]] | None:
        runs = [run for month in BACKFILLED for run in dev.runs_tagged("dagster/partition", month)]
        return runs if [run["status"] for run in runs] == ["SUCCESS"] * len(BACKFILLED) else None

    assert len({run["tags"]["dagster/backfill"] for run in wait_for(ended, "the backfill's runs", 4 * MINUTE)}) == 1


def test_a_sensor_is_switched_on_and_off(ui: Ui, dev: Dagster) -> None:
    page = ui.open("locations/taxi_assets/sensors/nyctaxi_landing")
    for on in (True, False):
        page.locator("label:has(input[type=checkbox])").first.click()
        wait_for(lambda on=on: state_of(dev.server)["nyctaxi_landing"] is on, f"the sensor to be {on}", MINUTE)  # type: ignore[misc]


# --- how it is started and ended


def test_a_port_that_is_taken_is_one_line_that_names_another(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        done = subprocess.run(
            [sys.executable, *MAKE_UI[1:], "-w", WORKSPACE_YAML, "-h", "127.0.0.1", "-p", str(port)],
            env=a_home(tmp_path).environment(), capture_output=True, text=True, check=False,
        )  # fmt: skip

    assert (done.returncode, done.stderr.count("\n")) == (1, 1)
    assert done.stderr == (
        f"PORT is {port}, where the UI can't listen: Address already in use. Name another: make ui PORT={port + 1}.\n"
    )


def test_an_interrupt_ends_all_that_was_started(tmp_path: Path) -> None:
    home, port = a_home(tmp_path), free_port()
    log = home.dagster / "server.log"
    with log.open("w") as written:
        process = subprocess.Popen(
            [sys.executable, *MAKE_UI[1:], "-w", WORKSPACE_YAML, "-h", "127.0.0.1", "-p", str(port)],
            env=home.environment(), cwd=home.dagster, stdout=written, stderr=written, start_new_session=True,
        )  # fmt: skip
    try:
        wait_for(Server(f"http://127.0.0.1:{port}", log).is_up, f"the UI; its log: {log}", 2 * MINUTE)
        started = psutil.Process(process.pid).children(recursive=True)
        # A terminal sends it to all of them.
        os.killpg(process.pid, signal.SIGINT)

        assert process.wait(MINUTE) == 0
        _, alive = psutil.wait_procs(started, timeout=MINUTE)
        assert len(started) >= 4
        assert alive == []
        assert "Traceback" not in log.read_text()
    finally:
        stop(process)
