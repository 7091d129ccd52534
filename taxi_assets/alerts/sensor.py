"""The sensor `alerts`: looks at what has happened, and sends what is to be told. What it knows is its cursor.

It is stored when the tick ends: should the process die before, what was sent is sent once more, and nothing is lost.
"""

# Without postponed annotations, which Dagster doesn't resolve for `context`.

import time
from dataclasses import replace
from typing import Final

import dagster as dg

from taxi_assets.alerts.facts import MOST_RUNS_A_LOOK, ended_runs, ended_ticks, going_on, last_place
from taxi_assets.alerts.lateness import Lateness
from taxi_assets.alerts.loads import Loads
from taxi_assets.alerts.messages import messages_of
from taxi_assets.alerts.plan import Facts, State, dump, load, plan
from taxi_assets.alerts.routes import Alerts, refuse_unknown_groups
from taxi_assets.catalogs import all_catalogs, groups
from taxi_assets.deliveries.status import InLanding, stored_deliveries
from taxi_assets.errors import TaxiAssetsError
from taxi_assets.lake.lake import Lake
from taxi_assets.landing import Landing

NO_ROUTE: Final = "No route is set, so nothing is sent: set TAXI_ALERTS__ROUTES__NAME__URL."


@dg.sensor(
    name="alerts",
    minimum_interval_seconds=60,
    description=(
        "Sends alerts: of checks that failed, runs that failed, sensors that fail, periods that are late and files "
        "that aren't read, once each, and once more when it is over. Begins with what happens after it was switched on."
    ),
)
def alerts_sensor(
    context: dg.SensorEvaluationContext,
    landing: dg.ResourceParam[Landing],
    lake: dg.ResourceParam[Lake],
    alerts: dg.ResourceParam[Alerts],
) -> dg.SensorResult:
    if not alerts.routes:
        return dg.SensorResult(skip_reason=NO_ROUTE)
    refuse_unknown_groups(alerts, groups())
    last = last_place(context.instance)
    state = load(context.cursor).in_log_up_to(last) if context.cursor else State(start=last, place=last)
    gone = state.pending.keys() - {route.name for route in alerts.routes}
    if gone:
        context.log.warning("What routes that aren't set any more were still to be sent is dropped: %s", sorted(gone))
    # Before the runs that ended and what they stored: what ends in between still counts as going on.
    loads = Loads.of(context.instance)
    facts = Facts(
        now=time.time(),
        runs=ended_runs(context.instance, state.look_from, state.recent),
        ticks=ended_ticks(context.instance, state.ticks),
    )
    facts = _with_landing(context, landing, lake, loads, facts)
    state, says = _send(context, alerts, plan(facts, state, alerts.routes, alerts.ui), facts.now)
    return dg.SensorResult(skip_reason=says, cursor=dump(state))


def _send(context: dg.SensorEvaluationContext, alerts: Alerts, state: State, now: float) -> tuple[State, str]:
    """Send each route what is due; what can't be sent stays pending for it alone."""
    unfinished = going_on(context.instance, state.batches())
    sent = 0
    for route in alerts.routes:
        for message, notices in messages_of(state.due(route.name, unfinished, now), alerts.ui):
            wrong = route.send(message)
            if wrong:
                context.log.warning("Not sent by the route %s, and kept for the next tick: %s", route.name, wrong)
                break
            state = state.sent(route.name, notices)
            sent += 1
    left = ", ".join(f"{len(notices)} for {name}" for name, notices in state.pending.items())
    return state, f"{sent} messages sent; {f'waiting: {left}' if left else 'nothing is waiting'}."


def _with_landing(
    context: dg.SensorEvaluationContext, landing: Landing, lake: Lake, loads: Loads, facts: Facts
) -> Facts:
    """Add what landing and the lake show, as far as they can be looked into."""
    # Of runs that are still to be read some may have failed.
    is_known = len(facts.runs) < MOST_RUNS_A_LOOK
    lateness = Lateness([], set(), set(), set())
    unread: dict[str, str] = {}
    try:
        for catalog in all_catalogs():
            found = InLanding.of(catalog, landing, context.instance)
            unread.update(dict.fromkeys(found.landed.unread, catalog.file_name))
            if is_known:
                lateness = lateness.and_of(found, stored_deliveries(catalog, lake), loads)
    except TaxiAssetsError as error:
        # A landing that can't be listed is no reason to keep other alerts back.
        context.log.warning("What is late isn't known: %s", error)
        return facts
    return replace(facts, unread=unread, lateness=lateness if is_known else None)
