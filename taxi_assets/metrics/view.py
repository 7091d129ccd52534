"""A metric view as it is written: Databricks' YAML 1.1, read with the line of each field, so that errors name it.

What this project can't compute is refused here, field by field, instead of being passed over. The reference is
docs.databricks.com, "Metric view YAML syntax reference".
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Final, Literal, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, model_validator
from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from sqlglot import exp

from taxi_assets.errors import UsageError, first_line
from taxi_assets.metrics.expressions import (
    SOURCE,
    Columns,
    Dimensions,
    MeasureExpression,
    parse,
    require_known,
    resolve,
)

_HERE: Final = Path(__file__).parent
_Named = TypeVar("_Named", bound="_Field")
_Path = tuple[str | int, ...]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, str_min_length=1)


class _Field(_Strict):
    name: str
    expr: str
    comment: str | None = None
    display_name: str | None = None
    synonyms: tuple[str, ...] = ()
    format: Mapping[str, Any] | None = None


class Dimension(_Field):
    """What measures can be grouped and filtered by."""


class Window(_Strict):
    """Which rows a measure is computed of, by the value that a dimension has in them and in the row of the result.

    Where the result isn't grouped by it, `semiadditive` says whose window stands for all: its first or last value's.
    """

    order: str
    range: str = Field(pattern=r"^(current|cumulative|all|(trailing|leading) [1-9][0-9]* (day|month|year)s?)$")
    semiadditive: Literal["first", "last"]


class Measure(_Field):
    """An aggregation, of all rows or of a window's."""

    window: tuple[Window, ...] = Field(default=(), max_length=1)


class Rely(_Strict):
    """What a join promises."""

    at_most_one_match: bool


class Join(_Strict):
    """A table whose columns belong to a row of the source, looked up by a condition or by columns of one name.

    One that promises at most one match is left out of a query that asks for none of its columns.
    """

    name: str
    source: str
    on: str | None = None
    using: tuple[str, ...] = ()
    rely: Rely | None = None

    @model_validator(mode="after")
    def _has_a_condition(self) -> Join:
        if (self.on is None) == (not self.using):
            raise ValueError("a join has either 'on' or 'using'")
        return self

    @property
    def condition(self) -> str:
        """The condition in SQL, however it is written in the view."""
        equal = (f"{SOURCE}.`{name}` = `{self.name}`.`{name}`" for name in self.using)
        return self.on or " AND ".join(equal)

    @property
    def may_be_left_out(self) -> bool:
        """Whether a row of the source stays one row, joined or not."""
        return self.rely is not None and self.rely.at_most_one_match


class MetricView(_Strict):
    """A view: a source, what is joined to it, and the dimensions and measures over both."""

    version: Annotated[Literal["1.1"], BeforeValidator(str)]
    """Without quotes, as Databricks' own examples have it, it is a number in YAML."""
    source: str
    comment: str | None = None
    filter: str | None = None
    joins: tuple[Join, ...] = ()
    dimensions: tuple[Dimension, ...] = Field(min_length=1)
    measures: tuple[Measure, ...] = Field(min_length=1)

    def dimension(self, name: str) -> Dimension:
        """Return a dimension. Raises UsageError naming what there is."""
        return _the("dimension", name, self.dimensions)

    def measure(self, name: str) -> Measure:
        """Return a measure. Raises UsageError naming what there is."""
        return _the("measure", name, self.measures)

    @cached_property
    def dimension_expressions(self) -> Dimensions:
        """What each dimension is, in columns of the source and the joined tables."""
        known: Dimensions = {}
        for dimension in self.dimensions:
            known[dimension.name] = resolve(parse(dimension.expr), self.relations, known)
        return known

    @cached_property
    def measure_expressions(self) -> Mapping[str, MeasureExpression]:
        """What each measure aggregates, in the same columns."""
        known: dict[str, MeasureExpression] = {}
        for measure in self.measures:
            expression = resolve(parse(measure.expr, aggregates=True), self.relations, self.dimension_expressions)
            known[measure.name] = MeasureExpression.of(expression, known, windowed=bool(measure.window))
        return known

    @property
    def relations(self) -> list[str]:
        """Names by which expressions say whose column they mean."""
        return [SOURCE, *(join.name for join in self.joins)]


