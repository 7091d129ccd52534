"""Real files other than the seven months: TLC's CSVs, with their line ends and surplus fields, and what isn't TLC's.

Values are read by hand from the files' lines, counts and sums come from SQL or plain Python on the files.
"""

from __future__ import annotations

import gzip
import json
import shutil
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pytest

from taxi_assets.calendars import Month
from taxi_assets.contracts import contract_of
from taxi_assets.engines.csv_lines import BROKEN_LINE, ROW
from taxi_assets.engines.source_files import Format, count_rows, open_source
from taxi_assets.landing import Landing
from taxi_assets.tlc.vocabulary import Service
from taxi_assets_tests.full.processes import first_day
from taxi_assets_tests.scenario import Workspace, settled

pytestmark = pytest.mark.full


@pytest.mark.parametrize("month", ["2020-04", "2020-05"])
def test_a_gzipped_csv_of_a_month_lands_whole_and_keeps_what_sql_keeps(
    month: str, workspace: Workspace, real_data: Path
) -> None:
    path = _land(workspace, real_data / "tlc" / "csv" / f"green_tripdata_{month}.csv.gz")
    lines = [line for line in gzip.decompress(path.read_bytes()).split(b"\n") if line.strip()]
    kept, total = duckdb.sql(
        f"""
        SELECT count(*), sum(total_amount::DECIMAL(12, 2)) FROM read_csv('{path}', header = true, all_varchar = true)
        WHERE date_trunc('month', lpep_pickup_datetime::TIMESTAMP) = DATE '{first_day(month)}'
            AND lpep_pickup_datetime::TIMESTAMP < lpep_dropoff_datetime::TIMESTAMP
            AND fare_amount::DOUBLE > 0 AND trip_distance::DOUBLE > 0 AND trip_distance::DOUBLE <= 1000
        """
    ).fetchall()[0]

    _run(workspace, Service.GREEN, month)

    stored = _stored(workspace, "tlc_silver/green_trips")
    assert _rows(workspace, "tlc_bronze/green_trips") == len(lines) - 1
    assert (stored.height, stored["total_amount"].sum()) == (kept, total)
    assert _rows(workspace, "tlc_silver/green_trips_quarantine") == len(lines) - 1 - kept


def test_every_line_of_every_real_csv_is_a_row_whatever_its_layout(real_data: Path) -> None:
    landing = Landing(str(real_data / "tlc"), {})
    files = [file for file in landing.files() if ".csv" in file.name]
    assert len(files) == 37
    for file in files:
        form = Format.CSV_GZ if file.name.endswith(".gz") else Format.CSV
        data = Path(landing.uri(file)).read_bytes()
        lines = [line.strip() for line in (gzip.decompress(data) if form is Format.CSV_GZ else data).splitlines()]
        written = [line.decode() for line in lines if line][1:]

        rows = open_source(landing, file, form).rows.sort(ROW).collect()

        assert rows[ROW].to_list() == list(range(1, len(written) + 1)), file.path
        assert count_rows(landing, file, form) == len(written), file.path
        broken = rows[BROKEN_LINE].drop_nulls().to_list()
        assert broken in ([], written[-1:]), file.path
        assert not broken or "head1k" in file.path, f"{file.path}: of these files just the heads are cut"
        # The first field of each line, so that each row is its line.
        whole = written[: len(written) - len(broken)]
        first = [line.split(",")[0].strip('"').strip() for line in whole]
        assert rows.to_series(1).head(len(whole)).to_list() == first, file.path


