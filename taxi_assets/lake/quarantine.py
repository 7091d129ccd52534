"""Quarantines: which table holds the rows that another's rules refused, and what a person is shown of these rows.

A pair is noted where its assets are declared (assets.py); here it is found again, for the UI and the command line.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import dagster as dg
import narwhals.stable.v1 as nw

from taxi_assets.contracts import Contract, Verdict
from taxi_assets.contracts.judge import FAILED_RULES
from taxi_assets.engines import Partition
from taxi_assets.lake.lake import Lake
from taxi_assets.lake.metadata import asset_key, example_table


@dataclass(frozen=True, slots=True)
class Quarantine:
    """Two tables that one step makes: of rows that are `kept` by the rules of theirs, and of those that are not.

    `row_id` and `recognised_by` are columns by which a person knows a row again.
    """

    kept: type[Contract]
    quarantined: type[Contract]
    row_id: str
    recognised_by: tuple[str, ...]

    @property
    def rules(self) -> list[str]:
        """The names of the rules for which a row is quarantined."""
        return [rule.name for rule in self.kept.rules() if rule.quarantines]

    @property
    def shown(self) -> list[str]:
        """The columns of the quarantine that say which row it is, which rules it breaks, and what these are about."""
        about = [name for rule in self.kept.rules() if rule.quarantines for name in rule.columns]
        wanted = dict.fromkeys([self.row_id, FAILED_RULES, *self.recognised_by, *about])
        # Of a partition its own columns say nothing.
        stored = set(self.quarantined.column_names()) - set(self.quarantined.stored_as().replaced_by)
        return [name for name in wanted if name in stored]

    def for_a_person(self, rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
        """Return what a person is shown of some rows: of these columns those that hold a value."""
        filled = [name for name in self.shown if any(row[name] is not None for row in rows)]
        return [{name: _in_words(row[name]) for name in filled} for row in rows]

    def metadata(self, verdict: Verdict) -> dict[str, Any]:
        """Say of the rows that are quarantined how many each rule has refused, and show a few."""
        refused = [result for result in verdict.results if result.rule.quarantines and result.rows_failing]
        if not refused:
            return {}
        most_first = sorted(refused, key=lambda result: -result.rows_failing)
        return {
            "rows_by_rule": example_table(
                [{"rule": result.rule.name, "rows": result.rows_failing} for result in most_first]
            ),
            "sample_rows": example_table(self.for_a_person(verdict.sample)),
        }

    def link(self) -> dg.MetadataValue:
        """Link to the quarantine's page in the UI."""
        return dg.MetadataValue.asset(asset_key(self.quarantined))


def _in_words(value: Any) -> Any:
    # A double is shown as what was written, not as what stands for it in binary.
    return (
        ", ".join(value) if isinstance(value, list) else float(f"{value:.12g}") if isinstance(value, float) else value
    )


QUARANTINES: Final[dict[type[Contract], Quarantine]] = {}
"""All pairs whose assets have been declared, by the contract of the quarantine."""


def note_quarantine(quarantine: Quarantine) -> Quarantine:
    """Note a pair of tables."""
    QUARANTINES[quarantine.quarantined] = quarantine
    return quarantine


def rows_of(
    lake: Lake, quarantine: Quarantine, partition: Partition, rule: str | None = None, most: int | None = None
) -> tuple[int, list[dict[str, Any]]] | None:
    """Return how many rows of a partition are quarantined (by a rule), and them, or the first of them by their number.

    None if the partition isn't stored.
    """
    contracts = (quarantine.kept, quarantine.quarantined)
    if all(lake.row_count(contract, partition) is None for contract in contracts):
        return None
    if not lake.row_count(quarantine.quarantined, partition):
        return 0, []
    found = lake.embedded().read(quarantine.quarantined, [partition])
    if rule:
        found = found.filter(nw.col(FAILED_RULES).list.contains(rule))
    count = int(found.select(nw.len()).collect().item())
    # A number that is computed for the judgement alone isn't stored.
    numbered = quarantine.row_id in quarantine.quarantined.column_names()
    by = [quarantine.row_id] if numbered else quarantine.quarantined.stored_as().keys
    rows = found.sort(by).head(count if most is None else most).collect().rows(named=True)
    return count, [{name: row[name] for name in quarantine.quarantined.column_names()} for row in rows]
