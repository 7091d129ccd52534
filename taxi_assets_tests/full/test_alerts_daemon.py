"""Alerts by Dagster's own daemon: a sensor whose tick failed, and a bad file that landed while nobody looked."""

from __future__ import annotations

import shutil
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

from taxi_assets_tests.alerts.receivers import Webhook
from taxi_assets_tests.full.launched import REPOSITORY, START_SENSOR, TICKS
from taxi_assets_tests.full.processes import MAKE_UI, MINUTE, Home, Server, serving, wait_for

pytestmark = pytest.mark.full


def switch_on(server: Server, name: str) -> None:
    server.ask(START_SENSOR, sensor={**REPOSITORY, "sensorName": name})


def failed(server: Server, name: str) -> bool:
    state = server.ask(TICKS, sensor={**REPOSITORY, "sensorName": name})["sensorOrError"]["sensorState"]
    return any(tick["status"] == "FAILURE" for tick in state["ticks"])


def received(webhook: Webhook, title: str) -> dict[str, Any]:
    """Wait for the message of a title, which is to come once."""
    wait_for(lambda: title in webhook.titles, f"'{title}'", 4 * MINUTE)
    (message,) = [message for message in webhook.received if message["title"] == title]
    return message


def test_a_sensor_that_fails_and_a_file_that_makes_a_run_fail_are_told_by_the_daemon(tmp_path: Path) -> None:
    home = Home.below(tmp_path)
    shutil.copy(str(files("taxi_assets") / "dagster.yaml"), home.dagster)
    home.landing.rmdir()
    with (
        Webhook() as webhook,
        serving(home, *MAKE_UI, TAXI_ALERTS__ROUTES__ONCALL__URL=webhook.url) as server,
    ):
        switch_on(server, "tlc_landing")
        wait_for(lambda: failed(server, "tlc_landing"), f"a failed tick; the server's log: {server.log}", 2 * MINUTE)
        switch_on(server, "alerts")
        told = received(webhook, "[error] tlc_landing: tick failed")
        assert f"\nCause: Landing at {home.landing} can't be listed" in told["message"]
        home.landing.mkdir()
        (home.landing / "green_tripdata_2024-01.parquet").write_bytes(b"no Parquet")
        assert received(webhook, "[well again] tlc_landing: tick failed")["type"] == "success"
        told = received(webhook, "[error] tlc_bronze/green_trips 2024-01: run failed")
        assert "Cause: green_tripdata_2024-01.parquet can't be used" in told["message"]
        assert webhook.titles.count("[error] tlc_landing: tick failed") == 1
