"""A server as deploy/ describes it, on this machine: a Postgres, and the three processes that systemd's units start.

Commands, configuration and the list of variables are those of deploy/ itself; only folders and ports are a test's own.
"""

from __future__ import annotations

import os
import shutil
import string
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from configparser import ConfigParser
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import psutil
from dotenv import dotenv_values

from taxi_assets_tests.full.launched import Dagster
from taxi_assets_tests.full.processes import MINUTE, WORKSPACE_YAML, Home, Server, free_port, stop, wait_for

ROOT = WORKSPACE_YAML.parent
DEPLOY = ROOT / "deploy"
UNITS = {name: DEPLOY / "systemd" / f"taxi-assets-{name}.service" for name in ("code", "daemon", "webserver")}
PASSWORD = "known-to-postgres-alone"


@dataclass(frozen=True)
class DeployedHome(Home):
    """A home whose processes have the variables of a server, too."""

    variables: tuple[tuple[str, str], ...] = ()

    def environment(self, **changes: str) -> dict[str, str]:
        """Return the environment of a process that runs here."""
        return super().environment(**{**dict(self.variables), **changes})


@dataclass(frozen=True)
class Deployment(Dagster):
    """A server that is up: its processes by the name of their unit, and the log of each."""

    home: DeployedHome
    database: Database
    processes: dict[str, psutil.Process]
    logs: dict[str, Path]

    def listens_on(self) -> set[str]:
        """Name the addresses at which anything of it can be reached now."""
        family = [one for parent in self.processes.values() for one in (parent, *parent.children(recursive=True))]
        return {
            found.laddr.ip
            for process in family
            for found in process.net_connections("inet")
            if found.status == psutil.CONN_LISTEN
        }


def command_of(unit: Path, variables: dict[str, str]) -> list[str]:
    """Return what a unit starts, from this checkout and with these variables."""
    parser = ConfigParser(interpolation=None)
    parser.optionxform = str  # type: ignore[assignment,method-assign]
    parser.read_string(unit.read_text(encoding="utf-8").replace("\\\n", " "))
    program, *arguments = parser["Service"]["ExecStart"].split()
    return [
        str(Path(sys.executable).parent / Path(program).name),
        *(string.Template(word.replace("/opt/taxi-assets", str(ROOT))).substitute(variables) for word in arguments),
    ]


@dataclass(frozen=True)
class Database:
    """A Postgres that only its socket and a password lead to."""

    programs: Path
    folder: Path

    @property
    def url(self) -> str:
        """Its address for Dagster."""
        return f"postgresql+psycopg2://taxi:{PASSWORD}@/postgres?host={self.folder}"

    def dump(self) -> str:
        """Return all that it holds."""
        command = [self.programs / "pg_dump", "--host", self.folder, "--username=taxi", "postgres"]
        environment = {**os.environ, "PGPASSWORD": PASSWORD}
        return subprocess.run(command, env=environment, check=True, capture_output=True, text=True).stdout


@contextmanager
def a_postgres(programs: Path) -> Iterator[Database]:
    """Run a Postgres for a while."""
    # Not in the test's folder: sockets have short paths, and root's Postgres runs as another user, who can't go there.
    folder = Path(tempfile.mkdtemp(prefix="taxi-assets-postgres-"))
    (folder / "password").write_text(PASSWORD)
    user = None
    if os.geteuid() == 0:
        user = "postgres"
        shutil.chown(folder, user)

    def run(program: str, *arguments: str) -> None:
        subprocess.run(
            [programs / program, "--pgdata", folder / "data", *arguments],
            user=user, group=user, cwd=folder, check=True, stdout=subprocess.DEVNULL,
        )  # fmt: skip

    try:
        run("initdb", "--username=taxi", "--auth=md5", f"--pwfile={folder / 'password'}", "--no-sync")
        options = f"-k {folder} -c listen_addresses= -c fsync=off"
        run("pg_ctl", "start", "--wait", f"--log={folder / 'log'}", f"--options={options}")
        try:
            yield Database(programs, folder)
        finally:
            run("pg_ctl", "stop", "--mode=immediate")
    finally:
        shutil.rmtree(folder)


@contextmanager
def deployed(folder: Path, database: Database, runs_at_once: int) -> Iterator[Deployment]:
    """Start the units' commands on folders below another one, and stop them with all that they have started."""
    with ExitStack() as running:
        sockets = running.enter_context(tempfile.TemporaryDirectory(prefix="taxi-assets-"))
        home = Home.below(folder)
        shutil.copy(DEPLOY / "dagster.yaml", home.dagster)
        written = dotenv_values(DEPLOY / "taxi-assets.env")
        variables = {
            **{name: str(value) for name, value in written.items() if name not in home.environment()},
            "DAGSTER_POSTGRES_URL": database.url,
            "DAGSTER_RUNS_AT_ONCE": str(runs_at_once),
            "DAGSTER_CODE_SOCKET": f"{sockets}/code.sock",
            "DAGSTER_PORT": str(free_port()),
            "TAXI_UI__HOSTS": "lake.example.org",
        }
        served = DeployedHome(home.landing, home.lake, home.dagster, tuple(variables.items()))
        processes, logs = {}, {"postgres": database.folder / "log"}
        for name, unit in UNITS.items():
            logs[name] = folder / f"{name}.log"
            process = subprocess.Popen(
                command_of(unit, variables),
                env=served.environment(),
                cwd=folder,
                stdout=running.enter_context(logs[name].open("w")),
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
            running.callback(stop, process)
            processes[name] = psutil.Process(process.pid)
        server = Server(f"http://127.0.0.1:{variables['DAGSTER_PORT']}", logs["webserver"])
        wait_for(server.is_up, f"the web server to answer; the logs are in {folder}", 2 * MINUTE)
        yield Deployment(server, served, database, processes, logs)
