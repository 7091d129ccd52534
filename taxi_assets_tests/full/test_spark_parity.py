"""Both engines make the same of the same files: every table, row, type and value, and what every check says.

Polars is the measure here; that it's right itself is shown by test_ground_truth.py and test_independent_sql.py.
"""

# Times are wall clock, without a zone.
# ruff: noqa: DTZ001

from __future__ import annotations

import shutil
from dataclasses import dataclass
from datetime import datetime, timedelta
from math import inf, nan
from pathlib import Path
from typing import Any

import dagster as dg
import polars as pl
import pytest
from polars.testing import assert_frame_equal

from taxi_assets.calendars import Month
from taxi_assets.check_history import latest_results
from taxi_assets.definitions import defs
from taxi_assets.engines import Engine
from taxi_assets.instance import open_instance
from taxi_assets.sample import write_month
from taxi_assets.tlc.catalog import CONTENTS
from taxi_assets.tlc.vocabulary import Service
from taxi_assets_tests.full.processes import MINUTE, Home, assert_equal_contents, contents, report_of
from taxi_assets_tests.scenario import MONTH, in_file_columns, settled, trip

pytestmark = pytest.mark.full

TABLES = sorted("/".join(key.path) for asset in CONTENTS.tables for key in asset.keys)
EACH_WORLD = pytest.mark.parametrize("world", ["made_up", "real"], indirect=True)
AUTUMN = Month(2024, 11)
_NIGHT = datetime(2024, 11, 3, 1)
_MINUTE = timedelta(minutes=1)


@dataclass(frozen=True)
class World:
    """The same files on each engine: homes and tables by the engine's name, and the months that were run."""

    homes: dict[str, Home]
    tables: dict[str, dict[str, pl.DataFrame]]
    months: list[str]


@pytest.fixture(scope="module")
def made_up(spark: Engine, tmp_path_factory: pytest.TempPathFactory) -> World:
    """Return months of samples, and months of trips that have something wrong in every way that we could think of."""
    del spark  # asked for so that there is one
    folder = tmp_path_factory.mktemp("made-up")
    landing = folder / "landing"
    landing.mkdir()
    for service in Service:
        write_month(landing, service, MONTH, 3_000, seed=4)
    in_file_columns(Service.GREEN, _DIRTY).write_parquet(landing / f"green_tripdata_{AUTUMN}.parquet")
    texts = in_file_columns(Service.YELLOW, _DIRTY).cast(pl.String)
    texts = texts.with_columns(
        # What no type of ours holds, in a file in which everything is text.
        fare_amount=pl.when(pl.int_range(pl.len()) == 0).then(pl.lit("twelve")).otherwise("fare_amount"),
        PULocationID=pl.when(pl.int_range(pl.len()) == 1).then(pl.lit("99999999999")).otherwise("PULocationID"),
        a_new_column=pl.lit("new"),
    )
    texts.write_csv(landing / f"yellow_tripdata_{AUTUMN}.csv")
    return _on_both(folder, landing, [str(MONTH), str(AUTUMN)])


@pytest.fixture(scope="module")
def real(spark: Engine, real_data: Path, tmp_path_factory: pytest.TempPathFactory) -> World:
    """Return real months of each service: Parquet of the old types and the new, and CSV."""
    del spark
    folder = tmp_path_factory.mktemp("real")
    landing = folder / "landing"
    landing.mkdir()
    files = [
        *sorted((real_data / "tlc" / "parquet").glob("*.parquet")),
        real_data / "tlc" / "csv" / "green_tripdata_2020-04.csv.gz",
        real_data / "tlc" / "csv_head100" / "yellow_tripdata_2016-07.csv",
        real_data / "tlc" / "resaved" / "yellow_tripdata_2025-02.parquet",
        *(real_data / "tlc" / "csv_head1k" / f"fhv_tripdata_{month}.csv" for month in ("2015-01", "2018-03")),
        real_data / "tlc" / "csv_head1k" / "fhvhv_tripdata_2019-02.csv",
    ]
    for file in files:
        settled(Path(shutil.copy(file, landing)))
    # Today's columns; of its rows, two of five are of another month.
    shutil.copy(real_data / "fhvhv" / "fhvhv_tripdata_rows.csv", landing / "fhvhv_tripdata_2024-01.csv")
    return _on_both(folder, landing, sorted({*(file.name.split("_")[2][:7] for file in files), "2024-01"}))


@pytest.fixture(scope="module")
def world(request: pytest.FixtureRequest) -> World:
    """Return the world that a parameter names."""
    found: World = request.getfixturevalue(request.param)
    return found


@EACH_WORLD
@pytest.mark.parametrize("table", TABLES)
def test_a_tables_rows_types_and_values_are_the_same(world: World, table: str) -> None:
    on_polars, on_spark = (world.tables[engine][table] for engine in ("polars", "spark"))

    assert on_polars.height > 0, "nothing would be compared"
    assert_frame_equal(on_spark, on_polars, check_exact=True)


@EACH_WORLD
def test_every_check_says_the_same_and_shows_the_same_rows(world: World) -> None:
    on_polars, on_spark = (_checks(world, engine) for engine in ("polars", "spark"))

    assert {month for month, _ in on_polars} == set(world.months)
    assert on_spark == on_polars


