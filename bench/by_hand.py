"""A yellow month from the landed file to gold as one plain script: Polars and delta-rs, no Dagster, no contracts.

It makes the tables that `taxi-assets materialize` makes, and is what the bench measures that against. It knows one
service and one layout, TLC's Parquet of 2023-02 and later, and takes nothing from the package.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import time
import uuid
from dataclasses import dataclass
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any, Final

import polars as pl
import pyarrow.parquet as pq
from deltalake import DeltaTable, Schema
from deltalake.transaction import AddAction

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
PARTS_OF_TOTAL: Final = (
    "fare_amount",
    "extra",
    "mta_tax",
    "tip_amount",
    "tolls_amount",
    "improvement_surcharge",
    "congestion_surcharge",
    "airport_fee",
    "cbd_congestion_fee",
)
TRIP: Final = {
    "vendor_id": "VendorID",
    "pickup_datetime": "tpep_pickup_datetime",
    "dropoff_datetime": "tpep_dropoff_datetime",
    "pickup_location_id": "PULocationID",
    "dropoff_location_id": "DOLocationID",
    # Of files until 2016-06, which had no locations.
    "pickup_longitude": "pickup_longitude",
    "pickup_latitude": "pickup_latitude",
    "dropoff_longitude": "dropoff_longitude",
    "dropoff_latitude": "dropoff_latitude",
    "rate_code_id": "RatecodeID",
    "payment_type": "payment_type",
    "passenger_count": "passenger_count",
    "trip_distance": "trip_distance",
    "fare_amount": "fare_amount",
    "extra": "extra",
    "mta_tax": "mta_tax",
    "tip_amount": "tip_amount",
    "tolls_amount": "tolls_amount",
    "improvement_surcharge": "improvement_surcharge",
    "congestion_surcharge": "congestion_surcharge",
    "airport_fee": "Airport_fee",
    "cbd_congestion_fee": "cbd_congestion_fee",
    "total_amount": "total_amount",
    "store_and_fwd_flag": "store_and_fwd_flag",
}
"""Columns of bronze, and what the file calls them."""

CODES: Final = (
    "vendor_id",
    "pickup_location_id",
    "dropoff_location_id",
    "rate_code_id",
    "payment_type",
    "passenger_count",
)
COORDINATES: Final = ("pickup_longitude", "pickup_latitude", "dropoff_longitude", "dropoff_latitude")
AMOUNTS: Final = (*PARTS_OF_TOTAL, "total_amount", "trip_distance")
RIDE: Final = ("vendor_id", "pickup_datetime", "dropoff_datetime", "pickup_location_id", "dropoff_location_id")
QUARANTINING: Final = (
    "required_values_present",
    "values_fit_their_types",
    "pickup_in_file_month",
    "pickup_before_dropoff",
    "positive_fare_amount",
    "positive_trip_distance",
    "plausible_fare_amount",
    "plausible_trip_distance",
    "not_an_exact_duplicate",
)
RULES: Final = (
    *QUARANTINING,
    "known_zones",
    "known_payment_type",
    "plausible_passenger_count",
    "total_amount_present",
    "total_is_sum_of_parts",
    "plausible_speed",
    "not_reversed",
    "times_exist",
    "plausible_duration",
)
ZONES: Final = {"location_id": "LocationID", "borough": "Borough", "zone": "Zone", "service_zone": "service_zone"}

pickup, dropoff = pl.col("pickup_datetime"), pl.col("dropoff_datetime")
fare, distance, total = pl.col("fare_amount"), pl.col("trip_distance"), pl.col("total_amount")


# Bronze


def provenance(path: Path, month: date) -> list[pl.Expr]:
    with path.open("rb") as file:
        fingerprint = hashlib.file_digest(file, "sha256").hexdigest()
    return [
        pl.lit(path.name).alias("source_file"),
        pl.col("source_row").cast(pl.Int64),
        pl.lit(fingerprint).alias("source_fingerprint"),
        pl.lit(datetime.now(UTC).replace(tzinfo=None), pl.Datetime("us")).alias("ingested_at"),
        pl.lit(None, pl.String).alias("_rescued_data"),
        pl.lit(month).alias("source_month"),
    ]


def bronze_trips(path: Path, month: date) -> pl.LazyFrame:
    raw = pl.scan_parquet(path, row_index_name="source_row", row_index_offset=1)
    published = raw.collect_schema().names()
    values = [(pl.col(name) if name in published else pl.lit(None)).alias(column) for column, name in TRIP.items()]
    flag = pl.col("store_and_fwd_flag").str.strip_chars()
    return (
        raw.select("source_row", *values)
        .with_columns(
            # Strict: a code that doesn't fit ends the script.
            pl.col(CODES).cast(pl.Int32),
            pl.col(*COORDINATES, *PARTS_OF_TOTAL, "trip_distance", "total_amount").cast(pl.Float64),
            pl.when(flag != "").then(flag).alias("store_and_fwd_flag"),
        )
        .select(*TRIP, *provenance(path, month))
    )


def bronze_zones(path: Path, month: date) -> pl.DataFrame:
    raw = pl.read_csv(path, row_index_name="source_row", row_index_offset=1)
    return raw.select(
        *(pl.col(name).alias(column) for column, name in ZONES.items()),
        *provenance(path, month),
    ).with_columns(pl.col("location_id").cast(pl.Int32))


# Rules


def in_repeated_hour() -> pl.Expr:
    """Both ends between 1:00 and 2:00 on the first Sunday of November, when that hour comes twice."""
    return (
        (dropoff < pickup)
        & (pickup.dt.month() == 11)
        & (pickup.dt.day() <= 7)
        & (pickup.dt.weekday() == 7)
        & (pickup.dt.hour() == 1)
        & (dropoff.dt.hour() == 1)
        & (pickup.dt.date() == dropoff.dt.date())
    )


def in_missing_hour(time: pl.Expr) -> pl.Expr:
    """Between 2:00 and 3:00 on the second Sunday of March, when the clock skips that hour."""
    night = (time.dt.month() == 3) & time.dt.day().is_between(8, 14) & (time.dt.weekday() == 7)
    return night & (time.dt.hour() == 2)


def elapsed_seconds() -> pl.Expr:
    return (dropoff - pickup).dt.total_seconds() + 3600 * in_repeated_hour().cast(pl.Int64)


def rules_of_a_row(month: date, zones: pl.DataFrame) -> dict[str, pl.Expr]:
    """What a row must be, by rule, for the rules that look at nothing but the row; null counts as kept."""
    needed = (*RIDE[1:], "fare_amount", "trip_distance")
    next_month = date(month.year + month.month // 12, month.month % 12 + 1, 1)
    amounts = [name for name in AMOUNTS if name not in ("fare_amount", "trip_distance")]
    known, seconds = zones["location_id"].implode(), elapsed_seconds()
    return {
        "required_values_present": pl.all_horizontal(pl.col(name).is_not_null() for name in needed),
        "values_fit_their_types": pl.all_horizontal(pl.col(name).abs() < 99_999_999.995 for name in amounts),
        "pickup_in_file_month": (pickup >= month) & (pickup < next_month),
        "pickup_before_dropoff": (pickup < dropoff) | in_repeated_hour(),
        # Less than half a hundredth is nothing, once it is rounded.
        "positive_fare_amount": fare >= 0.005,
        "positive_trip_distance": distance >= 0.005,
        "plausible_fare_amount": fare < 999_999.995,
        "plausible_trip_distance": distance <= 1_000,
        "known_zones": pl.col("pickup_location_id").is_in(known) & pl.col("dropoff_location_id").is_in(known),
        "known_payment_type": pl.col("payment_type").is_in(list(PAYMENT_TYPES)),
        "plausible_passenger_count": pl.col("passenger_count").is_between(1, 6),
        "total_amount_present": total.is_not_null(),
        "total_is_sum_of_parts": (total - pl.sum_horizontal(PARTS_OF_TOTAL)).abs() < 0.005,
        "plausible_speed": distance * 3600 <= pl.when(seconds > 0).then(seconds) * 100,
        "times_exist": ~(in_missing_hour(pickup) | in_missing_hour(dropoff)),
        "plausible_duration": seconds <= 86_400,
    }


def judge(trips: pl.LazyFrame, zones: pl.DataFrame, month: date) -> pl.DataFrame:
    """For each row the rules that it breaks (a bit each, in the order of RULES), `is_repeat` and `is_reversed`.

    One scan; duplicates, repeats and refunds are found by hashes of the columns that count.
    """
    refund = (*RIDE, (0 - fare).alias("fare_amount"), (0 - total).alias("total_amount"))
    bits = [
        (~holds).fill_null(False).cast(pl.UInt32) * bit_of(name) for name, holds in rules_of_a_row(month, zones).items()
    ]
    rows, refunds = pl.collect_all([
        trips.select(
            row=pl.struct(*TRIP).hash(),
            times=pl.struct(pickup, dropoff).hash(),
            charge=pl.when(pl.all_horizontal(pl.col(RIDE).is_not_null())).then(pl.struct(*RIDE, fare, total).hash()),
            broken=pl.sum_horizontal(bits),
        ),
        trips.filter(total < 0).select(charge=pl.struct(refund).hash()),
    ], engine="streaming")  # fmt: skip
    is_reversed = rows["charge"].is_in(refunds["charge"].implode()).fill_null(False)
    is_duplicate = ~rows["row"].is_first_distinct()
    return rows.select(
        pl.col("broken")
        | is_duplicate.cast(pl.UInt32) * bit_of("not_an_exact_duplicate")
        | is_reversed.cast(pl.UInt32) * bit_of("not_reversed"),
        is_repeat=~pl.col("times").is_first_distinct(),
        is_reversed=is_reversed,
    )


def bit_of(rule: str) -> int:
    return 1 << RULES.index(rule)


def breaks(rule: str) -> pl.Expr:
    return pl.col("broken") & bit_of(rule) != 0


def failed_rules() -> pl.Expr:
    names = [pl.when(breaks(rule)).then(pl.lit(rule)) for rule in QUARANTINING]
    return pl.concat_list(names).list.drop_nulls().alias("failed_rules")


# Silver


def rounded_ratio(numerator: pl.Expr, denominator: pl.Expr, precision: int, scale: int) -> pl.Expr:
    """A ratio of whole numbers of which the denominator is positive, rounded half up: exact, unlike a double's."""
    units_of_one: int = 10**scale
    units = (numerator * (2 * units_of_one) + denominator) // (denominator * 2)
    return (pl.when(units < 10**precision).then(units) / units_of_one).cast(pl.Decimal(precision, scale))


