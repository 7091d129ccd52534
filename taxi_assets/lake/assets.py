"""From a contract and a transform to Dagster assets: the declaration that every table would otherwise repeat.

`table_asset` makes one table; `judged_assets` makes two, the rows that are kept and those that are quarantined. Checks
of what is stored come from stored_checks.py.
"""

from __future__ import annotations

import functools
import inspect
import typing
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

import dagster as dg
import narwhals.stable.v1 as nw

from taxi_assets.contracts import Contract, Frame, Verdict, judge
from taxi_assets.engines import engine_of
from taxi_assets.errors import FailingRuleError, LakeError, PublishLimitExceededError
from taxi_assets.lake.code_versions import code_version
from taxi_assets.lake.failures import one_clear_failure
from taxi_assets.lake.figures import Figures, note_figures
from taxi_assets.lake.metadata import EMBEDDED, OPTIONAL, asset_key, column_schema, rule_results, rule_specs
from taxi_assets.lake.partitions import partitions_of
from taxi_assets.lake.passed_by import (
    PASSED_BY,
    NotLoaded,
    PassBy,
    PassedBy,
    failing_alone,
    missing_input,
    observe,
    pass_by,
    without_not_loaded,
)
from taxi_assets.lake.quarantine import Quarantine, note_quarantine

IO_MANAGER: Final = "lake_io_manager"
"""Resource key of the lake's IO manager."""

_OWNERS: Final = ["team:lakehouse"]

Transform = Callable[..., Any]


def table_asset(
    contract: type[Contract],
    *,
    ins: Mapping[str, dg.AssetIn] | None = None,
    tags: Mapping[str, str] | None = None,
    embedded: bool = False,
    figures: Figures | None = None,
    partitions_def: dg.PartitionsDefinition | None = None,
) -> Callable[[Transform], dg.AssetsDefinition]:
    """Make a transform the asset of a contract's table.

    The transform takes its inputs as lazy frames and returns one, or a MaterializeResult whose value is one, or yields
    such a result to look after it, once it is stored; or a PassBy, if there is nothing to store. An `embedded` one is
    computed and stored within the run's process, whatever engine computes the others: for tables of few rows, each the
    answer to one scan. `figures` are asked of each partition that is stored, and shown with it. Its partitions are
    those of the contract's calendar, unless others are given.
    """
    if figures:
        note_figures(contract, figures)
    if embedded and ins:
        ins = {
            name: dg.AssetIn(one.key, metadata={**(one.metadata or {}), EMBEDDED: True}) for name, one in ins.items()
        }

    def decorate(transform: Transform) -> dg.AssetsDefinition:
        def results(*args: Any, **inputs: Any) -> Iterator[Any]:
            key = contract.stored_as().key
            with one_clear_failure(key, f"{key} stands"):
                made = transform(*args, **_without_passed_by(inputs))
                parts = iter([made] if isinstance(made, (nw.LazyFrame, dg.MaterializeResult, PassBy)) else made)
                first = next(parts)
            yield from _handed_over(first)
            with one_clear_failure(key):
                for part in parts:
                    yield from _handed_over(part)

        made: Any = dg.asset(
            key=asset_key(contract),
            ins=ins,
            partitions_def=partitions_def or partitions_of(contract),
            io_manager_key=IO_MANAGER,
            dagster_type=Any,
            **_described(contract, transform, tags),
        )(_step(transform, ins, results))
        return typing.cast("dg.AssetsDefinition", made)

    return decorate


