"""Claims about the files in deploy/, read as they stand: who is reached from where, and that they agree.

That they work is for full/test_deployment.py.
"""

from __future__ import annotations

import re
from configparser import ConfigParser
from pathlib import Path
from typing import Any

import pytest
import yaml
from dotenv import dotenv_values

from taxi_assets.definitions import defs

pytestmark = pytest.mark.fast

ROOT = Path(__file__).parent.parent
DEPLOY = ROOT / "deploy"
COMPOSE = yaml.safe_load((DEPLOY / "compose.yaml").read_text(encoding="utf-8"))
INSTANCE = yaml.safe_load((DEPLOY / "dagster.yaml").read_text(encoding="utf-8"))
UNITS = sorted((DEPLOY / "systemd").glob("*.service"))
LOOPBACK = "127.0.0.1"


def variables_of(settings: Any) -> set[str]:
    """Name the environment variables that a configuration of Dagster's refers to, wherever in it."""
    if isinstance(settings, list):
        return {name for value in settings for name in variables_of(value)}
    if not isinstance(settings, dict):
        return set()
    named = {settings["env"]} if "env" in settings else set()
    return named | {name for value in settings.values() for name in variables_of(value)}


def unit_named(name: str) -> ConfigParser:
    parser = ConfigParser(interpolation=None)
    parser.optionxform = str  # type: ignore[assignment,method-assign]
    (text,) = (unit.read_text(encoding="utf-8") for unit in UNITS if unit.stem == f"taxi-assets-{name}")
    parser.read_string(text.replace("\\\n", " "))
    return parser


def test_make_ui_and_every_unit_listen_on_this_machine_alone() -> None:
    files = [ROOT / "Makefile", *UNITS]
    texts = [path.read_text(encoding="utf-8").replace("\\\n", " ") for path in files]
    servers = [line for text in texts for line in text.splitlines() if re.search(r"webserver(\.dev)? -|api grpc", line)]

    assert len(servers) == 3
    for line in servers:
        assert re.search(rf"(-h|--host) {re.escape(LOOPBACK)}\b|--socket ", line), line
        assert "0.0.0.0" not in line


def test_no_web_server_of_dagsters_own_is_started_anywhere() -> None:
    files = [ROOT / "Makefile", DEPLOY / "compose.yaml", *UNITS]
    started = [
        line
        for path in files
        for line in path.read_text(encoding="utf-8").splitlines()
        if re.search(r"dagster[ -](dev|webserver)\b|dagit|\bdg dev\b", line)
    ]

    assert started == []


def test_the_containers_publish_the_ui_alone_and_that_to_this_machine() -> None:
    published = {name: service["ports"] for name, service in COMPOSE["services"].items() if "ports" in service}

    assert list(published) == ["webserver"]
    assert all(port.startswith(f"{LOOPBACK}:") for port in published["webserver"])
    assert not any("network_mode" in service for service in COMPOSE["services"].values())


def test_the_containers_run_as_nobody_of_power() -> None:
    *_, user = re.findall(r"^USER (\S+)$", (DEPLOY / "Dockerfile").read_text(encoding="utf-8"), flags=re.MULTILINE)

    assert int(user) > 0
    for name in ("code", "daemon", "webserver"):
        assert "user" not in COMPOSE["services"][name]
        assert COMPOSE["services"][name]["cap_drop"] == ["ALL"]


def test_a_password_comes_from_the_environment_alone() -> None:
    (url,) = INSTANCE["storage"]["postgres"].values()
    passwords = re.findall(r"(?:PASSWORD: |//dagster:)(.)", (DEPLOY / "compose.yaml").read_text(encoding="utf-8"))

    assert list(url) == ["env"]
    assert passwords == ["$", "$"]


def test_every_variable_that_an_instance_needs_is_set_by_the_units_and_by_the_containers() -> None:
    workspace = yaml.safe_load((DEPLOY / "workspace.yaml").read_text(encoding="utf-8"))
    in_units = {name for unit in UNITS for name in re.findall(r"\$\{(\w+)\}", unit.read_text(encoding="utf-8"))}
    in_units.remove("MAINPID")  # systemd's own
    needed = variables_of(INSTANCE) | variables_of(workspace) | {"DAGSTER_HOME", "DAGSTER_GRPC_TIMEOUT_SECONDS"}

    assert needed | in_units <= dotenv_values(DEPLOY / "taxi-assets.env").keys()
    for name in ("code", "daemon", "webserver"):
        assert needed <= COMPOSE["services"][name]["environment"].keys()


def test_units_and_containers_start_the_same_programs() -> None:
    program = r"[\w-]+(?: api grpc| -m [\w.]+)?"
    started = {
        unit.stem.removeprefix("taxi-assets-"): re.findall(rf"ExecStart=\S+/({program})", unit.read_text())
        for unit in UNITS
    }

    assert started == {name: re.findall(rf"^{program}", COMPOSE["services"][name]["command"]) for name in started}
    assert len(started) == 3


def test_a_code_server_that_is_stopped_waits_for_its_runs_and_nobody_launches_more() -> None:
    code, daemon = (unit_named(name) for name in ("code", "daemon"))

    # A signal to all of them ends runs; without the daemon before it, the queue's next run is refused, and fails.
    assert (code["Service"]["KillMode"], code["Service"]["TimeoutStopSec"]) == ("mixed", "15min")
    assert COMPOSE["services"]["code"]["stop_grace_period"] == "15m"
    assert daemon["Unit"]["PartOf"] == daemon["Unit"]["After"] == "taxi-assets-code.service"
    assert COMPOSE["services"]["daemon"]["depends_on"]["code"]["condition"] == "service_healthy"


def test_a_code_server_counts_as_started_once_its_socket_is_there() -> None:
    assert "test -S ${DAGSTER_CODE_SOCKET}" in unit_named("code")["Service"]["ExecStartPost"]
    assert COMPOSE["x-dagster"]["environment"]["DAGSTER_CODE_SOCKET"] in str(COMPOSE["services"]["code"]["healthcheck"])


def test_the_queue_waits_for_a_code_server_that_is_away() -> None:
    queue = INSTANCE["run_queue"]

    # Dagster's own number of retries is none: a run that is due meanwhile has failed. Here it waits for an hour.
    assert queue["max_user_code_failure_retries"] * queue["user_code_failure_retry_delay"] == 3600


def test_months_take_turns_on_a_server_as_they_do_under_make_ui() -> None:
    local = yaml.safe_load((ROOT / "taxi_assets" / "dagster.yaml").read_text(encoding="utf-8"))

    (limit,) = local["concurrency"]["runs"]["tag_concurrency_limits"]
    assert limit in INSTANCE["run_queue"]["tag_concurrency_limits"]
    assert "storage" not in local


def test_the_queue_limits_runs_by_the_tag_that_the_jobs_give() -> None:
    (limit,) = (one for one in INSTANCE["run_queue"]["tag_concurrency_limits"] if one.get("value") == "spark")
    assert limit["key"] in defs.resolve_job_def("tlc_month").run_tags
