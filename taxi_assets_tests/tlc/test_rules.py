"""Claims about the rules of yellow and green: for each a row that breaks it alone, and what lies just on either side.

A rule without an example here fails the tests. How rules are counted and rows are split: contracts/test_judge.py.
"""

# Times are wall clock, without a zone.
# ruff: noqa: DTZ001

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from math import inf, nan
from typing import Any

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from taxi_assets.contracts import Rule, Verdict, validate
from taxi_assets.engines import conform
from taxi_assets.months import Month
from taxi_assets.tlc.bronze.trips import BRONZE_TRIPS
from taxi_assets.tlc.silver.metered_trips import PARTS_OF_TOTAL, PUBLISH_LIMIT
from taxi_assets.tlc.silver.trips import SILVER_TRIPS
from taxi_assets.vocabulary import Service
from taxi_assets_tests.scenario import MONTH, PART_OF_ITS_OWN, enriched, judged, trip, trips

pytestmark = pytest.mark.fast

BOTH = pytest.mark.parametrize("service", list(Service))
NOON = datetime(2024, 1, 10, 12)


@dataclass(frozen=True)
class Example:
    """A row that breaks one rule alone, and the rows that stand before it in the file, if it takes some."""

    row: dict[str, Any]
    before: tuple[dict[str, Any], ...] = ()

    @property
    def rows(self) -> list[dict[str, Any]]:
        return [*self.before, self.row]


REFUND = {"fare_amount": -12.0, "total_amount": -20.0}

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
    "known_payment_type": Example(trip(payment_type=9)),
    "plausible_passenger_count": Example(trip(passenger_count=7)),
    "total_is_sum_of_parts": Example(trip(total_amount=20.01)),
    "plausible_speed": Example(trip(trip_distance=17.0)),
    "not_reversed": Example(trip(), before=(trip(**REFUND),)),
}  # fmt: skip

RULES = [
    pytest.param(service, rule, id=f"{service}-{rule.name}")
    for service in Service
    for rule in SILVER_TRIPS[service].rules()
]


def broken_by_each(service: Service, rows: Sequence[dict[str, Any]], month: Month = MONTH) -> list[set[str]]:
    """Return for each of some rows, which stand in one file, the names of the rules that it breaks."""
    rules = SILVER_TRIPS[service].rules()
    verdicts = enriched(service, rows, month).select("source_row", *(rule.breaks.alias(rule.name) for rule in rules))
    return [
        {name for name, breaks in row.items() if name != "source_row" and breaks}
        for row in verdicts.collect().to_native().sort("source_row").to_dicts()
    ]


def assert_broken(
    expected: Sequence[tuple[dict[str, Any], set[str]]], service: Service = Service.GREEN, month: Month = MONTH
) -> None:
    """Assert which rules a usual trip breaks once some of its columns are changed, for each of some changes."""
    found = broken_by_each(service, [trip(**changes) for changes, _ in expected], month)
    assert [(changes, names) for (changes, _), names in zip(expected, found, strict=True)] == expected


def kept_rows(verdict: Verdict) -> list[int]:
    found: list[int] = verdict.kept.select("source_row").collect().to_native()["source_row"].sort().to_list()
    return found


def failed_rules(verdict: Verdict) -> dict[int, list[str]]:
    return dict(verdict.quarantined.select("source_row", "failed_rules").collect().rows())


def column(verdict: Verdict, name: str) -> list[Any]:
    """Return a column of the kept rows, in the file's order."""
    found: list[Any] = verdict.kept.select("source_row", name).collect().to_native().sort("source_row")[name].to_list()
    return found


# --- every rule has an example, and every example its rule


@pytest.mark.parametrize(("service", "rule"), RULES)
def test_every_rule_has_a_row_that_breaks_it_alone(service: Service, rule: Rule) -> None:
    assert rule.name in EXAMPLES, f"add to EXAMPLES a row that breaks {rule.name} and no other rule"
    verdict = judged(service, EXAMPLES[rule.name].rows)

    assert broken_by_each(service, EXAMPLES[rule.name].rows)[-1] == {rule.name}
    assert (verdict.rows in kept_rows(verdict)) is not rule.quarantines
    assert failed_rules(verdict).get(verdict.rows) == ([rule.name] if rule.quarantines else None)


