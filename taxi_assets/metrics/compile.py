"""From a question to SQL, for DuckDB or for Spark."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from sqlglot import exp

from taxi_assets.metrics.expressions import in_order, named
from taxi_assets.metrics.question import Question
from taxi_assets.metrics.view import MetricView
from taxi_assets.metrics.windows import assumptions, over_windows

Dialect = Literal["duckdb", "spark"]


def compile_query(
    view: MetricView,
    measures: Sequence[str],
    by: Sequence[str] = (),
    where: str | None = None,
    *,
    dialect: Dialect = "duckdb",
) -> str:
    """Write the SQL of some measures by some dimensions: their columns in this order, sorted by the dimensions.

    `where` is a condition on dimensions, in Databricks' SQL. What it says of the dimension that orders a window, and of
    those that follow from that one, picks rows of the result; what it says of others picks rows to compute from, too.
    Raises UsageError for names that the view lacks, and for a condition that is none.
    """
    question = Question.of(view, measures, by, where)
    has_windows = any(measure.windowed for measure in question.measures.values())
    return (over_windows if has_windows else _in_one_pass)(question).sql(dialect)


def compile_checks(
    view: MetricView,
    measures: Sequence[str],
    by: Sequence[str] = (),
    where: str | None = None,
    *,
    dialect: Dialect = "duckdb",
) -> dict[str, str]:
    """Write what is to be asked before a question: SQL by what is to be said, should it find a row.

    Then the question's answer would be wrong: a dimension doesn't follow from the one that orders a window.
    """
    question = Question.of(view, measures, by, where)
    return {says: query.sql(dialect) for says, query in assumptions(question).items()}


def _in_one_pass(question: Question) -> exp.Select:
    by = list(question.dimensions.values())
    values = {name: question.measures[name].expression for name in question.asked}
    query = question.rows([*by, *values.values()], question.conditions)
    query = query.select(*(named(value, name) for name, value in {**question.dimensions, **values}.items()))
    # Names of the result can be names of the source's columns, which would then be grouped by.
    return in_order(query.group_by(*(one.copy() for one in by)) if by else query, by)
