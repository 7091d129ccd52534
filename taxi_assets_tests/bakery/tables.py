"""The bakery's tables, in one file as they are few: what is sold each day, and the shops of the newest snapshot."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any

import dagster as dg
import narwhals.stable.v1 as nw

from taxi_assets.calendars import Day
from taxi_assets.catalog import Contents, FeedTables, feed_tag
from taxi_assets.contracts import Contract, Date, Decimal, Frame, Int64, String, column, quarantine_of, rule
from taxi_assets.deliveries.into_bronze import all_rows_read, read_delivery
from taxi_assets.engines.typed_rows import Provenance
from taxi_assets.lake.assets import judged_assets, table_asset
from taxi_assets.lake.metadata import asset_key
from taxi_assets.lake.stored_checks import matches_contract, stored_checks, unique_keys
from taxi_assets.landing import Landing
from taxi_assets_tests.bakery import BAKERY, DAILY


class OfDay(Provenance):
    """Where a row of a day's file came from."""

    source_date: Date = column("Day of the file.", required=True)


class Sale(Contract):
    """What is known of a sale."""

    sale_id: String = column("Number of the sale.")
    shop_id: String = column("The shop.")
    amount: Annotated[Decimal, 10, 2] = column("What was paid.", unit="INR")


class RawSales(OfDay, Sale, table="bakery_bronze/sales", partition=DAILY):
    """One row per row of the day's file."""


class Sales(Sale, table="bakery_silver/sales", partition=DAILY):
    """One row per sale that broke no rule."""

    source_date: Date = column("Day of the file.", required=True)

    @rule("amount", why="Something was sold.", source="The baker.")
    def positive_amount(cls, amount: nw.Expr) -> nw.Expr:
        """amount > 0"""
        return amount > 0


SalesQuarantine = quarantine_of(Sales, RawSales)


class Takings(Contract, table="bakery_gold/takings", partition=DAILY):
    """One row per shop and day."""

    shop_id: String = column("The shop.", required=True)
    sale_count: Int64 = column("Number of sales.", required=True)
    source_date: Date = column("The day.", required=True)


class RawShops(OfDay, table="bakery_bronze/shops", partition=DAILY):
    """One row per row of the day's snapshot."""

    shop_id: String = column("The shop.", required=True)
    name: String = column("Its name.")


class DimShop(Contract, table="bakery_silver/dim_shop", partition=DAILY, keys=("shop_id",), sequence="source_date"):
    """One row per shop; the newest snapshot wins."""

    shop_id: String = column("The shop.", required=True)
    name: String = column("Its name.")
    source_date: Date = column("Day of the snapshot.", required=True)


@table_asset(RawSales, tags=feed_tag("sales"))
def raw_sales(context: dg.AssetExecutionContext, landing: dg.ResourceParam[Landing]) -> Iterator[Any]:
    return read_delivery(BAKERY, landing, context.instance, ("sales", Day.parse(context.partition_key)), RawSales)


@table_asset(RawShops, tags=feed_tag("shops"))
def raw_shops(context: dg.AssetExecutionContext, landing: dg.ResourceParam[Landing]) -> Iterator[Any]:
    return read_delivery(BAKERY, landing, context.instance, ("shops", Day.parse(context.partition_key)), RawShops)


IN = {"rows": dg.AssetIn(asset_key(RawSales))}


@judged_assets(Sales, SalesQuarantine, row_id="source_row", ins=IN, tags=feed_tag("sales"))
def sales(rows: Frame) -> Frame:
    return rows


@table_asset(DimShop, ins={"rows": dg.AssetIn(asset_key(RawShops))}, tags=feed_tag("shops"))
def dim_shop(rows: Frame) -> Frame:
    return rows.select(DimShop.column_names())


@table_asset(Takings, ins={"rows": dg.AssetIn(asset_key(Sales))}, tags=feed_tag("sales"))
def takings(rows: Frame) -> Frame:
    return rows.group_by("shop_id", "source_date").agg(nw.len().cast(nw.Int64).alias("sale_count"))


CONTENTS = Contents(
    tables=(raw_sales, sales, raw_shops, dim_shop, takings),
    checks=lambda landing: [
        stored_checks("bakery_bronze__checks", [all_rows_read(BAKERY, landing, "sales", RawSales)]),
        stored_checks("bakery_silver__checks", [matches_contract(DimShop), unique_keys(DimShop)]),
        stored_checks("bakery_gold__checks", [matches_contract(Takings)]),
    ],
    feeds={"sales": FeedTables(RawSales, Sales), "shops": FeedTables(RawShops, RawShops)},
)
