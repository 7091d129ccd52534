"""What a catalog is: what the package of each says of itself, for whoever deals with all of them.

The command line knows catalogs by name before Dagster is loaded: what takes Dagster waits until it is asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from taxi_assets.months import Month

if TYPE_CHECKING:
    import dagster as dg

    from taxi_assets.lake.lake import Lake
    from taxi_assets.landing import Landing
    from taxi_assets.month_reports import MonthReport


class Only(StrEnum):
    """What may be chosen of some months."""

    MISSING = "missing"
    FAILED = "failed"
    STALE = "stale"


@dataclass(frozen=True, slots=True)
class Asked:
    """Months that are to be run, and where to look what has become of them: of some services, `only` in some states."""

    months: Sequence[Month]
    services: Sequence[str]
    only: Collection[Only]
    landing: Landing
    lake: Lake
    open_instance: Callable[[], dg.DagsterInstance]


@dataclass(frozen=True, slots=True)
class Contents:
    """A catalog's part of the code location, and how its months are run.

    Each of `tables` has a contract, `others` hold no rows. `jobs` run a whole month: by name of what, in words, and the
    assets; the first makes all. `plan` says of each month which services are to be run: all that can be, or
    `only` those in one of some states, and then it leaves out months of which none is, but for those that are blocked.
    `unread` names the files in landing that nearly are called as its files are, and so are never read.
    """

    tables: Sequence[dg.AssetsDefinition]
    checks: Callable[[Landing], list[dg.AssetChecksDefinition]]
    jobs: Mapping[str, tuple[str, Sequence[dg.AssetKey]]]
    sensors: Sequence[dg.SensorDefinition]
    plan: Callable[[Asked], list[MonthReport]]
    keys_for: Callable[[Collection[str]], list[dg.AssetKey]]
    run_tags: Callable[[Collection[str]], dict[str, str]]
    unread: Callable[[Landing], Sequence[str]] = lambda _: ()
    others: Sequence[dg.SourceAsset] = ()


class WriteSample(Protocol):
    """What writes made-up months of some services to a folder."""

    def __call__(
        self,
        folder: Path,
        months: Sequence[Month],
        services: Sequence[str],
        rows: int,
        seed: int,
        on_step: Callable[[str], None],
        /,
        *,
        clean: bool,
    ) -> Iterator[str]:
        """Write months with so many rows each, by a seed; `clean` ones without faults that a check warns of.

        Says what it is at, and yields what it has done.
        """


@dataclass(frozen=True, slots=True)
class Catalog:
    """One family of tables from one source.

    Where it has no `services`, its months are told of as a whole, and not by what has become of them. `file_name` is
    what one of its files is called.
    """

    name: str
    services: Sequence[str]
    file_name: str
    sample: WriteSample
    load: Callable[[], Contents]
