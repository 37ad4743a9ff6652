"""Texts wait for a shared folder in signed records, and each is written once."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

import pytest

from agent_home.home import Home
from agent_home.sharing import waiting_texts as waiting
from agent_home.sharing.health import sharing_problems
from agent_home.sharing.placing import SharedText
from agent_home.store import gateway, set_aside
from agent_home.store.recovery import write_shared
from tests.sharing import IMPROVEMENT, ORION, put


def wanted(text: str) -> SharedText:
    return SharedText(path=IMPROVEMENT, base="", text=text, message="m", trailers={"Actor": "test"})


def test_the_same_text_waits_once_and_the_oldest_comes_first(home: Home) -> None:
    for at, text in ((2.0, "b"), (1.0, "a"), (2.0, "b")):
        waiting.keep(home, wanted(text), at=at)
    assert waiting.is_waiting(home)
    assert [one.wanted.text for one in waiting.waiting_texts(home)] == ["a", "b"]


def test_a_text_that_this_machine_did_not_sign_is_named_and_never_written(home: Home, tmp_path: Path) -> None:
    project = put(home, "link", tmp_path / "elsewhere")
    waiting.keep(home, wanted("- mine\n"), at=1.0)
    (file,) = (home.machine / "shared-texts").glob("*.json")
    file.write_text(file.read_text().replace("mine", "evil"))
    assert write_shared(home) == []
    assert not (project / "IMPROVEMENT.md").exists()
    (problem,) = sharing_problems(home)
    assert str(file) in problem.message


def test_a_text_whose_folder_is_shared_no_more_waits_for_a_person(home: Home) -> None:
    (home.root / ORION).mkdir()
    waiting.keep(home, wanted("- mine\n"), at=1.0)
    write_shared(home)
    assert not waiting.is_waiting(home)
    (kept,) = set_aside.waiting(home)
    assert (kept.path, kept.text) == (IMPROVEMENT, "- mine\n")


def test_a_waiting_text_can_be_redacted(home: Home) -> None:
    waiting.keep(home, wanted("- secret\n"), at=1.0)
    waiting.redact(home, lambda _, text: text.replace("secret", "gone"))
    assert [one.wanted.text for one in waiting.waiting_texts(home)] == ["- gone\n"]


def test_a_machine_without_a_usable_key_keeps_the_text_for_a_person(
    home: Home, now: datetime, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = put(home, "clone", tmp_path / "elsewhere")
    (tmp_path / "no folder").touch()
    monkeypatch.setenv("AGENT_HOME_STATE", str(tmp_path / "no folder"))
    with gateway.transaction(home, actor="test", message="m", now=now) as edits:
        edits.write(IMPROVEMENT, "- mine\n")
    assert not (project / "IMPROVEMENT.md").exists()
    assert [one.text for one in set_aside.waiting(home)] == ["- mine\n"]


def test_a_folder_that_became_shared_during_a_write_gets_the_text(home: Home, now: datetime, tmp_path: Path) -> None:
    with gateway.transaction(home, actor="test", message="m", now=now) as edits:
        edits.write("MEMORY.md", edits.text("MEMORY.md") + "\nMore.\n")
        edits.write(IMPROVEMENT, "- mine\n")
        (home.root / "Projects").mkdir(exist_ok=True)
        project = put(home, "clone", tmp_path / "elsewhere")
    assert (project / "IMPROVEMENT.md").read_text() == "- mine\n"
