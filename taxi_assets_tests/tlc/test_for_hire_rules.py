"""Claims about the rules of fhv and fhvhv: for each a row that breaks it alone, and what lies just on either side.

A rule without an example here fails the tests. Cases that have nothing to do with each other stand in one frame, each
with a base of its own, which keeps them from being each other's duplicates; Spark takes seconds a frame.
"""

# Times are wall clock, without a zone.
# ruff: noqa: DTZ001

from __future__ import annotations

from datetime import date, datetime, timedelta
from decimal import Decimal
from functools import cache
from math import inf, nan
from typing import Any

import narwhals.stable.v1 as nw
import pytest

from taxi_assets.contracts import judge, validate
from taxi_assets.engines import Engine, conform
from taxi_assets.tlc.silver.any_trips import PUBLISH_LIMIT
from taxi_assets.tlc.silver.passenger_total import PARTS_OF_TOTAL
from taxi_assets.tlc.silver.trips import QUARANTINES, SILVER_TRIPS
from taxi_assets.tlc.vocabulary import FOR_HIRE, METERED, Service
from taxi_assets_tests.scenario import USUAL, bronze, collected, enriched, judged
from taxi_assets_tests.tlc.test_rules import Case, Example, broken_by_each, column, failed_rules, kept_rows

BOTH = pytest.mark.parametrize("service", FOR_HIRE)
NOON = datetime(2024, 1, 10, 12)
NEXT_MONTH = datetime(2024, 2, 1)


def after(minutes: float) -> datetime:
    return NOON + timedelta(minutes=minutes)


def of(service: Service) -> dict[str, Example]:
    """Return for each rule of a service a row that breaks it alone."""
    usual = USUAL[service]
    of_both = {
        "values_fit_their_types": Example(usual(_rescued_data='{"pickup_location_id":"JFK"}')),
        "pickup_in_file_month": Example(
            usual(
                pickup_datetime=NEXT_MONTH,
                dropoff_datetime=NEXT_MONTH + timedelta(minutes=10),
            )
        ),
        "pickup_before_dropoff": Example(usual(dropoff_datetime=NOON, trip_time=0)),
        "not_an_exact_duplicate": Example(usual(), before=(usual(),)),
        "known_zones": Example(usual(dropoff_location_id=270)),
        "plausible_duration": Example(usual(dropoff_datetime=after(24 * 60 + 1), trip_time=24 * 3_600 + 60)),
        "times_exist": Example(
            usual(
                pickup_datetime=datetime(2024, 3, 10, 2, 30),
                dropoff_datetime=datetime(2024, 3, 10, 3, 10),
                source_month=date(2024, 3, 1),
                trip_time=2_400,
            )
        ),
    }
    if service is Service.FHV:
        for example in of_both.values():
            example.row.pop("trip_time", None)
        return {
            **of_both,
            "required_values_present": Example(usual(dispatching_base_num=None)),
            "base_number_format": Example(usual(dispatching_base_num="B0001")),
        }
    return {
        **of_both,
        "required_values_present": Example(usual(hvfhs_license_num=None)),
        "positive_base_passenger_fare": Example(usual(base_passenger_fare=0.0)),
        "plausible_base_passenger_fare": Example(usual(base_passenger_fare=10_000.01)),
        "base_passenger_fare_present": Example(usual(base_passenger_fare=None)),
        "plausible_driver_pay": Example(usual(driver_pay=-0.01)),
        "plausible_trip_distance": Example(usual(trip_miles=1_000.001)),
        "positive_trip_distance": Example(usual(trip_miles=0.0)),
        "requested_before_on_scene_before_pickup": Example(usual(request_datetime=after(1))),
        "trip_time_is_duration": Example(usual(trip_time=539)),
        "known_license": Example(usual(hvfhs_license_num="HV0001")),
    }


def apart(row: dict[str, Any], number: int) -> dict[str, Any]:
    """Return a row with a base of its own for each number, so that it is no other case's duplicate."""
    name = "originating_base_num" if "hvfhs_license_num" in row else "affiliated_base_num"
    return {**row, name: f"B{number:05}"}


# --- every rule has an example, and every example its rule


@pytest.mark.fast
def test_rules_are_tested_of_every_service() -> None:
    assert {*METERED, *FOR_HIRE} == set(Service) == set(SILVER_TRIPS)


