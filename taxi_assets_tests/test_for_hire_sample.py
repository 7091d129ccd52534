"""Claims about the sample files of for-hire vehicles: TLC's columns, and faults that break just their own rules.

The rules are written here once more, in SQL for DuckDB, so that they owe nothing to the generator or to the contracts.
What holds for samples of any service is claimed in test_sample.py.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pyarrow.parquet as pq
import pytest

from taxi_assets.calendars import Month
from taxi_assets.sample import FAULTS_OF, Planted, files, services_of, write_month
from taxi_assets.tlc.vocabulary import FOR_HIRE, Service

pytestmark = pytest.mark.fast

ROWS = 4_000
BOTH = pytest.mark.parametrize("service", FOR_HIRE)
# The autumn and the spring clock change, the last month of the old types, and the fee of 2025.
MONTHS = [(service, month) for service in FOR_HIRE for month in (Month(2024, 11), Month(2025, 3), Month(2023, 1))]

# When New York's clocks were put forward by an hour, and the night in which they were put back from 2:00 to 1:00.
SKIPPED = "timestamp '2025-03-09 02:00'"
AUTUMN = "timestamp '2024-11-03 00:00'"

OF_BOTH = {
    "pickup_in_file_month": "pickup < month or pickup >= month + interval 1 month",
    "pickup_before_dropoff": "pickup >= dropoff",
    "not_an_exact_duplicate": "earlier_twins > 0",
    "known_zones": "PULocationID not between 1 and 265 or DOLocationID not between 1 and 265",
}
# Each rule as the condition that a row which breaks it fulfils. A missing value breaks required_values_present alone.
BREAKS = {
    Service.FHV: OF_BOTH
    | {
        "required_values_present": "dispatching_base_num is null or pickup is null",
        "base_number_format": "not regexp_full_match(dispatching_base_num, 'B[0-9]{5}')",
    },
    Service.FHVHV: OF_BOTH
    | {
        "required_values_present": (
            "hvfhs_license_num is null or pickup is null or dropoff is null or PULocationID is null"
            " or DOLocationID is null"
        ),
        "values_fit_their_types": "tips >= 100000000",
        "positive_base_passenger_fare": "base_passenger_fare <= 0",
        "plausible_base_passenger_fare": "base_passenger_fare > 10000",
        "plausible_driver_pay": "driver_pay not between 0 and 10000",
        "plausible_trip_distance": "trip_miles not between 0 and 1000",
        "positive_trip_distance": "trip_miles <= 0",
        "requested_before_on_scene_before_pickup": (
            "request_datetime > pickup or on_scene_datetime > pickup or request_datetime > on_scene_datetime"
        ),
        "trip_time_is_duration": "abs(true_seconds - trip_time) > 60",
        "known_license": "hvfhs_license_num not in ('HV0002', 'HV0003', 'HV0004', 'HV0005')",
    },
}


def judge(planted: Planted) -> pl.DataFrame:
    """Return for each row, in the file's order, which rules it breaks: one column of booleans for each."""
    columns = ", ".join(pq.read_schema(planted.path).names)
    broken = ", ".join(f"coalesce({condition}, false) as {rule}" for rule, condition in BREAKS[planted.service].items())
    with duckdb.connect() as connection:
        verdicts: pl.DataFrame = connection.sql(
            f"""
            with source as (
                select *, pickup_datetime as pickup, dropoff_datetime as dropoff,
                    date '{planted.month.first_day}' as month,
                    epoch(dropoff_datetime) - epoch(pickup_datetime) - if(
                        pickup_datetime < {SKIPPED} and dropoff_datetime >= {SKIPPED}, 3600, 0) + if(
                        pickup_datetime >= {AUTUMN} and pickup_datetime < {AUTUMN} + interval 1 hour
                        and dropoff_datetime >= {AUTUMN} + interval 2 hours, 3600, 0) as true_seconds,
                    row_number() over (partition by {columns} order by file_row_number) - 1 as earlier_twins
                from read_parquet('{planted.path}', file_row_number = true)
            )
            select {broken} from source order by file_row_number
            """
        ).pl()
    return verdicts


def counts(planted: Planted) -> dict[str, int]:
    """Return how many rows of the file break each rule."""
    return {rule: int(verdicts.sum()) for rule, verdicts in judge(planted).to_dict().items()}


def no_faults(service: Service) -> dict[str, float]:
    return dict.fromkeys(FAULTS_OF[service], 0.0)


FHV = (
    "dispatching_base_num string, pickup_datetime timestamp[us], dropOff_datetime timestamp[us], PUlocationID double,"
    " DOlocationID double, SR_Flag double, Affiliated_base_number string"
)
FHVHV = (
    "hvfhs_license_num string, dispatching_base_num string, originating_base_num string,"
    " request_datetime timestamp[us], on_scene_datetime timestamp[us], pickup_datetime timestamp[us],"
    " dropoff_datetime timestamp[us], PULocationID int64, DOLocationID int64, trip_miles double, trip_time int64,"
    " base_passenger_fare double, tolls double, bcf double, sales_tax double, congestion_surcharge double,"
    " airport_fee double, tips double, driver_pay double, shared_request_flag string, shared_match_flag string,"
    " access_a_ride_flag string, wav_request_flag string, wav_match_flag string"
)
NEW_FHVHV = FHVHV.replace(" string", " large_string").replace("ID int64", "ID int32")


