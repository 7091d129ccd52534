"""Real pieces of for-hire files, in each layout since 2015: they land as months, with every value in its column.

Values are read by hand from the files' lines. A piece's last line is cut: it is kept as it is, and quarantined.
"""

# Times are wall clock, without a zone.

from __future__ import annotations

import json
import shutil
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from taxi_assets.calendars import Month
from taxi_assets.tlc.vocabulary import Service
from taxi_assets_tests.scenario import Workspace, settled

pytestmark = pytest.mark.full

AT = datetime.fromisoformat
# By piece: the number of a row, its line, and what silver has of it.
PIECES: dict[tuple[Service, str], tuple[int, str, dict[str, Any]]] = {
    (Service.FHV, "2015-01"): (
        2,
        "B00013,2015-01-01 01:22:00,",
        {"dispatching_base": "B00013", "pickup_datetime": AT("2015-01-01 01:22"), "dropoff_datetime": None,
         "pickup_location_id": None, "pickup_borough": "Unknown", "duration_min": None, "is_repeat": False},
    ),
    (Service.FHV, "2017-01"): (
        3,
        "B00008,2017-01-01 00:50:00,,,",
        {"dispatching_base": "B00008", "pickup_datetime": AT("2017-01-01 00:50"), "dropoff_datetime": None,
         "pickup_location_id": None, "dropoff_location_id": None},
    ),
    (Service.FHV, "2017-07"): (
        4,
        '"B02817","2017-07-19 07:06:13","2017-07-19 14:01:19","177","97",""',
        {"dispatching_base": "B02817", "pickup_datetime": AT("2017-07-19 07:06:13"),
         "dropoff_datetime": AT("2017-07-19 14:01:19"), "pickup_location_id": 177, "dropoff_location_id": 97,
         "pickup_borough": "Brooklyn", "shared_ride_flag": None, "duration_min": Decimal("415.10")},
    ),
    (Service.FHV, "2018-03"): (
        1,
        '"2018-03-14 16:09:42","2018-03-14 16:45:56","241","47","1","B02836",""',
        {"dispatching_base": "B02836", "second_base": None, "pickup_datetime": AT("2018-03-14 16:09:42"),
         "dropoff_datetime": AT("2018-03-14 16:45:56"), "pickup_location_id": 241, "dropoff_location_id": 47,
         "pickup_borough": "Bronx", "dropoff_borough": "Bronx", "shared_ride_flag": 1,
         "duration_min": Decimal("36.23")},
    ),
    (Service.FHV, "2019-01"): (
        1,
        "B00001,2019-01-01 00:30:00,2019-01-01 02:51:55,,,",
        {"dispatching_base": "B00001", "dropoff_datetime": AT("2019-01-01 02:51:55"), "pickup_location_id": None,
         "duration_min": Decimal("141.92")},
    ),
    (Service.FHV, "2020-01"): (
        7,
        "B00013,2020-01-01 00:20:30,2020-01-01 00:45:52,264,264,",
        {"dispatching_base": "B00013", "pickup_datetime": AT("2020-01-01 00:20:30"), "pickup_location_id": 264,
         "dropoff_location_id": 264, "pickup_borough": "Unknown", "duration_min": Decimal("25.37")},
    ),
    (Service.FHVHV, "2019-02"): (
        6,
        "HV0005,B02510,2019-02-01 00:59:55,2019-02-01 01:06:28,198,198,1",
        {"license_num": "HV0005", "company": "Lyft", "dispatching_base": "B02510", "pickup_location_id": 198,
         "dropoff_location_id": 198, "shared_ride_flag": 1, "duration_min": Decimal("6.55"), "trip_distance": None,
         "base_passenger_fare": None, "total_amount": None, "request_datetime": None},
    ),
    (Service.FHVHV, "2020-03"): (
        3,
        "HV0003,B02764,2020-03-01 00:03:07,2020-03-01 00:15:04,137,209,1",
        {"license_num": "HV0003", "company": "Uber", "dispatching_base": "B02764", "pickup_location_id": 137,
         "dropoff_location_id": 209, "pickup_borough": "Manhattan", "shared_ride_flag": 1,
         "duration_min": Decimal("11.95"), "total_amount": None},
    ),
}  # fmt: skip


