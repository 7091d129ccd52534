"""Claims about the sample files: TLC's layout, believable trips, and faults that break just their own rules.

The rules are written here once more, in SQL for DuckDB, so that they owe nothing to the generator or to the contracts.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pyarrow.parquet as pq
import pytest

from taxi_assets.calendars import Month
from taxi_assets.errors import UsageError
from taxi_assets.sample import FAULTS, FAULTS_OF, NOTE, Planted, files, read_planted, write_month
from taxi_assets.sample.dice import Dice, splitmix64
from taxi_assets.sample.faults import counts_of, rows_breaking
from taxi_assets.sample.trips import Trips
from taxi_assets.tlc.silver.trips import SILVER_TRIPS
from taxi_assets.tlc.vocabulary import METERED, Service

pytestmark = pytest.mark.fast

ROWS = 4_000
NO_FAULTS = dict.fromkeys(FAULTS, 0.0)

# The autumn and the spring clock change, the last month of the old types, and the fees of 2025.
MONTHS = [
    (Service.YELLOW, Month(2024, 11)),
    (Service.YELLOW, Month(2025, 3)),
    (Service.GREEN, Month(2023, 1)),
    (Service.GREEN, Month(2023, 3)),
]

# Each rule as the condition that a row which breaks it fulfils. A missing value breaks required_values_present alone.
BREAKS = {
    "required_values_present": (
        "pickup is null or dropoff is null or PULocationID is null or DOLocationID is null"
        " or fare_amount is null or trip_distance is null"
    ),
    "values_fit_their_types": "greatest(abs(fare_amount), abs(tip_amount), abs(trip_distance)) >= 100000000",
    "pickup_in_file_month": "pickup < month or pickup >= month + interval 1 month",
    "pickup_before_dropoff": "pickup >= dropoff",
    "positive_fare_amount": "fare_amount <= 0",
    "positive_trip_distance": "trip_distance <= 0",
    "plausible_fare_amount": "fare_amount >= 1000000",
    "plausible_trip_distance": "trip_distance > 1000",
    "not_an_exact_duplicate": "earlier_twins > 0",
    "known_zones": "PULocationID not between 1 and 265 or DOLocationID not between 1 and 265",
    "known_payment_type": "payment_type not between 0 and 6",
    "plausible_passenger_count": "passenger_count not between 1 and 6",
    "total_is_sum_of_parts": "round(100 * total_amount) <> round(100 * parts)",
    "plausible_speed": "dropoff > pickup and trip_distance > 100 * date_diff('second', pickup, dropoff) / 3600",
    "not_reversed": "total_amount > 0 and refunds > 0",
}


def judge(planted: Planted) -> pl.DataFrame:
    """Return for each row, in the file's order, which rules it breaks: one column of booleans for each."""
    columns = pq.read_schema(planted.path).names
    pickup, dropoff = columns[1], columns[2]
    fees = [name for name in columns if name.lower() in {"congestion_surcharge", "airport_fee", "cbd_congestion_fee"}]
    parts = ["fare_amount", "extra", "mta_tax", "tip_amount", "tolls_amount", "improvement_surcharge", *fees]
    everything = ", ".join(columns)
    same_trip = f"VendorID, {pickup}, {dropoff}, PULocationID, DOLocationID, abs(total_amount), abs(fare_amount)"
    conditions = ", ".join(f"coalesce({condition}, false) as {rule}" for rule, condition in BREAKS.items())
    with duckdb.connect() as connection:
        verdicts: pl.DataFrame = connection.sql(
            f"""
            with source as (
                select *, {pickup} as pickup, {dropoff} as dropoff, date '{planted.month.first_day}' as month,
                    {" + ".join(f"coalesce({part}, 0)" for part in parts)} as parts,
                    row_number() over (partition by {everything} order by file_row_number) - 1 as earlier_twins,
                    count(*) filter (total_amount < 0) over (partition by {same_trip}) as refunds
                from read_parquet('{planted.path}', file_row_number = true)
            )
            select {conditions} from source order by file_row_number
            """
        ).pl()
    return verdicts


def broken(planted: Planted) -> dict[str, int]:
    """Return how many rows of the file break each rule."""
    return {rule: int(verdicts.sum()) for rule, verdicts in judge(planted).to_dict().items()}


@pytest.fixture(scope="module")
def months(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Planted]:
    """Months with the faults of every day, each written once."""
    folder = tmp_path_factory.mktemp("months")
    return cache(lambda service, month: write_month(folder, service, month, ROWS))


def read(planted: Planted) -> pl.DataFrame:
    return pl.read_parquet(planted.path)


