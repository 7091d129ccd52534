"""The SQL expressions of a metric view: Databricks' SQL in, trees of columns out.

Only functions of which it is known that DuckDB and Spark compute the same are let in: of those that are merely called
alike some count weekdays from another day. Averages and ratios of decimals are doubles on DuckDB, and on Spark decimals
of so many places that the two agree to the sixth at least.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from taxi_assets.errors import UsageError

DATABRICKS: Final = "databricks"
SOURCE: Final = "source"
"""The name by which expressions call the view's source."""

Columns = Collection[str]
Dimensions = dict[str, exp.Expr]

_AGGREGATES: Final = (exp.Sum, exp.Count, exp.Avg, exp.Min, exp.Max, exp.CountIf)
_OF_A_DATE: Final = (exp.Year, exp.Month, exp.Day)
_FUNCTIONS: Final = (
    *_AGGREGATES,
    # Written as operators or clauses, though the parser calls them functions.
    exp.And, exp.Or, exp.Cast, exp.Case, exp.If,
    exp.SafeDivide, exp.Nullif, exp.Coalesce, exp.Abs,
    exp.TimestampTrunc, exp.DateTrunc, *_OF_A_DATE,
    exp.Upper, exp.Lower,
)  # fmt: skip
_CALLED: Final = {"safe_divide": "try_divide", "timestamp_trunc": "date_trunc"}
"""What Databricks calls functions for which the parser has names of its own."""
_NOT_IN_AN_EXPRESSION: Final = (
    exp.Query,
    exp.Block,
    exp.Window,
    exp.Star,
    exp.Parameter,
    exp.Placeholder,
    exp.DDL,
    exp.Command,
)
_MEASURE: Final = "MEASURE"


def parse(text: str, *, aggregates: bool = False) -> exp.Expr:
    """Read an expression; `aggregates` says whether it must aggregate. Raises UsageError saying what is wrong."""
    try:
        expression = sqlglot.parse_one(text, dialect=DATABRICKS)
    except SqlglotError as error:
        details = getattr(error, "errors", None)
        says = details[0]["description"] if details else str(error).splitlines()[0]
        raise UsageError(f"this is no SQL expression: {says.rstrip('.')}.") from None
    except RecursionError:
        raise UsageError("this is no SQL expression: it is nested too deep.") from None
    for node in expression.walk():
        if isinstance(node, _NOT_IN_AN_EXPRESSION) and not isinstance(node.parent, exp.Count):
            raise UsageError(f"{node.sql(DATABRICKS)} isn't supported; an expression is of columns and functions.")
        if isinstance(node, exp.Cast) and node.to.this in exp.DataType.INTEGER_TYPES:
            raise UsageError(f"{node.sql(DATABRICKS)} isn't supported: DuckDB rounds what Spark cuts off.")
        if isinstance(node, exp.Func) and not _is_known(node):
            name = node.name if isinstance(node, exp.Anonymous) else node.sql_name()
            names = [function.sql_name().lower() for function in _FUNCTIONS]
            known = ", ".join(sorted({_CALLED.get(one, one) for one in names}))
            raise UsageError(f"the function {name.lower()} isn't supported. Supported are: {known}.")
    does = any(isinstance(node, _AGGREGATES) or _is_measure(node) for node in expression.walk())
    if does and not aggregates:
        raise UsageError("this aggregates; only a measure does.")
    if aggregates and not does:
        raise UsageError("a measure aggregates: SUM(...), COUNT(*), or MEASURE(...) of other measures.")
    if aggregates:
        _require_one_level(expression)
    return expression


def resolve(expression: exp.Expr, relations: Sequence[str], dimensions: Mapping[str, exp.Expr]) -> exp.Expr:
    """Write names out: a dimension's as what it is, any other column's with whose it is. Raises UsageError."""

    def written_out(node: exp.Expr) -> exp.Expr:
        if not isinstance(node, exp.Column) or _is_measure(node.parent):
            return node
        if len(node.parts) == 1 and node.name in dimensions:
            return _enclosed(dimensions[node.name])
        *owners, _ = (part.name for part in node.parts)
        owner = owners[0] if owners else SOURCE
        if len(owners) > 1 or owner not in relations:
            raise UsageError(
                f"{node.sql(DATABRICKS)}: there is no '{'.'.join(owners)}'. There are: {', '.join(relations)}."
            )
        return column(node.name, owner)

    return expression.copy().transform(written_out)


