"""Claims about keys made of values: those of Spark's own functions, the same on every engine."""

# Times are wall clock, without a zone.
# ruff: noqa: DTZ001

from __future__ import annotations

import hashlib
from datetime import date, datetime
from math import inf, nan

import polars as pl
import pytest

from taxi_assets.engines import Engine
from taxi_assets_tests.scenario import collected, on

# java.lang.Double.toString's own examples and borders; Spark writes doubles by it.
DOUBLES = {
    0.0: "0.0",
    1.0: "1.0",
    -8.5: "-8.5",
    0.1 + 0.2: "0.30000000000000004",
    0.001: "0.001",
    0.0001: "1.0E-4",
    0.00099999: "9.9999E-4",
    -1.25e-5: "-1.25E-5",
    9_999_999.0: "9999999.0",
    1e7: "1.0E7",
    123_456_789.125: "1.23456789125E8",
    -1.5e300: "-1.5E300",
    5e-324: "4.9E-324",
    inf: "Infinity",
    -inf: "-Infinity",
}
TIMES = {
    datetime(2016, 1, 1): "2016-01-01 00:00:00",
    datetime(2016, 2, 29, 23, 50, 10): "2016-02-29 23:50:10",
    datetime(2016, 2, 29, 23, 50, 10, 500_000): "2016-02-29 23:50:10.5",
    datetime(2016, 2, 29, 23, 50, 10, 1): "2016-02-29 23:50:10.000001",
}


def sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def digests(engine: Engine, frame: pl.LazyFrame, *columns: str) -> list[str]:
    return collected(engine.with_digest(on(engine, frame), "key", columns).select("key"))["key"].to_list()


@pytest.mark.parametrize("cases", [DOUBLES, TIMES], ids=["doubles", "times"])
def test_a_value_is_written_as_spark_writes_it(engine: Engine, cases: dict[object, str]) -> None:
    frame = pl.LazyFrame({"value": list(cases)})

    assert sorted(digests(engine, frame, "value")) == sorted(map(sha256, cases.values()))


def test_what_is_no_number_is_written_so(engine: Engine) -> None:
    assert digests(engine, pl.LazyFrame({"value": [nan]}), "value") == [sha256("NaN")]


def test_a_digest_is_of_the_texts_of_all_values_with_nulls_passed_over(engine: Engine) -> None:
    row = {"at": datetime(2016, 2, 13, 21, 47, 53), "miles": 1.4, "zip": 7002, "day": date(2016, 1, 1), "is_it": True}
    frame = pl.LazyFrame([row, dict.fromkeys(row)], schema={**pl.DataFrame([row]).schema, "zip": pl.Int32})

    found = digests(engine, frame, *row)

    assert sorted(found) == sorted([sha256("2016-02-13 21:47:53|1.4|7002|2016-01-01|true"), sha256("")])


def test_a_key_is_xxhash64_of_the_text_with_sparks_seed(engine: Engine) -> None:
    frame = on(engine, pl.LazyFrame({"day": [date(2016, 1, 1), None], "zip": [10103, None]}))

    found = collected(engine.with_keys(frame, {"day_key": "day", "zip_key": "zip", "same": "day"}))

    by_day = {row["day"]: row for row in found.to_dicts()}
    # The figure that is known for this day; of null, Spark returns the seed.
    assert by_day[date(2016, 1, 1)]["day_key"] == by_day[date(2016, 1, 1)]["same"] == -8_532_536_563_273_456_607
    assert by_day[None]["day_key"] == by_day[None]["zip_key"] == 42
    assert found.schema["day_key"] == pl.Int64
