"""Routes: whom an alert is for, by severity and asset group, and sending it there by Apprise.

A route's URL is a secret: it is shown nowhere, and taken out of what Apprise has to say.
"""

from __future__ import annotations

import logging
import re
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import unquote

from taxi_assets.alerts.facts import Severity
from taxi_assets.alerts.messages import Message
from taxi_assets.alerts.notices import Notice
from taxi_assets.alerts.texts import printable
from taxi_assets.errors import UsageError
from taxi_assets.settings import AlertSettings

PATIENCE: Final = 15.0
"""Seconds that sending one message may take: a tick has a minute for all."""

_LONGEST_REASON: Final = 300
_SHORTEST_SECRET: Final = 4

# It writes URLs that it can't read into its log; what matters of that is in a message's result.
logging.getLogger("apprise").propagate = False


@dataclass(frozen=True, slots=True)
class Route:
    """A way that alerts take. `groups` are the asset groups that it is for; all, if there are none."""

    name: str
    url: str = field(repr=False)
    severity: Severity
    groups: frozenset[str]

    def takes(self, notice: Notice) -> bool:
        """Say whether a notice is for this route; what concerns no group is for all."""
        bad_enough = notice.severity is Severity.ERROR or self.severity is Severity.WARNING
        concerned = notice.subject.groups
        return bad_enough and (not self.groups or not concerned or not self.groups.isdisjoint(concerned))

    def send(self, message: Message) -> str:
        """Send a message. Return nothing if it went out, or why it didn't."""
        # Here, because whoever only loads the definitions needn't wait for it.
        import apprise  # noqa: PLC0415

        from taxi_assets.alerts.answers import read_no_more_than_needed  # noqa: PLC0415

        asset = apprise.AppriseAsset(app_id="taxi_assets", async_mode=False, interpret_emojis=False)
        service = apprise.Apprise.instantiate(self.url, asset=asset)
        # It loads its services when it is first asked for one.
        read_no_more_than_needed()
        if service is None:
            return f"{variable(self.name)} is no URL that Apprise understands: see its list of services."
        if service.overflow_mode is apprise.OverflowMode.UPSTREAM:
            # Not every service says that it has cut what is too long for it.
            service.overflow_mode = apprise.OverflowMode.SPLIT
        services = apprise.Apprise(asset=asset)
        services.add(service)
        types = {
            "warning": apprise.NotifyType.WARNING,
            "error": apprise.NotifyType.FAILURE,
            "well": apprise.NotifyType.SUCCESS,
        }
        result = services.notify(
            title=message.title,
            body=message.body,
            notify_type=types[message.tone],
            body_format=apprise.NotifyFormat.TEXT,
            timeout=PATIENCE,
        )
        if result:
            return ""
        said = " ".join(dict.fromkeys(entry.message for entry in result.logs()))
        return self._without_secrets(said) or "the service doesn't answer."

    def _without_secrets(self, text: str) -> str:
        parts = re.split(r"[/:@?&=,]+", self.url)
        for part in {*parts, *map(unquote, parts)}:
            if len(part) >= _SHORTEST_SECRET:
                text = text.replace(part, "...")
        return printable(text, _LONGEST_REASON)


@dataclass(frozen=True, slots=True)
class Alerts:
    """The routes that the settings name, and where the UI stands that alerts link to."""

    routes: tuple[Route, ...]
    ui: str


def alerts_of(settings: AlertSettings) -> Alerts:
    """Return the routes that the settings name."""
    routes = (
        Route(
            name,
            route.url.get_secret_value(),
            Severity(route.severity),
            frozenset(group.strip() for group in route.groups.split(",") if group.strip()),
        )
        for name, route in sorted(settings.routes.items())
    )
    return Alerts(tuple(routes), settings.ui)


def refuse_unknown_groups(alerts: Alerts, known: frozenset[str]) -> None:
    """Raise UsageError if a route is for a group that there isn't: nothing would ever be sent to it."""
    for route in alerts.routes:
        strange = sorted(route.groups - known)
        if strange:
            raise UsageError(
                f"{variable(route.name, 'GROUPS')} names {', '.join(strange)}; groups are: {', '.join(sorted(known))}."
            )


def variable(route: str, part: str = "URL") -> str:
    """Return the name of a route's setting."""
    return f"TAXI_ALERTS__ROUTES__{route.upper()}__{part}"
