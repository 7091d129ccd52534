"""Which months are late: those after the newest of each service, two months after their end, unless blocked."""

from __future__ import annotations

from collections.abc import Collection
from datetime import date

import pytest

from taxi_assets.alerts.lateness import lateness, services_kept
from taxi_assets.landing import LandedFile
from taxi_assets.months import Month, parse_months
from taxi_assets.tlc.trip_files import ServiceMonth, TripFiles
from taxi_assets.vocabulary import Service

pytestmark = pytest.mark.fast

IN_JUNE = date(2024, 6, 30)


def green(*months: str) -> set[ServiceMonth]:
    return {(Service.GREEN, month) for month in parse_months(months)}


def late(stored: set[ServiceMonth], blocked: Collection[ServiceMonth] = (), today: date = IN_JUNE) -> list[str]:
    """Return the months that are late, by service."""
    found = lateness(stored, TripFiles({}, ()), blocked, today).late
    return [f"{one.service} {month}" for one in found for month in one.months]


def test_the_months_after_the_newest_stored_are_late_two_months_after_their_ends() -> None:
    stored = green("2023-11", "2024-01")
    assert late(stored, today=date(2024, 4, 30)) == []
    assert late(stored, today=date(2024, 5, 1)) == ["green 2024-02"]
    assert late(stored, today=date(2024, 7, 1)) == ["green 2024-02", "green 2024-03", "green 2024-04"]


def test_a_service_that_stores_nothing_has_none_and_each_other_has_its_own() -> None:
    assert late(set()) == []
    assert late(green("2024-02") | {(Service.FHV, Month(2024, 1))}) == ["fhv 2024-02", "fhv 2024-03", "green 2024-03"]


def test_a_blocked_month_isnt_late_and_those_after_it_are() -> None:
    assert late(green("2024-01"), green("2024-02")) == ["green 2024-03"]
    assert late(green("2024-01"), green("2024-02:2024-03")) == []
    assert late(green("2024-01"), {(Service.YELLOW, Month(2024, 2))}) == ["green 2024-02", "green 2024-03"]


def test_those_of_which_a_file_has_landed_are_known() -> None:
    landed = TripFiles.of([LandedFile("green_tripdata_2024-03.parquet", 1, "a")])
    (found,) = lateness(green("2024-01"), landed, (), IN_JUNE).late
    assert found.landed == [Month(2024, 3)]


@pytest.mark.parametrize(
    ("name", "services"),
    [
        ("tlc_bronze/green_trips", {"green"}),
        ("tlc_silver/yellow_trips:rows_accounted_for", {"yellow"}),
        ("tlc_silver/fhv_trips_quarantine", {"fhv"}),
        ("tlc_bronze/zones", set(Service)),
        ("tlc_month", set(Service)),
        ("tlc_gold/nyc_taxi_daily", set()),
        ("nyctaxi_bronze/trips_raw", set()),
    ],
)
def test_what_fails_keeps_the_services_whose_trips_need_it(name: str, services: set[str]) -> None:
    assert services_kept(name) == services
