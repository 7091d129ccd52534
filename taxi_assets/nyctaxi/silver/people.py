"""Made-up riders: each value is a function of the rider's number alone, so that a rider is the same on every machine.

The hash is Spark's ``xxhash64(number, 'name of the column')``, of a BIGINT. Nobody is meant: names are put together by
chance, e-mail domains (RFC 2606) and telephone numbers (555-01xx) are those that belong to no one.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from datetime import date, timedelta
from typing import Any, Final

import xxhash

_SEED: Final = 42
_ALL_BITS: Final = 2**64 - 1

_FIRST_NAMES: Final = (
    "Ada", "Bao", "Carla", "Dmitri", "Esra", "Femi", "Greta", "Hugo", "Ines", "Jamal", "Kaya", "Liam", "Mina", "Noor",
    "Oskar", "Pia", "Quinn", "Rosa", "Sven", "Tara", "Uma", "Viktor", "Wanda", "Yuki", "Zola",
)  # fmt: skip
_LAST_NAMES: Final = (
    "Alder", "Birch", "Cedar", "Dogwood", "Elm", "Fern", "Gorse", "Hazel", "Ivy", "Juniper", "Larch", "Maple", "Nettle",
    "Oakes", "Poplar", "Quince", "Rowan", "Sorrel", "Thistle", "Willow",
)  # fmt: skip
_DOMAINS: Final = ("example.com", "example.net", "example.org")
_AREA_CODES: Final = ("212", "347", "646", "718", "917")
_HOME_ZIPS: Final = (10001, 10011, 10025, 10128, 10301, 10451, 10463, 11101, 11201, 11215, 11354, 11375)
_FIRST_SIGNUP: Final = date(2012, 1, 1)
_DAYS_OF_SIGNUPS: Final = 4 * 365


def rider(number: int) -> dict[str, Any]:
    """Return the values of a rider."""
    first, last = _pick(_FIRST_NAMES, number, "first_name"), _pick(_LAST_NAMES, number, "last_name")
    domain = _pick(_DOMAINS, number, "email")
    area, line = _pick(_AREA_CODES, number, "area_code"), _remainder(number, "phone", 100)
    return {
        "rider_id": f"RDR-{number:05d}",
        "full_name": f"{first} {last}",
        "email": f"{first}.{last}.{number}@{domain}".lower(),
        "phone": f"{area}-555-{100 + line:04d}",
        "home_zip": _pick(_HOME_ZIPS, number, "home_zip"),
        "signup_date": _FIRST_SIGNUP + timedelta(days=_remainder(number, "signup_date", _DAYS_OF_SIGNUPS)),
        "card_last4": f"{_remainder(number, 'card_last4', 10_000):04d}",
    }


def xxhash64(number: int, salt: str) -> int:
    """Return Spark's ``xxhash64`` of a BIGINT and a text: the hash of the first is the seed of the second's."""
    of_number = xxhash.xxh64_intdigest(struct.pack("<q", number), seed=_SEED)
    hashed = xxhash.xxh64_intdigest(salt.encode(), seed=of_number & _ALL_BITS)
    return int(hashed - 2**64 if hashed >= 2**63 else hashed)


def _remainder(number: int, salt: str, count: int) -> int:
    # Python's remainder is never negative, as Spark's pmod.
    return xxhash64(number, salt) % count


def _pick(values: Sequence[Any], number: int, salt: str) -> Any:
    return values[_remainder(number, salt, len(values))]
