"""CSVs of which the end may be missing: which look so, from when on they are used all the same, and what is said then.

That nothing of such a file is published while it may still be on its way is tlc/test_bad_files.py's to test.
"""

from __future__ import annotations

import gzip
import os
import time
from pathlib import Path

import pytest

from taxi_assets.engines.source_files import Format, Source, open_source
from taxi_assets.errors import LandingError
from taxi_assets.landing import Landing

pytestmark = pytest.mark.fast

HOUR = 3_600
HEADER = b"codeid,word,amount\n"
LONG = b"1," + b"w" * 200_000


def land(folder: Path, content: bytes, file_format: Format = Format.CSV, *, hours: float = 0) -> Landing:
    """Write a file that was last written so many hours ago, into a landing whose files settle in a day."""
    path = folder / f"things.{file_format}"
    path.write_bytes(gzip.compress(content) if file_format is Format.CSV_GZ else content)
    then = time.time() - hours * HOUR
    os.utime(path, (then, then))
    return Landing(str(folder), {}, settle_seconds=24 * HOUR)


def opened(landing: Landing, file_format: Format = Format.CSV) -> Source:
    (file,) = landing.files()
    return open_source(landing, file, file_format)


WHOLE = {
    "LF": HEADER + b"1,a,1.5\n",
    "CR LF": HEADER + b"1,a,1.5\r\n",
    "CR alone": HEADER.replace(b"\n", b"\r") + b"1,a,1.5\r",
    "blank lines and blanks behind it": HEADER + b"1,a,1.5\n\r\n   \n  ",
    "megabytes of blank lines behind it": HEADER + b"1,a,1.5\n" + b"\n" * 40_000_000,
    "megabytes of blanks behind its end": HEADER + b"1,a,1.5\n" + b" " * 3_000_000,
    "surplus commas": HEADER + b"1,a,1.5,,\n",
    "more fields than names": HEADER + b"1,a,1.5,x,y\n",
    "a header that ends in commas": b"codeid,word,amount,,\n1,a,1.5\n",
    "a comma within quotes": HEADER + b'1,"a,b",1.5\n',
    "a value that is missing": HEADER + b"1,a,\n",
    "a short line before the last": HEADER + b"1,a\n2,b,2.5\n",
    "a quoted value that went on in the last line": HEADER + b'1,a,"1\n.5"\n',
    "a line of 200,000 letters": HEADER + LONG + b",1.5\n",
}


@pytest.mark.parametrize("file_format", [Format.CSV, Format.CSV_GZ])
@pytest.mark.parametrize("content", WHOLE.values(), ids=WHOLE)
def test_a_file_whose_last_line_is_whole_is_used_at_once(tmp_path: Path, content: bytes, file_format: Format) -> None:
    assert opened(land(tmp_path, content, file_format), file_format).cut_off == ""


CUT = {
    "within a field": (
        HEADER + b"1,a,1.5\n2,b",
        "is cut off: its last line, '2,b', has 2 of 3 fields, and no line end",
    ),
    "within the first field": (HEADER + b"1,a,1.5\n2", "is cut off: its last line, '2', has 1 of 3 fields"),
    "within the last field": (
        HEADER + b"1,a,1.5\n2,b,2",
        "may be cut off: its last line, '2,b,2', has no line end, so that its last value may lack some",
    ),
    "behind the last field": (
        HEADER + b"1,a,1.5\n2,b,2.5",
        "may be cut off: its last line, '2,b,2.5', has no line end",
    ),
    "among surplus commas": (HEADER + b"1,a,1.5,,\n2,b,2.5,", "may be cut off: its last line, '2,b,2.5,', has no"),
    "within quotes": (
        HEADER + b'1,"a",1.5\n2,"b,',
        "is cut off: its last line, '2,\"b,', has no line end, and quotes that don't pair",
    ),
    "and ended by hand": (HEADER + b"1,a,1.5\n2,b\n", "looks cut off: its last line, '2,b', has 2 of 3 fields"),
    "in a line of 200,000 letters": (HEADER + LONG, f"is cut off: its last line, '...{'w' * 60}', has 2 of 3 fields"),
    "and blanks behind it": (HEADER + b"1,a,1.5\n2,b  ", "is cut off: its last line, '2,b', has 2 of 3 fields, and no"),
    "and megabytes of blanks behind it": (
        HEADER + b"1,a,1.5\n2,b" + b" " * 3_000_000,
        "is cut off: its last line, '2,b', has 2 of 3 fields, and no line end",
    ),
    "with CR alone": (b"codeid,word,amount\r1,a,1.5\r2,b", "is cut off: its last line, '2,b', has 2 of 3 fields"),
    "and NULs in the place of the rest": (HEADER + b"1,a,1.5\n" + bytes(3), r"'\x00\x00\x00', has 1 of 3 fields"),
}


@pytest.mark.parametrize("file_format", [Format.CSV, Format.CSV_GZ])
@pytest.mark.parametrize(("content", "says"), CUT.values(), ids=CUT)
def test_a_file_that_looks_cut_off_is_refused_until_it_has_settled_and_then_used_and_named(
    tmp_path: Path, content: bytes, says: str, file_format: Format
) -> None:
    with pytest.raises(LandingError) as caught:
        opened(land(tmp_path, content, file_format, hours=23), file_format)
    message = str(caught.value)
    assert message.startswith(f"things.{file_format} can't be used: it ")
    assert says in message
    assert "Land the whole file. If this is all of it, end its last line, or wait until 20" in message
    assert "run its month again: materialize --failed MONTH." in message
    assert "\n" not in message

    source = opened(land(tmp_path, content, file_format, hours=25), file_format)
    assert source.cut_off.startswith(f"things.{file_format} ")
    assert says in source.cut_off
    assert source.rows.collect().height >= 1


def test_a_landing_that_waits_for_nothing_uses_a_file_at_once(tmp_path: Path) -> None:
    land(tmp_path, HEADER + b"1,a,1.5\n2,b", hours=-1)
    landing = Landing(str(tmp_path), {})

    assert opened(landing).cut_off.startswith("things.csv is cut off")


def test_a_file_that_is_written_again_is_to_settle_anew(tmp_path: Path) -> None:
    landing = land(tmp_path, HEADER + b"1,a,1.5\n2,b", hours=25)
    assert opened(landing).cut_off

    land(tmp_path, HEADER + b"1,a,1.5\n2,b,2", hours=0)
    with pytest.raises(LandingError, match="may be cut off"):
        opened(landing)
    land(tmp_path, HEADER + b"1,a,1.5\n2,b,2.5\n", hours=0)
    assert opened(landing).cut_off == ""


@pytest.mark.parametrize("length", [100, 65_000, 66_000, 600_000])
def test_of_a_line_of_any_length_that_has_no_end_all_fields_are_seen(tmp_path: Path, length: int) -> None:
    landing = land(tmp_path, HEADER + b"1,a,1.5\n" * 200_000 + b"2," + b"w" * length + b",2.5", hours=25)

    assert "may be cut off" in opened(landing).cut_off
