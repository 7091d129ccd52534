"""The lake in SQL: DuckDB over its Delta tables, read-only, with no way to other files or the network."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final

import duckdb
from deltalake import DeltaTable
from deltalake.exceptions import DeltaError

from taxi_assets.contracts import Contract
from taxi_assets.errors import UsageError
from taxi_assets.lake.lake import Lake

_READING: Final = {duckdb.StatementType.SELECT, duckdb.StatementType.EXPLAIN}
_DUCKDB_TYPES: Final = {
    "boolean": "BOOLEAN",
    "date": "DATE",
    "double": "DOUBLE",
    "integer": "INTEGER",
    "long": "BIGINT",
    "string": "VARCHAR",
    "timestamp_ntz": "TIMESTAMP",
    "array<string>": "VARCHAR[]",
}


def connect(lake: Lake, contracts: Iterable[type[Contract]]) -> duckdb.DuckDBPyConnection:
    """Return a connection in which every table is a view: ``tlc_gold.nyc_taxi_daily``."""
    connection = duckdb.connect()
    for contract in contracts:
        schema, name = contract.stored_as().path
        table = lake.location(contract).open()
        files = [] if table is None else table.file_uris()
        if table is None or not files:
            source = _nothing(contract)
        elif "://" in lake.root:
            source = _through_arrow(connection, contract, table)
        else:
            source = _by_duckdb(contract, files)
        connection.execute(f'CREATE SCHEMA IF NOT EXISTS "{schema}"')
        # Columns that the contract has gained since the files were written are null in them.
        columns = ", ".join(f'"{column}"' for column in contract.column_names())
        whole = f"SELECT {columns} FROM ({_nothing(contract)} UNION ALL BY NAME {source})"  # noqa: S608
        connection.execute(f'CREATE VIEW "{schema}"."{name}" AS {whole}')
    connection.execute("SET allowed_directories = ?", [[lake.root]])
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
                "This SQL is not one SELECT statement. The lake is read-only here; ask SELECT ... FROM a table."
            )
        relation = connection.sql(statement)
        names = list(relation.columns)
        if len(set(names)) < len(names):
            raise UsageError(f"This SQL gives two columns one name ({', '.join(names)}). Name them apart: ... AS name.")
        return names, relation.fetchall()
    except (duckdb.Error, DeltaError, OSError) as error:
        raise UsageError(f"This SQL can't be run. {error}") from error


def _nothing(contract: type[Contract]) -> str:
    columns = ", ".join(f'NULL::{_duckdb_type(c.dtype.delta)} AS "{c.name}"' for c in contract.columns())
    return f"SELECT {columns} WHERE false"


def _by_duckdb(contract: type[Contract], files: Sequence[str]) -> str:
    types = {column.name: _duckdb_type(column.dtype.delta) for column in contract.columns()}
    partitions = ", ".join(f"'{name}': {types[name]}" for name in contract.stored_as().partition)
    options = f"hive_partitioning = true, hive_types = {{{partitions}}}" if partitions else "hive_partitioning = false"
    listed = ", ".join("'" + file.replace("'", "''") + "'" for file in files)
    return f"SELECT * FROM read_parquet([{listed}], union_by_name = true, {options})"  # noqa: S608


def _through_arrow(connection: duckdb.DuckDBPyConnection, contract: type[Contract], table: DeltaTable) -> str:
    # DuckDB reaches object stores by an extension only, which it would have to fetch.
    source = "__".join(contract.stored_as().path)
    connection.register(source, table.to_pyarrow_dataset())
    return f'SELECT * FROM "{source}"'  # noqa: S608


def _duckdb_type(delta_type: str) -> str:
    return _DUCKDB_TYPES.get(delta_type, delta_type.upper())
