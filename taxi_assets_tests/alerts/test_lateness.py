"""Which months are late: those after the newest of each service, two months after their end, unless blocked."""

from __future__ import annotations

from collections.abc import Collection

import pytest

from taxi_assets.alerts.lateness import tables_kept
from taxi_assets.calendars import Month, parse_months
from taxi_assets.deliveries.landed import Delivery, Landed, sorted_out
from taxi_assets.deliveries.lateness import late_in
from taxi_assets.landing import LandedFile, Landing
from taxi_assets.nyctaxi import NYCTAXI
from taxi_assets.tlc import TLC
from taxi_assets.tlc.vocabulary import Service

pytestmark = pytest.mark.fast

IN_JUNE = Month(2024, 6)
NOTHING = Landed({})


def green(*months: str) -> set[Delivery]:
    return {(Service.GREEN, month) for month in parse_months(months)}


def late(stored: set[Delivery], blocked: Collection[Delivery] = (), now: Month = IN_JUNE) -> list[str]:
    """Return the months that are late, by service."""
    found = late_in(TLC, stored, NOTHING, blocked, now)
    return [f"{one.feed.name} {period}" for one in found for period in one.periods]


def test_the_months_after_the_newest_stored_are_late_two_months_after_their_ends() -> None:
    stored = green("2023-11", "2024-01")
    assert late(stored, now=Month(2024, 4)) == []
    assert late(stored, now=Month(2024, 5)) == ["green 2024-02"]
    assert late(stored, now=Month(2024, 7)) == ["green 2024-02", "green 2024-03", "green 2024-04"]


def test_a_service_that_stores_nothing_has_none_and_each_other_has_its_own() -> None:
    assert late(set()) == []
    assert late(green("2024-02") | {(Service.FHV, Month(2024, 1))}) == ["fhv 2024-02", "fhv 2024-03", "green 2024-03"]


def test_a_blocked_month_isnt_late_and_those_after_it_are() -> None:
    assert late(green("2024-01"), green("2024-02")) == ["green 2024-03"]
    assert late(green("2024-01"), green("2024-02:2024-03")) == []
    assert late(green("2024-01"), {(Service.YELLOW, Month(2024, 2))}) == ["green 2024-02", "green 2024-03"]


def test_those_of_which_a_file_has_landed_are_known() -> None:
    landed = sorted_out(TLC, Landing("/nowhere", {}), [LandedFile("green_tripdata_2024-03.parquet", 1, "a")])
    (found,) = late_in(TLC, green("2024-01"), landed, (), IN_JUNE)
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
    ],
)
def test_what_fails_keeps_the_services_whose_trips_need_it(name: str, services: set[str]) -> None:
    assert tables_kept(name) == {f"tlc_silver/{service}_trips" for service in services}


@pytest.mark.parametrize("name", ["nyctaxi_bronze/trips_raw", "nyctaxi_silver/riders", "nyctaxi_month"])
def test_what_fails_of_a_catalog_with_one_feed_keeps_that(name: str) -> None:
    assert tables_kept(name) == {"nyctaxi_silver/trips_enriched"}


def test_a_feed_without_a_usual_time_is_never_late() -> None:
    assert late_in(NYCTAXI, {("trips", Month(2016, 1))}, NOTHING, (), IN_JUNE) == []
