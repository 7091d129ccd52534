"""Months whose file can't be used, run as a user runs them: one clear message, nothing stored. And odd files.

What rules make of values is silver's to test, how values are typed engines/test_source_files.py's.
"""

from __future__ import annotations

import base64
import gzip
import io
import json
import re
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import dagster as dg
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow.parquet import encryption

import taxi_assets
from taxi_assets.definitions import build_defs
from taxi_assets.lake.metadata import asset_key
from taxi_assets.landing import LandedFile, Landing
from taxi_assets.tlc.bronze.green_trips import GreenTrips
from taxi_assets.tlc.bronze.zones import Zones
from taxi_assets.tlc.silver.green_trips import GreenTrips as SilverGreenTrips
from taxi_assets.tlc.silver.green_trips import GreenTripsQuarantine
from taxi_assets.tlc.vocabulary import Service
from taxi_assets_tests.scenario import MONTH, Workspace, in_file_columns, settled, trips

pytestmark = pytest.mark.full

ROWS = 2_000
NAME = f"green_tripdata_{MONTH}"
ACCESS_DENIED = (
    b"<?xml version='1.0' encoding='UTF-8'?>\n<Error><Code>AccessDenied</Code><Message>Access Denied</Message></Error>"
)
JSON = b'{"message":\n  "Missing Authentication Token"}\n'
PAGE = b"<!DOCTYPE html><html><body>Sign in</body></html>"


@pytest.fixture(scope="module")
def instance() -> Iterator[dg.DagsterInstance]:
    """One for all: these tests ask a run about itself, never the instance."""
    with dg.DagsterInstance.ephemeral() as ephemeral:
        yield ephemeral


@cache
def frame(rows: int = ROWS, service: Service = Service.GREEN) -> pl.DataFrame:
    return in_file_columns(service, trips(rows))


def as_parquet(table: pl.DataFrame) -> bytes:
    buffer = io.BytesIO()
    # As pyarrow and TLC write it: pages that say how long they are, so that damage to them shows.
    table.write_parquet(buffer, compression="zstd")
    return buffer.getvalue()


def as_csv(table: pl.DataFrame) -> bytes:
    return table.write_csv(datetime_format="%Y-%m-%d %H:%M:%S").encode()


def damaged(data: bytes) -> bytes:
    """Overwrite what stands behind the first four bytes: the header of the first page."""
    return data[:4] + b"\xff" * 60 + data[64:]


def run_bronze(workspace: Workspace) -> dg.ExecuteInProcessResult:
    """Run the month's bronze asset alone, which is where a bad file shows."""
    return (
        build_defs(workspace.settings)
        .resolve_job_def("tlc_green")
        .execute_in_process(
            instance=workspace.instance,
            partition_key=str(MONTH),
            asset_selection=[asset_key(GreenTrips)],
            raise_on_error=False,
        )
    )


def only_message(workspace: Workspace, result: dg.ExecuteInProcessResult) -> str:
    assert not result.success
    (message,) = workspace.failures(result)
    assert "\n" not in message.strip()
    return message


def data_files(workspace: Workspace) -> list[Path]:
    return sorted((Path(workspace.settings.lake_root) / "tlc_bronze" / "green_trips").rglob("*.parquet"))


def with_unknown_zone(table: pl.DataFrame) -> bytes:
    """Add lists of times in a zone that Polars doesn't know, and panics of."""
    buffer = io.BytesIO()
    stops = pa.array([[0]] * table.height, pa.list_(pa.timestamp("us", "Nowhere/Else")))
    pq.write_table(table.to_arrow().append_column("stops", stops), buffer)
    return buffer.getvalue()


class NoSecret(encryption.KmsClient):
    """Keeps keys as they are."""

    def __init__(self, _: encryption.KmsConnectionConfig) -> None:
        super().__init__()

    def wrap_key(self, key_bytes: bytes, _: str) -> bytes:
        return base64.b64encode(key_bytes)