@BOTH
def test_every_rule_has_a_row_that_breaks_it_alone(engine: Engine, service: Service) -> None:
    rows: list[dict[str, Any]] = []
    at: dict[str, int] = {}
    for number, (name, example) in enumerate(of(service).items()):
        rows += [apart(row, number) for row in example.rows]
        at[name] = len(rows)
    frame = enriched(service, rows, engine=engine)
    verdict = judge(SILVER_TRIPS[service], frame, row_id="source_row")
    broken, kept, failed = broken_by_each(frame, service), kept_rows(verdict), failed_rules(verdict)

    assert {name: broken[row - 1] for name, row in at.items()} == {name: {name} for name in at}
    for rule in SILVER_TRIPS[service].rules():
        assert (at[rule.name] in kept) is not rule.quarantines, rule.name
        assert failed.get(at[rule.name]) == ([rule.name] if rule.quarantines else None)


@pytest.mark.fast
@BOTH
def test_every_rule_has_its_example_and_says_why_it_is_there(service: Service) -> None:
    rules = {rule.name: rule for rule in SILVER_TRIPS[service].rules()}

    assert set(rules) == set(of(service)), "add to the examples a row for each rule that breaks it and no other"
    for rule in rules.values():
        assert rule.why.endswith("."), rule.name
        assert rule.source, rule.name
        assert 0 <= rule.tolerance < PUBLISH_LIMIT, rule.name


def test_of_two_bases_one_that_stands_alone_dispatched_the_trip(engine: Engine) -> None:
    pairs = [("B00001", "b00002 "), ("B00001", None), (None, " b00002"), (None, None)]
    rows = [USUAL[Service.FHV](dispatching_base_num=one, second_base_num=other) for one, other in pairs]

    found = collected(enriched(Service.FHV, rows, engine=engine)).sort("source_row")

    bases = [("B00001", "B00002"), ("B00001", None), ("B00002", None), (None, None)]
    assert found.select("dispatching_base", "second_base").rows() == bases


@pytest.mark.fast
def test_these_rules_report_a_row_and_keep_it() -> None:
    reported = {
        service: {rule.name for rule in SILVER_TRIPS[service].rules() if not rule.quarantines} for service in FOR_HIRE
    }
    assert reported == {
        # Equal rows of fhv have a base and a minute, often no more: they are no proof of a row sent twice.
        Service.FHV: {"known_zones", "plausible_duration", "times_exist", "not_an_exact_duplicate"},
        Service.FHVHV: {
            "known_zones",
            "plausible_duration",
            "times_exist",
            "positive_trip_distance",
            "requested_before_on_scene_before_pickup",
            "trip_time_is_duration",
            "known_license",
            "base_passenger_fare_present",
        },
    }


# --- what lies on either side of each threshold

NOT_PUBLISHED = {
    "request_datetime", "on_scene_datetime", "originating_base_num", "trip_miles", "trip_time", "driver_pay",
    *PARTS_OF_TOTAL, "shared_request_flag", "shared_match_flag", "wav_request_flag", "wav_match_flag",
}  # fmt: skip
AUTUMN = {"source_month": date(2024, 11, 1)}
UNFIT, NO_FARE = {"values_fit_their_types"}, {"positive_base_passenger_fare"}
TOO_FAR, TOO_MUCH_PAY = {"plausible_trip_distance"}, {"plausible_driver_pay"}
OUT_OF_ORDER = {"requested_before_on_scene_before_pickup"}
TOO_DEAR = {"plausible_base_passenger_fare"}


def november(pickup: tuple[int, int], dropoff: tuple[int, int]) -> dict[str, Any]:
    """Return what makes a trip one of the night in which the clock went back from 2:00 to 1:00."""
    return AUTUMN | {
        "pickup_datetime": datetime(2024, 11, 3, *pickup),
        "dropoff_datetime": datetime(2024, 11, 3, *dropoff),
    }


