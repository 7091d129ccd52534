"""A source file's rows in their contract's types, whatever the file's own are: every row, and nothing of it lost.

A value that its type can't hold, a column that nobody knows and a line that is too short are kept as JSON in
`_rescued_data`.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import narwhals.stable.v1 as nw
import polars as pl
from narwhals.stable.v1.dtypes import DType as NarwhalsDtype

from taxi_assets.contracts import Contract, Frame, Int64, LocalTime, String, column
from taxi_assets.engines.csv_lines import BROKEN_LINE, ROW, SURPLUS
from taxi_assets.engines.nested import as_json
from taxi_assets.engines.parsed_values import always_fits, null_of, parsed
from taxi_assets.engines.source_files import Source

RESCUED: Final = "_rescued_data"
LINE_KEY: Final = "_line"
"""Under this key `_rescued_data` keeps, whole, a CSV line that has too few fields or quotes that don't pair."""
SURPLUS_KEY: Final = "_surplus_fields"
"""Under this key `_rescued_data` keeps what a CSV line has behind the last field of the header."""

_KEYS: Final = {BROKEN_LINE: LINE_KEY, SURPLUS: SURPLUS_KEY}


class Provenance(Contract):
    """The columns that say where a row came from: part of the contract of every table that is read from a file."""

    source_file: String = column("Path of the file below landing's root.", required=True)
    source_row: Int64 = column(
        "Number of the row in the file, from 1; header and blank lines don't count.", required=True
    )
    source_fingerprint: String = column("SHA-256 of the file's bytes.", required=True)
    ingested_at: LocalTime = column("When the file was read, UTC.", required=True)
    rescued_data: String = column(
        "JSON of the values that the row's columns can't hold, by column name; null if there are none.", alias=RESCUED
    )


def typed(
    source: Source,
    mapped: Mapping[str, str],
    contract: type[Contract],
    words: Mapping[str, Mapping[str, str]] | None = None,
) -> Frame:
    """Give a file's rows a contract's names and types, and `_rescued_data`.

    `mapped` has the contract's name for each column of the file that has one. `words` has, by column of the contract,
    texts in lower case and the value that each stands for. Columns of the contract that the file
    lacks are null; those of `Provenance` but the row's number, and the partition's, are left to the caller, who knows
    the file.

    A value that its type doesn't hold is null, and kept in `_rescued_data`: parsed_values.py says what each type holds.
    """
    schema = source.rows.collect_schema()
    targets = {field.name: field.dtype.narwhals for field in contract.columns()}
    values, losses = [], []
    places = {name: place for place, name in source.names.items()}
    for name, canonical in mapped.items():
        place = places[name]
        dtype, target = schema[place], targets[canonical]
        value = _say(pl.col(place), dtype, target, (words or {}).get(canonical, {}))
        values.append(value.alias(canonical))
        if not always_fits(dtype, target):
            losses.append(_Loss(place, canonical, _is_present(place, dtype, target) & value.is_null()))
    ours = set(targets).difference(Provenance.column_names(), contract.period_columns())
    strangers = {
        place: source.names.get(place, place)
        for place in schema.names()
        if source.names.get(place) not in mapped and place != ROW and schema[place] != pl.Null
    }
    keys = _keys_of_strangers(strangers, ours)
    losses += [_Loss(place, keys[place], _is_present(place, schema[place])) for place in strangers]
    absent = [
        null_of(target).alias(name) for name, target in targets.items() if name in ours and name not in mapped.values()
    ]
    return nw.from_native(
        source.rows.select(pl.col(ROW).alias("source_row"), *values, *absent, _rescue(losses).alias(RESCUED))
    )


def rescues_one_of(names: Sequence[str]) -> nw.Expr:
    """Return whether `_rescued_data` holds a value of one of these columns, or a line that wasn't of them.

    One that has a field too many, as by a comma for thousands, has values in their neighbours' columns.
    """
    keys = [*(name for name in names if name != RESCUED), LINE_KEY, SURPLUS_KEY]
    return nw.col(RESCUED).str.contains(f'"(?:{"|".join(keys)})":').fill_null(False)


