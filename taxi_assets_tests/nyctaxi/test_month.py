"""A month from landed files to the star: what is stored, checked, kept when it runs again, and refused."""

# Times are wall clock, without a zone.
# ruff: noqa: DTZ001

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from decimal import Decimal
from math import nan
from pathlib import Path

import dagster as dg
import polars as pl
import pytest
from deltalake import DeltaTable

from taxi_assets.calendars import Month
from taxi_assets.contracts import Contract
from taxi_assets.deliveries.landed import FeedFile
from taxi_assets.lake.metadata import asset_key
from taxi_assets.lake.quarantine import QUARANTINES, rows_of
from taxi_assets.landing import Landing
from taxi_assets.nyctaxi.bronze import trips_raw
from taxi_assets.nyctaxi.bronze.trips_raw import TripsRaw
from taxi_assets.nyctaxi.gold.dim_date import DimDate
from taxi_assets.nyctaxi.gold.dim_rider import DimRider
from taxi_assets.nyctaxi.gold.dim_time_of_day import DimTimeOfDay
from taxi_assets.nyctaxi.gold.dim_zone import DimZone
from taxi_assets.nyctaxi.gold.fact_trips import FactTrips
from taxi_assets.nyctaxi.silver.riders import Riders
from taxi_assets.nyctaxi.silver.trips_enriched import TripsEnriched, TripsEnrichedQuarantine
from taxi_assets.nyctaxi.trip_files import cut_off, months_in, trip_files
from taxi_assets.places import landing_of
from taxi_assets_tests.nyctaxi.rides import MONTH, SCHEMA, Star, ride, rides
from taxi_assets_tests.scenario import settled

pytestmark = pytest.mark.fast

FEBRUARY = Month(2016, 2)


@pytest.fixture
def star(tmp_path: Path) -> Iterator[Star]:
    with dg.DagsterInstance.ephemeral() as instance:
        yield Star.below(tmp_path, instance)


def not_passed(result: dg.ExecuteInProcessResult) -> set[str]:
    return {one.check_name for one in result.get_asset_check_evaluations() if not one.passed}


def causes(result: dg.ExecuteInProcessResult) -> list[str]:
    failed = [event.step_failure_data for event in result.all_events if event.is_step_failure]
    return [str(one.user_failure_data.description) for one in failed if one.user_failure_data]


def test_a_month_is_kept_or_quarantined_and_every_key_of_the_star_fits(star: Star) -> None:
    star.land([*rides(5), *rides(2, FEBRUARY), ride(fare_amount=-8.0), ride(trip_distance=0.0, pickup_zip=None)])

    result = star.run()

    assert result.success
    assert not_passed(result) == {"positive_fare_amount", "positive_trip_distance"}
    counts = {contract: star.table(contract).height for contract in (TripsRaw, TripsEnriched, TripsEnrichedQuarantine)}
    assert list(counts.values()) == [7, 5, 2]
    assert star.table(FactTrips)["trip_sk"].sort().to_list() == star.table(TripsEnriched)["trip_key"].sort().to_list()
    assert star.table(DimDate)["date"].sort().to_list() == [datetime(2016, 1, day).date() for day in range(1, 32)]
    assert sorted(star.table(DimZone)["zip"].to_list()) == [10001, 10018]
    assert star.table(DimTimeOfDay).sort("time_of_day_order")["time_of_day"].to_list() == [
        "morning", "afternoon", "evening", "night",
    ]  # fmt: skip
    assert star.table(DimRider).height == 500


def test_a_trip_without_a_zip_has_a_zone_of_its_own_and_no_orphan(star: Star) -> None:
    star.land([ride(pickup_zip=None)])

    assert not_passed(star.run()) == set()
    # What Spark's xxhash64 of null is.
    assert star.table(FactTrips)["pickup_zone_sk"].to_list() == [42]
    assert star.table(DimZone).filter(pl.col("zip").is_null())["zone_sk"].to_list() == [42]


def test_rows_that_come_again_add_nothing_and_keep_when_they_were_first_seen(star: Star) -> None:
    star.land(rides(3), "nyctaxi_trips_1.parquet")
    assert star.run().success
    before = star.table(TripsRaw).select("trip_key", "_ingested_at").sort("trip_key")

    star.land([*rides(3), *rides(1, fare_amount=7.0)], "nyctaxi_trips_2.csv")
    result = star.run()

    after = star.table(TripsRaw).select("trip_key", "_ingested_at").sort("trip_key")
    assert after.height == 4
    assert after.filter(pl.col("trip_key").is_in(before["trip_key"].to_list())).equals(before)
    assert after["_ingested_at"].n_unique() == 2
    assert not_passed(result) == {"no_identical_rows"}


