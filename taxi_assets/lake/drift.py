"""Drift: how a partition departs from those stored before it. Checks that warn, each with its evidence.

Mechanism only: which columns hold codes, whose means are compared and how much may change, the tables say. What a
partition's file looked like is read from the notes that its asset left with the rows, see docs/adr/0008.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from statistics import median
from typing import Any, Final

import narwhals.stable.v1 as nw

from taxi_assets.contracts import Contract, Frame
from taxi_assets.engines.csv_lines import is_nameless
from taxi_assets.engines.delta_log import partition_text
from taxi_assets.engines.typed_rows import RESCUED, Provenance
from taxi_assets.lake.metadata import CUT_OFF, SOURCE_COLUMNS, UNKNOWN_COLUMNS, example_table
from taxi_assets.lake.stored_checks import Finding, Stored, StoredCheck

MOST_BEFORE: Final = 3
"""With how many partitions before it a partition is compared: one that is odd itself is outvoted by two others."""

_NO_NOTES: Final = "What columns its file had wasn't noted when it was stored, or something else has rewritten it."


def before(stored: Stored, contract: type[Contract]) -> list[Stored]:
    """Return the newest partitions of a table that are stored and come before a partition, the oldest first."""
    held = stored.lake.location(contract).stored_partitions()
    keys = list(stored.partitions_def.get_partition_keys())
    earlier = [replace(stored, key=key) for key in keys[: keys.index(stored.key)]]
    return [one for one in earlier if _texts(one, contract) in held][-MOST_BEFORE:]


def no_unknown_columns(contract: type[Contract]) -> StoredCheck:
    """Report the columns of a partition's file that are none of the contract's."""

    def find(stored: Stored) -> Finding:
        types = _noted(stored, contract, SOURCE_COLUMNS)
        if types is None:
            return Finding(True, _NO_NOTES)
        unknown = {name: types[name] for name in _unknown(stored, contract)}
        known_before = {one.key: _unknown(one, contract) for one in before(stored, contract)}
        says = f"Unknown: {_listed(unknown)}." if unknown else f"All {len(types)} columns of the file are known."
        return Finding(not unknown, says, {"unknown_columns": unknown, "unknown_before": known_before})

    description = (
        "The file has no column that the contract lacks; the values of one that it has are in _rescued_data. Columns "
        "without a name, as of a header that ends in commas, count if they hold a value."
    )
    return StoredCheck("no_unknown_columns", contract, description, find, blocking=False)


def _unknown(stored: Stored, contract: type[Contract]) -> list[str]:
    """List the unknown columns of a partition's file; of those without a name the ones that hold a value."""
    unknown: list[str] = _noted(stored, contract, UNKNOWN_COLUMNS) or []
    nameless = [name for name in unknown if is_nameless(name)]
    if not nameless:
        return unknown
    values = (nw.col(RESCUED).str.contains(f'"{name}":').cast(nw.Int64).sum().alias(name) for name in nameless)
    (found,) = stored.rows(contract).select(*values).collect().rows(named=True)
    return [name for name in unknown if name not in nameless or found[name]]


def nothing_rescued(contract: type[Contract]) -> StoredCheck:
    """Report drift: rows with something in `_rescued_data`, as a column or a value isn't as expected."""

    def find(stored: Stored) -> Finding:
        rescued = stored.rows(contract).filter(~nw.col(RESCUED).is_null())
        count = int(rescued.select(nw.len().alias("rows")).collect().rows()[0][0])
        rows = stored.count(contract)
        figures: dict[str, Any] = {"rows_failing": count, "rows": rows, "share": count / rows if rows else 0.0}
        if count:
            figures["examples"] = example_table(
                rescued.select("source_row", RESCUED).head(5).collect().rows(named=True)
            )
        says = f"{count:,} of {rows:,} rows hold something that the table's columns can't."
        return Finding(not count, says, figures)

    description = "No value of the file had to be kept in _rescued_data: no unknown column, no value of another type."
    return StoredCheck("nothing_rescued", contract, description, find, blocking=False)


def file_is_whole(contract: type[Contract]) -> StoredCheck:
    """Report a partition's file that seems to be cut off: it was taken, as it had stood still for long enough."""

    def find(stored: Stored) -> Finding:
        cut_off = _noted(stored, contract, CUT_OFF)
        says = f"{' '.join(cut_off)} What is missing isn't known." if cut_off else "No file seems to be cut off."
        return Finding(not cut_off, says, {"cut_off": cut_off} if cut_off else {})

    description = "The file doesn't look as if its end were missing. One that does is refused until it has settled."
    return StoredCheck("file_is_whole", contract, description, find, blocking=False)


