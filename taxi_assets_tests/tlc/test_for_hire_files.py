"""Claims about the files of for-hire vehicles: in each layout since 2015 every value stands in its column.

Headers and rows are copied from TLC's files, and read here by hand; whole pieces of these land in the full tier.
"""

# Times are wall clock, without a zone.
# ruff: noqa: DTZ001

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from taxi_assets.calendars import Month
from taxi_assets.errors import LandingError
from taxi_assets.landing import Landing
from taxi_assets.tlc.bronze.month_file import read_month
from taxi_assets.tlc.bronze.trips import BRONZE_TRIPS
from taxi_assets.tlc.vocabulary import Service

pytestmark = pytest.mark.fast

AT = datetime.fromisoformat
# CSVs of high-volume companies until 2020, and what their Parquet files have had since.
FHVHV_2019 = "hvfhs_license_num,dispatching_base_num,pickup_datetime,dropoff_datetime,PULocationID,DOLocationID,SR_Flag"
FHVHV_TODAY = (
    "hvfhs_license_num,dispatching_base_num,originating_base_num,request_datetime,on_scene_datetime,pickup_datetime,"
    "dropoff_datetime,PULocationID,DOLocationID,trip_miles,trip_time,base_passenger_fare,tolls,bcf,sales_tax,"
    "congestion_surcharge,airport_fee,tips,driver_pay,shared_request_flag,shared_match_flag,access_a_ride_flag,"
    "wav_request_flag,wav_match_flag"
)
FHV_2019 = "dispatching_base_num,pickup_datetime,dropoff_datetime,PULocationID,DOLocationID,SR_Flag"