def judged_assets(
    kept: type[Contract],
    quarantined: type[Contract],
    *,
    row_id: str,
    recognised_by: Sequence[str] = (),
    ins: Mapping[str, dg.AssetIn] | None = None,
    tags: Mapping[str, str] | None = None,
    partitions_def: dg.PartitionsDefinition | None = None,
) -> Callable[[Transform], dg.AssetsDefinition]:
    """Make a transform the assets of two tables, judged by the rules of `kept` before anything is written.

    The transform returns all rows with what both contracts and the rules need. `row_id` numbers them, `recognised_by`
    are columns by which a person knows a row again in the examples. Each rule becomes a check of `kept`; above its
    publish limit, or if a row breaks a rule that fails, neither table is touched and the run fails.
    """
    quarantine = note_quarantine(Quarantine(kept, quarantined, row_id, tuple(recognised_by)))

    def decorate(transform: Transform) -> dg.AssetsDefinition:
        partitions = partitions_def or partitions_of(kept)

        def results(*args: Any, **inputs: Any) -> Iterator[Any]:
            key = kept.stored_as().key
            with one_clear_failure(key, f"{key} and its quarantine stand"):
                rows = transform(*args, **_without_passed_by(inputs))
                hold = engine_of(rows).hold
                verdict = judge(kept, rows, row_id=row_id, recognised_by=recognised_by, hold=hold)
            if not verdict.publishable:
                yield from rule_results(verdict)
                with one_clear_failure(key):
                    raise _fatal(verdict) if verdict.fatal else _limit_exceeded(verdict)
            counts = {"rows_judged": verdict.rows, "rows_quarantined": verdict.rows_quarantined}
            of_kept: dict[str, Any] = {**counts, "quarantine": quarantine.link()}
            of_quarantined = {**counts, **quarantine.metadata(verdict)}
            yield dg.MaterializeResult(asset_key=asset_key(kept), value=verdict.kept, metadata=of_kept)
            yield dg.MaterializeResult(
                asset_key=asset_key(quarantined), value=verdict.quarantined, metadata=of_quarantined
            )
            # After the materialization, or Dagster takes them for results of the one before.
            yield from rule_results(verdict)

        outs = {
            contract.stored_as().path[1]: dg.AssetOut(
                key=asset_key(contract),
                dagster_type=Any,
                io_manager_key=IO_MANAGER,
                **_described(contract, transform, tags),
            )
            for contract in (kept, quarantined)
        }
        return dg.multi_asset(
            name="__".join(kept.stored_as().path),
            outs=outs,
            ins=ins,
            partitions_def=partitions,
            check_specs=rule_specs(kept, partitions),
        )(_step(transform, ins, results))

    return decorate


def _step(transform: Transform, ins: Mapping[str, dg.AssetIn] | None, results: Transform) -> Transform:
    """Return what Dagster runs for a transform: it yields `results`, or passes by where it lacks an input."""

    @functools.wraps(transform)
    def compute(*args: Any, passed_by: PassedBy, **inputs: Any) -> Iterator[Any]:
        lacking = missing_input(inputs, _optional(ins))
        if lacking and not any(isinstance(value, NotLoaded) for value in inputs.values()):
            yield from pass_by(dg.AssetExecutionContext.get(), lacking)
        else:
            made = iter(()) if lacking else results(*args, **inputs)
            yield from failing_alone(passed_by, without_not_loaded(inputs.values(), made))

    _declare_like(compute, transform)
    return compute


def _handed_over(part: Any) -> Iterator[Any]:
    if isinstance(part, PassBy):
        context = dg.AssetExecutionContext.get()
        observe(context, part)
        yield from pass_by(context, part)
    else:
        yield dg.MaterializeResult(value=part) if isinstance(part, nw.LazyFrame) else part


def _limit_exceeded(verdict: Verdict) -> PublishLimitExceededError:
    stored_as = verdict.contract.stored_as()
    worst = max(verdict.results, key=lambda result: result.rows_failing if result.rule.quarantines else -1)
    return PublishLimitExceededError(
        f"{verdict.rows_quarantined:,} of {verdict.rows:,} rows ({verdict.share_quarantined:.2%}) for {stored_as.key} "
        f"break rules, above its publish limit of {stored_as.publish_limit:.0%}; most break {worst.rule.name} "
        f"({worst.rows_failing:,}). Nothing was published: it and its quarantine stand as before, bronze holds the "
        "file. Look at the failed checks' example rows; if the file is wrong, replace it in landing."
    )


