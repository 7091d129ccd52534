"""TLC's codes and what they mean, each with its source. No transform and no rule stands here."""

from __future__ import annotations

from enum import StrEnum
from typing import Final

from taxi_assets.calendars import Month


class Service(StrEnum):
    """A TLC licence class whose trips are published as monthly files."""

    YELLOW = "yellow"
    GREEN = "green"
    FHV = "fhv"
    FHVHV = "fhvhv"


FIRST_MONTH: Final = {
    Service.YELLOW: Month(2009, 1),
    Service.GREEN: Month(2013, 8),
    Service.FHV: Month(2015, 1),
    Service.FHVHV: Month(2019, 2),
}
"""The month of the first file that TLC publishes of each service: tlc.nyc.gov, "TLC Trip Record Data"."""

METERED: Final = (Service.YELLOW, Service.GREEN)
"""Taxis: what a trip costs is counted by a taximeter."""

FOR_HIRE: Final = (Service.FHV, Service.FHVHV)
"""For-hire vehicles, which a base dispatches; FHVHV are those of high-volume companies, apart since 2019-02."""


# TLC, "Data Dictionary - Yellow Taxi Trip Records" (2025-03-18), field payment_type; 0 came with flex fares in 2025.
PAYMENT_TYPES: Final[dict[int, str]] = {
    0: "Flex Fare trip",
    1: "Credit card",
    2: "Cash",
    3: "No charge",
    4: "Dispute",
    5: "Unknown",
    6: "Voided trip",
}

# TLC, "Data Dictionary - High Volume FHV Trip Records" (2025-03-18), field hvfhs_license_num.
HVFHS_LICENSES: Final[dict[str, str]] = {
    "HV0002": "Juno",
    "HV0003": "Uber",
    "HV0004": "Via",
    "HV0005": "Lyft",
}

UNKNOWN: Final = "Unknown"
"""What stands for a zone or a code that TLC's own lists don't name."""
