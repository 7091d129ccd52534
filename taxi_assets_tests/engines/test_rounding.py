"""Claims about exact decimals: rounding half away from zero, quotients, what fits; against Python's own decimals."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import ROUND_HALF_UP, Decimal
from math import inf, nan
from typing import Any

import narwhals.stable.v1 as nw
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from taxi_assets.engines import decimal_units, fits_decimal, ratio, to_decimal, units

pytestmark = pytest.mark.fast

VALUE = nw.col("value")


def computed(expression: nw.Expr, **columns: Sequence[Any] | pl.Series) -> list[Any]:
    """Return an expression's values over some columns."""
    frame = nw.from_native(pl.DataFrame(columns))
    found: list[Any] = frame.select(expression.alias("found")).to_native()["found"].to_list()
    return found


@pytest.mark.parametrize(
    ("value", "cents"),
    [
        (0.615, 62),
        (1.005, 101),
        (2.675, 268),
        (-1.005, -101),
        (0.145, 15),
        (0.145 - 1e-6, 14),
        (0.005, 1),
        (0.004, 0),
        (-0.005, -1),
        (0.30000000000000004, 30),
        (0.0, 0),
        (-0.0, 0),
        (12.5, 1250),
        (99_999_999.99, 9_999_999_999),
        (-99_999_999.99, -9_999_999_999),
        (999_999.995, 100_000_000),
    ],
)
def test_a_double_becomes_the_cents_of_the_number_that_was_written(value: float, cents: int) -> None:
    assert computed(units(VALUE, 2), value=[value]) == [cents]
    assert computed(to_decimal(VALUE, 10, 2), value=[value]) == [Decimal(cents) / 100]


def test_no_value_has_no_units_and_no_decimal() -> None:
    assert computed(units(VALUE, 2), value=pl.Series([None], dtype=pl.Float64)) == [None]
    assert computed(to_decimal(VALUE, 10, 2), value=pl.Series([None], dtype=pl.Float64)) == [None]


def test_a_decimal_has_the_digits_that_were_asked_for() -> None:
    frame = nw.from_native(pl.LazyFrame({"value": [1.23456]})).select(to_decimal(VALUE, 10, 4))

    assert frame.collect_schema()["value"] == nw.Decimal(10, 4)
    assert frame.collect().rows() == [(Decimal("1.2346"),)]


@pytest.mark.parametrize("value", [100_000_000.0, -100_000_000.0, 1e12, 1e300, inf, -inf, nan])
def test_a_double_that_does_not_fit_its_decimal_fails_and_is_not_nulled(value: float) -> None:
    with pytest.raises(nw.exceptions.NarwhalsError):
        computed(to_decimal(VALUE, 10, 2), value=[value])


@pytest.mark.parametrize(
    ("value", "fits"),
    [
        (99_999_999.99, True),
        (-99_999_999.99, True),
        (100_000_000.0, False),
        (-100_000_000.0, False),
        (99_999_999.995, False),
        (99_999_999.994_999, True),
        (99_999_999.994_999_9, False),
        (0.0, True),
        (1e12, False),
        (inf, False),
        (-inf, False),
        (nan, False),
        (None, None),
    ],
)
def test_what_fits_a_decimal_of_ten_digits(value: float | None, fits: bool | None) -> None:  # noqa: FBT001
    assert computed(fits_decimal(VALUE, 10, 2), value=pl.Series([value], dtype=pl.Float64)) == [fits]


@pytest.mark.parametrize("step", range(1, 12))
def test_what_is_said_to_fit_becomes_a_decimal(step: int) -> None:
    edges = [99_999_999.995 - 0.1**step, -(99_999_999.995 - 0.1**step)]
    fitting = [edge for edge in edges if computed(fits_decimal(VALUE, 10, 2), value=[edge]) == [True]]
    assert all(found is not None for found in computed(to_decimal(VALUE, 10, 2), value=fitting or [0.0]))


@pytest.mark.parametrize(
    ("numerator", "denominator", "quotient"),
    [
        (3, 2, "1.50"),
        (1, 3, "0.33"),
        (2, 3, "0.67"),
        (1, 8, "0.13"),
        (-1, 8, "-0.13"),
        (1, 200, "0.01"),
        (1, 201, "0.00"),
        (-1, 200, "-0.01"),
        (-1, 201, "0.00"),
        (0, 7, "0.00"),
        (9_999_999_999, 100, "99999999.99"),
        (999_999_999_949, 10_000, "99999999.99"),
    ],
)
def test_a_quotient_is_rounded_half_away_from_zero(numerator: int, denominator: int, quotient: str) -> None:
    found = computed(ratio(nw.col("n"), nw.col("d"), 10, 2), n=[numerator], d=[denominator])

    assert found == [Decimal(quotient)]


@pytest.mark.parametrize(
    ("numerator", "denominator"), [(1, 0), (0, 0), (-5, 0), (None, 2), (2, None), (100_000_000, 1), (-100_000_000, 1)]
)
def test_a_quotient_by_nothing_of_nothing_or_too_large_is_null(numerator: int | None, denominator: int | None) -> None:
    whole = {"n": pl.Series([numerator], dtype=pl.Int64), "d": pl.Series([denominator], dtype=pl.Int64)}

    assert computed(ratio(nw.col("n"), nw.col("d"), 10, 2), **whole) == [None]


def test_a_quotient_that_only_rounding_makes_too_large_is_null() -> None:
    just_below_and_at_half_a_cent = [99_999_999_994, 99_999_999_995]

    assert computed(ratio(nw.col("n"), nw.col("d"), 10, 2), n=just_below_and_at_half_a_cent, d=[1_000, 1_000]) == [
        Decimal("99999999.99"),
        None,
    ]


def test_dollars_become_cents() -> None:
    dollars = pl.Series(["0.01", "-12.34", "9999999999999999.99", None]).cast(pl.Decimal(18, 2))

    assert computed(decimal_units(VALUE, 2), value=dollars) == [1, -1234, 999_999_999_999_999_999, None]


# Numbers as people write them, to six places, and the double next to each.
WRITTEN = st.decimals(min_value=-99_999_999, max_value=99_999_999, places=6)


@settings(max_examples=30, deadline=None, derandomize=True)
@given(st.lists(WRITTEN, min_size=1, max_size=20))
def test_every_written_number_of_six_places_rounds_as_on_paper(written: list[Decimal]) -> None:
    on_paper = [number.quantize(Decimal("0.01"), ROUND_HALF_UP) for number in written]

    assert computed(to_decimal(VALUE, 10, 2), value=[float(number) for number in written]) == on_paper


@settings(max_examples=30, deadline=None, derandomize=True)
@given(st.lists(st.tuples(st.integers(-(10**14), 10**14), st.integers(1, 10**8)), min_size=1, max_size=20))
def test_every_quotient_of_whole_numbers_rounds_as_on_paper(pairs: list[tuple[int, int]]) -> None:
    exact = [
        (Decimal(numerator) / denominator).quantize(Decimal("0.0001"), ROUND_HALF_UP)
        for numerator, denominator in pairs
    ]
    on_paper = [quotient if abs(quotient) < 10**6 else None for quotient in exact]

    found = computed(
        ratio(nw.col("n"), nw.col("d"), 10, 4), n=[pair[0] for pair in pairs], d=[pair[1] for pair in pairs]
    )
    assert found == on_paper