AT = datetime.fromisoformat
HUNDRED_LINES = {
    ("yellow", "2016-07"): (
        1,
        "1,2016-07-10 06:56:05,2016-07-10 06:59:53,1,.50,1,N,263,236,1,4.5,1,0.5,2.7,0,0.3,9,,",
        {
            "vendor_id": 1,
            "pickup_datetime": AT("2016-07-10 06:56:05"),
            "dropoff_datetime": AT("2016-07-10 06:59:53"),
            "passenger_count": 1,
            "trip_distance": 0.5,
            "rate_code_id": 1,
            "store_and_fwd_flag": "N",
            "pickup_location_id": 263,
            "dropoff_location_id": 236,
            "payment_type": 1,
            "fare_amount": 4.5,
            "extra": 1.0,
            "mta_tax": 0.5,
            "tip_amount": 2.7,
            "tolls_amount": 0.0,
            "improvement_surcharge": 0.3,
            "total_amount": 9.0,
            "congestion_surcharge": None,
        },
    ),
    ("yellow", "2016-12"): (
        4,
        "2,2016-12-01 00:00:02,2016-12-01 00:09:17,6,1.69,1,N,246,107,1,8.5,0.5,0.5,2.45,0,0.3,12.25,,",
        {
            "vendor_id": 2,
            "pickup_datetime": AT("2016-12-01 00:00:02"),
            "dropoff_datetime": AT("2016-12-01 00:09:17"),
            "passenger_count": 6,
            "trip_distance": 1.69,
            "pickup_location_id": 246,
            "dropoff_location_id": 107,
            "payment_type": 1,
            "fare_amount": 8.5,
            "extra": 0.5,
            "tip_amount": 2.45,
            "total_amount": 12.25,
        },
    ),
    ("yellow", "2017-06"): (
        3,
        "2,2017-06-08 08:16:49,2017-06-08 15:43:22,6,5.63,1,N,137,41,2,21.5,1,0.5,0,0,0.3,23.3",
        {
            "vendor_id": 2,
            "pickup_datetime": AT("2017-06-08 08:16:49"),
            "dropoff_datetime": AT("2017-06-08 15:43:22"),
            "passenger_count": 6,
            "trip_distance": 5.63,
            "pickup_location_id": 137,
            "dropoff_location_id": 41,
            "payment_type": 2,
            "fare_amount": 21.5,
            "extra": 1.0,
            "tip_amount": 0.0,
            "total_amount": 23.3,
        },
    ),
    ("green", "2016-07"): (
        1,
        "2,2016-07-01 00:01:22,2016-07-01 00:38:57,N,1,7,41,1,7.14,28,0,0.5,5.76,0,,0.3,34.56,1,1,,",
        {
            "vendor_id": 2,
            "pickup_datetime": AT("2016-07-01 00:01:22"),
            "dropoff_datetime": AT("2016-07-01 00:38:57"),
            "store_and_fwd_flag": "N",
            "rate_code_id": 1,
            "pickup_location_id": 7,
            "dropoff_location_id": 41,
            "passenger_count": 1,
            "trip_distance": 7.14,
            "fare_amount": 28.0,
            "extra": 0.0,
            "mta_tax": 0.5,
            "tip_amount": 5.76,
            "tolls_amount": 0.0,
            "ehail_fee": None,
            "improvement_surcharge": 0.3,
            "total_amount": 34.56,
            "payment_type": 1,
            "trip_type": 1,
            "congestion_surcharge": None,
        },
    ),
    ("green", "2016-12"): (
        2,
        "2,2016-12-01 00:52:41,2016-12-01 00:54:51,N,1,92,171,1,.64,4,0.5,0.5,1.06,0,,0.3,6.36,1,1,,",
        {
            "vendor_id": 2,
            "pickup_datetime": AT("2016-12-01 00:52:41"),
            "pickup_location_id": 92,
            "dropoff_location_id": 171,
            "passenger_count": 1,
            "trip_distance": 0.64,
            "fare_amount": 4.0,
            "tip_amount": 1.06,
            "ehail_fee": None,
            "improvement_surcharge": 0.3,
            "total_amount": 6.36,
            "payment_type": 1,
            "trip_type": 1,
        },
    ),
    ("green", "2017-05"): (
        3,
        "2,2017-05-01 00:00:11,2017-05-01 00:06:42,N,1,75,163,1,2.80,9.5,0.5,0.5,0,0,,0.3,10.8,2,1",
        {
            "vendor_id": 2,
            "pickup_datetime": AT("2017-05-01 00:00:11"),
            "pickup_location_id": 75,
            "dropoff_location_id": 163,
            "passenger_count": 1,
            "trip_distance": 2.8,
            "fare_amount": 9.5,
            "tip_amount": 0.0,
            "ehail_fee": None,
            "improvement_surcharge": 0.3,
            "total_amount": 10.8,
            "payment_type": 2,
            "trip_type": 1,
        },
    ),
}


@pytest.mark.parametrize(("service", "month"), list(HUNDRED_LINES))
def test_a_csv_with_surplus_fields_and_mixed_line_ends_lands_with_each_value_in_its_column(
    service: str, month: str, workspace: Workspace, real_data: Path
) -> None:
    row, line, expected = HUNDRED_LINES[service, month]
    path = _land(workspace, real_data / "tlc" / "csv_head100" / f"{service}_tripdata_{month}.csv")
    lines = [text.strip() for text in path.read_text().splitlines() if text.strip()]
    assert lines[row] == line, "what is expected below was read from this line"

    _run(workspace, Service(service), month)

    bronze = _stored(workspace, f"tlc_bronze/{service}_trips").sort("source_row")
    assert bronze["source_row"].to_list() == list(range(1, len(lines)))
    assert bronze.select(list(expected)).row(row - 1, named=True) == expected
    assert bronze["_rescued_data"].is_null().all()


CUT = {
    ("yellow", "2020-06"): "2,2020-06-01 00:08:48,2020-06-01 0",
    ("green", "2019-01"): "2,2019-01-01 00:16",
    ("green", "2020-06"): "2,2020-",
}


