"""How much a month of trips may differ from the months before it until a drift check warns. How is lake/drift.py's."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Final

from taxi_assets.contracts import Contract
from taxi_assets.lake import drift
from taxi_assets.lake.stored_checks import StoredCheck
from taxi_assets.tlc.vocabulary import HVFHS_LICENSES, PAYMENT_TYPES

MOST_TIMES_THE_ROWS: Final = 1.5
"""Months differ by up to a fifth from those around them, and February is a tenth shorter: 0.8 * 0.9 is above 1/1.5.

April 2020 had a tenth of the green trips of the months before.
"""
MOST_CHANGE_OF_A_MEAN: Final = 0.25
"""Means of neighbouring green months differ by up to 4 %, fares before and after they rose in December 2022 by 15 %.

Another unit (cents, kilometres) changes a mean by more than a quarter; so did the tips of green 2021-02, for once.
"""
CODES: Final[Mapping[str, Collection[int] | Collection[str]]] = {
    "vendor_id": (1, 2, 6, 7),
    "rate_code_id": (1, 2, 3, 4, 5, 6, 99),
    "payment_type": PAYMENT_TYPES,
    "trip_type": (1, 2),
    "hvfhs_license_num": HVFHS_LICENSES,
    "shared_ride_flag": (1,),
}
"""Columns of codes with TLC's lists (dictionaries of 2025-03-18): a new one is a new vendor, company, way to pay..."""
LEAST_SHARE_OF_A_CODE: Final = 0.001
"""A listed code of a handful of rows comes and goes: group rides (rate 6) are two rows of one green month."""
MEANS: Final = {
    "trip_distance": (0.01, 1_000),
    "fare_amount": (0.01, 1_000),
    "tip_amount": (0, 1_000),
    "total_amount": (0.01, 1_000),
    "trip_miles": (0.001, 1_000),
    "base_passenger_fare": (0.01, 1_000),
    "tips": (0, 1_000),
    "driver_pay": (0, 1_000),
}
"""Whose means are compared, and which values count: refunds and a reading of 300,000 miles would decide the mean."""


def drift_checks(contract: type[Contract]) -> list[StoredCheck]:
    """List the drift checks of a bronze table of trips, of the columns that it has; a check of none is left out."""
    names = contract.column_names()
    means = {column: bounds for column, bounds in MEANS.items() if column in names}
    return [
        drift.no_unknown_columns(contract),
        drift.no_vanished_columns(contract),
        drift.types_as_before(contract),
        drift.no_new_codes(
            contract,
            {column: listed for column, listed in CODES.items() if column in names},
            least_share=LEAST_SHARE_OF_A_CODE,
        ),
        drift.row_count_as_before(contract, most_times=MOST_TIMES_THE_ROWS),
        # Trips of fhv have a place and a time, and no amount.
        *([drift.means_as_before(contract, means, most_change=MOST_CHANGE_OF_A_MEAN)] if means else []),
    ]
