"""The drill: a night of bad files in a minute, from what lands to what a web server of this machine is told of it.

Everything is made in a temporary folder. Months are run by the command line, as a person would; the sensor is ticked
here, as the daemon would do it once a minute. Ends with 1, and says what is missing, if a message isn't received.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from textwrap import wrap
from typing import Any, Final

import dagster as dg

from taxi_assets.alerts.routes import alerts_of
from taxi_assets.alerts.sensor import alerts_sensor
from taxi_assets.calendars import Month, parse_months
from taxi_assets.instance import open_instance
from taxi_assets.places import lake_of, landing_of
from taxi_assets.sample import FAULTS, write_month
from taxi_assets.settings import Settings
from taxi_assets.tlc.vocabulary import Service

ROWS: Final = 2_000
FREE_TRIPS: Final = 0.2
"""The share of trips without a fare in the bad month: more than their rule tolerates, and less than stops the month."""


@dataclass
class Webhook:
    """Whoever is on call: a web server that keeps what it is told, unless it is down."""

    down: bool = False
    received: list[dict[str, Any]] = field(default_factory=list)

    @contextmanager
    def listening(self) -> Iterator[str]:
        """Listen for a while; yields the address, as Apprise has it."""
        owner = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                if not owner.down:
                    owner.received.append(json.loads(body))
                self.send_response(503 if owner.down else 200)
                self.end_headers()

            def log_message(self, *_: Any) -> None:
                pass

        with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
            threading.Thread(target=server.serve_forever, daemon=True).start()
            yield f"json://127.0.0.1:{server.server_address[1]}"
            server.shutdown()


@dataclass
class Night:
    """A landing, a lake and an instance of the night's own, and who is on call."""

    settings: Settings
    instance: dg.DagsterInstance
    month: Month
    on_call: Webhook
    cursor: str | None = None

    @property
    def file(self) -> Path:
        return Path(self.settings.landing_root) / f"green_tripdata_{self.month}.parquet"

    def land(self, *, seed: int = 0, free_trips: float = 0.0) -> None:
        """Issue the month's file, of which some trips have no fare."""
        faults = {**dict.fromkeys(FAULTS, 0.0), "positive_fare_amount": free_trips}
        write_month(self.file.parent, Service.GREEN, self.month, ROWS, seed=seed, faults=faults)

    def run(self, status: int) -> None:
        """Run the month, which is to end with an exit status."""
        command = [sys.executable, "-m", "taxi_assets.cli", "materialize", "--service", "green", str(self.month)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != status:
            sys.exit(f"The run ended with {done.returncode}, not {status}:\n{done.stdout}{done.stderr}")

    def tick(self) -> None:
        """Let the sensor look once."""
        resources = {
            "landing": landing_of(self.settings),
            "lake": lake_of(self.settings),
            "alerts": alerts_of(self.settings.alerts),
        }
        result = alerts_sensor(dg.build_sensor_context(instance=self.instance, cursor=self.cursor, resources=resources))
        assert isinstance(result, dg.SensorResult)
        self.cursor = result.cursor

    def expect(self, *messages: tuple[str, ...]) -> None:
        """Demand that just these messages were received since, each with all of some parts, and show them."""
        received = [f"{message['title']}\n{message['message']}" for message in self.on_call.received]
        self.on_call.received.clear()
        wanted = [*messages, *[()] * (len(received) - len(messages))]
        for parts, text in zip(wanted, [*received, *[""] * (len(messages) - len(received))], strict=True):
            missing = [part for part in parts if part not in text]
            if missing or not parts:
                sys.exit(f"Expected a message with {', '.join(missing) or 'nothing'}; received:\n{text or 'nothing'}")
            for line in text.splitlines():
                print(
                    *wrap(line, 120, initial_indent="      | ", subsequent_indent="      |   ") or ["      |"], sep="\n"
                )
        if not messages:
            print("      | (nothing, as it should be)")


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="taxi_drill_") as folder:
        on_call = Webhook()
        with on_call.listening() as url:
            in_folders_of_its_own(Path(folder), url)
            settings = Settings.load()
            with open_instance(settings.dagster_home) as instance:
                play(Night(settings, instance, two_months_ago(), on_call))
    print("All alerts and recoveries were received, each once.")


def in_folders_of_its_own(folder: Path, url: str) -> None:
    """Leave whatever is set for a lake that somebody works with; the commands that are run inherit this."""
    for name in [name for name in os.environ if name.startswith("TAXI_")]:
        del os.environ[name]
    os.environ.update(
        TAXI_LANDING_ROOT=str(folder / "landing"),
        TAXI_LAKE_ROOT=str(folder / "lake"),
        DAGSTER_HOME=str(folder / "dagster"),
        TAXI_ALERTS__ROUTES__ONCALL__URL=url,
    )
    (folder / "landing").mkdir()
    # Where no .env is.
    os.chdir(folder)


def two_months_ago() -> Month:
    """Return the newest month that no other is to be expected after by now."""
    now = Month.of(datetime.now(UTC))
    return next(month for month in parse_months([f"{now.year - 1}-01:{now}"]) if month.next().next() == now)


def play(night: Night) -> None:
    """Play the night."""
    month, rule = str(night.month), "positive_fare_amount"
    night.tick()
    night.land()
    night.run(0)
    night.tick()
    print(f"23:00 The sensor is on. {month} of green lands, and is run. On call hears:")
    night.expect()

    night.land(seed=1, free_trips=FREE_TRIPS)
    night.run(0)
    night.tick()
    print(f"01:00 It is issued again, with {FREE_TRIPS:.0%} of its trips for free. The run is green; on call hears:")
    night.expect((f"[warning] tlc_silver/green_trips {month}: {rule}", "of 2,000, 20", "tolerance 2.000%", "/runs/"))

    night.run(0)
    night.tick()
    print("01:30 Somebody runs it once more. On call hears:")
    night.expect()

    night.file.write_bytes(night.file.read_bytes()[:-1_000])
    night.run(1)
    night.tick()
    print("02:00 It is issued again, and is damaged. The run fails; on call hears:")
    night.expect(("[error] ", f"/green_trips {month}: ", "Cause: ", "it was cut off", "What to do: "))

    night.on_call.down = True
    night.land(seed=2)
    night.run(0)
    print("03:00 A good file is issued, and run. Just then the webhook is down, as the sensor's log says:", flush=True)
    night.tick()
    print("      On call hears:")
    night.expect()

    night.on_call.down = False
    night.tick()
    print("03:01 It is up again. On call hears:")
    night.expect(("[well again] failed runs: 1, failed checks: 1", rule, f"/green_trips {month} is stored after all"))

    night.tick()
    print("03:02 On call hears:")
    night.expect()

    off = night.file.rename(night.file.with_name(night.file.name.title()))
    night.tick()
    print(f"03:30 Somebody renames it {off.name}. On call hears:")
    night.expect((f"[warning] {off.name}: not read", "What to do: rename it"))

    off.rename(night.file)
    night.tick()
    print("03:31 They see to that. On call hears:")
    night.expect((f"[well again] {off.name}: not read", "under another name"))


if __name__ == "__main__":
    main()
