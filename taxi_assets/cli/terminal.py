"""What every command writes by: the consoles, exit statuses, tables of results, and arguments that several take.

A text is shown as it is, whoever made it: no brackets, colons or backslashes in it mean anything, and characters that
would steer a terminal are written out. Colours are given beside a text, never within it: ``say(("failed", "red"))``.
"""

from __future__ import annotations

import csv
import json
import math
import os
import sys
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from numbers import Number
from typing import Annotated, Any, Final, NoReturn

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from taxi_assets.catalogs import CATALOGS
from taxi_assets.errors import UsageError, printable

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)

DONE, FAILED, WRONG_USE, INTERRUPTED = 0, 1, 2, 130

Periods = Annotated[
    list[str], typer.Argument(help="Months: 2024-01, a range 2024-01:2024-06, or several of both; or days likewise.")
]
PeriodName = Annotated[str, typer.Argument(help="A month: 2024-01; or a day of a catalog of days: 2024-01-05.")]
FeedNames = Annotated[
    list[str] | None,
    typer.Option(
        "--feed",
        "--service",
        help=f"Only this feed; can be repeated. Those of {CATALOGS[0].name}, its {CATALOGS[0].feed_word}s: "
        f"{', '.join(CATALOGS[0].feed_names)}.",
    ),
]
CatalogName = Annotated[str, typer.Option(help=f"Family of tables: {', '.join(one.name for one in CATALOGS)}.")]
CatalogOfTable = Annotated[
    str | None,
    typer.Option(
        help=f"Family of tables: {', '.join(one.name for one in CATALOGS)}; otherwise the table's, or "
        f"{CATALOGS[0].name}."
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Write JSON, for a program to read.")]
Csv = Annotated[bool, typer.Option("--csv", help="Write CSV.")]
Styled = str | tuple[str, str]
"""A text, or a text and its style."""

_MOST_COLUMNS: Final = 12
_MOST_NAMED: Final = 5
STATUS_STYLES: Final = {
    "passed": "green", "warned": "yellow", "failed": "red", "not run": "dim",
    "ok": "green", "warnings": "yellow", "errors": "red", "stale": "magenta", "two files": "red", "landed": "cyan",
    "blocked": "blue", "not in landing": "bold", "not published": "dim",
}  # fmt: skip


class Terminal(Console):
    """A console to which a string is a text and never markup."""

    def render_str(self, text: str, **options: Any) -> Text:
        """Return a string as the text that it is. Rich asks this for every string that it shows."""
        wanted = {name: options[name] for name in ("style", "justify", "overflow") if name in options}
        return Text(plain(text), **wanted)


out = Terminal(soft_wrap=not sys.stdout.isatty())
err = Terminal(stderr=True, soft_wrap=not sys.stderr.isatty())


def plain(text: str) -> str:
    """Return a text as it is to be shown, line by line, with what can't be seen written out."""
    return "\n".join(map(printable, text.split("\n")))


def line(*parts: Styled) -> Text:
    """Put texts, some of them with a style, into one."""
    return Text.assemble(*((plain(part), "") if isinstance(part, str) else (plain(part[0]), part[1]) for part in parts))


def say(*parts: Styled) -> None:
    """Write a line to stdout."""
    out.print(line(*parts))


def show_error(text: str) -> None:
    """Show what went wrong, in the user's words."""
    err.print(line((text, "red")))


def show_warning(text: str) -> None:
    """Show on stderr what a user should know, and what keeps nothing from being done."""
    err.print(line((text, "yellow")))


@contextmanager
def at_work(says: str, *, quietly: bool = False) -> Iterator[Callable[[str], None]]:
    """Show on a terminal what a command is at, and give what is to be called when that changes; `quietly` on stderr."""
    with (out if out.is_terminal and not quietly else err).status(line(says)) as shown:
        yield lambda text: shown.update(line(text))


def show(
    rows: Sequence[dict[str, Any]],
    as_json: bool,
    columns: Sequence[str] = (),
    styled: Collection[str] = ("status",),
    as_csv: bool = False,
) -> None:
    """Show rows as a table on a terminal (record by record, if it is wide), tab-separated in a pipe, as JSON or CSV.

    A cell that is a `Text` is shown in its colours. Without rows there must be names of `columns`.
    Raises UsageError for JSON and CSV at once.
    """
    refuse_both(as_json, as_csv)
    names = list(columns or rows[0])
    if as_json:
        show_json(list(rows))
    elif as_csv:
        writer = csv.writer(sys.stdout, lineterminator="\n")
        writer.writerows([names, *([row[name] for name in names] for row in rows)])
    elif not out.is_terminal:
        sys.stdout.writelines(
            "\t".join("" if cell is None else printable(str(cell)) for cell in cells) + "\n"
            for cells in (names, *([row[name] for name in names] for row in rows))
        )
    elif len(names) > _MOST_COLUMNS:
        for number, row in enumerate(rows, start=1):
            out.rule(f"row {number}", align="left")
            for name in names:
                out.print(line((printable(name), "bold"), "  ").append_text(_cell(row[name])))
    else:
        table = Table(header_style="bold", expand=False)
        for name in names:
            number = any(isinstance(row[name], Number) for row in rows)
            table.add_column(Text(printable(name)), justify="right" if number else "left", overflow="fold")
        for row in rows:
            cells = {name: _cell(row[name]) for name in names}
            for name in cells.keys() & styled:
                cells[name].stylize(STATUS_STYLES[cells[name].plain])
            table.add_row(*cells.values())
        out.print(table)


def refuse_both(as_json: bool, as_csv: bool) -> None:
    """Raise UsageError if both JSON and CSV are asked for."""
    if as_json and as_csv:
        raise UsageError("Either --json or --csv.")


def show_json(value: Any) -> None:
    """Show a value as JSON, in ASCII, as some characters beyond it steer terminals, too."""
    out.print_json(json.dumps(_finite(value), default=str), ensure_ascii=True)


def some_of(names: Sequence[str]) -> str:
    """Name the first of many, and say how many more there are."""
    more = len(names) - _MOST_NAMED
    return ", ".join(names[:_MOST_NAMED]) + (f" and {more:,} more" if more > 0 else "")


def _finite(value: Any) -> Any:
    # JSON has no infinity and no NaN.
    if isinstance(value, dict):
        return {name: _finite(one) for name, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(one) for one in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _cell(value: Any) -> Text:
    if isinstance(value, Text):
        return value.copy()
    if value is None:
        return Text()
    return Text(printable(f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)))


def end_at_once(text: str, status: int) -> NoReturn:
    """Show what went wrong, and end the process at once: threads that are at work aren't waited for."""
    show_error(text)
    sys.stdout.flush()
    os._exit(status)
