"""A month of both services, run once per module from files to gold, for tests that only look at what it left."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import dagster as dg
import pytest

from taxi_assets.tlc.vocabulary import Service
from taxi_assets_tests.scenario import Workspace, trips

# Of green's 20 rows one has no distance and one is a refund; of yellow's 10 the last is the first once more.
GREEN = [*trips(18), *trips(1, trip_distance=0.0, vendor_id=1), *trips(1, fare_amount=-12.0, vendor_id=1)]
YELLOW = [*trips(9), *trips(1)]


@dataclass(frozen=True)
class RunMonth:
    """The workspace of the month, and how its run went."""

    workspace: Workspace
    result: dg.ExecuteInProcessResult


@pytest.fixture(scope="module")
def month(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunMonth]:
    """Return a month that has been run. Tests must not change it."""
    with dg.DagsterInstance.ephemeral() as instance:
        workspace = Workspace.below(tmp_path_factory.mktemp("month"), instance)
        workspace.land(Service.GREEN, GREEN)
        workspace.land(Service.YELLOW, YELLOW)
        result = workspace.run()
        assert result.success, workspace.failures(result)
        yield RunMonth(workspace, result)