# By file: its header, one of its rows, and what that row has; all else is null.
LAYOUTS: dict[tuple[Service, str], tuple[str, str, dict[str, Any]]] = {
    (Service.FHV, "2015-01"): (
        "Dispatching_base_num,Pickup_date,locationID",
        "B00013,2015-01-01 00:30:00,",
        {"dispatching_base_num": "B00013", "pickup_datetime": AT("2015-01-01 00:30")},
    ),
    (Service.FHV, "2015-02"): (
        "Dispatching_base_num,Pickup_date,locationID",
        "B00013,2015-02-01 00:30:00,132",
        {
            "dispatching_base_num": "B00013",
            "pickup_datetime": AT("2015-02-01 00:30"),
            "pickup_location_id": 132,
        },
    ),
    (Service.FHV, "2017-01"): (
        "Dispatching_base_num,Pickup_DateTime,DropOff_datetime,PUlocationID,DOlocationID",
        "B00001,2017-01-01 00:30:00,,,",
        {"dispatching_base_num": "B00001", "pickup_datetime": AT("2017-01-01 00:30")},
    ),
    (Service.FHV, "2017-07"): (
        '"Dispatching_base_num","Pickup_DateTime","DropOff_datetime","PUlocationID","DOlocationID","SR_Flag"',
        '"B02817","2017-07-19 07:06:13","2017-07-19 14:01:19","177","97",""',
        {
            "dispatching_base_num": "B02817",
            "pickup_datetime": AT("2017-07-19 07:06:13"),
            "dropoff_datetime": AT("2017-07-19 14:01:19"),
            "pickup_location_id": 177,
            "dropoff_location_id": 97,
        },
    ),
    (Service.FHV, "2018-03"): (
        (
            '"Pickup_DateTime","DropOff_datetime","PUlocationID","DOlocationID","SR_Flag","Dispatching_base_number",'
            '"Dispatching_base_num"'
        ),
        '"2018-03-14 16:09:42","2018-03-14 16:45:56","241","47","1","B02836","B00900"',
        {
            "dispatching_base_num": "B02836",
            "second_base_num": "B00900",
            "pickup_datetime": AT("2018-03-14 16:09:42"),
            "dropoff_datetime": AT("2018-03-14 16:45:56"),
            "pickup_location_id": 241,
            "dropoff_location_id": 47,
            "shared_ride_flag": 1,
        },
    ),
    (Service.FHV, "2019-01"): (
        FHV_2019,
        "B00037,2019-01-01 00:02:43,2019-01-01 00:10:14,,265,",
        {
            "dispatching_base_num": "B00037",
            "pickup_datetime": AT("2019-01-01 00:02:43"),
            "dropoff_datetime": AT("2019-01-01 00:10:14"),
            "dropoff_location_id": 265,
        },
    ),
    (Service.FHV, "2020-01"): (
        FHV_2019,
        "B00013,2020-01-01 00:20:30,2020-01-01 00:45:52,264,264,",
        {
            "dispatching_base_num": "B00013",
            "pickup_datetime": AT("2020-01-01 00:20:30"),
            "dropoff_datetime": AT("2020-01-01 00:45:52"),
            "pickup_location_id": 264,
            "dropoff_location_id": 264,
        },
    ),
    # As Parquet files have it since: with the vehicle's base, and blanks behind the numbers.
    (Service.FHV, "2022-06"): (
        "dispatching_base_num,pickup_datetime,dropOff_datetime,PUlocationID,DOlocationID,SR_Flag,Affiliated_base_number",
        "B03404        ,2022-06-01 00:20:30,2022-06-01 00:45:52,264.0,,1.0,b00254",
        {
            "dispatching_base_num": "B03404",
            "affiliated_base_num": "b00254",
            "pickup_datetime": AT("2022-06-01 00:20:30"),
            "dropoff_datetime": AT("2022-06-01 00:45:52"),
            "pickup_location_id": 264,
            "shared_ride_flag": 1,
        },
    ),
    (Service.FHVHV, "2019-02"): (
        FHVHV_2019,
        "HV0005,B02510,2019-02-01 00:59:55,2019-02-01 01:06:28,198,197,1",
        {
            "hvfhs_license_num": "HV0005",
            "dispatching_base_num": "B02510",
            "pickup_datetime": AT("2019-02-01 00:59:55"),
            "dropoff_datetime": AT("2019-02-01 01:06:28"),
            "pickup_location_id": 198,
            "dropoff_location_id": 197,
            "shared_ride_flag": 1,
        },
    ),
    (Service.FHVHV, "2020-03"): (
        FHVHV_2019,
        "HV0003,B02764,2020-03-01 00:29:34,2020-03-01 00:39:19,47,213,",
        {
            "hvfhs_license_num": "HV0003",
            "dispatching_base_num": "B02764",
            "pickup_datetime": AT("2020-03-01 00:29:34"),
            "dropoff_datetime": AT("2020-03-01 00:39:19"),
            "pickup_location_id": 47,
            "dropoff_location_id": 213,
        },
    ),
    (Service.FHVHV, "2021-01"): (
        FHVHV_TODAY,
        (
            "HV0003,B02682,B02683,2021-01-01 00:28:09,2021-01-01 00:31:42,2021-01-01 00:33:44,2021-01-01 00:49:07,230,"
            "166,5.26,923,22.28,0.5,0.67,1.98,2.75,,1.5,14.99,N,Y, ,N,Y"
        ),
        {
            "hvfhs_license_num": "HV0003",
            "dispatching_base_num": "B02682",
            "originating_base_num": "B02683",
            "request_datetime": AT("2021-01-01 00:28:09"),
            "on_scene_datetime": AT("2021-01-01 00:31:42"),
            "pickup_datetime": AT("2021-01-01 00:33:44"),
            "dropoff_datetime": AT("2021-01-01 00:49:07"),
            "pickup_location_id": 230,
            "dropoff_location_id": 166,
            "trip_miles": 5.26,
            "trip_time": 923,
            "base_passenger_fare": 22.28,
            "tolls": 0.5,
            "bcf": 0.67,
            "sales_tax": 1.98,
            "congestion_surcharge": 2.75,
            "tips": 1.5,
            "driver_pay": 14.99,
            "shared_request_flag": "N",
            "shared_match_flag": "Y",
            "wav_request_flag": "N",
            "wav_match_flag": "Y",
        },
    ),
    (Service.FHVHV, "2025-01"): (
        f"{FHVHV_TODAY},cbd_congestion_fee",
        (
            "HV0005,B03406,,2025-01-09 00:28:09,,2025-01-09 00:33:44,2025-01-09 00:49:07,230,166,"
            "5.261,923,22.28,0.0,0.67,1.98,2.75,2.5,0.0,14.99,N,N,N,N,N,1.5"
        ),
        {
            "hvfhs_license_num": "HV0005",
            "dispatching_base_num": "B03406",
            "request_datetime": AT("2025-01-09 00:28:09"),
            "pickup_datetime": AT("2025-01-09 00:33:44"),
            "dropoff_datetime": AT("2025-01-09 00:49:07"),
            "pickup_location_id": 230,
            "dropoff_location_id": 166,
            "trip_miles": 5.261,
            "trip_time": 923,
            "base_passenger_fare": 22.28,
            "tolls": 0.0,
            "bcf": 0.67,
            "sales_tax": 1.98,
            "congestion_surcharge": 2.75,
            "airport_fee": 2.5,
            "cbd_congestion_fee": 1.5,
            "tips": 0.0,
            "driver_pay": 14.99,
            "shared_request_flag": "N",
            "shared_match_flag": "N",
            "access_a_ride_flag": "N",
            "wav_request_flag": "N",
            "wav_match_flag": "N",
        },
    ),
}


