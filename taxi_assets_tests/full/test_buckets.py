"""Landing and lake in buckets of a real S3 server, by the settings alone: what a user does, and what can go wrong.

What is expected is what the same commands give on folders; each is asked on both.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import obstore
import pytest
from obstore.store import S3Store

from taxi_assets.errors import LakeError, UsageError
from taxi_assets.lake.lake import Lake
from taxi_assets_tests.full.processes import Home, assert_equal_contents, contents
from taxi_assets_tests.misbehaving_server import MisbehavingServer
from taxi_assets_tests.s3_server import S3Server
from taxi_assets_tests.test_sql import NAMES, WAYS_OUT, Cabs, ask, commit_time, store, with_cabs, without_bounds

pytestmark = pytest.mark.full

MONTH = "2024-01"
ELSEWHERE = "another-secret-that-must-not-be-told"
BOUND = 90.0


def settings_of(server: S3Server, bucket: str, **changes: str) -> dict[str, str]:
    """Return the environment of a process with landing and lake in a bucket; `changes` are fields of the storage."""
    fields = {"provider": "s3", **server.fields, **changes}
    return {
        "TAXI_LANDING_ROOT": f"s3://{bucket}/landing",
        "TAXI_LAKE_ROOT": f"s3://{bucket}/lake",
        "TAXI_SPARK__CONF": json.dumps({"spark.hadoop.fs.s3a.secret.key": ELSEWHERE}),
        **{f"TAXI_{part}_STORAGE__{name.upper()}": fields[name] for part in ("LANDING", "LAKE") for name in fields},
    }


def copied(bucket: S3Store, prefix: str, folder: Path) -> Path:
    """Return a folder with what stands in a bucket below a prefix."""
    for file in (file for batch in obstore.list(bucket, prefix) for file in batch):
        target = folder / file["path"]
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(bytes(obstore.get(bucket, file["path"]).bytes()))
    return folder / prefix


@dataclass
class Both:
    """The same commands on folders and on a bucket, and all that they said on the bucket."""

    disk: Home
    away: Home
    settings: dict[str, str]
    bucket: S3Store
    said: list[str] = field(default_factory=list)

    def run_away(self, *arguments: str, **changes: str) -> tuple[int, str, str]:
        """Run a command on the bucket, in bounded time: its exit status, and what it wrote."""
        process = self.away.start(*arguments, **{**self.settings, **changes})
        try:
            out, err = process.communicate(timeout=BOUND)
        finally:
            process.kill()
        self.said += [out, err]
        return process.returncode, out, err

    def report_away(self, *arguments: str) -> Any:
        status, out, err = self.run_away(*arguments, "--json")
        assert (status, err) == (0, ""), out + err
        return json.loads(out)

    def land(self, seed: int) -> None:
        """Make the month's files on the disk, and put them into the bucket as well."""
        command = ("sample", "--rows", "2000", "--seed", str(seed), MONTH)
        made = self.disk.start(*command)
        assert made.communicate()[0]
        for file in self.disk.landing.iterdir():
            obstore.put(self.bucket, f"landing/{file.name}", file)

    def materialize(self) -> None:
        self.disk.report("materialize", MONTH)
        self.report_away("materialize", MONTH)

    def tables(self, folder: Path) -> tuple[dict[str, Any], dict[str, Any]]:
        return contents(copied(self.bucket, "lake", folder)), contents(self.disk.lake)


@pytest.fixture(scope="module")
def both(s3: S3Server, tmp_path_factory: pytest.TempPathFactory) -> Both:
    """A month of all services that was run on folders and on a bucket."""
    folder = tmp_path_factory.mktemp("both")
    both = Both(Home.below(folder / "disk"), Home.below(folder / "away"), settings_of(s3, "month"), s3.bucket("month"))
    both.land(seed=0)
    both.materialize()
    return both


def test_a_month_in_a_bucket_gives_the_tables_that_it_gives_on_a_disk(both: Both, tmp_path: Path) -> None:
    away, disk = both.tables(tmp_path)
    assert_equal_contents(away, disk)


@pytest.mark.parametrize(
    "command",
    [
        ("tables",),
        ("status", MONTH),
        ("checks", MONTH),
        ("sql", "SELECT * FROM tlc_gold.nyc_taxi_daily ORDER BY ALL"),
        ("sql", "SELECT count(*) AS n, sum(total_amount) AS usd FROM tlc_silver.green_trips"),
        ("sql", "SELECT pickup_datetime FROM tlc_bronze.yellow_trips ORDER BY source_row LIMIT 1"),
        ("sql", "--as-of", "2001-01-01", "SELECT 1 AS n"),
        ("sql", "--as-of", "2101-01-01", "SELECT count(*) AS n FROM tlc_silver.fhv_trips"),
    ],
    ids=" ".join,
)
def test_a_command_says_the_same_of_a_bucket_as_of_a_disk(both: Both, command: tuple[str, ...]) -> None:
    assert both.report_away(*command) == both.disk.report(*command)


def test_a_file_that_is_issued_again_in_a_bucket_is_seen_and_replaces_the_month(both: Both, tmp_path: Path) -> None:
    for file in both.disk.landing.iterdir():
        file.unlink()
    both.land(seed=1)
    assert {row["status"] for row in both.report_away("status", MONTH)} == {"stale"}
    both.materialize()
    away, disk = both.tables(tmp_path)
    assert_equal_contents(away, disk)
    assert "stale" not in {row["status"] for row in both.report_away("status", MONTH)}


