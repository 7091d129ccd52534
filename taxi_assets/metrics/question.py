"""A question: some measures of a view by some dimensions, under a condition; and the joined rows that answer it.

Joins that the question doesn't need aren't in the SQL.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from sqlglot import exp

from taxi_assets.errors import UsageError
from taxi_assets.metrics.expressions import SOURCE, MeasureExpression, columns_of, parse, resolve
from taxi_assets.metrics.view import MetricView


@dataclass(frozen=True)
class Question:
    """What is asked, with its names written out in columns of the source and the joined tables."""

    view: MetricView
    asked: Sequence[str]
    measures: Mapping[str, MeasureExpression]
    """Those that are asked for, and those that they are made of, which stand behind them."""
    dimensions: Mapping[str, exp.Expr]
    conditions: Sequence[exp.Expr]
    """All of them must hold."""

    @classmethod
    def of(cls, view: MetricView, measures: Sequence[str], by: Sequence[str], where: str | None) -> Question:
        """Write a question out. Raises UsageError for names that the view lacks, and for a condition that is none."""
        names = [*measures, *by]
        repeated = sorted({name for name in names if names.count(name) > 1})
        if not measures or repeated:
            raise UsageError(f"Asked for more than once: {', '.join(repeated)}." if measures else "Which measures?")
        found: dict[str, MeasureExpression] = {}
        left = [view.measure(name).name for name in measures]
        while left:
            name = left.pop(0)
            found[name] = view.measure_expressions[name]
            left += [part for part in found[name].parts if part not in found]
        dimensions = {view.dimension(name).name: view.dimension_expressions[name] for name in by}
        return cls(view, measures, found, dimensions, _conditions(view, where))

    def rows(self, used: Iterable[exp.Expr], conditions: Iterable[exp.Expr]) -> exp.Select:
        """Return a query that selects nothing yet, of the rows that hold what some expressions use.

        The source, the joins that are needed, and the view's filter and some conditions.
        """
        view = self.view
        of_view = [] if view.filter is None else [resolve(parse(view.filter), view.relations, {})]
        filters = [*of_view, *conditions]
        relations = {used_column.table for used_column in columns_of(*used, *filters)}
        query = exp.select().from_(exp.alias_(exp.to_table(view.source), SOURCE, table=True, quoted=True))
        for join in view.joins:
            if join.name in relations or not join.may_be_left_out:
                table = exp.alias_(exp.to_table(join.source), join.name, table=True, quoted=True)
                query = query.join(table, on=resolve(parse(join.condition), view.relations, {}), join_type="left")
        return query.where(*filters)


def _conditions(view: MetricView, where: str | None) -> list[exp.Expr]:
    if where is None:
        return []
    try:
        condition = parse(where)
        for named in columns_of(condition):
            view.dimension(".".join(part.name for part in named.parts))
    except UsageError as error:
        raise UsageError(f"The condition {where}: {error}") from None
    parts = condition.flatten() if isinstance(condition, exp.And) else [condition]
    return [resolve(part, view.relations, view.dimension_expressions) for part in parts]