@BOTH
def test_every_example_is_of_a_rule_that_exists(service: Service) -> None:
    assert set(EXAMPLES) == {rule.name for rule in SILVER_TRIPS[service].rules()}


@BOTH
def test_a_usual_trip_breaks_no_rule(service: Service) -> None:
    assert_broken([({}, set())], service)


@BOTH
def test_these_rules_report_a_row_and_keep_it(service: Service) -> None:
    assert {rule.name for rule in SILVER_TRIPS[service].rules() if not rule.quarantines} >= {
        "known_zones",
        "known_payment_type",
        "plausible_passenger_count",
        "total_is_sum_of_parts",
        "plausible_speed",
        "not_reversed",
    }


@BOTH
def test_every_rule_says_why_it_exists_and_where_its_threshold_comes_from(service: Service) -> None:
    for rule in SILVER_TRIPS[service].rules():
        assert rule.why.endswith("."), rule.name
        assert rule.source, rule.name
        assert 0 <= rule.tolerance < PUBLISH_LIMIT, rule.name


# --- amounts and distances, on either side of each threshold


def test_a_fare_is_above_nothing_and_under_a_million() -> None:
    # No total, so that a total of any size says nothing.
    usual = {"total_amount": None}
    assert_broken([
        ({"fare_amount": -12.0, **usual}, {"positive_fare_amount"}),
        ({"fare_amount": -0.01, **usual}, {"positive_fare_amount"}),
        ({"fare_amount": 0.0, **usual}, {"positive_fare_amount"}),
        ({"fare_amount": 0.01, **usual}, set()),
        ({"fare_amount": 999_999.99, **usual}, set()),
        ({"fare_amount": 1_000_000.0, **usual}, {"plausible_fare_amount"}),
        ({"fare_amount": 1e12, **usual}, {"plausible_fare_amount"}),
        ({"fare_amount": -1e12, **usual}, {"positive_fare_amount"}),
    ])  # fmt: skip


def test_a_distance_is_above_nothing_and_at_most_a_thousand_miles() -> None:
    half_a_day = {"dropoff_datetime": NOON + timedelta(hours=11)}
    assert_broken([
        ({"trip_distance": -2.0, **half_a_day}, {"positive_trip_distance"}),
        ({"trip_distance": 0.0, **half_a_day}, {"positive_trip_distance"}),
        ({"trip_distance": 0.01, **half_a_day}, set()),
        ({"trip_distance": 1_000.0, **half_a_day}, set()),
        ({"trip_distance": 1_000.01, **half_a_day}, {"plausible_trip_distance"}),
        ({"trip_distance": 1e12, **half_a_day}, {"plausible_trip_distance", "plausible_speed"}),
    ])  # fmt: skip


@BOTH
def test_what_is_no_finite_number_is_quarantined(service: Service) -> None:
    names = ("fare_amount", "trip_distance", "total_amount", *PARTS_OF_TOTAL, PART_OF_ITS_OWN[service])
    rows = [trip(**{name: value}) for name in names for value in (nan, inf, -inf)]

    assert kept_rows(judged(service, rows)) == []


@pytest.mark.parametrize(
    "changes",
    [
        {"fare_amount": 0.004, "total_amount": 8.004},
        {"fare_amount": 0.005, "total_amount": 8.005},
        {"fare_amount": 999_999.996, "total_amount": 1_000_007.996},
        {"trip_distance": 0.004},
        {"trip_distance": 0.005},
        {"trip_distance": 1_000.004, "dropoff_datetime": NOON + timedelta(hours=11)},
    ],
    ids=str,
)
def test_what_is_kept_still_keeps_the_rules_once_it_is_rounded(changes: dict[str, Any]) -> None:
    verdict = judged(Service.GREEN, [trip(**changes), trip(passenger_count=2)])
    contract = SILVER_TRIPS[Service.GREEN]

    assert validate(contract, conform(contract, verdict.kept)) == []


