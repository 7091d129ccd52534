"""Contracts: a table's columns, types, descriptions and rules, in one class. judge.py evaluates the rules.

A contract is a Pandera DataFrameModel whose class line says where the table stands and how its rows are replaced.
"""

from __future__ import annotations

import inspect
import types
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cache
from typing import Any, ClassVar, TypeVar

import narwhals.stable.v1 as nw
import pandera.polars as pa

from taxi_assets.calendars import Calendar
from taxi_assets.contracts.types import Dtype, Strings, dtype_of
from taxi_assets.errors import ContractError

_MethodT = TypeVar("_MethodT", bound=Callable[..., Any])


def column(
    description: str = "", *, unit: str = "", required: bool = False, after: str = "", alias: str | None = None
) -> Any:
    """Describe one column of a contract.

    `description` may be left out where the contract's upstream describes a column of the same name. `unit` is the unit
    of its values (USD, miles). `required` means that no stored row may hold a null. `after` names the column behind
    which this one stands, for a contract that adds to another's columns. `alias` is the column's name where Python or
    Pandera can't have it.
    """
    metadata = {"unit": unit, "after": after}
    return pa.Field(description=description or None, nullable=not required, metadata=metadata, alias=alias)


@dataclass(frozen=True, slots=True)
class Column:
    """One column of a table, as its contract declares it."""

    name: str
    dtype: Dtype
    description: str
    unit: str
    required: bool


class Cost(StrEnum):
    """What a row costs that breaks a rule. In Databricks' DLT: ``expect``, ``expect_or_drop``, ``expect_or_fail``."""

    KEPT = "kept and counted"
    QUARANTINED = "quarantined"
    FAILS = "fatal: nothing of the partition is published"


@dataclass(frozen=True, slots=True)
class Rule:
    """One named condition on a row. A row keeps the rule where the condition is null, as a value is missing.

    `columns` are what it reads, and what its example rows show; `says` is the condition in words. `cost` is what a row
    costs that breaks it. `tolerance` is the share of a partition's rows (0 to 1) that may break it before its check
    fails; a rule that fails has none.
    """

    name: str
    says: str
    columns: tuple[str, ...]
    tolerance: float
    cost: Cost
    why: str
    source: str
    evaluate: Callable[..., nw.Expr] = field(repr=False, compare=False)

    @property
    def quarantines(self) -> bool:
        """Whether a row that breaks it is quarantined."""
        return self.cost is Cost.QUARANTINED

    @property
    def fails(self) -> bool:
        """Whether one row that breaks it keeps the whole partition from being published."""
        return self.cost is Cost.FAILS

    @property
    def breaks(self) -> nw.Expr:
        """An expression that is true for the rows that break this rule, never null."""
        return (~self.evaluate(*(nw.col(name) for name in self.columns))).fill_null(False)


def rule(
    *columns: str, why: str, source: str, tolerance: float = 0.0, cost: Cost = Cost.QUARANTINED
) -> Callable[[_MethodT], Any]:
    """Declare a method of a contract as a rule: its name is the rule's name everywhere, its docstring says it.

    The method receives the named columns as Narwhals expressions and returns one: true where the row keeps the rule.
    The fields are those of `Rule`. A rule is asked of the values as they arrive and again of what is stored, which may
    be rounded: compare with <= and >= to values that the column's type can hold, and rounding takes no row across.
    """
    if not 0 <= tolerance <= 1:
        raise ContractError(f"A rule's tolerance is a share between 0 and 1, not {tolerance}.")
    if cost is Cost.FAILS and tolerance:
        raise ContractError("A rule that fails has no tolerance: one row that breaks it is too many.")

    def declare(method: _MethodT) -> Any:
        def over_frame(cls: type[Contract], _frame: Any) -> nw.Expr:
            result: nw.Expr = method(cls, *(nw.col(name) for name in columns))
            return result

        over_frame.__name__, over_frame.__doc__ = method.__name__, why
        check = pa.dataframe_check(name=method.__name__, description=why, native=False, raise_warning=cost is Cost.KEPT)
        declared: Any = check(over_frame)
        says = " ".join((inspect.getdoc(method) or "").split())
        declared.rule = Rule(method.__name__, says, columns, tolerance, cost, why, source, method)
        return declared

    return declare


