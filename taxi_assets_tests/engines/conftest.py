"""What tests of engines share: a place for a table."""

from __future__ import annotations

from pathlib import Path

import pytest

from taxi_assets.engines import DeltaLocation


@pytest.fixture
def at(tmp_path: Path) -> DeltaLocation:
    """Return a place where no table stands yet."""
    return DeltaLocation(str(tmp_path / "test_engine" / "table"))
