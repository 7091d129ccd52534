"""A yellow month from the landed file to gold as one plain script: PySpark and delta-spark, no Dagster, no contracts.

It makes the tables that `taxi-assets materialize` makes, and is what the bench measures ours on Spark against. Like
by_hand.py, which does the same in Polars, it knows one service and one layout, TLC's Parquet of 2023-02 and later, and
takes nothing from the package.
"""

from __future__ import annotations

import argparse
import csv
import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any, Final

from delta.tables import DeltaTable
from pyspark.sql import Column, DataFrame, Observation, SparkSession, Window
from pyspark.sql import functions as F  # noqa: N812

SETTINGS: Final = {
    "spark.master": "local[*]",
    "spark.jars.packages": "io.delta:delta-spark_4.2_2.13:4.4.0",
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
    "spark.databricks.delta.snapshotPartitions": "1",
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.timestampType": "TIMESTAMP_NTZ",
    # The JVM never compiles a method of more bytes; silver's rows make such, unless their operators are left unfused.
    "spark.sql.codegen.hugeMethodLimit": "8000",
    # Without a writer for it, rows would be sorted by their partition first; and there is only one.
    "spark.sql.maxConcurrentOutputFileWriters": "2",
    "spark.driver.extraJavaOptions": "-XX:+UseParallelGC",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
}
SERVICE: Final = "yellow"
UNKNOWN: Final = "Unknown"
PAYMENT_TYPES: Final = {
    0: "Flex Fare trip",
    1: "Credit card",
    2: "Cash",
    3: "No charge",
    4: "Dispute",
    5: "Unknown",
    6: "Voided trip",
}
PARTS_OF_TOTAL: Final = {
    "fare_amount": "fare_amount",
    "extra": "extra",
    "mta_tax": "mta_tax",
    "tip_amount": "tip_amount",
    "tolls_amount": "tolls_amount",
    "improvement_surcharge": "improvement_surcharge",
    "congestion_surcharge": "congestion_surcharge",
    "airport_fee": "Airport_fee",
    "cbd_congestion_fee": "cbd_congestion_fee",
}
TIMES: Final = {"pickup_datetime": "tpep_pickup_datetime", "dropoff_datetime": "tpep_dropoff_datetime"}
PLACES: Final = {"pickup_location_id": "PULocationID", "dropoff_location_id": "DOLocationID"}
# Of files until 2016-06, which had no locations.
COORDINATES: Final = {
    f"{end}_{axis}": f"{end}_{axis}" for end in ("pickup", "dropoff") for axis in ("longitude", "latitude")
}
CODES: Final = {"rate_code_id": "RatecodeID", "payment_type": "payment_type", "passenger_count": "passenger_count"}
TRIP: Final = {
    "vendor_id": "VendorID",
    **TIMES,
    **PLACES,
    **COORDINATES,
    **CODES,
    "trip_distance": "trip_distance",
    **PARTS_OF_TOTAL,
    "total_amount": "total_amount",
    "store_and_fwd_flag": "store_and_fwd_flag",
}
"""Columns of bronze, and what the file calls them."""

TYPES: Final = {
    **dict.fromkeys(("vendor_id", *PLACES, *CODES), "int"),
    **dict.fromkeys((*COORDINATES, "trip_distance", *PARTS_OF_TOTAL, "total_amount"), "double"),
}
CHARGE: Final = ("vendor_id", *TIMES, *PLACES, "fare_amount", "total_amount")
FLAGS: Final = ("is_duplicate", "is_repeat", "is_reversed")
ZONES: Final = {"location_id": "LocationID", "borough": "Borough", "zone": "Zone", "service_zone": "service_zone"}


# Bronze


def provenance(path: Path, month: date) -> list[Column]:
    with path.open("rb") as file:
        fingerprint = hashlib.file_digest(file, "sha256").hexdigest()
    return [
        F.lit(path.name).alias("source_file"),
        F.col("source_row"),
        F.lit(fingerprint).alias("source_fingerprint"),
        F.lit(datetime.now(UTC).replace(tzinfo=None)).alias("ingested_at"),
        F.lit(None).cast("string").alias("_rescued_data"),
        F.lit(month).alias("source_month"),
    ]


