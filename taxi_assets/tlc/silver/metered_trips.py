"""Trips by taximeter: the contract parts, the rules and the transform that the silver tables of yellow and green share.

A rule is added here (or in one service's file) as one method; its check, its entry in `failed_rules`, its row in the
README and its demand for a test follow from it. What only one service has is in its own file, what all have in
any_trips.py.
"""

from __future__ import annotations

from collections.abc import Sequence

import narwhals.stable.v1 as nw

from taxi_assets.contracts import Bool, Cost, Date, Frame, Int32, Int64, LocalTime, String, column, rule
from taxi_assets.engines import engine_of, fits_decimal, iso_weekday, ratio
from taxi_assets.engines.typed_rows import rescues_one_of
from taxi_assets.tlc.money import Miles, Minutes, Money, MoneyPerMile
from taxi_assets.tlc.silver.any_trips import AnyTrips, columns_of_the_file, hundredths, name_zone
from taxi_assets.tlc.silver.clock import true_seconds
from taxi_assets.tlc.silver.zone_shapes import zone_at
from taxi_assets.tlc.vocabulary import PAYMENT_TYPES, UNKNOWN

MAX_FARE_USD = 1_000_000
MAX_DISTANCE_MILES = 1_000
MAX_SPEED_MPH = 100
MAX_PASSENGERS = 6

PARTS_OF_TOTAL = (
    "fare_amount",
    "extra",
    "mta_tax",
    "tip_amount",
    "tolls_amount",
    "improvement_surcharge",
    "congestion_surcharge",
    "cbd_congestion_fee",
)
"""What `total_amount` is the sum of, in both services; each has a part of its own besides."""

_DICTIONARY = "TLC data dictionaries for yellow and green trip records, 2025-03-18"
_HALF_A_CENT = 0.005
_ROUNDS_TO_MAX_FARE = MAX_FARE_USD - _HALF_A_CENT - 0.5e-6
# Less than this is nothing, once it is rounded to hundredths; of dollars as of miles.
_LEAST = 0.005


