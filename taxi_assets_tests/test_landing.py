"""Landing as a folder: listing, telling files apart, and what is said when it isn't there."""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from taxi_assets.errors import LandingError
from taxi_assets.landing import LandedFile, Landing

pytestmark = pytest.mark.fast

NOBODY = 65_534


@pytest.fixture
def landing(tmp_path: Path) -> Landing:
    return Landing(str(tmp_path), {})


def only_file(landing: Landing) -> LandedFile:
    (file,) = landing.files()
    return file


def test_files_are_listed_however_deep_sorted_by_path_with_their_size(landing: Landing, tmp_path: Path) -> None:
    for path, content in {"b.csv": b"12", "a/z.csv": b"123", "a/b/c.csv": b""}.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_bytes(content)
    assert [(file.path, file.name, file.size) for file in landing.files()] == [
        ("a/b/c.csv", "c.csv", 0),
        ("a/z.csv", "z.csv", 3),
        ("b.csv", "b.csv", 2),
    ]


def test_hidden_files_and_folders_are_not_listed(landing: Landing, tmp_path: Path) -> None:
    for path in (".yellow_tripdata_2024-01.parquet.123", ".fetch/yellow_tripdata_2024-01.parquet.part", "a/.b/c.csv"):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_bytes(b"1")
    (tmp_path / "not.hidden.csv").write_bytes(b"1")
    assert only_file(landing).path == "not.hidden.csv"


def test_an_empty_landing_has_no_files(landing: Landing) -> None:
    assert landing.files() == []


