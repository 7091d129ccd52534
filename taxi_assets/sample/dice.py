"""Random numbers that are the same on every machine: splitmix64 in whole numbers, as Polars expressions.

Polars' own hash isn't promised to stay the same from version to version, and floating-point logarithms differ between
platforms; a sample file must do neither. What the numbers are used for doesn't belong here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from hashlib import blake2b
from typing import Final

import polars as pl

_STEP: Final = 0x9E3779B97F4A7C15
_WRAP: Final = 1 << 64
_FRACTION_BITS: Final = 16


def _u64(number: int) -> pl.Expr:
    return pl.lit(number, dtype=pl.UInt64)


def splitmix64(key: int, index: pl.Expr) -> pl.Expr:
    """Return number ``index`` (from 0) of the splitmix64 sequence that starts at ``key``, as UInt64."""
    state = index.cast(pl.UInt64) * _u64(_STEP) + _u64((key + _STEP) % _WRAP)
    state = (state ^ (state // _u64(1 << 30))) * _u64(0xBF58476D1CE4E5B9)
    state = (state ^ (state // _u64(1 << 27))) * _u64(0x94D049BB133111EB)
    return state ^ (state // _u64(1 << 31))


class Dice:
    """Named dice. The same key, name and index always give the same number; other keys or names, unrelated ones."""

    def __init__(self, *key: object) -> None:
        self._key = " ".join(str(part) for part in key)

    def roll(self, name: str, index: pl.Expr) -> pl.Expr:
        """Return a UInt64 for each index."""
        digest = blake2b(f"{self._key} {name}".encode(), digest_size=8).digest()
        return splitmix64(int.from_bytes(digest, "big"), index)

    def below(self, name: str, index: pl.Expr, sides: int) -> pl.Expr:
        """Return whole numbers from 0 to ``sides - 1`` (at most 2**31 sides), evenly, as Int64."""
        high_half = self.roll(name, index) // _u64(1 << 32)
        return (high_half * _u64(sides) // _u64(1 << 32)).cast(pl.Int64)

    def pick(self, name: str, index: pl.Expr, weights: Mapping[int, int]) -> pl.Expr:
        """Return the keys of ``weights``, each as often as its weight says, as Int64."""
        faces = [value for value, weight in weights.items() for _ in range(weight)]
        return look_up(faces, self.below(name, index, len(faces)))

    def from_quantiles(self, name: str, index: pl.Expr, quantiles: Sequence[int]) -> pl.Expr:
        """Return whole numbers distributed as evenly spaced ``quantiles`` (smallest to largest) say, as Int64."""
        position = self.below(name, index, (len(quantiles) - 1) << _FRACTION_BITS)
        segment, fraction = position // (1 << _FRACTION_BITS), position % (1 << _FRACTION_BITS)
        low, high = look_up(quantiles, segment), look_up(quantiles, segment + 1)
        return low + (high - low) * fraction // (1 << _FRACTION_BITS)


def look_up(table: Sequence[int], position: pl.Expr) -> pl.Expr:
    """Return ``table[position]`` for each position, as Int64."""
    return pl.lit(pl.Series(table, dtype=pl.Int64)).gather(position)
