"""Silver and gold against SQL that is written from their descriptions and reads the published file alone.

Every row of all seven real months, to the cent. The SQL divides whole numbers, so that no double decides a digit.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import duckdb
import polars as pl
import pytest
from polars.testing import assert_frame_equal

from taxi_assets_tests.full.conftest import REAL_MONTHS, SevenMonths
from taxi_assets_tests.full.processes import first_day

pytestmark = pytest.mark.full

# Amounts of the file are doubles, all of them whole cents or hundredths of miles: round() finds them.
_FILE = """
CREATE TABLE file AS
SELECT
    file_row_number + 1 AS source_row, VendorID AS vendor,
    lpep_pickup_datetime AS pickup, lpep_dropoff_datetime AS dropoff,
    PULocationID AS pickup_zone_id, DOLocationID AS dropoff_zone_id, payment_type AS payment,
    round(fare_amount * 100)::HUGEINT AS fare, round(trip_distance * 100)::HUGEINT AS distance,
    round(tip_amount * 100)::HUGEINT AS tip, round(total_amount * 100)::HUGEINT AS total
FROM read_parquet('{path}', file_row_number = true);

CREATE TABLE zone AS
SELECT LocationID AS id, Borough AS borough, Zone AS name FROM read_csv('{zones}', header = true, all_varchar = true);

CREATE TABLE trip AS
WITH marked AS (
    SELECT
        *,
        row_number() OVER (PARTITION BY pickup, dropoff ORDER BY source_row) > 1 AS is_repeat,
        EXISTS (
            SELECT 1 FROM file refund
            WHERE refund.total < 0 AND refund.total = -charge.total AND refund.fare = -charge.fare
                AND refund.vendor = charge.vendor AND refund.pickup = charge.pickup AND refund.dropoff = charge.dropoff
                AND refund.pickup_zone_id = charge.pickup_zone_id AND refund.dropoff_zone_id = charge.dropoff_zone_id
        ) AS is_reversed
    FROM file charge
)
SELECT
    marked.*,
    -- In these nights 2:00 was 3:00, so a trip across it was an hour shorter than the clock says.
    date_diff('second', pickup, dropoff)::HUGEINT - CASE WHEN EXISTS (
        SELECT 1 FROM (VALUES (DATE '2021-03-14'), (DATE '2022-03-13'), (DATE '2023-03-12')) nights(night)
        WHERE pickup < night + INTERVAL 2 HOUR AND dropoff >= night + INTERVAL 3 HOUR
            AND night IN (pickup::DATE, dropoff::DATE)
    ) THEN 3600 ELSE 0 END AS seconds,
    came_from.borough AS pickup_borough, came_from.name AS pickup_zone,
    went_to.borough AS dropoff_borough, went_to.name AS dropoff_zone
FROM marked
JOIN zone came_from ON came_from.id = pickup_zone_id
JOIN zone went_to ON went_to.id = dropoff_zone_id
WHERE date_trunc('month', pickup) = DATE '{first_day}' AND pickup < dropoff AND fare > 0 AND distance > 0
    AND distance <= 100000 AND fare < 100000000;