CLAIMS: dict[Service, dict[str, list[Case]]] = {
    Service.FHV: {
        "a trip of a base at a time is enough": [
            ({}, set()),
            ({"dropoff_datetime": None, "pickup_location_id": None, "dropoff_location_id": None}, set()),
        ],
        "a base and a pickup time are required": [
            ({"dispatching_base_num": None}, {"required_values_present"}),
            ({"pickup_datetime": None}, {"required_values_present"}),
        ],
        "a base has a letter and five digits, whatever its case and the blanks around it": [
            ({"dispatching_base_num": number}, set() if is_one else {"base_number_format"})
            for number, is_one in (
                ("B99999", True),
                ("b00001", True),
                ("  B00001 ", True),
                ("B000011", False),
                ("B0001", False),
                ("A00001", False),
                ("BB00001", False),
                ("B0000\u0661", False),
                ("00001", False),
                ("B 00001", False),
                ("", False),
            )
        ],
        "a dropoff that is there comes after the pickup": [
            ({"dropoff_datetime": NOON}, {"pickup_before_dropoff"}),
            ({"dropoff_datetime": NOON - timedelta(seconds=1)}, {"pickup_before_dropoff"}),
            ({"dropoff_datetime": NOON + timedelta(seconds=1)}, set()),
            (november((1, 50), (1, 10)), set()),
            (november((2, 50), (2, 10)), {"pickup_before_dropoff"}),
        ],
        "a zone that is there is one of the lookup's": [
            ({"pickup_location_id": 264}, set()),
            ({"pickup_location_id": 0}, {"known_zones"}),
            ({"pickup_location_id": None, "dropoff_location_id": 270}, {"known_zones"}),
        ],
        "a value that was rescued costs its row the place only in a known column": [
            ({"_rescued_data": '{"shared_ride_flag":"yes"}'}, UNFIT),
            ({"_rescued_data": '{"_line":"B02817,2017-07-20"}'}, UNFIT),
            ({"_rescued_data": '{"mood":"good"}'}, set()),
        ],
    },
    Service.FHVHV: {
        "a usual trip breaks no rule": [({}, set())],
        "a trip of 2019, without fare, miles and request, breaks none": [(dict.fromkeys(NOT_PUBLISHED), set())],
        "whose, when and where are required": [
            ({name: None}, {"required_values_present"})
            for name in (
                "hvfhs_license_num",
                "pickup_datetime",
                "dropoff_datetime",
                "pickup_location_id",
                "dropoff_location_id",
            )
        ],
        "who dispatched it isn't": [({"dispatching_base_num": None}, set()), ({"dispatching_base_num": "?"}, set())],
        "a fare is above nothing and at most ten thousand": [
            ({"base_passenger_fare": fare}, broken)
            for fare, broken in (
                (-12.0, NO_FARE),
                (0.0, NO_FARE),
                (0.004, NO_FARE),
                (0.005, set()),
                (10_000.0, set()),
                (10_000.01, TOO_DEAR),
                (1e300, TOO_DEAR),
                (-1e300, NO_FARE),
                (nan, TOO_DEAR),
                (inf, TOO_DEAR),
                (-inf, NO_FARE),
            )
        ],
        "a fare is missing only where miles, or some other amount, are there": [
            (dict.fromkeys(NOT_PUBLISHED) | {name: value}, {"base_passenger_fare_present"})
            for name, value in (
                ("trip_miles", 2.125),
                ("trip_time", 600),
                ("driver_pay", 15.25),
                *((part, 0.0) for part in PARTS_OF_TOTAL if part != "base_passenger_fare"),
            )
        ],
        "a driver's pay is from nothing to ten thousand": [
            ({"driver_pay": pay}, broken)
            for pay, broken in (
                (0.0, set()),
                (-0.01, TOO_MUCH_PAY),
                (10_000.0, set()),
                (10_000.01, TOO_MUCH_PAY),
                (nan, TOO_MUCH_PAY),
                (-inf, TOO_MUCH_PAY),
                (1e300, TOO_MUCH_PAY),
            )
        ],
        "miles of nothing are reported, and those of a thousand and more or below nothing quarantined": [
            ({"trip_miles": miles}, broken)
            for miles, broken in (
                (0.0, {"positive_trip_distance"}),
                (0.0004, {"positive_trip_distance"}),
                (0.001, set()),
                (1_000.0, set()),
                (1_000.001, TOO_FAR),
                (-0.001, {"positive_trip_distance", *TOO_FAR}),
                (nan, TOO_FAR),
                (inf, TOO_FAR),
                (-inf, {"positive_trip_distance", *TOO_FAR}),
                (1e300, TOO_FAR),
            )
        ],
        "request, arrival and pickup come in this order, as far as they are there": [
            ({"request_datetime": NOON, "on_scene_datetime": NOON}, set()),
            ({"request_datetime": after(-1), "on_scene_datetime": after(-2)}, OUT_OF_ORDER),
            ({"on_scene_datetime": after(1)}, OUT_OF_ORDER),
            ({"request_datetime": after(1), "on_scene_datetime": None}, OUT_OF_ORDER),
            ({"request_datetime": None, "on_scene_datetime": after(1)}, OUT_OF_ORDER),
            ({"request_datetime": None, "on_scene_datetime": None}, set()),
            (
                november((1, 5), (1, 15))
                | {"request_datetime": datetime(2024, 11, 3, 1, 55), "on_scene_datetime": None},
                set(),
            ),
        ],
        "the trip's time is its duration within a minute": [
            ({"trip_time": seconds}, set() if apart <= 60 else {"trip_time_is_duration"})
            for seconds, apart in ((540, 60), (660, 60), (661, 61), (539, 61), (0, 600))
        ],
        "the time of a trip within the repeated hour is that of its true duration": [
            (
                november((1, 50), (1, 10))
                | {"trip_time": seconds, "request_datetime": None, "on_scene_datetime": None},
                broken,
            )
            for seconds, broken in ((1_200, set()), (2_400, {"trip_time_is_duration"}))
        ],
        "a licence is one of the four, whatever its case and the blanks around it": [
            ({"hvfhs_license_num": number}, broken)
            for number, broken in (
                ("HV0002", set()),
                ("HV0005", set()),
                (" hv0004", set()),
                ("HV0001", {"known_license"}),
                ("HV00033", {"known_license"}),
            )
        ],
        "every part of the total fits ten digits, and so does their sum": [
            *(
                ({part: amount}, UNFIT)
                for part in PARTS_OF_TOTAL
                if part != "base_passenger_fare"
                for amount in (1e8, -1e8, nan, inf, -inf)
            ),
            ({"tips": 60_000_000.0, "tolls": 40_000_000.0}, UNFIT),
            ({"tips": 60_000_000.0, "tolls": 39_000_000.0}, set()),
        ],
    },
}
PAIRS = [(service, claim) for service, claims in CLAIMS.items() for claim in claims]


