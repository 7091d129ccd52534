"""What an engine must do: the part of a table's work that Narwhals doesn't. One module per engine implements it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from types import MappingProxyType
from typing import Any, Final, Protocol

import narwhals.stable.v1 as nw

from taxi_assets.contracts import Contract, Frame
from taxi_assets.engines.arrays import ArrayFunction
from taxi_assets.engines.delta_log import DeltaLocation

PartitionValue = date | str | int
Partition = Mapping[str, PartitionValue]
"""Which rows of a table a partition is: the value of each of its partition columns."""
Members = Mapping[str, tuple[Sequence[str], Frame]]
"""Per flag the columns to compare, and the frame whose rows are the members."""


NO_NOTES: Final[Mapping[str, str]] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Written:
    """What a write did to a table: rows and bytes that it added, and a table version that has them.

    Where the engine keeps hold of them, as the embedded one does, `before` and `after` are the partition's rows that it
    replaced and those that it put there, whoever else writes; there is no `before` if the partition is new.
    """

    rows: int
    bytes: int
    version: int
    # Not compared: lazy frames refuse it.
    before: Frame | None = field(default=None, compare=False, repr=False)
    after: Frame | None = field(default=None, compare=False, repr=False)


class Engine(Protocol):
    """Reads and writes Delta tables, and computes what Narwhals can't say."""

    def read(self, contract: type[Contract], location: DeltaLocation, partitions: Sequence[Partition] | None) -> Frame:
        """Return the rows of some partitions, or of the whole table when `partitions` is None.

        Columns that the contract has gained since the rows were stored are null.
        """
        ...

    def replace(
        self,
        contract: type[Contract],
        location: DeltaLocation,
        frame: Frame,
        partition: Partition,
        notes: Mapping[str, str] = NO_NOTES,
        *,
        run_id: str = "",
    ) -> Written:
        """Put the frame's rows in the place of a partition's, in one commit, whoever else writes to the table.

        A table whose contract has gained columns that may be null is given them first. `notes` are kept with the rows,
        see notes.py; only rows of files have any, and those are the embedded engine's. The commit names the run.
        """
        ...

    def upsert(self, contract: type[Contract], location: DeltaLocation, frame: Frame, *, run_id: str = "") -> Written:
        """Insert the rows whose keys are new, and update those that win over the stored row, as upserts.py says.

        The commit names the run. Raises ContractError, and writes nothing, for rows of which none can be told to win.
        """
        ...

    def flag_rows(self, frame: Frame, repeats: Mapping[str, Sequence[str]], members: Members, *, row_id: str) -> Frame:
        """Add a boolean column per flag, computed once, whatever is then asked of the frame.

        A flag of `repeats` is true where an earlier row of the frame has the same values in the named columns; nulls
        are equal to each other there, and earlier is by `row_id`, whole numbers that differ from row to row. A flag of
        `members` is true where a row of another frame has the same values in them; a row with a null among them is no
        member.
        """
        ...

    def hold(self, frame: Frame) -> Frame:
        """Return the frame, kept as computed if that is cheaper on this engine than to compute it again."""
        ...

    def look_up(self, frame: Frame, small: Frame, key: str, small_key: str) -> Frame:
        """Add the columns of a frame that fits into memory and has each key once; null where it lacks the key."""
        ...

    def with_computed(self, frame: Frame, name: str, columns: Sequence[str], compute: ArrayFunction) -> Frame:
        """Add a column of whole numbers (32 bits) that Python computes from others, some thousand rows at a time.

        For what no expression can say. On Spark it runs where the rows are, which then need Python and this package.
        """
        ...

    def with_digest(self, frame: Frame, name: str, columns: Sequence[str]) -> Frame:
        """Add a text that tells a row from all others: Spark's ``sha2(concat_ws('|', columns), 256)``."""
        ...

    def with_keys(self, frame: Frame, named: Mapping[str, str]) -> Frame:
        """Add whole numbers (64 bits) that stand for a column's values: Spark's ``xxhash64`` of each one's text."""
        ...

    def seconds_between(self, start: nw.Expr, end: nw.Expr) -> nw.Expr:
        """Return the whole seconds from one wall-clock time to another, negative if `end` is the earlier."""
        ...

    def literal(self, columns: Mapping[str, Sequence[Any]]) -> Frame:
        """Make a small frame of given values, column by column."""
        ...
