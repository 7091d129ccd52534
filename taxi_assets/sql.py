"""The lake in SQL: DuckDB over its Delta tables, read-only, with no way to other files or the network.

DuckDB reads just the files of a table's state: a local lake's by itself, a bucket's through obstore, as its own client
for these would have to be fetched. What a query may take of the machine is limited, and so may be its time.
"""

from __future__ import annotations

import re
import shutil
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import closing, suppress
from datetime import datetime
from tempfile import TemporaryDirectory
from typing import Any, Final

import duckdb

from taxi_assets.contracts import Contract
from taxi_assets.errors import LakeError, OutOfTimeError, UsageError, first_line
from taxi_assets.lake.lake import Lake
from taxi_assets.object_store import file_system

_LOCKED: Final = (
    "SET autoload_known_extensions = false",
    "SET python_enable_replacements = false",
    "SET enable_external_access = false",
    "SET lock_configuration = true",
)
_MEMORY: Final = "50%"
_SHARE_OF_FREE_DISK: Final = 0.5
_ROWS_AT_ONCE: Final = 10_000
_SECONDS_TO_LOOK: Final = 0.05
_SECONDS_TO_STOP: Final = 5.0
_TABLES_AT_ONCE: Final = 8

_Answer = tuple[list[str], list[tuple[Any, ...]]]
_Files = Sequence[str] | LakeError | None
"""A table's files; why they can't be told; None for a table that there isn't."""

_ALL_TABLES: Final = re.compile(r"\s*(show(\s+all)?\s+tables|show|desc(ribe)?)\s*;?\s*", re.IGNORECASE)
_ONE_TABLE: Final = re.compile(
    r"""\s*(show|desc(ribe)?)\s+(table\s+)?(?P<schema>\w+|"\w+")\.(?P<name>\w+|"\w+")\s*;?\s*""", re.IGNORECASE
)
_OF_FILES: Final = (duckdb.IOException, duckdb.InvalidInputException, OSError)
_NO_FILE: Final = ("No files found", "No such file")
_NOT_A_QUESTION: Final = (
    "This SQL is not one SELECT statement. The lake is read-only here; ask SELECT ... FROM a table, SHOW TABLES, "
    "DESCRIBE or SUMMARIZE."
)
_INSTEAD: Final = {
    duckdb.StatementType.COPY: " To write a file: taxi-assets sql --csv QUERY > FILE.",
    duckdb.StatementType.EXPORT: " To write a file: taxi-assets sql --csv QUERY > FILE.",
    # EXPLAIN ANALYZE runs whatever it explains, and could write over a table's files.
    duckdb.StatementType.EXPLAIN: " EXPLAIN isn't answered; ask the SELECT itself.",
    duckdb.StatementType.SET: " Nothing can be set; write a table's name with its schema.",
    duckdb.StatementType.PRAGMA: " Nothing can be set; for what a table has, ask DESCRIBE.",
}

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
    lake: Lake,
    contracts: Iterable[type[Contract]],
    statement: str,
    as_of: datetime | None = None,
    timeout: float | None = None,
) -> _Answer:
    """Run one SELECT statement, and return the names of its columns and its rows.

    Every table is a view, ``tlc_gold.nyc_taxi_daily``; one of which nothing is stored has no rows. With `as_of`, tables
    are as they were then, and there are none that didn't exist. SHOW TABLES and DESCRIBE tell what there is. `timeout`
    is in seconds.

    Raises UsageError, with DuckDB's own explanation, for a statement that can't be run, and for anything but one that
    reads; LakeError for a table that can't be, and where memory or disk don't suffice; OutOfTimeError.
    """
    try:
        statement.encode()
    except UnicodeEncodeError:
        raise UsageError("This SQL isn't text in UTF-8.") from None
    opened: list[duckdb.DuckDBPyConnection] = []

    def answer() -> _Answer:
        with _temporary_folder() as folder, closing(duckdb.connect()) as connection:
            opened.append(connection)
            _limit(connection, folder)
            return _query(connection, lake, list(contracts), statement, as_of)

    def stop() -> None:
        for connection in opened:
            # It may be closed by now.
            with suppress(duckdb.Error):
                connection.interrupt()

    return _in_time(answer, stop, timeout)


