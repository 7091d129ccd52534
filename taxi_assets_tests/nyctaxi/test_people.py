"""Riders are made up, and each value is a function of the rider's number: a hash of it and the column's name."""

from __future__ import annotations

import re

import pytest

from taxi_assets.engines.spark_engine import SparkEngine
from taxi_assets.nyctaxi.silver.people import rider, xxhash64
from taxi_assets.nyctaxi.silver.trips_enriched import RIDERS


@pytest.mark.fast
def test_a_rider_is_nobody() -> None:
    for number in range(RIDERS):
        made = rider(number)
        assert made == rider(number)
        assert made["rider_id"] == f"RDR-{number:05d}"
        assert made["email"].endswith(("@example.com", "@example.net", "@example.org"))
        assert re.fullmatch(r"\d{3}-555-01\d{2}", made["phone"])
        assert re.fullmatch(r"\d{4}", made["card_last4"])


@pytest.mark.full
def test_the_hash_is_that_of_spark(spark: SparkEngine) -> None:
    numbers = spark.session().sql("SELECT id, xxhash64(id, 'phone') AS hash FROM range(500)").collect()

    assert {row["id"]: row["hash"] for row in numbers} == {number: xxhash64(number, "phone") for number in range(500)}
