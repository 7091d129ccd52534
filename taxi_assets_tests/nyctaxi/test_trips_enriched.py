"""What silver makes of a ride, and which rides it doesn't take: on every engine, by values worked out by hand."""

# Times are wall clock, without a zone.
# ruff: noqa: DTZ001

from __future__ import annotations

from datetime import datetime
from math import inf, nan
from typing import Any

import pytest

from taxi_assets.contracts import judge
from taxi_assets.engines import Engine
from taxi_assets.nyctaxi.silver.trips_enriched import RIDERS, TripsEnriched, enrich
from taxi_assets_tests.nyctaxi.rides import bronze, ride
from taxi_assets_tests.scenario import collected

NOON = datetime(2016, 1, 13, 12)
NO_VALUE = {"required_values_present"}
BROKEN: dict[str, list[tuple[dict[str, Any], set[str]]]] = {
    "a ride through Manhattan breaks no rule": [({}, set())],
    "a fare is above nothing": [
        ({"fare_amount": fare}, broken)
        for fare, broken in (
            (-8.0, {"positive_fare_amount"}),
            (0.0, {"positive_fare_amount"}),
            (0.004, {"positive_fare_amount"}),
            (0.01, set()),
            (-inf, {"positive_fare_amount", "values_fit_their_types"}),
            (inf, {"values_fit_their_types"}),
            (nan, {"values_fit_their_types"}),
            (1e12, {"values_fit_their_types"}),
        )
    ],
    "a distance is above nothing": [
        ({"trip_distance": 0.0}, {"positive_trip_distance"}),
        ({"trip_distance": -1.0}, {"positive_trip_distance"}),
        ({"trip_distance": 0.01}, set()),
    ],
    "one ride can break both": [
        ({"trip_distance": 0.0, "fare_amount": 0.0}, {"positive_trip_distance", "positive_fare_amount"})
    ],
    "a missing value breaks the rule for it and no other": [
        *(
            ({name: None}, NO_VALUE)
            for name in ("tpep_pickup_datetime", "tpep_dropoff_datetime", "trip_distance", "fare_amount")
        ),
        ({"pickup_zip": None, "dropoff_zip": None}, set()),
    ],
    "a value that had to be rescued isn't lost": [
        ({"_rescued_data": '{"fare_amount":"ten"}'}, {"values_fit_their_types"}),
        ({"_rescued_data": '{"_line":"2016-01-13"}'}, {"values_fit_their_types"}),
        ({"_rescued_data": '{"vendor":"CMT"}'}, set()),
    ],
    "a ride of another month than it was put into is quarantined": [
        (
            {"tpep_pickup_datetime": datetime(1900, 1, 13, 12), "tpep_dropoff_datetime": datetime(1900, 1, 13, 13)},
            {"pickup_in_month"},
        )
    ],
    "a ride that ends when or before it begins is reported": [
        ({"tpep_dropoff_datetime": NOON}, {"pickup_before_dropoff"}),
        ({"tpep_dropoff_datetime": datetime(2016, 1, 13, 11)}, {"pickup_before_dropoff"}),
    ],
}  # fmt: skip


def test_each_ride_breaks_just_the_rules_that_are_claimed(engine: Engine) -> None:
    cases = [(claim, changes, broken) for claim, of in BROKEN.items() for changes, broken in of]
    rides = [ride(**changes, trip_key=f"{number:03}") for number, (_, changes, _) in enumerate(cases)]
    verdicts = enrich(bronze(rides, engine)).select(
        "trip_key", *(rule.breaks.alias(rule.name) for rule in TripsEnriched.rules())
    )

    for (claim, changes, broken), row in zip(cases, collected(verdicts).sort("trip_key").to_dicts(), strict=True):
        assert {name for name, breaks in row.items() if breaks is True} == broken, (claim, changes)


def test_a_ride_that_breaks_a_quarantining_rule_is_quarantined_and_one_that_is_reported_is_kept(engine: Engine) -> None:
    rides = [ride(), ride(fare_amount=-8.0), ride(tpep_dropoff_datetime=NOON)]
    verdict = judge(TripsEnriched, enrich(bronze(rides, engine)), row_id="row_id")

    assert (verdict.rows, verdict.rows_quarantined) == (3, 1)
    assert collected(verdict.quarantined)["failed_rules"].to_list() == [["positive_fare_amount"]]