@BOTH
def test_an_amount_fits_ten_digits(service: Service) -> None:
    # The fare has a threshold of its own.
    names = ({"total_amount", *PARTS_OF_TOTAL, PART_OF_ITS_OWN[service]}) - {"fare_amount"}
    largest, too_large = (99_999_999.99, -99_999_999.99), (100_000_000.0, -100_000_000.0, 1e12)
    fitting = [trip(**{name: amount}) for name in names for amount in largest]
    unfit = [trip(**{name: amount}) for name in names for amount in too_large]

    def unfit_rows(rows: list[dict[str, Any]]) -> int:
        (found,) = (r for r in judged(service, rows).results if r.rule.name == "values_fit_their_types")
        return found.rows_failing

    assert (unfit_rows(fitting), unfit_rows(unfit)) == (0, len(unfit))


def test_a_rescued_value_costs_its_row_the_place_only_in_a_known_column() -> None:
    assert_broken([
        ({"_rescued_data": '{"tip_amount":"free"}'}, {"values_fit_their_types"}),
        ({"_rescued_data": '{"mood":"good","pickup_location_id":"JFK"}'}, {"values_fit_their_types"}),
        ({"_rescued_data": '{"mood":"good"}'}, set()),
        ({"_rescued_data": '{"my_tip_amount":"free"}'}, set()),
        ({"_rescued_data": '{"mood":"tip_amount"}'}, set()),
        ({"_rescued_data": None}, set()),
    ])  # fmt: skip


def test_the_total_is_the_sum_to_the_cent() -> None:
    assert_broken([
        ({"total_amount": 20.0}, set()),
        ({"total_amount": 20.004}, set()),
        ({"total_amount": 20.01}, {"total_is_sum_of_parts"}),
        ({"total_amount": 19.99}, {"total_is_sum_of_parts"}),
        ({"total_amount": None}, set()),
    ])  # fmt: skip


@BOTH
def test_every_part_counts_into_the_total_the_services_own_included(service: Service) -> None:
    for part in (*PARTS_OF_TOTAL, PART_OF_ITS_OWN[service]):
        more = trip().get(part, 0.0) + 1.75
        assert_broken(
            [({part: more, "total_amount": 21.75}, set()), ({part: more}, {"total_is_sum_of_parts"})], service
        )


# --- times


def test_the_pickup_lies_between_the_months_first_and_last_microsecond() -> None:
    pickups = {
        datetime(2024, 1, 1): set(),
        datetime(2024, 1, 31, 23, 59, 59, 999_999): set(),
        datetime(2023, 12, 31, 23, 59, 59, 999_999): {"pickup_in_file_month"},
        datetime(2024, 2, 1): {"pickup_in_file_month"},
        datetime(2023, 1, 15): {"pickup_in_file_month"},
        _2098: {"pickup_in_file_month"},
    }
    assert_broken([
        ({"pickup_datetime": pickup, "dropoff_datetime": pickup + timedelta(minutes=10)}, broken)
        for pickup, broken in pickups.items()
    ])  # fmt: skip


def test_the_dropoff_comes_after_the_pickup() -> None:
    assert_broken([
        ({"dropoff_datetime": NOON - timedelta(seconds=1)}, {"pickup_before_dropoff"}),
        ({"dropoff_datetime": NOON}, {"pickup_before_dropoff"}),
        ({"dropoff_datetime": NOON + timedelta(seconds=72)}, set()),
    ])  # fmt: skip


# The clock went back from 2:00 to 1:00 on Sunday 2024-11-03; the Sunday after is as any other.
@pytest.mark.parametrize(
    ("pickup", "dropoff", "minutes"),
    [
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
    ],
)
def test_only_in_autumns_repeated_hour_may_a_trip_end_before_it_begins(
    pickup: tuple[int, int, int], dropoff: tuple[int, int, int], minutes: int | None
) -> None:
    times = {"pickup_datetime": datetime(2024, 11, *pickup), "dropoff_datetime": datetime(2024, 11, *dropoff)}
    verdict = judged(Service.YELLOW, [trip(**times, trip_distance=0.5)], Month(2024, 11))

    if minutes is None:
        assert failed_rules(verdict) == {1: ["pickup_before_dropoff"]}
    else:
        assert failed_rules(verdict) == {}
        assert column(verdict, "duration_min") == [minutes]


def test_the_repeated_hour_is_novembers_alone() -> None:
    times = {"pickup_datetime": datetime(2024, 3, 3, 1, 50), "dropoff_datetime": datetime(2024, 3, 3, 1, 10)}

    assert_broken([(times, {"pickup_before_dropoff"})], month=Month(2024, 3))


