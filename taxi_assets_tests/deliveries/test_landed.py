"""Names of files in landing: which are read as what, which nearly are, and what is said when none or two are."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from taxi_assets.calendars import Month
from taxi_assets.deliveries.landed import FeedFile, feed_files, find_files, look, no_file, sorted_out
from taxi_assets.engines.source_files import Format, open_source
from taxi_assets.errors import LandingError
from taxi_assets.landing import LandedFile, Landing
from taxi_assets.tlc import TLC
from taxi_assets.tlc.vocabulary import Service
from taxi_assets.tlc.zone_lookup import find_zone_lookup

pytestmark = pytest.mark.fast

MONTH = Month(2024, 1)
GREEN = (Service.GREEN, MONTH)
NOWHERE = Landing("/nowhere", {})
# Digits to Python's \\d and int(), and none of a name that TLC gives.
FULL_WIDTH_2024 = "\N{FULLWIDTH DIGIT TWO}\N{FULLWIDTH DIGIT ZERO}\N{FULLWIDTH DIGIT TWO}\N{FULLWIDTH DIGIT FOUR}"


def landed(*paths: str) -> list[LandedFile]:
    return [LandedFile(path, size=1, identity=path) for path in paths]


def landing_with(folder: Path, *paths: str) -> Landing:
    for path in paths:
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(b"x")
    return Landing(str(folder), {})


@pytest.mark.parametrize(
    ("name", "service", "month", "form"),
    [
        ("green_tripdata_2024-01.parquet", Service.GREEN, Month(2024, 1), Format.PARQUET),
        ("green_tripdata_2024_01.parquet", Service.GREEN, Month(2024, 1), Format.PARQUET),
        ("yellow_tripdata_2016-07.csv", Service.YELLOW, Month(2016, 7), Format.CSV),
        ("yellow_tripdata_2009-12.csv.gz", Service.YELLOW, Month(2009, 12), Format.CSV_GZ),
        ("fhv_tripdata_2015-01.csv", Service.FHV, Month(2015, 1), Format.CSV),
        ("fhvhv_tripdata_2019-02.parquet", Service.FHVHV, Month(2019, 2), Format.PARQUET),
        ("2024/q1/green_tripdata_2024-02.parquet", Service.GREEN, Month(2024, 2), Format.PARQUET),
    ],
)
def test_a_name_tells_service_month_and_format(name: str, service: Service, month: Month, form: Format) -> None:
    (file,) = landed(name)
    assert feed_files(TLC, [file]) == ([FeedFile(file, service, form, month)], ())


@pytest.mark.parametrize(
    "name",
    [
        "green_tripdata_2024-1.parquet",
        f"green_tripdata_{FULL_WIDTH_2024}-01.parquet",
        "green_tripdata_2024-1\N{FULLWIDTH DIGIT TWO}.parquet",
        "green_tripdata_2024-13.parquet",
        "green_tripdata_2024-00.parquet",
        "green_tripdata_2008-12.parquet",
        "green_tripdata_2024-01 (1).parquet",
        "green_tripdata_2024-01.parquet.part",
        "green_tripdata_2024-01.parquet.crdownload",
        "green_tripdata_2024-01.csv.zip",
        "green_tripdata_2024-01.PARQUET",
        "Green_Tripdata_2024-01.parquet",
        "green-tripdata-2024-01.parquet",
        "copy of green_tripdata_2024-01.parquet",
        "hvfhv_tripdata_2024-01.parquet",
        "2024/fhvhvhv_tripdata_2024-01.parquet",
        "green tripdata 2024-01.parquet",
        "green_trip_data_2024-01.parquet",
        "green_tripdata_2024-01.parquet/part-00000.snappy.parquet",
    ],
)
def test_a_name_that_nearly_matches_is_not_read_but_reported(name: str) -> None:
    assert feed_files(TLC, landed(name)) == ([], (name,))


@pytest.mark.parametrize(
    "name",
    [
        "taxi_zone_lookup.csv",
        "README.md",
        ".DS_Store",
        "planted.json",
        "weather_2024-01.parquet",
        "trip-data/notes.txt",
    ],
)
def test_a_name_of_something_else_is_passed_over_in_silence(name: str) -> None:
    assert feed_files(TLC, landed(name)) == ([], ())


def test_the_months_of_a_service_are_listed_in_order() -> None:
    names = ["green_tripdata_2024-02.csv", "green_tripdata_2023-12.parquet", "yellow_tripdata_2024-01.parquet"]
    assert list(sorted_out(TLC, NOWHERE, landed(*names)).files) == [
        (Service.GREEN, Month(2023, 12)),
        (Service.GREEN, Month(2024, 2)),
        (Service.YELLOW, Month(2024, 1)),
    ]


def test_a_months_file_is_found_however_deep_it_stands(tmp_path: Path) -> None:
    landing = landing_with(tmp_path, "trips/2024/green_tripdata_2024-01.parquet", "yellow_tripdata_2024-01.parquet")
    (found,) = find_files(TLC, landing, GREEN)
    assert found.file.path == "trips/2024/green_tripdata_2024-01.parquet"
    assert Path(landing.uri(found.file)).read_bytes() == b"x"


def test_two_files_of_a_month_are_an_error_that_names_both(tmp_path: Path) -> None:
    landing = landing_with(
        tmp_path, "a/green_tripdata_2024-01.parquet", "green_tripdata_2024_01.csv.gz", "green_tripdata_2024-02.csv"
    )
    with pytest.raises(LandingError) as caught:
        find_files(TLC, landing, GREEN)
    assert str(caught.value) == (
        "2 files stand in landing for green 2024-01: "
        "a/green_tripdata_2024-01.parquet and green_tripdata_2024_01.csv.gz. "
        "Which one holds the month can't be told; move the others away."
    )
    (other,) = find_files(TLC, landing, (Service.GREEN, Month(2024, 2)))
    assert other.file.name == "green_tripdata_2024-02.csv"


def test_a_month_may_lack_a_file_and_the_expected_one_is_named(tmp_path: Path) -> None:
    landing = landing_with(tmp_path, "yellow_tripdata_2024-01.parquet")
    assert find_files(TLC, landing, GREEN) == ()
    assert no_file(TLC, landing, GREEN) == (
        f"There is no green file for 2024-01 in {tmp_path}: "
        "green_tripdata_2024-01.parquet (or .csv, .csv.gz) is expected."
    )


def test_a_month_whose_file_has_an_odd_name_is_an_error_that_names_that_file(tmp_path: Path) -> None:
    names = ["green_tripdata_2024-1.parquet", "green_tripdata_2023-1.parquet", "yellow_tripdata_2024-1.parquet"]
    with pytest.raises(LandingError) as caught:
        find_files(TLC, landing_with(tmp_path, *names), GREEN)
    message = str(caught.value)
    assert "green_tripdata_2024-1.parquet is not a name that is read; rename it" in message
    assert "2023-1.parquet" not in message
    assert "yellow" not in message


@pytest.mark.parametrize("name", ["taxi_zone_lookup.csv", "misc/taxi+_zone_lookup.csv"])
def test_a_zone_lookup_is_found_under_both_names_that_it_had(tmp_path: Path, name: str) -> None:
    found = find_zone_lookup(landing_with(tmp_path, name, "zones.csv"))
    assert found is not None
    assert found.path == name


def test_a_landing_may_lack_a_zone_lookup(tmp_path: Path) -> None:
    assert find_zone_lookup(landing_with(tmp_path, "green_tripdata_2024-01.parquet")) is None


def test_two_zone_lookups_are_an_error_that_names_both(tmp_path: Path) -> None:
    landing = landing_with(tmp_path, "taxi_zone_lookup.csv", "old/taxi_zone_lookup.csv")
    with pytest.raises(
        LandingError, match=r"2 zone lookups .*: old/taxi_zone_lookup.csv and taxi_zone_lookup.csv. Keep one"
    ):
        find_zone_lookup(landing)


def test_a_good_file_is_found_beside_one_whose_name_has_other_digits(tmp_path: Path) -> None:
    landing = landing_with(tmp_path, "green_tripdata_2024-01.parquet", f"green_tripdata_{FULL_WIDTH_2024}-01.parquet")
    (found,) = find_files(TLC, landing, GREEN)
    assert found.file.path == "green_tripdata_2024-01.parquet"
    assert look(TLC, landing).unread == (f"green_tripdata_{FULL_WIDTH_2024}-01.parquet",)


INSTEAD: dict[str, Callable[[Path], None]] = {
    "a pipe": os.mkfifo,
    "a link that leads nowhere": lambda place: place.symlink_to("nowhere"),
    "an empty folder": lambda place: place.mkdir(),
}


@pytest.mark.parametrize("what", INSTEAD)
def test_what_stands_there_instead_of_a_months_file_isnt_taken_for_none(tmp_path: Path, what: str) -> None:
    INSTEAD[what](tmp_path / "green_tripdata_2024-01.parquet")
    with pytest.raises(LandingError, match=rf"^green_\S+ can't be used: it is {what}, not a file"):
        find_files(TLC, Landing(str(tmp_path), {}), GREEN)


@pytest.mark.parametrize("what", INSTEAD)
def test_what_stands_there_instead_of_a_lookup_isnt_taken_for_none(tmp_path: Path, what: str) -> None:
    INSTEAD[what](tmp_path / "taxi_zone_lookup.csv")
    landing = Landing(str(tmp_path), {})
    lookup = find_zone_lookup(landing)
    assert lookup is not None
    with pytest.raises(LandingError, match=rf"^taxi_zone_lookup.csv can't be used: it is {what}, not a file"):
        open_source(landing, lookup, Format.CSV)


def test_a_lookup_that_is_a_folder_of_files_is_an_error(tmp_path: Path) -> None:
    landing = landing_with(tmp_path, "taxi_zone_lookup.csv/part-0.csv")
    with pytest.raises(
        LandingError, match=r"^taxi_zone_lookup\.csv/part-0\.csv stands in a folder that is called like"
    ):
        find_zone_lookup(landing)
