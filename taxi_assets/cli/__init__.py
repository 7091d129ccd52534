"""The command line. Each command is a thin layer on what the UI uses, too; nothing is computed here.

Commands stand by what they deal with, one file each. Dagster, Polars and Pandera are imported by the commands that need
them: `--help` must not wait for them.
"""

from __future__ import annotations

import gc
import sys
import warnings
from typing import Annotated, Any, NoReturn

import typer

from taxi_assets.cli import (  # noqa: F401 - each declares its commands
    alerts,
    check,
    landing,
    metrics,
    periods,
    quarantine,
    tables,
    versions,
)
from taxi_assets.cli.terminal import FAILED, INTERRUPTED, WRONG_USE, app, say, show_error, show_warning
from taxi_assets.errors import (
    InterruptedByUserError,
    TaxiAssetsError,
    UnknownSettingWarning,
    UsageError,
    error_of_the_records,
)


def _say_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        say(f"taxi-assets {version('taxi-assets')}")
        raise typer.Exit


@app.callback()
def cli(
    version: Annotated[
        bool, typer.Option("--version", callback=_say_version, is_eager=True, help="Say which version this is.")
    ] = False,
) -> None:
    """New York's taxi trips as a Delta lake: from TLC's monthly files to gold tables, with every rule a check."""


def main() -> None:
    """Run the command line; an error that is written for the user is one line and an exit status, never a stack."""
    # Imports and runs make many objects that live on; looking through them again and again takes half a second.
    gc.set_threshold(100_000, 20, 100)
    _show_warnings_of_settings_in_a_line()
    try:
        app()
    except SystemExit as ended:
        # Typer's answer to an interrupt that no command has answered.
        if ended.code == INTERRUPTED:
            show_error("Interrupted.")
        raise
    except InterruptedByUserError as error:
        _fail(error, INTERRUPTED)
    except UsageError as error:
        _fail(error, WRONG_USE)
    except TaxiAssetsError as error:
        _fail(error, FAILED)
    except Exception as error:
        of_the_records = error_of_the_records(error)
        if of_the_records is None:
            raise
        _fail(of_the_records, FAILED)


def _show_warnings_of_settings_in_a_line() -> None:
    show_others: Any = warnings.showwarning

    def show(message: Warning | str, category: type[Warning], *details: Any, **more: Any) -> None:
        if issubclass(category, UnknownSettingWarning):
            show_warning(str(message))
        else:
            show_others(message, category, *details, **more)

    warnings.showwarning = show


def _fail(error: TaxiAssetsError, status: int) -> NoReturn:
    show_error(str(error))
    sys.exit(status)
