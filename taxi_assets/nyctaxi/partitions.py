"""The partitions of every table of this catalog."""

from __future__ import annotations

from typing import Final

from taxi_assets.nyctaxi import NYCTAXI

MONTHS: Final = NYCTAXI.calendar.partitions
