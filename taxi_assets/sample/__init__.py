"""Sample files: months of each service's trips in TLC's official Parquet layout, with known faults.

They are for demos, tests and measurements; the real files come from TLC. Only files are made here, never tables.
"""

from __future__ import annotations

from taxi_assets.sample.faults import FAULTS, Fault
from taxi_assets.sample.files import FAULTS_OF, MOST_ROWS, NOTE, Planted, read_planted, refuse_to_replace, write_month
from taxi_assets.sample.layouts import services_of
from taxi_assets.sample.rides import RIDES_FILE, PlantedRides, write_rides

__all__ = [
    "FAULTS",
    "FAULTS_OF",
    "MOST_ROWS",
    "NOTE",
    "RIDES_FILE",
    "Fault",
    "Planted",
    "PlantedRides",
    "read_planted",
    "refuse_to_replace",
    "services_of",
    "write_month",
    "write_rides",
]
