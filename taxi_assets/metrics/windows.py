"""Measures over windows: of the rows whose value of a dimension lies in the window around a result row's value.

The rows are found by their values, so that days without rows count as days. A query has the joined rows once (`base`),
the result's rows with their plain measures (`plain`), and for each windowed measure the value that each result row
stands for (`anchors`) and what its window aggregates (`window`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from sqlglot import exp

from taxi_assets.errors import UsageError
from taxi_assets.metrics.expressions import DATABRICKS, SOURCE, column, columns_of, in_order, named, with_measures
from taxi_assets.metrics.question import Question
from taxi_assets.metrics.view import MetricView, Window

_BASE, _PLAIN, _ANCHOR, _ROW = "base", "plain", "anchor", "one_row"
_AT, _VALUE = "anchored_at", "of_window"


def over_windows(question: Question) -> exp.Select:
    """Write the query of a question of which at least one measure has a window."""
    windows = {name: question.view.measure(name).window[0] for name, one in question.measures.items() if one.windowed}
    base = _Base(question, windows)
    query = exp.select().from_(_PLAIN).with_(_BASE, as_=base.query()).with_(_PLAIN, as_=base.plain())
    values: dict[str, exp.Expr] = {name: column(f"m{n}", _PLAIN) for n, name in enumerate(base.plain_measures)}
    for number, (name, window) in enumerate(windows.items()):
        anchors, computed = f"anchors_{number}", f"window_{number}"
        query = query.with_(anchors, as_=base.anchors(window)).with_(
            computed, as_=base.computed(question.measures[name].expression, window, anchors)
        )
        same = [_same(group, _PLAIN, computed) for group in base.groups]
        query = query.join(computed, on=exp.and_(*same) if same else exp.true(), join_type="left")
        values[name] = column(_VALUE, computed)
    # In the view, what a measure is made of stands before it.
    for name, measure in question.view.measure_expressions.items():
        if measure.parts and name in question.measures:
            values[name] = exp.paren(with_measures(measure.expression, values))
    by = [column(group, _PLAIN) for group in base.groups]
    shown = [*zip(by, question.dimensions, strict=True), *((values[name], name) for name in question.asked)]
    query = query.select(*(named(value, name) for value, name in shown))
    return in_order(query, by)


@dataclass(frozen=True)
class _Base:
    """The rows that all is computed of, under names of their own: whatever the view calls them, none is there twice."""

    question: Question
    windows: Mapping[str, Window]

    @property
    def groups(self) -> list[str]:
        """Columns of the dimensions that the result is grouped by."""
        return [f"d{number}" for number in range(len(self.question.dimensions))]

    @property
    def plain_measures(self) -> dict[str, exp.Expr]:
        """Measures without a window."""
        measures = self.question.measures
        return {name: one.expression for name, one in measures.items() if not one.windowed and not one.parts}

    @cached_property
    def orders(self) -> list[str]:
        """Dimensions that order a window."""
        return sorted({window.order for window in self.windows.values()})

    @cached_property
    def picking(self) -> dict[str, list[exp.Expr]]:
        """For each of these, the conditions that follow from it: they pick rows of the result, not of a window."""
        return {order: _picking(self.question, order) for order in self.orders}

    @cached_property
    def flags(self) -> list[exp.Expr]:
        """Conditions that pick for one order at least; each is a column. The others hold for all rows."""
        return [one for one in self.question.conditions if any(one in picking for picking in self.picking.values())]

    @cached_property
    def measured(self) -> list[exp.Column]:
        """Columns that measures aggregate."""
        of_windows = [self.question.measures[name].expression for name in self.windows]
        return list(dict.fromkeys(columns_of(*self.plain_measures.values(), *of_windows)))

    def query(self) -> exp.Select:
        question = self.question
        orders = [question.view.dimension_expressions[order] for order in self.orders]
        everywhere = [one for one in question.conditions if one not in self.flags]
        values = [
            *zip(self.groups, question.dimensions.values(), strict=True),
            *((f"o{number}", one) for number, one in enumerate(orders)),
            *((f"c{number}", one) for number, one in enumerate(self.measured)),
            *((f"w{number}", exp.func("COALESCE", one, exp.false())) for number, one in enumerate(self.flags)),
        ]
        rows = question.rows([value for _, value in values], everywhere)
        return rows.select(*(named(value, name) for name, value in values))

    def plain(self) -> exp.Select:
        """Return the rows of the result, with the measures that have no window."""
        values = [named(self._of(one, _BASE), f"m{n}") for n, one in enumerate(self.plain_measures.values())]
        # Without measures and dimensions there would be nothing to select.
        return self._of_result([*values, named(exp.func("COUNT", exp.Star()), "count_of_rows")])

    def anchors(self, window: Window) -> exp.Select:
        """Return for each row of the result the value whose window it shows."""
        which = "MAX" if window.semiadditive == "last" else "MIN"
        return self._of_result([named(exp.func(which, column(self._order(window))), _AT)])

    def computed(self, measure: exp.Expr, window: Window, anchors: str) -> exp.Select:
        """Return for each row of the result what its window aggregates; none for an empty window."""
        view = self.question.view
        alike = [
            group
            for group, dimension in zip(self.groups, self.question.dimensions.values(), strict=True)
            if not _follows(view, dimension, window.order)
        ]
        holding = [
            column(f"w{number}", _ROW) for number, one in enumerate(self.flags) if one not in self.picking[window.order]
        ]
        within = [
            _in_window(window, column(self._order(window), _ROW), column(_AT, _ANCHOR)),
            *(_same(group, _ROW, _ANCHOR) for group in alike),
            *holding,
        ]
        by = [column(group, _ANCHOR) for group in self.groups]
        query = exp.select(*(named(one, one.name) for one in by), named(self._of(measure, _ROW), _VALUE))
        query = query.from_(exp.alias_(exp.to_table(anchors), _ANCHOR, table=True))
        query = query.join(exp.alias_(exp.to_table(_BASE), _ROW, table=True), on=exp.and_(*within))
        return query.group_by(*by) if by else query

    def _of_result(self, values: Sequence[exp.Expr]) -> exp.Select:
        """Aggregate the rows that the result is of."""
        by = [column(group) for group in self.groups]
        query = exp.select(*by, *values).from_(_BASE).where(*(column(f"w{n}") for n in range(len(self.flags))))
        return query.group_by(*(one.copy() for one in by)) if by else query

    def _order(self, window: Window) -> str:
        return f"o{self.orders.index(window.order)}"

    def _of(self, expression: exp.Expr, table: str) -> exp.Expr:
        """Write an expression in columns of these rows."""
        return expression.copy().transform(
            lambda node: column(f"c{self.measured.index(node)}", table) if isinstance(node, exp.Column) else node
        )


def _picking(question: Question, order: str) -> list[exp.Expr]:
    picking = []
    for condition in question.conditions:
        follows = {_follows(question.view, one, order) for one in columns_of(condition)}
        if follows == {True, False}:
            raise UsageError(
                f"A part of the condition mixes {order}, which orders a window, with other dimensions. Join parts by "
                f"AND, each either on {order} or on others."
            )
        if follows == {True}:
            picking.append(condition)
    return picking


def assumptions(question: Question) -> dict[str, exp.Select]:
    """Return what a question over windows takes for granted: in words why it can't be answered, if a query finds a row.

    That a column of a joined table follows from the one that orders a window can't be told from the view.
    """
    view, found = question.view, {}
    orders = {view.measure(name).window[0].order for name, one in question.measures.items() if one.windowed}
    used = [*question.dimensions.values(), *(one for part in question.conditions for one in columns_of(part))]
    for order in sorted(orders):
        ordering = view.dimension_expressions[order]
        for one in used:
            if _is_of(one, ordering) or not _is_beside(one, ordering):
                continue
            (join,) = (join for join in view.joins if join.name == next(columns_of(one)).table)
            of_one = exp.Count(this=exp.Distinct(expressions=[one.copy()]))
            query = exp.select("1").from_(exp.alias_(exp.to_table(join.source), join.name, table=True, quoted=True))
            query = query.group_by(ordering.copy()).having(of_one > 1).limit(1)
            name = one.sql(DATABRICKS)
            says = f"{name} doesn't follow from {order}, which orders a window: {join.source} has several for one."
            found[f"{says} Ask without it."] = query
    return found


def _follows(view: MetricView, expression: exp.Expr, order: str) -> bool:
    """Whether an expression is known once the dimension that orders a window is.

    It is, where it is made of that dimension alone, and where both are of one joined table, whose row the dimension is
    taken to stand for; see `assumptions`.
    """
    ordering = view.dimension_expressions[order]
    return _is_of(expression, ordering) or _is_beside(expression, ordering)


def _is_of(expression: exp.Expr, ordering: exp.Expr) -> bool:
    left = expression.copy().transform(lambda node: exp.null() if node.unnest() == ordering else node)
    return not any(columns_of(left))


def _is_beside(expression: exp.Expr, ordering: exp.Expr) -> bool:
    tables = {one.table for one in columns_of(expression, ordering)}
    # What the other is made of is finer, and doesn't follow from it.
    return len(tables) == 1 and SOURCE not in tables and not _is_of(ordering, expression)


def _in_window(window: Window, value: exp.Column, at: exp.Column) -> exp.Expr:
    kind, *extent = window.range.split()
    if kind == "current":
        return value.eq(at)
    if kind == "cumulative":
        return value <= at
    if kind == "all":
        return exp.true()
    count, unit = extent
    interval = exp.Interval(this=exp.Literal.string(count), unit=exp.var(unit.removesuffix("s").upper()))
    if kind == "trailing":
        return exp.and_(value >= exp.Sub(this=at, expression=interval), value < at.copy())
    return exp.and_(value > at, value <= exp.Add(this=at.copy(), expression=interval))


def _same(group: str, one: str, other: str) -> exp.Expr:
    return exp.NullSafeEQ(this=column(group, one), expression=column(group, other))
