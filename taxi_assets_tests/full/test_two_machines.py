"""Claims about two machines that run the same month on one lake, each with a DAGSTER_HOME and a landing of its own.

Nothing keeps one waiting for the other. Rounds with another issue of the month on each, one with the same.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from taxi_assets.calendars import Month
from taxi_assets.sample import write_month
from taxi_assets.tlc.vocabulary import METERED
from taxi_assets_tests.full.forks import died, start_cli
from taxi_assets_tests.full.processes import Home, contents
from taxi_assets_tests.full.rounds import rounds

pytestmark = [pytest.mark.full, pytest.mark.soak]

MONTH = "2024-01"


@pytest.fixture(scope="module")
def machines(tmp_path_factory: pytest.TempPathFactory) -> tuple[Home, Home]:
    """Return two homes, each of which has run its own issue of the month on a lake of its own."""
    homes = Home.below(tmp_path_factory.mktemp("one")), Home.below(tmp_path_factory.mktemp("other"))
    for seed, home in enumerate(homes):
        for service in METERED:
            write_month(home.landing, service, Month.parse(MONTH), 1_000 - 100 * seed, seed=seed)
        assert not died(start_cli(home, "materialize", MONTH), home.log)
    return homes


@pytest.mark.parametrize("round_", range(rounds(4, 2)))
def test_of_two_issues_run_at_the_same_time_every_table_has_the_same_one(
    machines: tuple[Home, Home], tmp_path: Path, round_: int
) -> None:
    lake = tmp_path / "lake"
    # Begun in turn, as the first has the more often been overtaken by the second.
    homes = machines if round_ % 2 else machines[::-1]
    ran = [start_cli(home.on_lake(lake), "materialize", MONTH) for home in homes]
    for process in ran:
        process.join()

    # One may fail, as the other wrote while it checked what it had stored; it says so.
    said = "".join(home.log.read_text() for home in homes)
    assert [process.exitcode for process in ran] in ([0, 0], [0, 1], [1, 0]), said
    assert "Traceback" not in said
    stored = contents(lake)
    assert sum(all(stored[name].equals(rows) for name, rows in contents(home.lake).items()) for home in homes) == 1


def test_of_one_issue_run_twice_at_the_same_time_nothing_is_doubled(
    machines: tuple[Home, Home], tmp_path: Path
) -> None:
    lake, home = tmp_path / "lake", machines[0]
    other = Home.below(tmp_path / "third", landing=home.landing).on_lake(lake)
    for process in [start_cli(one, "materialize", MONTH) for one in (home.on_lake(lake), other)]:
        assert not died(process)

    stored = contents(lake)
    assert all(stored[name].equals(rows) for name, rows in contents(home.lake).items())
