"""Claims about the rules of yellow and green: for each a row that breaks it alone, and what lies just on either side.

A rule without an example here fails the tests. How rules are counted and rows are split: contracts/test_judge.py.

Spark takes seconds a frame, however small. So cases that have nothing to do with each other stand in one frame, under
vendors of their own, which keeps them from being each other's duplicates and refunds.
"""

# Times are wall clock, without a zone.
# ruff: noqa: DTZ001

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from functools import cache
from math import inf, nan
from typing import Any

import narwhals.stable.v1 as nw
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from taxi_assets.calendars import Month
from taxi_assets.contracts import Frame, Verdict, judge, validate
from taxi_assets.engines import Engine, conform
from taxi_assets.tlc.bronze.trips import BRONZE_TRIPS
from taxi_assets.tlc.silver.any_trips import PUBLISH_LIMIT
from taxi_assets.tlc.silver.metered_trips import PARTS_OF_TOTAL
from taxi_assets.tlc.silver.trips import SILVER_TRIPS
from taxi_assets.tlc.vocabulary import METERED, Service
from taxi_assets_tests.scenario import PART_OF_ITS_OWN, POLARS, collected, enriched, judged, trip, trips

BOTH = pytest.mark.parametrize("service", METERED)
NOON = datetime(2024, 1, 10, 12)


@dataclass(frozen=True)
class Example:
    """A row that breaks one rule alone, and the rows that stand before it in the file, if it takes some."""

    row: dict[str, Any]
    before: tuple[dict[str, Any], ...] = ()

    @property
    def rows(self) -> list[dict[str, Any]]:
        return [*self.before, self.row]


def in_march(pickup: tuple[int, int], dropoff: tuple[int, int]) -> dict[str, Any]:
    """Return the times of a trip in the night of 2024 whose clocks went from 2:00 to 3:00."""
    night = date(2024, 3, 10)
    times = {"pickup_datetime": time(*pickup), "dropoff_datetime": time(*dropoff)}
    return {name: datetime.combine(night, at) for name, at in times.items()} | {"source_month": date(2024, 3, 1)}


REFUND = {"fare_amount": -12.0, "total_amount": -20.0}

JFK = {"pickup_longitude": -73.7781, "pickup_latitude": 40.6413}

_2098 = datetime(2098, 1, 10, 12)

EXAMPLES = {
    "required_values_present": Example(trip(pickup_location_id=None)),
    "values_fit_their_types": Example(trip(tip_amount=1e12, total_amount=1e12 + 17.0)),
    "pickup_in_file_month": Example(trip(pickup_datetime=_2098, dropoff_datetime=_2098 + timedelta(minutes=10))),
    "pickup_before_dropoff": Example(trip(dropoff_datetime=NOON - timedelta(minutes=1))),
    "positive_fare_amount": Example(trip(fare_amount=0.0, total_amount=8.0)),
    "positive_trip_distance": Example(trip(trip_distance=0.0)),
    "plausible_fare_amount": Example(trip(fare_amount=1_000_000.0, total_amount=1_000_008.0)),
    "plausible_trip_distance": Example(trip(trip_distance=1_000.01, dropoff_datetime=NOON + timedelta(hours=11))),
    "not_an_exact_duplicate": Example(trip(), before=(trip(),)),
    "known_zones": Example(trip(dropoff_location_id=270)),
    "coordinates_in_a_zone": Example(trip(pickup_location_id=None, pickup_longitude=0.0, pickup_latitude=0.0)),
    "times_exist": Example(trip(**in_march((2, 30), (3, 10)))),
    "plausible_duration": Example(trip(dropoff_datetime=datetime(3019, 2, 5))),
    "known_payment_type": Example(trip(payment_type=9)),
    "plausible_passenger_count": Example(trip(passenger_count=7)),
    "total_amount_present": Example(trip(total_amount=None)),
    "total_is_sum_of_parts": Example(trip(total_amount=20.01)),
    "plausible_speed": Example(trip(trip_distance=17.0)),
    "not_reversed": Example(trip(), before=(trip(**REFUND),)),
}  # fmt: skip

Case = tuple[dict[str, Any], set[str]]
"""What is changed of a usual trip, and the rules that it breaks then."""


def broken_by_each(frame: Frame, service: Service) -> list[set[str]]:
    """Return for each row of some enriched trips, in the file's order, the names of the rules that it breaks."""
    verdicts = frame.select("source_row", *(rule.breaks.alias(rule.name) for rule in SILVER_TRIPS[service].rules()))
    return [
        {name for name, breaks in row.items() if name != "source_row" and breaks}
        for row in collected(verdicts).sort("source_row").to_dicts()
    ]