def described(contract: type[Contract]) -> _Answer:
    """Return what DESCRIBE tells of a table: each column's name, DuckDB's type, unit and description."""
    names = ["column_name", "column_type", "unit", "description"]
    return names, [(c.name, _duckdb_type(c.dtype.delta), c.unit, c.description) for c in contract.columns()]


def _temporary_folder() -> TemporaryDirectory[str]:
    try:
        return TemporaryDirectory(prefix="taxi-assets-sql-", ignore_cleanup_errors=True)
    except OSError as error:
        raise LakeError(f"There is no folder for temporary files: {error.strerror}. Name one: TMPDIR.") from error


def _limit(connection: duckdb.DuckDBPyConnection, folder: str) -> None:
    """Let a database hold so much in memory, and beyond that so much in a folder."""
    most = int(shutil.disk_usage(folder).free * _SHARE_OF_FREE_DISK) // 1024
    connection.execute(f"SET memory_limit = '{_MEMORY}'")
    connection.execute("SET temp_directory = ?", [folder])
    connection.execute(f"SET max_temp_directory_size = '{most}KiB'")


def _in_time(answer: Callable[[], _Answer], stop: Callable[[], None], timeout: float | None) -> _Answer:
    """Let another thread answer, which no interrupt can hit; `stop` it if one comes, or after `timeout` seconds."""
    running: Future[_Answer] = Future()

    def run() -> None:
        try:
            running.set_result(answer())
        except Exception as error:  # noqa: BLE001 - raised again where it is waited for
            running.set_exception(error)

    deadline = None if timeout is None else time.monotonic() + timeout
    try:
        # Nobody waits for it if it can't be stopped, as where a bucket doesn't answer.
        threading.Thread(target=run, daemon=True).start()
        # Looked up now and then, because a signal that another thread is given ends no waiting.
        while not wait([running], timeout=_SECONDS_TO_LOOK).done:
            _require_time(deadline)
    except BaseException:
        stop_at = time.monotonic() + _SECONDS_TO_STOP
        # Again and again: it stops what is running, and not what begins after it.
        while not running.done() and time.monotonic() < stop_at:
            stop()
            wait([running], timeout=_SECONDS_TO_LOOK)
        raise
    return running.result()


def _require_time(deadline: float | None) -> None:
    if deadline is not None and time.monotonic() > deadline:
        raise OutOfTimeError(
            "This took longer than it was given, and was ended. Ask for less, or give it longer: --timeout."
        )


def _query(
    connection: duckdb.DuckDBPyConnection,
    lake: Lake,
    listed: Sequence[type[Contract]],
    statement: str,
    as_of: datetime | None,
) -> _Answer:
    # What isn't named isn't opened: a table costs several requests of a bucket, and each of its files another.
    named = [contract for contract in listed if contract.stored_as().path[1].lower() in statement.lower()]
    if _ALL_TABLES.fullmatch(statement) and as_of:
        named = list(listed)
    files = _files(lake, named, as_of)
    absent = [contract.stored_as().sql_name for contract, found in files.items() if found is None and as_of]
    there = [contract for contract in listed if contract.stored_as().sql_name not in absent]
    told = _told(there, statement)
    if told is not None:
        return told
    try:
        _show(connection, lake, {contract: files.get(contract, _unnamed(contract)) for contract in there})
        return _answer(connection, statement)
    except duckdb.CatalogException as error:
        then = f" Of {', '.join(absent)} there was nothing yet at {as_of}." if absent else ""
        raise UsageError(f"This SQL can't be run. {error}{then}") from error
    except duckdb.OutOfMemoryException as error:
        raise LakeError(
            "This SQL needs more than half of this machine's memory and of the free disk for temporary files. Ask for "
            "less at once, such as fewer months or columns, or name a folder on a larger disk: TMPDIR."
        ) from error
    except (duckdb.Error, OSError) as error:
        raise _explained(error, files, as_of) from error


