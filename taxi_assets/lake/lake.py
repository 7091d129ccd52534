"""The lake: where each table stands, and reading it. Writing goes through the IO manager."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from taxi_assets.contracts import Contract, Frame
from taxi_assets.engines import DeltaLocation, Engine, Partition, PolarsEngine


@dataclass(frozen=True)
class Lake:
    """All tables below one root (a local path or a URL), and the engine that reads them."""

    root: str
    # Not shown: they may hold secrets.
    storage_options: Mapping[str, str] = field(repr=False)
    engine: Engine

    def embedded(self) -> Lake:
        """Return the same lake as it is read within this process, whatever engine computes its tables."""
        return replace(self, engine=PolarsEngine())

    def location(self, contract: type[Contract]) -> DeltaLocation:
        """Return where a contract's table stands, whether or not it exists yet."""
        return DeltaLocation(f"{self.root}/{contract.stored_as().key}", self.storage_options)

    def read(self, contract: type[Contract], partitions: Sequence[Partition] | None = None) -> Frame:
        """Return the rows of some partitions, or of all. Raises LakeError if there is no such table."""
        return self.engine.read(contract, self.location(contract), partitions)

    def row_count(self, contract: type[Contract], partition: Partition | None = None) -> int | None:
        """Count a partition's rows by the Delta log; None if it was never stored."""
        return self.location(contract).row_count(partition)