def hundredths(amount: pl.Expr) -> pl.Expr:
    return (amount * 100).round().cast(pl.Int64)


def silver_trips(kept: pl.LazyFrame, zones: pl.DataFrame) -> pl.LazyFrame:
    names = [f"{end}_{what}" for end in ("pickup", "dropoff") for what in ("borough", "zone")]
    for end in ("pickup", "dropoff"):
        lookup = zones.lazy().select("location_id", pl.col("borough", "zone").name.prefix(f"{end}_"))
        kept = kept.join(lookup, how="left", left_on=f"{end}_location_id", right_on="location_id")
    kept = kept.join(payment_types().lazy(), how="left", on="payment_type")
    return kept.with_columns(
        pl.col(names).fill_null(UNKNOWN),
        pl.when(pl.col("payment_type").is_not_null()).then(pl.col("payment_name").fill_null(UNKNOWN)),
        pl.col(AMOUNTS).cast(pl.Decimal(10, 2)),
        pickup.dt.date().alias("pickup_date"),
        pickup.dt.hour().cast(pl.Int32).alias("pickup_hour"),
        pickup.dt.weekday().cast(pl.Int32).alias("pickup_day_of_week"),
        rounded_ratio(elapsed_seconds(), pl.lit(60), 12, 2).alias("duration_min"),
        rounded_ratio(hundredths(fare), hundredths(distance), 10, 4).alias("fare_per_mile"),
    ).select(
        "vendor_id", "pickup_datetime", "dropoff_datetime", "pickup_date", "pickup_hour", "pickup_day_of_week",
        "pickup_location_id", "dropoff_location_id", *names, "rate_code_id", "payment_type", "payment_name",
        "passenger_count", "trip_distance", "duration_min", *PARTS_OF_TOTAL, "total_amount", "fare_per_mile",
        "store_and_fwd_flag", "is_repeat", "is_reversed", "source_file", "source_row", "source_month",
    )  # fmt: skip


