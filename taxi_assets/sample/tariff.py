"""What a taxi costs, month by month: the meter and the surcharges, in cents, from TLC's fare pages.

A change within a month counts from the first whole month, so that a month has one tariff.
"""

from __future__ import annotations

from dataclasses import dataclass

from taxi_assets.calendars import Month
from taxi_assets.tlc.vocabulary import Service


@dataclass(frozen=True)
class Tariff:
    """Amounts in cents. None: the surcharge doesn't exist yet, and its column is empty."""

    first_fare: int
    unit_fare: int  # for each fifth of a mile, or a minute in slow traffic
    jfk_flat_fare: int
    rush_hour: int
    overnight: int
    improvement: int
    toll: int
    congestion: int | None
    airport: int | None
    cbd: int | None


def tariff(service: Service, month: Month) -> Tariff:
    """Return what the service charged in that month."""
    metered_2012, metered_2023 = month >= Month(2012, 9), month >= Month(2023, 1)
    congestion = 275 if service is Service.GREEN else 250
    airport = 175 if month >= Month(2023, 4) else 125
    return Tariff(
        first_fare=300 if metered_2023 else 250,
        unit_fare=70 if metered_2023 else 50 if metered_2012 else 40,
        jfk_flat_fare=7000 if metered_2023 else 5200 if metered_2012 else 4500,
        rush_hour=250 if metered_2023 else 100,
        overnight=100 if metered_2023 else 50,
        improvement=100 if metered_2023 else 30 if month >= Month(2015, 1) else 0,
        toll=694 if metered_2023 else 612,
        congestion=congestion if month >= Month(2019, 2) else None,
        airport=airport if month >= Month(2020, 11) else None,
        cbd=75 if month >= Month(2025, 1) else None,
    )