def _fatal(verdict: Verdict) -> FailingRuleError:
    key = verdict.contract.stored_as().key
    broken = "; ".join(
        f"{result.rows_failing:,} of {result.rows:,} rows break {result.rule.name}, such as {_row(result.examples[0])}"
        for result in verdict.fatal
    )
    return FailingRuleError(
        f"{key} is published without a row that breaks a rule of those that fail, or not at all: {broken}. Nothing was "
        "published: it and its quarantine stand as before, bronze holds the file. Look at the failed checks' example "
        "rows, and replace the file in landing."
    )


def _row(example: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} {value}" for name, value in example.items())


def _optional(ins: Mapping[str, dg.AssetIn] | None) -> set[str]:
    return {name for name, one in (ins or {}).items() if (one.metadata or {}).get(OPTIONAL)}


def _without_passed_by(inputs: Mapping[str, Any]) -> dict[str, Any]:
    return {name: None if isinstance(value, PassBy) else value for name, value in inputs.items()}


def _declare_like(compute: Transform, transform: Transform) -> None:
    """Give a wrapper the parameters that Dagster shall see, and no return type to take for the asset's.

    They are the transform's, and the notes of what the run has passed by.
    """
    hints = typing.get_type_hints(transform, include_extras=True)
    # Frames come through the IO manager, which is where their type is seen to.
    hints = {name: hint for name, hint in hints.items() if name != "return" and not _is_frame(hint)}
    hints[PASSED_BY] = dg.ResourceParam[PassedBy]
    parameters = [
        *(p.replace(annotation=hints.get(p.name, p.empty)) for p in inspect.signature(transform).parameters.values()),
        inspect.Parameter(PASSED_BY, inspect.Parameter.KEYWORD_ONLY, annotation=hints[PASSED_BY]),
    ]
    compute.__annotations__ = hints
    # In the order of a signature: what takes any name comes last.
    compute.__signature__ = inspect.Signature(sorted(parameters, key=lambda p: p.kind))  # type: ignore[attr-defined]


def _is_frame(hint: Any) -> bool:
    return any(typing.get_origin(part) is nw.LazyFrame for part in (hint, *typing.get_args(hint)))


def _described(contract: type[Contract], transform: Transform, tags: Mapping[str, str] | None) -> dict[str, Any]:
    catalog, _, layer = contract.stored_as().path[0].partition("_")
    return {
        "description": contract.story(),
        "group_name": contract.stored_as().path[0],
        "kinds": {"delta", layer},
        "owners": _OWNERS,
        "tags": {"catalog": catalog, "layer": layer, **(tags or {})},
        "code_version": code_version(transform.__module__),
        "metadata": {
            "dagster/column_schema": column_schema(contract),
            "dagster/table_name": contract.stored_as().sql_name,
            "partition_expr": ", ".join(contract.stored_as().replaced_by) or "(upserted by key)",
        },
    }


def optional_inputs(contracts: Mapping[Any, type[Contract]]) -> dict[str, dg.AssetIn]:
    """Name tables as inputs of which any may lack the partition: the transform then receives None for it."""
    return {
        str(name): dg.AssetIn(asset_key(contract), metadata={OPTIONAL: True}) for name, contract in contracts.items()
    }


def stored_of(inputs: Mapping[str, Frame | None], partition_key: str) -> dict[str, Frame]:
    """Return those of some optional inputs that have the partition. Raises LakeError if none has it."""
    stored = {name: frame for name, frame in inputs.items() if frame is not None}
    if not stored:
        raise LakeError(
            f"None of {', '.join(inputs)} holds {partition_key}. Materialize that partition of one of them first."
        )
    return stored