def payment_types() -> pl.DataFrame:
    return pl.DataFrame(
        list(PAYMENT_TYPES.items()), {"payment_type": pl.Int32, "payment_name": pl.String}, orient="row"
    )


def dim_zone(zones: pl.DataFrame, trips: pl.LazyFrame, month: date) -> pl.DataFrame:
    ends = [trips.select(pl.col(f"{end}_location_id").alias("location_id")).unique() for end in ("pickup", "dropoff")]
    seen = pl.concat(pl.collect_all(ends, engine="streaming")).unique().drop_nulls()
    unlisted = seen.join(zones, on="location_id", how="anti").with_columns(
        pl.lit(UNKNOWN).alias("borough"), pl.lit(UNKNOWN).alias("zone"), pl.lit(UNKNOWN).alias("service_zone")
    )
    return pl.concat([zones.select(*ZONES), unlisted]).with_columns(pl.lit(month).alias("source_month"))


def dim_payment(trips: pl.LazyFrame, month: date) -> pl.DataFrame:
    listed = payment_types()
    seen = trips.select("payment_type").unique().collect(engine="streaming").drop_nulls()
    unlisted = seen.join(listed, on="payment_type", how="anti").with_columns(pl.lit(UNKNOWN).alias("payment_name"))
    return pl.concat([listed, unlisted]).with_columns(pl.lit(month).alias("source_month"))


