"""How often trips of a service begin and end in each taxi zone, and the zones where a surcharge applies.

Weights of the busy zones follow the real files. Names of zones and boroughs don't belong here.
"""

from __future__ import annotations

from typing import Final

from taxi_assets.tlc.vocabulary import Service

JFK: Final = 132
LAGUARDIA: Final = 138
NEWARK: Final = 1

_ALL: Final = range(1, 264)
_UNKNOWN: Final = {264: 6, 265: 4}
_UPPER_MANHATTAN: Final = frozenset({24, 41, 42, 74, 75, 116, 120, 127, 128, 151, 152, 153, 166, 194, 202, 243, 244})
_FROM_60TH_TO_96TH: Final = frozenset({43, 140, 141, 142, 143, 236, 237, 238, 239, 262, 263})

# South of 60th Street, where the toll of 2025 applies.
CBD: Final = frozenset(
    {4, 12, 13, 45, 48, 50, 68, 79, 87, 88, 90, 100, 107, 113, 114, 125, 137, 144, 148, 158, 161, 162, 163, 164, 170}
    | {186, 209, 211, 224, 229, 230, 231, 232, 233, 234, 246, 249, 261}
)
# South of 96th Street, where the congestion surcharge of 2019 applies.
CONGESTION: Final = CBD | _FROM_60TH_TO_96TH

_BUSY: Final = {
    Service.YELLOW: {
        115: (161, 236, 237),
        80: (132, 186),
        70: (68, 79, 138, 142, 162, 163, 230, 234, 239, 249),
        55: (48, 107, 141, 164, 170),
        45: (90, 140, 238, 246, 263),
        35: (100, 113, 114, 144, 229),
        30: (43, 137, 143, 148, 158, 211, 231, 233, 262),
        15: (13, 50, 87, 125, 151),
        10: (74, 75, 88, 224, 261),
    },
    Service.GREEN: {
        160: (74, 75),
        70: (41, 166),
        50: (42, 95),
        35: (7, 43, 65, 82, 97, 244),
        18: (33, 116, 129, 130, 134, 260),
        9: (24, 25, 61, 66, 92, 152, 181, 196, 223),
    },
    Service.FHVHV: {
        17: (132, 138),
        12: (61, 76, 79, 37),
        10: (48, 68, 161, 181, 225, 230, 231, 234, 246),
        7: (7, 17, 39, 42, 49, 89, 112, 129, 188, 255),
    },
}


def _busy(service: Service) -> dict[int, int]:
    return {zone: weight for weight, zones in _BUSY[service].items() for zone in zones}


PICKUPS: Final = {
    Service.YELLOW: dict.fromkeys(_ALL, 1) | _busy(Service.YELLOW) | _UNKNOWN,
    # Green taxis may not take passengers from the street in Manhattan south of 96th Street, nor at the airports.
    Service.GREEN: {zone: 2 for zone in _ALL if zone not in CONGESTION | {JFK, LAGUARDIA, NEWARK}}
    | _busy(Service.GREEN)
    | _UNKNOWN,
    Service.FHV: dict.fromkeys(_ALL, 2) | _UNKNOWN,
    Service.FHVHV: dict.fromkeys(_ALL, 3) | _busy(Service.FHVHV),
}
DROPOFFS: Final = {
    Service.YELLOW: dict.fromkeys(_ALL, 2) | _busy(Service.YELLOW) | _UNKNOWN,
    Service.GREEN: dict.fromkeys(_ALL, 3) | dict.fromkeys(_UPPER_MANHATTAN, 60) | _UNKNOWN,
    Service.FHV: dict.fromkeys(_ALL, 2) | _UNKNOWN,
    Service.FHVHV: dict.fromkeys(_ALL, 3) | _busy(Service.FHVHV) | {265: 30},
}
