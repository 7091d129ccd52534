"""A program that reads and writes wall-clock times on Spark, for test_time_zones.py to run in machines' time zones.

Its arguments are a folder, which holds a table "by_polars" and gets two more, and the session zone that is asked for.
It prints what it read, and how many rows it found equal to each time, as JSON.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import narwhals.stable.v1 as nw

from taxi_assets.engines import DeltaLocation, make_spark_engine
from taxi_assets_tests.engines.made_up import MONDAY, TIMES, Times
from taxi_assets_tests.scenario import collected


def main(folder: Path, zone: str) -> None:
    """Read what Polars wrote, write it once more, and write the same times from literals."""
    engine = make_spark_engine("local[1]", {"spark.sql.session.timeZone": zone}, None, folder / "spark.log")
    by_polars, copied, by_spark = (DeltaLocation(str(folder / name)) for name in ("by_polars", "copied", "by_spark"))

    stored = engine.read(Times, by_polars, None)
    engine.replace(Times, copied, stored, {"day": MONDAY})
    engine.replace(
        Times,
        by_spark,
        engine.literal({"number": list(range(len(TIMES))), "at": TIMES, "day": [MONDAY] * len(TIMES)}),
        {"day": MONDAY},
    )
    found = collected(stored.sort("number"))["at"].to_list()
    at, whole = nw.col("at"), nw.Int64
    compared = collected(
        stored.select(
            *((at == nw.lit(time)).cast(whole).sum().alias(f"equal {number}") for number, time in enumerate(TIMES)),
            *((at < nw.lit(time)).cast(whole).sum().alias(f"earlier {number}") for number, time in enumerate(TIMES)),
        )
    )
    print(json.dumps({"read": [time.isoformat() for time in found], **compared.row(0, named=True)}))  # noqa: T201


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