# Gold


def sum_of(amount: pl.Expr) -> pl.Expr:
    """A sum that is null where there is no value, which Polars makes 0."""
    return pl.when(amount.count() > 0).then(amount.sum())


def average(amount: str) -> pl.Expr:
    cents = (sum_of(pl.col(amount)) * 100).cast(pl.Int64)
    return rounded_ratio(cents, pl.len().cast(pl.Int64) * 100, 10, 2)


def revenue() -> pl.Expr:
    return sum_of(total).cast(pl.Decimal(18, 2)).alias("total_revenue")


def gold_tables(trips: pl.LazyFrame, month: date) -> dict[str, pl.LazyFrame]:
    count = pl.len().cast(pl.Int64).alias("trip_count")
    service, source_month = pl.lit(SERVICE).alias("service_type"), pl.lit(month).alias("source_month")
    by_hour = (
        trips.group_by("pickup_date", "pickup_hour", "pickup_borough")
        .agg(
            count,
            average("trip_distance").alias("avg_distance"),
            average("fare_amount").alias("avg_fare"),
            average("tip_amount").alias("avg_tip"),
            revenue(),
        )
        .sort("pickup_date", "pickup_hour", "pickup_borough")
    )
    by_zone = (
        trips.group_by(
            "pickup_location_id", pl.col("pickup_borough").alias("borough"), pl.col("pickup_zone").alias("zone")
        )
        .agg(count, revenue(), average("fare_amount").alias("avg_fare"))
        .with_columns(pl.col("total_revenue").rank("min", descending=True).cast(pl.Int32).alias("revenue_rank"))
        .sort("revenue_rank", "pickup_location_id")
    )
    first = ~pl.col("is_repeat")
    trip_count = first.sum().cast(pl.Int64)
    first_cents = (fare.filter(first).sum() * 100).cast(pl.Int64)
    by_day = (
        trips.group_by(pl.col("pickup_date").alias("trip_date"))
        .agg(
            trip_count.alias("trip_count"),
            rounded_ratio(first_cents, pl.when(trip_count > 0).then(trip_count) * 100, 10, 2).alias("avg_fare"),
            pl.col("is_repeat").sum().cast(pl.Int64).alias("repeat_count"),
        )
        .sort("trip_date")
    )
    found = {"fact_trips_borough_hour": by_hour, "fact_top_zones": by_zone, "nyc_taxi_daily": by_day}
    return {name: table.select(service, pl.all(), source_month) for name, table in found.items()}


# Writing


@dataclass(frozen=True)
class Lake:
    root: Path
    month: date

    def scan(self, table: str) -> pl.LazyFrame:
        return pl.scan_delta(str(self.root / table)).filter(pl.col("source_month") == self.month)

    def create(self, table: str, schema: pl.Schema, *, partitioned: bool) -> DeltaTable:
        return DeltaTable.create(
            self.root / table,
            Schema.from_arrow(pl.DataFrame(schema=schema).to_arrow().schema),
            mode="ignore",
            partition_by=["source_month"] if partitioned else [],
        )

    def upsert(self, table: str, rows: pl.DataFrame, key: str) -> None:
        self.create(table, rows.schema, partitioned=False)
        (
            DeltaTable(self.root / table)
            .merge(rows, f"old.{key} = new.{key}", source_alias="new", target_alias="old")
            .when_matched_update_all("new.source_month >= old.source_month")
            .when_not_matched_insert_all()
            .execute()
        )