@pytest.mark.parametrize(("service", "month"), PIECES, ids=str)
def test_a_piece_of_each_layout_lands_as_a_month_with_each_value_in_its_column(
    service: Service, month: str, workspace: Workspace, real_data: Path
) -> None:
    row, line, expected = PIECES[service, month]
    piece = real_data / "tlc" / "csv_head1k" / f"{service}_tripdata_{month}.csv"
    lines = [text.strip() for text in piece.read_text().splitlines() if text.strip()]
    assert lines[row] == line, "what is expected was read from this line"
    settled(Path(shutil.copy(piece, workspace.landing)))

    result = workspace.run(service, month=Month.parse(month))

    assert result.success, workspace.failures(result)
    bronze, silver = (_stored(workspace, f"tlc_{layer}/{service}_trips") for layer in ("bronze", "silver"))
    assert bronze["source_row"].to_list() == list(range(1, len(lines)))
    assert json.loads(bronze["_rescued_data"][-1])["_line"] == lines[-1]
    assert bronze["_rescued_data"][:-1].is_null().all()
    # All but the line that was cut.
    assert silver["source_row"].to_list() == list(range(1, len(lines) - 1))
    assert silver.select(list(expected)).row(row - 1, named=True) == expected
    days = _stored(workspace, "tlc_gold/nyc_taxi_daily")
    assert days["trip_count"].sum() + days["repeat_count"].sum() == silver.height
    assert days["avg_fare"].is_null().all()


@pytest.mark.parametrize(("month", "of_it"), [("2021-01", (1, 2)), ("2024-01", (3, 4, 5))])
def test_rows_of_todays_24_columns_land_with_what_the_passenger_paid(
    month: str, of_it: tuple[int, ...], workspace: Workspace, real_data: Path
) -> None:
    header, *lines = (real_data / "fhvhv" / "fhvhv_tripdata_rows.csv").read_text().splitlines()
    chosen = [lines[number - 1] for number in of_it]
    (workspace.landing / f"fhvhv_tripdata_{month}.csv").write_text("\n".join([header, *chosen, ""]))

    result = workspace.run(Service.FHVHV, month=Month.parse(month))

    assert result.success, workspace.failures(result)
    silver = _stored(workspace, "tlc_silver/fhvhv_trips")
    # 22.28 + 0.67 + 1.98 + 2.75 and 18.36 + 0.55 + 1.63; 45.61 + 1.25 + 4.05 + 2.75, 10.05 + 0.28 + 0.89 + 2.75 and
    # 18.07 + 0.50 + 1.60 + 2.75. Nobody gave a tip.
    totals = {"2021-01": ["27.68", "20.54"], "2024-01": ["53.66", "13.97", "22.92"]}[month]
    assert silver["total_amount"].to_list() == [Decimal(total) for total in totals]
    assert silver["trip_distance"].dtype == pl.Decimal(10, 3)
    assert all(check.passed for check in result.get_asset_check_evaluations())
    zones = _stored(workspace, "tlc_gold/fact_top_zones", "pickup_location_id")
    assert zones["total_revenue"].sum() == sum(map(Decimal, totals))
    if month == "2021-01":
        assert silver["access_a_ride_flag"].to_list() == [None, None]
        assert silver.select("trip_distance", "trip_time", "driver_pay", "duration_min").rows() == [
            (Decimal("5.260"), 923, Decimal("14.99"), Decimal("15.38")),
            (Decimal("3.650"), 1382, Decimal("17.06"), Decimal("23.03")),
        ]


def _stored(workspace: Workspace, key: str, order: str = "source_row") -> pl.DataFrame:
    rows = pl.read_delta(f"{workspace.settings.lake_root}/{key}")
    return rows.sort(order) if order in rows.columns else rows