def fingerprint(planted: Planted) -> str:
    return hashlib.sha256(planted.path.read_bytes()).hexdigest()


# --- TLC's layout


OLD_YELLOW = (
    "VendorID int64, tpep_pickup_datetime timestamp[us], tpep_dropoff_datetime timestamp[us], passenger_count double,"
    " trip_distance double, RatecodeID double, store_and_fwd_flag string, PULocationID int64, DOLocationID int64,"
    " payment_type int64, fare_amount double, extra double, mta_tax double, tip_amount double, tolls_amount double,"
    " improvement_surcharge double, total_amount double, congestion_surcharge double, airport_fee double"
)
NEW_YELLOW = (
    "VendorID int32, tpep_pickup_datetime timestamp[us], tpep_dropoff_datetime timestamp[us], passenger_count int64,"
    " trip_distance double, RatecodeID int64, store_and_fwd_flag large_string, PULocationID int32, DOLocationID int32,"
    " payment_type int64, fare_amount double, extra double, mta_tax double, tip_amount double, tolls_amount double,"
    " improvement_surcharge double, total_amount double, congestion_surcharge double, Airport_fee double"
)


@pytest.mark.parametrize(
    ("month", "columns"),
    [
        ("2018-12", OLD_YELLOW.replace("surcharge double, airport_fee double", "surcharge null, airport_fee null")),
        ("2020-07", OLD_YELLOW.replace("airport_fee double", "airport_fee null")),
        ("2023-01", OLD_YELLOW),
        ("2023-02", NEW_YELLOW),
        ("2024-12", NEW_YELLOW),
        ("2025-01", NEW_YELLOW + ", cbd_congestion_fee double"),
    ],
)
def test_yellow_months_have_the_columns_and_types_of_their_era(month: str, columns: str, tmp_path: Path) -> None:
    schema = pq.read_schema(write_month(tmp_path, Service.YELLOW, Month.parse(month), 5).path)
    assert ", ".join(f"{field.name} {field.type}" for field in schema) == columns


@pytest.mark.parametrize(("service", "month"), MONTHS)
def test_rows_without_the_drivers_entries_lack_them_all(
    service: Service, month: Month, months: Callable[..., Planted]
) -> None:
    rows = read(months(service, month))
    entries = ["RatecodeID", "store_and_fwd_flag", "congestion_surcharge"]
    entries += ["trip_type", "payment_type"] if service is Service.GREEN else [rows.columns[18]]
    faultless = rows.filter(~pl.col("passenger_count").eq_missing(96), ~pl.col("payment_type").eq_missing(9))
    unreported = faultless.filter(pl.col("passenger_count").is_null())
    assert 0.02 < len(unreported) / ROWS < 0.25
    assert unreported.select(pl.col(entries).is_null().all()).row(0) == (True,) * len(entries)
    assert faultless.drop_nulls("passenger_count").select(pl.col(entries).is_null().any()).row(0) == (False,) * len(
        entries
    )
    if service is Service.YELLOW:
        assert set(unreported["payment_type"]) == {0}


# --- believable trips


@pytest.mark.parametrize(("service", "month"), MONTHS)
def test_a_month_without_faults_breaks_no_rule(service: Service, month: Month, tmp_path: Path) -> None:
    planted = write_month(tmp_path, service, month, ROWS, faults=NO_FAULTS)
    assert broken(planted) == dict.fromkeys(FAULTS, 0) == planted.counts


def test_no_two_trips_of_a_dense_month_share_both_times(monkeypatch: pytest.MonkeyPatch) -> None:
    """As many trips to a second as in a month of 20 million, by an hour that has only 60 seconds."""
    monkeypatch.setattr("taxi_assets.sample.rhythm.HOUR", 60)
    trips = Trips(Service.YELLOW, Month(2024, 1), 300_000, Dice("dense"))
    frame = trips.add_trips(pl.LazyFrame({"trip": pl.int_range(300_000, eager=True)})).collect()
    assert frame.group_by("pickup_datetime").len()["len"].max() > 6  # type: ignore[operator]
    assert not frame.select(pl.struct("pickup_datetime", "dropoff_datetime").is_duplicated().any()).item()


def test_nights_are_quiet_and_weekends_end_late(months: Callable[..., Planted]) -> None:
    pickup = read(months(Service.YELLOW, Month(2024, 11)))["tpep_pickup_datetime"]
    of_weekday = pickup.filter(pickup.dt.weekday() <= 5).dt.hour()
    of_weekend = pickup.filter(pickup.dt.weekday() > 5).dt.hour()
    assert (of_weekday == 18).sum() > 5 * (of_weekday == 4).sum()
    assert (of_weekend == 1).mean() > 3 * (of_weekday == 1).mean()  # type: ignore[operator]
    assert pickup.dt.date().n_unique() > 29


