"""A served home with texts that wait, and Chromium with somebody signed in."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page, sync_playwright

from agent_home.home import Home
from interfaces.api import create_home
from tests.interfaces.service.running_service import run_memory, running

AXE = Path(__file__).parents[2] / ".axe/node_modules/axe-core/axe.min.js"
#: Texts that try to be more than text.
HOSTILE = (
    'The release page shows <script>document.title="owned"</script> in its header.',
    "[the template](javascript:document.title='owned') is a link of the release notes.",
    "The logo of the report is <svg onload=\"document.title='owned'\"><rect/></svg> since May.",
)
WAITING = (
    ("We keep PostgreSQL 16 for the ledger until the audit is over.", "Robin"),
    ("Robin prefers short stand-ups in writing.", "Robin"),
    ("We decided to release on Thursdays instead of Tuesdays.", "Sam"),
    ("We decided to store invoices for eleven years.", "Sam"),
)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--screenshots", metavar="DIR", help="Write the pictures of the documentation into DIR.")


@pytest.fixture
def home(tmp_path: Path) -> Home:
    """Return a home with entries of two months, some of them hostile, and four texts that wait."""
    made = create_home(tmp_path / "home", name="Ada", owner=["Kim"])
    now = datetime.now(UTC)
    said = (
        "The billing service is deployed on Tuesdays, because the bank's batch runs on Mondays.",
        "The import of orders fails when a line has no currency. Orders without one are skipped since May.",
        "I prefer answers that begin with the result.",
        "We decided to write the report generator in Go.",
        *HOSTILE,
    )
    for number, text in enumerate(said):
        made.remember(text, now=now - timedelta(days=60 - 8 * number))
    for text, speaker in WAITING:
        made.remember(text, origin="participant", speaker=speaker, now=now)
    run_memory("sync", "--home", str(tmp_path / "home"))
    return Home(tmp_path / "home")


@pytest.fixture
def address(home: Home) -> Iterator[str]:
    """Serve *home* with ``memory serve --http`` and return the address of the port."""
    with running(home.root, http=True) as service:
        yield service.url


def link_of(home: Home) -> str:
    """Return the link that ``memory page`` prints."""
    done = run_memory("page", "--as", "Kim", "--home", str(home.root))
    assert done.returncode == 0, done.stderr
    return done.stdout.decode().split()[0]


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    found = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if found is None:
        pytest.fail("there is no Chromium. On Debian: apt install chromium")
    sandbox = ["--no-sandbox"] if os.geteuid() == 0 else []
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=found, args=sandbox)
        yield started
        started.close()


@pytest.fixture
def context(browser: Browser) -> Iterator[BrowserContext]:
    made = browser.new_context(viewport={"width": 1280, "height": 900}, locale="en-GB")
    yield made
    made.close()


@pytest.fixture
def page(context: BrowserContext, address: str, home: Home) -> Iterator[Page]:
    """Return a page that is signed in as Kim. A script that runs, or a message of the browser, fails the test."""
    complaints: list[str] = []
    opened = context.new_page()
    opened.on("dialog", lambda dialog: complaints.append(f"dialog: {dialog.message}"))
    opened.on("pageerror", lambda error: complaints.append(f"error: {error}"))
    opened.on("console", lambda message: _noted(message, complaints))
    opened.goto(link_of(home))
    yield opened
    assert not complaints


def _noted(message: ConsoleMessage, complaints: list[str]) -> None:
    if message.type in {"error", "warning"} and "401 (Unauthorized)" not in message.text:
        complaints.append(f"{message.type}: {message.text}")
