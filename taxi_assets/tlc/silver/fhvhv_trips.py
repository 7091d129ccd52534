"""tlc_silver/fhvhv_trips and its quarantine: the month's high-volume trips judged, enriched, in exact types.

CSVs of 2019 and 2020 have neither fares nor miles: such a row's amounts are null, and what is asked of them is kept.
A row that has miles or some amount, but no fare, has lost it, and with it its total: that is reported.
Tolerances are estimates from rows of a few months; whole ones were not at hand.
"""

from __future__ import annotations

from typing import Final

import dagster as dg
import narwhals.stable.v1 as nw

from taxi_assets.catalog import feed_tag
from taxi_assets.contracts import Cost, Frame, Int32, LocalTime, String, column, quarantine_of, rule
from taxi_assets.lake.assets import judged_assets
from taxi_assets.lake.metadata import asset_key
from taxi_assets.tlc import MONTHLY
from taxi_assets.tlc.bronze import fhvhv_trips as bronze
from taxi_assets.tlc.bronze.zones import Zones
from taxi_assets.tlc.money import MilesToThousandths, Minutes, Money
from taxi_assets.tlc.silver.any_trips import PUBLISH_LIMIT
from taxi_assets.tlc.silver.clock import in_repeated_hour
from taxi_assets.tlc.silver.for_hire_trips import ForHireTrips, company_of, enrich, registered
from taxi_assets.tlc.silver.passenger_total import PARTS_OF_TOTAL, with_total
from taxi_assets.tlc.vocabulary import HVFHS_LICENSES, Service

MAX_FARE_USD: Final = 10_000
MAX_DRIVER_PAY_USD: Final = MAX_FARE_USD
MAX_DISTANCE_MILES: Final = 1_000
MAX_SECONDS_APART: Final = 60

_DICTIONARY: Final = "TLC data dictionary for High Volume FHV trip records, 2025-03-18"
_LEAST_FARE: Final = 0.005
_LEAST_MILES: Final = 0.0005
_PARTS_BESIDE_THE_FARE: Final = tuple(part for part in PARTS_OF_TOTAL if part != "base_passenger_fare")