def test_no_taxi_is_faster_than_a_hundred_miles_an_hour() -> None:
    assert_broken([
        ({"trip_distance": distance, "dropoff_datetime": NOON + timedelta(minutes=minutes)}, broken)
        for distance, minutes, broken in (
            (10.0, 6, set()),
            (10.01, 6, {"plausible_speed"}),
            (100.0, 60, set()),
            (100.01, 60, {"plausible_speed"}),
        )
    ])  # fmt: skip


# --- what is missing


@BOTH
def test_a_missing_required_value_breaks_the_rule_for_it_and_no_other(service: Service) -> None:
    missing = {"required_values_present"}
    ends = ("pickup_datetime", "dropoff_datetime", "pickup_location_id", "dropoff_location_id", "trip_distance")

    assert_broken(
        [*(({name: None}, missing) for name in ends), ({"fare_amount": None, "total_amount": 8.0}, missing)], service
    )


@BOTH
def test_the_rows_without_codes_that_each_month_has_are_kept(service: Service) -> None:
    without = ("payment_type", "passenger_count", "rate_code_id", "store_and_fwd_flag", "congestion_surcharge")

    assert_broken([(dict.fromkeys(without) | {"total_amount": 17.5}, set())], service)


@BOTH
def test_a_row_of_nothing_but_nulls_breaks_the_rule_for_missing_values_alone(service: Service) -> None:
    assert_broken([(dict.fromkeys(trip()), {"required_values_present"})], service)


# --- codes


@BOTH
@pytest.mark.parametrize("end", ["pickup", "dropoff"])
def test_a_zone_that_the_lookup_lacks_is_reported(service: Service, end: str) -> None:
    listed, unlisted = (1, 264, 265), (0, 266, 270)

    assert_broken(
        [
            *(({f"{end}_location_id": zone}, set()) for zone in listed),
            *(({f"{end}_location_id": zone}, {"known_zones"}) for zone in unlisted),
        ],
        service,
    )


def test_a_payment_code_that_tlc_does_not_list_is_reported() -> None:
    assert_broken([
        *(({"payment_type": code}, set()) for code in range(7)),
        *(({"payment_type": code}, {"known_payment_type"}) for code in (-1, 7, 9)),
    ])  # fmt: skip


def test_one_to_six_passengers_are_plausible() -> None:
    assert_broken([
        *(({"passenger_count": count}, set()) for count in range(1, 7)),
        *(({"passenger_count": count}, {"plausible_passenger_count"}) for count in (-1, 0, 7)),
    ])  # fmt: skip


# --- rows that are like other rows


@BOTH
def test_only_the_first_of_equal_rows_is_kept(service: Service) -> None:
    verdict = judged(service, [trip(), trip(passenger_count=2), trip(), trip()])

    assert kept_rows(verdict) == [1, 2]
    assert failed_rules(verdict) == {3: ["not_an_exact_duplicate"], 4: ["not_an_exact_duplicate"]}


def test_rows_that_differ_in_one_column_are_no_duplicates() -> None:
    differences: list[dict[str, Any]] = [
        *({name: 7} for name in ("vendor_id", "rate_code_id", "passenger_count", "payment_type", "trip_type")),
        *({name: 7.25} for name in ("trip_distance", "total_amount", "ehail_fee", *PARTS_OF_TOTAL)),
        {"pickup_datetime": NOON + timedelta(microseconds=1)},
        {"dropoff_datetime": NOON + timedelta(minutes=11)},
        {"pickup_location_id": 7},
        {"dropoff_location_id": 7},
        {"store_and_fwd_flag": "Y"},
        {"store_and_fwd_flag": None},
        {"_rescued_data": '{"mood":"good"}'},
    ]
    about_the_file = {"source_file", "source_row", "source_fingerprint", "ingested_at", "source_month"}
    of_the_file = set(BRONZE_TRIPS[Service.GREEN].column_names()) - about_the_file

    assert {name for difference in differences for name in difference} == of_the_file
    found = broken_by_each(Service.GREEN, [trip(), *(trip(**difference) for difference in differences)])
    assert [names for names in found if "not_an_exact_duplicate" in names] == []


