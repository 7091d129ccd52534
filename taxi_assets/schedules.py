"""Schedules: what is run by the clock. They are switched on in the UI, as the sensor is."""

from __future__ import annotations

import dagster as dg

from taxi_assets.jobs import MAINTENANCE


def schedules() -> list[dg.ScheduleDefinition]:
    """Return all schedules."""
    return [
        dg.ScheduleDefinition(
            name="nightly_maintenance",
            job_name=MAINTENANCE,
            # Before midnight in New York or just after it, long before anyone there asks for anything.
            cron_schedule="0 4 * * *",
            execution_timezone="UTC",
            description="Maintains every table of the lake each night at 04:00 UTC.",
        )
    ]