class FhvhvTrips(
    ForHireTrips,
    table="tlc_silver/fhvhv_trips",
    partition=MONTHLY,
    publish_limit=PUBLISH_LIMIT,
    upstream=bronze.FhvhvTrips,
):
    """One row per high-volume trip that broke no quarantining rule, with company, zones and total, in exact types."""

    dispatching_base: String = column("Base that dispatched the trip, a key of tlc_silver.dim_base.")
    originating_base: String = column("Base that received the request, likewise.", after="dispatching_base")
    license_num: String = column(
        "TLC's licence of the company, a key of tlc_silver.dim_license.", required=True, after="originating_base"
    )
    company: String = column(
        "Company of the licence; Unknown for one that TLC's list lacks.", required=True, after="license_num"
    )
    request_datetime: LocalTime = column(after="company")
    on_scene_datetime: LocalTime = column(after="request_datetime")
    dropoff_datetime: LocalTime = column(required=True)
    pickup_location_id: Int32 = column(required=True)
    dropoff_location_id: Int32 = column(required=True)
    trip_distance: MilesToThousandths = column(
        "Miles driven with the passenger; null in CSVs.", unit="miles", after="dropoff_zone"
    )
    trip_time: Int32 = column(unit="seconds", after="trip_distance")
    duration_min: Minutes = column(
        "Minutes from pickup to dropoff by the clock; within the repeated hour of autumn, the true ones.",
        unit="minutes",
        required=True,
    )
    base_passenger_fare: Money = column(unit="USD", after="duration_min")
    tolls: Money = column(unit="USD", after="base_passenger_fare")
    bcf: Money = column(unit="USD", after="tolls")
    sales_tax: Money = column(unit="USD", after="bcf")
    congestion_surcharge: Money = column(unit="USD", after="sales_tax")
    airport_fee: Money = column(unit="USD", after="congestion_surcharge")
    cbd_congestion_fee: Money = column(unit="USD", after="airport_fee")
    tips: Money = column(unit="USD", after="cbd_congestion_fee")
    total_amount: Money = column(
        "What the passenger paid: fare, tolls, Black Car Fund, tax, surcharge, fees and tips, each rounded to cents; "
        "null without a fare.",
        unit="USD",
        after="tips",
    )
    driver_pay: Money = column(unit="USD", after="total_amount")
    shared_request_flag: String = column(after="shared_ride_flag")
    shared_match_flag: String = column(after="shared_request_flag")
    access_a_ride_flag: String = column(after="shared_match_flag")
    wav_request_flag: String = column(after="access_a_ride_flag")
    wav_match_flag: String = column(after="wav_request_flag")

    @rule(
        "license_num", "pickup_datetime", "dropoff_datetime", "pickup_location_id", "dropoff_location_id",
        why="Without whose trip it was, when and where there is none to report.",
        source="Every one of these is in all of TLC's files since 2019-02.",
        tolerance=0.001,
    )  # fmt: skip
    def required_values_present(cls, *values: nw.Expr) -> nw.Expr:
        """Licence, pickup and dropoff time and both zones are there."""
        return ~nw.any_horizontal(*(value.is_null() for value in values), ignore_nulls=False)

    @rule(
        "base_passenger_fare",
        why="A fare of nothing or less is a ride that was taken back, not revenue.",
        source=f"{_DICTIONARY}; CSVs of 2019 and 2020 have no fare, and keep the rule.",
        tolerance=0.01,
    )
    def positive_base_passenger_fare(cls, fare: nw.Expr) -> nw.Expr:
        """The passenger's fare, if it is published, is at least a cent."""
        return fare >= _LEAST_FARE

    @rule(
        "base_passenger_fare",
        why="One mistyped fare can outweigh a day's revenue.",
        source=f"{MAX_DISTANCE_MILES:,} miles, the farthest that is plausible, at 10 USD a mile.",
    )
    def plausible_base_passenger_fare(cls, fare: nw.Expr) -> nw.Expr:
        """The passenger's fare is at most 10,000 USD."""
        return fare <= MAX_FARE_USD

    @rule(
        "base_passenger_fare", "trip_distance", "trip_time", "driver_pay", *_PARTS_BESIDE_THE_FARE,
        why="The total is made of the fare: a ride without one is counted, and adds nothing to revenue.",
        source=f"{_DICTIONARY}; files without fares have neither miles, nor trip times, nor any other amount.",
        tolerance=0.001,
        cost=Cost.KEPT,
    )  # fmt: skip
    def base_passenger_fare_present(cls, fare: nw.Expr, *published_with_fares: nw.Expr) -> nw.Expr:
        """The passenger's fare is there, unless neither miles nor any other amount is."""
        nothing = nw.all_horizontal(*(value.is_null() for value in published_with_fares), ignore_nulls=False)
        return ~fare.is_null() | nothing

    @rule(
        "driver_pay",
        why="Pay is summed, too; what no trip brings in isn't what its driver got, nor does a driver pay for driving.",
        source="The most that a fare may be.",
        tolerance=0.001,
    )
    def plausible_driver_pay(cls, pay: nw.Expr) -> nw.Expr:
        """The driver's pay is not negative, and at most 10,000 USD."""
        return (pay >= 0) & (pay <= MAX_DRIVER_PAY_USD)

    @rule(
        "trip_distance",
        why="One such distance moves a month's average.",
        source="Farther than a car drives in a day.",
        tolerance=0.001,
    )
    def plausible_trip_distance(cls, distance: nw.Expr) -> nw.Expr:
        """The distance is not negative, and at most 1,000 miles."""
        return (distance >= 0) & (distance <= MAX_DISTANCE_MILES)

    @rule(
        "trip_distance",
        why="The app lost its way, or the ride ended where it began. Its fare was agreed and paid without the miles, "
        "unlike a taximeter's: it stays revenue.",
        source=f"{_DICTIONARY}; miles have three decimals.",
        tolerance=0.01,
        cost=Cost.KEPT,
    )
    def positive_trip_distance(cls, distance: nw.Expr) -> nw.Expr:
        """The distance is at least a thousandth of a mile."""
        return distance >= _LEAST_MILES

    @rule(
        "request_datetime", "on_scene_datetime", "pickup_datetime",
        why="Waiting times are differences of these; those of rides that were booked ahead may come in another order.",
        source=_DICTIONARY,
        tolerance=0.05,
        cost=Cost.KEPT,
    )  # fmt: skip
    def requested_before_on_scene_before_pickup(cls, request: nw.Expr, on_scene: nw.Expr, pickup: nw.Expr) -> nw.Expr:
        """Request, arrival and pickup come in this order, as far as they are there."""
        return _not_after(request, on_scene) & _not_after(on_scene, pickup) & _not_after(request, pickup)

    @rule(
        "trip_time", "elapsed_seconds",
        why="Two columns that say how long a trip took should agree.",
        source=f"In the rows at hand they do, to the second; {MAX_SECONDS_APART} leave room for times cut to minutes.",
        tolerance=0.05,
        cost=Cost.KEPT,
    )  # fmt: skip
    def trip_time_is_duration(cls, trip_time: nw.Expr, seconds: nw.Expr) -> nw.Expr:
        """The trip's time is that from pickup to dropoff, within a minute."""
        return (seconds - trip_time).abs() <= MAX_SECONDS_APART

    @rule(
        "license_num",
        why="A new licence means a new company, whose name reports lack.",
        source=_DICTIONARY,
        cost=Cost.KEPT,
    )
    def known_license(cls, license_num: nw.Expr) -> nw.Expr:
        """The licence is one of TLC's list."""
        return license_num.is_in(list(HVFHS_LICENSES))


FhvhvTripsQuarantine: Final = quarantine_of(FhvhvTrips, bronze.FhvhvTrips)


@judged_assets(
    FhvhvTrips,
    FhvhvTripsQuarantine,
    row_id="source_row",
    recognised_by=("hvfhs_license_num", "pickup_datetime", "pickup_location_id"),
    ins={"trips": dg.AssetIn(asset_key(bronze.FhvhvTrips)), "zones": dg.AssetIn(asset_key(Zones))},
    tags=feed_tag(Service.FHVHV),
)
def fhvhv_trips(trips: Frame, zones: Frame) -> Frame:
    return with_company_and_total(enrich(trips, zones))


def with_company_and_total(trips: Frame) -> Frame:
    """Add to enriched trips what only this service has: the licence's company, miles, and what the passenger paid."""
    named = trips.with_columns(
        registered("originating_base_num").alias("originating_base"),
        registered("hvfhs_license_num").alias("license_num"),
        nw.col("trip_miles").alias("trip_distance"),
    )
    return with_total(named.with_columns(company_of(nw.col("license_num")).alias("company")))


def _not_after(earlier: nw.Expr, later: nw.Expr) -> nw.Expr:
    return (earlier <= later) | in_repeated_hour(earlier, later)