class MeteredTrips(AnyTrips):
    """One trip that is kept, as both services have it."""

    vendor_id: Int32 = column()
    pickup_datetime: LocalTime = column(required=True)
    dropoff_datetime: LocalTime = column(required=True)
    pickup_date: Date = column("Date of the pickup.", required=True)
    pickup_hour: Int32 = column("Hour of the pickup, 0 to 23.", required=True)
    pickup_day_of_week: Int32 = column("ISO weekday of the pickup, 1 is Monday.", required=True)
    pickup_location_id: Int32 = column(
        "TLC taxi zone of the pickup: the file's, or until 2016-06 the one its coordinates lie in; null if in none."
    )
    dropoff_location_id: Int32 = column("TLC taxi zone of the dropoff, likewise.")
    pickup_borough: String = column(
        "Borough of the pickup zone; Unknown for a zone that the lookup lacks.", required=True
    )
    pickup_zone: String = column("Name of the pickup zone; Unknown likewise.", required=True)
    dropoff_borough: String = column("Borough of the dropoff zone; Unknown likewise.", required=True)
    dropoff_zone: String = column("Name of the dropoff zone; Unknown likewise.", required=True)
    rate_code_id: Int32 = column()
    payment_type: Int32 = column()
    payment_name: String = column("What the payment code means; null where there is no code.")
    passenger_count: Int32 = column()
    trip_distance: Miles = column(unit="miles", required=True)
    duration_min: Minutes = column(
        "Minutes from pickup to dropoff by the clock; within the repeated hour of autumn, the true ones.",
        unit="minutes",
        required=True,
    )
    fare_amount: Money = column(unit="USD", required=True)
    extra: Money = column(unit="USD")
    mta_tax: Money = column(unit="USD")
    tip_amount: Money = column(unit="USD")
    tolls_amount: Money = column(unit="USD")
    improvement_surcharge: Money = column(unit="USD")
    congestion_surcharge: Money = column(unit="USD")
    cbd_congestion_fee: Money = column(unit="USD")
    total_amount: Money = column(
        "Everything charged; cash tips are not included. Null where the file has none.", unit="USD"
    )
    fare_per_mile: MoneyPerMile = column("Fare by distance; null where it is a million or more.", unit="USD per mile")
    store_and_fwd_flag: String = column()
    is_repeat: Bool = column(
        "Whether an earlier row of the file, kept or not, has the same pickup and dropoff time.", required=True
    )
    is_reversed: Bool = column(
        "Whether the month holds this charge's refund twin: same vendor, times and zones, amounts negated.",
        required=True,
    )
    source_file: String = column(required=True)
    source_row: Int64 = column(required=True)
    source_month: Date = column(required=True)

    @rule(
        "pickup_datetime", "dropoff_datetime", "fare_amount", "trip_distance",
        "pickup_place_given", "dropoff_place_given",
        why="Without when, where, how far and for how much there is no trip to report.",
        source="Every one of these is in all of TLC's files; until 2016-06 places are coordinates.",
        tolerance=0.001,
    )  # fmt: skip
    def required_values_present(
        cls, pickup: nw.Expr, dropoff: nw.Expr, fare: nw.Expr, distance: nw.Expr, *places_given: nw.Expr
    ) -> nw.Expr:
        """Pickup and dropoff time, both zones (or their coordinates), fare and distance are there."""
        missing = (value.is_null() for value in (pickup, dropoff, fare, distance))
        return ~nw.any_horizontal(*missing, ignore_nulls=False) & nw.all_horizontal(*places_given, ignore_nulls=False)

    @rule(
        "fare_amount",
        why="A fare of nothing or less is a refund, a voided or a disputed trip, not revenue.",
        source=_DICTIONARY,
        tolerance=0.02,
    )
    def positive_fare_amount(cls, fare: nw.Expr) -> nw.Expr:
        """The fare is at least a cent."""
        return fare >= _LEAST

    @rule(
        "trip_distance",
        why="A trip of no distance was not driven, or its meter was not read.",
        source="Green months of 2021 to 2023 have 3 to 6 %.",
        tolerance=0.08,
    )
    def positive_trip_distance(cls, distance: nw.Expr) -> nw.Expr:
        """The distance is at least a hundredth of a mile."""
        return distance >= _LEAST

    @rule(
        "fare_amount",
        why="One mistyped fare can outweigh a month's revenue.",
        source="No trip by taximeter costs as much, and a decimal of 10 digits still holds it.",
    )
    def plausible_fare_amount(cls, fare: nw.Expr) -> nw.Expr:
        """The fare is under 1,000,000 USD."""
        return fare < _ROUNDS_TO_MAX_FARE

    @rule(
        "trip_distance",
        why="Meters report distances around the earth; one of them moves a month's average.",
        source="Farther than a taxi drives in a day.",
        tolerance=0.002,
    )
    def plausible_trip_distance(cls, distance: nw.Expr) -> nw.Expr:
        """The distance is at most 1,000 miles."""
        return distance <= MAX_DISTANCE_MILES

    @rule(
        "pickup_longitude", "pickup_latitude", "dropoff_longitude", "dropoff_latitude", "places_in_zones",
        why="A place in no zone has none to be reported by: its zone is null, its borough Unknown.",
        source="TLC's shapefile of the zones. Meters without a position wrote 0, and some trips leave the city.",
        tolerance=0.05,
        cost=Cost.KEPT,
    )  # fmt: skip
    def coordinates_in_a_zone(cls, *values: nw.Expr) -> nw.Expr:
        """Coordinates, where a file has these instead of zones, lie in one of New York's zones."""
        return values[-1]

    @rule("payment_type", why="A new code means a new way to pay.", source=_DICTIONARY, cost=Cost.KEPT)
    def known_payment_type(cls, payment_type: nw.Expr) -> nw.Expr:
        """The payment code is one of TLC's list."""
        return payment_type.is_in(list(PAYMENT_TYPES))

    @rule(
        "passenger_count",
        why="Drivers enter the count by hand; 0 means that they didn't.",
        source="TLC's rules for passengers: at most five, and a child on a lap.",
        tolerance=0.05,
        cost=Cost.KEPT,
    )
    def plausible_passenger_count(cls, count: nw.Expr) -> nw.Expr:
        """There are 1 to 6 passengers."""
        return (count >= 1) & (count <= MAX_PASSENGERS)

    @rule(
        "total_amount",
        why="Revenue is summed from totals: a trip without one is counted, and adds nothing to it.",
        source="Every row at hand has one: 494,090 of seven green months, and those of CSVs of each layout since 2009.",
        cost=Cost.KEPT,
    )
    def total_amount_present(cls, total: nw.Expr) -> nw.Expr:
        """The total is there."""
        return ~total.is_null()

    @rule(
        "total_amount", "sum_of_parts",
        why="Revenue is summed from totals; one that isn't its parts' sum lacks a part or counts it twice.",
        source=f"{_DICTIONARY}. In 2023 one green row in seven has a surcharge that its total leaves out.",
        tolerance=0.20,
        cost=Cost.KEPT,
    )  # fmt: skip
    def total_is_sum_of_parts(cls, total: nw.Expr, sum_of_parts: nw.Expr) -> nw.Expr:
        """The total is the sum of fare, extras, taxes, tip, tolls and fees, to the cent."""
        return (total - sum_of_parts).abs() < _HALF_A_CENT

    @rule(
        "trip_distance", "elapsed_seconds",
        why="A distance that can't be driven in the time points to a wrong meter or clock.",
        source=f"New York State's highest speed limit is 65 mph; {MAX_SPEED_MPH} leaves room for rounded times.",
        tolerance=0.005,
        cost=Cost.KEPT,
    )  # fmt: skip
    def plausible_speed(cls, distance: nw.Expr, seconds: nw.Expr) -> nw.Expr:
        """The average speed is at most 100 mph."""
        return distance * 3600 <= nw.when(seconds > 0).then(seconds) * MAX_SPEED_MPH

    @rule(
        "is_reversed",
        why="A charge whose refund is in the same month is counted as revenue, while the refund is quarantined.",
        source="In green 2023-01, 174 of 179 rows of negative total have such a twin.",
        tolerance=0.02,
        cost=Cost.KEPT,
    )
    def not_reversed(cls, is_reversed: nw.Expr) -> nw.Expr:
        """No refund of the same trip stands in the month."""
        return ~is_reversed


