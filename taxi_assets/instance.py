"""The Dagster instance that runs are recorded in: the one that the UI uses, made when the first command needs it."""

from __future__ import annotations

import shutil
from importlib.resources import files
from pathlib import Path

import dagster as dg
from filelock import FileLock

from taxi_assets.errors import UsageError


def open_instance(home: str) -> dg.DagsterInstance:
    """Open the instance in a folder, with the project's own dagster.yaml if the folder has none yet.

    Raises UsageError if the folder can't be made.
    """
    folder = Path(home)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(
            f"DAGSTER_HOME is {home}, which can't be made: {error.strerror}. Name another folder."
        ) from error
    # Processes that make an instance's databases at the same time fail each other (dagster 1.13 on SQLite).
    with FileLock(folder / ".opening.lock"):
        if not (folder / "dagster.yaml").exists():
            shutil.copyfile(str(files("taxi_assets") / "dagster.yaml"), folder / "dagster.yaml")
        instance = dg.DagsterInstance.from_config(home)
        # Each storage makes its database when it is first asked.
        instance.get_runs_count()
        instance.all_asset_keys()
        instance.all_instigator_state()
    return instance
