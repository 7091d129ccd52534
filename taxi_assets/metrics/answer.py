"""Asking a view of a lake: its SQL run by DuckDB over the Delta tables that it names."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from taxi_assets import sql
from taxi_assets.contracts import Contract
from taxi_assets.errors import UsageError
from taxi_assets.lake.lake import Lake
from taxi_assets.metrics.compile import compile_checks, compile_query
from taxi_assets.metrics.view import MetricView


def answer(
    lake: Lake,
    tables: Mapping[str, type[Contract]],
    view: MetricView,
    measures: Sequence[str],
    by: Sequence[str] = (),
    where: str | None = None,
    timeout: float | None = None,
) -> list[dict[str, Any]]:
    """Return a row per group, with the dimensions and measures under their names; see `compile_query`.

    `tables` are the lake's, by their names in SQL, and `timeout` is in seconds. Raises UsageError for a question that
    can't be answered, and what `sql.query` raises.
    """
    deadline = None if timeout is None else time.monotonic() + timeout

    def ask(of: Iterable[type[Contract]], statement: str) -> tuple[list[str], list[tuple[Any, ...]]]:
        left = None if deadline is None else max(0.0, deadline - time.monotonic())
        return sql.query(lake, of, statement, timeout=left)

    statement = compile_query(view, measures, by, where)
    for says, check in compile_checks(view, measures, by, where).items():
        if ask(tables.values(), check)[1]:
            raise UsageError(says)
    needed = [tables[name] for name in dict.fromkeys([view.source, *(join.source for join in view.joins)])]
    names, rows = ask(needed, statement)
    return [dict(zip(names, row, strict=True)) for row in rows]