@pytest.mark.parametrize(
    ("service", "month", "columns"),
    [
        (Service.FHV, "2023-01", FHV),
        (Service.FHV, "2025-01", FHV.replace(" string", " large_string").replace(" double", " int32")),
        (Service.FHVHV, "2023-01", FHVHV),
        (Service.FHVHV, "2024-12", NEW_FHVHV),
        (Service.FHVHV, "2025-01", f"{NEW_FHVHV}, cbd_congestion_fee double"),
    ],
)
def test_months_have_the_columns_of_the_dictionary(service: Service, month: str, columns: str, tmp_path: Path) -> None:
    schema = pq.read_schema(write_month(tmp_path, service, Month.parse(month), 5).path)
    assert ", ".join(f"{field.name} {field.type}" for field in schema) == columns


@pytest.mark.parametrize(("service", "month"), MONTHS)
def test_a_month_without_faults_breaks_no_rule(service: Service, month: Month, tmp_path: Path) -> None:
    planted = write_month(tmp_path, service, month, ROWS, faults=no_faults(service))
    assert counts(planted) == dict.fromkeys(BREAKS[service], 0) == planted.counts


@pytest.mark.parametrize(("service", "month"), MONTHS)
def test_as_many_rows_break_each_rule_as_the_note_says_and_none_breaks_two(
    service: Service, month: Month, tmp_path: Path
) -> None:
    planted = write_month(tmp_path, service, month, ROWS)
    assert counts(planted) == planted.counts
    assert min(planted.counts.values()) >= 1
    assert judge(planted).select(pl.sum_horizontal(pl.all()).max()).item() == 1


@pytest.mark.parametrize(
    ("service", "fault"), [(service, fault) for service in FOR_HIRE for fault in FAULTS_OF[service]]
)
def test_a_fault_breaks_its_own_rule_and_no_other(service: Service, fault: str, tmp_path: Path) -> None:
    planted = write_month(tmp_path, service, Month(2024, 11), 500, faults=no_faults(service) | {fault: 0.1})
    assert {rule: count for rule, count in counts(planted).items() if count} == {fault: 50}


def test_every_rule_of_a_for_hire_service_is_planted() -> None:
    assert {service: set(FAULTS_OF[service]) for service in FOR_HIRE} == {
        service: set(BREAKS[service]) for service in FOR_HIRE
    }


@BOTH
def test_the_same_arguments_give_the_same_bytes_and_other_ones_others(service: Service, tmp_path: Path) -> None:
    def month(**changes: Any) -> str:
        arguments: dict[str, Any] = {"service": service, "month": Month(2024, 1), "rows": 1_000, "seed": 7}
        return hashlib.sha256(write_month(tmp_path, **(arguments | changes)).path.read_bytes()).hexdigest()

    assert month() == month()
    assert len({month(), month(seed=8), month(month=Month(2024, 2)), month(rows=1_001)}) == 4


@BOTH
def test_rows_do_not_depend_on_how_they_are_batched(
    service: Service, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    faults = {"not_an_exact_duplicate": 0.2}
    whole = pl.read_parquet(write_month(tmp_path, service, Month(2024, 1), 500, faults=faults).path)
    monkeypatch.setattr(files, "_ROW_GROUP", 31)
    assert pl.read_parquet(write_month(tmp_path, service, Month(2024, 1), 500, faults=faults).path).equals(whole)


def test_most_high_volume_trips_are_ubers_and_all_cost_something(tmp_path: Path) -> None:
    rows = pl.read_parquet(
        write_month(tmp_path, Service.FHVHV, Month(2025, 1), ROWS, faults=no_faults(Service.FHVHV)).path
    )
    assert set(rows["hvfhs_license_num"]) == {"HV0003", "HV0005"}
    assert 0.7 < (rows["hvfhs_license_num"] == "HV0003").mean() < 0.8  # type: ignore[operator]
    assert rows["base_passenger_fare"].min() > 3  # type: ignore[operator]
    assert set(rows["cbd_congestion_fee"]) == {0.0, 1.5}
    assert rows["trip_miles"].to_list() != rows["trip_miles"].round(2).to_list(), "miles have three decimals"


def test_a_month_has_the_services_that_tlc_publishes_then() -> None:
    assert services_of(Month(2010, 1)) == [Service.YELLOW]
    assert services_of(Month(2015, 1)) == [Service.YELLOW, Service.GREEN, Service.FHV]
    assert services_of(Month(2019, 1)) == [Service.YELLOW, Service.GREEN, Service.FHV]
    assert services_of(Month(2019, 2)) == list(Service)
