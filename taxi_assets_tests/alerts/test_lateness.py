"""Which months are late: the next of each service, two months after its end, unless it is blocked."""

from __future__ import annotations

from collections.abc import Collection
from datetime import date

import pytest

from taxi_assets.alerts.lateness import lateness
from taxi_assets.months import Month, parse_months
from taxi_assets.tlc.trip_files import ServiceMonth, TripFiles
from taxi_assets.vocabulary import Service

pytestmark = pytest.mark.fast

LONG_AFTER = date(2026, 11, 30)


def green(*months: str) -> set[ServiceMonth]:
    return {(Service.GREEN, month) for month in parse_months(months)}


def late(stored: set[ServiceMonth], blocked: Collection[ServiceMonth] = (), today: date = LONG_AFTER) -> list[str]:
    """Return the months that are late, by service."""
    found = lateness(stored, TripFiles({}, ()), blocked, today).late
    return [f"{service} {month}" for service, month in (one.service_month for one in found)]


def test_the_month_after_the_newest_stored_is_late_two_months_after_its_end() -> None:
    stored = green("2023-11", "2024-01")
    assert late(stored, today=date(2024, 4, 30)) == []
    assert late(stored, today=date(2024, 5, 1)) == late(stored) == ["green 2024-02"]


def test_a_service_that_stores_nothing_has_none_and_each_other_has_its_own() -> None:
    assert late(set()) == []
    assert late(green("2024-01") | {(Service.FHV, Month(2023, 6))}) == ["green 2024-02", "fhv 2023-07"]


def test_a_blocked_month_isnt_late_and_the_next_one_that_isnt_blocked_is() -> None:
    assert late(green("2024-01"), green("2024-02:2024-03")) == ["green 2024-04"]
    assert late(green("2024-01"), green("2024-02:2024-03"), date(2024, 6, 30)) == []
    assert late(green("2024-01"), {(Service.YELLOW, Month(2024, 2))}) == ["green 2024-02"]
