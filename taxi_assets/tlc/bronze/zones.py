"""tlc_bronze/zones: TLC's taxi zones as they were when a month ran.

From the lookup in landing, if one stands there; else from taxi_zone_lookup.csv beside this file, which is TLC's own.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import dagster as dg

from taxi_assets.calendars import Month
from taxi_assets.contracts import Contract, Frame, Int32, String, column
from taxi_assets.deliveries.into_bronze import from_file, if_cut_off
from taxi_assets.engines.source_files import Format, canonical_names, open_source
from taxi_assets.engines.typed_rows import typed
from taxi_assets.lake.assets import table_asset
from taxi_assets.landing import LandedFile, Landing
from taxi_assets.tlc import MONTHLY
from taxi_assets.tlc.bronze.month_file import OfMonth
from taxi_assets.tlc.zone_lookup import find_zone_lookup


class LookupRow(Contract):
    """A row of TLC's zone lookup."""

    location_id: Int32 = column("TLC taxi zone.", required=True)
    borough: String = column("Borough, EWR for Newark Airport.", required=True)
    zone: String = column("Name of the zone; some names cover several zones.", required=True)
    service_zone: String = column("Which taxis may pick up there: Yellow Zone, Boro Zone, Airports, EWR.")


class Zones(OfMonth, LookupRow, table="tlc_bronze/zones", partition=MONTHLY, keys=("location_id",)):
    """One row per zone of the lookup as it was when that month ran. 264 is unknown, 265 outside NYC."""


_COLUMNS = {"locationid": "location_id", "borough": "borough", "zone": "zone", "service_zone": "service_zone"}


@table_asset(Zones)
def zones(context: dg.AssetExecutionContext, landing: dg.ResourceParam[Landing]) -> Iterator[dg.MaterializeResult[Any]]:
    lookup, place = find_zone_lookup(landing), landing
    if lookup is None:
        place = Landing(str(Path(__file__).parent), {})
        lookup = find_zone_lookup(place)
        assert lookup is not None, "the project's own lookup stands beside this file"
    source = open_source(place, lookup, Format.CSV)
    mapped = canonical_names(source, _COLUMNS)
    missing = [column for column, name in _COLUMNS.items() if name not in mapped.values()]
    if missing:
        raise lookup.unusable(f"it has no column {', '.join(missing)}; a zone lookup has {', '.join(_COLUMNS)}")
    rows = typed(source, mapped, Zones)
    _require_whole(lookup, rows)
    month = Month.parse(context.partition_key)
    yield from_file(place, lookup, rows, Zones, month, if_cut_off(source))
    place.require_as_read([lookup], Zones.stored_as().sql_name)


def _require_whole(lookup: LandedFile, rows: Frame) -> None:
    """See that each row of a lookup has an id of its own, a borough and a zone; raises LandingError if one hasn't."""
    seen: set[int] = set()
    for row in rows.collect().rows(named=True):
        if any(row[name] is None for name in ("location_id", "borough", "zone")):
            raise lookup.unusable(f"row {row['source_row']} lacks a LocationID (a whole number), Borough or Zone")
        if row["location_id"] in seen:
            raise lookup.unusable(f"LocationID {row['location_id']} stands in it twice")
        seen.add(row["location_id"])
