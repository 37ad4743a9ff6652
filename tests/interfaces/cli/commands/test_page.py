"""Test ``memory page``: its link, and the file of ``--out``."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from agent_home.home import Home
from interfaces.cli import cli
from interfaces.page.access import sign_in as follow
from interfaces.page.access import visitor_of
from tests.conftest import NOW
from tests.interfaces.service.running_service import running


def run(home: Home, *arguments: str) -> Result:
    return CliRunner().invoke(cli, ["page", *arguments, "--home", str(home.root), "--now", NOW.isoformat()])


@pytest.fixture
def addresses(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Serve nothing, but say that a page is there."""
    opened: list[str] = []

    def serve(_home: Home, *, ready: Callable[[str], None]) -> None:
        ready("127.0.0.1:8377")

    def launch(address: str, **_: Any) -> int:
        opened.append(address)
        return 0

    monkeypatch.setattr("interfaces.service.page_server.serve_page", serve)
    monkeypatch.setattr("click.launch", launch)
    return opened


def test_the_link_signs_the_named_person_in(home: Home, addresses: list[str]) -> None:
    result = run(home, "--as", "Kim")
    link, told = result.stdout.splitlines()
    assert link.startswith("http://127.0.0.1:8377/page/sign-in?code=")
    assert told == "signs in Kim, once, within 15 minutes. The page is there until Ctrl-C"
    visitor = visitor_of(home, follow(home, link.partition("code=")[2], NOW), NOW)
    assert visitor is not None
    assert visitor.person == "Kim"
    assert addresses == []


def test_json_has_the_link(home: Home, addresses: list[str]) -> None:
    found = json.loads(run(home, "--as", "Kim", "--json").stdout)
    assert set(found) == {"link", "person", "minutes"}
    assert (found["person"], found["minutes"]) == ("Kim", 15)


def test_the_browser_is_opened_when_asked(home: Home, addresses: list[str]) -> None:
    result = run(home, "--as", "Kim", "--open")
    assert addresses == [result.stdout.splitlines()[0]]


def test_without_a_terminal_a_name_is_needed(home: Home, addresses: list[str]) -> None:
    result = run(home)
    assert result.exit_code == 2
    assert "--as PERSON" in result.stderr
    assert not (home.machine / "page-access.json").exists()


def test_a_service_that_answers_http_has_the_page(home: Home) -> None:
    with running(home.root, http=True) as service:
        result = run(home, "--as", "Kim")
        assert result.exit_code == 0, result.output
        assert result.stdout.startswith(f"{service.url}/page/sign-in?code=")
        assert "Ctrl-C" not in result.stdout


def test_out_writes_a_file_for_its_owner_alone(home: Home, tmp_path: Path) -> None:
    out = tmp_path / "memory.html"
    result = run(home, "--out", str(out))
    assert result.exit_code == 0, result.output
    assert result.stdout == f"wrote {out}, {out.stat().st_size:,} bytes\n"
    assert out.read_text("utf-8").startswith("<!doctype html>")
    assert out.stat().st_mode & 0o077 == 0
    assert [path.name for path in tmp_path.iterdir() if "memory.html" in path.name] == ["memory.html"]
    assert not (home.machine / "page-access.json").exists()


def test_out_replaces_a_file_and_speaks_chinese(home: Home, tmp_path: Path) -> None:
    out = tmp_path / "memory.html"
    assert run(home, "--out", str(out)).exit_code == 0
    found = json.loads(run(home, "--out", str(out), "--lang", "zh", "--json").stdout)
    assert found == {"file": str(out), "bytes": out.stat().st_size}
    assert '<html lang="zh">' in out.read_text("utf-8")


def test_out_replaces_nothing_but_an_earlier_page(home: Home, tmp_path: Path) -> None:
    notes = tmp_path / "notes.html"
    notes.write_text("<html>mine</html>")
    result = run(home, "--out", str(notes))
    assert (result.exit_code, notes.read_text()) == (2, "<html>mine</html>")
    assert "is no page of this command" in result.stderr
    link = tmp_path / "link"
    link.symlink_to(home.root)
    before = (home.root / "MEMORY.md").read_bytes()
    for out in (home.root / "MEMORY.md", home.root / "memory.html", link / "memory.html"):
        result = run(home, "--out", str(out))
        assert (result.exit_code, "lies in the home" in result.stderr) == (2, True)
    assert (home.root / "MEMORY.md").read_bytes() == before
    assert not (home.root / "memory.html").exists()


@pytest.mark.parametrize("name", ["none/memory.html", "."])
def test_out_needs_a_folder_that_is_there(home: Home, tmp_path: Path, name: str) -> None:
    result = run(home, "--out", str(tmp_path / name))
    assert result.exit_code == 2
    assert result.stderr


def test_the_page_needs_a_home(tmp_path: Path) -> None:
    assert run(Home(tmp_path), "--as", "Kim").exit_code == 3


def test_a_missing_package_is_named(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(*_: object, **__: object) -> None:
        raise ModuleNotFoundError("No module named 'jinja2'", name="jinja2")

    monkeypatch.setattr("interfaces.cli.commands.page._write", missing)
    result = run(home, "--out", "x.html")
    assert result.exit_code != 0
    assert "agent-home[service]" in result.output
