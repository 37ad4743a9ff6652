"""A home that breaks, or that another process holds, is answered within seconds with a page that says what is wrong."""

from __future__ import annotations

import errno
import os
import shutil
import time
from collections.abc import Callable, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import apsw
import pytest
from filelock import FileLock

from agent_home.home import Home
from distill.review.queue import waiting
from interfaces.api import AgentHome
from interfaces.page.access import make_link
from interfaces.page.rendering import POLICY
from interfaces.page.routes import VIEWS
from tests.conftest import NOW, FolderCopy, _configure_git
from tests.interfaces.page.browser import Browser, Form
from tests.interfaces.page.conftest import Clock

PATHS = [view.path.replace("{entry}", "KD-0001") for view in VIEWS]
PATHS += ["/page/memory?at=HEAD", "/page/memory?archived=1", "/page/prompt?message=ledger", "/page/search?words=ledger"]
#: A page is not waited for longer on an idle machine. Tests share theirs.
SECONDS = 20.0

Break = Callable[[Home], object]


@pytest.fixture(scope="module")
def _pattern(_pattern_home: FolderCopy, tmp_path_factory: pytest.TempPathFactory) -> FolderCopy:
    """A home with a fact, and with a decision that waits."""
    home = Home(tmp_path_factory.mktemp("waiting") / "home")
    _pattern_home.write(home.root)
    with pytest.MonkeyPatch.context() as patch:
        _configure_git(patch)
        patch.setattr("interfaces.indexing.MAX_VECTORS", 0)
        api = AgentHome(home)
        api.remember("The ledger runs on PostgreSQL.", now=NOW)
        api.remember("Decision: we keep one ledger.", origin="participant", speaker="Robin", now=NOW)
    return FolderCopy(home.root)


@pytest.fixture
def home(_pattern: FolderCopy, tmp_path: Path) -> Home:
    """A copy, whose proposal was made elsewhere: its records are those of another place."""
    _pattern.write(tmp_path / "home")
    return Home(tmp_path / "home")