def bronze_trips(spark: SparkSession, path: Path, month: date) -> DataFrame:
    raw = spark.read.parquet(str(path))
    published = {name: name if name in raw.columns else "NULL" for name in TRIP.values()}
    # A code that doesn't fit ends the script: Spark's casts are ANSI's.
    typed = {column: f"CAST({published[TRIP[column]]} AS {type_})" for column, type_ in TYPES.items()}
    values = {column: published[name] for column, name in TRIP.items()} | typed
    values["store_and_fwd_flag"] = f"nullif(trim({values['store_and_fwd_flag']}), '')"
    rows = raw.selectExpr(
        *(f"{value} AS {column}" for column, value in values.items()), "_metadata.row_index + 1 AS source_row"
    )
    return rows.select(*TRIP, *provenance(path, month))


def bronze_zones(spark: SparkSession, path: Path, month: date) -> DataFrame:
    with path.open(encoding="utf-8", newline="") as file:
        lines = [[line[name] or None for name in ZONES.values()] for line in csv.DictReader(file)]
    rows = [(int(id_), *names, row) for row, (id_, *names) in enumerate(lines, 1)]
    schema = "location_id int, borough string, zone string, service_zone string, source_row long"
    return spark.createDataFrame(rows, schema).coalesce(1).select(*ZONES, *provenance(path, month))


# Rules

IN_REPEATED_HOUR: Final = """(
    dropoff_datetime < pickup_datetime
    AND month(pickup_datetime) = 11 AND day(pickup_datetime) <= 7 AND weekday(pickup_datetime) = 6
    AND hour(pickup_datetime) = 1 AND hour(dropoff_datetime) = 1
    AND date(pickup_datetime) = date(dropoff_datetime)
)"""
"""Both ends between 1:00 and 2:00 on the first Sunday of November, when that hour comes twice."""

ELAPSED_SECONDS: Final = f"timestampdiff(SECOND, pickup_datetime, dropoff_datetime) + IF({IN_REPEATED_HOUR}, 3600, 0)"


def quarantining_rules(month: date) -> dict[str, str]:
    """What a row must be, by rule, to get into silver; null counts as kept."""
    needed = (*TIMES, *PLACES, "fare_amount", "trip_distance")
    amounts = [name for name in (*PARTS_OF_TOTAL, "total_amount") if name != "fare_amount"]
    return {
        "required_values_present": all_of(f"{name} IS NOT NULL" for name in needed),
        "values_fit_their_types": all_of(f"abs({name}) < 99999999.995D" for name in amounts),
        "pickup_in_file_month": f"trunc(pickup_datetime, 'month') = DATE'{month}'",
        "pickup_before_dropoff": f"pickup_datetime < dropoff_datetime OR {IN_REPEATED_HOUR}",
        # Less than half a hundredth is nothing, once it is rounded.
        "positive_fare_amount": "fare_amount >= 0.005D",
        "positive_trip_distance": "trip_distance >= 0.005D",
        "plausible_fare_amount": "fare_amount < 999999.995D",
        "plausible_trip_distance": "trip_distance <= 1000",
        "not_an_exact_duplicate": "NOT is_duplicate",
    }


def warning_rules(known_zones: Iterable[int]) -> dict[str, str]:
    """What a row should be, and is kept all the same if it isn't."""
    known = listed(known_zones)
    sum_of_parts = " + ".join(f"coalesce({name}, 0D)" for name in PARTS_OF_TOTAL)
    return {
        "known_zones": f"pickup_location_id IN {known} AND dropoff_location_id IN {known}",
        "known_payment_type": f"payment_type IN {listed(PAYMENT_TYPES)}",
        "plausible_passenger_count": "passenger_count BETWEEN 1 AND 6",
        "total_amount_present": "total_amount IS NOT NULL",
        "total_is_sum_of_parts": f"abs(total_amount - ({sum_of_parts})) < 0.005D",
        "plausible_speed": "trip_distance * 3600 <= IF(seconds > 0, seconds, NULL) * 100",
        "not_reversed": "NOT is_reversed",
        "times_exist": all_of(f"NOT {in_missing_hour(time)}" for time in TIMES),
        "plausible_duration": "seconds <= 86400",
    }


