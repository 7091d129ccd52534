"""Files that are made to fill memory or disk: each ends in one error that names it, in little memory.

Each is read in a process of its own, which says what it took.
"""

from __future__ import annotations

import gzip
import io
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

pytestmark = pytest.mark.full

ROWS = 123_457
# What a zip bomb's blocks take while they are parsed, whatever is still to come.
MOST_MB = 1_500
READ = """
import sys
from pathlib import Path
import taxi_assets.engines
from taxi_assets.engines.source_files import Format, canonical_names, open_source
from taxi_assets.engines.typed_rows import typed
from taxi_assets.errors import TaxiAssetsError
from taxi_assets.landing import Landing
from taxi_assets_tests.engines.things import NAMES, Things

folder, form = sys.argv[1:]
landing = Landing(folder, {})
(file,) = landing.files()
try:
    source = open_source(landing, file, Format(form))
    typed(source, canonical_names(source, NAMES), Things).to_native().sink_parquet(Path(folder) / ".sunk")
except TaxiAssetsError as error:
    print(error)
print(next(line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM")))
"""


def varint(number: int) -> bytes:
    """Write a whole number as Thrift does in a footer."""
    number, written = number << 1, bytearray()
    while number > 127:
        written.append(number & 127 | 128)
        number >>= 7
    return bytes([*written, number])


def table(**columns: pa.Array) -> pa.Table:
    numbers = pa.array([number % 7 for number in range(ROWS)], pa.int32())
    return pa.table({"codeid": numbers, "amount": pa.array([1.5] * ROWS), **columns})


def as_parquet(rows: pa.Table, **options: object) -> bytes:
    buffer = io.BytesIO()
    pq.write_table(rows, buffer, **options)
    return buffer.getvalue()


def with_footer(data: bytes, edit: Callable[[bytes], bytes]) -> bytes:
    """Return a Parquet file with another footer."""
    length = int.from_bytes(data[-8:-4], "little")
    footer = edit(data[-8 - length : -8])
    return data[: -8 - length] + footer + len(footer).to_bytes(4, "little") + b"PAR1"


def claiming_rows(times: int) -> bytes:
    return with_footer(as_parquet(table()), lambda footer: footer.replace(varint(ROWS), varint(10**12), times))


def claiming_bytes() -> bytes:
    data = as_parquet(table())
    claimed = pq.read_metadata(io.BytesIO(data)).row_group(0).total_byte_size
    return with_footer(data, lambda footer: footer.replace(varint(claimed), varint(2**45)))


def nested(depth: int = 100_000) -> bytes:
    """Return a file of which each column is the only one within another, so deep."""
    root, group, leaf = b"\x48\x01r\x15\x02\x00", b"\x35\x02\x18\x01g\x15\x02\x00", b"\x15\x02\x25\x02\x18\x01x\x00"
    # A list's length is no signed number, so half of it is what `varint` writes.
    elements = b"\x19\xfc" + varint((depth + 2) // 2) + root + group * depth + leaf
    footer = b"\x15\x02" + elements + b"\x16" + varint(5) + b"\x19\x0c\x00"
    return b"PAR1" + footer + len(footer).to_bytes(4, "little") + b"PAR1"


def long_text_in_every_row(*, within: bool = False) -> bytes:
    """Return a file of a kilobyte or so of which each row has the same text of a megabyte, or a list of it."""
    texts = pa.DictionaryArray.from_arrays(pa.array([0] * ROWS, pa.int32()), pa.array(["w" * 1_000_000]))
    if within:
        texts = pa.ListArray.from_arrays(pa.array(range(ROWS + 1), pa.int32()), texts)
    return as_parquet(table(unknown=texts), store_schema=False, dictionary_pagesize_limit=2**30)


def of_columns(count: int) -> bytes:
    return as_parquet(pa.table({f"c{number}": pa.array([1], pa.int8()) for number in range(count)}))


def zip_bomb(line: bytes) -> bytes:
    """Return a file of a few megabytes that holds gigabytes."""
    return gzip.compress(b"codeid,amount\n") + gzip.compress(line * (16_000_000 // len(line)), 9) * 80


ABSURD: dict[str, tuple[str, Callable[[], bytes], str]] = {
    "more rows than its row groups": ("parquet", lambda: claiming_rows(1), "contradicts itself on the number of rows"),
    "a trillion rows": ("parquet", lambda: claiming_rows(-1), "its footer claims 1,000,000,000,000 rows"),
    "unpacked 35 TB": ("parquet", claiming_bytes, "its footer claims that unpacked it is more"),
    "2,000 columns": ("parquet", lambda: of_columns(2_000), "it has 2,000 columns"),
    "a footer of megabytes": (
        "parquet",
        lambda: with_footer(as_parquet(table()), lambda footer: footer + bytes(20_000_000)),
        "its footer has 20,",
    ),
    "columns within columns": ("parquet", nested, "nested"),
    "a long text in every row": ("parquet", long_text_in_every_row, "its texts are more"),
    "a long text in every list": ("parquet", lambda: long_text_in_every_row(within=True), "its texts are more"),
    "2,000 columns as CSV": ("csv", lambda: b"a," * 2_000 + b"\n1\n", "it has 2,001 columns"),
    "a zip bomb": ("csv.gz", lambda: zip_bomb(b"1," + b"2" * 4_000 + b"\n"), "unzipped it is more"),
    "a zip bomb of blank lines": ("csv.gz", lambda: zip_bomb(b"\n\n\n\n"), "unzipped it is more"),
    "a zip bomb of one line": ("csv.gz", lambda: zip_bomb(b"1111"), "it holds a line of more than"),
}


@pytest.mark.parametrize(("form", "content", "problem"), ABSURD.values(), ids=ABSURD)
def test_an_absurd_file_is_one_error_that_names_it_in_little_memory(
    tmp_path: Path, form: str, content: Callable[[], bytes], problem: str
) -> None:
    (tmp_path / f"things.{form}").write_bytes(content())

    command = [sys.executable, "-c", READ, str(tmp_path), form]
    done = subprocess.run(command, capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stderr
    message, kilobytes = done.stdout.splitlines()
    assert message.startswith(f"things.{form} can't be used: ")
    assert problem in message
    assert int(kilobytes) // 1024 < MOST_MB


def test_gigabytes_of_zeros_behind_a_gzip_are_passed_over(tmp_path: Path) -> None:
    with (tmp_path / "things.csv.gz").open("wb") as file:
        file.write(gzip.compress(b"codeid,amount\n1,2\n"))
        file.truncate(5_000_000_000)

    command = [sys.executable, "-c", READ, str(tmp_path), "csv.gz"]
    # While they were passed over one by one, it didn't end in ten minutes.
    subprocess.run(command, capture_output=True, text=True, check=True, timeout=300)

    assert pq.read_metadata(tmp_path / ".sunk").num_rows == 1


def test_a_month_of_equal_rows_that_packs_well_is_read(tmp_path: Path) -> None:
    (tmp_path / "things.csv.gz").write_bytes(gzip.compress(b"codeid,amount\n" + b"1,2\n" * 2_000_000, 9))

    command = [sys.executable, "-c", READ, str(tmp_path), "csv.gz"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)

    assert pq.read_metadata(tmp_path / ".sunk").num_rows == 2_000_000
    assert len(done.stdout.splitlines()) == 1