def kept_rows(verdict: Verdict) -> list[int]:
    found: list[int] = collected(verdict.kept.select("source_row"))["source_row"].sort().to_list()
    return found


def failed_rules(verdict: Verdict) -> dict[int, list[str]]:
    return dict(collected(verdict.quarantined.select("source_row", "failed_rules")).sort("source_row").rows())


def column(frame: Frame, name: str) -> list[Any]:
    """Return a column of a frame, in the file's order."""
    found: list[Any] = collected(frame.select("source_row", name)).sort("source_row")[name].to_list()
    return found


# --- every rule has an example, and every example its rule


@BOTH
def test_every_rule_has_a_row_that_breaks_it_alone(engine: Engine, service: Service) -> None:
    rows: list[dict[str, Any]] = []
    at: dict[str, int] = {}
    for vendor, (name, example) in enumerate(EXAMPLES.items()):
        rows += [row | {"vendor_id": vendor} for row in example.rows]
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
def test_every_rule_has_its_example_and_every_example_is_of_a_rule_that_exists(service: Service) -> None:
    names = {rule.name for rule in SILVER_TRIPS[service].rules()}

    assert names <= set(EXAMPLES), "add to EXAMPLES a row for each of these that breaks it and no other rule"
    assert set(EXAMPLES) == names


@pytest.mark.fast
@BOTH
def test_these_rules_report_a_row_and_keep_it(service: Service) -> None:
    assert {rule.name for rule in SILVER_TRIPS[service].rules() if not rule.quarantines} >= {
        "known_zones",
        "known_payment_type",
        "plausible_passenger_count",
        "total_amount_present",
        "total_is_sum_of_parts",
        "plausible_speed",
        "not_reversed",
    }


@pytest.mark.fast
@BOTH
def test_every_rule_says_why_it_exists_and_where_its_threshold_comes_from(service: Service) -> None:
    for rule in SILVER_TRIPS[service].rules():
        assert rule.why.endswith("."), rule.name
        assert rule.source, rule.name
        assert 0 <= rule.tolerance < PUBLISH_LIMIT, rule.name


# --- what lies on either side of each threshold

# No total, so that amounts of any size are not also a sum that is wrong; `claims` adds that it is missing.
NO_TOTAL = {"total_amount": None}
HALF_A_DAY = {"dropoff_datetime": NOON + timedelta(hours=11)}
NO_NUMBERS = (nan, inf, -inf)
LARGEST, TOO_LARGE = (99_999_999.99, -99_999_999.99), (100_000_000.0, -100_000_000.0, 1e12, 1e300, -1e300)

# The clock went back from 2:00 to 1:00 on Sunday 2024-11-03; the Sunday after is as any other. Day and time of pickup
# and dropoff, and the minutes between them, if the trip may have ended before it began or did not.
IN_NOVEMBER: list[tuple[tuple[int, int, int], tuple[int, int, int], int | None]] = [
    ((3, 1, 50), (3, 1, 10), 20),
    ((3, 1, 59), (3, 1, 0), 1),
    ((3, 1, 10), (3, 1, 50), 40),
    ((3, 0, 50), (3, 1, 10), 20),
    ((3, 1, 30), (3, 1, 30), None),
    ((3, 2, 50), (3, 2, 10), None),
    ((3, 2, 5), (3, 1, 55), None),
    ((3, 1, 5), (3, 0, 55), None),
    ((10, 1, 50), (10, 1, 10), None),
    ((4, 1, 50), (4, 1, 10), None),
    ((10, 1, 50), (3, 1, 10), None),
]


def in_november(pickup: tuple[int, int, int], dropoff: tuple[int, int, int]) -> dict[str, Any]:
    """Return what makes a trip one of November 2024, half a mile long."""
    return {
        "pickup_datetime": datetime(2024, 11, *pickup),
        "dropoff_datetime": datetime(2024, 11, *dropoff),
        "source_month": date(2024, 11, 1),
        "trip_distance": 0.5,
    }


def from_pickup(pickup: datetime) -> dict[str, Any]:
    """Return what makes a trip begin at some time and last as long as the usual one."""
    return {"pickup_datetime": pickup, "dropoff_datetime": pickup + timedelta(minutes=10)}


