"""Sample files: months of yellow and green trips in TLC's official Parquet layout, with known faults.

They are for demos, tests and measurements; the real files come from TLC. Only files are made here, never tables.
"""

from __future__ import annotations

from taxi_assets.sample.faults import FAULTS, Fault
from taxi_assets.sample.files import MOST_ROWS, NOTE, Planted, read_planted, write_month

__all__ = ["FAULTS", "MOST_ROWS", "NOTE", "Fault", "Planted", "read_planted", "write_month"]
