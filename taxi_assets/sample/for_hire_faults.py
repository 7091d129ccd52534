"""What is planted in months of for-hire vehicles: a table of faults for fhv, and one for fhvhv.

A fault is named after the rule it breaks (tlc/silver/fhv_trips.py, fhvhv_trips.py) and breaks that rule only. How
faults are spread over a month is faults.py's business.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import polars as pl

from taxi_assets.sample.faults import Fault, form, missing_in_turn
from taxi_assets.sample.rhythm import DAY, HOUR

_PICKUP, _DROPOFF = pl.col("pickup_datetime"), pl.col("dropoff_datetime")
_YEAR_OF_WEEKS: Final = 364 * DAY
# Until 3:00 the clock change in autumn may explain a dropoff before its pickup; two hours and more it never does.
_CLOCK_CHANGE_OVER: Final = _PICKUP % DAY >= 3 * HOUR
_TURNED_ROUND: Final = (
    pl.when(_CLOCK_CHANGE_OVER & form(0, of=2)).then(_PICKUP).otherwise(_PICKUP - 2 * HOUR - (_DROPOFF - _PICKUP))
)
_TOO_EARLY: Final = "The times are 364 days early."
_BACKWARDS: Final = "The dropoff is at the second of the pickup, or more than two hours before it."
_TWICE: Final = Fault(
    "not_an_exact_duplicate",
    0.0005,
    "The row is the same as the one before it in all columns. The one before is not at fault.",
    follows_original=True,
)
_NO_ZONE: Final = Fault(
    "known_zones",
    0.0005,
    "The pickup or dropoff zone is 270, which the lookup lacks.",
    {
        "pulocationid": pl.when(form(0, of=2)).then(270).otherwise("pulocationid"),
        "dolocationid": pl.when(form(1, of=2)).then(270).otherwise("dolocationid"),
    },
    tolerated=False,
)


def _named(*faults: Fault) -> Mapping[str, Fault]:
    return {fault.name: fault for fault in faults}


def _early(*columns: str) -> dict[str, pl.Expr]:
    return {name: pl.col(name) - _YEAR_OF_WEEKS for name in columns}


FHV_FAULTS: Final[Mapping[str, Fault]] = _named(
    Fault(
        "required_values_present",
        0.0002,
        "The dispatching base or the pickup time is null.",
        missing_in_turn("dispatching_base_num", "pickup_datetime"),
    ),
    Fault(
        "base_number_format",
        0.0005,
        "The dispatching base is no base's number.",
        {"dispatching_base_num": pl.when(form(0, of=2)).then(pl.lit("B123")).otherwise(pl.lit("Unknown"))},
    ),
    Fault("pickup_in_file_month", 0.0002, _TOO_EARLY, _early("pickup_datetime", "dropoff_datetime")),
    Fault("pickup_before_dropoff", 0.001, _BACKWARDS, {"dropoff_datetime": _TURNED_ROUND}),
    _TWICE,
    _NO_ZONE,
)

FHVHV_FAULTS: Final[Mapping[str, Fault]] = _named(
    Fault(
        "required_values_present",
        0.0002,
        "One of licence, pickup time, dropoff time, pickup zone and dropoff zone is null.",
        missing_in_turn("hvfhs_license_num", "pickup_datetime", "dropoff_datetime", "pulocationid", "dolocationid"),
    ),
    Fault(
        "values_fit_their_types",
        0.0001,
        "The tip is 1,000,000,000,000 USD, which no Decimal(10,2) holds.",
        {"tips": pl.lit(10**14)},
    ),
    Fault(
        "pickup_in_file_month",
        0.0002,
        _TOO_EARLY,
        _early("request_datetime", "on_scene_datetime", "pickup_datetime", "dropoff_datetime"),
    ),
    Fault(
        "pickup_before_dropoff",
        0.001,
        f"{_BACKWARDS} The trip's time says the same.",
        {"dropoff_datetime": _TURNED_ROUND, "trip_time": _TURNED_ROUND - _PICKUP},
    ),
    Fault(
        "positive_base_passenger_fare",
        0.002,
        "The fare is 0, or negative.",
        {"base_passenger_fare": pl.when(form(0, of=2)).then(-pl.col("base_passenger_fare")).otherwise(0)},
    ),
    Fault(
        "plausible_base_passenger_fare",
        0.0001,
        "The fare is 10,000 USD higher.",
        {"base_passenger_fare": pl.col("base_passenger_fare") + 1_000_000},
        tolerated=False,
    ),
    Fault(
        "plausible_driver_pay",
        0.0002,
        "The driver's pay is negative, or 10,000 USD higher.",
        {"driver_pay": pl.when(form(0, of=2)).then(-pl.col("driver_pay")).otherwise(pl.col("driver_pay") + 1_000_000)},
    ),
    Fault(
        "plausible_trip_distance",
        0.0001,
        "The distance is 1,000 miles longer.",
        {"trip_miles": pl.col("trip_miles") + 1_000_000},
    ),
    _TWICE,
    _NO_ZONE,
    Fault("positive_trip_distance", 0.0005, "The distance is 0.", {"trip_miles": pl.lit(0)}),
    Fault(
        "requested_before_on_scene_before_pickup",
        0.002,
        "The trip was asked for a minute after it began.",
        {"request_datetime": _PICKUP + 60},
    ),
    Fault(
        "trip_time_is_duration",
        0.001,
        "The trip's time is an hour more than that from pickup to dropoff.",
        {"trip_time": pl.col("trip_time") + HOUR},
    ),
    Fault("known_license", 0.0002, "The licence is HV0001.", {"hvfhs_license_num": pl.lit("HV0001")}, tolerated=False),
)
