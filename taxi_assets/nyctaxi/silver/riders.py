"""nyctaxi_silver/riders: the riders that trips are dealt to, all made up."""

from __future__ import annotations

import dagster as dg
import narwhals.stable.v1 as nw

from taxi_assets.calendars import Month
from taxi_assets.contracts import Contract, Date, Frame, Int32, String, column
from taxi_assets.engines import Engine
from taxi_assets.lake.assets import table_asset
from taxi_assets.lake.lake import Lake
from taxi_assets.nyctaxi import MONTHLY
from taxi_assets.nyctaxi.silver.people import rider
from taxi_assets.nyctaxi.silver.trips_enriched import RIDERS


class Riders(Contract, table="nyctaxi_silver/riders", keys=("rider_id",), partition=MONTHLY, sequence="source_month"):
    """One row per rider, none of whom is real; every value is a function of the rider's number."""

    rider_id: String = column("Id: RDR-00000 to RDR-00499.", required=True)
    full_name: String = column("Name, put together by chance.", required=True)
    email: String = column("E-mail address in a domain that belongs to no one.", required=True)
    phone: String = column("Telephone number of those that are kept for fiction.", required=True)
    home_zip: Int32 = column("ZIP code of the home.", required=True)
    signup_date: Date = column("When the rider signed up.", required=True)
    card_last4: String = column("Last four digits of a card that doesn't exist.", required=True)
    source_month: Date = column("Newest month that ran.", required=True)


def all_riders(engine: Engine, month: Month) -> Frame:
    """Make the riders."""
    rows = [rider(number) for number in range(RIDERS)]
    frame = engine.literal({name: [row[name] for row in rows] for name in rows[0]})
    return frame.with_columns(nw.col("home_zip").cast(nw.Int32), nw.lit(month.first_day).alias("source_month"))


@table_asset(Riders, embedded=True)
def riders(context: dg.AssetExecutionContext, lake: dg.ResourceParam[Lake]) -> Frame:
    return all_riders(lake.embedded().engine, Month.parse(context.partition_key))