@dataclass(frozen=True, slots=True)
class _Loss:
    """A column of the file that may hold what the typed row doesn't: the key in `_rescued_data`, and in which rows."""

    column: str
    key: str
    happens: pl.Expr


def _keys_of_strangers(names: Mapping[str, str], ours: Collection[str]) -> dict[str, str]:
    """Return what columns that nobody knows are called in `_rescued_data`: as in the file, unless that is taken."""
    keys = {place: key for place, key in _KEYS.items() if place in names}
    taken = {*ours, LINE_KEY, SURPLUS_KEY}
    for place, name in names.items():
        if place in keys:
            continue
        key = f"{name} (in the file)" if name in taken else name
        while key in taken:
            key += "'"
        keys[place] = key
        taken.add(key)
    return keys


def _say(value: pl.Expr, dtype: pl.DataType, target: NarwhalsDtype, words: Mapping[str, str]) -> pl.Expr:
    """Parse a column, with what its words stand for in their place. Numbers are no words for numbers."""
    if not words or dtype.is_nested() or dtype == pl.Binary or not (dtype == pl.String or target == nw.String):
        return parsed(value, dtype, target)
    text = (value.fill_nan(None) if dtype.is_float() else value).cast(pl.String)
    word = text.str.strip_chars().str.to_lowercase()
    meanings = [
        pl.when(word.is_in([word_ for word_, meant in words.items() if meant == meaning])).then(pl.lit(meaning))
        for meaning in dict.fromkeys(words.values())
    ]
    return parsed(pl.coalesce(*meanings, text), pl.String(), target)


def _is_present(column: str, dtype: pl.DataType, target: NarwhalsDtype | None = None) -> pl.Expr:
    value = pl.col(column)
    if dtype.is_float() and target == nw.String:
        # Who makes numbers of flags has no other way to say that there is none. Among numbers NaN is no number.
        return value.is_not_nan() & value.is_not_null()
    return value.str.strip_chars().str.len_bytes().fill_null(0) > 0 if dtype == pl.String else value.is_not_null()


def _rescue(losses: Sequence[_Loss]) -> pl.Expr:
    """JSON of what a row would lose: {canonical name, or the file's if unknown: the value as the file has it}."""
    if not losses:
        return pl.lit(None).cast(pl.String)

    def encode(batch: pl.Series) -> pl.Series:
        rows = batch.struct.unnest()
        lost_any = rows.select(pl.any_horizontal(_lost(place) for place in range(len(losses)))).to_series()
        nothing = pl.Series(batch.name, [None], dtype=pl.String).new_from_index(0, rows.height)
        if not lost_any.any():
            return nothing
        pairs = [
            pl.when(pl.col(_lost(place))).then(
                pl.lit(f"{_as_json(loss.key)}:") + as_json(pl.col(_raw(place)), rows.schema[_raw(place)])
            )
            for place, loss in enumerate(losses)
        ]
        encoded = rows.filter(lost_any).select(
            pl.lit("{") + pl.concat_str(pairs, separator=",", ignore_nulls=True) + pl.lit("}")
        )
        return nothing.scatter(lost_any.arg_true(), encoded.to_series())

    parts = [pl.col(loss.column).alias(_raw(place)) for place, loss in enumerate(losses)]
    parts += [loss.happens.alias(_lost(place)) for place, loss in enumerate(losses)]
    # In Python, batch by batch, so that only what is lost is turned into text: hardly a row loses anything.
    return pl.struct(parts).map_batches(encode, return_dtype=pl.String, is_elementwise=True)


def _raw(place: int) -> str:
    return f"raw_{place}"


def _lost(place: int) -> str:
    return f"lost_{place}"


def _as_json(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)
