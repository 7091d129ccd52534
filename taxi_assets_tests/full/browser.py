"""A browser on Dagster's UI, as an engineer has it before them.

Screenshots, for people to look at, are saved in the test's own folder, and in one that TAXI_SCREENSHOTS names.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from playwright.sync_api import Page, expect, sync_playwright

from taxi_assets_tests.full.processes import Server

SECONDS = 1_000
# Nothing of the browser's own may go out either. Names below `example`, which are nobody's, lead to this machine, as
# those of an attacker may.
_FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
    "--host-resolver-rules=MAP *.example 127.0.0.1, MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
]


@dataclass
class Ui:
    """A browser's page on a web server, and the addresses and hosts that it asked for something."""

    page: Page
    server: Server
    folder: Path
    addresses: list[str] = field(default_factory=list)

    @property
    def hosts(self) -> set[str]:
        """The hosts that it asked for something."""
        return {_host(address) for address in self.addresses}

    def open(self, path: str) -> Page:
        """Load a page of the UI."""
        self.page.goto(f"{self.server.url}/{path}")
        return self.page

    def shows(self, text: str, *, exact: bool = True) -> None:
        """Demand that the page shows a text."""
        expect(self.page.get_by_text(text, exact=exact).first).to_be_visible(timeout=30 * SECONDS)

    def show_months_of_check(self, check: str, table: str = "tlc_silver/green_trips") -> Page:
        """Load the page of a check, and turn to its months."""
        page = self.open(f"assets/{table}?view=checks&checkDetail={check}")
        # The asset has a tab of the same name; the check's stand after it, and come later.
        self.shows("Execution history")
        page.get_by_role("tab", name="Partitions").last.click()
        self.shows("Partitions Selected", exact=False)
        return page

    def screenshot(self, name: str) -> None:
        """Save what the page shows."""
        path = self.folder / f"{name}.png"
        self.page.screenshot(path=path)
        if wanted := os.environ.get("TAXI_SCREENSHOTS"):
            Path(wanted).mkdir(parents=True, exist_ok=True)
            shutil.copy(path, wanted)


@contextmanager
def browsing(browser: str, server: Server, screenshots: Path) -> Iterator[Ui]:
    """Open a browser on a web server for a while."""
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=browser, args=_FLAGS)
        page = chromium.new_page(viewport={"width": 2000, "height": 1500})
        page.set_default_timeout(30 * SECONDS)
        shown = Ui(page, server, screenshots)
        page.on("request", lambda request: shown.addresses.append(request.url))
        yield shown
        chromium.close()


def _host(url: str) -> str:
    parts = urlsplit(url)
    return "(within the page)" if parts.scheme in {"data", "blob"} else str(parts.hostname)
