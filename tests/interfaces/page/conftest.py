"""A signed-in browser at a home, and a home in which every text is hostile."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from starlette.types import ASGIApp

from agent_home.home import Home
from interfaces.service.http.activity import Activity
from interfaces.service.http.app import page_application
from interfaces.service.http.callers import Callers
from tests.conftest import NOW, FolderCopy, _configure_git
from tests.interfaces.page.browser import Browser
from tests.interfaces.page.hostile import make_hostile


class Clock:
    """The present of a test, which it may move."""

    def __init__(self) -> None:
        self.moment = NOW

    def now(self) -> datetime:
        return self.moment

    def pass_(self, **units: float) -> None:
        """Let time pass."""
        self.moment += timedelta(**units)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr("agent_home.clock.now", made.now)
    return made


@pytest.fixture(autouse=True)
def _without_model(monkeypatch: pytest.MonkeyPatch) -> None:
    """Search by words alone: no test needs the model."""
    monkeypatch.setattr("interfaces.indexing.MAX_VECTORS", 0)


@pytest.fixture
def make_other(_pattern_home: FolderCopy, tmp_path: Path) -> Callable[[], Home]:
    """Return a function that makes a second home."""

    def make() -> Home:
        _pattern_home.write(tmp_path / "other")
        return Home(tmp_path / "other")

    return make


@pytest.fixture
def app(home: Home) -> ASGIApp:
    return page_application(Callers({"s": home}), Activity(0))


@pytest.fixture
def browser(app: ASGIApp, home: Home, clock: Clock) -> Browser:
    """A browser in which Kim is signed in."""
    return Browser(app).sign_in(home, "Kim", clock.now())


@pytest.fixture(scope="session")
def _hostile_pattern(_pattern_home: FolderCopy, tmp_path_factory: pytest.TempPathFactory) -> FolderCopy:
    """Make the hostile home once for all copies. Their signed records count for no copy."""
    folder = tmp_path_factory.mktemp("hostile")
    with pytest.MonkeyPatch.context() as patch:
        _configure_git(patch)
        patch.setattr("interfaces.indexing.MAX_VECTORS", 0)
        _pattern_home.write(folder / "home")
        make_hostile(Home(folder / "home"), folder, NOW)
        return FolderCopy(folder / "home")


@pytest.fixture(scope="module")
def hostile_home(_hostile_pattern: FolderCopy, tmp_path_factory: pytest.TempPathFactory) -> Home:
    """A home in which everything that others name or say is hostile HTML. Tests of a module share it."""
    root = tmp_path_factory.mktemp("hostile-home") / "home"
    _hostile_pattern.write(root)
    return Home(root)


@pytest.fixture(scope="module")
def hostile_browser(hostile_home: Home) -> Browser:
    """A browser in which Kim is signed in to the hostile home."""
    app = page_application(Callers({"s": hostile_home}), Activity(0))
    return Browser(app).sign_in(hostile_home, "Kim", datetime.now(UTC))