def load_view(path: Path, tables: Mapping[str, Columns] | None = None) -> MetricView:
    """Read a view. `tables` are the columns of the tables that there are; a view that needs others is refused then.

    Raises UsageError naming the file, the line and the field: for what is no metric view, and for what isn't supported.
    """
    try:
        text = path.read_text(encoding="utf-8")
        # YAML 1.2, as Databricks: in 1.1 a join's `on` would be the boolean.
        document = YAML(typ="rt").load(text)
    except OSError as error:
        raise UsageError(f"{path} can't be read: {error.strerror}.") from error
    except MarkedYAMLError as error:
        line = f", line {error.problem_mark.line + 1}" if error.problem_mark else ""
        raise UsageError(f"{path.name}{line}: this is no YAML: {error.problem}.") from None
    except RecursionError:
        raise UsageError(f"{path.name}: this is no YAML: it is nested too deep.") from None
    except (YAMLError, UnicodeDecodeError) as error:
        raise UsageError(f"{path.name}: this is no YAML: {first_line(error).rstrip('.')}.") from None
    try:
        view = MetricView.model_validate(document)
    except ValidationError as error:
        raise UsageError(
            "\n".join(_says(path, document, problem["loc"], _problem(problem)) for problem in error.errors())
        ) from None
    for where, problem in _problems(view, tables):
        raise UsageError(_says(path, document, where, problem))
    return view


def shipped_views() -> dict[str, Path]:
    """Return the views that come with the package, by name."""
    return {path.stem: path for path in sorted(_HERE.glob("*.yaml"))}


def _problems(view: MetricView, tables: Mapping[str, Columns] | None) -> Iterator[tuple[_Path, str]]:
    """Find what is wrong with a view's names and expressions: where, and what. The first is enough."""
    yield from _repeated_names(view)
    columns: dict[str, Columns | None] = {}
    sources: list[tuple[str, str, _Path]] = [
        (SOURCE, view.source, ("source",)),
        *((join.name, join.source, ("joins", number, "source")) for number, join in enumerate(view.joins)),
    ]
    for relation, table, where in sources:
        columns[relation] = None if tables is None else tables.get(table)
        if tables is not None and table not in tables:
            yield where, _no_such("table", table, tables)

    def found(text: str, known: Dimensions, *, aggregates: bool = False) -> exp.Expr:
        expression = resolve(parse(text, aggregates=aggregates), view.relations, known)
        require_known(expression, columns)
        return expression

    dimensions: Dimensions = {}
    measures: dict[str, MeasureExpression] = {}
    where = ()
    try:
        for number, join in enumerate(view.joins):
            where = ("joins", number, "using" if join.using else "on")
            # Of another join it would be a nested one.
            require_known(resolve(parse(join.condition), [SOURCE, join.name], {}), columns)
        where = ("filter",)
        found(view.filter or "TRUE", {})
        for number, dimension in enumerate(view.dimensions):
            where = ("dimensions", number, "expr")
            dimensions[dimension.name] = found(dimension.expr, dimensions)
        for number, measure in enumerate(view.measures):
            where = ("measures", number, "expr")
            expression = found(measure.expr, dimensions, aggregates=True)
            measures[measure.name] = MeasureExpression.of(expression, measures, windowed=bool(measure.window))
            where = ("measures", number, "window", 0, "order")
            for window in measure.window:
                view.dimension(window.order)
    except UsageError as error:
        yield where, str(error)


def _repeated_names(view: MetricView) -> Iterator[tuple[_Path, str]]:
    seen: set[str] = set()
    fields = [
        *((("dimensions", number, "name"), one.name) for number, one in enumerate(view.dimensions)),
        *((("measures", number, "name"), one.name) for number, one in enumerate(view.measures)),
    ]
    for where, name in fields:
        if name.casefold() in seen:
            yield where, f"there is another {name}; names of dimensions and measures are unique."
        seen.add(name.casefold())
    joined: set[str] = {SOURCE}
    for number, join in enumerate(view.joins):
        if join.name.casefold() in joined:
            yield ("joins", number, "name"), f"there is another {join.name}; names of joins are unique."
        joined.add(join.name.casefold())


def _the(kind: str, name: str, fields: Sequence[_Named]) -> _Named:
    found = [field for field in fields if field.name == name]
    if not found:
        raise UsageError(_no_such(kind, name, [field.name for field in fields]))
    return found[0]


def _no_such(kind: str, name: str, there: Iterable[str]) -> str:
    there = list(there)
    near = difflib.get_close_matches(name, there, 1)
    return f"There is no {kind} '{name}'. " + (f"Is it {near[0]}?" if near else f"There are: {', '.join(there)}.")


def _problem(problem: Any) -> str:
    if problem["type"] == "extra_forbidden":
        return "this field isn't supported."
    if problem["type"] == "missing":
        return "this field is missing."
    return f"{problem['msg'].removeprefix('Value error, ')}."


def _says(path: Path, document: Any, where: _Path, problem: str) -> str:
    """Say where a field stands, by its line and by the names of what it is in."""
    line, names = 1, []
    node = document
    for step in where:
        try:
            marks = node.lc.key(step) if isinstance(step, str) else node.lc.item(step)
            line, node = marks[0] + 1, node[step]
        except (AttributeError, KeyError, IndexError, TypeError):
            names.append(str(step))
            node = None
            continue
        name = node.get("name") if isinstance(step, int) and hasattr(node, "get") else step
        names.append(str(name if name is not None else step))
    return f"{path.name}, line {line}, {'.'.join(names) or 'the whole'}: {problem}"