@pytest.mark.parametrize(("service", "month"), list(CUT))
def test_a_line_that_was_cut_is_kept_as_it_is_in_bronze_and_quarantined(
    service: str, month: str, workspace: Workspace, real_data: Path
) -> None:
    path = _land(workspace, real_data / "tlc" / "csv_head1k" / f"{service}_tripdata_{month}.csv")
    lines = [text for text in path.read_text().splitlines() if text.strip()]

    _run(workspace, Service(service), month)

    bronze = _stored(workspace, f"tlc_bronze/{service}_trips").sort("source_row")
    quarantined = _stored(workspace, f"tlc_silver/{service}_trips_quarantine").sort("source_row")
    assert bronze.height == len(lines) - 1
    assert json.loads(bronze["_rescued_data"][-1])["_line"] == CUT[service, month]
    assert bronze["_rescued_data"][:-1].is_null().all()
    assert quarantined["source_row"][-1] == len(lines) - 1
    assert {"values_fit_their_types", "required_values_present"} <= set(quarantined["failed_rules"][-1])


def test_a_file_of_which_most_rows_are_of_another_month_is_kept_in_bronze_and_published_nowhere_else(
    workspace: Workspace, real_data: Path
) -> None:
    # Of its nine lines four are of November 2018, one is of December, and the last is cut.
    _land(workspace, real_data / "tlc" / "csv_head1k" / "yellow_tripdata_2019-01.csv")

    result = workspace.run(Service.YELLOW, month=Month(2019, 1))

    (failure,) = workspace.failures(result)
    assert "6 of 9 rows" in failure
    assert "pickup_in_file_month (5)" in failure
    bronze = _stored(workspace, "tlc_bronze/yellow_trips").sort("source_row")
    assert bronze.height == 9
    assert json.loads(bronze["_rescued_data"][-1])["_line"] == "1,2019-01-01 00:32:01,2019-01-01 00:45:39,1,3.70,"
    assert _rows(workspace, "tlc_silver/yellow_trips") is None
    assert _rows(workspace, "tlc_gold/nyc_taxi_daily") is None


def test_a_resaved_month_with_other_capitals_a_new_fee_and_a_new_payment_type_lands_in_the_same_columns(
    workspace: Workspace, real_data: Path
) -> None:
    path = _land(workspace, real_data / "tlc" / "resaved" / "yellow_tripdata_2025-02.parquet")
    rows, flex, airport, congestion = duckdb.sql(
        f"""
        SELECT count(*), count(*) FILTER (payment_type = 0), sum("Airport_fee"::DECIMAL(10, 2)),
            sum(cbd_congestion_fee::DECIMAL(10, 2)) FROM '{path}'
        """
    ).fetchall()[0]

    result = _run(workspace, Service.YELLOW, "2025-02")

    bronze = _stored(workspace, "tlc_bronze/yellow_trips")
    fees = bronze.select(pl.col("airport_fee", "cbd_congestion_fee").cast(pl.Decimal(10, 2)).sum()).row(0)
    assert (bronze.height, (bronze["payment_type"] == 0).sum(), *fees) == (rows, flex, airport, congestion)
    assert flex > 0
    assert airport > Decimal(0)
    assert congestion > Decimal(0)
    kept = _stored(workspace, "tlc_silver/yellow_trips")
    assert set(kept.filter(pl.col("payment_type") == 0)["payment_name"]) == {"Flex Fare trip"}
    known = {check.check_name: check.passed for check in result.get_asset_check_evaluations()}
    assert known["known_payment_type"]
    assert known["nothing_rescued"]


def test_an_access_denied_answer_under_a_parquet_name_fails_with_one_message_and_stores_nothing(
    workspace: Workspace, real_data: Path
) -> None:
    _land(workspace, real_data / "tlc" / "hostile" / "green_tripdata_2022-01.parquet")

    result = workspace.run(Service.GREEN, month=Month(2022, 1))

    (failure,) = workspace.failures(result)
    assert not result.success
    assert "green_tripdata_2022-01.parquet" in failure
    assert "AccessDenied" in failure
    assert "fetch it again" in failure
    assert _no_trips(workspace, "green")


def _land(workspace: Workspace, file: Path) -> Path:
    # The heads are cut off.
    return settled(Path(shutil.copy(file, workspace.landing)))


def _run(workspace: Workspace, service: Service, month: str) -> Any:
    result = workspace.run(service, month=Month.parse(month))
    assert result.success, workspace.failures(result)
    return result


def _stored(workspace: Workspace, key: str) -> pl.DataFrame:
    return pl.read_delta(f"{workspace.settings.lake_root}/{key}")


def _rows(workspace: Workspace, key: str) -> int | None:
    return workspace.lake.row_count(contract_of(key))


def _no_trips(workspace: Workspace, service: str) -> bool:
    tables = (f"tlc_bronze/{service}_trips", f"tlc_silver/{service}_trips", f"tlc_silver/{service}_trips_quarantine")
    gold = ("tlc_gold/fact_trips_borough_hour", "tlc_gold/fact_top_zones", "tlc_gold/nyc_taxi_daily")
    return all(not _rows(workspace, key) for key in (*tables, *gold))
