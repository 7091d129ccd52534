r"""CSVs as no writer should write them, byte by byte: each line is a row, or the file is one clear error. Never less.

The tables give, by hand, each row's code, word and amount, and what is kept of it in `_rescued_data`; None for nothing.
`from_csv` reads every file twice, plain and gzipped, and counts its lines apart. What must come out of well-formed CSV
is test_source_files.py's.
"""

from __future__ import annotations

import gzip
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from taxi_assets.engines.csv_lines import blocks
from taxi_assets.engines.source_files import Format, open_source
from taxi_assets.errors import LandingError
from taxi_assets.landing import Landing
from taxi_assets_tests.engines.things import from_csv, opened, rescued, rows_of

pytestmark = pytest.mark.fast

LONG = 5 * 1024 * 1024
Row = tuple[int | None, str | None, float | None, dict[str, Any] | None]

HEADER = b"codeid,word,amount\n"
ONE, TWO = (1, "a", 1.5, None), (2, "b", 2.5, None)
LINES = b"1,a,1.5\n2,b,2.5\n"
# The header as a line among the rows: none of its values is one.
AGAIN = (None, "word", None, {"code": "codeid", "amount": "amount"})


def torn(line: str) -> Row:
    """A row of which nobody can say which value is which, so that it has none, and the line."""
    return (None, None, None, {"_line": line})