@dataclass(frozen=True, slots=True)
class Table:
    """Where a contract's table stands, and how a run replaces rows in it.

    `key` is ``<catalog>_<layer>/<name>``: the asset key, the path below the lake's root and, with a dot, the SQL name.
    `calendar` has the periods that its asset is run for; None for a table whose asset says that itself. `replaced_by`
    names the columns whose values select the rows that a run replaces: the calendar's, unless there is a `sequence`.
    Then the table is upserted row by row: `keys` make a row unique, and the highest `sequence` wins, of equal ones the
    highest `ties`, in their order. `keys` without one are what must be unique in the stored table. `publish_limit` is
    the share of a partition's rows (0 to 1) that may be quarantined; above it nothing is published.
    """

    key: str
    calendar: Calendar | None = None
    replaced_by: tuple[str, ...] = ()
    keys: tuple[str, ...] = ()
    sequence: str = ""
    ties: tuple[str, ...] = ()
    publish_limit: float = 1.0

    @property
    def path(self) -> tuple[str, str]:
        """The key's two parts, as an asset key has them."""
        schema, _, name = self.key.partition("/")
        return schema, name

    @property
    def sql_name(self) -> str:
        """The table's name in SQL: ``sales_gold.revenue``."""
        return ".".join(self.path)


class Contract(pa.DataFrameModel):
    """Base of all contracts. A subclass that names a table is its contract; one that doesn't is a part of others.

    The class line takes the fields of `Table` (``table=`` is its key, ``partition=`` its calendar) and two more:
    `upstream`, a contract whose descriptions hold for columns of the same name, and `tolerances`, for inherited rules
    whose tolerance differs here.
    """

    class Config:
        strict = True

    _table: ClassVar[Table | None] = None
    _upstream: ClassVar[type[Contract] | None] = None
    _tolerances: ClassVar[dict[str, float]] = {}

    def __init_subclass__(
        cls,
        *,
        table: str = "",
        partition: Calendar | None = None,
        replaced_by: tuple[str, ...] = (),
        keys: tuple[str, ...] = (),
        sequence: str = "",
        ties: tuple[str, ...] = (),
        publish_limit: float = 1.0,
        upstream: type[Contract] | None = None,
        tolerances: dict[str, float] | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init_subclass__(**kwargs)  # type: ignore[no-untyped-call]
        if partition is not None and not sequence:
            replaced_by = replaced_by or (partition.column,)
        cls._table = Table(table, partition, replaced_by, keys, sequence, ties, publish_limit) if table else None
        if table:
            _BY_TABLE[table] = cls
        cls._upstream = upstream
        cls._tolerances = {**cls._tolerances, **(tolerances or {})}

    @classmethod
    def stored_as(cls) -> Table:
        """Return the table of this contract. Raises ContractError for one that is only a part of others."""
        if cls._table is None:
            raise ContractError(
                f"{cls.__name__} is no table's contract; give its class line table='<catalog>_<layer>/<name>'."
            )
        return cls._table

    @classmethod
    def period_columns(cls) -> tuple[str, ...]:
        """Name the columns that say which partition a row is of; none for what is no table's contract."""
        return cls._table.replaced_by if cls._table else ()

    @classmethod
    @cache
    def columns(cls) -> tuple[Column, ...]:
        """List the table's columns in their stored order."""
        placed: dict[str, Any] = {}
        for name, schema in cls.to_schema().columns.items():
            after = (schema.metadata or {}).get("after")
            if after:
                before = list(placed.items())
                if after not in placed:
                    raise ContractError(
                        f"{cls.__name__}.{name} is to stand after {after}, which is none of its columns."
                    )
                at = list(placed).index(after) + 1
                placed = dict([*before[:at], (name, schema), *before[at:]])
            else:
                placed[name] = schema
        return tuple(
            Column(
                name=name,
                dtype=dtype_of(schema.dtype),
                description=schema.description or cls._described_upstream(name),
                unit=(schema.metadata or {}).get("unit", ""),
                required=not schema.nullable,
            )
            for name, schema in placed.items()
        )

    @classmethod
    def column_names(cls) -> tuple[str, ...]:
        """List the names of `columns`."""
        return tuple(column.name for column in cls.columns())

    @classmethod
    @cache
    def rules(cls) -> tuple[Rule, ...]:
        """List the contract's rules, those of the contracts that it builds on first."""
        found: dict[str, Rule] = {}
        for owner in reversed(cls.__mro__):
            for name, member in vars(owner).items():
                declared = getattr(member, "rule", None)
                if isinstance(declared, Rule):
                    found[name] = declared
        unknown = set(cls._tolerances) - set(found)
        if unknown:
            raise ContractError(f"{cls.__name__} sets a tolerance for {sorted(unknown)}, which are none of its rules.")
        fatal = sorted(name for name, share in cls._tolerances.items() if share and found[name].fails)
        if fatal:
            raise ContractError(f"{cls.__name__} sets a tolerance for {fatal}, which fail by one row.")
        return tuple(
            Rule(
                r.name,
                r.says,
                r.columns,
                cls._tolerances.get(r.name, r.tolerance),
                r.cost,
                r.why,
                r.source,
                # Bound here, so that a subclass's constants serve a rule that it inherits.
                r.evaluate.__get__(cls),
            )
            for r in found.values()
        )

    @classmethod
    def to_schema(cls) -> Any:
        """Return the Pandera schema of the stored table: without the rules that read columns which aren't stored."""
        schema = super().to_schema()
        columns = {rule.name: rule.columns for rule in cls.rules()}
        schema.checks = [check for check in schema.checks if set(columns.get(check.name, ())) <= set(schema.columns)]
        return schema

    @classmethod
    def story(cls) -> str:
        """Return the contract's docstring: the table's description."""
        return inspect.cleandoc(cls.__doc__ or "")

    @classmethod
    def _described_upstream(cls, name: str) -> str:
        described = {c.name: c.description for c in cls._upstream.columns()} if cls._upstream else {}
        if not described.get(name):
            raise ContractError(f"{cls.__name__}.{name} has no description; say what it holds: column('...').")
        return described[name]


def quarantine_of(kept: type[Contract], of: type[Contract]) -> type[Contract]:
    """Make the contract of the rows that the rules of `kept` refuse: as `of` has them, with the rules' names."""
    table, source = kept.stored_as(), of.stored_as()

    def body(namespace: dict[str, Any]) -> None:
        behind = source.replaced_by[0] if source.replaced_by else of.column_names()[-1]
        names = list(of.column_names())
        described = column(
            "Names of the quarantining rules that the row breaks.",
            required=True,
            after=names[max(names.index(behind) - 1, 0)],
        )
        namespace |= {
            "__module__": kept.__module__,
            "__doc__": f"One row per row of {source.sql_name} that broke a rule, as it stands there, and which.",
            "__annotations__": {"failed_rules": Strings},
            "failed_rules": described,
        }

    line = {
        "table": f"{table.key}_quarantine",
        "partition": table.calendar,
        "replaced_by": table.replaced_by,
        "keys": source.keys,
        "upstream": of,
    }
    return types.new_class(f"{kept.__name__}Quarantine", (of,), line, body)


_BY_TABLE: dict[str, type[Contract]] = {}


def contract_of(table: str) -> type[Contract]:
    """Return the contract of a table by its key. Raises ContractError if no imported module declares one."""
    if table not in _BY_TABLE:
        raise ContractError(f"No contract says what {table} holds. Declare one: class ...(Contract, table='{table}').")
    return _BY_TABLE[table]