def column(name: str, table: str | None = None) -> exp.Column:
    """Return a column, by its name as it is."""
    owner = None if table is None else exp.to_identifier(table, quoted=True)
    return exp.column(exp.to_identifier(name, quoted=True), table=owner)


def named(value: exp.Expr, name: str) -> exp.Expr:
    """Give a value a name in the result."""
    return exp.alias_(value.copy(), name, quoted=True)


def in_order(query: exp.Select, by: Sequence[exp.Expr]) -> exp.Select:
    """Sort a query's rows, nulls first on whatever engine."""
    return query.order_by(*(exp.Ordered(this=one.copy(), nulls_first=True) for one in by)) if by else query


def columns_of(*expressions: exp.Expr) -> Iterator[exp.Column]:
    """Yield the columns that expressions name, as often as they do."""
    for expression in expressions:
        yield from (found for found in expression.find_all(exp.Column) if not _is_measure(found.parent))


def require_known(expression: exp.Expr, columns: Mapping[str, Columns | None]) -> None:
    """Raise UsageError for a column that its table lacks."""
    for used in columns_of(expression):
        there = columns[used.table]
        if there is not None and used.name not in there:
            raise UsageError(f"{used.table} has no column '{used.name}'. It has: {', '.join(there)}.")


@dataclass(frozen=True, slots=True)
class MeasureExpression:
    """What a measure aggregates, of all rows or, where it is `windowed`, of a window's.

    One that is made of windowed measures has `parts`: measures that are computed first, each by itself.
    """

    expression: exp.Expr
    windowed: bool = False
    parts: tuple[str, ...] = ()

    @classmethod
    def of(cls, expression: exp.Expr, known: Mapping[str, MeasureExpression], *, windowed: bool) -> MeasureExpression:
        """Write out the measures that an expression names, which stand before it in the view. Raises UsageError."""
        named = measures_in(expression)
        for name in named:
            if name not in known:
                raise UsageError(f"there is no measure '{name}' before this one.")
        if not any(known[name].windowed or known[name].parts for name in named):
            written_out = with_measures(expression, {name: _enclosed(known[name].expression) for name in named})
            return cls(written_out, windowed)
        if windowed or any(isinstance(node, _AGGREGATES) for node in expression.walk()):
            raise UsageError("a measure of measures over windows can neither aggregate nor have a window itself.")
        return cls(expression, parts=tuple(dict.fromkeys(named)))


def measure_named(node: exp.Expr) -> str:
    """Return the name in a MEASURE(name)."""
    return str(node.expressions[0].name)


def measures_in(expression: exp.Expr) -> list[str]:
    """Return the names of the measures that an expression names."""
    return [measure_named(node) for node in expression.walk() if _is_measure(node)]


def with_measures(expression: exp.Expr, values: Mapping[str, exp.Expr]) -> exp.Expr:
    """Put values in the place of the measures that an expression names."""
    return expression.copy().transform(lambda node: values[measure_named(node)].copy() if _is_measure(node) else node)


def _require_one_level(measure: exp.Expr) -> None:
    """Raise UsageError for an aggregate within another one, and for a column that is in none."""
    for node in measure.walk():
        within = node.find_ancestor(*_AGGREGATES, exp.Where)
        if within and (isinstance(node, _AGGREGATES) or _is_measure(node)):
            raise UsageError(f"{node.sql(DATABRICKS)} is already an aggregate, and can't be within another one.")
        if isinstance(node, exp.Column) and not within and not _is_measure(node.parent):
            raise UsageError(f"{node.sql(DATABRICKS)} isn't aggregated: put it into SUM(...), MIN(...) or the like.")


def _is_known(function: exp.Func) -> bool:
    # The parser puts a conversion to a date into YEAR(...) and its kin.
    is_part_of_known = isinstance(function, exp.TsOrDsToDate) and isinstance(function.parent, _OF_A_DATE)
    return isinstance(function, _FUNCTIONS) or is_part_of_known or _is_measure(function)


def _enclosed(expression: exp.Expr) -> exp.Expr:
    plain = isinstance(expression, (exp.Column, exp.Literal, exp.Func))
    return expression.copy() if plain else exp.paren(expression.copy())


def _is_measure(node: exp.Expr | None) -> bool:
    return isinstance(node, exp.Anonymous) and node.name.upper() == _MEASURE and len(node.expressions) == 1
