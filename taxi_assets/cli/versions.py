"""What deals with the versions of a table: `history` and `restore`."""

from __future__ import annotations

from typing import Annotated

import typer

from taxi_assets.cli.tables import table_named
from taxi_assets.cli.terminal import Json, app, say, show
from taxi_assets.errors import LakeError, first_line

Table = Annotated[str, typer.Argument(metavar="TABLE", help="A table: tlc_silver.yellow_trips.")]


@app.command()
def history(
    table: Table,
    last: Annotated[int, typer.Option(min=1, help="How many versions, counted from the newest.")] = 20,
    json_: Json = False,
) -> None:
    """Show a table's versions: when and by which run each was made, and which months it wrote."""
    from taxi_assets.lake.partitions import key_of, partitions_of
    from taxi_assets.lake.versions import history as history_of
    from taxi_assets.places import lake_of
    from taxi_assets.settings import Settings

    contract = table_named(table)
    partitions = partitions_of(contract)
    versions = history_of(lake_of(Settings.load(to_read=True)), contract, last)
    show(
        [
            {
                "version": one.number,
                "time": one.at.strftime("%Y-%m-%d %H:%M:%S UTC"),
                "operation": one.operation,
                "partitions": ", ".join(key_of(partitions, texts) for texts in one.partitions),
                "rows_added": one.rows_added,
                "files_added": one.files_added,
                "files_removed": one.files_removed,
                "run": one.run_id,
            }
            for one in versions
        ],
        json_,
    )


@app.command()
def restore(
    table: Table, version: Annotated[int, typer.Argument(metavar="VERSION", help="A version that history shows.")]
) -> None:
    """Make an earlier version of a table the current one, by a new commit that can itself be undone.

    Months that then differ are recorded in Dagster as what once stored them; what depends on them shows as out of date.
    """
    from taxi_assets.instance import open_instance
    from taxi_assets.lake.partitions import key_of, partitions_of
    from taxi_assets.lake.restored import record
    from taxi_assets.lake.versions import restore as restore_table
    from taxi_assets.places import lake_of
    from taxi_assets.settings import Settings

    contract = table_named(table)
    partitions = partitions_of(contract)
    settings = Settings.load()
    instance = open_instance(settings.dagster_home)
    restored = restore_table(lake_of(settings), contract, version)
    name = contract.stored_as().sql_name
    try:
        record(instance, contract, partitions, version, restored)
    except Exception as error:
        raise LakeError(
            f"{name} was restored: it is as version {version} was, and that is version {restored.version} now. But "
            f"Dagster's records, in DAGSTER_HOME, don't say so: {first_line(error)}. Mend these, restore {name} to "
            f"version {restored.version - 1}, and then to {version} again."
        ) from error
    say(f"{name} is as version {version} was; that is version {restored.version} now.")
    by_month = bool(contract.stored_as().replaced_by)
    for says, texts in (("Put back", restored.changed), ("No longer stored", restored.gone)):
        if texts and by_month:
            say(f"{says}: {', '.join(key_of(partitions, one) for one in texts)}")
    say(
        "Checks show what they found in what was there before: run them again: "
        f"taxi-assets check MONTH --table {name}. "
        f"To undo this: taxi-assets restore {name} {restored.version - 1}"
    )
