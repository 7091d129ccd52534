"""Conforming: a frame given the columns, order and types of a contract, just before it's stored or as it is read.

Rows whose values don't fit have been judged by then; a value that still doesn't fit fails the write, it isn't dropped.
"""

from __future__ import annotations

import narwhals.stable.v1 as nw

from taxi_assets.contracts import Column, Contract, Frame
from taxi_assets.engines.rounding import to_decimal
from taxi_assets.errors import ContractError


def conform(contract: type[Contract], frame: Frame) -> Frame:
    """Select the contract's columns in its order, cast to its types; other columns are left behind.

    Raises ContractError naming the columns that the frame lacks.
    """
    schema = frame.collect_schema()
    missing = [name for name in contract.column_names() if name not in schema]
    if missing:
        raise ContractError(
            f"The frame for {contract.stored_as().key} lacks the columns {', '.join(missing)}. "
            "Its transform must give every column of its contract."
        )
    return frame.select(*(_cast(column, schema[column.name]) for column in contract.columns()))


def as_declared(contract: type[Contract], frame: Frame) -> Frame:
    """Put a stored table's columns into its contract's order; those that the table hasn't been given yet are null.

    Columns that the contract lacks are left, behind the others, and required ones are not made up: that a table isn't
    its contract's is for checks to say.
    """
    schema = frame.collect_schema()
    if tuple(schema) == contract.column_names():
        return frame
    ours = [
        nw.col(column.name) if column.name in schema else nw.lit(None).cast(column.dtype.narwhals).alias(column.name)
        for column in contract.columns()
        if column.name in schema or not column.required
    ]
    return frame.select(*ours, *(name for name in schema if name not in contract.column_names()))


def _cast(column: Column, actual: nw.dtypes.DType) -> nw.Expr:
    value = nw.col(column.name)
    if actual == column.dtype.narwhals:
        return value
    digits = column.dtype.decimal
    if digits is not None and actual.is_float():
        return to_decimal(value, *digits).alias(column.name)
    return value.cast(column.dtype.narwhals)
