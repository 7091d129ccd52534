"""Which stored tables are checked for what. The rules that judge rows stand in the tables' contracts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import dagster as dg

from taxi_assets.contracts import Contract
from taxi_assets.deliveries.into_bronze import all_rows_read
from taxi_assets.lake.drift import file_is_whole, nothing_rescued
from taxi_assets.lake.stored_checks import (
    Finding,
    Stored,
    StoredCheck,
    matches_contract,
    no_orphans,
    stored_checks,
    unique_keys,
)
from taxi_assets.landing import Landing
from taxi_assets.tlc import TLC
from taxi_assets.tlc.bronze.drift import drift_checks
from taxi_assets.tlc.bronze.trips import BRONZE_TRIPS
from taxi_assets.tlc.bronze.zones import Zones
from taxi_assets.tlc.gold.fact_top_zones import FactTopZones
from taxi_assets.tlc.gold.fact_trips_borough_hour import FactTripsBoroughHour
from taxi_assets.tlc.gold.nyc_taxi_daily import NycTaxiDaily
from taxi_assets.tlc.gold.trips import reconciles_with_silver
from taxi_assets.tlc.silver.dim_base import DimBase
from taxi_assets.tlc.silver.dim_license import DimLicense
from taxi_assets.tlc.silver.dim_payment import DimPayment
from taxi_assets.tlc.silver.dim_zone import DimZone
from taxi_assets.tlc.silver.trips import QUARANTINES, SILVER_TRIPS
from taxi_assets.tlc.vocabulary import UNKNOWN, Service

_GOLD: Final = (FactTripsBoroughHour, FactTopZones, NycTaxiDaily)
_DIMENSIONS: Final = (DimZone, DimPayment, DimBase, DimLicense)
_PAYMENT: Final = ((("payment_type",), DimPayment),)
# Which columns of a service's trips are keys of which dimension, beside the zones.
_CODES: Final[Mapping[Service, Sequence[tuple[Sequence[str], type[Contract]]]]] = {
    Service.YELLOW: _PAYMENT,
    Service.GREEN: _PAYMENT,
    Service.FHV: ((("dispatching_base", "second_base", "affiliated_base"), DimBase),),
    Service.FHVHV: ((("dispatching_base", "originating_base"), DimBase), (("license_num",), DimLicense)),
}


def all_checks(landing: Landing) -> list[dg.AssetChecksDefinition]:
    """Make the checks of every table: one step for all that the next layer waits for."""
    return [
        *(
            stored_checks(f"tlc_bronze__{service}_trips__checks", [
                all_rows_read(TLC, landing, service, contract),
                matches_contract(contract),
                file_is_whole(contract),
                nothing_rescued(contract),
                *drift_checks(contract),
            ])
            for service, contract in BRONZE_TRIPS.items()
        ),
        stored_checks("tlc_bronze__zones__checks", [
            matches_contract(Zones),
            unique_keys(Zones),
            file_is_whole(Zones),
        ]),
        stored_checks("tlc_silver__dimensions__checks", [
            check(contract) for contract in _DIMENSIONS for check in (matches_contract, unique_keys)
        ]),
        *(
            stored_checks(f"tlc_silver__{service}_trips__checks", [
                _every_row_kept_or_quarantined(service),
                matches_contract(contract),
                matches_contract(QUARANTINES[service]),
                no_orphans(contract, ("pickup_location_id", "dropoff_location_id"), DimZone),
                *(no_orphans(contract, columns, dimension) for columns, dimension in _CODES[service]),
            ])
            for service, contract in SILVER_TRIPS.items()
        ),
        stored_checks("tlc_gold__checks", [
            *(check(contract) for contract in _GOLD for check in (matches_contract, unique_keys)),
            reconciles_with_silver(FactTripsBoroughHour, ("trip_count",), "total_revenue"),
            reconciles_with_silver(FactTopZones, ("trip_count",), "total_revenue"),
            reconciles_with_silver(NycTaxiDaily, ("trip_count", "repeat_count")),
            # A borough is no key of dim_zone, whose names are those of the newest month: its own month's lookup tells.
            no_orphans(FactTripsBoroughHour, ("pickup_borough",), Zones, key_column="borough", besides=(UNKNOWN,)),
            no_orphans(FactTopZones, ("pickup_location_id",), DimZone),
        ]),
    ]  # fmt: skip


def _every_row_kept_or_quarantined(service: Service) -> StoredCheck:
    bronze, kept, quarantined = BRONZE_TRIPS[service], SILVER_TRIPS[service], QUARANTINES[service]

    def find(stored: Stored) -> Finding:
        tables = {"bronze": bronze, "kept": kept, "quarantined": quarantined}
        counts = {name: stored.count(contract) for name, contract in tables.items()}
        says = "; ".join(f"{name} {count:,}" for name, count in counts.items())
        return Finding(counts["bronze"] == counts["kept"] + counts["quarantined"], says, counts)

    description = "Every row of bronze is stored once: kept, or quarantined (by the Delta log)."
    return StoredCheck("rows_accounted_for", kept, description, find, reads=(bronze, quarantined))
