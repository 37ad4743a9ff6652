"""The difference between two states of a home is told by entries."""

from __future__ import annotations

import pytest

from agent_home.errors import HistoryError
from agent_home.git.entry_diff import compare
from agent_home.git.history import head
from agent_home.home import Home

from ..conftest import AddEntry, Git

ONE, TWO = "- **[KD-0001] 2026-11-20 one** - first\n", "- **[KD-0002] 2026-11-20 two** - second\n"


@pytest.fixture
def commit(home: Home, git: Git) -> str:
    """A commit with two decisions."""
    path = home.root / "MEMORY.md"
    path.write_text(path.read_text().replace("## Key Decisions\n", f"## Key Decisions\n\n{ONE}{TWO}"))
    return committed(home, git)


def committed(home: Home, git: Git) -> str:
    git("add", "--all")
    git("-c", "user.name=a", "-c", "user.email=a@example.com", "commit", "--quiet", "-m", "By hand")
    return head(home.root)


def edit(home: Home, old: str, new: str, file: str = "MEMORY.md") -> None:
    path = home.root / file
    path.parent.mkdir(exist_ok=True)
    text = path.read_text() if path.exists() else ""
    path.write_text(text.replace(old, new) if old else text + new)


def test_nothing_differs_from_itself(home: Home, commit: str) -> None:
    found = compare(home, "HEAD", None)
    assert (found.old, found.new, found.entries, found.files) == (commit, None, (), ())
    assert compare(home, commit, "HEAD").entries == ()


def test_added_changed_and_removed_entries_are_distinguished(home: Home, git: Git, commit: str) -> None:
    edit(home, ONE, ONE.replace("first", "1st"))
    edit(home, TWO, "- **[KD-0003] 2026-11-21 three**\n")
    on_disk = compare(home, "HEAD", None)
    assert [(c.id, c.action, c.section) for c in on_disk.entries] == [
        ("KD-0001", "changed", "Key Decisions"),
        ("KD-0002", "removed", "Key Decisions"),
        ("KD-0003", "added", "Key Decisions"),
    ]
    assert (on_disk.entries[0].before, on_disk.entries[0].after) == (ONE, ONE.replace("first", "1st"))
    assert on_disk.files == ()
    between = compare(home, commit, committed(home, git))
    assert between.entries == on_disk.entries
    assert [change.action for change in compare(home, "HEAD", commit).entries] == ["changed", "added", "removed"]


def test_archiving_and_restoring_an_entry_is_reported(home: Home, git: Git, commit: str) -> None:
    edit(home, TWO, "")
    edit(home, "", f"# Archive\n\n## Key Decisions\n\n{TWO}", "Archive/MEMORY-2026-11.md")
    (change,) = compare(home, "HEAD", None).entries
    assert (change.action, change.path, change.old_path) == ("archived", "Archive/MEMORY-2026-11.md", "MEMORY.md")
    archived = committed(home, git)
    (back,) = compare(home, archived, commit).entries
    assert (back.id, back.action, back.path) == ("KD-0002", "restored", "MEMORY.md")


def test_a_new_section_is_a_move_and_a_new_line_is_not(home: Home, commit: str) -> None:
    edit(home, TWO, "")
    edit(home, ONE, TWO + ONE)
    assert compare(home, "HEAD", None).entries == ()
    edit(home, TWO, "")
    edit(home, "## Recent Context\n", f"## Recent Context\n\n{TWO}")
    (change,) = compare(home, "HEAD", None).entries
    assert (change.action, change.old_section, change.section) == ("moved", "Key Decisions", "Recent Context")


def test_other_files_and_the_text_around_entries_are_named(home: Home, commit: str) -> None:
    edit(home, "", "new\n", "Knowledge/new.md")
    edit(home, "", "more\n", "SOUL.md")
    (home.root / "TOOLS.md").unlink()
    edit(home, "# Memory\n", "# My memory\n")
    (home.root / "outputs/ignored.md").write_text("x")
    assert [(file.path, file.action) for file in compare(home, "HEAD", None).files] == [
        ("Knowledge/new.md", "added"), ("MEMORY.md", "changed"), ("SOUL.md", "changed"), ("TOOLS.md", "removed"),
    ]  # fmt: skip


def test_compared_with_nothing_every_entry_is_added(home: Home, commit: str) -> None:
    found = compare(home, None, "HEAD")
    assert {change.action for change in found.entries} == {"added"}
    assert {file.action for file in found.files} == {"added"}
    assert found.old is None


@pytest.mark.parametrize("revision", ["no-such", "--help", "HEAD~99"])
def test_a_missing_revision_is_an_error(home: Home, add_entry: AddEntry, revision: str) -> None:
    with pytest.raises(HistoryError, match="no revision"):
        compare(home, revision, None)
