"""The columns of a taximeter's trip as TLC publishes it: what the bronze contracts of yellow and green share.

Numbers stay as published (doubles), so that nothing is rounded before it is judged. What only one service has is in its
file.
"""

from __future__ import annotations

from taxi_assets.contracts import Contract, Float64, Int32, LocalTime, String, column
from taxi_assets.tlc.bronze.month_file import OfMonth


class Meter(Contract):
    """The columns of a metered trip, by TLC's data dictionaries for yellow and green of 2025-03-18."""

    vendor_id: Int32 = column(
        "Technology provider: 1 Creative Mobile, 2 Curb Mobility (once VeriFone), 3 Digital Dispatch Systems (to 2010; "
        "the number is ours), 6 Myle, 7 Helix."
    )
    pickup_datetime: LocalTime = column("When the meter was engaged, New York wall clock.")
    dropoff_datetime: LocalTime = column("When the meter was disengaged, New York wall clock.")
    pickup_location_id: Int32 = column("TLC taxi zone where the meter was engaged.")
    dropoff_location_id: Int32 = column("TLC taxi zone where the meter was disengaged.")
    pickup_longitude: Float64 = column("Where the meter was engaged, WGS 84; until 2016-06.", unit="degrees")
    pickup_latitude: Float64 = column("Likewise.", unit="degrees")
    dropoff_longitude: Float64 = column("Where the meter was disengaged, WGS 84; until 2016-06.", unit="degrees")
    dropoff_latitude: Float64 = column("Likewise.", unit="degrees")
    rate_code_id: Int32 = column(
        "Rate at the trip's end: 1 standard, 2 JFK, 3 Newark, 4 Nassau, Westchester, 5 negotiated, 6 group, 99 unknown."
    )
    payment_type: Int32 = column("How the passenger paid, a code of tlc_silver.dim_payment.")
    passenger_count: Int32 = column("Passengers, as the driver entered them.")
    trip_distance: Float64 = column("Distance by the taximeter.", unit="miles")
    fare_amount: Float64 = column("Time-and-distance fare by the meter.", unit="USD")
    extra: Float64 = column("Miscellaneous extras and surcharges, such as rush hour and overnight.", unit="USD")
    mta_tax: Float64 = column("Tax that the metered rate in use triggers.", unit="USD")
    tip_amount: Float64 = column("Tip by credit card; cash tips are not included.", unit="USD")
    tolls_amount: Float64 = column("All tolls of the trip.", unit="USD")
    improvement_surcharge: Float64 = column("Surcharge at the flag drop, since 2015.", unit="USD")
    congestion_surcharge: Float64 = column("New York State's congestion surcharge, since 2019.", unit="USD")
    cbd_congestion_fee: Float64 = column("MTA's congestion relief zone charge, since 2025.", unit="USD")
    total_amount: Float64 = column("Everything charged; cash tips are not included.", unit="USD")
    store_and_fwd_flag: String = column("Y if the record was held in the vehicle before it was sent, else N.")


class MeteredTrips(OfMonth, Meter):
    """A metered trip and where it came from; the part of both services' contracts that is the same."""
