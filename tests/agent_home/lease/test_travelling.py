"""Which files of a home go to its remote beside the git history."""

from __future__ import annotations

from agent_home.backup.carried import CARRIED, LEFT_OUT, OF_ONE_MACHINE
from agent_home.home import Home
from agent_home.lease.travelling import RECORDS, STAYS, TRAVELS, edited_files, travelling_files, travels


def test_it_is_decided_of_all_machine_state_whether_it_travels() -> None:
    known = {*CARRIED, *OF_ONE_MACHINE, *LEFT_OUT}
    assert known - {*TRAVELS, *RECORDS, *STAYS} == set()
    assert set(TRAVELS) & set(STAYS) == set(RECORDS) & set(STAYS) == set()


def test_keys_locks_and_interrupted_writes_stay() -> None:
    assert [
        name for name in ("write.lock", "redo.json", "staging/0.tmp", "lease.json", "lease/sent.json") if travels(name)
    ] == []
    assert [
        name for name in ("salt", "quarantine/q-1.json", "tokens.json", "audit-000001.jsonl") if not travels(name)
    ] == []


def test_links_and_repositories_are_not_followed(home: Home) -> None:
    (home.root / "sessions").mkdir(exist_ok=True)
    (home.root / "sessions" / "a.jsonl").write_text("{}\n")
    (home.root / "sessions" / "link.jsonl").symlink_to("/etc/passwd")
    (home.root / "outputs" / "clone" / ".git").mkdir(parents=True)
    (home.root / "outputs" / "clone" / ".git" / "config").write_text("")
    found = [file.path for file in travelling_files(home) if file.path.startswith("home/")]
    assert found == ["home/sessions/a.jsonl"]


def test_edits_by_hand_are_found(home: Home) -> None:
    (home.root / "USER.md").write_text("Changed.\n")
    (home.root / "Knowledge").mkdir(exist_ok=True)
    (home.root / "Knowledge" / "new.md").write_text("New.\n")
    (home.root / "TOOLS.md").unlink()
    found, removed = edited_files(home)
    assert sorted(file.path for file in found) == ["home/Knowledge/new.md", "home/USER.md"]
    assert removed == ["TOOLS.md"]
