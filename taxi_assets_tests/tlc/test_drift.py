"""A month that departs from those before it, run as a user runs it: which check warns, and what it shows for it.

Three usual months and an odd older one are stored; each test lands its own file of the month after them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import dagster as dg
import polars as pl
import pytest
from deltalake import DeltaTable

from taxi_assets.calendars import Month
from taxi_assets.tlc.bronze.green_trips import GreenTrips
from taxi_assets.tlc.vocabulary import Service
from taxi_assets_tests.scenario import Workspace, in_file_columns, trips

pytestmark = pytest.mark.fast

OLD, USUAL, MONTH = Month(2023, 6), [Month(2024, 1), Month(2024, 2), Month(2024, 3)], Month(2024, 4)
ROWS = 40
DRIFT = {
    "no_unknown_columns",
    "no_vanished_columns",
    "types_as_before",
    "no_new_codes",
    "row_count_as_before",
    "means_as_before",
}


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Workspace]:
    with dg.DagsterInstance.ephemeral() as instance:
        workspace = Workspace.below(tmp_path_factory.mktemp("drift"), instance)
        for month, rows in {OLD: trips(4, payment_type=3), **{month: trips(ROWS) for month in USUAL}}.items():
            workspace.land(Service.GREEN, rows, month)
            assert workspace.run_bronze(Service.GREEN, month).success
        yield workspace


def usual(rows: int = ROWS, **changes: Any) -> pl.DataFrame:
    return in_file_columns(Service.GREEN, trips(rows, **changes))


def run(lake: Workspace, file: pl.DataFrame, ending: str = "parquet") -> dict[str, dg.AssetCheckEvaluation]:
    """Run the month with a file: its drift checks, by name. None of them fails a run."""
    for landed in lake.landing.glob(f"green_tripdata_{MONTH}.*"):
        landed.unlink()
    path = lake.landing / f"green_tripdata_{MONTH}.{ending}"
    if ending == "csv":
        file.write_csv(path, datetime_format="%Y-%m-%d %H:%M:%S")
    else:
        file.write_parquet(path)
    result = lake.run_bronze(Service.GREEN, MONTH)
    assert result.success, lake.failures(result)
    return drift(result)


def drift(result: dg.ExecuteInProcessResult) -> dict[str, dg.AssetCheckEvaluation]:
    found = {one.check_name: one for one in result.get_asset_check_evaluations() if one.check_name in DRIFT}
    assert set(found) == DRIFT
    assert all(
        one.passed or (one.severity is dg.AssetCheckSeverity.WARN and not one.blocking) for one in found.values()
    )
    return found


def warning(found: dict[str, dg.AssetCheckEvaluation]) -> set[str]:
    return {name for name, one in found.items() if not one.passed}


def shown(check: dg.AssetCheckEvaluation, name: str) -> Any:
    value = check.metadata[name]
    return [record.data for record in value.records] if isinstance(value, dg.TableMetadataValue) else value.value


def test_a_month_like_those_before_passes_every_drift_check(lake: Workspace) -> None:
    assert warning(run(lake, usual())) == set()


def test_a_month_is_compared_with_the_three_that_are_stored_before_it(lake: Workspace) -> None:
    found = run(lake, usual())["row_count_as_before"]
    assert shown(found, "compared_with") == ["2024-01", "2024-02", "2024-03"]


def test_months_that_are_not_stored_are_skipped_and_later_ones_not_looked_at(lake: Workspace) -> None:
    found = drift(lake.run_bronze_checks(Service.GREEN, USUAL[0]))
    assert shown(found["row_count_as_before"], "compared_with") == ["2023-06"]
    assert warning(found) == {"row_count_as_before", "no_new_codes"}


def test_the_first_month_of_all_has_nothing_to_be_compared_with(lake: Workspace) -> None:
    found = drift(lake.run_bronze_checks(Service.GREEN, OLD))
    assert warning(found) == set()
    assert "nothing to compare with" in str(found["means_as_before"].description)


def test_a_column_without_a_name_warns_only_where_it_holds_a_value(lake: Workspace) -> None:
    header, *lines = usual().write_csv(datetime_format="%Y-%m-%d %H:%M:%S").splitlines()
    first, second = (f"_column_{header.count(',') + number}" for number in (2, 3))

    def run_lines(last: str) -> dict[str, dg.AssetCheckEvaluation]:
        for landed in lake.landing.glob(f"green_tripdata_{MONTH}.*"):
            landed.unlink()
        content = "\n".join([f"{header},,", *(f"{line},," for line in lines[1:]), last, ""])
        (lake.landing / f"green_tripdata_{MONTH}.csv").write_text(content)
        result = lake.run_bronze(Service.GREEN, MONTH)
        assert result.success, lake.failures(result)
        return drift(result)

    empty, filled = (run_lines(f"{lines[0]},,{value}")["no_unknown_columns"] for value in ("", "late"))
    assert (empty.passed, shown(empty, "unknown_columns")) == (True, {})
    assert (filled.passed, shown(filled, "unknown_columns")) == (False, {second: "String"})
    assert first not in shown(filled, "unknown_columns")
    kept = lake.table(GreenTrips).filter(pl.col("source_month") == MONTH.first_day)["_rescued_data"].drop_nulls()
    assert kept.to_list() == [f'{{"{second}":"late"}}']


def test_an_unknown_column_is_named_with_its_type_whether_or_not_it_holds_values(lake: Workspace) -> None:
    file = usual().with_columns(surge_fee=pl.lit(0.75), hailed_by=pl.lit(None, dtype=pl.String))
    found = run(lake, file)
    assert warning(found) == {"no_unknown_columns"}
    expected = {"surge_fee": "Float64", "hailed_by": "String"}
    assert shown(found["no_unknown_columns"], "unknown_columns") == expected
    assert shown(found["no_unknown_columns"], "unknown_before") == {str(month): [] for month in USUAL}


@pytest.mark.parametrize("how", ["absent", "empty"])
def test_a_column_that_has_lost_its_values_is_named_with_the_months_that_had_some(lake: Workspace, how: str) -> None:
    lost = "congestion_surcharge"
    file = usual().drop(lost) if how == "absent" else usual().with_columns(pl.lit(None, pl.Float64).alias(lost))
    found = run(lake, file)
    assert warning(found) == {"no_vanished_columns"}
    assert shown(found["no_vanished_columns"], "vanished_columns") == {lost: ["2024-01", "2024-02", "2024-03"]}
    assert (lost in shown(found["no_vanished_columns"], "columns_in_file")) == (how == "empty")


def test_a_known_column_that_comes_with_or_without_values_is_no_drift(lake: Workspace) -> None:
    # Columns of green, which the files before don't have.
    file = usual().with_columns(ehail_fee=pl.lit(None, pl.Float64), trip_type=pl.lit(1))
    assert warning(run(lake, file)) == set()


def test_a_changed_type_is_shown_with_what_it_was_whatever_the_case_of_its_name(lake: Workspace) -> None:
    file = usual().with_columns(pl.col("passenger_count").cast(pl.Float64).alias("Passenger_Count"))
    found = run(lake, file.drop("passenger_count"))
    assert warning(found) == {"types_as_before"}
    assert shown(found["types_as_before"], "changed_types") == [
        {"column": "Passenger_Count", "before": "Int64", "now": "Float64", "as_of": "2024-03"}
    ]


def test_a_csv_after_parquet_is_a_change_of_types_and_of_nothing_else(lake: Workspace) -> None:
    found = run(lake, usual(), "csv")
    assert warning(found) == {"types_as_before"}
    assert {record["now"] for record in shown(found["types_as_before"], "changed_types")} == {"String"}


def test_a_new_code_is_shown_with_its_rows_and_those_known_before(lake: Workspace) -> None:
    file = usual().with_columns(
        payment_type=pl.when(pl.int_range(pl.len()) < 2).then(0).otherwise("payment_type"),
        VendorID=pl.when(pl.int_range(pl.len()) == 5).then(None).otherwise("VendorID"),
    )
    found = run(lake, file)
    assert warning(found) == {"no_new_codes"}
    assert shown(found["no_new_codes"], "new_codes") == {"payment_type": {"0": 2}}
    # The code of an older month counts no more; a column that held none has none to compare with.
    known = {"vendor_id": [2], "rate_code_id": [1], "payment_type": [1], "trip_type": []}
    assert shown(found["no_new_codes"], "codes_before") == known


@pytest.mark.parametrize(
    ("code", "rows", "warnings"),
    [(6, 1, set()), (6, 2, {"no_new_codes"}), (8, 1, {"no_new_codes"})],
    ids=["listed and rare", "listed and not rare", "unlisted"],
)
def test_a_code_of_tlcs_list_is_new_only_if_one_row_in_a_thousand_has_it(
    lake: Workspace, code: int, rows: int, warnings: set[str]
) -> None:
    rate = pl.when(pl.int_range(pl.len()) < rows).then(code).otherwise("RatecodeID")

    found = run(lake, usual(2_000).with_columns(RatecodeID=rate))

    assert warning({"no_new_codes": found["no_new_codes"]}) == warnings


BEYOND = {"row_count_as_before", "means_as_before"}


@pytest.mark.parametrize(
    ("rows", "fare", "jumping"), [(26, 8.9, BEYOND), (27, 9.1, set()), (60, 14.9, set()), (61, 15.1, BEYOND)]
)
def test_rows_jump_beyond_half_as_many_again_or_below_two_thirds_and_a_mean_by_more_than_a_quarter(
    lake: Workspace, rows: int, fare: float, jumping: set[str]
) -> None:
    found = run(lake, usual(rows, fare_amount=fare))
    assert warning(found) == jumping
    counted, averaged = found["row_count_as_before"], found["means_as_before"]
    figures = {name: shown(counted, name) for name in ("rows", "median_before", "ratio", "most_times", "rows_before")}
    before = {str(month): ROWS for month in USUAL}
    ratio = round(rows / ROWS, 4)
    assert figures == {
        "rows": rows, "median_before": ROWS, "ratio": ratio, "most_times": 1.5, "rows_before": before,
    }  # fmt: skip
    assert shown(averaged, "most_change") == 0.25
    (of_fare,) = [record for record in shown(averaged, "means") if record["column"] == "fare_amount"]
    assert of_fare == {"column": "fare_amount", "mean": fare, "before": 12.0, "change": round(fare / 12 - 1, 4)}


def test_values_beyond_all_measure_and_refunds_make_no_mean_jump(lake: Workspace) -> None:
    row = pl.int_range(pl.len())
    file = usual().with_columns(
        trip_distance=pl.when(row == 0).then(300_000.0).otherwise("trip_distance"),
        fare_amount=pl.when(row < 15).then(-12.0).otherwise("fare_amount"),
    )
    assert warning(run(lake, file)) == set()


def test_drift_is_found_without_what_dagster_remembers(lake: Workspace) -> None:
    run(lake, usual(10, payment_type=4).with_columns(surge_fee=pl.lit(0.75), VendorID=pl.lit(2.0)))
    with dg.DagsterInstance.ephemeral() as empty:
        found = drift(replace(lake, instance=empty).run_bronze_checks(Service.GREEN, MONTH))
    assert warning(found) == {"no_unknown_columns", "types_as_before", "no_new_codes", "row_count_as_before"}


def test_a_month_that_something_else_has_rewritten_passes_where_its_file_is_asked_about(lake: Workspace) -> None:
    run(lake, usual().with_columns(surge_fee=pl.lit(0.75), VendorID=pl.lit(2.0)))
    DeltaTable(lake.lake.location(GreenTrips).uri).delete(f"source_row = 3 and source_month = '{MONTH.first_day}'")
    found = drift(lake.run_bronze_checks(Service.GREEN, MONTH))
    assert warning(found) == set()
    for name in ("no_unknown_columns", "types_as_before"):
        assert "something else has rewritten it" in str(found[name].description)
