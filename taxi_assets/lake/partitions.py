"""Partitions: from a Dagster partition key to the columns and values that select its rows in a table, and back."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date

import dagster as dg

from taxi_assets.contracts import Contract
from taxi_assets.engines import Partition
from taxi_assets.engines.engine import PartitionValue
from taxi_assets.errors import ContractError


def partitions_of(contract: type[Contract]) -> dg.PartitionsDefinition:
    """Return the partitions of a table's asset, by its contract's calendar. Raises ContractError if it has none."""
    calendar = contract.stored_as().calendar
    if calendar is None:
        raise ContractError(f"{contract.__name__} has no calendar; give its class line partition=...")
    return calendar.partitions


def partition_of(contract: type[Contract], definition: dg.PartitionsDefinition, key: str) -> Partition:
    """Return a partition key as column and value, by the contract's partition columns; empty for a table without them.

    A time window stands for the date it starts on, anything else for itself. With several dimensions, a dimension has
    the name of its column.
    """
    columns = contract.stored_as().replaced_by
    if isinstance(definition, dg.MultiPartitionsDefinition):
        dimensions = {dimension.name: dimension.partitions_def for dimension in definition.partitions_defs}
        keys = definition.get_partition_key_from_str(key).keys_by_dimension
        return {column: _value(dimensions[column], keys[column]) for column in columns}
    return {column: _value(definition, key) for column in columns}


def key_of(definition: dg.PartitionsDefinition, texts: Mapping[str, str]) -> str:
    """Return the partition key of a partition whose values are as the Delta log writes them, by column."""
    if isinstance(definition, dg.MultiPartitionsDefinition):
        dimensions = {dimension.name: dimension.partitions_def for dimension in definition.partitions_defs}
        return dg.MultiPartitionKey({name: _key(dimensions[name], text) for name, text in texts.items()})
    (text,) = texts.values()
    return _key(definition, text)


def _key(definition: dg.PartitionsDefinition, text: str) -> str:
    if isinstance(definition, dg.TimeWindowPartitionsDefinition):
        return date.fromisoformat(text).strftime(definition.fmt)
    return text


def _value(definition: dg.PartitionsDefinition, key: str) -> PartitionValue:
    if isinstance(definition, dg.TimeWindowPartitionsDefinition):
        return definition.time_window_for_partition_key(key).start.date()
    return key