-- Rounded half up, away from zero, in units of the last place.
CREATE MACRO half_up(numerator, denominator) AS
    sign(numerator) * ((2 * abs(numerator) + denominator) // (2 * denominator));
"""

_SILVER = """
SELECT
    source_row::BIGINT AS source_row, pickup::DATE AS pickup_date, hour(pickup)::INTEGER AS pickup_hour,
    isodow(pickup)::INTEGER AS pickup_day_of_week, pickup_borough, pickup_zone, dropoff_borough, dropoff_zone,
    CASE payment WHEN 1 THEN 'Credit card' WHEN 2 THEN 'Cash' WHEN 3 THEN 'No charge' WHEN 4 THEN 'Dispute'
        WHEN 5 THEN 'Unknown' WHEN 6 THEN 'Voided trip' END AS payment_name,
    (distance::DECIMAL(12, 2) / 100)::DECIMAL(10, 2) AS trip_distance,
    (half_up(seconds * 100, 60)::DECIMAL(14, 2) / 100)::DECIMAL(12, 2) AS duration_min,
    (fare::DECIMAL(12, 2) / 100)::DECIMAL(10, 2) AS fare_amount,
    (total::DECIMAL(12, 2) / 100)::DECIMAL(10, 2) AS total_amount,
    (half_up(fare * 10000, distance)::DECIMAL(14, 4) / 10000)::DECIMAL(10, 4) AS fare_per_mile,
    is_repeat, is_reversed
FROM trip ORDER BY source_row
"""

_GOLD = {
    "fact_trips_borough_hour": """
SELECT
    'green' AS service_type, pickup::DATE AS pickup_date, hour(pickup)::INTEGER AS pickup_hour, pickup_borough,
    count(*) AS trip_count,
    (half_up(sum(distance), count(*)) / 100)::DECIMAL(10, 2) AS avg_distance,
    (half_up(sum(fare), count(*)) / 100)::DECIMAL(10, 2) AS avg_fare,
    (half_up(sum(tip), count(*)) / 100)::DECIMAL(10, 2) AS avg_tip,
    (sum(total) / 100)::DECIMAL(18, 2) AS total_revenue, DATE '{first_day}' AS source_month
FROM trip GROUP BY ALL
""",
    "fact_top_zones": """
SELECT
    'green' AS service_type, pickup_zone_id::INTEGER AS pickup_location_id,
    pickup_borough AS borough, pickup_zone AS zone,
    count(*) AS trip_count, (sum(total) / 100)::DECIMAL(18, 2) AS total_revenue,
    (half_up(sum(fare), count(*)) / 100)::DECIMAL(10, 2) AS avg_fare,
    rank() OVER (ORDER BY sum(total) DESC)::INTEGER AS revenue_rank, DATE '{first_day}' AS source_month
FROM trip GROUP BY pickup_zone_id, pickup_borough, pickup_zone
""",
    "nyc_taxi_daily": """
SELECT
    'green' AS service_type, pickup::DATE AS trip_date, count(*) FILTER (NOT is_repeat) AS trip_count,
    (half_up(sum(fare) FILTER (NOT is_repeat), nullif(count(*) FILTER (NOT is_repeat), 0)) / 100)::DECIMAL(10, 2)
        AS avg_fare,
    count(*) FILTER (is_repeat) AS repeat_count, DATE '{first_day}' AS source_month
FROM trip GROUP BY trip_date
""",
}


@pytest.fixture(scope="module", params=REAL_MONTHS)
def month(request: pytest.FixtureRequest) -> str:
    """Return each of the real months."""
    return str(request.param)


@pytest.fixture(scope="module")
def file(month: str, real_data: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    """Return a connection in which `trip` holds the month's good rows, straight from the published file."""
    with duckdb.connect() as connection:
        connection.execute(
            _FILE.format(
                path=real_data / "tlc" / "parquet" / f"green_tripdata_{month}.parquet",
                zones=real_data / "zones" / "taxi_zone_lookup.csv",
                first_day=first_day(month),
            )
        )
        yield connection


@pytest.mark.parametrize("table", list(_GOLD))
def test_gold_is_what_sql_on_the_file_gives(
    table: str, month: str, file: duckdb.DuckDBPyConnection, seven_months: SevenMonths
) -> None:
    expected = file.sql(_GOLD[table].format(first_day=first_day(month))).pl()
    stored = _stored(seven_months, f"tlc_gold/{table}", month)

    assert expected.height > 0
    assert_frame_equal(stored, expected, check_exact=True, check_row_order=False)


def test_what_silver_adds_to_a_trip_is_what_sql_on_the_file_gives(
    month: str, file: duckdb.DuckDBPyConnection, seven_months: SevenMonths
) -> None:
    expected = file.sql(_SILVER).pl()
    stored = _stored(seven_months, "tlc_silver/green_trips", month).select(expected.columns).sort("source_row")

    assert_frame_equal(stored, expected, check_exact=True)


def test_the_zone_dimension_is_the_published_lookup(seven_months: SevenMonths, real_data: Path) -> None:
    lookup = real_data / "zones" / "taxi_zone_lookup.csv"
    expected = duckdb.sql(
        f"""
        SELECT LocationID::INTEGER AS location_id, Borough AS borough, Zone AS zone, service_zone,
            DATE '2023-03-01' AS source_month
        FROM read_csv('{lookup}', header = true, all_varchar = true)
        """
    ).pl()

    assert expected.height == 265
    assert_frame_equal(_dimension(seven_months, "dim_zone"), expected, check_exact=True, check_row_order=False)


def test_the_payment_dimension_is_the_published_dictionary(seven_months: SevenMonths) -> None:
    names = dict(_dimension(seven_months, "dim_payment").select("payment_type", "payment_name").iter_rows())

    assert names == {
        0: "Flex Fare trip",
        1: "Credit card",
        2: "Cash",
        3: "No charge",
        4: "Dispute",
        5: "Unknown",
        6: "Voided trip",
    }


def _stored(seven_months: SevenMonths, key: str, month: str) -> pl.DataFrame:
    rows = pl.read_delta(str(seven_months.home.lake / key))
    return rows.filter(pl.col("source_month") == first_day(month))


def _dimension(seven_months: SevenMonths, name: str) -> pl.DataFrame:
    return pl.read_delta(str(seven_months.home.lake / "tlc_silver" / name))
