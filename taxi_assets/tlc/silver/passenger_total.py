"""What a passenger of a high-volume company pays: TLC publishes the parts, and no total as it does for taxis."""

from __future__ import annotations

from typing import Final

import narwhals.stable.v1 as nw

from taxi_assets.contracts import Frame
from taxi_assets.engines import fits_decimal, ratio
from taxi_assets.tlc.silver.any_trips import hundredths

PARTS_OF_TOTAL: Final = (
    "base_passenger_fare",
    "tolls",
    "bcf",
    "sales_tax",
    "congestion_surcharge",
    "airport_fee",
    "cbd_congestion_fee",
    "tips",
)
"""The fare, and what TLC's dictionary says that it is without. Tips by the app are a part, as tips by card are of a
taxi's total: so revenue means the same for all services. What the driver gets is no part."""

_TOO_MANY_CENTS: Final = 10**10


def with_total(trips: Frame) -> Frame:
    """Add `total_amount`, each part rounded to cents, null without a fare; and `amounts_fit`, for the rule of it."""
    # As a column, so that what is made of it below names it: engines write out an expression at each mention.
    summed = trips.with_columns(nw.sum_horizontal(*(hundredths(part) for part in PARTS_OF_TOTAL)).alias("total_cents"))
    total = ratio(nw.col("total_cents"), nw.lit(100), 10, 2)
    return summed.with_columns(
        nw.when(~nw.col("base_passenger_fare").is_null()).then(total).alias("total_amount"),
        nw.all_horizontal(
            # The fare has a rule of its own.
            *(fits_decimal(nw.col(part), 10, 2) for part in PARTS_OF_TOTAL if part != "base_passenger_fare"),
            nw.col("total_cents").abs() < _TOO_MANY_CENTS,
            ignore_nulls=True,
        ).alias("amounts_fit"),
    )
