"""Which stored tables are checked for what. The rules that judge rows stand in the tables' contracts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final

import dagster as dg
import narwhals.stable.v1 as nw

from taxi_assets.calendars import Month
from taxi_assets.contracts import Contract, Frame, orphaned_keys
from taxi_assets.engines import engine_of
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
from taxi_assets.nyctaxi.bronze.trips_raw import TripsRaw, all_rows_read, no_identical_rows
from taxi_assets.nyctaxi.gold.dim_date import DimDate, days_of
from taxi_assets.nyctaxi.gold.dim_rider import DimRider, with_rider_key
from taxi_assets.nyctaxi.gold.dim_time_of_day import DimTimeOfDay, times_of_day
from taxi_assets.nyctaxi.gold.dim_zone import DimZone, zips_of
from taxi_assets.nyctaxi.gold.fact_trips import FactTrips
from taxi_assets.nyctaxi.silver.riders import Riders, all_riders
from taxi_assets.nyctaxi.silver.trips_enriched import RIDERS, TripsEnriched, TripsEnrichedQuarantine, rider_id, rider_of

# By dimension its natural key, and what has values of it in silver.
_NATURAL: Final[Mapping[type[Contract], tuple[str, Sequence[nw.Expr]]]] = {
    DimDate: ("date", (nw.col("tpep_pickup_datetime").dt.date(),)),
    DimZone: ("zip", (nw.col("pickup_zip"), nw.col("dropoff_zip"))),
    DimTimeOfDay: ("time_of_day", (nw.col("time_of_day"),)),
    DimRider: ("rider_id", (nw.col("rider_id"),)),
}
# By table of values that never change what a month makes of them.
_LASTING: Final[Mapping[type[Contract], Callable[[Stored], Frame]]] = {
    Riders: lambda stored: all_riders(stored.lake.engine, Month.parse(stored.key)),
    DimDate: lambda stored: days_of(Month.parse(stored.key), stored.lake.engine),
    DimZone: lambda stored: zips_of(stored.rows(TripsEnriched)),
    DimTimeOfDay: lambda stored: times_of_day(Month.parse(stored.key), stored.lake.engine),
    DimRider: lambda stored: with_rider_key(_LASTING[Riders](stored)),
}
_SHOWN: Final = 5
_GOLD: Final = (DimDate, DimZone, DimTimeOfDay, DimRider, FactTrips)


def all_checks(landing: Landing) -> list[dg.AssetChecksDefinition]:
    """Make the checks of every table: one step for all that the next layer waits for."""
    return [
        stored_checks("nyctaxi_bronze__checks", [
            all_rows_read(landing),
            matches_contract(TripsRaw),
            unique_keys(TripsRaw),
            no_identical_rows(landing),
            file_is_whole(TripsRaw),
            nothing_rescued(TripsRaw),
        ]),
        stored_checks("nyctaxi_silver__checks", [
            _every_row_kept_or_quarantined(),
            matches_contract(TripsEnriched),
            matches_contract(TripsEnrichedQuarantine),
            unique_keys(TripsEnriched),
            _riders_are_those_of_the_trips_keys(),
            matches_contract(Riders),
            unique_keys(Riders),
            _values_are_stable(Riders),
        ]),
        stored_checks("nyctaxi_gold__checks", [
            *(check(contract) for contract in _GOLD for check in (matches_contract, unique_keys)),
            *(_no_collision(contract, natural, values) for contract, (natural, values) in _NATURAL.items()),
            *(_values_are_stable(contract) for contract in _NATURAL),
            _one_fact_per_trip(),
            no_orphans(FactTrips, ("date_sk",), DimDate),
            no_orphans(FactTrips, ("pickup_zone_sk", "dropoff_zone_sk"), DimZone),
            no_orphans(FactTrips, ("time_of_day_sk",), DimTimeOfDay),
            no_orphans(FactTrips, ("rider_sk",), DimRider),
        ]),
    ]  # fmt: skip


def _every_row_kept_or_quarantined() -> StoredCheck:
    tables: dict[str, type[Contract]] = {
        "bronze": TripsRaw,
        "kept": TripsEnriched,
        "quarantined": TripsEnrichedQuarantine,
    }

    def find(stored: Stored) -> Finding:
        counts = {name: stored.count(contract) for name, contract in tables.items()}
        says = "; ".join(f"{name} {count:,}" for name, count in counts.items())
        return Finding(counts["bronze"] == counts["kept"] + counts["quarantined"], says, counts)

    description = "Every row of bronze is stored once: kept, or quarantined (by the Delta log)."
    reads = (TripsRaw, TripsEnrichedQuarantine)
    return StoredCheck("rows_accounted_for", TripsEnriched, description, find, reads=reads)


def _riders_are_those_of_the_trips_keys() -> StoredCheck:
    def find(stored: Stored) -> Finding:
        rows = stored.rows(TripsEnriched)
        keyed = engine_of(rows).with_keys(rows, {"row_id": "trip_key"})
        other = keyed.filter(nw.col("rider_id") != rider_id(rider_of(nw.col("row_id"))))
        count = int(other.select(nw.len()).collect().item())
        return Finding(not count, f"{count:,} trips are dealt to another rider.", {"rows_failing": count})

    description = (
        f"Each trip is dealt to the rider of its key, one of {RIDERS}: it never changes, however often it runs."
    )
    return StoredCheck("riders_are_stable", TripsEnriched, description, find)


def _no_collision(contract: type[Contract], natural: str, values: Sequence[nw.Expr]) -> StoredCheck:
    """Check that each value of a month's trips has a row of its own: of two that had one key, one would have none."""

    def find(stored: Stored) -> Finding:
        trips, members = stored.rows(TripsEnriched), stored.rows(contract)
        lost = {
            value
            for one in values
            for value in orphaned_keys(trips.select(one.alias(natural)), natural, members, natural)
        }
        says = f"Without a row of their own: {', '.join(sorted(map(str, lost))) or 'none'}."
        return Finding(not lost, says, {"lost": len(lost)})

    key = contract.stored_as().keys[0]
    return StoredCheck("no_collision", contract, f"No two {natural} have one {key}.", find, reads=(TripsEnriched,))


