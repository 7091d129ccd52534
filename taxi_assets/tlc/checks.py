"""Which stored tables are checked for what. The rules that judge rows stand in the tables' contracts."""

from __future__ import annotations

from typing import Final

import dagster as dg

from taxi_assets.lake.lake import Lake
from taxi_assets.lake.partitions import partition_of
from taxi_assets.lake.stored_checks import (
    Finding,
    StoredCheck,
    matches_contract,
    no_orphans,
    stored_checks,
    unique_keys,
)
from taxi_assets.landing import Landing
from taxi_assets.tlc.bronze.month_file import all_rows_read, nothing_rescued
from taxi_assets.tlc.bronze.trips import BRONZE_TRIPS
from taxi_assets.tlc.bronze.zones import Zones
from taxi_assets.tlc.gold.fact_top_zones import FactTopZones
from taxi_assets.tlc.gold.fact_trips_borough_hour import FactTripsBoroughHour
from taxi_assets.tlc.gold.nyc_taxi_daily import NycTaxiDaily
from taxi_assets.tlc.gold.trips import reconciles_with_silver
from taxi_assets.tlc.partitions import MONTHS
from taxi_assets.tlc.silver.dim_payment import DimPayment
from taxi_assets.tlc.silver.dim_zone import DimZone
from taxi_assets.tlc.silver.trips import QUARANTINES, SILVER_TRIPS
from taxi_assets.vocabulary import Service


def all_checks(landing: Landing) -> list[dg.AssetChecksDefinition]:
    """Make the checks of every table: one step for all that the next layer waits for."""
    return [
        *(
            stored_checks(f"tlc_bronze__{service}_trips__checks", [
                all_rows_read(landing, service, contract),
                matches_contract(contract, MONTHS),
                nothing_rescued(contract),
            ], MONTHS)
            for service, contract in BRONZE_TRIPS.items()
        ),
        stored_checks("tlc_bronze__zones__checks", [
            matches_contract(Zones, MONTHS),
            unique_keys(Zones, MONTHS),
        ], MONTHS),
        stored_checks("tlc_silver__dimensions__checks", [
            check(contract, MONTHS) for contract in (DimZone, DimPayment) for check in (matches_contract, unique_keys)
        ], MONTHS),
        *(
            stored_checks(f"tlc_silver__{service}_trips__checks", [
                _every_row_kept_or_quarantined(service),
                matches_contract(contract, MONTHS),
                matches_contract(QUARANTINES[service], MONTHS),
                no_orphans(contract, ("pickup_location_id", "dropoff_location_id"), DimZone, MONTHS),
                no_orphans(contract, ("payment_type",), DimPayment, MONTHS),
            ], MONTHS)
            for service, contract in SILVER_TRIPS.items()
        ),
        stored_checks("tlc_gold__checks", [
            *(check(contract, MONTHS) for contract in _GOLD for check in (matches_contract, unique_keys)),
            reconciles_with_silver(FactTripsBoroughHour, ("trip_count",), "total_revenue"),
            reconciles_with_silver(FactTopZones, ("trip_count",), "total_revenue"),
            reconciles_with_silver(NycTaxiDaily, ("trip_count", "repeat_count")),
            no_orphans(FactTripsBoroughHour, ("pickup_borough",), DimZone, MONTHS, key_column="borough"),
            no_orphans(FactTopZones, ("pickup_location_id",), DimZone, MONTHS),
        ], MONTHS),
    ]  # fmt: skip


_GOLD: Final = (FactTripsBoroughHour, FactTopZones, NycTaxiDaily)


def _every_row_kept_or_quarantined(service: Service) -> StoredCheck:
    bronze, kept, quarantined = BRONZE_TRIPS[service], SILVER_TRIPS[service], QUARANTINES[service]

    def find(lake: Lake, key: str) -> Finding:
        counts = {
            name: lake.row_count(contract, partition_of(contract, MONTHS, key)) or 0
            for name, contract in (("bronze", bronze), ("kept", kept), ("quarantined", quarantined))
        }
        says = "; ".join(f"{name} {count:,}" for name, count in counts.items())
        return Finding(counts["bronze"] == counts["kept"] + counts["quarantined"], says, counts)

    description = "Every row of bronze is stored once: kept, or quarantined (by the Delta log)."
    return StoredCheck("rows_accounted_for", kept, description, find, reads=(bronze, quarantined))
