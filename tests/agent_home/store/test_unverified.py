"""Tests of redo records that this machine did not sign: never carried out, and nothing that they hold is lost."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from agent_home.documents.document import parse
from agent_home.errors import DocumentInvalid
from agent_home.home import Home
from agent_home.machine_key import key_path, sign
from agent_home.store import recovery, set_aside, unverified

from ..conftest import AddEntry, titles

ENTRY = "- **[KD-7F3A]** 2026-11-20 Ship it.\n"


def leave_redo(home: Home, text: str, *, path: str = "MEMORY.md", staged: str = "0.tmp", mac: str = "") -> None:
    """Leave a transaction as a writer that died leaves it, or as a stranger forges it."""
    row = {"path": path, "before": "", "after": hashlib.sha256(text.encode()).hexdigest(), "staged": staged}
    record = json.dumps({"at": 1.0, "message": "m", "trailers": {}, "files": [row], "audit": {}})
    (home.machine / "staging").mkdir(exist_ok=True)
    (home.machine / "staging" / "0.tmp").write_text(text)
    signed = sign("redo", record.encode()) if mac == "own" else mac
    (home.machine / "redo.json").write_text(json.dumps({"mac": signed, "record": record}))


def test_a_signed_record_is_carried_out(home: Home, add_entry: AddEntry) -> None:
    leave_redo(home, "# Memory\n\n## Key Decisions\n\n" + ENTRY, mac="own")
    add_entry("T")
    assert "Ship it." in (home.root / "MEMORY.md").read_text() or list((home.machine / "recovered").iterdir())
    assert unverified.waiting(home) == []


@pytest.mark.parametrize("mac", ["", "0" * 64])
def test_a_record_with_a_wrong_signature_is_kept_and_its_texts_wait_for_review(
    home: Home, add_entry: AddEntry, mac: str
) -> None:
    leave_redo(home, ENTRY, mac=mac)
    add_entry("T")
    assert titles(home.root) == ["T"]
    (folder,) = unverified.waiting(home)
    assert {path.name for path in folder.iterdir()} == {"record.json", "staging"}
    (item,) = set_aside.waiting(home)
    assert (item.path, item.text, item.unsigned) == ("MEMORY.md", ENTRY, True)
    assert "did not sign" in item.reason
    assert not recovery.is_pending(home)


def test_a_record_whose_key_was_lost_waits_for_review(home: Home, add_entry: AddEntry,
                                                     monkeypatch: pytest.MonkeyPatch) -> None:  # fmt: skip
    leave_redo(home, ENTRY, mac="own")
    monkeypatch.setenv("AGENT_HOME_STATE", str(home.root.parent / "other"))
    add_entry("T")
    assert [item.text for item in set_aside.waiting(home)] == [ENTRY]
    assert key_path().is_file()


@pytest.mark.parametrize(
    "path", [".git/hooks/post-index-change", ".GIT/config", "../out.md", "/etc/x", "a/../b", ".memory/x", "a/.git/x"]
)  # fmt: skip
@pytest.mark.parametrize("mac", ["", "own"])
def test_no_record_leads_out_of_memory(home: Home, add_entry: AddEntry, path: str, mac: str) -> None:
    leave_redo(home, "#!/bin/sh\n", path=path, mac=mac)
    before = {file for file in home.root.parent.rglob("*") if home.machine not in file.parents}
    if mac:
        with pytest.raises(DocumentInvalid, match="Move it away"):
            add_entry("T")
        assert {file for file in home.root.parent.rglob("*") if home.machine not in file.parents} <= before
    else:
        add_entry("T")
        assert set_aside.waiting(home) == []
    assert not (home.root / path).exists()


def _link(path: Path) -> None:
    path.rename(path.with_name("target"))
    path.symlink_to("target")


def _second_name(path: Path) -> None:
    path.with_name("second").hardlink_to(path)


@pytest.mark.parametrize("spoil", [_link, _second_name, lambda path: path.write_text("other")])
def test_a_staged_file_that_is_not_the_one_of_the_record_is_not_written(
    home: Home, add_entry: AddEntry, spoil: Callable[[Path], None]
) -> None:
    leave_redo(home, ENTRY, mac="own")
    spoil(home.machine / "staging" / "0.tmp")
    with pytest.raises(DocumentInvalid, match="Move it away"):
        add_entry("T")
    assert list(parse((home.root / "MEMORY.md").read_text()).entries()) == []


def test_a_link_in_the_place_of_a_recovered_file_gets_nothing(home: Home, add_entry: AddEntry, tmp_path: Path) -> None:
    (tmp_path / "outside.md").write_text("mine")
    leave_redo(home, ENTRY, mac="own")
    (home.root / "MEMORY.md").unlink()
    (home.root / "MEMORY.md").symlink_to(tmp_path / "outside.md")
    with pytest.raises(DocumentInvalid, match="link"):
        add_entry("T")
    assert (tmp_path / "outside.md").read_text() == "mine"


def test_a_write_without_a_machine_key_is_done_all_the_same(home: Home, add_entry: AddEntry, tmp_path: Path,
                                                           monkeypatch: pytest.MonkeyPatch) -> None:  # fmt: skip
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("AGENT_HOME_STATE", str(tmp_path / "file" / "state"))
    add_entry("T")
    assert titles(home.root) == ["T"]


def test_texts_for_shared_projects_wait_for_review_too(home: Home, add_entry: AddEntry) -> None:
    rows = [{"path": "Projects/orion/TECH.md", "text": "# Tech\n"}, {"path": "../x", "text": "x"}, {"path": "a.md"}, 7,
            {"path": "b.md", "text": "\ud800"}]  # fmt: skip
    record = json.dumps({"at": 1.0, "message": "m", "trailers": {}, "files": [], "shared": rows, "audit": {}})
    (home.machine / "redo.json").write_text(json.dumps({"mac": "", "record": record}))
    add_entry("T")
    assert [(item.path, item.text) for item in set_aside.waiting(home)] == [("Projects/orion/TECH.md", "# Tech\n")]