def encrypted(table: pl.DataFrame, column: str, *, footer: bool) -> bytes:
    """Write Parquet of which a column is encrypted, and the footer as well or not."""
    buffer, schema = io.BytesIO(), table.to_arrow().schema
    configuration = encryption.EncryptionConfiguration(
        footer_key="footer", column_keys={"column": [column]}, plaintext_footer=not footer
    )
    properties = encryption.CryptoFactory(NoSecret).file_encryption_properties(
        encryption.KmsConnectionConfig(), configuration
    )
    with pq.ParquetWriter(buffer, schema, encryption_properties=properties) as writer:
        writer.write_table(table.to_arrow())
    return buffer.getvalue()


BAD_FILES: dict[str, tuple[str, Callable[[], bytes], str, str]] = {
    "an error answer as Parquet": (
        "parquet",
        lambda: ACCESS_DENIED,
        r"server's error answer \(AccessDenied\)",
        "fetch it again",
    ),
    "an error answer as CSV": ("csv", lambda: ACCESS_DENIED, "XML|error answer", "fetch it again"),
    "a page of HTML": ("parquet", lambda: PAGE, "page of HTML", "fetch it again"),
    "JSON as Parquet": ("parquet", lambda: JSON, r"a server's answer in JSON \(\{\"message\":", "fetch it again"),
    "JSON as CSV": ("csv", lambda: JSON, r"a server's answer in JSON \(\{\"message\":", "fetch it again"),
    "half a CSV": (
        "csv",
        lambda: (data := as_csv(frame()))[: len(data) // 2],
        r"it (is|may be) cut off: its last line, '.*no line end",
        "Land the whole file. .*run its month again",
    ),
    "half a CSV, gzipped": (
        "csv.gz",
        lambda: gzip.compress((data := as_csv(frame()))[: len(data) // 2]),
        "cut off: its last line, '.*no line end",
        "Land the whole file. .*run its month again",
    ),
    "no bytes": ("parquet", lambda: b"", "empty .0 bytes.", "Fetch it again"),
    "no bytes as CSV": ("csv.gz", lambda: b"", "empty .0 bytes.", "Fetch it again"),
    "three bytes": ("parquet", lambda: b"PAR", "3 bytes", "Fetch it again"),
    "Parquet cut within its data": ("parquet", lambda: as_parquet(frame())[:5_000], "cut off", "Fetch it again"),
    "Parquet cut within its footer": ("parquet", lambda: as_parquet(frame())[:-300], "cut off", "Fetch it again"),
    "Parquet without its last byte": ("parquet", lambda: as_parquet(frame())[:-1], "cut off", "Fetch it again"),
    "Parquet with damaged pages": (
        "parquet",
        lambda: damaged(as_parquet(frame())),
        "damaged|can't be read",
        "Fetch it again",
    ),
    "Parquet with a piece missing": (
        "parquet",
        lambda: (data := as_parquet(frame()))[:3_000] + data[3_500:],
        "damaged|can't be read",
        "Fetch it again",
    ),
    "Parquet with lists of times in a zone that nobody knows": (
        "parquet",
        lambda: with_unknown_zone(frame()),
        "times in its column 'stops' are said to be in the zone 'Nowhere/Else', which isn't known",
        "Write them in one of the IANA's database",
    ),
    "Parquet with an encrypted footer": (
        "parquet",
        lambda: encrypted(frame(5), "fare_amount", footer=True),
        "its footer is encrypted; only a decrypted copy of it can be used",
        "Fetch it again",
    ),
    "Parquet with an encrypted column": (
        "parquet",
        lambda: encrypted(frame(5), "fare_amount", footer=False),
        "it has encrypted columns; only a decrypted copy of it can be used",
        "Fetch it again",
    ),
    "Parquet with an encrypted text": (
        "parquet",
        lambda: encrypted(frame(5), "store_and_fwd_flag", footer=False),
        "it has encrypted columns; only a decrypted copy of it can be used",
        "Fetch it again",
    ),
    "CSV called Parquet": ("parquet", lambda: as_csv(frame(5)), "not a whole Parquet file", "Fetch it again"),
    "gzip cut off": ("csv.gz", lambda: gzip.compress(as_csv(frame()))[:-100], "cut off", "Fetch it again"),
    "gzip without its last byte": ("csv.gz", lambda: gzip.compress(as_csv(frame()))[:-1], "cut off", "Fetch it again"),
    "CSV called gzip": ("csv.gz", lambda: as_csv(frame(5)), "can't be unzipped", "Fetch it again"),
    "gzip and garbage behind its end": (
        "csv.gz",
        lambda: gzip.compress(as_csv(frame())) + b"garbage",
        "can't be unzipped",
        "Fetch it again",
    ),
    "CSV in UTF-16": ("csv", lambda: as_csv(frame(5)).decode().encode("utf-16"), "UTF-16", "iconv -f UTF-16 -t UTF-8"),
    "CSV with semicolons": ("csv", lambda: as_csv(frame(5)).replace(b",", b";"), "separated by ';'", "with commas"),
    "CSV without line ends": (
        "csv",
        lambda: as_csv(frame(ROWS)) + b"1" * 6_000_000,
        "a line of more than 4,194,304 bytes",
        "Fetch it again",
    ),
    "Parquet without rows": ("parquet", lambda: as_parquet(frame().clear()), "no rows", "etch it again"),
    "CSV with a header alone": ("csv", lambda: as_csv(frame().clear()) + b"\r\n\r\n", "no rows", "etch it again"),
    "a file of the other service": (
        "parquet",
        lambda: as_parquet(frame(5, Service.YELLOW)),
        "columns are those of yellow trips, not of green",
        "yellow_tripdata_",
    ),
    "a needed column missing": (
        "parquet",
        lambda: as_parquet(frame(5).drop("fare_amount", "PULocationID")),
        r"needed columns are missing: .*pulocationid.*fare_amount",
        r"layouts/green.csv",
    ),
}


@pytest.mark.parametrize(("ending", "content", "problem", "remedy"), BAD_FILES.values(), ids=BAD_FILES)
def test_a_bad_file_is_one_message_with_its_name_the_problem_and_a_remedy_and_nothing_is_stored(
    workspace: Workspace, ending: str, content: Callable[[], bytes], problem: str, remedy: str
) -> None:
    (workspace.landing / f"{NAME}.{ending}").write_bytes(content())
    result = run_bronze(workspace)
    message = only_message(workspace, result)
    assert message.startswith(f"{NAME}.{ending} can't be used: ")
    assert pl.Series([message]).str.contains(f"{problem}.*{remedy}").item(), message
    assert re.search(r"tlc_bronze/green_trips( 2024-01)? stands as before\.$", message), message
    assert workspace.lake.row_count(GreenTrips, {"source_month": MONTH.first_day}) is None
    assert data_files(workspace) == []


@pytest.mark.parametrize("content", [b"", damaged(as_parquet(frame()))], ids=["no bytes", "damaged pages"])
def test_a_bad_file_leaves_the_month_as_an_earlier_file_had_it(workspace: Workspace, content: bytes) -> None:
    path = workspace.land(Service.GREEN, trips(5))
    assert run_bronze(workspace).success
    before, version = workspace.table(GreenTrips), workspace.lake.location(GreenTrips).version()
    path.write_bytes(content)
    assert not run_bronze(workspace).success
    assert workspace.lake.location(GreenTrips).version() == version
    assert workspace.table(GreenTrips).equals(before)
    assert len(data_files(workspace)) == 1


def test_nothing_of_the_service_and_of_gold_is_run_after_a_bad_file(workspace: Workspace) -> None:
    (workspace.landing / f"{NAME}.parquet").write_bytes(ACCESS_DENIED)
    result = workspace.run(Service.GREEN)
    assert "AccessDenied" in only_message(workspace, result)
    stored = {
        path.parent.relative_to(workspace.settings.lake_root).as_posix()
        for path in Path(workspace.settings.lake_root).rglob("_delta_log")
    }
    assert stored <= {"tlc_bronze/zones"}


def test_a_month_whose_file_has_an_odd_name_is_one_message_that_names_both(workspace: Workspace) -> None:
    (workspace.landing / "green_tripdata_2024-1.parquet").write_bytes(as_parquet(frame(5)))
    message = only_message(workspace, run_bronze(workspace))
    assert f"There is no green file for 2024-01 in {workspace.landing}" in message
    assert "green_tripdata_2024-01.parquet (or .csv, .csv.gz) is expected" in message
    assert "green_tripdata_2024-1.parquet is not a name that is read" in message


def test_two_files_of_a_month_are_one_message_that_names_both(workspace: Workspace) -> None:
    workspace.land(Service.GREEN, trips(5))
    (workspace.landing / f"{NAME}.csv.gz").write_bytes(gzip.compress(as_csv(frame(5))))
    message = only_message(workspace, run_bronze(workspace))
    assert f"{NAME}.csv.gz and {NAME}.parquet" in message
    assert "move the others away" in message
    assert data_files(workspace) == []


def test_a_gzip_of_several_members_is_whole(workspace: Workspace) -> None:
    # What `cat a.gz b.gz` and parallel gzips write, and every gunzip reads.
    data = as_csv(frame(50))
    (workspace.landing / f"{NAME}.csv.gz").write_bytes(gzip.compress(data[:1_000]) + gzip.compress(data[1_000:]))
    result = run_bronze(workspace)
    assert result.success, workspace.failures(result)
    assert workspace.lake.row_count(GreenTrips) == 50


# Odd, and used


def halves(data: bytes) -> tuple[bytes, bytes]:
    """Make two files of a CSV of 20 rows, each with the header."""
    header, *lines = data.splitlines(keepends=True)
    return b"".join([header, *lines[:10]]), b"".join([header, *lines[10:]])


# What is done to a CSV of 20 rows, the rows that it then has, and those of them that a value is rescued of or a line.
ODD_FILES: dict[str, tuple[str, Callable[[bytes], bytes], int, list[int]]] = {
    "CR alone": ("csv", lambda data: data.replace(b"\n", b"\r"), 20, []),
    "a blank second line, surplus commas": (
        "csv",
        lambda data: data.replace(b"\n", b",,\r\n").replace(b",,\r\n", b"\n\r\n", 1),
        20,
        [],
    ),
    "a byte order mark": ("csv", lambda data: b"\xef\xbb\xbf" + data, 20, []),
    "Latin-1, gzipped": ("csv.gz", lambda data: gzip.compress(data.replace(b",N,", b",\xd1,")), 20, []),
    "NUL in the first row's vendor": ("csv", lambda data: data.replace(b"\n", b"\n\x00", 1), 20, [1]),
    "two files joined, each gzipped": ("csv.gz", lambda data: b"".join(map(gzip.compress, halves(data))), 21, [11]),
    "a field too many in the first row, as by a comma for thousands": (
        "csv",
        lambda data: re.sub(rb"(\n[^\n]+)", rb"\1,5", data, count=1),
        20,
        [1],
    ),
    "the last line cut in its second field": ("csv", lambda data: data[: data.rindex(b"\n", 0, -1) + 9], 20, [20]),
    "a quote in the first row that isn't closed": ("csv", lambda data: data.replace(b"\n", b'\n"', 1), 20, [1]),
    "a tail of NULs": ("csv", lambda data: data + bytes(100), 21, [21]),
}


@pytest.mark.parametrize(("ending", "change", "count", "lost"), ODD_FILES.values(), ids=ODD_FILES)
def test_of_an_odd_csv_every_line_is_in_bronze_and_one_that_cant_be_is_rescued_and_quarantined(
    workspace: Workspace, ending: str, change: Callable[[bytes], bytes], count: int, lost: list[int]
) -> None:
    (workspace.landing / f"{NAME}.{ending}").write_bytes(change(as_csv(frame(20))))
    settled(workspace.landing / f"{NAME}.{ending}")
    result = workspace.run(Service.GREEN)
    checks = {(check.asset_key, check.check_name): check for check in result.get_asset_check_evaluations()}
    accounted = checks[asset_key(GreenTrips), "rows_accounted_for"]
    assert (accounted.passed, accounted.metadata["rows_in_file"].value) == (True, count)
    rows = workspace.table(GreenTrips).sort("source_row")
    assert rows["source_row"].to_list() == list(range(1, count + 1))
    assert rows.filter(pl.col("_rescued_data").is_not_null())["source_row"].to_list() == lost
    held = workspace.table(GreenTripsQuarantine)
    rescued = held.filter(pl.col("failed_rules").list.contains("values_fit_their_types"))
    assert sorted(rescued["source_row"]) == lost


def test_half_a_csv_is_published_once_it_has_settled_with_a_warning_that_names_it(workspace: Workspace) -> None:
    data = as_csv(frame(20))
    path = workspace.landing / f"{NAME}.csv"
    path.write_bytes(data[: data.index(b"\n", len(data) // 2) + 30])
    assert "cut off" in only_message(workspace, workspace.run(Service.GREEN))
    assert workspace.lake.row_count(GreenTrips) is None

    settled(path)
    result = workspace.run(Service.GREEN)

    assert result.success, workspace.failures(result)
    (found,) = (
        one
        for one in result.get_asset_check_evaluations()
        if (one.asset_key, one.check_name) == (asset_key(GreenTrips), "file_is_whole")
    )
    assert (found.passed, found.severity, found.blocking) == (False, dg.AssetCheckSeverity.WARN, False)
    assert (found.description or "").startswith(f"{NAME}.csv is cut off: its last line, '")
    count = workspace.table(GreenTrips).height
    assert workspace.table(GreenTripsQuarantine)["source_row"].to_list() == [count]


def test_a_whole_csv_that_comes_in_the_place_of_half_a_one_is_taken_at_once(workspace: Workspace) -> None:
    data = as_csv(frame(20))
    path = workspace.landing / f"{NAME}.csv"
    path.write_bytes(data[: len(data) // 2])
    assert not run_bronze(workspace).success
    path.write_bytes(data)
    result = run_bronze(workspace)
    assert result.success, workspace.failures(result)
    assert workspace.lake.row_count(GreenTrips) == 20


@pytest.mark.parametrize("end", [b"\r", b"\n", b"\r\n"], ids=["CR", "LF", "CR LF"])
def test_a_zone_lookup_is_read_whatever_ends_its_lines(workspace: Workspace, end: bytes) -> None:
    lookup = Path(taxi_assets.__file__).parent / "tlc" / "bronze" / "taxi_zone_lookup.csv"
    (workspace.landing / lookup.name).write_bytes(end.join([*lookup.read_bytes().splitlines(), b""]))
    result = workspace.run_alone(Zones)
    assert result.success, workspace.failures(result)
    assert workspace.table(Zones).select("location_id", "zone").sort("location_id").row(0) == (1, "Newark Airport")
    assert workspace.lake.row_count(Zones) == 265


ODD_ROWS = 30


@pytest.fixture(scope="module")
def odd(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Workspace, dg.ExecuteInProcessResult]]:
    """Run a CSV with an unknown column, and values that don't parse: row 2's in the vendor, row 3's in the fare."""
    table = frame(ODD_ROWS).cast(pl.String).with_columns(surge_fee=pl.lit("0.75"))
    number = pl.int_range(pl.len()) + 1
    table = table.with_columns(
        VendorID=pl.when(number == 2).then(pl.lit("two")).otherwise("VendorID"),
        fare_amount=pl.when(number == 3).then(pl.lit("twelve")).otherwise("fare_amount"),
        surge_fee=pl.when(number <= 3).then("surge_fee"),
    )
    with dg.DagsterInstance.ephemeral() as instance:
        workspace = Workspace.below(tmp_path_factory.mktemp("odd"), instance)
        (workspace.landing / f"{NAME}.csv").write_bytes(table.write_csv().encode())
        yield workspace, workspace.run(Service.GREEN)


def test_unknown_columns_and_values_that_dont_parse_leave_the_run_green_and_every_row_in_bronze(
    odd: tuple[Workspace, dg.ExecuteInProcessResult],
) -> None:
    workspace, result = odd
    assert result.success
    rows = workspace.table(GreenTrips).sort("source_row")
    assert rows["source_row"].to_list() == list(range(1, ODD_ROWS + 1))
    assert [json.loads(text) if text else None for text in rows["_rescued_data"]] == [
        {"surge_fee": "0.75"},
        {"vendor_id": "two", "surge_fee": "0.75"},
        {"fare_amount": "twelve", "surge_fee": "0.75"},
        *[None] * (ODD_ROWS - 3),
    ]


def test_the_check_that_nothing_was_rescued_warns_with_the_rows_counted(
    odd: tuple[Workspace, dg.ExecuteInProcessResult],
) -> None:
    (found,) = (check for check in odd[1].get_asset_check_evaluations() if check.check_name == "nothing_rescued")
    assert (found.passed, found.severity) == (False, dg.AssetCheckSeverity.WARN)
    assert found.metadata["rows_failing"].value == 3
    assert found.metadata["rows"].value == ODD_ROWS


def test_a_value_that_doesnt_parse_quarantines_its_row_and_an_unknown_column_doesnt(
    odd: tuple[Workspace, dg.ExecuteInProcessResult],
) -> None:
    workspace, _ = odd
    held = workspace.table(GreenTripsQuarantine).sort("source_row")
    assert held.select("source_row", "failed_rules").rows() == [
        (2, ["values_fit_their_types"]),
        (3, ["values_fit_their_types", "required_values_present"]),
    ]
    assert 1 in workspace.table(SilverGreenTrips)["source_row"].to_list()


def test_a_materialization_names_the_columns_that_nobody_knows(
    odd: tuple[Workspace, dg.ExecuteInProcessResult],
) -> None:
    (event,) = odd[1].asset_materializations_for_node("tlc_bronze__green_trips")
    assert event.metadata["unknown_columns"].value == ["surge_fee"]


# The zone lookup, and files that change under the reader


LOOKUP = (Path(taxi_assets.__file__).parent / "tlc" / "bronze" / "taxi_zone_lookup.csv").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("lookup", "problem"),
    [
        (LOOKUP + '5,"Queens","Twice","Boro Zone"\n', "LocationID 5 stands in it twice"),
        (LOOKUP.replace('1,"EWR"', 'one,"EWR"'), "row 1 lacks a LocationID"),
        (LOOKUP.replace('"Newark Airport"', '""'), "row 1 lacks a LocationID .*Borough or Zone"),
        (LOOKUP.replace('"Borough"', '"Boro"'), "it has no column borough"),
        ("LocationID,Borough,Zone,service_zone\n", "no rows"),
    ],
)
def test_a_broken_zone_lookup_is_one_message_and_the_months_zones_stay(
    workspace: Workspace, lookup: str, problem: str
) -> None:
    workspace.land(Service.GREEN, trips(5))
    assert workspace.run(Service.GREEN).success
    (workspace.landing / "taxi_zone_lookup.csv").write_text(lookup)
    message = only_message(workspace, workspace.run(Service.GREEN))
    assert message.startswith("taxi_zone_lookup.csv can't be used: ")
    assert re.search(problem, message)
    assert workspace.lake.row_count(Zones) == 265


def test_a_lookup_without_the_unknown_zone_leaves_trips_there_unknown_and_the_run_green(workspace: Workspace) -> None:
    workspace.land(Service.GREEN, [*trips(5), *trips(1, pickup_location_id=264, passenger_count=2)])
    (workspace.landing / "taxi_zone_lookup.csv").write_text(
        "".join(line for line in LOOKUP.splitlines(keepends=True) if not line.startswith("264,"))
    )
    result = workspace.run(Service.GREEN)
    assert result.success, workspace.failures(result)


def test_a_file_that_is_replaced_while_it_is_read_fails_the_run_and_says_to_run_it_again(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = workspace.landing / f"{NAME}.csv"
    path.write_bytes(as_csv(frame(5)))
    fingerprint = Landing.fingerprint

    def fingerprint_before_another_lands(landing: Landing, file: LandedFile) -> str:
        found = fingerprint(landing, file)
        if file.name == path.name:
            path.write_bytes(as_csv(frame(7)))
        return found

    monkeypatch.setattr(Landing, "fingerprint", fingerprint_before_another_lands)
    message = only_message(workspace, run_bronze(workspace))
    assert f"{path.name} was replaced or taken away while it was read" in message
    assert "Run the month again." in message


def test_a_lookup_that_is_replaced_while_it_is_read_fails_the_run_and_says_to_run_it_again(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = workspace.landing / "taxi_zone_lookup.csv"
    path.write_text(LOOKUP)
    fingerprint = Landing.fingerprint

    def fingerprint_before_another_lands(landing: Landing, file: LandedFile) -> str:
        found = fingerprint(landing, file)
        if file.name == path.name:
            path.write_text(LOOKUP + "2,Queens,Bay,Boro Zone\n")
        return found

    monkeypatch.setattr(Landing, "fingerprint", fingerprint_before_another_lands)
    workspace.land(Service.GREEN, trips(5))
    messages = workspace.failures(workspace.run(Service.GREEN))
    assert any(message.startswith(f"{path.name} was replaced or taken away while it was read") for message in messages)
