"""What several modules of the full tier share as it takes long: the seven real green months, run once; an S3 server."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from taxi_assets_tests.full.processes import Home
from taxi_assets_tests.s3_server import S3Server

REAL_MONTHS = ("2021-01", "2021-02", "2022-02", "2022-03", "2023-01", "2023-02", "2023-03")


@dataclass(frozen=True)
class SevenMonths:
    """A lake that a user made by one command, one month after the other, and what the command reported."""

    home: Home
    report: list[dict[str, Any]]


@pytest.fixture(scope="session")
def seven_months(real_data: Path, tmp_path_factory: pytest.TempPathFactory) -> SevenMonths:
    """Return the range of the real green months, run by the command line in the time zone UTC."""
    home = Home.below(tmp_path_factory.mktemp("seven-months"), landing=real_data / "tlc" / "parquet")
    report = home.report("materialize", "--service", "green", f"{REAL_MONTHS[0]}:{REAL_MONTHS[-1]}", TZ="UTC")
    return SevenMonths(home, report)


@pytest.fixture(scope="session")
def s3(tmp_path_factory: pytest.TempPathFactory) -> Iterator[S3Server]:
    """Return a server of buckets. Each test that writes makes a bucket of its own."""
    with S3Server(tmp_path_factory.mktemp("s3")) as server:
        yield server
