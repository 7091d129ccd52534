"""The command `alert-test`: a message by each route, and what became of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from taxi_assets import cli
from taxi_assets_tests.alerts.receivers import Mailbox, Webhook, written

pytestmark = pytest.mark.fast


@pytest.fixture(autouse=True)
def environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.argv", ["taxi-assets", "alert-test"])
    return monkeypatch


def status() -> int:
    with pytest.raises(SystemExit) as ended:
        cli.main()
    return int(ended.value.code or 0)


def test_each_route_is_sent_a_test_and_the_status_is_0(
    environment: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with Webhook() as webhook, Mailbox() as mailbox:
        environment.setenv("TAXI_ALERTS__ROUTES__HOOK__URL", webhook.url)
        environment.setenv("TAXI_ALERTS__ROUTES__MAIL__URL", mailbox.url)
        environment.setenv("TAXI_ALERTS__ROUTES__MAIL__SEVERITY", "error")
        environment.setenv("TAXI_ALERTS__UI", "https://dagster.example.org/")
        assert status() == 0
        assert capsys.readouterr().out == "hook  sent\nmail  sent\n"
        assert "route hook" in webhook.only()["message"]
        assert "https://dagster.example.org" in written(mailbox.received[0], "plain")


def test_one_that_cant_be_sent_is_told_the_others_are_sent_and_the_status_is_1(
    environment: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with Webhook(status=503) as broken, Webhook() as webhook:
        environment.setenv("TAXI_ALERTS__ROUTES__BROKEN__URL", broken.url)
        environment.setenv("TAXI_ALERTS__ROUTES__HOOK__URL", webhook.url)
        assert status() == 1
        first, second = capsys.readouterr().out.splitlines()
        assert first.startswith("broken  not sent: ")
        assert "503" in first
        assert second == "hook  sent"
        assert len(webhook.received) == 1


def test_without_a_route_the_status_is_2_and_a_line_says_what_to_set(capsys: pytest.CaptureFixture[str]) -> None:
    assert status() == 2
    assert capsys.readouterr().err == ("No route is set, so nothing is sent: set TAXI_ALERTS__ROUTES__NAME__URL.\n")


def test_a_group_that_there_isnt_is_status_2(
    environment: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    environment.setenv("TAXI_ALERTS__ROUTES__GOLD__URL", "json://127.0.0.1:1")
    environment.setenv("TAXI_ALERTS__ROUTES__GOLD__GROUPS", "tlc_glod")
    assert status() == 2
    assert "tlc_glod" in capsys.readouterr().err
