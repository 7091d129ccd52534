"""Which months the sensor requests as files come, change and go; the instance tells it what is stored."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import dagster as dg
import pytest

from taxi_assets.engines.source_files import Format
from taxi_assets.errors import LandingError
from taxi_assets.landing import LandedFile
from taxi_assets.months import Month
from taxi_assets.nyctaxi.sensor import Known, Plan, nyctaxi_landing, plan
from taxi_assets.nyctaxi.trip_files import TripFile, trip_files
from taxi_assets.places import landing_of
from taxi_assets_tests.nyctaxi.rides import MONTH, Star, rides

pytestmark = pytest.mark.fast

JANUARY, FEBRUARY, MARCH = (Month(2016, number) for number in (1, 2, 3))
MONTHS: Mapping[str, list[Month]] = {"1": [JANUARY], "2": [FEBRUARY], "12": [JANUARY, FEBRUARY], "3": [MARCH]}


def planned(files: dict[str, str], known: Known, most: int = 24, stored: frozenset[Month] = frozenset()) -> Plan:
    """Plan for files by name, of which the identity says which months they hold."""
    landed = [TripFile(LandedFile(name, 1, identity), Format.PARQUET) for name, identity in files.items()]

    def months_of(trip_file: TripFile) -> list[Month]:
        if trip_file.file.identity not in MONTHS:
            raise LandingError(f"{trip_file.file.path} can't be used")
        return MONTHS[trip_file.file.identity]

    return plan(landed, known, months_of, lambda month, _: month in stored, most)


def months(found: Plan) -> list[Month]:
    return [month for month, _ in found.requests]


def test_each_month_of_a_new_file_is_requested_once() -> None:
    first = planned({"a": "12"}, Known())
    second = planned({"a": "12"}, Known.load(first.known.dump()))

    assert months(first) == [JANUARY, FEBRUARY]
    assert months(second) == []


def test_a_rewritten_file_requests_the_months_that_it_holds_and_held_and_others_hold() -> None:
    before = planned({"a": "12", "b": "2"}, Known()).known

    assert months(planned({"a": "3", "b": "2"}, before)) == [FEBRUARY, MARCH]


def test_a_file_that_leaves_requests_what_others_hold_and_is_told_of_where_none_does() -> None:
    before = planned({"a": "12", "b": "2"}, Known()).known
    after = planned({"b": "2"}, before)

    assert months(after) == [FEBRUARY]
    assert after.messages == ("No file in landing holds 2016-01 any longer; what is stored of it stays.",)
    assert planned({"b": "2"}, after.known).messages == ()


def test_what_a_file_held_isnt_forgotten_while_it_cant_be_read() -> None:
    before = planned({"a": "12", "b": "2"}, Known()).known
    broken = planned({"a": "broken", "b": "2"}, before)

    assert months(broken) == []
    assert months(planned({"a": "1", "b": "2"}, broken.known)) == [JANUARY, FEBRUARY]


def test_an_empty_cursor_knows_nothing() -> None:
    assert Known.load("") == Known.load(None) == Known()


def test_bytes_that_come_back_are_requested_under_another_key() -> None:
    first = planned({"a": "1"}, Known())
    second = planned({"a": "2"}, first.known)
    third = planned({"a": "1"}, second.known)

    keys = [key for one in (first, second, third) for _, key in one.requests]
    assert months(third) == [JANUARY]
    assert len(set(keys)) == len(keys) == 3


def test_what_one_tick_cant_request_is_requested_by_the_next() -> None:
    first = planned({"a": "12", "b": "3"}, Known(), most=2)
    second = planned({"a": "12", "b": "3"}, Known.load(first.known.dump()), most=2)

    assert (months(first), months(second)) == ([JANUARY, FEBRUARY], [MARCH])
    assert "1 more months are waiting" in first.messages[0]


def test_a_month_that_is_stored_from_these_files_isnt_requested() -> None:
    assert months(planned({"a": "12"}, Known(), stored=frozenset({JANUARY}))) == [FEBRUARY]


def test_a_file_that_cant_be_read_is_told_of_until_it_can() -> None:
    first = planned({"a": "broken", "b": "1"}, Known())

    assert months(first) == [JANUARY]
    assert first.messages == ("a can't be used",)
    assert months(planned({"a": "2", "b": "1"}, first.known)) == [FEBRUARY]


@pytest.fixture
def star(tmp_path: Path) -> Iterator[Star]:
    with dg.DagsterInstance.ephemeral() as instance:
        yield Star.below(tmp_path, instance)


def tick(star: Star, cursor: str | None = None) -> dg.SensorResult:
    landing = landing_of(star.settings)
    context = dg.build_sensor_context(star.instance, cursor=cursor, resources={"landing": landing})
    result: dg.SensorResult = nyctaxi_landing(context)  # type: ignore[assignment]
    return result


def test_the_sensor_requests_what_has_landed_and_not_what_is_stored(star: Star) -> None:
    star.land([*rides(1), *rides(1, FEBRUARY)])
    assert [one.partition_key for one in tick(star).run_requests or []] == ["2016-01", "2016-02"]

    assert star.run(MONTH).success

    # A sensor that has forgotten all, as after its reset.
    assert [one.partition_key for one in tick(star).run_requests or []] == ["2016-02"]


def test_files_of_other_names_are_none_of_its(star: Star) -> None:
    star.land(rides(1), "green_tripdata_2016-01.parquet")

    result = tick(star)

    assert result.run_requests == []
    assert trip_files(landing_of(star.settings).files()) == []
    assert "Nothing new among 0 files." in str(result.skip_reason)