def no_vanished_columns(contract: type[Contract]) -> StoredCheck:
    """Report the contract's columns that held values in a partition before, and hold none in this one."""

    def compare(stored: Stored, earlier: Sequence[Stored]) -> Finding:
        had = {one.key: one.filled_columns(contract) for one in earlier}
        filled = stored.filled_columns(contract)
        # That nothing had to be rescued is no loss.
        of_reading = {*Provenance.column_names(), *contract.period_columns()}
        of_file = [name for name in contract.column_names() if name not in of_reading]
        vanished = {
            column: [key for key, columns in had.items() if column in columns]
            for column in of_file
            if column not in filled and any(column in columns for columns in had.values())
        }
        says = f"Without any value: {_listed(vanished)}." if vanished else "No column has lost its values."
        figures = {"vanished_columns": vanished, "columns_in_file": _noted(stored, contract, SOURCE_COLUMNS)}
        return Finding(not vanished, says, figures)

    description = f"Every column that held values in the {MOST_BEFORE} stored partitions before holds some."
    return _against("no_vanished_columns", contract, description, compare)


def types_as_before(contract: type[Contract]) -> StoredCheck:
    """Report the columns of a partition's file whose type is another than in the latest file before that had them."""

    def compare(stored: Stored, earlier: Sequence[Stored]) -> Finding:
        types = _noted(stored, contract, SOURCE_COLUMNS)
        if types is None:
            return Finding(True, _NO_NOTES)
        was: dict[str, tuple[str, str]] = {}
        for one in earlier:
            noted = _noted(one, contract, SOURCE_COLUMNS) or {}
            was |= {name.lower(): (kind, one.key) for name, kind in noted.items()}
        changed = [
            {"column": name, "before": was[name.lower()][0], "now": kind, "as_of": was[name.lower()][1]}
            for name, kind in types.items()
            if name.lower() in was and was[name.lower()][0] != kind
        ]
        says = "; ".join(f"{one['column']} was {one['before']} and is {one['now']}" for one in changed)
        figures = {"changed_types": example_table(changed)} if changed else {}
        return Finding(not changed, says or "Every column has the type that it had before.", figures)

    description = (
        "Every column of the file has the type that it had in the latest file before, whatever bronze made of it."
    )
    return _against("types_as_before", contract, description, compare)


def no_new_codes(contract: type[Contract], listed: Mapping[str, Collection[Any]], *, least_share: float) -> StoredCheck:
    """Report the values of some columns of codes that no partition before holds, with their rows counted.

    `listed` has each column's codes by its publisher's list: one of these is new only if at least this share of the
    partition's rows (0 to 1) has it, as rare ones come and go.
    """

    def compare(stored: Stored, earlier: Sequence[Stored]) -> Finding:
        rows = _rows(contract, stored, earlier)
        this = nw.col(_column(contract)) == nw.lit(next(iter(stored.partition(contract).values())))
        new: dict[str, dict[str, int]] = {}
        known: dict[str, list[Any]] = {}
        least = least_share * stored.count(contract)
        for column, usual in listed.items():
            counts = rows.filter(~nw.col(column).is_null()).group_by(column).agg(
                this.cast(nw.Int64).sum().alias("now"), (~this).cast(nw.Int64).sum().alias("then")
            )  # fmt: skip
            codes = sorted(counts.collect().rows())
            known[column] = [code for code, _, then in codes if then]
            # In a column that has had no codes at all, none is a new one among others.
            if known[column]:
                unseen = ((code, now) for code, now, then in codes if not then)
                found = {str(code): now for code, now in unseen if code not in usual or now >= least}
                new |= {column: found} if found else {}
        says = "; ".join(
            f"{column} {code} ({count:,} rows)" for column, one in new.items() for code, count in one.items()
        )
        return Finding(not new, f"New: {says}." if new else "No new codes.", {"new_codes": new, "codes_before": known})

    description = (
        f"Every code in {', '.join(listed)} is in one of the {MOST_BEFORE} stored partitions before, or is a listed "
        f"one that under {least_share:.1%} of the rows have."
    )
    return _against("no_new_codes", contract, description, compare)


