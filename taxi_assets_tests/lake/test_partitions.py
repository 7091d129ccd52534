"""Partition keys as columns and values: months, days, and days of cities."""

from __future__ import annotations

from datetime import date

import dagster as dg
import pytest

from taxi_assets.contracts import Contract, Date, String, column
from taxi_assets.lake.partitions import partition_of

pytestmark = pytest.mark.fast

DAYS = dg.DailyPartitionsDefinition(start_date="2024-01-01")
CITIES = dg.StaticPartitionsDefinition(["nyc", "chicago"])


class ByMonth(Contract, table="partitions_test/by_month", replaced_by=("source_month",)):
    """Partitioned by month."""

    source_month: Date = column("Month.")


class ByDayAndCity(Contract, table="partitions_test/by_day_and_city", replaced_by=("day", "city")):
    """Partitioned by day and city."""

    city: String = column("City.")
    day: Date = column("Day.")


class ByCity(Contract, table="partitions_test/by_city", replaced_by=("city",)):
    """Partitioned by city."""

    city: String = column("City.")


class ByKey(Contract, table="partitions_test/by_key", keys=("city",)):
    """Not partitioned."""

    city: String = column("City.")


def test_a_month_is_the_date_of_its_first_day() -> None:
    months = dg.MonthlyPartitionsDefinition(start_date="2009-01", fmt="%Y-%m")
    assert partition_of(ByMonth, months, "2024-02") == {"source_month": date(2024, 2, 1)}


def test_a_day_is_its_date() -> None:
    assert partition_of(ByMonth, DAYS, "2024-02-29") == {"source_month": date(2024, 2, 29)}


def test_a_day_of_a_time_zone_is_the_date_in_that_zone() -> None:
    for zone in ("America/New_York", "Asia/Tokyo"):
        days = dg.DailyPartitionsDefinition(start_date="2024-01-01", timezone=zone)
        assert partition_of(ByMonth, days, "2024-03-10") == {"source_month": date(2024, 3, 10)}


def test_a_fixed_key_stands_for_itself() -> None:
    assert partition_of(ByCity, CITIES, "nyc") == {"city": "nyc"}


def test_a_key_of_two_dimensions_is_split_by_the_names_of_the_columns() -> None:
    # Dagster sorts dimensions by name: city comes first in the key, day in the table's folders.
    both = dg.MultiPartitionsDefinition({"day": DAYS, "city": CITIES})
    key = dg.MultiPartitionKey({"day": "2024-01-31", "city": "chicago"})
    found = partition_of(ByDayAndCity, both, str(key))
    assert list(found.items()) == [("day", date(2024, 1, 31)), ("city", "chicago")]


def test_a_table_without_partitions_has_none_whatever_the_run_has() -> None:
    assert partition_of(ByKey, DAYS, "2024-01-31") == {}