@cache
def broken_by_claims(engine: Engine, service: Service) -> dict[str, list[set[str]]]:
    """Return for each claim the rules that each of its trips breaks; all of them stand in one frame."""
    cases = [(claim, changes) for claim, cases in CLAIMS[service].items() for changes, _ in cases]
    rows = [apart(USUAL[service](), number) | changes for number, (_, changes) in enumerate(cases)]
    found: dict[str, list[set[str]]] = {}
    for (claim, _), broken in zip(cases, broken_by_each(enriched(service, rows, engine=engine), service), strict=True):
        found.setdefault(claim, []).append(broken)
    return found


@pytest.mark.parametrize(("service", "claim"), PAIRS)
def test_each_trip_breaks_just_the_rules_that_are_claimed(engine: Engine, service: Service, claim: str) -> None:
    expected = CLAIMS[service][claim]
    found = broken_by_claims(engine, service)[claim]

    changes = [str(changes) for changes, _ in expected]
    assert list(zip(changes, found, strict=True)) == list(zip(changes, (broken for _, broken in expected), strict=True))


@BOTH
def test_whatever_is_kept_can_be_stored_and_whatever_isnt_stands_as_bronze_has_it(
    engine: Engine, service: Service
) -> None:
    cases = [changes for cases in CLAIMS[service].values() for changes, _ in cases if "source_month" not in changes]
    rows = [apart(USUAL[service](), number) | changes for number, changes in enumerate(cases)]
    contract, quarantine = SILVER_TRIPS[service], QUARANTINES[service]

    verdict = judged(service, rows, engine=engine)

    kept, quarantined = kept_rows(verdict), failed_rules(verdict)
    assert validate(contract, conform(contract, verdict.kept)) == []
    assert sorted([*kept, *quarantined]) == list(range(1, len(rows) + 1))
    stored = collected(conform(quarantine, verdict.quarantined)).sort("source_row").drop("failed_rules")
    assert stored.equals(collected(bronze(service, rows).filter(_is_in(quarantined))).select(stored.columns))


def _is_in(rows: dict[int, list[str]]) -> Any:
    return nw.col("source_row").is_in(list(rows))


# --- what silver has and bronze has not


def stored(engine: Engine, service: Service, *rows: dict[str, Any]) -> list[dict[str, Any]]:
    """Return rows as silver stores them, in the file's order."""
    frame = conform(SILVER_TRIPS[service], enriched(service, rows, engine=engine))
    return collected(frame).sort("source_row").to_dicts()