def test_identical_rows_share_a_key_and_are_counted(star: Star) -> None:
    star.land([*rides(2), *rides(2), *rides(1)])

    result = star.run()

    (check,) = (one for one in result.get_asset_check_evaluations() if one.check_name == "no_identical_rows")
    assert result.success
    assert check.metadata["rows_failing"].value == 3
    assert star.table(FactTrips).height == 2


def test_rows_that_differ_in_what_is_no_number_are_both_kept(star: Star) -> None:
    zips = [*["10001"] * 4, "abc", "def"]
    rows = pl.DataFrame([*rides(4), ride(), ride()], schema=SCHEMA).with_columns(pickup_zip=pl.Series(zips))
    rows.write_csv(Path(star.settings.landing_root) / "nyctaxi_trips.csv")

    assert not_passed(star.run()) == {"nothing_rescued", "values_fit_their_types"}

    assert star.table(TripsRaw)["trip_key"].n_unique() == 6
    assert star.table(TripsEnrichedQuarantine).height == 2


def test_a_column_that_nobody_knows_is_kept_and_told_and_changes_no_key(star: Star) -> None:
    star.land(rides(2))
    star.run()
    keys = star.table(TripsRaw)["trip_key"].sort().to_list()

    stranger = pl.DataFrame(rides(2), schema=SCHEMA).with_columns(vendor=pl.lit("CMT"))
    stranger.write_parquet(Path(star.settings.landing_root) / "nyctaxi_trips.parquet")

    assert not_passed(star.run()) == {"nothing_rescued"}
    assert star.table(TripsRaw)["trip_key"].sort().to_list() == keys
    assert star.table(TripsRaw)["_rescued_data"].to_list() == ['{"vendor":"CMT"}'] * 2
    assert star.table(FactTrips).height == 2


def test_zero_and_minus_zero_are_two_rows_as_they_are_two_texts(star: Star) -> None:
    star.land([*rides(4), ride(trip_distance=0.0), ride(trip_distance=-0.0)])

    assert not_passed(star.run()) == {"positive_trip_distance"}

    assert star.table(TripsRaw)["trip_key"].n_unique() == 6


def test_rows_that_share_a_key_though_they_differ_are_told_and_not_lost_silently(star: Star) -> None:
    star.land([ride(pickup_zip=10001, dropoff_zip=None), ride(pickup_zip=None, dropoff_zip=10001)])

    (check,) = (one for one in star.run().get_asset_check_evaluations() if one.check_name == "rows_accounted_for")

    assert not check.passed
    assert "2 rows in the files, 2 of them different; 1 stored. Rows that lack a value" in str(check.description)


def test_a_file_of_several_months_is_run_month_by_month_in_any_order(star: Star) -> None:
    star.land([*rides(2), *rides(3, FEBRUARY)])
    landing = landing_of(star.settings)
    (file,) = trip_files(landing)
    assert months_in(landing, file.file) == [MONTH, FEBRUARY]

    for month in (FEBRUARY, MONTH, FEBRUARY):
        assert not_passed(star.run(month)) == set()

    assert star.table(FactTrips).height == 5
    assert star.table(DimDate).height == 31 + 29


@pytest.mark.parametrize(
    "changes",
    [
        {Riders: {"full_name": "'Somebody Else'"}},
        {
            DimDate: {"is_weekend": "NOT is_weekend"},
            DimZone: {"borough": "'Queens'"},
            DimTimeOfDay: {"time_of_day_order": "5 - time_of_day_order"},
            DimRider: {"home_zip": "home_zip + 1"},
        },
    ],
    ids=["riders", "dimensions"],
)
def test_a_member_whose_values_something_has_changed_is_found(
    star: Star, changes: dict[type[Contract], dict[str, str]]
) -> None:
    star.land(rides(1))
    star.run()
    for contract, values in changes.items():
        # Of a newer month, so that this one's run leaves them.
        newer = {**values, "source_month": "DATE '2016-02-01'"}
        DeltaTable(star.lake.location(contract).uri).update(updates=newer)

    failed = [one for one in star.run().get_asset_check_evaluations() if not one.passed]

    assert {(one.asset_key, one.check_name) for one in failed} == {
        (asset_key(contract), "values_are_stable") for contract in changes
    }