@pytest.mark.parametrize("first", ["polars", "spark"])
def test_a_lake_can_change_engines_from_month_to_month_and_back(first: str, made_up: World, tmp_path: Path) -> None:
    second = {"polars": "spark", "spark": "polars"}[first]
    home = Home.below(tmp_path, made_up.homes["polars"].landing)

    for engine, month in ((first, MONTH), (second, AUTUMN), (second, MONTH), (first, AUTUMN)):
        home.report("materialize", "--service", "green", str(month), TAXI_ENGINE=engine)

    silver = {table: rows for table, rows in contents(home.lake).items() if table.startswith("tlc_silver/green_trips")}
    assert len(silver) == 2
    assert_equal_contents(silver, {table: made_up.tables["polars"][table] for table in silver})


_ODD: list[dict[str, Any]] = [
    {"pickup_datetime": None},
    {"dropoff_datetime": None, "fare_amount": None},
    {"pickup_datetime": datetime(1900, 1, 1), "dropoff_datetime": datetime(1900, 1, 1, 0, 5)},
    {"pickup_datetime": datetime(2098, 9, 11, 2, 23, 31), "dropoff_datetime": datetime(2098, 9, 11, 2, 52, 31)},
    {"dropoff_datetime": datetime(9999, 12, 31, 23, 59, 59)},
    {"pickup_datetime": _NIGHT + timedelta(minutes=50), "dropoff_datetime": _NIGHT + timedelta(minutes=10)},
    {"pickup_datetime": _NIGHT + timedelta(minutes=70), "dropoff_datetime": _NIGHT + timedelta(minutes=10)},
    {"pickup_datetime": datetime(2024, 11, 4, 0, 0, 0, 999_999), "dropoff_datetime": datetime(2024, 11, 4, 0, 1)},
    {"fare_amount": nan},
    {"tip_amount": nan, "tolls_amount": inf},
    {"fare_amount": inf, "total_amount": inf},
    {"extra": -inf},
    {"extra": 1e300, "total_amount": -1e300},
    {"fare_amount": 99_999_999.995},
    {"fare_amount": 999_999.994},
    {"fare_amount": 999_999.995},
    {"fare_amount": 0.005, "trip_distance": 0.004_999},
    {"fare_amount": 0.615, "trip_distance": 0.005},
    {"fare_amount": 12.345, "tip_amount": -0.005, "tolls_amount": 1.005, "extra": -0.0, "total_amount": 2.675},
    {"fare_amount": 900_000.0, "trip_distance": 0.01},
    {"trip_distance": 1_000.0},
    {"trip_distance": 1_000.004},
    {"trip_distance": -1.0},
    {"pickup_location_id": 999, "dropoff_location_id": None, "payment_type": None, "passenger_count": None},
    {"payment_type": 99, "passenger_count": 0, "vendor_id": None},
    {"total_amount": 20.01},
    {"store_and_fwd_flag": " "},
    {"store_and_fwd_flag": "søløst; \"quoted\", 'and' \\ so on"},
]
_OF_AUTUMN = {"pickup_datetime": datetime(2024, 11, 10, 12), "dropoff_datetime": datetime(2024, 11, 10, 12, 10)}
_DIRTY = [
    *(
        trip(pickup_datetime=_NIGHT + number * _MINUTE, dropoff_datetime=_NIGHT + (number + 7) * _MINUTE)
        for number in range(150)
    ),
    *(trip(**{**_OF_AUTUMN, **odd}) for odd in _ODD),
    # Once more, for duplicates and repeats; and refunds, of which one has two charges.
    *(trip(**{**_OF_AUTUMN, **odd}) for odd in _ODD[:20]),
    *(trip(**_OF_AUTUMN) for _ in range(2)),
    trip(**_OF_AUTUMN, fare_amount=-12.0, total_amount=-20.0),
    trip(**_OF_AUTUMN, fare_amount=-12.0, total_amount=-20.0, passenger_count=3),
]  # fmt: skip


def _on_both(folder: Path, landing: Path, months: list[str]) -> World:
    homes = {engine: Home.below(folder / engine, landing) for engine in ("polars", "spark")}
    for engine, home in homes.items():
        # One after the other on both: drift is told from the months that are stored before.
        materialize = ("materialize", *months, "--jobs", "1", "--json")
        report = report_of(home.start(*materialize, TAXI_ENGINE=engine), 20 * MINUTE)
        assert [month["state"] for month in report] == ["done"] * len(months), report
    return World(homes, {engine: contents(home.lake) for engine, home in homes.items()}, months)


def _checks(world: World, engine: str) -> dict[tuple[str, str], Any]:
    """Return by month and check the result, with its figures and example rows."""
    found = {}
    instance = open_instance(str(world.homes[engine].dagster))
    keys = sorted(defs.resolve_asset_graph().asset_check_keys)
    for month in world.months:
        for key in keys:
            for result in latest_results(instance, [key], month):
                found[month, key.to_user_string()] = (
                    result.status,
                    result.says,
                    _figures(instance, result.run_id, key),
                )
    return found


def _figures(instance: dg.DagsterInstance, run_id: str, key: dg.AssetCheckKey) -> Any:
    evaluations = [
        record.event_log_entry.dagster_event.asset_check_evaluation_data
        for record in instance.get_records_for_run(run_id, of_type=dg.DagsterEventType.ASSET_CHECK_EVALUATION).records
    ]
    return [dict(found.metadata) for found in evaluations if found.asset_check_key == key]
