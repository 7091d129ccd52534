"""What the columns of TLC's files mean: a table per service in layouts/, read here and applied to a file.

A line of such a table gives a file's column (in lower case: case changes from month to month) its name in the contract,
the months in which TLC writes it so, and the source of that. A column whose name is the contract's own needs no line;
one that nobody knows is kept in `_rescued_data`. words.csv has what old files write out and newer ones have codes for.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

from taxi_assets.calendars import Month
from taxi_assets.contracts import Contract
from taxi_assets.engines.source_files import Source
from taxi_assets.engines.typed_rows import Provenance
from taxi_assets.tlc.vocabulary import Service

_TABLES: Final = Path(__file__).parent / "layouts"
_MOST_SHOWN: Final = 40
_LONGEST_SHOWN: Final = 60


@dataclass(frozen=True, slots=True)
class Line:
    """A column of a service's files: its name there, the contract's name for it ('' for none), and when."""

    file_column: str
    column: str
    since: Month
    until: Month | None
    source: str

    def holds_in(self, month: Month) -> bool:
        return self.since <= month and (self.until is None or month <= self.until)


# What a file must have, or rules and gold would be about something else: of each entry one of the alternatives, whole.
_Needed = Sequence[Sequence[Sequence[str]]]
_PLACES: Final = tuple(
    ((f"{end}_location_id",), (f"{end}_longitude", f"{end}_latitude")) for end in ("pickup", "dropoff")
)
_METERED: Final[_Needed] = (
    (("pickup_datetime",),),
    (("dropoff_datetime",),),
    *_PLACES,
    (("trip_distance",),),
    (("fare_amount",),),
    (("tip_amount",),),
    (("total_amount",),),
)
NEEDED: Final[Mapping[Service, _Needed]] = {
    Service.YELLOW: _METERED,
    Service.GREEN: _METERED,
    # Files of 2015 and 2016 have no dropoff, and one location at most.
    Service.FHV: ((("dispatching_base_num",),), (("pickup_datetime",),)),
    # CSVs of 2019 and 2020 have neither fares nor miles.
    Service.FHVHV: tuple(
        ((column,),)
        for column in (
            "hvfhs_license_num",
            "pickup_datetime",
            "dropoff_datetime",
            "pickup_location_id",
            "dropoff_location_id",
        )
    ),
}


@cache
def lines_of(service: Service) -> tuple[Line, ...]:
    """Return a service's table; of two lines for one column the first that fits is used."""
    return tuple(
        Line(
            row["file_column"],
            row["column"],
            Month.parse(row["since"]),
            Month.parse(row["until"]) if row["until"] else None,
            row["source"],
        )
        for row in _rows(service)
    )


@cache
def words() -> Mapping[str, Mapping[str, str]]:
    """Return by column what is written out in some files, in lower case, and what stands for it in bronze."""
    found: dict[str, dict[str, str]] = {}
    for row in _rows("words"):
        found.setdefault(row["column"], {})[row["word"]] = row["value"]
    return found


@dataclass(frozen=True, slots=True)
class Applied:
    """What a file's columns are: those that have a name in the contract, those without use, those nobody knows."""

    mapped: Mapping[str, str]
    useless: tuple[str, ...]
    unknown: tuple[str, ...]


def apply_layout(source: Source, service: Service, month: Month, contract: type[Contract]) -> Applied:
    """Give a file's columns their names in the contract.

    Raises LandingError if a needed one is missing, if two mean the same, or if they are those of another service.
    """
    applied = _apply(source.columns, service, month, contract)
    missing = _missing(applied, service)
    _refuse_another_services(source, service, month, applied, missing=bool(missing))
    if missing:
        expected = "; ".join(" or ".join(_names_in_files(each, service) for each in entry) for entry in missing)
        raise source.file.unusable(
            f"needed columns are missing: {expected}. It has {source.file.quoted(_shown(source.columns))}",
            f"Fetch it again; if TLC has renamed a column, add a line to tlc/bronze/layouts/{service}.csv.",
        )
    taken = {meaning: name for name, meaning in applied.mapped.items()}
    for name in applied.unknown:
        meanings = _meanings(name, service, month, contract)
        if meanings:
            raise source.file.unusable(f"its columns '{taken[meanings[0]]}' and '{name}' are both {meanings[0]}")
    return applied


def _apply(columns: Sequence[str], service: Service, month: Month, contract: type[Contract] | None) -> Applied:
    mapped: dict[str, str] = {}
    useless = []
    for line in _in_order(service, month):
        for name in columns:
            if _key(name) != line.file_column or name in mapped or name in useless:
                continue
            if not line.column:
                useless.append(name)
            elif line.column not in mapped.values():
                mapped[name] = line.column
    for name in columns:
        if name not in mapped and _key(name) in _own_names(contract).difference(mapped.values()):
            mapped[name] = _key(name)
    return Applied(
        # In the file's order.
        {name: mapped[name] for name in columns if name in mapped},
        tuple(useless),
        tuple(name for name in columns if name not in mapped and name not in useless),
    )


def _in_order(service: Service, month: Month) -> list[Line]:
    """The lines that hold in a month, then the others: a name that TLC used at another time means the same."""
    return sorted(lines_of(service), key=lambda line: not line.holds_in(month))


def _meanings(name: str, service: Service, month: Month, contract: type[Contract]) -> list[str]:
    by_table = [line.column for line in _in_order(service, month) if line.file_column == _key(name)]
    return by_table or [own for own in _own_names(contract) if own == _key(name)]


def _own_names(contract: type[Contract] | None) -> set[str]:
    if contract is None:
        return set()
    return set(contract.column_names()).difference(Provenance.column_names(), contract.period_columns())


def _missing(applied: Applied, service: Service) -> list[Sequence[Sequence[str]]]:
    there = set(applied.mapped.values())
    return [entry for entry in NEEDED[service] if not any(there.issuperset(columns) for columns in entry)]


def _refuse_another_services(
    source: Source, service: Service, month: Month, applied: Applied, *, missing: bool
) -> None:
    """Raise LandingError if another service knows more of the columns, and misses none: a few may be new to both."""
    others = {other: _apply(source.columns, other, month, None) for other in NEEDED if other is not service}
    whole = {other: len(found.unknown) for other, found in others.items() if not _missing(found, other)}
    other = min(whole, key=lambda each: whole[each], default=None)
    if other is not None and (whole[other], False) < (len(applied.unknown), missing):
        raise source.file.unusable(
            f"its columns are those of {other} trips, not of {service}",
            f"Put it into landing under a name that begins with {other}_tripdata_.",
        )


def _names_in_files(columns: Sequence[str], service: Service) -> str:
    return " and ".join(
        f"{' or '.join(dict.fromkeys(line.file_column for line in lines_of(service) if line.column == column))} "
        f"(for {column})"
        for column in columns
    )


def _shown(names: Sequence[str]) -> str:
    """Names for a message: not too many, not too long, and nothing that a terminal would obey."""
    some = [repr(name)[1:-1][:_LONGEST_SHOWN] for name in names[:_MOST_SHOWN]]
    return ", ".join([*some, f"and {len(names) - _MOST_SHOWN} more"] if len(names) > _MOST_SHOWN else some)


def _key(name: str) -> str:
    return name.strip().lower()


def _rows(table: str) -> Iterator[dict[str, str]]:
    with (_TABLES / f"{table}.csv").open(encoding="utf-8", newline="") as file:
        yield from csv.DictReader(file)
