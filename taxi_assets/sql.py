"""The lake in SQL: DuckDB over its Delta tables, read-only, with no way to other files or the network."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

import duckdb
from deltalake.exceptions import DeltaError

from taxi_assets.contracts import Contract
from taxi_assets.errors import UsageError
from taxi_assets.lake.lake import Lake

_READING: Final = {duckdb.StatementType.SELECT, duckdb.StatementType.EXPLAIN}


def connect(lake: Lake, contracts: Iterable[type[Contract]]) -> duckdb.DuckDBPyConnection:
    """Return a connection in which every stored table is a view: ``tlc_gold.nyc_taxi_daily``."""
    connection = duckdb.connect()
    for contract in contracts:
        table = lake.location(contract).open()
        if table is None:
            continue
        schema, name = contract.stored_as().path
        source = f"{schema}__{name}"
        connection.register(source, table.to_pyarrow_dataset())
        connection.execute(f'CREATE SCHEMA IF NOT EXISTS "{schema}"')
        connection.execute(f'CREATE VIEW "{schema}"."{name}" AS SELECT * FROM "{source}"')  # noqa: S608
    connection.execute("SET enable_external_access = false")
    connection.execute("SET lock_configuration = true")
    return connection


def query(lake: Lake, contracts: Iterable[type[Contract]], statement: str) -> tuple[list[str], list[tuple[Any, ...]]]:
    """Run one SQL statement that reads, and return the names of its columns and its rows.

    Raises UsageError, with DuckDB's own explanation, for one that can't be run, and for anything but one that reads.
    """
    try:
        connection = connect(lake, contracts)
        statements = connection.extract_statements(statement)
        if len(statements) != 1 or statements[0].type not in _READING:
            raise UsageError(
                "This SQL is not one question to the lake, which is read-only here. Ask SELECT ... FROM a table."
            )
        relation = connection.sql(statement)
        names = list(relation.columns)
        if len(set(names)) < len(names):
            raise UsageError(f"This SQL gives two columns one name ({', '.join(names)}). Name them apart: ... AS name.")
        return names, relation.fetchall()
    except (duckdb.Error, DeltaError, OSError) as error:
        raise UsageError(f"This SQL can't be run. {error}") from error