def test_files_are_fetched_into_a_bucket_and_once(both: Both, server: MisbehavingServer) -> None:
    file = next(both.disk.landing.glob("green_tripdata_*")).read_bytes()
    server.serve("/trip-data/green_tripdata_2023-05.parquet", file)
    both.settings["TAXI_FETCH__ADDRESS"] = server.address
    states = [both.report_away("fetch", "green", "2023-05")[0]["state"] for _ in range(2)]
    assert states == ["fetched", "unchanged"]
    landed = obstore.get(both.bucket, "landing/green_tripdata_2023-05.parquet").bytes()
    assert bytes(landed) == file


WRONG = {
    "wrong secret": ({"SECRET_ACCESS_KEY": ELSEWHERE}, "SignatureDoesNotMatch"),
    "unknown key": ({"ACCESS_KEY_ID": "AKIAUNKNOWN"}, "InvalidAccessKeyId"),
    "no such bucket": ({}, "NoSuchBucket"),
    "no server": ({"ENDPOINT": "http://127.0.0.1:9"}, r"error sending request|Connection refused"),
}


@pytest.mark.parametrize(
    ("wrong", "command"),
    [
        *((wrong, ("tables",)) for wrong in WRONG),
        ("wrong secret", ("sql", "FROM tlc_gold.nyc_taxi_daily")),
        ("no server", ("sql", "FROM tlc_gold.nyc_taxi_daily")),
        ("wrong secret", ("status", MONTH)),
        ("wrong secret", ("materialize", MONTH)),
        ("no server", ("materialize", MONTH)),
    ],
    ids=lambda value: value if isinstance(value, str) else value[0],
)
def test_a_store_that_cant_be_reached_is_one_line_in_bounded_time(
    both: Both, wrong: str, command: tuple[str, ...]
) -> None:
    fields, problem = WRONG[wrong]
    changes = {f"TAXI_{part}_STORAGE__{name}": value for part in ("LANDING", "LAKE") for name, value in fields.items()}
    if wrong == "no such bucket":
        changes = {"TAXI_LANDING_ROOT": "s3://nowhere/landing", "TAXI_LAKE_ROOT": "s3://nowhere/lake"}
    status, out, err = both.run_away(*command, **changes)
    assert (status, out) == (1, ""), out + err
    (line,) = err.splitlines()
    assert re.search(problem, line), line


def test_a_lake_that_cant_be_written_fails_the_run_in_one_line_that_says_so(both: Both) -> None:
    changes = {"TAXI_LAKE_ROOT": "s3://nowhere/lake"}
    status, out, err = both.run_away("materialize", "--service", "green", MONTH, **changes)
    assert status == 1
    assert "NoSuchBucket" in out + err
    assert "Traceback" not in out + err


@pytest.fixture(scope="module")
def cabs(s3: S3Server) -> Iterator[Lake]:
    s3.bucket("cabs")
    return with_cabs("s3://cabs/lake", {**s3.fields, "allow_http": "true"})


@pytest.mark.parametrize("statement", WAYS_OUT)
def test_no_statement_gets_out_of_a_bucket_either(cabs: Lake, tmp_path: Path, statement: str) -> None:
    (stored,) = cabs.location(Cabs).open_stored(Cabs).file_uris()
    (tmp_path / "secret.csv").write_text("a,b\n1,2\n")
    with pytest.raises(UsageError, match=r"^This SQL "):
        ask(cabs, statement.format(outside=tmp_path, lake=cabs.root, stored=stored))
    assert [path.name for path in tmp_path.iterdir()] == ["secret.csv"]
    assert ask(cabs, NAMES) == [("a",), ("b",)]


def test_rows_in_a_bucket_are_found_though_the_log_has_no_bounds_of_them(s3: S3Server) -> None:
    s3.bucket("no-bounds")
    lake = with_cabs("s3://no-bounds/lake", {**s3.fields, "allow_http": "true"})
    without_bounds(lake)
    assert ask(lake, "SELECT count(*) FROM sql_test.cabs WHERE name >= 'b'") == [(1,)]


def test_a_past_state_of_a_bucket_is_asked_until_it_was_vacuumed(s3: S3Server) -> None:
    s3.bucket("past")
    lake = with_cabs("s3://past/lake", {**s3.fields, "allow_http": "true"})
    then = commit_time(lake, 1)
    store(lake, "c")
    assert ask(lake, NAMES, then) == [("a",), ("b",)]
    table = lake.location(Cabs).open_stored(Cabs)
    table.vacuum(retention_hours=0, enforce_retention_duration=False, dry_run=False)
    with pytest.raises(LakeError, match="may have been vacuumed since"):
        ask(lake, NAMES, then)


def test_no_secret_is_in_anything_that_came_out(both: Both, s3: S3Server, tmp_path: Path) -> None:
    lake = copied(both.bucket, "lake", tmp_path)
    secrets = [s3.fields["secret_access_key"].encode(), ELSEWHERE.encode()]
    written = [path for folder in (both.away.dagster, lake) for path in folder.rglob("*") if path.is_file()]
    assert both.said
    assert any(path.suffix == ".db" for path in written)
    assert any(path.name.endswith(".json") for path in written)
    told = [text for text in both.said if any(secret.decode() in text for secret in secrets)]
    kept = [path for path in written if any(secret in path.read_bytes() for secret in secrets)]
    assert (told, kept) == ([], [])
