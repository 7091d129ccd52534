"""What deals with alerts: `alert-test`."""

from __future__ import annotations

import typer

from taxi_assets.cli.terminal import DONE, FAILED, app, say
from taxi_assets.errors import UsageError


@app.command()
def alert_test() -> None:
    """Send a test message by each route that alerts take, and say what became of it."""
    from taxi_assets.alerts.messages import Message
    from taxi_assets.alerts.routes import alerts_of, refuse_unknown_groups
    from taxi_assets.alerts.sensor import NO_ROUTE
    from taxi_assets.catalogs import groups
    from taxi_assets.settings import Settings

    alerts = alerts_of(Settings.load().alerts)
    if not alerts.routes:
        raise UsageError(NO_ROUTE)
    refuse_unknown_groups(alerts, groups())
    failed = False
    for route in alerts.routes:
        message = Message(
            "[test] taxi_assets", f"A test of the route {route.name}: alerts arrive here. UI: {alerts.ui}", "warning"
        )
        wrong = route.send(message)
        failed = failed or bool(wrong)
        say(route.name, "  ", *((("not sent", "red"), f": {wrong}") if wrong else (("sent", "green"),)))
    raise typer.Exit(FAILED if failed else DONE)
