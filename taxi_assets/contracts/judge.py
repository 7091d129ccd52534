"""Judging: all rules of a contract evaluated on a frame in one aggregation, and the frame split by what was found.

Pure Narwhals: the same code judges on every engine. Nothing but counts and a few example rows leaves the engine. What
is kept and what is quarantined stay lazy: storing what is kept evaluates the rules again, which costs less than holding
the frame. The rows that break a rule are asked for several times; an engine may hold those.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import narwhals.stable.v1 as nw

from taxi_assets.contracts.contract import Contract, Rule
from taxi_assets.contracts.types import Frame

FAILED_RULES: Final = "failed_rules"
SAMPLE: Final = 10
"""So many of the quarantined rows are a verdict's sample, if there are as many."""
_EXAMPLES: Final = 5
# Rows are tallied by which rules they break, and within that by the remainder of their number, of which each names its
# first and its last row: of five rows that break a rule all are named, unless three of them have one remainder.
_LANES: Final = 64
_QUARANTINING, _REPORTED, _LANE = "_broken_quarantining", "_broken_reported", "_lane"
_FIRST, _LAST = "first", "last"
_Tally = Sequence[Mapping[str, int]]


@dataclass(frozen=True, slots=True)
class RuleResult:
    """How many of a frame's rows break a rule, and a few of them."""

    rule: Rule
    rows_failing: int
    rows: int
    examples: tuple[Mapping[str, Any], ...]

    @property
    def share(self) -> float:
        """Share of the frame's rows that break the rule, 0 to 1."""
        return self.rows_failing / self.rows if self.rows else 0.0

    @property
    def passed(self) -> bool:
        """Whether that share is within the rule's tolerance."""
        return self.share <= self.rule.tolerance


@dataclass(frozen=True, slots=True)
class Verdict:
    """What judging found. `kept` and `quarantined` are lazy and together hold every row of the frame exactly once.

    `quarantined` has one more column, `failed_rules`: the names of the quarantining rules that the row breaks. `sample`
    are a few of its rows, with `failed_rules`, the columns of quarantining rules, and those that a row is known by.
    """

    contract: type[Contract]
    rows: int
    rows_quarantined: int
    results: tuple[RuleResult, ...]
    sample: tuple[Mapping[str, Any], ...]
    kept: Frame
    quarantined: Frame

    @property
    def share_quarantined(self) -> float:
        """Share of the frame's rows that break at least one quarantining rule, 0 to 1."""
        return self.rows_quarantined / self.rows if self.rows else 0.0

    @property
    def within_publish_limit(self) -> bool:
        """Whether that share is within the table's publish limit."""
        return self.share_quarantined <= self.contract.stored_as().publish_limit

    @property
    def fatal(self) -> tuple[RuleResult, ...]:
        """The results of rules that fail, and that a row breaks."""
        return tuple(result for result in self.results if result.rule.fails and result.rows_failing)

    @property
    def publishable(self) -> bool:
        """Whether the frame may be stored: it is within the limit, and no row breaks a rule that fails."""
        return self.within_publish_limit and not self.fatal