def test_nothing_happens_in_the_hour_that_the_clocks_skip_in_spring(tmp_path: Path) -> None:
    rows = read(write_month(tmp_path, Service.YELLOW, Month(2024, 3), 60_000, faults=NO_FAULTS))
    night = rows.filter(pl.col("tpep_dropoff_datetime").dt.date() == pl.date(2024, 3, 10))
    hours = night.select(pl.col("tpep_pickup_datetime", "tpep_dropoff_datetime").dt.hour())
    assert not (hours == 2).select(pl.any_horizontal(pl.all().any())).item()
    across = (pl.col("tpep_pickup_datetime") == 1) & (pl.col("tpep_dropoff_datetime") == 3)
    assert not hours.filter(across).is_empty()


def test_only_cards_leave_tips(tmp_path: Path) -> None:
    rows = read(write_month(tmp_path, Service.GREEN, Month(2023, 1), ROWS, faults=NO_FAULTS))
    assert set(rows.filter(pl.col("tip_amount") > 0)["payment_type"]) == {1}
    assert set(rows["payment_type"].drop_nulls()) == {1, 2, 3, 4}


def test_rows_come_in_the_order_of_their_hours(tmp_path: Path) -> None:
    rows = read(write_month(tmp_path, Service.YELLOW, Month(2024, 1), ROWS, faults=NO_FAULTS))
    assert rows["tpep_pickup_datetime"].dt.truncate("1h").is_sorted()


def test_yellow_taxis_start_in_manhattan_and_green_ones_outside_its_centre(tmp_path: Path) -> None:
    midtown_and_upper_east_side = [161, 162, 163, 230, 236, 237]
    yellow = read(write_month(tmp_path, Service.YELLOW, Month(2024, 1), ROWS, faults=NO_FAULTS))["PULocationID"]
    green = read(write_month(tmp_path, Service.GREEN, Month(2024, 1), ROWS, faults=NO_FAULTS))["PULocationID"]
    assert yellow.is_in(midtown_and_upper_east_side).mean() > 0.2  # type: ignore[operator]
    assert green.is_in(midtown_and_upper_east_side).sum() == 0


def test_fees_are_those_of_the_era(tmp_path: Path) -> None:
    def fees(month: Month) -> list[set[float]]:
        rows = read(write_month(tmp_path, Service.YELLOW, month, ROWS, faults=NO_FAULTS))
        return [set(rows[column].drop_nulls()) for column in rows.columns[15:16] + rows.columns[17:]]

    assert fees(Month(2018, 12)) == [{0.3}, set(), set()]
    assert fees(Month(2022, 6)) == [{0.3}, {0, 2.5}, {0, 1.25}]
    assert fees(Month(2025, 1)) == [{1.0}, {0, 2.5}, {0, 1.75}, {0, 0.75}]


# --- faults


@pytest.mark.parametrize(("service", "month"), MONTHS)
def test_as_many_rows_break_each_rule_as_the_note_says(
    service: Service, month: Month, months: Callable[..., Planted]
) -> None:
    planted = months(service, month)
    assert broken(planted) == planted.counts
    assert min(planted.counts.values()) >= 1


@pytest.mark.parametrize(("service", "month"), MONTHS)
def test_no_row_breaks_two_rules(service: Service, month: Month, months: Callable[..., Planted]) -> None:
    verdicts = judge(months(service, month))
    assert verdicts.select(pl.sum_horizontal(pl.all()).max()).item() == 1


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_breaks_its_own_rule_and_no_other(fault: str, tmp_path: Path) -> None:
    planted = write_month(tmp_path, Service.YELLOW, Month(2024, 11), 1_000, faults=NO_FAULTS | {fault: 0.1})
    rules = {rule: count for rule, count in broken(planted).items() if count}
    assert rules == dict.fromkeys([fault, *FAULTS[fault].also_breaks], 100)


@pytest.mark.parametrize("service", Service)
def test_the_faults_that_are_not_tolerated_are_those_of_rules_without_a_tolerance(service: Service) -> None:
    strict = {rule.name for rule in SILVER_TRIPS[service].rules() if rule.tolerance == 0}
    assert {name for name, fault in FAULTS_OF[service].items() if not fault.tolerated} == strict & set(
        FAULTS_OF[service]
    )