def claims(service: Service) -> dict[str, list[Case]]:
    """Return which rules trips break, each alone, but for the one that says that the total is missing; by claim."""
    own = PART_OF_ITS_OWN[service]
    # The fare has a threshold of its own.
    other_parts = [name for name in (*PARTS_OF_TOTAL, own) if name != "fare_amount"]
    dictionary_codes, zones_listed, zones_unlisted = range(7), (1, 264, 265), (-1, 0, 266, 270)
    unfit, not_the_sum = {"values_fit_their_types"}, {"total_is_sum_of_parts"}
    no_value = {"required_values_present"}
    required = ("pickup_datetime", "dropoff_datetime", "pickup_location_id", "dropoff_location_id", "trip_distance")
    without_codes = ("payment_type", "passenger_count", "rate_code_id", "store_and_fwd_flag", "congestion_surcharge")
    alone: dict[str, list[Case]] = {
        "a usual trip breaks no rule": [({}, set())],
        # --- amounts and distances
        "a fare is above nothing and under a million": [
            (NO_TOTAL | {"fare_amount": fare}, broken)
            for fare, broken in (
                (-12.0, {"positive_fare_amount"}),
                (-0.01, {"positive_fare_amount"}),
                (-0.0, {"positive_fare_amount"}),
                (0.0, {"positive_fare_amount"}),
                (0.01, set()),
                (999_999.99, set()),
                (1_000_000.0, {"plausible_fare_amount"}),
                (1e12, {"plausible_fare_amount"}),
                (-1e12, {"positive_fare_amount"}),
                (1e300, {"plausible_fare_amount"}),
                (-1e300, {"positive_fare_amount"}),
            )
        ],
        "a distance is above nothing and at most a thousand miles": [
            (HALF_A_DAY | {"trip_distance": distance}, broken)
            for distance, broken in (
                (-2.0, {"positive_trip_distance"}),
                (0.0, {"positive_trip_distance"}),
                (0.01, set()),
                (1_000.0, set()),
                (1_000.01, {"plausible_trip_distance"}),
                (1e12, {"plausible_trip_distance", "plausible_speed"}),
                (1e300, {"plausible_trip_distance", "plausible_speed"}),
                (-1e300, {"positive_trip_distance"}),
            )
        ],
        "half a cent and half a hundredth of a mile are judged as what they are rounded to": [
            (NO_TOTAL | {"fare_amount": 0.004}, {"positive_fare_amount"}),
            (NO_TOTAL | {"fare_amount": 0.005}, set()),
            (NO_TOTAL | {"fare_amount": 999_999.994}, set()),
            (NO_TOTAL | {"fare_amount": 999_999.995}, {"plausible_fare_amount"}),
            ({"trip_distance": 0.004}, {"positive_trip_distance"}),
            ({"trip_distance": 0.005}, set()),
            (NO_TOTAL | {"tip_amount": 99_999_999.994}, set()),
            (NO_TOTAL | {"tip_amount": 99_999_999.995}, unfit),
            (NO_TOTAL | {"tip_amount": -99_999_999.995}, unfit),
        ],
        "what is no finite number breaks a rule that quarantines": [
            (NO_TOTAL | {"fare_amount": nan}, {"plausible_fare_amount"}),
            (NO_TOTAL | {"fare_amount": inf}, {"plausible_fare_amount"}),
            (NO_TOTAL | {"fare_amount": -inf}, {"positive_fare_amount"}),
            ({"trip_distance": nan}, {"plausible_trip_distance", "plausible_speed"}),
            ({"trip_distance": inf}, {"plausible_trip_distance", "plausible_speed"}),
            ({"trip_distance": -inf}, {"positive_trip_distance"}),
            *(({"total_amount": value}, unfit | not_the_sum) for value in NO_NUMBERS),
            *((NO_TOTAL | {name: value}, unfit) for name in other_parts for value in NO_NUMBERS),
        ],
        "an amount fits ten digits": [
            *(({"total_amount": amount}, not_the_sum) for amount in LARGEST),
            *(({"total_amount": amount}, unfit | not_the_sum) for amount in TOO_LARGE),
            *((NO_TOTAL | {name: amount}, set()) for name in other_parts for amount in LARGEST),
            *((NO_TOTAL | {name: amount}, unfit) for name in other_parts for amount in TOO_LARGE),
        ],
        "a rescued value costs its row the place only in a known column": [
            ({"_rescued_data": '{"tip_amount":"free"}'}, unfit),
            ({"_rescued_data": '{"mood":"good","pickup_location_id":"JFK"}'}, unfit),
            ({"_rescued_data": '{"mood":"good"}'}, set()),
            ({"_rescued_data": '{"my_tip_amount":"free"}'}, set()),
            ({"_rescued_data": '{"mood":"tip_amount"}'}, set()),
            ({"_rescued_data": None}, set()),
        ],
        "the total is the sum to the cent": [
            ({"total_amount": 20.0}, set()),
            ({"total_amount": 20.004}, set()),
            ({"total_amount": 20.01}, not_the_sum),
            ({"total_amount": 19.99}, not_the_sum),
            ({"total_amount": None}, set()),
        ],
        "every part counts into the total, the service's own included": [
            case
            for part in (*PARTS_OF_TOTAL, own)
            for more in [{part: trip().get(part, 0.0) + 1.75}]
            for case in [(more | {"total_amount": 21.75}, set()), (more, not_the_sum)]
        ],
        # --- times
        "the pickup lies between the month's first and last microsecond": [
            (from_pickup(datetime(2024, 1, 1)), set()),
            (from_pickup(datetime(2024, 1, 31, 23, 59, 59, 999_999)), set()),
            *(
                (from_pickup(pickup), {"pickup_in_file_month"})
                for pickup in (
                    datetime(2023, 12, 31, 23, 59, 59, 999_999),
                    datetime(2024, 2, 1),
                    datetime(2023, 1, 15),
                    datetime(1900, 1, 10, 12),
                    _2098,
                )
            ),
        ],
        "the dropoff comes after the pickup": [
            ({"dropoff_datetime": datetime(1900, 1, 10, 12)}, {"pickup_before_dropoff"}),
            ({"dropoff_datetime": NOON - timedelta(seconds=1)}, {"pickup_before_dropoff"}),
            ({"dropoff_datetime": NOON}, {"pickup_before_dropoff"}),
            ({"dropoff_datetime": NOON + timedelta(microseconds=1)}, set()),
            ({"dropoff_datetime": NOON + timedelta(seconds=72)}, set()),
            ({"dropoff_datetime": NOON + timedelta(days=1)}, set()),
            ({"dropoff_datetime": NOON + timedelta(days=1, seconds=1)}, {"plausible_duration"}),
            ({"dropoff_datetime": datetime(9999, 12, 31, 23, 59, 59, 999_999)}, {"plausible_duration"}),
        ],
        "only in autumn's repeated hour may a trip end before it begins": [
            (in_november(pickup, dropoff), {"pickup_before_dropoff"} if minutes is None else set())
            for pickup, dropoff, minutes in IN_NOVEMBER
        ],
        "no clock shows the hour that spring skips": [
            (in_march((1, 45), (3, 0)), set()),
            (in_march((2, 0), (3, 10)), {"times_exist"}),
            (in_march((1, 50), (2, 59)), {"times_exist"}),
            *(
                (
                    {
                        "pickup_datetime": datetime(2024, month, day, 2, 30),
                        "dropoff_datetime": datetime(2024, month, day, 2, 40),
                        "source_month": date(2024, month, 1),
                    },
                    set(),
                )
                for month, day in ((3, 3), (3, 9), (3, 17), (4, 14))
            ),
        ],
        "coordinates stand for zones that are missing, and are asked for nothing else": [
            ({"pickup_location_id": None, **JFK}, set()),
            ({"pickup_location_id": None, **JFK, "pickup_longitude": None}, no_value),
            ({**JFK, "pickup_latitude": 0.0}, set()),
            *(
                (
                    {"pickup_location_id": None, "pickup_longitude": x, "pickup_latitude": y},
                    {"coordinates_in_a_zone"},
                )
                # A meter without a position; Hoboken; the Atlantic; what isn't on earth; no numbers.
                for x, y in ((0.0, 0.0), (-74.0301, 40.744), (-73.5, 40.4), (-740.0, 40.7), (nan, nan), (inf, 40.7))
            ),
        ],
        "the repeated hour is November's alone": [
            (
                {
                    "pickup_datetime": datetime(2024, 3, 3, 1, 50),
                    "dropoff_datetime": datetime(2024, 3, 3, 1, 10),
                    "source_month": date(2024, 3, 1),
                },
                {"pickup_before_dropoff"},
            )
        ],
        "no taxi is faster than a hundred miles an hour": [
            ({"trip_distance": distance, "dropoff_datetime": NOON + timedelta(minutes=minutes)}, broken)
            for distance, minutes, broken in (
                (10.0, 6, set()),
                (10.01, 6, {"plausible_speed"}),
                (100.0, 60, set()),
                (100.01, 60, {"plausible_speed"}),
            )
        ],
        # --- what is missing
        "a missing required value breaks the rule for it and no other": [
            *(({name: None}, no_value) for name in required),
            ({"fare_amount": None, "total_amount": 8.0}, no_value),
        ],
        "the rows without codes that each month has break no rule": [
            (dict.fromkeys(without_codes) | {"total_amount": 17.5}, set())
        ],
        "a row of nothing but nulls breaks the rules for missing values alone": [(dict.fromkeys(trip()), no_value)],
        "a total of nothing is one": [({"total_amount": 0.0}, not_the_sum), ({"total_amount": -20.0}, not_the_sum)],
        # --- codes
        "a zone that the lookup lacks is reported": [
            case
            for end in ("pickup_location_id", "dropoff_location_id")
            for case in (
                *(({end: zone}, set()) for zone in zones_listed),
                *(({end: zone}, {"known_zones"}) for zone in zones_unlisted),
            )
        ],
        "a payment code that TLC does not list is reported": [
            *(({"payment_type": code}, set()) for code in dictionary_codes),
            *(({"payment_type": code}, {"known_payment_type"}) for code in (-1, 7, 9)),
        ],
        "one to six passengers are plausible": [
            *(({"passenger_count": count}, set()) for count in range(1, 7)),
            *(({"passenger_count": count}, {"plausible_passenger_count"}) for count in (-1, 0, 7)),
        ],
    }  # fmt: skip
    return {
        claim: [
            (changes, broken | {"total_amount_present"} if changes.get("total_amount", 0.0) is None else broken)
            for changes, broken in cases
        ]
        for claim, cases in alone.items()
    }