def read(folder: Path, service: Service, month: str, *lines: str) -> pl.DataFrame:
    """Write lines, ended as TLC ends them, as a service's CSV, and read it as bronze does."""
    (folder / f"{service}_tripdata_{month}.csv").write_bytes("".join(f"{line}\r\n" for line in lines).encode())
    (result,) = read_month(Landing(str(folder), {}), None, service, Month.parse(month), BRONZE_TRIPS[service])
    rows: pl.DataFrame = result.value.collect().to_native()
    return rows


@pytest.mark.parametrize(("service", "month"), LAYOUTS, ids=str)
def test_each_layout_lands_with_every_value_in_its_column(service: Service, month: str, tmp_path: Path) -> None:
    header, row, expected = LAYOUTS[service, month]

    rows = read(tmp_path, service, month, header, row, "", row)

    about_the_file = {"source_file", "source_row", "source_fingerprint", "ingested_at", "source_month"}
    nothing_else = dict.fromkeys(name for name in BRONZE_TRIPS[service].column_names() if name not in about_the_file)
    assert rows.select(list(nothing_else)).to_dicts() == [nothing_else | expected] * 2


def test_a_parquet_files_numbers_for_shared_rides_are_the_csvs(tmp_path: Path) -> None:
    # A column of ones and nulls is one of doubles in some months, of whole numbers in others, of type null in others.
    for kind, expected in ((pl.Float64, 1), (pl.Int32, 1), (pl.Int64, 1), (pl.Null, None)):
        value = None if kind is pl.Null else 1
        pl.DataFrame({
            "dispatching_base_num": ["B00001"],
            "pickup_datetime": [datetime(2023, 1, 1)],
            "SR_Flag": pl.Series([value], dtype=kind),
        }).write_parquet(tmp_path / "fhv_tripdata_2023-01.parquet")  # fmt: skip
        (result,) = read_month(Landing(str(tmp_path), {}), None, Service.FHV, Month(2023, 1), BRONZE_TRIPS[Service.FHV])
        assert result.value.collect().to_native()["shared_ride_flag"].to_list() == [expected], kind


@pytest.mark.parametrize(
    ("named", "header", "row", "told"),
    [
        (Service.FHV, FHVHV_2019, LAYOUTS[Service.FHVHV, "2020-03"][1], "are those of fhvhv trips, not of fhv"),
        (Service.FHVHV, FHV_2019, LAYOUTS[Service.FHV, "2020-01"][1], "are those of fhv trips, not of fhvhv"),
        (Service.FHV, FHVHV_TODAY, LAYOUTS[Service.FHVHV, "2021-01"][1], "are those of fhvhv trips, not of fhv"),
        (Service.GREEN, FHVHV_TODAY, LAYOUTS[Service.FHVHV, "2021-01"][1], "are those of fhvhv trips, not of green"),
        # A column that is new to all of us hides nothing.
        (
            Service.FHV,
            f"{FHVHV_TODAY},new_fee",
            f"{LAYOUTS[Service.FHVHV, '2021-01'][1]},0.5",
            "are those of fhvhv trips, not of fhv",
        ),
        (Service.FHV, "base,pickup_datetime", "B00001,2020-01-01", "dispatching_base_num"),
        (Service.FHVHV, FHVHV_2019.removesuffix(",DOLocationID,SR_Flag"), "HV0003,B1,,,1", "dolocationid"),
    ],
)
def test_a_file_of_another_service_or_without_what_is_needed_is_refused(
    named: Service, header: str, row: str, told: str, tmp_path: Path
) -> None:
    with pytest.raises(LandingError, match=told):
        read(tmp_path, named, "2020-01", header, row)