def judge(
    contract: type[Contract],
    frame: Frame,
    *,
    row_id: str,
    recognised_by: Sequence[str] = (),
    hold: Callable[[Frame], Frame] = lambda rows: rows,
) -> Verdict:
    """Evaluate all rules of `contract` on `frame` in one aggregation.

    `row_id` is a column of whole numbers that differ from row to row; examples are found by it. They show the columns
    of their rule, and those by which a row is `recognised_by`. `hold` is the engine's; the rows that break a rule go
    through it.
    """
    quarantining = [rule for rule in contract.rules() if rule.quarantines]
    reported = [rule for rule in contract.rules() if not rule.quarantines]
    judged = frame.with_columns(
        _as_bits(quarantining).alias(_QUARANTINING),
        _as_bits(reported).alias(_REPORTED),
    )
    broken = hold(judged.filter((nw.col(_QUARANTINING) != 0) | (nw.col(_REPORTED) != 0)))
    tally = (
        broken.with_columns((nw.col(row_id) % _LANES).alias(_LANE))
        .group_by(_QUARANTINING, _REPORTED, _LANE)
        .agg(nw.len().alias("rows"), nw.col(row_id).min().alias(_FIRST), nw.col(row_id).max().alias(_LAST))
        .collect()
        .rows(named=True)
    )
    found: dict[str, tuple[int, list[int]]] = {}
    for rules, bits in ((quarantining, _QUARANTINING), (reported, _REPORTED)):
        for position, rule in enumerate(rules):
            groups = [group for group in tally if group[bits] >> position & 1]
            found[rule.name] = (
                sum(group["rows"] for group in groups),
                _some_of(broken, row_id, groups, bits, _EXAMPLES),
            )
    # In an order of their own, as engines have none: of rows of one kind the first is the last to be put in.
    by_kind = sorted(tally, key=lambda group: (group[_QUARANTINING], -group[_FIRST]))
    refused = [group for group in by_kind if group[_QUARANTINING]]
    # One row of each kind first, as far as they go.
    of_each_kind = {group[_QUARANTINING]: group[_FIRST] for group in refused}.values()
    sampled = [*of_each_kind, *_some_of(broken, row_id, refused, _QUARANTINING, SAMPLE)]
    sampled = sorted(list(dict.fromkeys(sampled))[:SAMPLE])
    rows = int(frame.select(nw.len()).collect().item())
    shown = {rule.name: list(dict.fromkeys([row_id, *recognised_by, *rule.columns])) for rule in contract.rules()}
    columns = dict.fromkeys(name for names in shown.values() for name in names)
    examples = _fetch_examples(
        broken, row_id, [*columns, _QUARANTINING], {*sampled, *(id_ for _, ids in found.values() for id_ in ids)}
    )
    of_a_sample = dict.fromkeys([row_id, *recognised_by, *(name for rule in quarantining for name in rule.columns)])
    return Verdict(
        contract=contract,
        rows=rows,
        rows_quarantined=sum(group["rows"] for group in refused),
        results=tuple(
            RuleResult(
                rule,
                found[rule.name][0],
                rows,
                tuple({name: examples[id_][name] for name in shown[rule.name]} for id_ in found[rule.name][1]),
            )
            for rule in contract.rules()
        ),
        sample=tuple(
            {name: examples[id_][name] for name in of_a_sample}
            | {FAILED_RULES: [r.name for i, r in enumerate(quarantining) if examples[id_][_QUARANTINING] >> i & 1]}
            for id_ in sampled
        ),
        kept=judged.filter(nw.col(_QUARANTINING) == 0).drop(_QUARANTINING, _REPORTED),
        quarantined=(
            broken.filter(nw.col(_QUARANTINING) != 0)
            .with_columns(_names_broken(quarantining).alias(FAILED_RULES))
            .drop(_QUARANTINING, _REPORTED)
        ),
    )


def _as_bits(rules: Sequence[Rule]) -> nw.Expr:
    """One whole number a row: bit i is set where the row breaks rule i. 62 rules fit, far more than a table has."""
    if not rules:
        return nw.lit(0).cast(nw.Int64)
    return nw.sum_horizontal(*(rule.breaks.cast(nw.Int64) * (1 << position) for position, rule in enumerate(rules)))


def _names_broken(rules: Sequence[Rule]) -> nw.Expr:
    if not rules:
        return nw.lit(None).cast(nw.List(nw.String))
    names = [nw.when(rule.breaks).then(nw.lit(rule.name)) for rule in rules]
    return nw.concat_str(*names, separator=",", ignore_nulls=True).str.split(",")


def _some_of(broken: Frame, row_id: str, groups: _Tally, bits: str, most: int) -> list[int]:
    """Return the ids of rows of some groups, which `bits` tells from the others: as many as there are, up to `most`."""
    ids = sorted({group[end] for group in groups for end in (_FIRST, _LAST)})
    if len(ids) < min(most, sum(group["rows"] for group in groups)):
        # Their numbers have too few remainders.
        which = broken.filter(nw.col(bits).is_in(sorted({group[bits] for group in groups})))
        ids = which.select(nw.col(row_id)).sort(row_id).head(most).collect()[row_id].to_list()
    return ids[:most]


def _fetch_examples(
    frame: Frame, row_id: str, columns: Sequence[str], ids: Collection[int]
) -> dict[int, dict[str, Any]]:
    if not ids:
        return {}
    rows = frame.filter(nw.col(row_id).is_in(sorted(ids))).select(*columns).collect().rows(named=True)
    return {row[row_id]: row for row in rows}
