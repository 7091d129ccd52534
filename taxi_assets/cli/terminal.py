"""What every command writes by: the consoles, exit statuses, tables of results, and arguments that several take."""

from __future__ import annotations

import json
import math
import os
import sys
from collections.abc import Collection, Sequence
from typing import Annotated, Any, NoReturn

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from taxi_assets.catalogs import CATALOGS
from taxi_assets.errors import printable

app = typer.Typer(no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False, rich_markup_mode="rich")
out = Console(soft_wrap=not sys.stdout.isatty())
err = Console(stderr=True, soft_wrap=not sys.stderr.isatty())

DONE, FAILED, WRONG_USE = 0, 1, 2

Months = Annotated[list[str], typer.Argument(help="Months: 2024-01, a range 2024-01:2024-06, or several of both.")]
CatalogName = Annotated[str, typer.Option(help=f"Family of tables: {', '.join(one.name for one in CATALOGS)}.")]
Json = Annotated[bool, typer.Option("--json", help="Write JSON, for a program to read.")]
_MOST_COLUMNS = 12
STATUS_STYLES = {
    "passed": "green", "warned": "yellow", "failed": "red", "not run": "dim",
    "materialized": "green", "checks failing": "yellow", "stale": "magenta", "two files": "red", "landed": "cyan",
    "blocked": "blue", "not in landing": "bold", "not published": "dim",
}  # fmt: skip


def show(
    rows: Sequence[dict[str, Any]],
    as_json: bool,
    columns: Sequence[str] = (),
    styled: Collection[str] = ("status",),
) -> None:
    """Show rows as a table on a terminal (record by record, if it is wide), tab-separated in a pipe, or as JSON."""
    names = list(columns or rows[0])
    if as_json:
        finite = [{name: _finite(value) for name, value in row.items()} for row in rows]
        show_json(finite)
    elif not out.is_terminal:
        sys.stdout.writelines(
            "\t".join("" if cell is None else printable(str(cell)) for cell in line) + "\n"
            for line in (names, *([row[name] for name in names] for row in rows))
        )
    elif len(names) > _MOST_COLUMNS:
        for number, row in enumerate(rows, start=1):
            out.rule(f"row {number}", align="left")
            for name in names:
                out.print(f"[bold]{_plain_cell(name)}[/bold]  {_plain_cell(row[name])}", highlight=False)
    else:
        table = Table(header_style="bold", expand=False)
        for name in names:
            number = any(isinstance(row[name], (int, float)) for row in rows)
            table.add_column(_plain_cell(name), justify="right" if number else "left", overflow="fold")
        for row in rows:
            cells = {name: _plain_cell(row[name]) for name in names}
            for name in cells.keys() & styled:
                cells[name] = styled_status(cells[name])
            table.add_row(*cells.values())
        out.print(table)


def show_json(value: Any) -> None:
    """Show a value as JSON, in ASCII, as some characters beyond it steer terminals, too."""
    out.print_json(json.dumps(value, default=str), ensure_ascii=True)


def _finite(value: Any) -> Any:
    # JSON has no infinity and no NaN.
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _plain_cell(value: Any) -> str:
    if value is None:
        return ""
    text = f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)
    return escape(printable(text))


def styled_status(status: str) -> str:
    """Colour a status by its words, of which a count may follow."""
    return f"[{STATUS_STYLES[status.partition(':')[0]]}]{status}[/]"


def plain(text: str) -> str:
    """Return a text as it is to be shown, line by line, whatever brackets and control characters stand in it."""
    return escape("\n".join(map(printable, text.split("\n"))))


def show_error(text: str) -> None:
    """Show what went wrong, in the user's words."""
    err.print(f"[red]{plain(text)}[/red]", highlight=False)


def end_interrupted(text: str) -> NoReturn:
    """Show what an interrupt left, and end the process at once: threads that are at work aren't waited for."""
    show_error(text)
    sys.stdout.flush()
    os._exit(FAILED)
