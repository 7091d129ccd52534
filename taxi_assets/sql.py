"""The lake in SQL: DuckDB over its Delta tables, read-only, with no way to other files or the network."""

from __future__ import annotations

from collections.abc import Iterable

import duckdb

from taxi_assets.contracts import Contract
from taxi_assets.errors import UsageError
from taxi_assets.lake.lake import Lake


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


def query(lake: Lake, contracts: Iterable[type[Contract]], statement: str) -> duckdb.DuckDBPyRelation:
    """Run one SQL statement. Raises UsageError with DuckDB's own explanation if it can't be."""
    try:
        relation = connect(lake, contracts).sql(statement)
    except duckdb.Error as error:
        raise UsageError(f"This SQL can't be run. {error}") from error
    if relation is None:
        raise UsageError("This SQL returns no rows; the lake is read-only here, so ask it something: SELECT ...")
    return relation