@cache
def broken_by_claims(engine: Engine, service: Service) -> dict[str, list[set[str]]]:
    """Return for each claim the rules that each of its trips breaks; all of them stand in one frame."""
    cases = [(claim, changes) for claim, cases in claims(service).items() for changes, _ in cases]
    rows = [trip(**{"vendor_id": vendor, **changes}) for vendor, (_, changes) in enumerate(cases)]
    found: dict[str, list[set[str]]] = {}
    for (claim, _), broken in zip(cases, broken_by_each(enriched(service, rows, engine=engine), service), strict=True):
        found.setdefault(claim, []).append(broken)
    return found


@BOTH
@pytest.mark.parametrize("claim", claims(Service.YELLOW))
def test_each_trip_breaks_just_the_rules_that_are_claimed(engine: Engine, service: Service, claim: str) -> None:
    expected = claims(service)[claim]
    found = broken_by_claims(engine, service)[claim]

    # As text, for nan isn't equal to nan.
    changes = [str(changes) for changes, _ in expected]
    assert list(zip(changes, found, strict=True)) == list(zip(changes, (broken for _, broken in expected), strict=True))


@pytest.mark.fast
def test_what_is_claimed_to_be_quarantined_breaks_a_rule_that_quarantines() -> None:
    for service in METERED:
        quarantining = {rule.name for rule in SILVER_TRIPS[service].rules() if rule.quarantines}
        for _, broken in claims(service)["what is no finite number breaks a rule that quarantines"]:
            assert broken & quarantining


