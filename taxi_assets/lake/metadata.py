"""Contracts and verdicts in Dagster's terms: column schemas, check specs, check results. What the UI shows of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import dagster as dg

from taxi_assets.contracts import Contract, Rule, RuleResult, Verdict
from taxi_assets.errors import printable

WITHIN_PUBLISH_LIMIT: Final = "within_publish_limit"
OPTIONAL: Final = "optional"
"""Metadata of an AssetIn whose upstream may lack the partition."""
EMBEDDED: Final = "embedded"
"""Metadata of an AssetIn that is read within the run's process, whatever engine computes."""
SOURCE_COLUMNS: Final = "source_columns"
"""Metadata of an output whose rows are those of a file: the file's columns, and their types there."""
UNKNOWN_COLUMNS: Final = "unknown_columns"
"""Metadata of such an output: those of the file's columns that are none of the contract's."""
CUT_OFF: Final = "cut_off"
"""Metadata of such an output: by a sentence each, the files whose end seems to be missing. Absent if none's does."""
SOURCE_IDENTITY: Final = "source_identity"
"""Metadata of a materialization: which file of landing it came from, as it was then."""
SOURCE_FILES: Final = "source_files"
"""Likewise, where it came from several files: a list."""
TABLE_VERSION: Final = "table_version"
"""Metadata of a materialization: the version of the table that it made."""
_PLAIN: Final = (int, float, bool, type(None))


def asset_key(contract: type[Contract]) -> dg.AssetKey:
    """Return the asset key of a contract's table."""
    return dg.AssetKey(list(contract.stored_as().path))


def column_schema(contract: type[Contract]) -> dg.TableSchema:
    """Return a contract's columns with their types, descriptions and units."""
    return dg.TableSchema(
        columns=[
            dg.TableColumn(
                column.name,
                column.dtype.delta,
                description=f"{column.description} [{column.unit}]" if column.unit else column.description,
                constraints=dg.TableColumnConstraints(nullable=not column.required),
            )
            for column in contract.columns()
        ]
    )


def rule_specs(contract: type[Contract], definition: dg.PartitionsDefinition) -> list[dg.AssetCheckSpec]:
    """Return a check spec for each rule of a contract, and one for its publish limit."""
    share = f"{contract.stored_as().publish_limit:.0%}"
    limit = f"At most {share} of a partition's rows are quarantined; above it nothing is published."
    return [
        *(
            dg.AssetCheckSpec(
                rule.name, asset=asset_key(contract), description=describe(rule), partitions_def=definition
            )
            for rule in contract.rules()
        ),
        dg.AssetCheckSpec(
            WITHIN_PUBLISH_LIMIT, asset=asset_key(contract), description=limit, blocking=True, partitions_def=definition
        ),
    ]


def describe(rule: Rule) -> str:
    """Say what a rule demands, why, what it costs to break it, and where that comes from."""
    return (
        f"{rule.says} {rule.why} Rows that break it are {rule.cost}; the check tolerates {rule.tolerance:.2%} of them. "
        f"Source: {rule.source}"
    ).strip()


def rule_results(verdict: Verdict) -> Iterator[dg.AssetCheckResult]:
    """Report a verdict: each rule's result, and whether the share of quarantined rows is within the publish limit."""
    key = asset_key(verdict.contract)
    for result in verdict.results:
        yield dg.AssetCheckResult(
            passed=result.passed,
            asset_key=key,
            check_name=result.rule.name,
            severity=dg.AssetCheckSeverity.ERROR if result.rule.fails else dg.AssetCheckSeverity.WARN,
            description=f"{result.rows_failing:,} of {result.rows:,} rows ({result.share:.3%})",
            metadata=_figures(result),
        )
    limit = verdict.contract.stored_as().publish_limit
    yield dg.AssetCheckResult(
        passed=verdict.within_publish_limit,
        asset_key=key,
        check_name=WITHIN_PUBLISH_LIMIT,
        severity=dg.AssetCheckSeverity.ERROR,
        description=f"{verdict.rows_quarantined:,} of {verdict.rows:,} quarantined ({verdict.share_quarantined:.3%})",
        metadata={"rows_quarantined": verdict.rows_quarantined, "rows": verdict.rows, "limit": limit},
    )


def shown(found: Any) -> Any:
    """Return metadata, or a part of it, with what can't be seen in its texts and names written out."""
    if isinstance(found, str):
        return printable(found)
    if isinstance(found, Mapping):
        return {printable(str(name)): shown(value) for name, value in found.items()}
    return [shown(value) for value in found] if isinstance(found, list) else found


def example_table(examples: Sequence[Mapping[str, Any]]) -> dg.TableMetadataValue:
    """Show a few rows as a table; values that a table's cells can't hold are shown as text, and text is printable."""
    records = [
        dg.TableRecord(
            {name: value if isinstance(value, _PLAIN) else printable(str(value)) for name, value in example.items()}
        )
        for example in examples
    ]
    columns = [dg.TableColumn(name, _cell_type(name, records)) for name in examples[0]]
    return dg.MetadataValue.table(records, schema=dg.TableSchema(columns))


def _figures(result: RuleResult) -> dict[str, Any]:
    figures: dict[str, Any] = {
        "rows_failing": result.rows_failing,
        "share": round(result.share, 6),
        "tolerance": result.rule.tolerance,
        "rows": result.rows,
    }
    return {**figures, "examples": example_table(result.examples)} if result.examples else figures


def _cell_type(name: str, records: Sequence[dg.TableRecord]) -> str:
    kinds = {type(record.data[name]) for record in records} - {type(None)}
    return {frozenset({int}): "int", frozenset({float}): "float", frozenset({bool}): "bool"}.get(
        frozenset(kinds), "string"
    )
