"""Claims about exact decimals: rounding half away from zero, quotients, what fits; against Python's own decimals.

Worked out by hand they hold of every engine, all cases of a claim in one frame; many more are tried on Polars.
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import ROUND_HALF_UP, Decimal
from math import inf, nan
from typing import Any, Final

import narwhals.stable.v1 as nw
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from taxi_assets.engines import Engine, decimal_units, fits_decimal, ratio, to_decimal, units
from taxi_assets_tests.scenario import POLARS, collected, on

VALUE: Final = nw.col("value")
BEYOND_ALL_PLACES: Final = (inf, -inf, 1e300, 1e12, nan)


def computed(engine: Engine, expression: nw.Expr, **columns: Sequence[Any] | pl.Series) -> list[Any]:
    """Return an expression's values over some columns, row by row."""
    frame = on(engine, pl.LazyFrame(columns).with_row_index("row").with_columns(pl.col("row").cast(pl.Int64)))
    found: list[Any] = collected(frame.select("row", expression.alias("found"))).sort("row")["found"].to_list()
    return found


def doubles(*values: float | None) -> pl.Series:
    return pl.Series(values, dtype=pl.Float64)


def wholes(*values: int | None) -> pl.Series:
    return pl.Series(values, dtype=pl.Int64)


def test_a_double_becomes_the_cents_of_the_number_that_was_written(engine: Engine) -> None:
    cents = {
        0.615: 62,
        1.005: 101,
        2.675: 268,
        -1.005: -101,
        0.145: 15,
        0.145 - 1e-6: 14,
        0.005: 1,
        0.004: 0,
        -0.005: -1,
        -0.004: 0,
        0.30000000000000004: 30,
        12.5: 1250,
        99_999_999.99: 9_999_999_999,
        -99_999_999.99: -9_999_999_999,
        999_999.995: 100_000_000,
    }
    values = doubles(*cents, 0.0, -0.0, None)

    assert computed(engine, units(VALUE, 2), value=values) == [*cents.values(), 0, 0, None]
    decimals = computed(engine, to_decimal(VALUE, 10, 2), value=values)
    assert decimals == [*(Decimal(whole) / 100 for whole in cents.values()), 0, 0, None]
    # There is no negative zero among decimals.
    assert {str(decimal) for decimal in decimals if decimal == 0} == {"0.00"}


def test_a_decimal_has_the_digits_that_were_asked_for(engine: Engine) -> None:
    frame = on(engine, pl.LazyFrame({"value": [1.23456]})).select(to_decimal(VALUE, 10, 4))

    assert frame.collect_schema()["value"] == nw.Decimal(10, 4)
    assert collected(frame).rows() == [(Decimal("1.2346"),)]


@pytest.mark.parametrize("value", [100_000_000.0, -100_000_000.0, *BEYOND_ALL_PLACES])
def test_a_double_that_does_not_fit_its_decimal_fails_and_is_not_nulled(engine: Engine, value: float) -> None:
    # Engines have errors of their own, which name what was too large in words of their own.
    with pytest.raises(Exception, match=r"(?i)decimal|overflow|conversion"):
        computed(engine, to_decimal(VALUE, 10, 2), value=[value])


def test_what_fits_a_decimal_of_ten_digits(engine: Engine) -> None:
    fits = {
        99_999_999.99: True,
        -99_999_999.99: True,
        100_000_000.0: False,
        -100_000_000.0: False,
        99_999_999.995: False,
        99_999_999.994_999: True,
        99_999_999.994_999_9: False,
        0.0: True,
        1e12: False,
        inf: False,
        -inf: False,
        nan: False,
        None: None,
    }

    assert computed(engine, fits_decimal(VALUE, 10, 2), value=doubles(*fits)) == list(fits.values())


def test_what_is_said_to_fit_becomes_a_decimal(engine: Engine) -> None:
    near = [99_999_999.995 - 0.1**step for step in range(1, 12)]
    edges = doubles(*near, *(-edge for edge in near))
    said = computed(engine, fits_decimal(VALUE, 10, 2), value=edges)
    fitting = [edge for edge, fits in zip(edges, said, strict=True) if fits]

    assert 0 < len(fitting) < len(edges)
    assert None not in computed(engine, to_decimal(VALUE, 10, 2), value=fitting)


def test_a_quotient_is_rounded_half_away_from_zero(engine: Engine) -> None:
    quotients = {
        (3, 2): "1.50",
        (1, 3): "0.33",
        (2, 3): "0.67",
        (1, 8): "0.13",
        (-1, 8): "-0.13",
        (1, 200): "0.01",
        (1, 201): "0.00",
        (-1, 200): "-0.01",
        (-1, 201): "0.00",
        (0, 7): "0.00",
        (9_999_999_999, 100): "99999999.99",
        (999_999_999_949, 10_000): "99999999.99",
        (99_999_999_994, 1_000): "99999999.99",
    }
    numerators, denominators = zip(*quotients, strict=True)

    found = computed(engine, ratio(nw.col("n"), nw.col("d"), 10, 2), n=numerators, d=denominators)

    assert [str(quotient) for quotient in found] == list(quotients.values())


def test_a_quotient_by_nothing_of_nothing_or_too_large_is_null(engine: Engine) -> None:
    # The last is too large only when it is rounded.
    pairs = [
        (1, 0),
        (0, 0),
        (-5, 0),
        (None, 2),
        (2, None),
        (100_000_000, 1),
        (-100_000_000, 1),
        (99_999_999_995, 1_000),
    ]
    numerators, denominators = zip(*pairs, strict=True)

    found = computed(engine, ratio(nw.col("n"), nw.col("d"), 10, 2), n=wholes(*numerators), d=wholes(*denominators))

    assert found == [None] * len(pairs)


def test_dollars_become_cents(engine: Engine) -> None:
    dollars = pl.Series(["0.01", "-12.34", "9999999999999999.99", None]).cast(pl.Decimal(18, 2))

    assert computed(engine, decimal_units(VALUE, 2), value=dollars) == [1, -1234, 999_999_999_999_999_999, None]


# Numbers as people write them, to six places, and the double next to each.
WRITTEN = st.decimals(min_value=-99_999_999, max_value=99_999_999, places=6)


@pytest.mark.fast
@settings(max_examples=30, deadline=None, derandomize=True)
@given(st.lists(WRITTEN, min_size=1, max_size=20))
def test_every_written_number_of_six_places_rounds_as_on_paper(written: list[Decimal]) -> None:
    on_paper = [number.quantize(Decimal("0.01"), ROUND_HALF_UP) for number in written]

    assert computed(POLARS, to_decimal(VALUE, 10, 2), value=[float(number) for number in written]) == on_paper


@pytest.mark.fast
@settings(max_examples=30, deadline=None, derandomize=True)
@given(st.lists(st.tuples(st.integers(-(10**14), 10**14), st.integers(1, 10**8)), min_size=1, max_size=20))
def test_every_quotient_of_whole_numbers_rounds_as_on_paper(pairs: list[tuple[int, int]]) -> None:
    exact = [
        (Decimal(numerator) / denominator).quantize(Decimal("0.0001"), ROUND_HALF_UP)
        for numerator, denominator in pairs
    ]
    on_paper = [quotient if abs(quotient) < 10**6 else None for quotient in exact]

    found = computed(
        POLARS, ratio(nw.col("n"), nw.col("d"), 10, 4), n=[pair[0] for pair in pairs], d=[pair[1] for pair in pairs]
    )
    assert found == on_paper
