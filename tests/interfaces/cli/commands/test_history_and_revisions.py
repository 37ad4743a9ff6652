"""Test ``memory diff``, ``history``, ``revert``, ``bisect`` and ``prompt --at``."""

from __future__ import annotations

import json
from datetime import datetime
from typing import Any

import pytest
from click.testing import CliRunner, Result

from agent_home import storage
from agent_home.git.history import head
from agent_home.home import Home
from agent_home.store import transcript
from agent_home.store.transcript import Message
from distill.close import close
from interfaces.cli import cli


def run(home: Home, *arguments: str) -> Result:
    return CliRunner().invoke(cli, [*arguments, "--home", str(home.root)])


def data(home: Home, *arguments: str) -> dict[str, Any]:
    result = run(home, *arguments, "--json")
    assert result.exit_code == 0, result.output
    found: dict[str, Any] = json.loads(result.stdout)
    return found


@pytest.fixture
def before(home: Home, now: datetime) -> str:
    """The commit before a session with one decision was closed."""
    commit = head(home.root)
    said = Message(session="s-1", id="m1", ts="2026-11-20T10:00:00", content="Decision: ship on Monday.")
    transcript.append(home, "s-1", [said], actor="import", now=now)
    close(home, "s-1", now=now)
    return commit


@pytest.fixture
def entry_id(home: Home, before: str) -> str:
    (change,) = data(home, "diff", before)["entries"]
    return str(change["id"])


def test_diff_lists_entries_and_files(home: Home, before: str, entry_id: str) -> None:
    found = data(home, "diff", f"{before}..")
    assert (found["from"], found["to"]) == (before, head(home.root))
    (change,) = found["entries"]
    assert (change["action"], change["section"], change["before"]) == ("added", "Key Decisions", "")
    assert {"path": "DailyActivity/2026-11-20.md", "action": "added"} in found["files"]
    text = run(home, "diff", f"{before}..HEAD").stdout
    assert f"+ [{entry_id}] added, MEMORY.md / Key Decisions" in text
    assert run(home, "diff").stdout.startswith("Nothing changed since the last commit.")
    (gone,) = data(home, "diff", f"HEAD..{before}")["entries"]
    assert gone["action"] == "removed"
    path = home.root / "MEMORY.md"
    path.write_text(path.read_text().replace("Monday", "Friday"))
    text = run(home, "diff").stdout
    assert text.splitlines()[0] == f"~ [{entry_id}] changed, MEMORY.md / Key Decisions"
    assert "Sources" not in text
    assert (data(home, "diff")["from"], data(home, "diff")["to"]) == (head(home.root), None)


def test_history_leads_from_the_entry_to_the_turn(home: Home, entry_id: str) -> None:
    found = data(home, "history", entry_id.lower())
    assert (found["id"], found["state"]) == (entry_id, "live")
    (event,) = found["events"]
    assert {"ts", "action", "commit", "session", "evidence"} <= set(event)
    assert (event["session"], event["commit"]) == ("s-1", head(home.root))
    (turn,) = found["turns"]
    assert (turn["source"], turn["text"]) == ("s-1#m1", "Decision: ship on Monday.")
    assert "Decision: ship on Monday." in run(home, "history", entry_id).stdout
    missing = run(home, "history", "KD-9999")
    assert (missing.exit_code, len(missing.stderr.strip().splitlines())) == (2, 1)


def test_revert_does_nothing_without_apply(home: Home, entry_id: str) -> None:
    at = head(home.root)
    plan = data(home, "revert", entry_id)
    assert (plan["commit"], plan["applied"], plan["undoes"]["commit"], plan["after"]) == (None, False, at, "")
    assert run(home, "revert", entry_id).stdout.startswith(f"would remove {entry_id}\n")
    assert head(home.root) == at
    done = data(home, "revert", entry_id, "--apply")
    assert done["commit"] == head(home.root)
    assert entry_id not in storage.read_text(home.root / "MEMORY.md")
    assert data(home, "history", entry_id)["state"] == "removed"
    hits = data(home, "search", "Monday", "--mode", "lexical", "--in", "memory")["hits"]
    assert entry_id not in {hit["source"].partition("#")[2] for hit in hits}
    assert f"brought {entry_id} back" in run(home, "revert", entry_id, "--apply").stdout
    assert entry_id in storage.read_text(home.root / "MEMORY.md")


