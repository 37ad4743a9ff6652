"""Files that git hides are never taken for empty: the write is refused with the command that shows them again."""

from __future__ import annotations

from datetime import datetime

import pytest

from agent_home.documents.entry import Entry
from agent_home.errors import HistoryError
from agent_home.git.hidden_files import hidden_memory
from agent_home.home import MEMORY, Home
from agent_home.store import losses
from agent_home.store.gateway import transaction

from ..conftest import AddEntry, Git, titles

LOG, LEDGER, ARCHIVED = "DailyActivity/2026-11-20.md", "ledger/closings-2026-11-20.jsonl", "Archive/2026-10.md"


@pytest.fixture
def full(home: Home, now: datetime) -> Home:
    """A home with three entries, an archived one, a daily log and a ledger."""
    with transaction(home, actor="test", message="m", now=now) as edits:
        rows = [("Key Decisions", Entry(id=f"KD-000{n}", date="2026-11-01", title=f"Fact {n}")) for n in range(3)]
        edits.write(MEMORY, edits.read(MEMORY).with_entries(rows))
        edits.write(ARCHIVED, "## Archived\n\n- **[LL-0001]** 2026-10-01 Old\n")
        edits.write(LOG, "# 2026-11-20\n\nMonday.\n")
        edits.append(LEDGER, [{"closing": "2026-11-20#a", "messages": []}])
    return home


def hide(git: Git, *patterns: str) -> None:
    git("sparse-checkout", "set", "--no-cone", "/*", *(f"!/{pattern}" for pattern in patterns))


def test_a_sparse_memory_is_not_overwritten(full: Home, git: Git, add_entry: AddEntry) -> None:
    hide(git, MEMORY)
    head = git("rev-parse", "HEAD")
    with pytest.raises(HistoryError, match=r"MEMORY.md is not on the disk.*`git sparse-checkout disable`"):
        add_entry("New")
    assert git("rev-parse", "HEAD") == head
    assert losses.absent_memory(full).endswith("`git sparse-checkout disable` brings it back")
    git("sparse-checkout", "disable")
    add_entry("New")
    assert sorted(titles(full.root)) == ["Fact 0", "Fact 1", "Fact 2", "New"]


@pytest.mark.parametrize("mark", ["skip-worktree", "assume-unchanged"])
@pytest.mark.parametrize("emptied", [True, False])
def test_an_edit_that_is_hidden_from_git_stops_the_write(
    full: Home, git: Git, add_entry: AddEntry, mark: str, *, emptied: bool
) -> None:
    git("update-index", f"--{mark}", MEMORY)
    text = (full.root / MEMORY).read_text()
    (full.root / MEMORY).write_text("" if emptied else f"{text}\nMine.\n")
    with pytest.raises(HistoryError, match=rf"MEMORY.md differs from HEAD.*`git update-index --no-{mark} MEMORY.md`"):
        add_entry("New")
    git("update-index", f"--no-{mark}", MEMORY)
    add_entry("New")
    assert sorted(titles(full.root)) == ["Fact 0", "Fact 1", "Fact 2", "New"]
    assert ("Mine." in (full.root / MEMORY).read_text()) != emptied


@pytest.mark.parametrize("path", [LOG, LEDGER, ARCHIVED])
def test_other_sparse_files_keep_what_they_have(full: Home, git: Git, now: datetime, path: str) -> None:
    held = git("show", f"HEAD:{path}")
    hide(git, "DailyActivity/", "ledger/", "Archive/")
    with (
        pytest.raises(HistoryError, match=r"is not on the disk.*`git sparse-checkout disable`"),
        transaction(full, actor="test", message="m", now=now) as edits,
    ):
        edits.write(path, edits.text(path) + "## Archived\n")
    git("sparse-checkout", "disable")
    assert (full.root / path).read_text() == held


@pytest.mark.parametrize("attributes", ["", "*.md text eol=crlf\n"])
def test_a_hidden_file_that_is_as_in_head_is_written(
    full: Home, git: Git, add_entry: AddEntry, now: datetime, attributes: str
) -> None:
    with transaction(full, actor="test", message="m", now=now) as edits:
        edits.write(".gitattributes", edits.text(".gitattributes") + attributes)
    git("update-index", "--skip-worktree", MEMORY)
    assert [(file.path, file.differs) for file in hidden_memory(full)] == [(MEMORY, False)]
    add_entry("New")
    assert "New" in git("show", f"HEAD:{MEMORY}")
    assert hidden_memory(full) == []


def test_a_deleted_ledger_comes_back_before_a_write(full: Home, git: Git, now: datetime) -> None:
    (full.root / LEDGER).unlink()
    assert losses.deleted_ledgers(full) == [LEDGER]
    with transaction(full, actor="test", message="m", now=now) as edits:
        edits.append(LEDGER, [{"closing": "2026-11-20#b", "messages": []}])
    assert git("show", f"HEAD:{LEDGER}").count("\n") == 2
    assert losses.deleted_ledgers(full) == []