def test_a_trip_of_the_repeated_hour_lasts_as_long_as_it_truly_did(engine: Engine) -> None:
    possible = [(in_november(*ends), minutes) for *ends, minutes in IN_NOVEMBER if minutes is not None]
    frame = enriched(Service.YELLOW, [trip(**changes) for changes, _ in possible], Month(2024, 11), engine)

    assert column(frame, "duration_min") == [minutes for _, minutes in possible]


def test_a_trip_across_a_change_of_the_clock_lasts_as_long_as_it_truly_did(engine: Engine) -> None:
    cases = [
        # 2:00 is 3:00.
        (in_march((1, 50), (3, 10)), 20),
        (in_march((1, 50), (1, 59)), 9),
        (in_march((3, 10), (4, 10)), 60),
        # 1:00 to 2:00 comes twice.
        (in_november((3, 0, 50), (3, 2, 10)), 140),
        (in_november((3, 2, 0), (3, 2, 10)), 10),
        # Over midnight, into the night and out of it.
        (in_november((2, 23, 30), (3, 2, 30)), 240),
        (in_november((3, 0, 30), (4, 0, 30)), 25 * 60),
        (in_november((2, 23, 30), (3, 0, 30)), 60),
        ({"pickup_datetime": datetime(2024, 3, 9, 23, 30), "dropoff_datetime": datetime(2024, 3, 10, 3, 30)}, 180),
        # A week before no clock changes.
        ({"pickup_datetime": datetime(2024, 3, 3, 1, 50), "dropoff_datetime": datetime(2024, 3, 3, 3, 10)}, 80),
        ({"pickup_datetime": datetime(2024, 10, 27, 0, 50), "dropoff_datetime": datetime(2024, 10, 27, 2, 10)}, 80),
    ]
    frame = enriched(Service.YELLOW, [trip(**changes) for changes, _ in cases], engine=engine)

    assert column(frame, "duration_min") == [minutes for _, minutes in cases]


