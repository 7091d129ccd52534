"""Exact decimals from binary fractions and from divisions, the same to the last digit on every engine.

Engines differ in how they cast a double to a decimal and in what type a decimal's mean has, so both are done here in
whole numbers, of which all engines have the same.
"""

from __future__ import annotations

from typing import Final

import narwhals.stable.v1 as nw

# A published amount is a decimal, give or take its double's last bits; six places bring the decimal back.
_PLACES: Final = 6


def fits_decimal(value: nw.Expr, precision: int, scale: int) -> nw.Expr:
    """True where a double is a number that a decimal of this size can hold; null where it is null."""
    # What rounds up to one digit more doesn't fit, be it by half a unit or by half a millionth before that.
    beyond: float = 10 ** (precision - scale) - 0.5 * 10**-scale - 0.5 * 10**-_PLACES
    return value.abs() < beyond


def units(value: nw.Expr, scale: int) -> nw.Expr:
    """Turn a double into a whole number of units of ``10**-scale``, rounded half up (away from zero).

    For values below a billion, see `fits_decimal`: beyond them a double's last bits are no decimals any more.
    """
    # The cast cuts off what is behind the point, and fails for what is no number, which Spark's floor makes 0.
    millionths = (value.abs() * 10**_PLACES + 0.5).cast(nw.Int64)
    step = 10 ** (_PLACES - scale)
    magnitude = (millionths + step // 2) // step
    return nw.when(value < 0).then(-magnitude).otherwise(magnitude)


def to_decimal(value: nw.Expr, precision: int, scale: int) -> nw.Expr:
    """Round a double half up (away from zero) at `scale` places. A value that doesn't fit fails; see `fits_decimal`."""
    return _units_to_decimal(units(value, scale), precision, scale)


def ratio(numerator: nw.Expr, denominator: nw.Expr, precision: int, scale: int) -> nw.Expr:
    """Divide whole numbers and round half up (away from zero) at `scale` places; null where the denominator is 0.

    The denominator must not be negative. A ratio that doesn't fit the decimal is null, too.
    """
    divisor = nw.when(denominator > 0).then(denominator)
    # In doubles, which divide faster than whole numbers; exact as long as the dividend is below 2^53.
    magnitude = ((numerator.abs() * (2 * 10**scale) + divisor) / (divisor * 2)).floor()
    signed = nw.when(numerator < 0).then(-magnitude).otherwise(magnitude)
    return _units_to_decimal(nw.when(magnitude < 10**precision).then(signed), precision, scale)


def decimal_units(value: nw.Expr, scale: int) -> nw.Expr:
    """Turn a decimal into a whole number of its smallest units: dollars and cents into cents."""
    units_per_whole: int = 10**scale
    return (value * units_per_whole).cast(nw.Int64)


def _units_to_decimal(whole: nw.Expr, precision: int, scale: int) -> nw.Expr:
    # The quotient of two whole numbers below 2^53 is the double nearest to the decimal, and rounds back to just that.
    units_per_whole: int = 10**scale
    return (whole / units_per_whole).cast(nw.Decimal(precision, scale))
