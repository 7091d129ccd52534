"""Dagster's web server, guarded: ``python -m taxi_assets.webserver`` takes the options of ``dagster-webserver``."""

from __future__ import annotations

import sys
from typing import Any

from dagster_webserver import cli
from dagster_webserver.webserver import DagsterWebserver
from starlette.middleware import Middleware

from taxi_assets.errors import UsageError
from taxi_assets.settings import Settings
from taxi_assets.webserver.guard import Guard


def main() -> None:
    """Serve the UI until it is interrupted."""
    try:
        hosts = Settings.as_set().ui.names
    except UsageError as error:
        sys.exit(str(error))
    build = DagsterWebserver.build_middleware

    def build_guarded(webserver: DagsterWebserver[Any, Any]) -> list[Middleware]:
        return [Middleware(Guard, hosts=hosts), *build(webserver)]

    # Dagster's own place for it; its command takes no other class of web servers.
    DagsterWebserver.build_middleware = build_guarded  # type: ignore[method-assign,assignment]
    cli.main()  # type: ignore[no-untyped-call]


if __name__ == "__main__":
    main()