def test_a_place_is_in_the_zone_whose_shape_holds_it(engine: Engine) -> None:
    # LocationIDs from TLC's map of the zones.
    places = {
        (-73.7781, 40.6413): 132,  # JFK Airport
        (-73.8740, 40.7769): 138,  # LaGuardia Airport
        (-73.9855, 40.7580): 230,  # Times Square
        (-73.9654, 40.7829): 43,  # Central Park
        (-74.1745, 40.6895): 1,  # Newark Airport
        (-74.0445, 40.6892): 103,  # Liberty Island, whose shape stands in the file once for each of three islands
        (0.0, 0.0): None,
    }
    rows = [
        trip(**{f"{end}_location_id": None, f"{end}_longitude": x, f"{end}_latitude": y}, vendor_id=number)
        for number, (x, y) in enumerate(places)
        for end in ("pickup", "dropoff")
    ]

    frame = enriched(Service.YELLOW, rows, engine=engine)

    assert column(frame, "pickup_location_id")[::2] == list(places.values())
    assert column(frame, "dropoff_location_id")[1::2] == list(places.values())
    assert column(frame, "pickup_borough")[::2] == ["Queens", *["Brooklyn"] * 5, "Unknown"]


def test_what_is_kept_still_keeps_the_rules_once_it_is_rounded(engine: Engine) -> None:
    # The last keeps all rules whatever happens to the others.
    rows = [
        trip(fare_amount=0.004, total_amount=8.004),
        trip(fare_amount=0.005, total_amount=8.005),
        trip(fare_amount=999_999.994, total_amount=1_000_007.994),
        trip(fare_amount=999_999.996, total_amount=1_000_007.996),
        trip(trip_distance=0.004),
        trip(trip_distance=0.005),
        trip(trip_distance=1_000.004, **HALF_A_DAY),
        trip(tip_amount=99_999_999.994),
        trip(tip_amount=99_999_999.995),
        trip(passenger_count=2),
    ]
    contract = SILVER_TRIPS[Service.GREEN]
    verdict = judged(Service.GREEN, rows, engine=engine)

    assert len(rows) in kept_rows(verdict)
    assert validate(contract, conform(contract, verdict.kept)) == []


# --- rows that are like other rows


@BOTH
def test_only_the_first_of_equal_rows_is_kept(engine: Engine, service: Service) -> None:
    verdict = judged(service, [trip(), trip(passenger_count=2), trip(), trip()], engine=engine)

    assert kept_rows(verdict) == [1, 2]
    assert failed_rules(verdict) == {3: ["not_an_exact_duplicate"], 4: ["not_an_exact_duplicate"]}


def test_rows_that_differ_in_one_column_are_no_duplicates(engine: Engine) -> None:
    about_the_file = {"source_file", "source_row", "source_fingerprint", "ingested_at", "source_month"}
    others = {nw.Int32: 7, nw.Float64: 7.25, nw.String: "other", nw.Datetime: NOON + timedelta(minutes=11)}
    differences: list[dict[str, Any]] = [
        {"store_and_fwd_flag": None},
        {"pickup_datetime": NOON + timedelta(microseconds=1)},
        *(
            {column.name: other}
            for column in BRONZE_TRIPS[Service.GREEN].columns()
            for dtype, other in others.items()
            if column.name not in about_the_file and column.dtype.narwhals == dtype
        ),
    ]
    assert len(differences) == 2 + len(BRONZE_TRIPS[Service.GREEN].columns()) - len(about_the_file)

    frame = enriched(Service.GREEN, [trip(), *(trip(**difference) for difference in differences)], engine=engine)
    assert column(frame, "is_duplicate") == [False] * (len(differences) + 1)