def test_rows_without_values_in_the_same_columns_are_duplicates() -> None:
    row = trip(passenger_count=None, payment_type=None)

    assert broken_by_each(Service.GREEN, [row, row]) == [set(), {"not_an_exact_duplicate"}]


def test_equal_rows_are_duplicates_though_their_provenance_differs() -> None:
    twin = trip(source_file="other.parquet", source_fingerprint="1" * 64, ingested_at=NOON)

    assert broken_by_each(Service.GREEN, [trip(), twin]) == [set(), {"not_an_exact_duplicate"}]


def test_a_later_row_with_the_same_times_is_a_repeat() -> None:
    other = trip(pickup_datetime=NOON + timedelta(minutes=1))
    verdict = judged(
        Service.YELLOW, [trip(), other, trip(vendor_id=1, fare_amount=9.0, total_amount=17.0), trip(passenger_count=2)]
    )

    assert column(verdict, "is_repeat") == [False, False, True, True]


def test_a_row_that_shares_one_of_the_two_times_is_no_repeat() -> None:
    verdict = judged(Service.YELLOW, [trip(), trip(dropoff_datetime=NOON + timedelta(minutes=11))])

    assert column(verdict, "is_repeat") == [False, False]


@BOTH
def test_of_charge_and_refund_the_charge_is_reversed_and_the_refund_is_quarantined(service: Service) -> None:
    for rows in ([trip(), trip(**REFUND)], [trip(**REFUND), trip()]):
        verdict = judged(service, rows)

        assert list(failed_rules(verdict).values()) == [["positive_fare_amount"]]
        assert column(verdict, "is_reversed") == [True]
        assert {result.rule.name: result.rows_failing for result in verdict.results}["not_reversed"] == 1


def test_a_refund_that_differs_in_ride_or_amount_reverses_nothing() -> None:
    others: list[dict[str, Any]] = [
        {"vendor_id": 1},
        {"pickup_datetime": NOON - timedelta(seconds=1)},
        {"dropoff_datetime": NOON + timedelta(minutes=11)},
        {"pickup_location_id": 7},
        {"dropoff_location_id": 7},
        {"fare_amount": -11.5},
        {"total_amount": -19.5},
    ]
    verdict = judged(Service.GREEN, [trip(), *(trip(**{**REFUND, **other}) for other in others)])

    assert column(verdict, "is_reversed") == [False]


def test_two_refunds_of_one_charge_leave_it_one_row() -> None:
    verdict = judged(Service.GREEN, [trip(), trip(**REFUND), trip(**REFUND, tip_amount=-3.0)])

    assert kept_rows(verdict) == [1]
    assert column(verdict, "is_reversed") == [True]


# --- the verdict on a month


def test_a_row_names_all_quarantining_rules_that_it_breaks_in_the_contracts_order() -> None:
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

    assert failed_rules(judged(Service.GREEN, [worst, worst]))[2] == [
        "values_fit_their_types",
        "pickup_in_file_month",
        "pickup_before_dropoff",
        "positive_fare_amount",
        "positive_trip_distance",
        "not_an_exact_duplicate",
    ]


@BOTH
def test_half_of_a_month_may_be_quarantined_and_not_a_row_more(service: Service) -> None:
    good, bad = trips(4), trips(5, fare_amount=0.0)

    assert judged(service, [*good, *bad[:4]]).publishable
    assert not judged(service, [*good, *bad]).publishable


@pytest.mark.parametrize(("service", "tolerance"), [(Service.GREEN, 0.02), (Service.YELLOW, 0.06)])
def test_a_rule_fails_once_more_rows_break_it_than_the_service_tolerates(service: Service, tolerance: float) -> None:
    tolerated = round(100 * tolerance)

    for bad, passed in ((tolerated, True), (tolerated + 1, False)):
        rows = [*trips(100 - bad), *trips(bad, fare_amount=0.0, total_amount=8.0)]
        result = next(r for r in judged(service, rows).results if r.rule.name == "positive_fare_amount")
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


@settings(max_examples=12, deadline=None, derandomize=True, phases=[Phase.generate])
@given(changes=st.lists(SOME_TRIP, max_size=12), service=st.sampled_from(Service))
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