def _told(contracts: Sequence[type[Contract]], statement: str) -> _Answer | None:
    """Answer what is asked of tables and their columns by the contracts, which know more of them than DuckDB."""
    if _ALL_TABLES.fullmatch(statement):
        return ["table", "holds"], [(c.stored_as().sql_name, c.story().split("\n")[0]) for c in contracts]
    asked = _ONE_TABLE.fullmatch(statement)
    if asked is None:
        return None
    wanted = f"{asked['schema']}.{asked['name']}".replace('"', "").lower()
    return next((described(c) for c in contracts if c.stored_as().sql_name.lower() == wanted), None)


def _explained(
    error: Exception, files: Mapping[type[Contract], _Files], as_of: datetime | None
) -> UsageError | LakeError:
    """Say whose fault an error is: that of a table that can't be read, of a disk or a store, or of who asks."""
    says = str(error)
    for found in files.values():
        if isinstance(found, LakeError) and str(found) in says:
            return found
    if not isinstance(error, _OF_FILES):
        return UsageError(f"This SQL can't be run. {error}")
    if isinstance(error, OSError) and not isinstance(error, FileNotFoundError):
        return LakeError(f"This SQL failed. {_line_of(error)}.")
    for contract, found in files.items():
        for file in () if found is None or isinstance(found, LakeError) else found:
            if file.rpartition("/")[2] in says:
                return _unreadable(contract, file, error, as_of)
    # What a statement gives a function that refuses it is wrong use.
    if isinstance(error, duckdb.InvalidInputException):
        return UsageError(f"This SQL can't be run. {says}")
    return LakeError(f"This SQL failed. {_line_of(error)}.")


def _unreadable(contract: type[Contract], file: str, error: Exception, as_of: datetime | None) -> LakeError:
    gone = isinstance(error, FileNotFoundError) or any(words in str(error) for words in _NO_FILE)
    what = "is missing" if gone else f"can't be used: {_line_of(error)}"
    remedy = "Put it back, or materialize again what was in it"
    if gone and as_of:
        remedy = f"It may have been vacuumed since {as_of}"
    return LakeError(f"{contract.stored_as().sql_name} can't be read, as its data file {file} {what}. {remedy}.")


def _line_of(error: Exception) -> str:
    return first_line(error).rstrip(".")


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


def _answer(connection: duckdb.DuckDBPyConnection, statement: str) -> _Answer:
    types = [found.type for found in connection.extract_statements(statement)]
    if types != [duckdb.StatementType.SELECT]:
        instead = _INSTEAD.get(types[0], "") if len(types) == 1 else ""
        raise UsageError(f"{_NOT_A_QUESTION}{instead}")
    result = connection.execute(statement)
    names = [name for name, *_ in result.description or ()]
    if len(set(names)) < len(names):
        raise UsageError(f"This SQL gives two columns one name ({', '.join(names)}). Name them apart: ... AS name.")
    rows: list[tuple[Any, ...]] = []
    # Between these an interrupt is heard of; what makes Python's objects of them hears none.
    while some := result.fetchmany(_ROWS_AT_ONCE):
        rows += some
    return names, rows


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
    partitions = ", ".join(f"'{name}': {types[name]}" for name in contract.stored_as().replaced_by)
    options = f"hive_partitioning = true, hive_types = {{{partitions}}}" if partitions else "hive_partitioning = false"
    listed = ", ".join("'" + file.replace("'", "''") + "'" for file in files)
    return f"SELECT * FROM read_parquet([{listed}], union_by_name = true, {options})"  # noqa: S608


def _duckdb_type(delta_type: str) -> str:
    return _DUCKDB_TYPES.get(delta_type, delta_type.upper())