def in_missing_hour(time: str) -> str:
    """Between 2:00 and 3:00 on the second Sunday of March, when the clock skips that hour."""
    night = f"month({time}) = 3 AND day({time}) BETWEEN 8 AND 14 AND weekday({time}) = 6"
    return f"({night} AND hour({time}) = 2)"


def all_of(rules: Iterable[str]) -> str:
    return " AND ".join(f"({rule})" for rule in rules)


def listed(values: Iterable[int]) -> str:
    return f"({', '.join(map(str, values))})"


def with_flags(trips: DataFrame) -> DataFrame:
    """Add `is_duplicate`, `is_repeat` and `is_reversed`.

    All three need another row of the same times, which few rows have: only those are looked at in full.
    """
    times = F.xxhash64(*TIMES)
    shared = trips.groupBy(times.alias("times")).count().filter("count > 1")
    suspects = trips.join(F.broadcast(shared), times == F.col("times"), "left_semi").select(*TRIP, "source_row").cache()
    refunds = suspects.filter("total_amount < 0").withColumns({
        "fare_amount": F.expr("0 - fare_amount"),
        "total_amount": F.expr("0 - total_amount"),
        "is_reversed": F.lit(True),
    })  # fmt: skip
    flags = suspects.join(F.broadcast(refunds.select(*CHARGE, "is_reversed").distinct()), [*CHARGE], "left").select(
        "source_row", comes_again(TRIP).alias("is_duplicate"), comes_again(TIMES).alias("is_repeat"), "is_reversed"
    )
    flagged = trips.join(F.broadcast(flags.filter("is_repeat OR is_reversed")), "source_row", "left")
    return flagged.withColumns({flag: F.coalesce(flag, F.lit(False)) for flag in FLAGS})


def comes_again(columns: Iterable[str]) -> Column:
    """Whether an earlier row has the same values; nulls are equal to each other."""
    return F.row_number().over(Window.partitionBy(*columns).orderBy("source_row")) > 1


# Silver


def rounded_ratio(numerator: str, denominator: str, precision: int, scale: int) -> str:
    """A ratio of whole numbers of which the denominator is positive, rounded half up: exact, unlike a double's."""
    one = 10**scale
    units = f"floor(({numerator} * {2 * one} + {denominator}) / ({denominator} * 2))"
    return f"try_cast({units} / {one} AS decimal({precision}, {scale}))"


def silver_trips(kept: DataFrame, zones: DataFrame) -> DataFrame:
    names = [f"{end}_{what}" for end in ("pickup", "dropoff") for what in ("borough", "zone")]
    for end in ("pickup", "dropoff"):
        lookup = zones.selectExpr(
            f"location_id AS {end}_location_id", f"borough AS {end}_borough", f"zone AS {end}_zone"
        )
        kept = kept.join(F.broadcast(lookup), f"{end}_location_id", "left")
    payments = kept.sparkSession.createDataFrame(list(PAYMENT_TYPES.items()), "payment_type int, payment_name string")
    kept = kept.join(F.broadcast(payments), "payment_type", "left")
    cents, hundredths_of_miles = (f"CAST(rint({name} * 100) AS long)" for name in ("fare_amount", "trip_distance"))
    return kept.selectExpr(
        "vendor_id", "pickup_datetime", "dropoff_datetime", "date(pickup_datetime) AS pickup_date",
        "hour(pickup_datetime) AS pickup_hour", "weekday(pickup_datetime) + 1 AS pickup_day_of_week",
        "pickup_location_id", "dropoff_location_id", *(f"coalesce({name}, '{UNKNOWN}') AS {name}" for name in names),
        "rate_code_id", "payment_type",
        f"IF(payment_type IS NOT NULL, coalesce(payment_name, '{UNKNOWN}'), NULL) AS payment_name",
        "passenger_count", decimal("trip_distance"), rounded_ratio("seconds", "60", 12, 2) + " AS duration_min",
        *map(decimal, PARTS_OF_TOTAL), decimal("total_amount"),
        rounded_ratio(cents, hundredths_of_miles, 10, 4) + " AS fare_per_mile",
        "store_and_fwd_flag", "is_repeat", "is_reversed", "source_file", "source_row", "source_month",
    )  # fmt: skip


