"""Claims about judging: counts, shares and examples of each rule, and the split into kept and quarantined rows.

The contracts are made up; that the real rules say what they should is claimed in tlc/test_rules.py. What follows from
the counts alone is claimed on Polars.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import narwhals.stable.v1 as nw
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from taxi_assets.contracts import Contract, Cost, Frame, Int64, Verdict, column, judge, rule
from taxi_assets.contracts.judge import SAMPLE
from taxi_assets.engines import Engine
from taxi_assets_tests.scenario import POLARS, collected, on


class Boxes(Contract, table="test_judge/boxes", publish_limit=0.5):
    """One row per box."""

    box: Int64 = column("Number of the box.", required=True)
    width: Int64 = column("Width.")
    height: Int64 = column("Height.")

    @rule("width", why="x", source="x", tolerance=0.25)
    def wide_enough(cls, width: nw.Expr) -> nw.Expr:
        return width > 0

    @rule("height", why="x", source="x", cost=Cost.KEPT)
    def seen_before(cls, height: nw.Expr) -> nw.Expr:
        return height < 10

    @rule("width", "height", why="x", source="x", tolerance=0.5)
    def upright(cls, width: nw.Expr, height: nw.Expr) -> nw.Expr:
        return height >= width


class Anything(Contract, table="test_judge/anything"):
    """No rules."""

    box: Int64 = column("Number of the box.", required=True)


def boxes(*sizes: tuple[int | None, int | None], engine: Engine = POLARS) -> Frame:
    """Return boxes of a width and a height, numbered from 1."""
    rows = [(number, *size) for number, size in enumerate(sizes, start=1)]
    schema = {"box": pl.Int64, "width": pl.Int64, "height": pl.Int64}
    return on(engine, pl.LazyFrame(rows, schema=schema, orient="row"))


def judged(*sizes: tuple[int | None, int | None], engine: Engine = POLARS) -> Verdict:
    return judge(Boxes, boxes(*sizes, engine=engine), row_id="box")


def numbers(frame: Frame) -> list[int]:
    return sorted(collected(frame)["box"])


def failed_rules(verdict: Verdict) -> dict[int, list[str]]:
    return dict(collected(verdict.quarantined).select("box", "failed_rules").sort("box").rows())


GOOD, FLAT, NARROW, TALL, NARROW_AND_FALLEN = (2, 5), (5, 2), (0, 5), (2, 50), (-1, -2)


def test_a_row_that_breaks_no_rule_is_kept(engine: Engine) -> None:
    verdict = judged(GOOD, engine=engine)

    assert (numbers(verdict.kept), numbers(verdict.quarantined)) == ([1], [])
    assert (verdict.rows, verdict.rows_quarantined) == (1, 0)


def test_a_row_that_breaks_a_rule_is_quarantined_with_the_rules_name(engine: Engine) -> None:
    verdict = judged(GOOD, NARROW, FLAT, engine=engine)

    assert numbers(verdict.kept) == [1]
    assert failed_rules(verdict) == {2: ["wide_enough"], 3: ["upright"]}


def test_a_row_that_breaks_several_rules_names_them_all_in_the_contracts_order(engine: Engine) -> None:
    assert failed_rules(judged(NARROW_AND_FALLEN, engine=engine)) == {1: ["wide_enough", "upright"]}


def test_a_rule_that_reports_keeps_the_row_and_stays_out_of_failed_rules(engine: Engine) -> None:
    verdict = judged(TALL, (60, 20), engine=engine)

    assert numbers(verdict.kept) == [1]
    assert failed_rules(verdict) == {2: ["upright"]}
    assert {result.rule.name: result.rows_failing for result in verdict.results} == {
        "wide_enough": 0,
        "seen_before": 2,
        "upright": 1,
    }


def test_a_condition_that_is_null_counts_as_kept(engine: Engine) -> None:
    verdict = judged((None, 5), (2, None), (None, None), engine=engine)

    assert numbers(verdict.kept) == [1, 2, 3]
    assert all(result.rows_failing == 0 for result in verdict.results)


def test_both_parts_keep_the_frames_own_columns_and_nothing_of_the_judging(engine: Engine) -> None:
    verdict = judged(GOOD, FLAT, engine=engine)

    assert verdict.kept.collect_schema().names() == ["box", "width", "height"]
    assert verdict.quarantined.collect_schema().names() == ["box", "width", "height", "failed_rules"]
    assert verdict.quarantined.collect_schema()["failed_rules"] == nw.List(nw.String)


@pytest.mark.fast
def test_results_stand_in_the_contracts_order() -> None:
    assert [result.rule for result in judged(GOOD).results] == list(Boxes.rules())


@pytest.mark.fast
def test_a_rule_passes_up_to_its_tolerance_and_fails_above_it() -> None:
    at_the_limit, above_it = judged(NARROW, GOOD, GOOD, GOOD), judged(NARROW, NARROW, GOOD, GOOD, GOOD, GOOD, GOOD)

    assert (at_the_limit.results[0].share, at_the_limit.results[0].passed) == (0.25, True)
    assert (above_it.results[0].share, above_it.results[0].passed) == (2 / 7, False)


@pytest.mark.fast
def test_a_month_is_publishable_up_to_its_limit_and_not_above_it() -> None:
    at_the_limit, above_it = judged(FLAT, NARROW, GOOD, TALL), judged(FLAT, NARROW, NARROW_AND_FALLEN, TALL, GOOD)

    assert (at_the_limit.share_quarantined, at_the_limit.publishable) == (0.5, True)
    assert (above_it.share_quarantined, above_it.publishable) == (0.6, False)


@pytest.mark.fast
def test_a_row_that_breaks_two_rules_is_one_quarantined_row() -> None:
    verdict = judged(NARROW_AND_FALLEN, GOOD)

    assert (verdict.rows_quarantined, verdict.share_quarantined) == (1, 0.5)


def test_examples_carry_the_row_id_and_the_rules_columns(engine: Engine) -> None:
    verdict = judged(GOOD, FLAT, engine=engine)

    assert verdict.results[2].examples == ({"box": 2, "width": 5, "height": 2},)
    assert verdict.results[0].examples == ()


def test_there_are_at_most_five_examples_all_different_and_each_breaks_the_rule(engine: Engine) -> None:
    sizes = [GOOD, FLAT, NARROW, NARROW_AND_FALLEN, TALL, (9, 1), (90, 80)] * 20

    too_narrow, too_tall, fallen = (
        [sizes[example["box"] - 1] for example in result.examples] for result in judged(*sizes, engine=engine).results
    )

    assert [len(examples) for examples in (too_narrow, too_tall, fallen)] == [5, 5, 5]
    assert all(width <= 0 for width, _ in too_narrow)
    assert all(height >= 10 for _, height in too_tall)
    assert all(height < width for width, height in fallen)


@pytest.mark.parametrize("apart", [1, 3, 64])
def test_five_rows_that_break_a_rule_are_five_examples_wherever_they_stand(apart: int, engine: Engine) -> None:
    verdict = judged(*[NARROW, *[GOOD] * (apart - 1)] * 5, engine=engine)

    assert [example["box"] for example in verdict.results[0].examples] == [1 + apart * number for number in range(5)]


@pytest.mark.parametrize("apart", [1, 64])
def test_a_sample_of_quarantined_rows_has_one_of_each_kind_and_says_what_each_breaks(
    apart: int, engine: Engine
) -> None:
    narrow = [NARROW, *[TALL] * (apart - 1)] * 12
    verdict = judged(*narrow, FLAT, NARROW_AND_FALLEN, engine=engine)

    assert len(verdict.sample) == 10
    assert dict(verdict.sample[0]) == {"box": 1, "width": 0, "height": 5, "failed_rules": ["wide_enough"]}
    last = len(narrow) + 1
    assert {row["box"]: row["failed_rules"] for row in verdict.sample[-2:]} == {
        last: ["upright"], last + 1: ["wide_enough", "upright"],
    }  # fmt: skip


@pytest.mark.fast
def test_no_row_is_an_example_twice() -> None:
    for result in judged(*[FLAT, NARROW_AND_FALLEN] * 20).results:
        assert len({example["box"] for example in result.examples}) == len(result.examples)


def test_a_frame_whose_rows_are_all_bad_keeps_none(engine: Engine) -> None:
    verdict = judged(*[NARROW_AND_FALLEN] * 8, engine=engine)

    assert (verdict.rows, verdict.rows_quarantined, verdict.publishable) == (8, 8, False)
    assert numbers(verdict.kept) == []
    assert numbers(verdict.quarantined) == list(range(1, 9))
    assert [result.rows_failing for result in verdict.results] == [8, 0, 8]
    assert len(verdict.results[0].examples) == 5


def test_a_frame_without_rows_breaks_nothing_and_can_be_published(engine: Engine) -> None:
    verdict = judged(engine=engine)

    assert (verdict.rows, verdict.rows_quarantined, verdict.share_quarantined, verdict.publishable) == (0, 0, 0.0, True)
    assert all(result.passed and result.share == 0.0 and result.examples == () for result in verdict.results)


def test_a_contract_without_rules_keeps_every_row(engine: Engine) -> None:
    verdict = judge(Anything, boxes(FLAT, NARROW, engine=engine), row_id="box")

    assert (verdict.rows, verdict.rows_quarantined, verdict.results) == (2, 0, ())
    assert numbers(verdict.kept) == [1, 2]
    assert failed_rules(verdict) == {}


# --- what leaves the engine


class Few(Contract, table="test_judge/few"):
    """Two rules."""

    box: Int64 = column("Number of the box.", required=True)

    @rule("width", why="x", source="x")
    def wide(cls, width: nw.Expr) -> nw.Expr:
        return width > 100

    @rule("height", why="x", source="x", cost=Cost.KEPT)
    def high(cls, height: nw.Expr) -> nw.Expr:
        return height > 100


def with_rules(count: int) -> type[Contract]:
    """Return a contract with some rules more, each of which every box breaks."""

    def named(number: int) -> Any:
        def never(cls: Any, width: nw.Expr) -> nw.Expr:  # noqa: ARG001
            return width > 1_000

        never.__name__ = f"rule_{number}"
        return rule("width", why="x", source="x", cost=Cost.QUARANTINED if number % 2 == 0 else Cost.KEPT)(never)

    rules = {f"rule_{number}": named(number) for number in range(count)}
    return type(f"With{count}", (Few,), {"__doc__": "More rules.", **rules}, table=f"test_judge/with_{count}")


@pytest.mark.full
def test_judging_takes_as_many_spark_jobs_for_many_rules_as_for_few(spark: Engine) -> None:
    context = spark.session().sparkContext  # type: ignore[attr-defined]
    frame = boxes(*[FLAT, GOOD, NARROW] * 10, engine=spark)

    def jobs(contract: type[Contract]) -> int:
        context.setJobGroup(contract.__name__, contract.__name__)
        try:
            judge(contract, frame, row_id="box")
            return len(context.statusTracker().getJobIdsForGroup(contract.__name__))
        finally:
            context.setLocalProperty("spark.jobGroup.id", None)

    few, many = Few, with_rules(18)
    assert (len(few.rules()), len(many.rules())) == (2, 20)

    assert 0 < jobs(few) == jobs(many)


@pytest.mark.full
def test_nothing_but_counts_and_examples_leaves_spark_though_every_row_breaks_a_rule(
    spark: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    frame = boxes(*[FLAT, NARROW_AND_FALLEN] * 500, engine=spark)
    left: list[int] = []
    of_spark = type(nw.to_native(frame))

    def counting(name: str) -> None:
        original = getattr(of_spark, name)

        def hand_over(self: Any, *arguments: Any) -> Any:
            found = original(self, *arguments)
            left.append(found.num_rows if name == "toArrow" else len(found))
            return found

        monkeypatch.setattr(of_spark, name, hand_over)

    for name in ("collect", "toArrow", "toPandas", "take"):
        counting(name)
    verdict = judge(Boxes, frame, row_id="box")

    assert (verdict.rows, verdict.rows_quarantined) == (1_000, 1_000)
    assert [result.rows_failing for result in verdict.results] == [500, 0, 1_000]
    # Groups of rows by what they break and by their numbers' remainders; the number of rows; then at most five examples
    # a rule, and the sample.
    groups, counts, examples = left
    assert (groups, counts) == (64, 1)
    assert 0 < examples <= 5 * len(Boxes.rules()) + SAMPLE


def test_only_rows_that_break_a_rule_are_held_and_all_that_is_asked_of_them_comes_from_there(engine: Engine) -> None:
    held = []

    def hold(rows: Frame) -> Frame:
        held.append(numbers(rows))
        # Whoever asked the frame itself again would see other sizes.
        return rows.with_columns(nw.lit(77).alias("width"), nw.lit(77).alias("height"))

    verdict = judge(Boxes, boxes(GOOD, FLAT, TALL, NARROW, engine=engine), row_id="box", hold=hold)

    assert held == [[2, 3, 4]]
    assert numbers(verdict.kept) == [1, 3]
    assert set(collected(verdict.quarantined)["width"]) == {77}
    shown = [example for result in verdict.results for example in result.examples]
    assert {size for example in shown for name, size in example.items() if name != "box"} == {77}
    assert [result.rows_failing for result in verdict.results] == [1, 1, 1]


# --- any frame


SIZES = st.one_of(st.none(), st.integers(-3, 15))


@pytest.mark.fast
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
