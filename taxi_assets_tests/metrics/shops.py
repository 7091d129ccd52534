"""A star of made-up shops, whose sums can be worked out by hand: sales of some days, with days missing in between."""

from __future__ import annotations

from datetime import date, timedelta
from pathlib import Path

import narwhals.stable.v1 as nw
import polars as pl

from taxi_assets.contracts import Bool, Contract, Date, Int64, String, column
from taxi_assets.engines import PolarsEngine
from taxi_assets.lake.lake import Lake

VIEW = """\
version: "1.1"
source: shops.sales
comment: Sales of shops.
filter: amount >= 0
joins:
  - name: days
    source: shops.days
    on: source.day_id = days.day_id
    rely:
      at_most_one_match: true
  - name: places
    source: shops.places
    using: [shop_id]
    rely: {at_most_one_match: true}
dimensions:
  - name: date
    expr: days.date
  - name: month
    expr: CAST(DATE_TRUNC('MONTH', date) AS DATE)
  - name: is_weekend
    expr: days.is_weekend
  - name: shop
    expr: shop_id
  - name: city
    expr: places.city
    display_name: City
    synonyms: [town]
measures:
  - name: revenue
    expr: SUM(amount)
    format: {type: currency, currency_code: USD}
  - name: sales
    expr: COUNT(*)
  - name: pieces
    expr: SUM(quantity)
  - name: revenue_per_piece
    expr: TRY_DIVIDE(MEASURE(revenue), MEASURE(pieces))
  - name: weekend_share
    expr: TRY_DIVIDE(COUNT(*) FILTER (WHERE is_weekend), COUNT(*))
  - name: buyers
    expr: COUNT(DISTINCT buyer)
  - name: week_before
    expr: SUM(amount)
    window:
      - order: date
        range: trailing 7 day
        semiadditive: last
  - name: buyers_of_the_week_before
    expr: COUNT(DISTINCT buyer)
    window:
      - {order: date, range: trailing 7 day, semiadditive: last}
  - name: so_far
    expr: MEASURE(revenue)
    window:
      - {order: date, range: cumulative, semiadditive: last}
  - name: of_the_day
    expr: SUM(amount)
    window:
      - {order: date, range: current, semiadditive: first}
  - name: next_two_days
    expr: SUM(amount)
    window:
      - {order: date, range: leading 2 days, semiadditive: last}
  - name: of_all_days
    expr: SUM(amount)
    window:
      - {order: date, range: all, semiadditive: last}
  - name: growth
    expr: MEASURE(of_the_day) - MEASURE(week_before) / 7
  - name: share_of_so_far
    expr: MEASURE(of_the_day) / MEASURE(so_far) + 0 * MEASURE(growth)
"""


class Sales(Contract, table="shops/sales"):
    """One row per sale."""

    day_id: Int64 = column("Key of the day.")
    shop_id: Int64 = column("Key of the shop.")
    buyer: String = column("Who bought.")
    quantity: Int64 = column("Pieces.")
    amount: Int64 = column("Price paid.")


class Days(Contract, table="shops/days"):
    """One row per day."""

    day_id: Int64 = column("Key.")
    date: Date = column("The day.")
    is_weekend: Bool = column("Whether it's a Saturday or a Sunday.")


class Places(Contract, table="shops/places"):
    """One row per shop."""

    shop_id: Int64 = column("Key.")
    city: String = column("Where it is.")


TABLES = {contract.stored_as().sql_name: contract for contract in (Sales, Days, Places)}

_FIRST = date(2024, 1, 20)
# No sale on days 3 to 5, nor from 12 to 22, which is longer than a week; days 11 and 12 are of two months.
_DAYS_WITH_SALES = (0, 1, 2, 6, 7, 8, 9, 10, 11, 12, 23, 24, 25)


def rows() -> list[dict[str, object]]:
    """Return every sale with all that is joined to it; shop 3 has no place, and one sale has no shop."""
    made = []
    for number in range(120):
        day = _DAYS_WITH_SALES[number * 7 % len(_DAYS_WITH_SALES)]
        shop = (1, 2, 3, 1)[number % 4] if number != 50 else None
        when = _FIRST + timedelta(days=day)
        made.append(
            {
                "day_id": day,
                "shop_id": shop,
                "buyer": f"buyer {number * number % 11}",
                "quantity": number % 3 if shop != 3 else 0,
                # Less than nothing is what the view leaves out.
                "amount": number * 37 % 101 if number % 17 else -5,
                "date": when,
                "month": when.replace(day=1),
                "is_weekend": when.isoweekday() > 5,
                "shop": shop,
                "city": {1: "Aachen", 2: "Bonn"}.get(shop or 0),
            }
        )
    return made


def lake_of(folder: Path) -> Lake:
    """Store the star."""
    lake = Lake(str(folder), {}, PolarsEngine())
    sales = pl.DataFrame(rows(), infer_schema_length=None)
    days = sales.select("day_id", "date", "is_weekend").unique()
    places = pl.DataFrame({"shop_id": [1, 2], "city": ["Aachen", "Bonn"]})
    for contract, frame in ((Sales, sales), (Days, days), (Places, places)):
        chosen = nw.from_native(frame.lazy().select(contract.column_names()))
        lake.engine.replace(contract, lake.location(contract), chosen, {})
    return lake