def test_a_row_without_a_month_is_quarantined_in_the_first_of_its_file(star: Star) -> None:
    star.land([*rides(3), ride(tpep_pickup_datetime=None), ride(tpep_pickup_datetime=datetime(2098, 1, 1))])

    result = star.run()

    assert result.success
    assert star.table(TripsRaw).height == 5
    failed = star.table(TripsEnrichedQuarantine)["failed_rules"].to_list()
    assert sorted(failed) == [["pickup_in_month"], ["required_values_present"]]


def passed_by(result: dg.ExecuteInProcessResult) -> list[str]:
    """Return why tables were passed by."""
    events = [event for event in result.all_events if event.event_type is dg.DagsterEventType.ASSET_OBSERVATION]
    return [str(event.asset_observation_data.asset_observation.metadata["passed_by"].text) for event in events]


def test_a_month_that_no_file_holds_is_passed_by_with_the_name_that_is_expected(star: Star) -> None:
    star.land(rides(1))

    (why,) = passed_by(star.run(FEBRUARY))

    assert why.startswith("There is no trips file for 2016-02 in ")
    assert why.endswith("nyctaxi_trips*.parquet (or .csv, .csv.gz) is expected. Its tables stay as they are.")


def test_a_month_that_is_blocked_is_passed_by_with_the_reason(star: Star) -> None:
    star.land(rides(1))
    (Path(star.settings.landing_root) / "nyctaxi_blocked.txt").write_text("trips 2016-01 odd meters")

    (why,) = passed_by(star.run())

    assert why == "trips 2016-01 is blocked (nyctaxi_blocked.txt): odd meters. Its tables stay as they are."
    assert star.lake.row_count(FactTrips) is None


def test_a_quarantine_whose_rows_have_no_number_of_their_own_is_shown_by_its_keys(star: Star) -> None:
    star.land([*rides(3), *rides(2, fare_amount=-1.0, pickup_zip=10001)])
    star.run()
    quarantine = QUARANTINES[TripsEnrichedQuarantine]

    found = rows_of(star.lake, quarantine, {"source_month": MONTH.first_day}, most=1)

    assert found is not None
    count, (row,) = found
    assert count == 2
    assert row["failed_rules"] == ["positive_fare_amount"]


def test_a_csv_that_is_cut_off_is_refused_until_it_has_settled_and_then_warned_of(star: Star) -> None:
    star.land(rides(3), "nyctaxi_trips.csv")
    path = Path(star.settings.landing_root) / "nyctaxi_trips.csv"
    path.write_bytes(path.read_bytes()[:-20])

    (cause,) = causes(star.run())
    assert "nyctaxi_trips.csv can't be used: it is cut off: its last line" in cause

    settled(path)
    result = star.run()
    assert result.success
    assert not_passed(result) == {
        "file_is_whole",
        "nothing_rescued",
        "values_fit_their_types",
        "required_values_present",
    }
    (found,) = (one for one in result.get_asset_check_evaluations() if one.check_name == "file_is_whole")
    assert (found.description or "").startswith("nyctaxi_trips.csv is cut off: its last line")


def test_a_fare_that_is_no_number_is_rescued_and_in_no_sum(star: Star) -> None:
    star.land([*rides(2), ride(fare_amount=nan)])

    assert star.run().success
    assert star.table(TripsRaw)["_rescued_data"].drop_nulls().to_list() == ['{"fare_amount":"NaN"}']
    assert star.table(FactTrips)["fare_amount"].sum() == Decimal("19.00")
    (held,) = star.table(TripsEnrichedQuarantine)["failed_rules"].to_list()
    assert held == ["required_values_present", "values_fit_their_types"]


def test_a_file_that_lacks_a_column_is_one_clear_error(star: Star) -> None:
    pl.DataFrame([ride()]).drop("pickup_zip").write_parquet(Path(star.settings.landing_root) / "nyctaxi_trips.parquet")

    (cause,) = causes(star.run())

    assert "nyctaxi_trips.parquet can't be used: it has no column pickup_zip" in cause


def test_a_file_that_is_replaced_while_it_is_read_fails_the_run_and_says_to_run_it_again(
    star: Star, monkeypatch: pytest.MonkeyPatch
) -> None:
    star.land(rides(5), "nyctaxi_trips.csv")

    def look_before_another_lands(landing: Landing, trip_file: FeedFile) -> str:
        found = cut_off(landing, trip_file)
        star.land(rides(7), "nyctaxi_trips.csv")
        return found

    monkeypatch.setattr(trips_raw, "cut_off", look_before_another_lands)
    (message,) = causes(star.run())
    assert message.startswith("nyctaxi_trips.csv was replaced or taken away while it was read")
    assert message.endswith("Run the month again.")