class TransactionLake(Lake):
    """Polars writes the partition's file, one transaction puts it in the place of the partition's former files."""

    def publish(self, table: str, rows: pl.LazyFrame) -> None:
        path = f"source_month={self.month}/{uuid.uuid4()}.parquet"
        rows.drop("source_month").sink_parquet(
            self.root / table / path,
            compression="zstd",
            compression_level=1,
            row_group_size=262_144,
            mkdir=True,
            engine="streaming",
        )
        self._commit(table, path, rows.collect_schema())

    def _commit(self, table: str, path: str, schema: pl.Schema) -> None:
        self.create(table, schema, partitioned=True)
        file = self.root / table / path
        delta = DeltaTable(self.root / table)
        added = AddAction(
            path=path,
            size=file.stat().st_size,
            partition_values={"source_month": str(self.month)},
            modification_time=int(time.time() * 1000),
            data_change=True,
            stats=statistics(pq.read_metadata(file)),
        )
        delta.create_write_transaction(
            [added],
            "overwrite",
            delta.schema(),
            ["source_month"],
            partition_filters=[("source_month", "=", str(self.month))],
        )


class SinkLake(Lake):
    """Polars' own Delta writer, told which partition to replace."""

    def publish(self, table: str, rows: pl.LazyFrame) -> None:
        self.create(table, rows.collect_schema(), partitioned=True)
        rows.sink_delta(
            self.root / table,
            mode="overwrite",
            delta_write_options={"predicate": f"source_month = '{self.month}'"},
            engine="streaming",
        )


def statistics(footer: pq.FileMetaData) -> str:
    """Least and greatest value and nulls of each column, from a Parquet footer, as the Delta log has them."""
    least: dict[str, Any] = {}
    greatest: dict[str, Any] = {}
    nulls: dict[str, int] = {}
    groups = [footer.row_group(index) for index in range(footer.num_row_groups)]
    for position in range(footer.num_columns):
        name = footer.schema.column(position).path
        found = [group.column(position).statistics for group in groups]
        if "." in name or any(part is None for part in found):
            continue
        nulls[name] = sum(part.null_count for part in found)
        bounds = [part for part in found if part.has_min_max]
        if bounds:
            least[name] = statistic(min(part.min for part in bounds))
            greatest[name] = statistic(max(part.max for part in bounds))
    return json.dumps({"numRecords": footer.num_rows, "minValues": least, "maxValues": greatest, "nullCount": nulls})


def statistic(value: Any) -> Any:
    if isinstance(value, datetime | date):
        return value.isoformat()
    return value if isinstance(value, int | float | str | bool) else float(value)


# The month


def run(file: Path, zone_lookup: Path, month: date, lake: TransactionLake | SinkLake) -> dict[str, int]:
    """Make all tables of the month; returns how many rows break each rule."""
    zones = bronze_zones(zone_lookup, month)
    lake.publish("tlc_bronze/zones", zones.lazy())
    lake.publish("tlc_bronze/yellow_trips", bronze_trips(file, month))

    trips = lake.scan("tlc_bronze/yellow_trips")
    lake.upsert("tlc_silver/dim_zone", dim_zone(zones, trips, month), "location_id")
    lake.upsert("tlc_silver/dim_payment", dim_payment(trips, month), "payment_type")

    marks = judge(trips, zones, month)
    judged = pl.concat([trips, marks.lazy()], how="horizontal")
    is_bad = pl.col("broken") & sum(map(bit_of, QUARANTINING)) != 0
    columns = [*trips.drop("source_month").collect_schema().names(), failed_rules(), "source_month"]
    lake.publish("tlc_silver/yellow_trips", silver_trips(judged.filter(~is_bad), zones))
    lake.publish("tlc_silver/yellow_trips_quarantine", judged.filter(is_bad).select(columns))

    for name, rows in gold_tables(lake.scan("tlc_silver/yellow_trips"), month).items():
        lake.publish(f"tlc_gold/{name}", rows)
    return marks.select(breaks(rule).sum().alias(rule) for rule in RULES).row(0, named=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", type=Path, help="the month's file, as TLC publishes it")
    parser.add_argument("lake", type=Path, help="the folder to make the tables in")
    parser.add_argument("--month", type=lambda text: date.fromisoformat(f"{text}-01"), required=True)
    parser.add_argument("--zones", type=Path, required=True, help="TLC's zone lookup, a CSV file")
    parser.add_argument("--writer", choices=("transaction", "sink_delta"), default="transaction")
    arguments = parser.parse_args()
    kind = TransactionLake if arguments.writer == "transaction" else SinkLake
    counts = run(arguments.file, arguments.zones, arguments.month, kind(arguments.lake.resolve(), arguments.month))
    print(json.dumps(counts))


if __name__ == "__main__":
    main()
