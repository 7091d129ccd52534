"""The partitions of every table of this catalog."""

from __future__ import annotations

from datetime import datetime
from typing import Final

import dagster as dg

MONTHS: Final = dg.MonthlyPartitionsDefinition(start_date=datetime(2009, 1, 1), fmt="%Y-%m", end_offset=1)  # noqa: DTZ001
"""A partition per month of pickups; Databricks' sample has 2016-01 and 2016-02, the data that it is of more."""