def row_count_as_before(contract: type[Contract], *, most_times: float) -> StoredCheck:
    """Report a number of rows that is more than some times the median of those before, or less than that part of it."""

    def compare(stored: Stored, earlier: Sequence[Stored]) -> Finding:
        then = {one.key: one.count(contract) for one in earlier}
        count, usual = stored.count(contract), median(then.values())
        passed = usual <= count * most_times and count <= usual * most_times
        figures = {
            "rows": count,
            "rows_before": then,
            "median_before": float(usual),
            "ratio": round(count / usual, 4) if usual else None,
            "most_times": most_times,
        }
        return Finding(passed, f"{count:,} rows; before it {_numbers(then)}.", figures)

    description = (
        f"The partition has at most {most_times:g} times the rows of the median of the {MOST_BEFORE} stored before, "
        f"and at least 1/{most_times:g} of them."
    )
    return _against("row_count_as_before", contract, description, compare)


def means_as_before(
    contract: type[Contract], columns: Mapping[str, tuple[float, float]], *, most_change: float
) -> StoredCheck:
    """Report means that depart from the median of those before by more than a share of it.

    `columns` has the least and the greatest value of each that count: a few that are beyond all measure would otherwise
    make the mean.
    """

    def compare(stored: Stored, earlier: Sequence[Stored]) -> Finding:
        key = _column(contract)
        means = _rows(contract, stored, earlier).group_by(key).agg(
            nw.when(nw.col(column).is_between(low, high)).then(nw.col(column)).mean().alias(column)
            for column, (low, high) in columns.items()
        )  # fmt: skip
        found = {str(row.pop(key)): row for row in means.collect().rows(named=True)}
        texts = {one.key: _texts(one, contract)[key] for one in (*earlier, stored)}
        table = [
            _mean_of(column, found.get(texts[stored.key], {}).get(column), then)
            for column in columns
            if (then := [m for one in earlier if (m := found.get(texts[one.key], {}).get(column)) is not None])
        ]
        jumped = [one for one in table if one["change"] is not None and abs(one["change"]) > most_change]
        says = "; ".join(
            f"{one['column']} {one['before']:g} -> {one['mean']:g} ({one['change']:+.0%})" for one in jumped
        )
        figures = {"most_change": most_change, **({"means": example_table(table)} if table else {})}
        return Finding(not jumped, says or "The means are as before.", figures)

    description = (
        f"The means of {', '.join(columns)} are within {most_change:.0%} of the median of the means of the "
        f"{MOST_BEFORE} stored partitions before. Values beyond measure are left out: "
        + ", ".join(f"{column} {low:g} to {high:g}" for column, (low, high) in columns.items())
        + " count."
    )
    return _against("means_as_before", contract, description, compare)


def _mean_of(column: str, mean: float | None, then: Sequence[float]) -> dict[str, Any]:
    usual = median(then)
    # A column that holds no value now is reported as vanished; one whose mean was nothing has no share to change by.
    change = round(mean / usual - 1, 4) if mean is not None and usual else None
    return {
        "column": column,
        "mean": None if mean is None else round(mean, 4),
        "before": round(usual, 4),
        "change": change,
    }


def _against(
    name: str,
    contract: type[Contract],
    description: str,
    compare: Callable[[Stored, Sequence[Stored]], Finding],
) -> StoredCheck:
    def find(stored: Stored) -> Finding:
        earlier = before(stored, contract)
        if not earlier:
            return Finding(True, "There is nothing to compare with: no partition before it is stored.")
        finding = compare(stored, earlier)
        return replace(finding, figures={"compared_with": [one.key for one in earlier], **finding.figures})

    return StoredCheck(name, contract, description, find, blocking=False)


def _noted(stored: Stored, contract: type[Contract], name: str) -> Any:
    """Return one of the notes on a partition; None if there is none."""
    text = stored.notes(contract).get(name)
    return None if text is None else json.loads(text)


def _texts(stored: Stored, contract: type[Contract]) -> dict[str, str]:
    """Return a partition as the Delta log names it."""
    return {name: partition_text(value) for name, value in stored.partition(contract).items()}


def _rows(contract: type[Contract], stored: Stored, earlier: Sequence[Stored]) -> Frame:
    return stored.lake.read(contract, [one.partition(contract) for one in (*earlier, stored)])


def _column(contract: type[Contract]) -> str:
    (column,) = contract.stored_as().replaced_by
    return column


def _listed(names: Mapping[str, Any]) -> str:
    return ", ".join(names)


def _numbers(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{key} {count:,}" for key, count in counts.items())