def decimal(amount: str) -> str:
    """A double as it is written out, rounded half up: what Spark's cast does."""
    return f"CAST({amount} AS decimal(10, 2)) AS {amount}"


def unlisted(trips: DataFrame, zones: Iterable[int]) -> tuple[set[int], set[int]]:
    """Return the zones, and the payment codes, that trips have and the lists lack."""
    known = listed(zones)
    odd = trips.filter(
        f"pickup_location_id NOT IN {known} OR dropoff_location_id NOT IN {known} "
        f"OR payment_type NOT IN {listed(PAYMENT_TYPES)}"
    )
    rows = odd.select(*PLACES, "payment_type").distinct().collect()
    return {id_ for row in rows for id_ in row[:2]} - {None, *zones}, {row[2] for row in rows} - {None, *PAYMENT_TYPES}


# Gold


def cents(amount: str) -> str:
    """Decimals summed as whole numbers: beyond 18 digits, as Spark sums decimals, each is an object."""
    return f"sum(CAST({amount} * 100 AS long))"


def average(amount: str) -> str:
    return rounded_ratio(cents(amount), "count(*) * 100", 10, 2)


REVENUE: Final = f"CAST(CAST({cents('total_amount')} AS decimal(18, 0)) / 100 AS decimal(18, 2)) AS total_revenue"
REVENUE_RANK: Final = "IF(total_revenue IS NULL, NULL, rank() OVER (ORDER BY total_revenue DESC NULLS LAST))"


def gold_tables(trips: DataFrame, month: date) -> dict[str, DataFrame]:
    by_hour = (
        trips.groupBy("pickup_date", "pickup_hour", "pickup_borough")
        .agg(
            F.expr("count(*) AS trip_count"),
            F.expr(average("trip_distance") + " AS avg_distance"),
            F.expr(average("fare_amount") + " AS avg_fare"),
            F.expr(average("tip_amount") + " AS avg_tip"),
            F.expr(REVENUE),
        )
        .coalesce(1)
        .sortWithinPartitions("pickup_date", "pickup_hour", "pickup_borough")
    )
    by_zone = (
        trips.groupBy("pickup_location_id", F.expr("pickup_borough AS borough"), F.expr("pickup_zone AS zone"))
        .agg(F.expr("count(*) AS trip_count"), F.expr(REVENUE), F.expr(average("fare_amount") + " AS avg_fare"))
        .withColumn("revenue_rank", F.expr(REVENUE_RANK))
        .sortWithinPartitions("revenue_rank", "pickup_location_id")
    )
    first_fare = cents("IF(is_repeat, NULL, fare_amount)")
    first_trips = "nullif(count_if(NOT is_repeat), 0) * 100"
    by_day = (
        trips.groupBy(F.expr("pickup_date AS trip_date"))
        .agg(
            F.expr("count_if(NOT is_repeat) AS trip_count"),
            F.expr(rounded_ratio(first_fare, first_trips, 10, 2) + " AS avg_fare"),
            F.expr("count_if(is_repeat) AS repeat_count"),
        )
        .coalesce(1)
        .sortWithinPartitions("trip_date")
    )
    found = {"fact_trips_borough_hour": by_hour, "fact_top_zones": by_zone, "nyc_taxi_daily": by_day}
    service, source_month = F.lit(SERVICE).alias("service_type"), F.lit(month).alias("source_month")
    return {name: rows.select(service, "*", source_month) for name, rows in found.items()}


# Writing


@dataclass(frozen=True)
class Lake:
    spark: SparkSession
    root: Path
    month: date

    def read(self, table: str) -> DataFrame:
        return self.spark.read.format("delta").load(str(self.root / table)).filter(f"source_month = DATE'{self.month}'")

    def publish(self, table: str, rows: DataFrame) -> None:
        writer = rows.write.format("delta").mode("overwrite").partitionBy("source_month")
        writer.option("replaceWhere", f"source_month = '{self.month}'").save(str(self.root / table))

    def upsert(self, table: str, columns: str, rows: Iterable[tuple[Any, ...]]) -> None:
        """Put rows of this month into a table that has one row per key, its first column; the newest month wins."""
        path, key = str(self.root / table), columns.split(maxsplit=1)[0]
        dated = [(*row, self.month) for row in rows]
        frame = self.spark.createDataFrame(dated, f"{columns}, source_month date").coalesce(1)
        if not DeltaTable.isDeltaTable(self.spark, path):
            frame.write.format("delta").save(path)
            return
        (
            DeltaTable.forPath(self.spark, path)
            .alias("old")
            .merge(frame.alias("new"), f"old.{key} = new.{key}")
            .whenMatchedUpdateAll("new.source_month >= old.source_month")
            .whenNotMatchedInsertAll()
            .execute()
        )