def _values_are_stable(contract: type[Contract]) -> StoredCheck:
    """Check that a month's members stand in the table with the values that they have by definition."""

    def find(stored: Stored) -> Finding:
        names = [name for name in contract.column_names() if name != contract.stored_as().sequence]
        made, there = (
            set(rows.select(names).collect().rows()) for rows in (_LASTING[contract](stored), stored.rows(contract))
        )
        changed = sorted(str(row[0]) for row in made - there)
        says = f"{len(changed):,} of {len(made):,} members are missing or have other values"
        says += f": {', '.join(changed[:_SHOWN])}. Run the newest month again." if changed else "."
        return Finding(not changed, says, {"rows_failing": len(changed), "rows": len(made)})

    description = "The members that the month has stand in the table, with the values that their keys always have."
    reads = (TripsEnriched,) if contract is not Riders else ()
    return StoredCheck("values_are_stable", contract, description, find, reads=reads)


def _one_fact_per_trip() -> StoredCheck:
    def find(stored: Stored) -> Finding:
        facts, trips = stored.rows(FactTrips), stored.rows(TripsEnriched)
        missing = trips.join(facts, left_on="trip_key", right_on="trip_sk", how="anti")
        left_out = int(missing.select(nw.len()).collect().item())
        counts = {"facts": stored.count(FactTrips), "trips": stored.count(TripsEnriched), "trips_without": left_out}
        says = "; ".join(f"{name} {count:,}" for name, count in counts.items())
        return Finding(counts["facts"] == counts["trips"] and not left_out, says, counts)

    description = "Each trip of silver is one fact, and no other fact is there."
    return StoredCheck("one_fact_per_trip", FactTrips, description, find, reads=(TripsEnriched,))
