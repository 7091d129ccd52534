"""A feed whose files may hold several months each: which months are requested as files come, change and go."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import dagster as dg
import pytest

from taxi_assets.calendars import Month, Period
from taxi_assets.deliveries import plan as plans
from taxi_assets.deliveries.landed import Delivery, sorted_out
from taxi_assets.deliveries.plan import Plan, Seen, dump, load
from taxi_assets.deliveries.sensor import landing_sensor
from taxi_assets.deliveries.status import InLanding, State, as_markdown, draw
from taxi_assets.errors import LandingError
from taxi_assets.landing import LandedFile, Landing
from taxi_assets.markdown import markdown_of
from taxi_assets.nyctaxi import NYCTAXI
from taxi_assets.nyctaxi.trip_files import trip_files
from taxi_assets.places import landing_of
from taxi_assets_tests.nyctaxi.rides import MONTH, Star, rides

pytestmark = pytest.mark.fast

JANUARY, FEBRUARY, MARCH = (Month(2016, number) for number in (1, 2, 3))
MONTHS: Mapping[str, list[Month]] = {"1": [JANUARY], "2": [FEBRUARY], "12": [JANUARY, FEBRUARY], "3": [MARCH]}


def months_by_identity(_landing: Landing, file: LandedFile) -> list[Month]:
    if file.identity not in MONTHS:
        raise LandingError(f"{file.path} can't be used")
    return MONTHS[file.identity]


CATALOG = replace(NYCTAXI, feeds=[replace(NYCTAXI.feeds[0], periods_in=months_by_identity)])


def planned(
    files: dict[str, str],
    seen: Mapping[Delivery, Seen] | None = None,
    done: Mapping[Delivery, str] | None = None,
    most: int = 24,
) -> Plan:
    """Plan for files by the ends of their names, of which the identity says which months they hold."""
    listing = [LandedFile(f"nyctaxi_trips_{name}.csv", 1, identity) for name, identity in files.items()]
    landed = sorted_out(CATALOG, Landing("/nowhere", {}), listing)
    return plans.plan(CATALOG, landed, seen or {}, done or {}, {}, most)


def months(found: Plan) -> list[Period]:
    return [request.period for request in found.requests]


def test_each_month_of_a_new_file_is_requested_once() -> None:
    first = planned({"a": "12"})
    second = planned({"a": "12"}, load(CATALOG, dump(first.seen)))

    assert months(first) == [JANUARY, FEBRUARY]
    assert months(second) == []


def test_a_rewritten_file_requests_the_months_that_it_holds_and_that_others_hold() -> None:
    before = planned({"a": "12", "b": "2"}).seen

    assert months(planned({"a": "3", "b": "2"}, before)) == [FEBRUARY, MARCH]


def test_a_file_that_leaves_requests_what_others_hold_and_is_told_of_where_none_does() -> None:
    before = planned({"a": "12", "b": "2"}).seen
    after = planned({"b": "2"}, before)

    assert months(after) == [FEBRUARY]
    assert after.messages == ("No file in landing holds 2016-01 any longer; what is stored of it stays.",)
    assert planned({"b": "2"}, after.seen).messages == ()


def test_a_month_that_comes_back_as_it_is_stored_isnt_requested() -> None:
    before = planned({"a": "1"}).seen
    gone = planned({}, before)

    assert months(planned({"a": "1"}, gone.seen, {("trips", JANUARY): "nyctaxi_trips_a.csv@1"})) == []
    assert months(planned({"a": "1"}, gone.seen)) == [JANUARY]


def test_what_files_held_isnt_forgotten_while_one_cant_be_read() -> None:
    before = planned({"a": "12", "b": "2"}).seen
    broken = planned({"a": "broken", "b": "2"}, before)

    assert months(broken) == []
    assert broken.messages == ("nyctaxi_trips_a.csv can't be used",)
    assert months(planned({"a": "1", "b": "2"}, broken.seen)) == [JANUARY, FEBRUARY]


def test_bytes_that_come_back_are_requested_under_another_key() -> None:
    first = planned({"a": "1"})
    second = planned({"a": "2"}, first.seen)
    third = planned({"a": "1"}, second.seen)

    keys = [request.run_key for one in (first, second, third) for request in one.requests]
    assert months(third) == [JANUARY]
    assert len(set(keys)) == len(keys) == 3


def test_what_one_tick_cant_request_is_requested_by_the_next() -> None:
    first = planned({"a": "12", "b": "3"}, most=2)
    second = planned({"a": "12", "b": "3"}, load(CATALOG, dump(first.seen)), most=2)

    assert (months(first), months(second)) == ([JANUARY, FEBRUARY], [MARCH])
    assert "1 more months are waiting" in first.messages[0]


def test_a_month_that_is_stored_from_these_files_isnt_requested() -> None:
    done = {("trips", JANUARY): "nyctaxi_trips_a.csv@12"}
    assert months(planned({"a": "12"}, done=done)) == [FEBRUARY]


def test_while_a_file_cant_be_read_no_month_is_requested_as_its_run_would_fail() -> None:
    first = planned({"a": "broken", "b": "1"})

    assert months(first) == []
    assert first.messages == ("nyctaxi_trips_a.csv can't be used",)
    assert months(planned({"a": "2", "b": "1"}, first.seen)) == [JANUARY, FEBRUARY]


def test_a_cursor_of_the_former_version_is_read_and_what_waited_then_is_requested() -> None:
    known = {
        "nyctaxi_trips_a.csv": ["nyctaxi_trips_a.csv@12", ["2016-01", "2016-02"]],
        "nyctaxi_trips_b.csv": ["nyctaxi_trips_b.csv@2", ["2016-02"]],
        "nyctaxi_trips_c.csv": ["nyctaxi_trips_c.csv@3", ["2016-03"]],
    }
    seen = load(CATALOG, json.dumps([known, ["2016-03"], 7]))

    assert months(planned({"a": "12", "b": "2", "c": "3"}, seen)) == [MARCH]
    assert months(planned({"a": "1", "b": "2", "c": "3"}, seen)) == [JANUARY, FEBRUARY, MARCH]


@pytest.fixture
def star(tmp_path: Path) -> Iterator[Star]:
    with dg.DagsterInstance.ephemeral() as instance:
        yield Star.below(tmp_path, instance)


def tick(star: Star, cursor: str | None = None) -> dg.SensorResult:
    resources = {"landing": landing_of(star.settings), "lake": star.lake}
    context = dg.build_sensor_context(star.instance, cursor=cursor, resources=resources)
    result: dg.SensorResult = landing_sensor(NYCTAXI)(context)  # type: ignore[assignment]
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
    assert trip_files(landing_of(star.settings)) == []
    assert "Nothing new among 0 files." in str(result.skip_reason)


def test_the_picture_says_of_which_files_it_isnt_known_what_they_hold(star: Star) -> None:
    star.land(rides(1))
    (Path(star.settings.landing_root) / "nyctaxi_trips_2.parquet").write_text("no Parquet")

    found = InLanding.of(NYCTAXI, landing_of(star.settings), star.instance)
    picture = draw(found, star.lake, star.instance, [JANUARY])

    assert picture.cells["trips", JANUARY].state is State.LANDED
    (why,) = picture.unusable
    assert why.startswith("nyctaxi_trips_2.parquet can't be used:")
    assert as_markdown(picture).endswith(f"\n- {markdown_of(why)}")
    assert any(why in message for message in [str(tick(star).skip_reason)])