def test_equal_rows_are_duplicates_though_values_are_missing_and_their_provenance_differs(engine: Engine) -> None:
    twin = trip(source_file="other.parquet", source_fingerprint="1" * 64, ingested_at=NOON)
    without, no_number = trip(passenger_count=None, payment_type=None), trip(extra=nan)
    nothing, less_nothing = trip(extra=0.0), trip(extra=-0.0)
    rows = [trip(), twin, without, without, no_number, no_number, nothing, less_nothing]

    assert column(enriched(Service.GREEN, rows, engine=engine), "is_duplicate") == [False, True] * 4


def test_a_later_row_with_the_same_times_is_a_repeat_and_one_that_shares_one_of_them_is_none(engine: Engine) -> None:
    rows = [
        trip(),
        trip(pickup_datetime=NOON + timedelta(minutes=1)),
        trip(vendor_id=1, fare_amount=9.0, total_amount=17.0),
        trip(passenger_count=2),
        trip(dropoff_datetime=NOON + timedelta(minutes=11)),
    ]

    assert column(judged(Service.YELLOW, rows, engine=engine).kept, "is_repeat") == [False, False, True, True, False]


@BOTH
def test_of_charge_and_refund_the_charge_is_reversed_and_the_refund_is_quarantined(
    engine: Engine, service: Service
) -> None:
    # Once the charge comes first, once the refund.
    rows = [trip(vendor_id=1), trip(vendor_id=1, **REFUND), trip(vendor_id=2, **REFUND), trip(vendor_id=2)]
    verdict = judged(service, rows, engine=engine)

    assert failed_rules(verdict) == {2: ["positive_fare_amount"], 3: ["positive_fare_amount"]}
    assert column(verdict.kept, "is_reversed") == [True, True]
    assert {result.rule.name: result.rows_failing for result in verdict.results}["not_reversed"] == 2


def test_a_refund_that_differs_in_ride_or_amount_reverses_nothing(engine: Engine) -> None:
    others: list[dict[str, Any]] = [
        {"vendor_id": 1},
        {"pickup_datetime": NOON - timedelta(seconds=1)},
        {"dropoff_datetime": NOON + timedelta(minutes=11)},
        {"pickup_location_id": 7},
        {"dropoff_location_id": 7},
        {"fare_amount": -11.5},
        {"total_amount": -19.5},
    ]
    rows = [trip(), *(trip(**{**REFUND, **other}) for other in others)]

    assert not any(column(enriched(Service.GREEN, rows, engine=engine), "is_reversed"))


def test_two_refunds_of_one_charge_leave_it_one_row(engine: Engine) -> None:
    frame = enriched(Service.GREEN, [trip(), trip(**REFUND), trip(**REFUND, tip_amount=-3.0)], engine=engine)

    assert column(frame, "is_reversed") == [True, False, False]


# --- the verdict on a month


def test_a_row_names_all_quarantining_rules_that_it_breaks_in_the_contracts_order(engine: Engine) -> None:
    worst = trip(
        pickup_datetime=_2098,
        dropoff_datetime=_2098,
        fare_amount=0.0,
        trip_distance=0.0,
        payment_type=9,
        passenger_count=0,
        dropoff_location_id=270,
        tip_amount=1e12,
    )

    assert failed_rules(judged(Service.GREEN, [worst, worst], engine=engine))[2] == [
        "values_fit_their_types",
        "pickup_in_file_month",
        "pickup_before_dropoff",
        "not_an_exact_duplicate",
        "positive_fare_amount",
        "positive_trip_distance",
    ]


@BOTH
def test_half_of_a_month_may_be_quarantined_and_not_a_row_more(engine: Engine, service: Service) -> None:
    good, bad = trips(4), trips(5, fare_amount=0.0)

    assert judged(service, [*good, *bad[:4]], engine=engine).publishable
    assert not judged(service, [*good, *bad], engine=engine).publishable


@pytest.mark.parametrize(("service", "tolerance"), [(Service.GREEN, 0.02), (Service.YELLOW, 0.06)])
def test_a_rule_fails_once_more_rows_break_it_than_the_service_tolerates(
    engine: Engine, service: Service, tolerance: float
) -> None:
    tolerated = round(100 * tolerance)

    for bad, passed in ((tolerated, True), (tolerated + 1, False)):
        rows = [*trips(100 - bad), *trips(bad, fare_amount=0.0, total_amount=8.0)]
        result = next(r for r in judged(service, rows, engine=engine).results if r.rule.name == "positive_fare_amount")
        assert (result.rows_failing, result.rows, result.passed) == (bad, 100, passed)