@pytest.mark.fast
def test_every_rule_is_broken_by_some_ride_above_alone() -> None:
    alone = {next(iter(broken)) for cases in BROKEN.values() for _, broken in cases if len(broken) == 1}

    assert alone == {rule.name for rule in TripsEnriched.rules()}


def test_places_are_the_boroughs_and_regions_of_their_zips(engine: Engine) -> None:
    # The ends of each range, and what lies just beyond.
    places = {
        5999: "Unknown", 6000: "Connecticut", 6999: "Connecticut", 7000: "New Jersey", 8999: "New Jersey",
        9000: "Unknown", 10000: "Unknown", 10001: "Manhattan", 10282: "Manhattan", 10283: "Unknown",
        10301: "Staten Island", 10314: "Staten Island", 10315: "Unknown", 10451: "Bronx", 10475: "Bronx",
        10476: "Unknown", 10500: "Westchester", 10999: "Westchester", 11000: "Unknown", 11001: "Queens",
        11109: "Queens", 11110: "Unknown", 11201: "Brooklyn", 11256: "Brooklyn", 11351: "Queens", 11499: "Queens",
        11500: "Unknown", 11501: "Long Island", 11599: "Long Island", 11600: "Unknown", 11690: "Queens",
        11697: "Queens", 11698: "Unknown", 11701: "Long Island", 11980: "Long Island", 11981: "Unknown",
        None: "Unknown",
    }  # fmt: skip
    rows = [ride(pickup_zip=zip_code, dropoff_zip=10001, trip_key=str(zip_code)) for zip_code in places]

    found = collected(enrich(bronze(rows, engine))).sort("trip_key").to_dicts()

    assert {row["pickup_zip"]: row["pickup_borough"] for row in found} == places
    for row in found:
        known = row["pickup_borough"] != "Unknown"
        assert row["is_region_known"] == known
        assert row["is_cross_borough"] == (row["pickup_borough"] != "Manhattan" if known else None)


def test_the_time_of_day_is_that_of_the_pickup(engine: Engine) -> None:
    hours = {
        5: "night", 6: "morning", 11: "morning", 12: "afternoon", 17: "afternoon", 18: "evening", 22: "evening",
        23: "night", 0: "night",
    }  # fmt: skip
    rows = [ride(tpep_pickup_datetime=datetime(2016, 1, 13, hour, 59, 59), trip_key=str(hour)) for hour in hours]

    found = collected(enrich(bronze(rows, engine)))

    assert {int(row["trip_key"]): row["time_of_day"] for row in found.to_dicts()} == hours


def test_durations_and_fares_per_mile_are_rounded_half_up(engine: Engine) -> None:
    rows = [
        ride(tpep_dropoff_datetime=datetime(2016, 1, 13, 12, 7, 47), fare_amount=10.0, trip_distance=3.0),
        ride(tpep_dropoff_datetime=datetime(2016, 1, 13, 11, 59, 27), fare_amount=0.01, trip_distance=8.0),
        ride(trip_distance=0.0),
        ride(fare_amount=99_999_999.99, trip_distance=0.01),
    ]

    found = collected(enrich(bronze(rows, engine))).sort("trip_key")

    # 467 and -33 seconds; a third of ten dollars; 0.00125, of which the half is rounded up.
    assert [str(value) for value in found["trip_duration_minutes"]] == ["7.78", "-0.55", "10.00", "10.00"]
    assert [str(value) for value in found["fare_per_mile"]] == ["3.3333", "0.0013", "None", "9999999999.0000"]
    assert found["is_invalid_time_order"].to_list() == [False, True, False, False]


def test_a_ride_is_dealt_to_a_rider_by_its_key_alone(engine: Engine) -> None:
    rows = [ride(trip_key=f"key {number}") for number in range(200)]
    first = collected(enrich(bronze(rows, engine))).sort("trip_key")
    again = collected(enrich(bronze([{**row, "fare_amount": 1.0} for row in reversed(rows)], engine))).sort("trip_key")

    assert first["rider_id"].to_list() == again["rider_id"].to_list()
    numbers = first["rider_id"].str.strip_prefix("RDR-")
    assert numbers.str.len_chars().unique().to_list() == [5]
    assert numbers.cast(int).is_between(0, RIDERS - 1).all()
    assert numbers.n_unique() > 100
