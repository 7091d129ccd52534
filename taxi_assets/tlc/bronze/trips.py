"""Which bronze table holds which service's trips. A service is added here, once its table stands."""

from __future__ import annotations

from typing import Final

from taxi_assets.contracts import Contract
from taxi_assets.tlc.bronze.fhv_trips import FhvTrips
from taxi_assets.tlc.bronze.fhvhv_trips import FhvhvTrips
from taxi_assets.tlc.bronze.green_trips import GreenTrips
from taxi_assets.tlc.bronze.yellow_trips import YellowTrips
from taxi_assets.tlc.vocabulary import Service

BRONZE_TRIPS: Final[dict[Service, type[Contract]]] = {
    Service.YELLOW: YellowTrips,
    Service.GREEN: GreenTrips,
    Service.FHV: FhvTrips,
    Service.FHVHV: FhvhvTrips,
}