@pytest.fixture
def accepting(browser: Browser) -> Form:
    """The form that accepts the text that waits."""
    return browser.read("/page/review").form("/accept")


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let nobody wait longer than a moment."""
    monkeypatch.setattr("interfaces.page.application._PATIENCE_S", 0.2)


def answers(browser: Browser, form: Form, paths: Sequence[str] = PATHS) -> dict[str, int]:
    """Ask for *paths* and send *form*. Every answer must be a page, soon, and no defect."""
    found = {}
    for path in (*paths, form.action):
        begun = time.monotonic()
        answer = browser.submit(form) if path == form.action else browser.get(path)
        assert time.monotonic() - begun < SECONDS, path
        assert answer.status_code in {200, 303, 401, 404, 409, 503}, (path, answer.text)
        assert answer.headers["content-security-policy"] == POLICY
        if answer.status_code in {409, 503}:
            assert "That did not work" in answer.text
        found[path] = answer.status_code
    return found


def garbled(path: Path) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(b"\xff\xfe\0no text" * 100)


def garbled_events(home: Home) -> None:
    for path in home.machine.rglob("*.jsonl"):
        garbled(path)


def a_folder_for_the_index(home: Home) -> None:
    home.index.unlink()
    home.index.mkdir()


def in_place_of(name: str, make: Callable[[Path], object]) -> Break:
    """Return what puts something else in the place of a file of the home."""

    def do(home: Home) -> None:
        (home.root / name).unlink()
        make(home.root / name)

    return do


BROKEN: dict[str, tuple[Break, str, int]] = {
    "binary memory": (lambda home: garbled(home.root / "MEMORY.md"), "/page/memory", 409),
    "no memory": (in_place_of("MEMORY.md", lambda _: None), "/page/memory", 200),
    "memory is a folder": (in_place_of("MEMORY.md", Path.mkdir), "/page/memory", 503),
    "memory is a link": (in_place_of("MEMORY.md", lambda path: path.symlink_to("/etc/passwd")), "/page/memory", 409),
    "memory is a pipe": (in_place_of("MEMORY.md", os.mkfifo), "/page/memory", 409),
    "memory in a merge": (
        lambda home: (home.root / "MEMORY.md").write_text("<<<<<<< a\n- **[KD-0001]** x\n=======\n>>>>>>> b\n"),
        "accept", 409,
    ),
    "binary archive": (
        lambda home: garbled(home.root / "Archive" / "MEMORY.md"),
        "/page/memory", 409,
    ),
    "empty manifest": (lambda home: (home.root / "agent.toml").write_text(""), "/page/prompt", 409),
    "binary manifest": (lambda home: garbled(home.root / "agent.toml"), "/page/prompt", 409),
    "no manifest": (in_place_of("agent.toml", lambda _: None), "/page/prompt", 409),
    "garbled HEAD": (lambda home: garbled(home.root / ".git" / "HEAD"), "/page/memory?at=HEAD", 503),
    "no objects": (lambda home: shutil.rmtree(home.root / ".git" / "objects"), "/page/memory?at=HEAD", 503),
    "no repository": (lambda home: shutil.rmtree(home.root / ".git"), "/page/review", 401),
    "no home": (lambda home: shutil.rmtree(home.root), "/page/review", 401),
    "no machine state": (lambda home: shutil.rmtree(home.machine), "/page/review", 401),
    "garbled index": (lambda home: garbled(home.index), "/page/search?words=ledger", 200),
    "index is a folder": (
        a_folder_for_the_index, "/page/search?words=ledger", 200,
    ),
    "garbled events": (garbled_events, "/page/memory", 200),
    "garbled quarantine": (
        lambda home: garbled(home.quarantine / "q-0.json"), "/page/review", 200,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_home_is_answered(browser: Browser, accepting: Form, home: Home, name: str) -> None:
    break_it, path, status = BROKEN[name]
    break_it(home)
    found = answers(browser, accepting, ["/page/review", "/page/health", *([] if path == "accept" else [path])])
    assert found[accepting.action if path == "accept" else path] == status


def test_without_git_memory_is_still_shown(browser: Browser, accepting: Form, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nonexistent")
    found = answers(browser, accepting)
    assert found["/page/memory"] == 200
    assert found["/page/review"] == found[accepting.action] == 503
    assert "git was not found" in browser.get("/page/review").text


def test_a_home_that_another_process_holds_is_shown_and_not_changed(
    browser: Browser, accepting: Form, home: Home, impatient: None, now: datetime
) -> None:
    with FileLock(home.lock):
        found = answers(browser, accepting)
        assert "another process has held" in browser.submit(accepting).text
    assert found.pop(accepting.action) == 503
    assert found.pop("/page/memory/KD-0001") == 404
    assert set(found.values()) == {200}
    assert len(waiting(home, now)) == 1
    assert browser.submit(accepting).status_code == 303


def test_a_link_waits_for_no_process_that_holds_the_home(app: Any, home: Home, impatient: None, clock: Clock) -> None:
    secret = make_link(home, "Kim", clock.now())
    with FileLock(home.lock):
        assert Browser(app).get("/page/sign-in", code="x").status_code == 401
        answer = Browser(app).get("/page/sign-in", code=secret)
        assert answer.status_code == 503
        assert "ask again" in answer.text.casefold()
    assert Browser(app).get("/page/sign-in", code=secret).status_code == 303


def test_a_git_command_that_never_ends_is_not_waited_for(
    browser: Browser, accepting: Form, home: Home, impatient: None, now: datetime
) -> None:
    lock = home.root / ".git" / "index.lock"
    lock.write_text("")
    answer = browser.submit(accepting)
    assert answer.status_code == 503
    assert "index.lock" in answer.text
    lock.unlink()
    browser.submit(browser.read("/page/review").form("/accept")) if waiting(home, now) else None
    assert "one ledger" in (home.root / "MEMORY.md").read_text()


def test_an_index_that_another_process_holds_is_not_waited_for(
    browser: Browser, accepting: Form, home: Home, impatient: None
) -> None:
    browser.read("/page/search", words="ledger")
    with FileLock(home.machine / "sync.lock"):
        (home.root / "MEMORY.md").write_text((home.root / "MEMORY.md").read_text() + "\nmore\n")
        assert browser.get("/page/search", words="ledger").status_code in {200, 503}
    held = apsw.Connection(str(home.index))
    held.execute("BEGIN EXCLUSIVE")
    try:
        begun = time.monotonic()
        assert browser.get("/page/search", words="ledger").status_code in {200, 503}
        assert time.monotonic() - begun < SECONDS
    finally:
        held.close()


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EROFS], ids=errno.errorcode.get)
def test_a_full_disk_changes_nothing_and_is_named(
    browser: Browser, accepting: Form, home: Home, now: datetime, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    memory = (home.root / "MEMORY.md").read_bytes()

    def full(path: Path, *_: object, **__: object) -> None:
        raise OSError(number, os.strerror(number), str(path))

    with monkeypatch.context() as patch:
        patch.setattr("agent_home.storage.stage", full)
        found = answers(browser, accepting)
        assert os.strerror(number) in browser.submit(accepting).text
    assert found[accepting.action] == 503
    assert found["/page/memory"] == found["/page/review"] == 200
    assert (home.root / "MEMORY.md").read_bytes() == memory
    assert len(waiting(home, now)) == 1
    assert browser.submit(browser.read("/page/review").form("/accept")).status_code == 303


def test_a_machine_that_can_sign_nothing_says_so(
    browser: Browser, accepting: Form, app: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("AGENT_HOME_STATE", str(tmp_path / "file"))
    answers(browser, accepting)


def test_a_missing_model_is_named_and_words_are_found(
    browser: Browser, accepting: Form, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("AGENT_HOME_CACHE", str(tmp_path / "empty"))
    shown = browser.read("/page/search", words="ledger PostgreSQL").text
    assert "The ledger runs on PostgreSQL." in shown
    assert "memory model build" in shown


def test_a_defect_is_a_page_that_says_nothing_of_memory(
    browser: Browser, accepting: Form, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise RuntimeError("zanzibarite")

    monkeypatch.setattr("interfaces.page.views.review.queue.waiting", fail)
    answer = browser.get("/page/review")
    assert answer.status_code == 500
    assert answer.headers["content-security-policy"] == POLICY
    assert "internal error, RuntimeError" in answer.text
    assert "zanzibarite" not in answer.text
