"""No key of anyone's is in the repository, as far as keys can be known by their form."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

import taxi_assets

pytestmark = pytest.mark.fast

ROOT = Path(taxi_assets.__file__).parents[1]
FORMS = re.compile(
    rb"(?:AKIA|ASIA)[0-9A-Z]{16}\b"  # Amazon's access keys
    rb"|-----BEGIN [A-Z ]*PRIVATE KEY-----"
    rb"|AccountKey=[A-Za-z0-9+/]{40,}"  # Azure's connection strings
    rb"|[?&]sig=[A-Za-z0-9%]{30,}"  # Azure's shared access signatures
    rb"|\bAIza[0-9A-Za-z_-]{35}\b"  # Google's keys
    rb"|\bxox[abprs]-[0-9A-Za-z-]{10,}"  # Slack's tokens
    rb"|hooks\.slack\.com/services/T[0-9A-Z]+/B[0-9A-Z]+/[0-9A-Za-z]{20,}"
    rb"|\bgh[pousr]_[0-9A-Za-z]{36}\b|\bgithub_pat_[0-9A-Za-z_]{60,}"
    rb"|\bpypi-[A-Za-z0-9_-]{50,}"
)
MADE_UP = (b"AKIA" + b"ABCDEFGHIJKLMNOP", b"-----BEGIN RSA " + b"PRIVATE KEY-----", b"ghp_" + b"a" * 36)


def tracked() -> list[Path]:
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True, text=True).stdout
    return [ROOT / name for name in listed.split("\0") if name and (ROOT / name).is_file()]


def test_no_tracked_file_holds_what_has_the_form_of_a_key() -> None:
    files = tracked()
    assert files
    assert [path for path in files if FORMS.search(path.read_bytes())] == []


@pytest.mark.parametrize("key", MADE_UP)
def test_a_key_would_be_found(key: bytes) -> None:
    assert FORMS.search(b'key = "' + key + b'"\n')


def test_a_file_of_settings_isnt_tracked() -> None:
    assert [path for path in tracked() if path.name == ".env"] == []
