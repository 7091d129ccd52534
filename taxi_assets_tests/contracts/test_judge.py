"""Claims about judging: counts, shares and examples of each rule, and the split into kept and quarantined rows.

The contract is made up; that the real rules say what they should is claimed in tlc/test_rules.py.
"""

from __future__ import annotations

from collections.abc import Sequence

import narwhals.stable.v1 as nw
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from taxi_assets.contracts import Contract, Int64, Verdict, column, judge, rule

pytestmark = pytest.mark.fast


class Boxes(Contract, table="test_judge/boxes", publish_limit=0.5):
    """One row per box."""

    box: Int64 = column("Number of the box.", required=True)
    width: Int64 = column("Width.")
    height: Int64 = column("Height.")

    @rule("width", why="x", source="x", tolerance=0.25)
    def wide_enough(cls, width: nw.Expr) -> nw.Expr:
        return width > 0

    @rule("height", why="x", source="x", quarantines=False)
    def seen_before(cls, height: nw.Expr) -> nw.Expr:
        return height < 10

    @rule("width", "height", why="x", source="x", tolerance=0.5)
    def upright(cls, width: nw.Expr, height: nw.Expr) -> nw.Expr:
        return height >= width


class Anything(Contract, table="test_judge/anything"):
    """No rules."""

    box: Int64 = column("Number of the box.", required=True)


def boxes(*sizes: tuple[int | None, int | None]) -> nw.LazyFrame:
    """Return boxes of a width and a height, numbered from 1."""
    rows = [(number, *size) for number, size in enumerate(sizes, start=1)]
    schema = {"box": pl.Int64, "width": pl.Int64, "height": pl.Int64}
    return nw.from_native(pl.LazyFrame(rows, schema=schema, orient="row"))


def judged(*sizes: tuple[int | None, int | None]) -> Verdict:
    return judge(Boxes, boxes(*sizes), row_id="box")


def numbers(frame: nw.LazyFrame) -> list[int]:
    found: list[int] = frame.select("box").collect().to_native()["box"].to_list()
    return found


def failed_rules(verdict: Verdict) -> dict[int, list[str]]:
    rows = verdict.quarantined.select("box", "failed_rules").collect().rows()
    return dict(rows)


GOOD, FLAT, NARROW, TALL, NARROW_AND_FALLEN = (2, 5), (5, 2), (0, 5), (2, 50), (-1, -2)


def test_a_row_that_breaks_no_rule_is_kept() -> None:
    verdict = judged(GOOD)

    assert (numbers(verdict.kept), numbers(verdict.quarantined)) == ([1], [])
    assert (verdict.rows, verdict.rows_quarantined) == (1, 0)


def test_a_row_that_breaks_a_rule_is_quarantined_with_the_rules_name() -> None:
    verdict = judged(GOOD, NARROW, FLAT)

    assert numbers(verdict.kept) == [1]
    assert failed_rules(verdict) == {2: ["wide_enough"], 3: ["upright"]}


def test_a_row_that_breaks_several_rules_names_them_all_in_the_contracts_order() -> None:
    assert failed_rules(judged(NARROW_AND_FALLEN)) == {1: ["wide_enough", "upright"]}


def test_a_rule_that_reports_keeps_the_row_and_stays_out_of_failed_rules() -> None:
    verdict = judged(TALL, (60, 20))

    assert numbers(verdict.kept) == [1]
    assert failed_rules(verdict) == {2: ["upright"]}
    assert {result.rule.name: result.rows_failing for result in verdict.results} == {
        "wide_enough": 0,
        "seen_before": 2,
        "upright": 1,
    }


def test_a_condition_that_is_null_counts_as_kept() -> None:
    verdict = judged((None, 5), (2, None), (None, None))

    assert numbers(verdict.kept) == [1, 2, 3]
    assert all(result.rows_failing == 0 for result in verdict.results)


def test_both_parts_keep_the_frames_own_columns_and_nothing_of_the_judging() -> None:
    verdict = judged(GOOD, FLAT)

    assert verdict.kept.collect_schema().names() == ["box", "width", "height"]
    assert verdict.quarantined.collect_schema().names() == ["box", "width", "height", "failed_rules"]
    assert verdict.quarantined.collect_schema()["failed_rules"] == nw.List(nw.String)


def test_results_stand_in_the_contracts_order() -> None:
    assert [result.rule for result in judged(GOOD).results] == list(Boxes.rules())