def enrich(trips: Frame, zones: Frame, *, parts: Sequence[str]) -> Frame:
    """Add to bronze trips all that silver's columns and rules need; keeps every row and bronze's columns.

    `zones` is the month's lookup, `parts` are the columns whose sum `total_amount` should be in this service.
    """
    engine = engine_of(trips)
    pickup, dropoff = nw.col("pickup_datetime"), nw.col("dropoff_datetime")
    from_the_file = columns_of_the_file(trips)
    located = locate(trips)
    flagged = engine.flag_rows(
        located,
        repeats={"is_duplicate": from_the_file, "is_repeat": ("pickup_datetime", "dropoff_datetime")},
        members={"is_reversed": (_RIDE_AND_AMOUNTS, _refunds_as_charges(located))},
        row_id="source_row",
    )
    in_zones = name_zone(name_zone(flagged, zones, "pickup"), zones, "dropoff")
    codes = engine.literal({"code": list(PAYMENT_TYPES), "payment_name": list(PAYMENT_TYPES.values())})
    named = engine.look_up(in_zones, codes, "payment_type", "code")
    measured = named.with_columns(
        true_seconds(engine.seconds_between(pickup, dropoff), pickup, dropoff).alias("elapsed_seconds"),
        # As columns, so that what is made of them below names them: engines write out an expression at each mention.
        hundredths("fare_amount").alias("fare_hundredths"),
        hundredths("trip_distance").alias("distance_hundredths"),
    )
    return measured.with_columns(
        pickup.dt.date().alias("pickup_date"),
        pickup.dt.hour().alias("pickup_hour"),
        iso_weekday(pickup).alias("pickup_day_of_week"),
        ratio(nw.col("elapsed_seconds"), nw.lit(60), 12, 2).alias("duration_min"),
        nw.when(~nw.col("payment_type").is_null())
        .then(nw.col("payment_name").fill_null(UNKNOWN))
        .alias("payment_name"),
        ratio(nw.col("fare_hundredths"), nw.col("distance_hundredths"), 10, 4).alias("fare_per_mile"),
        nw.sum_horizontal(*parts).alias("sum_of_parts"),
        (nw.col("pickup_zone_known") & nw.col("dropoff_zone_known")).alias("zones_known"),
        rescues_one_of(from_the_file).alias("rescues_a_value"),
        nw.all_horizontal(
            *(fits_decimal(nw.col(name), 10, 2) for name in ("total_amount", *parts) if name != "fare_amount"),
            ignore_nulls=True,
        ).alias("amounts_fit"),
    )


def locate(trips: Frame) -> Frame:
    """Find the zones of coordinates, where these stand instead of zones."""
    has_place = {end: ~nw.col(f"{end}_longitude").is_null() & ~nw.col(f"{end}_latitude").is_null() for end in _ENDS}
    # Files have coordinates or zones. Without any, which is soon told, nothing of the geometry is started.
    with_places = trips.filter(nw.any_horizontal(*has_place.values(), ignore_nulls=False))
    any_places = with_places.select(nw.len()).collect().item() > 0
    for end in _ENDS:
        zone = nw.col(f"{end}_location_id")
        trips = trips.with_columns((~zone.is_null() | has_place[end]).alias(f"{end}_place_given"))
        if any_places:
            found, place = f"{end}_zone_found", (f"{end}_longitude", f"{end}_latitude")
            trips = engine_of(trips).with_computed(trips, found, place, zone_at)
            trips = trips.with_columns(nw.coalesce(zone, nw.col(found)).alias(f"{end}_location_id"))
    in_zones = (~(nw.col(f"{end}_place_given") & nw.col(f"{end}_location_id").is_null()) for end in _ENDS)
    return trips.with_columns(nw.all_horizontal(*in_zones, ignore_nulls=False).alias("places_in_zones"))


_ENDS = ("pickup", "dropoff")
_AMOUNTS = ("fare_amount", "total_amount")
_RIDE_AND_AMOUNTS = (
    "vendor_id",
    "pickup_datetime",
    "dropoff_datetime",
    "pickup_location_id",
    "dropoff_location_id",
    *_AMOUNTS,
)


def _refunds_as_charges(trips: Frame) -> Frame:
    """Return the month's refunds with their amounts negated: what the charges that they take back look like."""
    negated = {name: (0 - nw.col(name)).alias(name) for name in _AMOUNTS}
    return trips.filter(nw.col("total_amount") < 0).select(
        *(negated.get(name, nw.col(name)) for name in _RIDE_AND_AMOUNTS)
    )