@pytest.mark.parametrize("service", Service)
@pytest.mark.parametrize("rows", [150, 200, 999, 4_000, 50_000])
def test_in_a_clean_month_no_rule_is_broken_by_more_rows_than_it_tolerates(service: Service, rows: int) -> None:
    table = FAULTS_OF[service]
    planted = rows_breaking(table, counts_of(table, None, rows, clean=True))
    tolerance = {rule.name: rule.tolerance for rule in SILVER_TRIPS[service].rules()}
    assert {name: count for name, count in planted.items() if count > tolerance[name] * rows} == {}
    assert rows < 4_000 or sum(planted.values()) > 0


def test_a_clean_month_is_planted_as_its_note_says(tmp_path: Path) -> None:
    planted = write_month(tmp_path, Service.GREEN, Month(2024, 1), ROWS, clean=True)
    assert broken(planted) == planted.counts
    assert (planted.counts["known_zones"], planted.counts["positive_trip_distance"]) == (0, 80)


def test_a_fault_comes_as_often_as_asked_and_at_least_once(tmp_path: Path) -> None:
    def count(rows: int, rate: float) -> int:
        faults = NO_FAULTS | {"known_zones": rate}
        return write_month(tmp_path, Service.GREEN, Month(2024, 1), rows, faults=faults).counts["known_zones"]

    assert [count(1_000, 0.0126), count(200, 0.0001), count(199, 0.0001), count(1_000, 0)] == [13, 1, 0, 0]


@pytest.mark.parametrize(("fault", "rate"), [("positive_trip_distance", 1), ("not_reversed", 0.5)])
def test_a_fault_can_take_the_whole_month(fault: str, rate: float, tmp_path: Path) -> None:
    planted = write_month(tmp_path, Service.YELLOW, Month(2024, 1), 500, faults=NO_FAULTS | {fault: rate})
    assert broken(planted)[fault] == 500 * rate


def test_a_fault_is_spread_over_the_month(tmp_path: Path) -> None:
    planted = write_month(tmp_path, Service.YELLOW, Month(2024, 1), ROWS, faults={"plausible_speed": 0.05})
    quarters = judge(planted)["plausible_speed"].to_frame().with_row_index().group_by(pl.col("index") // 1_000).sum()
    assert quarters["plausible_speed"].is_between(30, 70).all()


def test_the_faults_of_every_day_leave_a_month_publishable() -> None:
    assert sum(fault.rate * (1 + len(fault.also_breaks)) for fault in FAULTS.values()) < 0.05


def test_a_refund_follows_its_charge_with_all_amounts_negated(tmp_path: Path) -> None:
    planted = write_month(tmp_path, Service.YELLOW, Month(2025, 1), 1_000, faults=NO_FAULTS | {"not_reversed": 0.01})
    rows = read(planted).with_row_index()
    refunds = rows.filter(pl.col("total_amount") < 0)
    charges = rows.filter(pl.col("index").is_in((refunds["index"] - 1).implode()))
    amounts = rows.columns[11:]
    assert refunds.select(amounts).equals(charges.select(-pl.col(amounts)))
    assert refunds.drop("index", *amounts).equals(charges.drop("index", *amounts))


# --- the same file again


def test_the_same_arguments_give_the_same_bytes(tmp_path: Path) -> None:
    def month(folder: str, **changes: Any) -> str:
        arguments: dict[str, Any] = {"service": Service.YELLOW, "month": Month(2024, 1), "rows": 1_000, "seed": 7}
        return fingerprint(write_month(tmp_path / folder, **(arguments | changes)))

    first = month("a")
    assert month("b") == first
    others = [
        month("a", seed=8),
        month("a", month=Month(2024, 2)),
        month("a", rows=1_001),
        month("a", faults=NO_FAULTS),
    ]
    assert len({first, *others}) == 5


def test_services_and_months_are_unlike_each_other(tmp_path: Path) -> None:
    distances = [
        tuple(read(write_month(tmp_path, service, Month(2024, number), 100))["trip_distance"])
        for service in METERED
        for number in (1, 7)
    ]
    assert len(set(distances)) == 4


def test_random_numbers_are_those_of_splitmix64_on_every_machine() -> None:
    numbers = pl.select(splitmix64(1234567, pl.int_range(3))).to_series()
    assert numbers.to_list() == [6457827717110365317, 3203168211198807973, 9817491932198370423]


def test_rows_do_not_depend_on_how_they_are_batched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    faults = {"not_reversed": 0.2, "not_an_exact_duplicate": 0.2}
    whole = read(write_month(tmp_path / "whole", Service.GREEN, Month(2024, 1), 500, faults=faults))
    monkeypatch.setattr(files, "_ROW_GROUP", 31)
    assert read(write_month(tmp_path / "parts", Service.GREEN, Month(2024, 1), 500, faults=faults)).equals(whole)


# --- files and the note


def test_the_note_gathers_the_months_of_a_folder(tmp_path: Path) -> None:
    january = write_month(tmp_path, Service.YELLOW, Month(2024, 1), 300)
    february = write_month(tmp_path, Service.GREEN, Month(2024, 2), 300, seed=3)
    assert read_planted(tmp_path) == {january.path.name: january, february.path.name: february}
    again = write_month(tmp_path, Service.YELLOW, Month(2024, 1), 400)
    assert read_planted(tmp_path) == {january.path.name: again, february.path.name: february}
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "green_tripdata_2024-02.parquet",
        NOTE,
        "yellow_tripdata_2024-01.parquet",
    ]