def test_revert_prints_entries_that_are_no_longer_superseded(home: Home, entry_id: str) -> None:
    path = home.root / "MEMORY.md"
    older = "- **[KD-0001]** 2026-11-19 Ship on Friday\n"
    path.write_text(f"{path.read_text().rstrip()}\n\n{older}  Superseded-By: {entry_id}\n")
    plan = data(home, "revert", entry_id)
    assert (plan["linked"], plan["relinked"][0]["after"]) == (["KD-0001"], older)
    assert "no longer superseded by it: KD-0001" in run(home, "revert", entry_id).stdout
    assert entry_id in path.read_text()
    assert data(home, "revert", entry_id, "--apply")["relinked"] == plan["relinked"]
    assert entry_id not in path.read_text()
    assert "superseded by it again: KD-0001" in run(home, "revert", entry_id).stdout


def test_revert_of_a_supersession_frees_the_older_entry(home: Home, entry_id: str) -> None:
    newer = data(home, "remember", "We ship on Tuesday, not on Monday", "--replaces", entry_id)["id"]
    assert data(home, "history", entry_id)["superseded_by"] == newer
    done = run(home, "revert", entry_id, "--apply")
    assert f"valid again, no longer superseded by: {newer}" in done.stdout
    assert data(home, "history", entry_id)["state"] == data(home, "history", newer)["state"] == "live"
    path = home.root / "MEMORY.md"
    assert f"superseded again by: {newer}" in run(home, "revert", entry_id).stdout
    run(home, "revert", entry_id, "--apply")
    path.write_text(f"{path.read_text().rstrip()}\n\n- **[KD-0001]** 2026-11-19 Never\n  Supersedes: {entry_id}\n")
    refused = run(home, "revert", entry_id, "--apply")
    assert (refused.exit_code, "memory revert KD-0001" in refused.stderr) == (1, True)


def test_bisect_prints_the_commit_and_its_session(home: Home, entry_id: str) -> None:
    closing = head(home.root)
    found = data(home, "bisect", "--query", "when do we ship?", "--expect", entry_id)
    assert (found["commit"], found["says"], found["session"], found["entries"]) == (closing, True, "s-1", [entry_id])
    data(home, "revert", entry_id, "--apply")
    text = run(home, "bisect", "--query", "when?", "--expect", entry_id, "--since", closing).stdout
    assert f"no longer says it since commit {head(home.root)[:7]}" in text
    never = run(home, "bisect", "--query", "when?", "--expect", "no such words")
    assert (never.exit_code, "no commit changed that" in never.stdout) == (0, True)
    assert data(home, "bisect", "--query", "when?", "--expect", "no such words")["commit"] is None
    wrong = run(home, "bisect", "--query", "when?", "--expect", " ")
    assert (wrong.exit_code, len(wrong.stderr.strip().splitlines())) == (2, 1)


def test_a_past_prompt_has_the_files_and_the_day_of_its_commit(home: Home, before: str, entry_id: str) -> None:
    assert entry_id not in data(home, "prompt", "--at", before)["text"]
    assert entry_id in data(home, "prompt", "--at", "HEAD")["text"]
    path = home.root / "MEMORY.md"
    path.write_text(path.read_text().replace("Monday", "Friday"))
    assert "ship on Friday" not in data(home, "prompt", "--at", "HEAD")["text"]
    later = data(home, "prompt", "--at", "HEAD", "--now", "2027-05-05T09:00:00")
    assert not [s for s in later["sections"] if s["name"].startswith("Daily log")]
    recalled = data(home, "prompt", "--at", "HEAD", "--message", "when do we ship?")
    assert "Past prompts are made without recall, because the index holds only the present" in recalled["degraded"]
    unknown = run(home, "prompt", "--at", "no-such-revision")
    assert (unknown.exit_code, "no revision" in unknown.stderr) == (2, True)


@pytest.mark.parametrize(
    "command", [("diff", "HEAD~100"), ("diff", "nowhere..HEAD"), ("prompt", "--at", "HEAD~99")], ids=" ".join
)
def test_an_unknown_revision_is_wrong_usage(home: Home, command: tuple[str, ...]) -> None:
    result = run(home, *command)
    assert result.exit_code == 2
    assert "no revision " in result.stderr
