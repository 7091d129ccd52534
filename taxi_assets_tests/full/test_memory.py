"""That bronze streams: what a file takes of memory, whatever its length. Each is read in a process of its own."""

from __future__ import annotations

import gzip
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

pytestmark = pytest.mark.full

# To hold these takes 230 MB. What a process takes varies by some dozen MB with its threads' luck.
MORE_ROWS = 1_000_000
SPARE_MB = 150
PEAK = """
import sys
from pathlib import Path
from taxi_assets.engines import PolarsEngine
from taxi_assets.engines.source_files import Format, canonical_names, count_rows, open_source
from taxi_assets.engines.typed_rows import typed
from taxi_assets.landing import Landing
from taxi_assets_tests.engines.things import NAMES, Things

folder, form = sys.argv[1:]
landing = Landing(folder, {})
(file,) = landing.files()
source = open_source(landing, file, Format(form))
rows = typed(source, canonical_names(source, NAMES), Things).to_native()
rows.sink_parquet(Path(folder) / "sunk", row_group_size=50_000)
counted = count_rows(landing, file, Format(form))
# Not getrusage's, which begins with that of the process that started this one.
print(counted, next(line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM")))
"""


def peak(folder: Path, form: str, rows: int, end: str, letter: str) -> int:
    """Write a file of some rows, read it, and return the MB that it took."""
    folder.mkdir()
    number = pl.int_range(rows, eager=True).alias("codeid")
    table = pl.DataFrame({"codeid": number, "amount": number / 4, "word": number.hash().cast(pl.String)})
    table = table.with_columns(other=pl.concat_str([pl.lit(letter), *["word"] * 12]))
    path = folder / f"things.{form}"
    if form == "parquet":
        table.write_parquet(path, row_group_size=25_000)
    else:
        text = table.write_csv(line_terminator=end).encode("latin-1")
        path.write_bytes(gzip.compress(text, 1) if form == "csv.gz" else text)
    command = [sys.executable, "-c", PEAK, str(folder), form]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    counted, kilobytes = map(int, done.stdout.split())
    assert counted == rows
    return kilobytes // 1024


@pytest.mark.parametrize(
    ("form", "end", "letter", "rows"),
    [
        # By then the queues between Polars' threads are full, too.
        ("parquet", "", "n", 1_500_000),
        ("csv", "\n", "n", 250_000),
        ("csv", "\r", "n", 250_000),
        ("csv", "\n", "\xe9", 250_000),
        ("csv.gz", "\r\n", "n", 250_000),
    ],
    ids=["Parquet", "CSV", "CR alone", "Latin-1", "gzip"],
)
def test_reading_a_million_rows_more_takes_far_less_memory_than_holding_them(
    tmp_path: Path, form: str, end: str, letter: str, rows: int
) -> None:
    short = peak(tmp_path / "short", form, rows, end, letter)
    long = peak(tmp_path / "long", form, rows + MORE_ROWS, end, letter)
    assert long < short + SPARE_MB
