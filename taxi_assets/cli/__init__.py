"""The command line. Each command is a thin layer on what the UI uses, too; nothing is computed here.

Commands stand by what they deal with, one file each. Dagster, Polars and Pandera are imported by the commands that need
them: `--help` must not wait for them.
"""

from __future__ import annotations

import gc
import sys
from typing import NoReturn

from taxi_assets.cli import alerts, landing, metrics, months, tables, versions  # noqa: F401 - each declares its commands
from taxi_assets.cli.terminal import FAILED, WRONG_USE, app, show_error
from taxi_assets.errors import TaxiAssetsError, UsageError, error_of_the_records


@app.callback()
def cli() -> None:
    """New York's taxi trips as a Delta lake: from TLC's monthly files to gold tables, with every rule a check."""


def main() -> None:
    """Run the command line; an error that is written for the user is one line and an exit status, never a stack."""
    # Imports and runs make many objects that live on; looking through them again and again takes half a second.
    gc.set_threshold(100_000, 20, 100)
    try:
        app()
    except UsageError as error:
        _fail(error, WRONG_USE)
    except TaxiAssetsError as error:
        _fail(error, FAILED)
    except Exception as error:
        of_the_records = error_of_the_records(error)
        if of_the_records is None:
            raise
        _fail(of_the_records, FAILED)


def _fail(error: TaxiAssetsError, status: int) -> NoReturn:
    show_error(str(error))
    sys.exit(status)