def test_a_rule_passes_up_to_its_tolerance_and_fails_above_it() -> None:
    at_the_limit, above_it = judged(NARROW, GOOD, GOOD, GOOD), judged(NARROW, NARROW, GOOD, GOOD, GOOD, GOOD, GOOD)

    assert (at_the_limit.results[0].share, at_the_limit.results[0].passed) == (0.25, True)
    assert (above_it.results[0].share, above_it.results[0].passed) == (2 / 7, False)


def test_a_month_is_publishable_up_to_its_limit_and_not_above_it() -> None:
    at_the_limit, above_it = judged(FLAT, NARROW, GOOD, TALL), judged(FLAT, NARROW, NARROW_AND_FALLEN, TALL, GOOD)

    assert (at_the_limit.share_quarantined, at_the_limit.publishable) == (0.5, True)
    assert (above_it.share_quarantined, above_it.publishable) == (0.6, False)


def test_a_row_that_breaks_two_rules_is_one_quarantined_row() -> None:
    verdict = judged(NARROW_AND_FALLEN, GOOD)

    assert (verdict.rows_quarantined, verdict.share_quarantined) == (1, 0.5)


def test_examples_carry_the_row_id_and_the_rules_columns() -> None:
    verdict = judged(GOOD, FLAT)

    assert verdict.results[2].examples == ({"box": 2, "width": 5, "height": 2},)
    assert verdict.results[0].examples == ()


def test_there_are_at_most_five_examples_all_different_and_each_breaks_the_rule() -> None:
    sizes = [GOOD, FLAT, NARROW, NARROW_AND_FALLEN, TALL, (9, 1), (90, 80)] * 20

    too_narrow, too_tall, fallen = (
        [sizes[example["box"] - 1] for example in result.examples] for result in judged(*sizes).results
    )

    assert [len(examples) for examples in (too_narrow, too_tall, fallen)] == [5, 5, 5]
    assert all(width <= 0 for width, _ in too_narrow)
    assert all(height >= 10 for _, height in too_tall)
    assert all(height < width for width, height in fallen)


def test_no_row_is_an_example_twice() -> None:
    for result in judged(*[FLAT, NARROW_AND_FALLEN] * 20).results:
        assert len({example["box"] for example in result.examples}) == len(result.examples)


def test_a_frame_whose_rows_are_all_bad_keeps_none() -> None:
    verdict = judged(*[NARROW_AND_FALLEN] * 8)

    assert (verdict.rows, verdict.rows_quarantined, verdict.publishable) == (8, 8, False)
    assert numbers(verdict.kept) == []
    assert numbers(verdict.quarantined) == list(range(1, 9))
    assert [result.rows_failing for result in verdict.results] == [8, 0, 8]
    assert len(verdict.results[0].examples) == 3  # all in one group, of which three are named


def test_a_frame_without_rows_breaks_nothing_and_can_be_published() -> None:
    verdict = judged()

    assert (verdict.rows, verdict.rows_quarantined, verdict.share_quarantined, verdict.publishable) == (0, 0, 0.0, True)
    assert all(result.passed and result.share == 0.0 and result.examples == () for result in verdict.results)


def test_a_contract_without_rules_keeps_every_row() -> None:
    verdict = judge(Anything, boxes(FLAT, NARROW), row_id="box")

    assert (verdict.rows, verdict.rows_quarantined, verdict.results) == (2, 0, ())
    assert numbers(verdict.kept) == [1, 2]
    assert failed_rules(verdict) == {}


SIZES = st.one_of(st.none(), st.integers(-3, 15))


@settings(max_examples=25, deadline=None, derandomize=True)
@given(st.lists(st.tuples(SIZES, SIZES), max_size=12))
def test_kept_and_quarantined_are_all_rows_and_none_is_both(sizes: Sequence[tuple[int | None, int | None]]) -> None:
    verdict = judged(*sizes)

    broken = {
        number: names
        for number, (width, height) in enumerate(sizes, start=1)
        if (
            names := [
                *(["wide_enough"] if width is not None and width <= 0 else []),
                *(["upright"] if width is not None and height is not None and height < width else []),
            ]
        )
    }
    assert failed_rules(verdict) == broken
    assert numbers(verdict.kept) == [number for number in range(1, len(sizes) + 1) if number not in broken]
    assert (verdict.rows, verdict.rows_quarantined) == (len(sizes), len(broken))