# The month


def run(file: Path, zone_lookup: Path, lake: Lake) -> dict[str, int]:
    """Make all tables of the month; returns how many rows break each rule."""
    zones = bronze_zones(lake.spark, zone_lookup, lake.month)
    lake.publish("tlc_bronze/zones", zones)
    lake.publish("tlc_bronze/yellow_trips", bronze_trips(lake.spark, file, lake.month))

    trips = lake.read("tlc_bronze/yellow_trips")
    zone_rows = {row["location_id"]: tuple(row) for row in zones.select(*ZONES).collect()}
    other_zones, other_codes = unlisted(trips, zone_rows)
    lake.upsert(
        "tlc_silver/dim_zone",
        "location_id int, borough string, zone string, service_zone string",
        [*zone_rows.values(), *((id_, UNKNOWN, UNKNOWN, UNKNOWN) for id_ in other_zones)],
    )
    lake.upsert(
        "tlc_silver/dim_payment",
        "payment_type int, payment_name string",
        [*PAYMENT_TYPES.items(), *((code, UNKNOWN) for code in other_codes)],
    )

    flagged = with_flags(trips).withColumn("seconds", F.expr(ELAPSED_SECONDS))
    quarantining = quarantining_rules(lake.month)
    rules = quarantining | warning_rules(zone_rows)
    bits = {name: 1 << position for position, name in enumerate(rules)}
    broken = " | ".join(f"IF(NOT ({rule}), {bits[name]}, 0)" for name, rule in rules.items())
    # Counted while silver is written, which costs no pass of its own.
    counts = Observation()
    judged = flagged.withColumn("broken", F.expr(broken)).observe(
        counts, *(F.expr(f"count_if(broken & {bit} != 0) AS {name}") for name, bit in bits.items())
    )
    good = judged.filter(f"broken & {sum(bits[name] for name in quarantining)} = 0")
    lake.publish("tlc_silver/yellow_trips", silver_trips(good, zones))
    # Few rows: the rules are asked anew, each only of the rows that keep those before it.
    failed = ", ".join(f"IF(NOT ({rule}), '{name}', NULL)" for name, rule in quarantining.items())
    bad = flagged.filter(f"NOT ({all_of(quarantining.values())})").withColumn(
        "failed_rules", F.expr(f"array_compact(array({failed}))")
    )
    columns = [*trips.drop("source_month").columns, "failed_rules", "source_month"]
    lake.publish("tlc_silver/yellow_trips_quarantine", bad.select(columns))

    for name, rows in gold_tables(lake.read("tlc_silver/yellow_trips"), lake.month).items():
        lake.publish(f"tlc_gold/{name}", rows)
    return counts.get


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", type=Path, help="the month's file, as TLC publishes it")
    parser.add_argument("lake", type=Path, help="the folder to make the tables in")
    parser.add_argument("--month", type=lambda text: date.fromisoformat(f"{text}-01"), required=True)
    parser.add_argument("--zones", type=Path, required=True, help="TLC's zone lookup, a CSV file")
    arguments = parser.parse_args()
    builder = SparkSession.builder
    for name, value in SETTINGS.items():
        builder = builder.config(name, value)
    # Spark makes the folder, in the current one unless told otherwise.
    builder = builder.config("spark.sql.warehouse.dir", str(arguments.lake.resolve() / "spark-warehouse"))
    with builder.getOrCreate() as spark:
        counts = run(arguments.file, arguments.zones, Lake(spark, arguments.lake.resolve(), arguments.month))
    print(json.dumps(counts))


if __name__ == "__main__":
    main()
