"""What the columns of TLC's files mean, as data: one layout per service. engines/ reads the files.

A column that TLC invents is kept in `_rescued_data` until it stands here and in the service's contracts. Source: the
files themselves and TLC's data dictionaries of 2025-03-18.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from taxi_assets.engines.source_files import Source, canonical_names
from taxi_assets.vocabulary import Service

_MOST_SHOWN: Final = 40
_LONGEST_SHOWN: Final = 60


@dataclass(frozen=True, slots=True)
class Layout:
    """A service's files: their column names in lower case (case changes from month to month) to the contract's.

    A file that lacks one of `needed` (names of the contract) can't be used: rules or gold would be about something
    else.
    """

    service: Service
    columns: Mapping[str, str]
    needed: tuple[str, ...]


_METERED: Final = {
    "vendorid": "vendor_id",
    "ratecodeid": "rate_code_id",
    "pulocationid": "pickup_location_id",
    "dolocationid": "dropoff_location_id",
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
    "cbd_congestion_fee": "cbd_congestion_fee",
    "total_amount": "total_amount",
    "store_and_fwd_flag": "store_and_fwd_flag",
}
_NEEDED_OF_METERED: Final = (
    "pickup_datetime",
    "dropoff_datetime",
    "pickup_location_id",
    "dropoff_location_id",
    "trip_distance",
    "fare_amount",
    "tip_amount",
    "total_amount",
)

LAYOUTS: Final[dict[Service, Layout]] = {
    Service.YELLOW: Layout(
        Service.YELLOW,
        {
            **_METERED,
            "tpep_pickup_datetime": "pickup_datetime",
            "tpep_dropoff_datetime": "dropoff_datetime",
            "airport_fee": "airport_fee",
        },
        _NEEDED_OF_METERED,
    ),
    Service.GREEN: Layout(
        Service.GREEN,
        {
            **_METERED,
            "lpep_pickup_datetime": "pickup_datetime",
            "lpep_dropoff_datetime": "dropoff_datetime",
            "ehail_fee": "ehail_fee",
            "trip_type": "trip_type",
        },
        _NEEDED_OF_METERED,
    ),
}


def apply_layout(source: Source, layout: Layout) -> dict[str, str]:
    """Map a file's columns to the contract's. Raises LandingError if a needed one is missing."""
    mapped = canonical_names(source, layout.columns)
    missing = [name for name in layout.needed if name not in mapped.values()]
    if not missing:
        return mapped
    for other in LAYOUTS.values():
        if set(other.needed) <= set(canonical_names(source, other.columns).values()):
            raise source.file.unusable(
                f"its columns are those of {other.service} trips, not of {layout.service}",
                f"Put it into landing under a name that begins with {other.service}_tripdata_.",
            )
    expected = {name: [column for column, meaning in layout.columns.items() if meaning == name] for name in missing}
    listed = "; ".join(f"{' or '.join(columns)} (for {name})" for name, columns in expected.items())
    raise source.file.unusable(
        f"needed columns are missing: {listed}. It has {_shown(source.columns)}",
        "Fetch it again; if TLC has renamed a column, add the new name to tlc/bronze/layouts.py.",
    )


def _shown(names: Sequence[str]) -> str:
    """Names for a message: not too many, not too long, and nothing that a terminal would obey."""
    some = [repr(name)[1:-1][:_LONGEST_SHOWN] for name in names[:_MOST_SHOWN]]
    return ", ".join([*some, f"and {len(names) - _MOST_SHOWN} more"] if len(names) > _MOST_SHOWN else some)
