"""Claims about wall-clock times: days of the week, and the seconds between two times, the same on every engine."""

# Times are wall clock, without a zone.
# ruff: noqa: DTZ001

from __future__ import annotations

from datetime import datetime

import narwhals.stable.v1 as nw
import polars as pl

from taxi_assets.engines import Engine, iso_weekday
from taxi_assets_tests.scenario import collected, on


def test_a_week_begins_with_1_on_monday_and_ends_with_7_on_sunday(engine: Engine) -> None:
    days = {
        **{datetime(2024, 1, day, 23, 59, 59, 999_999): day for day in range(1, 8)},  # from Monday on
        datetime(1900, 1, 1): 1,
        datetime(1969, 12, 28): 7,
        datetime(2000, 2, 29): 2,
        datetime(2098, 1, 1): 3,
    }
    frame = on(engine, pl.LazyFrame({"at": [*days, None]}, schema={"at": pl.Datetime("us")}))

    found = collected(frame.select("at", iso_weekday(nw.col("at")).alias("weekday")))

    assert dict(found.rows()) == {**days, None: None}


def test_seconds_between_two_times_are_whole_and_signed_and_cut_off_towards_zero(engine: Engine) -> None:
    noon = datetime(2024, 1, 1, 12)
    cases = [
        (noon, datetime(2024, 1, 1, 12, 1, 30), 90),
        (noon, datetime(2024, 1, 1, 11, 59), -60),
        (noon, datetime(2024, 1, 2, 12), 86_400),
        (noon, noon, 0),
        (noon, datetime(2024, 1, 1, 12, 0, 1, 999_999), 1),
        (noon, datetime(2024, 1, 1, 12, 0, 0, 999_999), 0),
        (noon, datetime(2024, 1, 1, 11, 59, 59, 1), 0),
        (noon, datetime(2024, 1, 1, 11, 59, 58, 1), -1),
        (datetime(2024, 1, 1, 11, 59, 59, 500_000), datetime(2024, 1, 1, 12, 0, 0, 499_999), 0),
        # An hour is an hour, though the clocks of New York were put on and back in these nights.
        (datetime(2024, 3, 10, 1), datetime(2024, 3, 10, 3), 7_200),
        (datetime(2024, 11, 3, 0, 30), datetime(2024, 11, 3, 2, 30), 7_200),
        # 198 years, of which 1904 to 2096 every fourth is a leap year.
        (datetime(1900, 1, 1), datetime(2098, 1, 1), (198 * 365 + 49) * 86_400),
        # 9998 years and all but a second of one more; 2424 of the 9999 are leap years, 9999 is none.
        (datetime(1, 1, 1), datetime(9999, 12, 31, 23, 59, 59), (9_999 * 365 + 2_424) * 86_400 - 1),
        (datetime(9999, 12, 31, 23, 59, 59), datetime(1, 1, 1), 1 - (9_999 * 365 + 2_424) * 86_400),
        (None, noon, None),
        (noon, None, None),
    ]
    rows = [(number, start, end) for number, (start, end, _) in enumerate(cases)]
    types = {"case": pl.Int64, "start": pl.Datetime("us"), "end": pl.Datetime("us")}
    frame = on(engine, pl.LazyFrame(rows, schema=types, orient="row"))

    found = frame.select("case", engine.seconds_between(nw.col("start"), nw.col("end")).alias("seconds"))

    assert found.collect_schema()["seconds"] == nw.Int64
    assert dict(collected(found).rows()) == {number: seconds for number, (_, _, seconds) in enumerate(cases)}