READ: dict[str, tuple[bytes, list[Row]]] = {
    # Line ends
    "LF": (HEADER + LINES, [ONE, TWO]),
    "no end of the last line": (HEADER + LINES[:-1], [ONE, TWO]),
    "CR LF": ((HEADER + LINES).replace(b"\n", b"\r\n"), [ONE, TWO]),
    "CR alone": ((HEADER + LINES).replace(b"\n", b"\r"), [ONE, TWO]),
    "CR alone, and none behind the last line": ((HEADER + LINES).replace(b"\n", b"\r")[:-1], [ONE, TWO]),
    "CR CR LF": ((HEADER + LINES).replace(b"\n", b"\r\r\n"), [ONE, TWO]),
    "LF CR": ((HEADER + LINES).replace(b"\n", b"\n\r"), [ONE, TWO]),
    "LF, then CR alone, then CR LF": (b"codeid,word,amount\n1,a,1.5\r2,b,2.5\r\n1,a,1.5\r", [ONE, TWO, ONE]),
    "CR within a line, which ends it": (
        HEADER + b"1,a\r,1.5\n",
        [(1, "a", None, {"_line": "1,a"}), (None, "1.5", None, {"_line": ",1.5"})],
    ),
    "a blank second line, surplus commas": (b"codeid,word,amount\n\r\n1,a,1.5,,\r\n2,b,2.5,,\r\n", [ONE, TWO]),
    "commas at the end of the header alone": (b"codeid,word,amount, ,\n" + LINES, [ONE, TWO]),
    "commas at the end of the header and of a row, which goes on": (
        b"codeid,word,amount,,\n1,a,1.5,,\n2,b,2.5,x,\n",
        [ONE, (2, "b", 2.5, {"_column_4": "x"})],
    ),
    "lines of blanks, tabs and ends of pages": (HEADER + b" \t\n\x0b\x0c\n1,a,1.5\n   \n" + b"\t\n\n", [ONE]),
    "more blank lines than a line may have bytes, before, within and behind": (
        b"\r" * LONG + HEADER + b"1,a,1.5" + b"\r" * LONG + b"2,b,2.5" + b"\n \r\n" * (LONG // 4),
        [ONE, TWO],
    ),
    # Encodings
    "a byte order mark": (b"\xef\xbb\xbf" + HEADER + LINES, [ONE, TWO]),
    "two byte order marks": (b"\xef\xbb\xbf" * 2 + HEADER + LINES, [ONE, TWO]),
    "a byte order mark again, where files were joined": (
        HEADER + b"1,a,1.5\n\xef\xbb\xbf" + HEADER + b"2,b,2.5\n",
        [ONE, (None, "word", None, {"code": "\ufeffcodeid", "amount": "amount"}), TWO],
    ),
    "UTF-8": (HEADER + "1,é東,1.5\n".encode(), [(1, "é東", 1.5, None)]),
    "Latin-1": (HEADER + b"1,caf\xe9,1.5\n2,b,2.5\n", [(1, "café", 1.5, None), TWO]),
    "Latin-1 in a number": (HEADER + b"1\xe9,a,1.5\n", [(None, "a", 1.5, {"code": "1é"})]),
    "Latin-1 in the header": (b"codeid,word,amount,\xe9t\xe9\n1,a,1.5,x\n", [(1, "a", 1.5, {"été": "x"})]),
    "Latin-1 in one line, UTF-8 in another": (
        HEADER + b"1,\xe9,1.5\n2,\xc3\xa9,2.5\n",
        [(1, "é", 1.5, None), (2, "é", 2.5, None)],
    ),
    "Latin-1 and CR alone": (b"codeid,word,amount\r1,\xe9,1.5\r", [(1, "é", 1.5, None)]),
    "a byte that Latin-1 has no letter for": (HEADER + b"1,x\x81y,1.5\n", [(1, "x\x81y", 1.5, None)]),
    "UTF-8 cut within its last character": (HEADER + b"1,a,1.5\n2,\xc3", [ONE, (2, "Ã", None, {"_line": "2,Ã"})]),
    # NUL
    "NUL in a number": (HEADER + b"1\x00,a,1.5\n", [(None, "a", 1.5, {"code": "1\x00"})]),
    "NUL in a word": (HEADER + b"1,a\x00b,1.5\n", [(1, "a\x00b", 1.5, None)]),
    "NULs for a number": (HEADER + b"1,a,\x00\x00\n", [(1, "a", None, {"amount": "\x00\x00"})]),
    "a tail of NULs, as a crash leaves it": (
        HEADER + b"1,a,1.5\n" + b"\x00" * 9,
        [ONE, (None, None, None, {"code": "\x00" * 9, "_line": "\x00" * 9})],
    ),
    # Fields
    "a short line": (HEADER + b"1,a\n2,b,2.5\n", [(1, "a", None, {"_line": "1,a"}), TWO]),
    "a last line cut in the middle": (HEADER + b"1,a,1.5\n2,b,", [ONE, (2, "b", None, None)]),
    "a last line cut within its second field": (
        HEADER + b"1,a,1.5\n22,b",
        [ONE, (22, "b", None, {"_line": "22,b"})],
    ),
    "surplus fields that hold something": (HEADER + b"1,a,1.5,x,y\n", [(1, "a", 1.5, {"_surplus_fields": "x,y"})]),
    "trailing blanks and tabs": (b"codeid,word,amount \t\n1,a,1.5 \t\n2,b,2.5\t\t\n", [ONE, TWO]),
    "blanks around every field": (b" codeid , word , amount \n 1 ,\ta , 1.5 \n", [ONE]),
    "a line of commas": (HEADER + b",,\n", [(None, None, None, None)]),
    "a line of one word": (HEADER + b"Total\n", [(None, None, None, {"code": "Total", "_line": "Total"})]),
    "numbers as 1.0": (HEADER + b"1.0,a,1.50\n", [ONE]),
    "the header again, where files were joined": (HEADER + LINES + HEADER + LINES, [ONE, TWO, AGAIN, ONE, TWO]),
    "files joined where the first has no last end": (
        HEADER + b"1,a,1.5" + HEADER + b"2,b,2.5\n",
        [(1, "a", None, {"amount": "1.5codeid", "_surplus_fields": "word,amount"}), TWO],
    ),
    # Names that are no JSON
    "a name in brackets": (b"[codeid],word,amount\n1,a,1.5\n", [(None, "a", 1.5, {"[codeid]": "1"})]),
    "a name in braces": (b"{codeid},word,amount\n1,a,1.5\n", [(None, "a", 1.5, {"{codeid}": "1"})]),
    # Quotes
    "all quoted": (b'"codeid","word","amount"\n"1","a","1.5"\n', [ONE]),
    "blanks around quotes": (b'"codeid" , "word","amount"\n"1" ,"a"\t, "1.5"\n', [ONE]),
    "a quoted header above bare rows": (b'"codeid","word","amount"\n1,a,1.5\n', [ONE]),
    "a comma within a quoted name": (b'"codeid, or not",word,amount\nx,a,1.5\n', [
        (None, "a", 1.5, {"codeid, or not": "x"}),
    ]),
    "a line break within quotes": (HEADER + b'1,"a\nb",1.5\n2,b,2.5\n', [torn('1,"a'), torn('b",1.5'), TWO]),
    "a line break within quotes and surplus commas": (
        HEADER + b'1,"a\nb",1.5,,\n',
        [torn('1,"a'), torn('b",1.5,,')],
    ),
    "line breaks within two quoted fields": (
        HEADER + b'1,"a\nb","1\n.5"\n',
        [torn('1,"a'), torn('b","1'), torn('.5"')],
    ),
    "CR within quotes": (HEADER + b'1,"a\rb",1.5\n', [torn('1,"a'), torn('b",1.5')]),
    "a quote that isn't closed": (HEADER + b'1,"a,1.5\n2,b,2.5\n', [torn('1,"a,1.5'), TWO]),
    "a quote that isn't closed, and a comma behind it": (HEADER + b'1,"a, b,1.5,\n', [torn('1,"a, b,1.5,')]),
    "two quotes that aren't closed": (HEADER + b'"1,"a,1.5\n', [torn('"1,"a,1.5')]),
    "letters behind a closing quote": (HEADER + b'1,"a"b,1.5\n', [torn('1,"a"b,1.5')]),
    "a quoted line that was cut": (HEADER + b'"1","a', [torn('"1","a')]),
    "a lone quote at the end": (HEADER + LINES + b'"\n', [ONE, TWO, torn('"')]),
}  # fmt: skip


@pytest.mark.parametrize(("content", "expected"), READ.values(), ids=READ)
def test_every_line_is_a_row_and_nothing_of_it_is_lost(tmp_path: Path, content: bytes, expected: list[Row]) -> None:
    rows = from_csv(tmp_path, content)
    values = rows.select("code", "word", "amount").rows()
    assert [(*row, kept) for row, kept in zip(values, rescued(rows), strict=True)] == expected
    assert rows["source_row"].to_list() == list(range(1, len(expected) + 1))


CSV = HEADER + LINES
LATIN = HEADER + b"1,\xe9,1.5\n"
GZIPPED: dict[str, tuple[bytes, list[Row]]] = {
    "several members": (gzip.compress(CSV[:25]) + gzip.compress(CSV[25:]), [ONE, TWO]),
    "several members, one of them empty": (gzip.compress(CSV) + gzip.compress(b"") + gzip.compress(LINES), [
        ONE, TWO, ONE, TWO,
    ]),
    "members of which one is Latin-1": (gzip.compress(CSV) + gzip.compress(b"1,\xe9,1.5\n"), [
        ONE, TWO, (1, "é", 1.5, None),
    ]),
    "a member cut within CR LF": (gzip.compress(HEADER + b"1,a,1.5\r") + gzip.compress(b"\n2,b,2.5\r\n"), [ONE, TWO]),
    "NULs behind the end, as tapes and some copies pad": (gzip.compress(CSV) + bytes(512), [ONE, TWO]),
}  # fmt: skip


@pytest.mark.parametrize(("content", "expected"), GZIPPED.values(), ids=GZIPPED)
def test_every_line_of_a_gzip_is_a_row(tmp_path: Path, content: bytes, expected: list[Row]) -> None:
    (tmp_path / "things.csv.gz").write_bytes(content)
    source, count = opened(tmp_path, "things.csv.gz", Format.CSV_GZ)
    assert rows_of(source).select("code", "word", "amount").rows() == [row[:3] for row in expected]
    assert count == len(expected)


REFUSED: dict[str, tuple[Format, Callable[[], bytes], str]] = {
    "no bytes": (Format.CSV, lambda: b"", r"it is empty \(0 bytes\)"),
    "a header alone": (Format.CSV, lambda: HEADER, "no rows below its header.*fetch it again"),
    "a header alone that no end follows": (Format.CSV, HEADER.strip, "no rows below its header"),
    "a header and blank lines": (Format.CSV, lambda: HEADER + b"\r\n \r\n\t\n", "no rows below its header"),
    "blank lines alone": (Format.CSV, lambda: b"\n\r\n  \r", "no rows below its header"),
    "UTF-16, little end first": (Format.CSV, lambda: CSV.decode().encode("utf-16"), "UTF-16.*iconv -f UTF-16 -t UTF-8"),
    "UTF-16, big end first": (
        Format.CSV,
        lambda: b"\xfe\xff" + CSV.decode().encode("utf-16-be"),
        "UTF-16.*iconv -f UTF-16 -t UTF-8",
    ),
    "UTF-16 without a mark": (Format.CSV, lambda: CSV.decode().encode("utf-16-le"), "UTF-16.*iconv"),
    "UTF-16, gzipped": (Format.CSV_GZ, lambda: gzip.compress(CSV.decode().encode("utf-16")), "UTF-16.*iconv"),
    "semicolons": (
        Format.CSV,
        lambda: CSV.replace(b",", b";"),
        "separated by ';', not by commas.*Write it with commas",
    ),
    "tabs": (Format.CSV, lambda: CSV.replace(b",", b"\t"), r"separated by '\\t', not by commas"),
    "gzip under a CSV's name": (Format.CSV, lambda: gzip.compress(CSV), "it is gzipped.*Name it .csv.gz"),
    "a zip archive": (Format.CSV, lambda: b"PK\x03\x04\x14\x00x\n", "a zip archive.*Unpack it"),
    "Parquet under a CSV's name": (Format.CSV, lambda: b"PAR1\x15\x04\n\x00", "it is Parquet.*Name it .parquet"),
    "an error page": (Format.CSV, lambda: b"\n<html>\n<body>\n", "a page of HTML"),
    "an error page, gzipped": (Format.CSV_GZ, lambda: gzip.compress(b"<Error><Code>Denied</Code>\n"), r"\(Denied\)"),
    "an error page behind a byte order mark": (
        Format.CSV,
        lambda: b"\xef\xbb\xbf<Error><Code>Denied</Code>\n",
        r"\(Denied\)",
    ),
    "JSON": (
        Format.CSV,
        lambda: b'{"message": "Missing Authentication Token"}',
        r"a server's answer in JSON \(\{\"message\": \"Missing Authentication Token\"\}\), not data.*fetch it again",
    ),
    "JSON over several lines": (
        Format.CSV,
        lambda: b'\r\n {\r\n  "error": {\r\n    "code": 403\r\n  }\r\n}\r\n',
        r"a server's answer in JSON \(\{ \"error\": \{\), not data",
    ),
    "JSON behind a byte order mark": (Format.CSV, lambda: b"\xef\xbb\xbf{}", r"in JSON \(\{\}\)"),
    "JSON in an array": (Format.CSV, lambda: b' [ {"error":"no such key","x":1}, 2 ]', r"in JSON \(\[ \{\"error\""),
    "JSON that is long": (
        Format.CSV_GZ,
        lambda: gzip.compress(b'{"errors":["' + b"x" * 5_000 + b'"]}'),
        r"in JSON \(\{\"errors\":\[\"x{48}\.\.\.\), not data",
    ),
    "no gzip": (Format.CSV_GZ, lambda: CSV, "can't be unzipped"),
    "gzip cut off": (Format.CSV_GZ, lambda: gzip.compress(CSV)[:-12], "its end is missing: it was cut off"),
    "gzip without its last byte": (Format.CSV_GZ, lambda: gzip.compress(CSV)[:-1], "its end is missing"),
    "gzip and garbage behind its end": (Format.CSV_GZ, lambda: gzip.compress(CSV) + b"garbage", "can't be unzipped"),
    "gzip whose checksum is another's": (
        Format.CSV_GZ,
        lambda: gzip.compress(CSV)[:-8] + bytes(4) + gzip.compress(CSV)[-4:],
        r"can't be unzipped \(CRC check failed",
    ),
    "gzip damaged within": (
        Format.CSV_GZ,
        lambda: (data := gzip.compress(os.urandom(5_000).hex().encode()))[:3_000] + b"\xff" * 99 + data[3_099:],
        "can't be unzipped",
    ),
    "a name that goes on in the next line": (
        Format.CSV,
        lambda: b'codeid,"wo\nrd",amount\n1,a,1.5\n',
        "a quote in its header has no other.*Write each name in one line",
    ),
    "a name whose quote has no end": (
        Format.CSV,
        lambda: b'codeid,"word,amount\n1,a,1.5\n',
        "in its header has no other",
    ),
    "a name of megabytes": (
        Format.CSV,
        lambda: b"codeid," + b"n" * 1_000_000 + b"\n" + b"1,x\n" * 9,
        "its columns' names have 1,000,006 characters; those of no table have more than 100,000",
    ),
    "a header without an end": (Format.CSV, lambda: b"x" * LONG, "a line of more than 4,194,304 bytes"),
    "a row without an end": (Format.CSV, lambda: CSV + b"x" * LONG, "a line of more than 4,194,304 bytes"),
    "a row without an end, gzipped": (
        Format.CSV_GZ,
        lambda: gzip.compress(CSV + b"1," + b"x" * LONG + b"\n"),
        "a line of more than 4,194,304 bytes",
    ),
}


@pytest.mark.parametrize(("file_format", "content", "message"), REFUSED.values(), ids=REFUSED)
def test_a_file_that_isnt_csv_or_isnt_whole_is_one_error_that_names_it_and_says_what_to_do(
    tmp_path: Path, file_format: Format, content: Callable[[], bytes], message: str
) -> None:
    name = f"things.{file_format}"
    (tmp_path / name).write_bytes(content())
    with pytest.raises(LandingError, match=rf"^{name} can't be used: .*{message}") as caught:
        rows_of(opened(tmp_path, name, file_format)[0])
    assert "\n" not in str(caught.value)


# Across blocks


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r", b"\r\r\n"])
@pytest.mark.parametrize("shift", range(4))
def test_no_line_is_lost_or_cut_where_two_blocks_meet(tmp_path: Path, end: bytes, shift: int) -> None:
    # Lines of every length, so that blocks of any size end within lines and within their ends.
    count = 40_000
    lines = [b"%d,%s,0.5" % (number, b"w" * (number % 97)) for number in range(count)]
    rows = from_csv(tmp_path, b" " * shift + end.join([HEADER.strip(), *lines]))
    assert rows["code"].equals(pl.Series("code", range(count), dtype=pl.Int32))
    assert (rows["word"].fill_null("").str.len_bytes() == rows["code"] % 97).all()
    assert rows["_rescued_data"].null_count() == count


@pytest.mark.parametrize("blank", [b"\n", b"\r", b"\r\n", b" \t\n"])
def test_blank_lines_cost_nothing_behind_the_reading_of_their_bytes(tmp_path: Path, blank: bytes) -> None:
    # Gigabytes of them took minutes while each was told from lines that aren't blank.
    (tmp_path / "things.csv").write_bytes(HEADER + b"1,a,1.5\n" + blank * (LONG // len(blank)) + b"2,b,2.5\n")
    (file,) = (landing := Landing(str(tmp_path), {})).files()
    read = b"".join(blocks(landing, file, zipped=False))
    assert [line for line in read.split(b"\n") if line.strip()] == (HEADER + LINES).split(b"\n")[:3]
    assert len(read) < 1_000


def test_a_byte_that_isnt_utf8_far_down_the_file_fails_nothing(tmp_path: Path) -> None:
    count, odd = 200_000, 150_000
    lines = [b"%d,%s,0.5" % (number, b"\xe9" if number == odd else "é".encode()) for number in range(count)]
    rows = from_csv(tmp_path, b"\n".join([HEADER.strip(), *lines]))
    assert rows["code"].equals(pl.Series("code", range(count), dtype=pl.Int32))
    assert set(rows["word"]) == {"é"}


def test_a_line_as_long_as_may_be_is_a_row(tmp_path: Path) -> None:
    word = "w" * 3_000_000
    rows = from_csv(tmp_path, f"codeid,word,amount\n1,a,1.5\n2,{word},2.5\n1,a,1.5\n")
    assert rows.select("code", "amount").rows() == [(1, 1.5), (2, 2.5), (1, 1.5)]
    assert rows["word"][1] == word


def test_rows_are_taken_from_the_start_without_reading_the_rest(tmp_path: Path) -> None:
    # The rest can't be read: it has a line without an end.
    (tmp_path / "things.csv").write_bytes(CSV + b"1,a,1.5\n" * 500_000 + b"x" * LONG)
    (file,) = (landing := Landing(str(tmp_path), {})).files()
    source = open_source(landing, file, Format.CSV)
    assert source.rows.select("column_0", "column_1").head(2).collect().rows() == [("1", "a"), ("2", "b")]
