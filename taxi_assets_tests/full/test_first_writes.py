"""Many writers at once to tables that don't exist yet, round after round: on a disk and in a bucket, nothing is lost.

Writers are processes, as runs are. In each round they begin together, on tables that no round before has seen.
"""

from __future__ import annotations

import multiprocessing
from collections import Counter
from collections.abc import Mapping
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from datetime import date
from pathlib import Path
from threading import Barrier

import obstore
import pytest

from taxi_assets.engines import DeltaLocation
from taxi_assets_tests.engines.made_up import Sales, Shops, read, sale, sales, shops
from taxi_assets_tests.full.rounds import rounds
from taxi_assets_tests.s3_server import S3Server
from taxi_assets_tests.scenario import POLARS

pytestmark = [pytest.mark.full, pytest.mark.soak]

WRITERS = 6
DAYS = [date(2024, 1, number + 1) for number in range(WRITERS)]
PATIENCE = 120
ROUNDS_ON_A_DISK = rounds(200, 24)
# Few, as the server makes whoever comes second to a file wait for a second.
ROUNDS_IN_A_BUCKET = 5
RACES = 10
# Upserts get into each other's way for longer.
UPSERTS_IN_ONE_OF = 8

_together: Barrier


def _begin(barrier: Barrier) -> None:
    global _together  # noqa: PLW0603 - a process of a pool has nowhere else to keep what it was started with
    _together = barrier


def at(root: str, options: Mapping[str, str], number: int, table: str) -> DeltaLocation:
    return DeltaLocation(f"{root}/round_{number}/{table}", options)


def write(root: str, options: Mapping[str, str], rounds: int, writer: int) -> list[str]:
    """Write a day's sales and a shop in each round, and return what failed."""
    failures = []
    day = DAYS[writer]
    for number in range(rounds):
        _together.wait(PATIENCE)
        try:
            POLARS.replace(Sales, at(root, options, number, "sales"), sales(sale(writer, day)), {"day": day})
            if number % UPSERTS_IN_ONE_OF == 0:
                POLARS.upsert(Shops, at(root, options, number, "shops"), shops((writer, f"of {writer}", day)))
        except Exception as error:  # noqa: BLE001 - told below, with its round
            failures.append(f"round {number}, writer {writer}: {error!r}")
    return failures


def test_the_server_of_these_tests_lets_just_one_of_six_make_a_file(s3: S3Server) -> None:
    bucket = s3.bucket("races")
    together = Barrier(WRITERS)

    def race(writer: int) -> list[bool]:
        won = []
        for number in range(RACES):
            together.wait(PATIENCE)
            try:
                obstore.put(bucket, f"race_{number}", str(writer).encode(), mode="create")
                won.append(True)
            except obstore.exceptions.AlreadyExistsError:
                won.append(False)
        return won

    with ThreadPoolExecutor(WRITERS) as pool:
        results = list(pool.map(race, range(WRITERS)))
    winners = [[writer for writer in range(WRITERS) if results[writer][number]] for number in range(RACES)]
    kept = [[int(bytes(obstore.get(bucket, f"race_{number}").bytes()))] for number in range(RACES)]
    assert winners == kept


@pytest.mark.parametrize("place", ["on a disk", "in a bucket"])
def test_six_writers_to_new_tables_lose_nothing_in_any_round(
    place: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    root, options, rounds = str(tmp_path), {}, ROUNDS_ON_A_DISK
    if place == "in a bucket":
        server: S3Server = request.getfixturevalue("s3")
        server.bucket("first-writes")
        root, options, rounds = "s3://first-writes", {**server.fields, "allow_http": "true"}, ROUNDS_IN_A_BUCKET

    start = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(WRITERS, start, _begin, (start.Barrier(WRITERS),)) as pool:
        jobs = [pool.submit(write, root, options, rounds, writer) for writer in range(WRITERS)]
        failures = [failure for job in jobs for failure in job.result()]

    assert failures == []
    days = Counter(
        tuple(read(Sales, at(root, options, number, "sales")).select("number", "day").rows())
        for number in range(rounds)
    )
    names = Counter(
        tuple(read(Shops, at(root, options, number, "shops"))["shop"]) for number in range(0, rounds, UPSERTS_IN_ONE_OF)
    )
    assert days == {tuple(enumerate(DAYS)): rounds}
    assert names == {tuple(range(WRITERS)): len(range(0, rounds, UPSERTS_IN_ONE_OF))}