def test_a_folder_without_a_note_has_nothing_planted(tmp_path: Path) -> None:
    assert read_planted(tmp_path) == {}


@pytest.mark.parametrize("text", ["{", "[]", '{"yellow_tripdata_2024-01.parquet": {"rows": 1}}'])
def test_a_broken_note_is_named(text: str, tmp_path: Path) -> None:
    (tmp_path / NOTE).write_text(text)
    with pytest.raises(UsageError, match=rf"{NOTE} isn't a note of sample files. Delete it"):
        read_planted(tmp_path)


def test_a_file_shows_up_whole_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = fingerprint(write_month(tmp_path, Service.YELLOW, Month(2024, 1), 50))
    seen: list[set[str]] = []

    def look_then_fail(*_: object) -> None:
        seen.append({path.name[0] for path in tmp_path.iterdir()} - {"s", "y"})
        raise OSError("disk full")

    monkeypatch.setattr(files, "_as_published", look_then_fail)
    with pytest.raises(OSError, match="disk full"):
        write_month(tmp_path, Service.YELLOW, Month(2024, 1), 60)
    with pytest.raises(OSError, match="disk full"):
        write_month(tmp_path, Service.YELLOW, Month(2024, 2), 60)
    assert seen == [{"."}, {"."}]
    assert {path.name for path in tmp_path.iterdir()} == {NOTE, "yellow_tripdata_2024-01.parquet"}
    assert hashlib.sha256((tmp_path / "yellow_tripdata_2024-01.parquet").read_bytes()).hexdigest() == before


def test_who_reads_a_file_while_it_is_written_again_reads_the_earlier_one(tmp_path: Path) -> None:
    planted = write_month(tmp_path, Service.YELLOW, Month(2024, 1), 50)
    before = planted.path.read_bytes()
    with planted.path.open("rb") as reader:
        write_month(tmp_path, Service.YELLOW, Month(2024, 1), 60)
        assert reader.read() == before != planted.path.read_bytes()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"faults": {"no_such_rule": 0.1}}, "no fault 'no_such_rule'. Faults are: required_values_present, .*not_rev"),
        ({"faults": {"known_zones": 1.5}}, "rate of 'known_zones' is 1.5. .* from 0 to 1"),
        ({"faults": {"known_zones": float("nan")}}, "rate of 'known_zones' is nan"),
        ({"faults": {"not_reversed": 0.6}}, r"take 1\d\d rows .* has only 100"),
        ({"rows": 0}, "can't have 0 rows, only 1 to 20000000"),
        ({"rows": 20_000_001}, "can't have 20000001 rows"),
        ({"month": Month(2008, 12)}, "yellow files begin with 2009-01"),
        ({"service": Service.GREEN, "month": Month(2013, 7)}, "green files begin with 2013-08"),
        ({"service": Service.FHV, "month": Month(2014, 12)}, "fhv files begin with 2015-01"),
        ({"service": Service.FHVHV, "month": Month(2019, 1)}, "fhvhv files begin with 2019-02"),
        ({"service": "hvfhv"}, "no sample for 'hvfhv', only for yellow, green, fhv, fhvhv"),
    ],
)
def test_what_makes_no_sense_is_refused_before_anything_is_written(
    changes: dict[str, Any], message: str, tmp_path: Path
) -> None:
    arguments: dict[str, Any] = {"service": Service.YELLOW, "month": Month(2024, 1), "rows": 100}
    with pytest.raises(UsageError, match=message):
        write_month(tmp_path / "new", **(arguments | changes))
    assert not (tmp_path / "new").exists()