def test_an_untouched_file_keeps_its_identity(landing: Landing, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes(b"1")
    assert only_file(landing).identity == only_file(landing).identity


def test_a_file_written_again_changes_its_identity_even_at_the_same_size(landing: Landing, tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes(b"1")
    os.utime(path, (1_700_000_000, 1_700_000_000))
    before = only_file(landing)
    path.write_bytes(b"2")
    os.utime(path, (1_700_000_001, 1_700_000_001))
    after = only_file(landing)
    assert before.size == after.size
    assert before.identity != after.identity


def test_a_fingerprint_is_the_sha256_of_the_bytes_whatever_the_name(landing: Landing, tmp_path: Path) -> None:
    # More than one chunk of the reader's.
    content = bytes(range(256)) * 20_000
    for name in ("a.csv", "other/name.csv"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(content)
    assert {landing.fingerprint(file) for file in landing.files()} == {hashlib.sha256(content).hexdigest()}


def test_a_path_with_blanks_and_accents_is_listed_and_opened(tmp_path: Path) -> None:
    folder = tmp_path / "données du taxi"
    folder.mkdir()
    (folder / "a b.csv").write_bytes(b"1")
    landing = Landing(str(folder), {})
    file = only_file(landing)
    assert Path(landing.uri(file)) == folder / "a b.csv"
    assert landing.fingerprint(file) == hashlib.sha256(b"1").hexdigest()


def test_a_landing_that_isnt_there_is_one_line_that_names_it_and_the_setting(tmp_path: Path) -> None:
    with pytest.raises(LandingError) as caught:
        Landing(str(tmp_path / "nowhere"), {}).files()
    message = str(caught.value)
    assert f"Landing at {tmp_path / 'nowhere'} can't be listed" in message
    assert "TAXI_LANDING_ROOT" in message
    assert "\n" not in message


def test_a_landing_of_an_unknown_kind_is_one_line_that_names_it_and_the_setting() -> None:
    with pytest.raises(LandingError, match=r"^Landing at gopher://trips can't be listed: .*TAXI_LANDING_ROOT"):
        Landing("gopher://trips", {}).files()


BAD_NAMES = ["x\nyellow.csv", "\x1b[2Jyellow.csv", "ev\nil/yellow.csv", "\x9b31m.csv", "\u202eyellow.csv", "\udcff.csv"]


@pytest.mark.parametrize("name", BAD_NAMES, ids=ascii)
def test_a_name_that_cant_be_seen_is_listed_as_what_it_is_and_keeps_no_other_file(
    landing: Landing, tmp_path: Path, name: str
) -> None:
    (tmp_path / "good.csv").write_bytes(b"1")
    known = only_file(landing)
    (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / name).write_bytes(b"2")

    bad, good = sorted(landing.files(), key=lambda file: file.name == "good.csv")

    assert good == known
    assert bad.path.isprintable()
    assert bad.path.endswith("(a name that can't be read)")


def test_a_folder_that_holds_itself_keeps_no_file_from_being_listed(landing: Landing, tmp_path: Path) -> None:
    (tmp_path / "good.csv").write_bytes(b"1")
    known = only_file(landing)
    (tmp_path / "again").symlink_to(tmp_path)

    assert landing.files() == [known]


def test_a_long_name_and_one_with_marks_are_names_as_others_are(landing: Landing, tmp_path: Path) -> None:
    names = sorted(["g" * 250 + ".csv", "[red]%2F..#?.csv", "..\\up.csv".lstrip(".")])
    for name in names:
        (tmp_path / name).write_bytes(b"1")

    assert [file.path for file in landing.files()] == names
    assert len({landing.fingerprint(file) for file in landing.files()}) == 1


def test_what_is_no_file_is_listed_as_what_it_is_and_never_opened(landing: Landing, tmp_path: Path) -> None:
    (tmp_path / "good.csv").write_bytes(b"1")
    (tmp_path / "ordinary").mkdir()
    (tmp_path / "folder.csv").mkdir()
    os.mkfifo(tmp_path / "pipe.csv")
    (tmp_path / "lost.csv").symlink_to("nowhere")
    (tmp_path / "zero.csv").symlink_to("/dev/zero")
    found = {file.path: file for file in landing.files()}
    assert {path: file.no_file for path, file in found.items()} == {
        "good.csv": "",
        "folder.csv": "an empty folder",
        "pipe.csv": "a pipe",
        "lost.csv": "a link that leads nowhere",
        "zero.csv": "a device",
    }
    for path in found.keys() - {"good.csv"}:
        with pytest.raises(LandingError, match=f"^{path} can't be used: it is .*, not a file"):
            landing.fingerprint(found[path])


@pytest.fixture
def denied() -> Iterator[Landing]:
    """Return a landing of which one good file is anybody's, and whatever is forbidden is so for this process, too."""
    with tempfile.TemporaryDirectory() as root:
        Path(root).chmod(0o755)
        (Path(root) / "good.csv").write_bytes(b"1")
        (Path(root) / "folder").mkdir()
        (Path(root) / "folder" / "in.csv").write_bytes(b"2")
        is_root = os.geteuid() == 0
        if is_root:
            # Nothing is forbidden to root.
            os.seteuid(NOBODY)
        try:
            yield Landing(root, {})
        finally:
            if is_root:
                os.seteuid(0)
            Path(root).chmod(0o755)
            (Path(root) / "folder").chmod(0o755)


def forbid(path: Path, mode: int) -> None:
    """Set what may be done to what is the owner's."""
    who = os.geteuid()
    os.seteuid(path.stat().st_uid)
    path.chmod(mode)
    os.seteuid(who)


def test_a_file_that_may_not_be_looked_at_is_listed_and_not_left_out(denied: Landing) -> None:
    forbid(Path(denied.root) / "folder", 0o644)
    listed = {file.path: file.no_file for file in denied.files()}
    assert listed == {"good.csv": "", "folder/in.csv": "what may not be looked at"}


def test_a_folder_that_may_not_be_read_is_an_error_that_names_it(denied: Landing) -> None:
    forbid(Path(denied.root) / "folder", 0)
    with pytest.raises(LandingError, match=r"can't be listed: \S+/folder in it can't \(Permission denied\)"):
        denied.files()


def test_a_text_that_may_not_be_looked_at_isnt_taken_for_none(denied: Landing) -> None:
    forbid(Path(denied.root), 0o644)
    with pytest.raises(LandingError, match=r"good\.csv in landing can't be read"):
        denied.read_text("good.csv")


def test_a_link_that_leads_out_of_landing_is_known_as_one(tmp_path: Path) -> None:
    root, outside = tmp_path / "landing", tmp_path / "outside"
    (outside / "folder").mkdir(parents=True)
    root.mkdir()
    for path in (root / "own.csv", outside / "a.csv", outside / "folder/b.csv"):
        path.write_bytes(b"1")
    (root / "within.csv").symlink_to("own.csv")
    (root / "out.csv").symlink_to(outside / "a.csv")
    (root / "folder").symlink_to(outside / "folder")
    (tmp_path / "by link").symlink_to(root)
    for landing in (Landing(str(root), {}), Landing(str(tmp_path / "by link"), {})):
        assert {file.path: file.leads_out for file in landing.files()} == {
            "own.csv": False,
            "within.csv": False,
            "out.csv": True,
            "folder/b.csv": True,
        }