A_MONTH = st.datetimes(datetime(2023, 12, 30), datetime(2024, 2, 2))
SOME_TRIP = st.fixed_dictionaries(
    {},
    optional={
        "pickup_datetime": st.none() | A_MONTH,
        "dropoff_datetime": st.none() | A_MONTH,
        "pickup_location_id": st.none() | st.integers(0, 270),
        "payment_type": st.none() | st.integers(-1, 9),
        "passenger_count": st.none() | st.integers(-1, 9),
        "trip_distance": st.none() | st.floats(),
        "fare_amount": st.none() | st.floats(),
        "tip_amount": st.none() | st.floats(),
        "total_amount": st.none() | st.floats(),
        "_rescued_data": st.sampled_from([None, '{"mood":"good"}', '{"extra":"x"}']),
    },
)


# On Polars alone: each example is a frame. What such rows hold is put before both engines below.
@pytest.mark.fast
@settings(max_examples=12, deadline=None, derandomize=True, phases=[Phase.generate])
@given(changes=st.lists(SOME_TRIP, max_size=12), service=st.sampled_from(METERED))
def test_whatever_the_rows_each_is_kept_or_quarantined_and_what_is_kept_can_be_stored(
    changes: Sequence[dict[str, Any]], service: Service
) -> None:
    verdict = judged(service, [trip(**change) for change in changes])
    contract = SILVER_TRIPS[service]

    quarantined = failed_rules(verdict)
    assert sorted([*kept_rows(verdict), *quarantined]) == list(range(1, len(changes) + 1))
    assert len(quarantined) == verdict.rows_quarantined
    assert all(quarantined.values())
    assert validate(contract, conform(contract, verdict.kept)) == []


# --- Spark and Polars


@pytest.mark.full
@BOTH
def test_of_odd_values_spark_computes_and_stores_what_polars_does(spark: Engine, service: Service) -> None:
    # Amounts around the cents' halves, and one whose double lies below its half.
    amounts = (None, nan, inf, -inf, 1e300, -1e300, 5e-324, -0.0, 0.004, 0.005, 1.005, 2.675, -1.005, 20.005, 1e8)
    times = (
        None,
        datetime(1, 1, 1),
        datetime(1900, 1, 1),
        NOON - timedelta(microseconds=1),
        NOON + timedelta(seconds=1, microseconds=-1),
        datetime(2024, 11, 3, 1, 30),
        _2098,
        datetime(9999, 12, 31, 23, 59, 59, 999_999),
    )
    odd: dict[str, Sequence[Any]] = {
        **dict.fromkeys((*PARTS_OF_TOTAL, PART_OF_ITS_OWN[service], "total_amount", "trip_distance"), amounts),
        **dict.fromkeys(("pickup_datetime", "dropoff_datetime"), times),
        **dict.fromkeys(
            ("pickup_location_id", "dropoff_location_id", "payment_type", "passenger_count", "rate_code_id"),
            (None, -(2**31), -1, 0, 1, 264, 266, 2**31 - 1),
        ),
        "store_and_fwd_flag": (None, "", " n", "é"),
        "_rescued_data": (None, "", "{}", '{"mood":"good"}', '{"tip_amount":"free"}', '{"mood":"\\"tip_amount\\":"}'),
    }
    changes = [{name: value} for name, values in odd.items() for value in values]
    # In pairs, each value with one that stands some places after it, so that odd meets odd.
    changes += [{**one, **other} for one, other in zip(changes, [*changes[29:], *changes[:29]], strict=True)]
    rows = [trip(**change) for change in changes]
    contract = SILVER_TRIPS[service]

    def found(engine: Engine) -> tuple[list[set[str]], list[dict[str, Any]], dict[int, list[str]]]:
        frame = enriched(service, rows, engine=engine)
        verdict = judge(contract, frame, row_id="source_row")
        kept = collected(conform(contract, verdict.kept)).sort("source_row").to_dicts()
        return broken_by_each(frame, service), kept, failed_rules(verdict)

    for on_spark, on_polars in zip(found(spark), found(POLARS), strict=True):
        assert on_spark == on_polars
