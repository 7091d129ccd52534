"""The lake in SQL: DuckDB over its Delta tables, read-only, with no way to other files or the network.

DuckDB reads just the files of a table's state: a local lake's by itself, a bucket's through obstore, as its own client
for these would have to be fetched.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from datetime import datetime
from typing import Any, Final

import duckdb

from taxi_assets.contracts import Contract
from taxi_assets.errors import LakeError, UsageError, first_line
from taxi_assets.lake.lake import Lake
from taxi_assets.object_store import file_system

_LOCKED: Final = (
    "SET autoload_known_extensions = false",
    "SET python_enable_replacements = false",
    "SET enable_external_access = false",
    "SET lock_configuration = true",
)
_TABLES_AT_ONCE: Final = 8
_Files = Sequence[str] | LakeError | None
"""A table's files; why they can't be told; None for a table that there isn't."""

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


def query(
    lake: Lake, contracts: Iterable[type[Contract]], statement: str, as_of: datetime | None = None
) -> tuple[list[str], list[tuple[Any, ...]]]:
    """Run one SELECT statement, and return the names of its columns and its rows.

    Every table is a view, ``tlc_gold.nyc_taxi_daily``; one of which nothing is stored has no rows. With `as_of`, tables
    are as they were then, and there are none that didn't exist. Raises UsageError, with DuckDB's own explanation, for a
    statement that can't be run, and for anything but one that reads; LakeError for a table that can't be.
    """
    listed = list(contracts)
    # What isn't named isn't opened: a table costs several requests of a bucket, and each of its files another.
    named = [contract for contract in listed if contract.stored_as().path[1].lower() in statement.lower()]
    files = _files(lake, named, as_of)
    absent = [contract.stored_as().sql_name for contract, found in files.items() if found is None and as_of]
    try:
        with closing(duckdb.connect()) as connection:
            _show(
                connection, lake, {c: files.get(c, _unnamed(c)) for c in listed if c.stored_as().sql_name not in absent}
            )
            return _answer(connection, statement)
    except duckdb.CatalogException as error:
        then = f" Of {', '.join(absent)} there was nothing yet at {as_of}." if absent else ""
        raise UsageError(f"This SQL can't be run. {error}{then}") from error
    except (duckdb.IOException, OSError) as error:
        gone = f" Files of that time may have been vacuumed since {as_of}." if as_of else ""
        raise UsageError(f"This SQL can't be run. {first_line(error)}.{gone}") from error
    except duckdb.Error as error:
        for found in files.values():
            if isinstance(found, LakeError) and str(found) in str(error):
                raise found from None
        raise UsageError(f"This SQL can't be run. {error}") from error


def _unnamed(contract: type[Contract]) -> LakeError:
    # Who gets at it in a roundabout way must not find it empty.
    return LakeError(f"Write out the name of {contract.stored_as().sql_name}.")


def _files(lake: Lake, contracts: Sequence[type[Contract]], as_of: datetime | None) -> dict[type[Contract], _Files]:
    """List the files of each table's state."""

    def files(contract: type[Contract]) -> _Files:
        location = lake.location(contract)
        try:
            table = location.open() if as_of is None else location.open_as_of(as_of)
        except LakeError as error:
            # Told to who asks for this table; the others can be asked.
            return error
        return None if table is None else table.file_uris()

    with ThreadPoolExecutor(_TABLES_AT_ONCE) as pool:
        return dict(zip(contracts, pool.map(files, contracts), strict=True))


def _show(connection: duckdb.DuckDBPyConnection, lake: Lake, tables: Mapping[type[Contract], _Files]) -> None:
    """Make a view of every table, and close all other ways out."""
    if "://" in lake.root:
        connection.register_filesystem(file_system(lake.root, lake.storage_options))
    for contract, files in tables.items():
        schema, name = contract.stored_as().path
        connection.execute(f'CREATE SCHEMA IF NOT EXISTS "{schema}"')
        connection.execute(f'CREATE VIEW "{schema}"."{name}" AS {_view(contract, files)}')
    readable = [files for files in tables.values() if files is not None and not isinstance(files, LakeError)]
    connection.execute("SET allowed_paths = ?", [[file for files in readable for file in files]])
    for setting in _LOCKED:
        connection.execute(setting)


def _answer(connection: duckdb.DuckDBPyConnection, statement: str) -> tuple[list[str], list[tuple[Any, ...]]]:
    statements = connection.extract_statements(statement)
    # Not EXPLAIN either: EXPLAIN ANALYZE runs whatever it explains, and could write over a table's files.
    if [found.type for found in statements] != [duckdb.StatementType.SELECT]:
        raise UsageError(
            "This SQL is not one SELECT statement. The lake is read-only here; ask SELECT ... FROM a table."
        )
    relation = connection.sql(statement)
    names = list(relation.columns)
    if len(set(names)) < len(names):
        raise UsageError(f"This SQL gives two columns one name ({', '.join(names)}). Name them apart: ... AS name.")
    return names, relation.fetchall()


def _view(contract: type[Contract], files: _Files) -> str:
    nulls = ", ".join(f'NULL::{_duckdb_type(c.dtype.delta)} AS "{c.name}"' for c in contract.columns())
    if isinstance(files, LakeError):
        says = str(files).replace("'", "''")
        return f"SELECT {nulls} WHERE error('{says}')::BOOLEAN"
    no_rows = f"SELECT {nulls} WHERE false"
    if not files:
        return no_rows
    # Columns that the contract has gained since the files were written are null in them.
    columns = ", ".join(f'"{column}"' for column in contract.column_names())
    return f"SELECT {columns} FROM ({no_rows} UNION ALL BY NAME {_rows(contract, files)})"  # noqa: S608


def _rows(contract: type[Contract], files: Sequence[str]) -> str:
    types = {column.name: _duckdb_type(column.dtype.delta) for column in contract.columns()}
    partitions = ", ".join(f"'{name}': {types[name]}" for name in contract.stored_as().partition)
    options = f"hive_partitioning = true, hive_types = {{{partitions}}}" if partitions else "hive_partitioning = false"
    listed = ", ".join("'" + file.replace("'", "''") + "'" for file in files)
    return f"SELECT * FROM read_parquet([{listed}], union_by_name = true, {options})"  # noqa: S608


def _duckdb_type(delta_type: str) -> str:
    return _DUCKDB_TYPES.get(delta_type, delta_type.upper())