def test_a_high_volume_trip_is_stored_with_company_names_miles_and_what_the_passenger_paid(engine: Engine) -> None:
    usual = USUAL[Service.FHVHV]
    row, halves, without, by_lyft, unknown = stored(
        engine,
        Service.FHVHV,
        usual(dispatching_base_num=" b03404 ", cbd_congestion_fee=1.5),
        # Rounded one by one: 20.01 + 1.01 + 0.50 + 1.75 + 2.75 + 2.50 + 3.00, where the sum of all is 31.51.
        usual(base_passenger_fare=20.005, tolls=1.005, trip_miles=2.0005),
        usual(**dict.fromkeys(NOT_PUBLISHED)),
        usual(hvfhs_license_num="hv0005", tips=None, airport_fee=None),
        usual(hvfhs_license_num="HV0009"),
    )

    assert row["total_amount"] == Decimal("33.00"), "20 + 1 + 0.50 + 1.75 + 2.75 + 2.50 + 1.50, and 3 of tips"
    assert {name: row[name] for name in ("license_num", "company", "dispatching_base", "trip_distance")} == {
        "license_num": "HV0003",
        "company": "Uber",
        "dispatching_base": "B03404",
        "trip_distance": Decimal("2.125"),
    }
    assert {name: row[name] for name in ("pickup_date", "pickup_hour", "pickup_day_of_week", "duration_min")} == {
        "pickup_date": date(2024, 1, 10),
        "pickup_hour": 12,
        "pickup_day_of_week": 3,
        "duration_min": Decimal("10.00"),
    }
    assert [row[f"{end}_{what}"] for end in ("pickup", "dropoff") for what in ("borough", "zone")] == [
        "Queens", "JFK Airport", "Manhattan", "Midtown Center",
    ]  # fmt: skip
    assert (halves["total_amount"], halves["trip_distance"]) == (Decimal("31.52"), Decimal("2.001"))
    assert [without[name] for name in ("total_amount", "base_passenger_fare", "trip_distance")] == [None] * 3
    assert (by_lyft["company"], by_lyft["total_amount"]) == ("Lyft", Decimal("26.00"))
    assert (unknown["license_num"], unknown["company"]) == ("HV0009", "Unknown")


def test_a_for_hire_trip_without_zones_and_dropoff_is_stored_as_unknown_and_without_duration(engine: Engine) -> None:
    usual = USUAL[Service.FHV]
    bare, full = stored(
        engine,
        Service.FHV,
        usual(pickup_location_id=None, dropoff_location_id=None, dropoff_datetime=None),
        usual(second_base_num="b00900 ", affiliated_base_num=" b00254", shared_ride_flag=1),
    )

    names = ("pickup_location_id", "pickup_borough", "pickup_zone", "dropoff_borough", "dropoff_zone", "duration_min")
    assert [bare[name] for name in names] == [None, "Unknown", "Unknown", "Unknown", "Unknown", None]
    assert [full[name] for name in names] == [
        132, "Queens", "JFK Airport", "Manhattan", "Midtown Center", Decimal("10.00"),
    ]  # fmt: skip
    assert [full[name] for name in ("dispatching_base", "second_base", "affiliated_base", "shared_ride_flag")] == [
        "B00001", "B00900", "B00254", 1,
    ]  # fmt: skip


def test_a_repeat_has_the_same_base_times_and_zones_and_without_a_dropoff_there_is_none(engine: Engine) -> None:
    usual = USUAL[Service.FHV]
    rows = [
        usual(),
        usual(shared_ride_flag=1),
        usual(dispatching_base_num="B00002"),
        usual(dropoff_location_id=7),
        usual(dropoff_datetime=after(11)),
        usual(dropoff_datetime=None),
        usual(dropoff_datetime=None, shared_ride_flag=1),
    ]

    assert column(enriched(Service.FHV, rows, engine=engine), "is_repeat") == [False, True, *[False] * 5]


def test_equal_rows_are_all_kept_of_fhv_and_the_first_alone_of_fhvhv(engine: Engine) -> None:
    kept = {service: kept_rows(judged(service, [USUAL[service]()] * 3, engine=engine)) for service in FOR_HIRE}

    assert kept == {Service.FHV: [1, 2, 3], Service.FHVHV: [1]}


@BOTH
def test_half_of_a_month_may_be_quarantined_and_not_a_row_more(engine: Engine, service: Service) -> None:
    good = [apart(USUAL[service](), number) for number in range(3)]
    bad = [apart(USUAL[service](pickup_datetime=NEXT_MONTH, dropoff_datetime=None), number) for number in range(4)]

    assert judged(service, [*good, *bad[:3]], engine=engine).publishable
    assert not judged(service, [*good, *bad], engine=engine).publishable
