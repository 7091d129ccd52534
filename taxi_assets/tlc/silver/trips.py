"""Which silver tables hold which service's trips. A service is added here, once its tables stand."""

from __future__ import annotations

from typing import Final

from taxi_assets.contracts import Contract
from taxi_assets.tlc.silver.fhv_trips import FhvTrips, FhvTripsQuarantine
from taxi_assets.tlc.silver.fhvhv_trips import FhvhvTrips, FhvhvTripsQuarantine
from taxi_assets.tlc.silver.green_trips import GreenTrips, GreenTripsQuarantine
from taxi_assets.tlc.silver.yellow_trips import YellowTrips, YellowTripsQuarantine
from taxi_assets.tlc.vocabulary import Service

SILVER_TRIPS: Final[dict[Service, type[Contract]]] = {
    Service.YELLOW: YellowTrips,
    Service.GREEN: GreenTrips,
    Service.FHV: FhvTrips,
    Service.FHVHV: FhvhvTrips,
}
QUARANTINES: Final[dict[Service, type[Contract]]] = {
    Service.YELLOW: YellowTripsQuarantine,
    Service.GREEN: GreenTripsQuarantine,
    Service.FHV: FhvTripsQuarantine,
    Service.FHVHV: FhvhvTripsQuarantine,
}
