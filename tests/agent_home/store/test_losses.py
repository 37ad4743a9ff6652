"""Large losses of entries by an edit by hand are brought back and wait for a person."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

import pytest

from agent_home.creation import create
from agent_home.documents.entry import Entry
from agent_home.errors import Changed, DocumentInvalid
from agent_home.home import MEMORY, Home
from agent_home.store import losses
from agent_home.store.gateway import transaction

from ..conftest import AddEntry, Git, titles

EVERY = [f"Fact {number}" for number in range(12)]
ARCHIVED = "Archive/2026-10.md"


@pytest.fixture
def full(home: Home, now: datetime) -> Home:
    """A home with twelve committed entries in MEMORY.md and two in the archive."""
    with transaction(home, actor="test", message="m", now=now) as edits:
        memory = edits.read(MEMORY)
        for number, title in enumerate(EVERY):
            entry = Entry(id=f"KD-{number:04d}", date="2026-11-01", title=title)
            memory = memory.with_entry("Key Decisions", entry)
        edits.write(MEMORY, memory)
        edits.write(ARCHIVED, "## Archived\n\n- **[LL-0001]** 2026-10-01 Old\n- **[LL-0002]** 2026-10-01 Older\n")
    return home


def lines_without(text: str, *, keep: int) -> str:
    """Return *text* without all but *keep* of its entries, as a stale buffer saves it."""
    at = [line for line in text.splitlines(keepends=True) if line.startswith("- **[KD-")]
    dropped = set(at[keep:])
    return "".join(line for line in text.splitlines(keepends=True) if line not in dropped)


def save(home: Home, change: Callable[[str], str], path: str = MEMORY) -> str:
    text = change((home.root / path).read_text())
    (home.root / path).write_text(text)
    return text


@pytest.mark.parametrize(
    "lose",
    [
        lambda file: file.unlink(),
        lambda file: file.write_text("\n \n"),
        lambda file: file.write_text(lines_without(file.read_text(), keep=7)),
    ],
    ids=["deleted", "blank", "stale buffer"],
)
def test_a_large_loss_is_not_committed_and_waits(
    full: Home, git: Git, add_entry: AddEntry, lose: Callable[[Path], None]
) -> None:
    lose(full.root / MEMORY)
    add_entry("New")
    assert sorted(titles(full.root)) == sorted([*EVERY, "New"])
    assert git("status", "--porcelain") == ""
    assert git("log", "-p", "--format=", "--", MEMORY).count("\n-- **[KD-") == 0
    (loss,) = losses.waiting(full)
    assert (loss.path, loss.had) == (MEMORY, 12)
    assert len(loss.entries) in {5, 12}
    assert (full.machine / "recovered" / loss.version).exists() == bool(loss.version) or loss.gone
    add_entry("Newer")
    assert [item.id for item in losses.waiting(full)] == [loss.id]


def test_what_the_person_added_and_changed_stays(full: Home, git: Git, add_entry: AddEntry) -> None:
    edited = save(
        full,
        lambda text: (
            lines_without(text, keep=6).replace("Fact 0", "Fact nought") + "\nA line of my own.\n"
        ),
    )  # fmt: skip
    kept = next(title for title in EVERY if title in edited)
    save(full, lambda text: text.replace(kept, f"{kept}, reworded"))
    version = (full.root / MEMORY).read_text()
    add_entry("New")
    text = (full.root / MEMORY).read_text()
    assert "A line of my own." in text
    assert f"{kept}, reworded" in text
    assert len(titles(full.root)) == 13
    (loss,) = losses.waiting(full)
    assert (full.machine / "recovered" / loss.version).read_text() == version
    assert git("log", "-1", "--skip=1", "--format=%(trailers:key=Actor,valueonly)").strip() == "by hand"


def test_a_small_deletion_is_committed_as_ever(full: Home, add_entry: AddEntry) -> None:
    save(full, lambda text: lines_without(text, keep=8))
    add_entry("New")
    assert len(titles(full.root)) == 9
    assert losses.waiting(full) == []


def test_five_entries_of_many_are_a_small_deletion(full: Home, now: datetime, add_entry: AddEntry) -> None:
    with transaction(full, actor="test", message="m", now=now) as edits:
        more = [("Lessons Learned", Entry(id=f"LL-1{n:03d}", date="2026-11-01", title=f"L {n}")) for n in range(14)]
        edits.write(MEMORY, edits.read(MEMORY).with_entries(more))
    save(full, lambda text: lines_without(text, keep=7))
    add_entry("New")
    assert len(titles(full.root)) == 22
    assert losses.waiting(full) == []


def test_entries_moved_to_another_file_are_no_loss(full: Home, add_entry: AddEntry) -> None:
    text = (full.root / MEMORY).read_text()
    moved = [line for line in text.splitlines(keepends=True) if line.startswith("- **[KD-")][4:]
    save(full, lambda text: lines_without(text, keep=4))
    save(full, lambda text: text + "".join(moved), ARCHIVED)
    add_entry("New")
    assert len(titles(full.root)) == 5
    assert losses.waiting(full) == []


def test_a_committed_loss_is_the_persons_decision(full: Home, git: Git, add_entry: AddEntry) -> None:
    save(full, lambda _: "")
    git("-c", "user.name=p", "-c", "user.email=p@example.org", "commit", "-qam", "start afresh")
    add_entry("New")
    assert titles(full.root) == ["New"]
    assert losses.waiting(full) == []


def test_a_deleted_archive_and_a_missing_memory_come_back_at_init(full: Home, now: datetime) -> None:
    (full.root / MEMORY).unlink()
    shutil.rmtree(full.root / "Archive")
    create(full.root, now=now)
    assert sorted(titles(full.root)) == sorted(EVERY)
    assert titles(full.root, ARCHIVED) == ["Old", "Older"]
    assert {loss.path for loss in losses.waiting(full)} == {MEMORY, ARCHIVED}


def test_a_restore_killed_after_its_record_goes_on(
    full: Home, add_entry: AddEntry, monkeypatch: pytest.MonkeyPatch
) -> None:
    save(full, lambda text: lines_without(text, keep=2))
    with monkeypatch.context() as patch:
        patch.setattr(losses, "_log", None)  # the file is in place, and the write dies
        with pytest.raises(AttributeError):
            add_entry("New")
    (loss,) = losses.waiting(full)
    save(full, lambda text: lines_without(text, keep=2))
    add_entry("New")
    assert len(titles(full.root)) == 13
    assert [item.id for item in losses.waiting(full)] == [loss.id]


def test_a_loss_that_comes_up_during_the_write_stops_it(full: Home, git: Git, now: datetime) -> None:
    head = git("rev-parse", "HEAD")
    with pytest.raises(Changed), transaction(full, actor="test", message="m", now=now) as edits:  # noqa: PT012
        save(full, lambda text: lines_without(text, keep=2))
        edits.write(MEMORY, edits.text(MEMORY) + "\nmore\n")
    assert git("rev-parse", "HEAD") == head


def test_a_loss_below_an_unclosed_block_stops_the_write(full: Home, add_entry: AddEntry) -> None:
    committed = (full.root / MEMORY).read_text()
    present = save(full, lambda text: "```\n" + lines_without(text, keep=2))
    with pytest.raises(DocumentInvalid, match="unclosed-fence"):
        add_entry("New")
    with pytest.raises(DocumentInvalid, match=r"10 of 12 entries are gone .*git checkout HEAD -- MEMORY.md"):
        losses.refuse_loss(full, MEMORY, committed, present)
    save(full, lambda text: text.removeprefix("```\n"))
    add_entry("New")
    assert len(titles(full.root)) == 13


def test_entries_below_an_unclosed_block_are_not_lost(full: Home, add_entry: AddEntry) -> None:
    save(full, lambda text: "<!--\n" + text)
    assert not losses.pending(full)


def test_nothing_is_brought_back_on_another_branch(full: Home, git: Git) -> None:
    git("switch", "-q", "-c", "other")
    (full.root / MEMORY).unlink()
    assert not losses.pending(full)


def test_conflict_markers_are_never_committed(full: Home, git: Git, now: datetime, add_entry: AddEntry) -> None:
    marker = "<<<<<<< HEAD\n"
    before = save(full, lambda text: f"{text}\n{marker}")
    head, line = git("rev-parse", "HEAD"), len(before.splitlines())
    with pytest.raises(DocumentInvalid, match=f"MEMORY.md:{line}: conflict marker .*git checkout HEAD -- MEMORY.md"):
        add_entry("New")
    assert git("rev-parse", "HEAD") == head
    with transaction(full, actor="test", message="m", now=now) as edits:
        edits.write("Knowledge/a.md", "fine\n")
    assert edits.outcome.commit
    assert (full.root / MEMORY).read_text() == before
    save(full, lambda text: text.replace(f"\n{marker}", ""))
    add_entry("New")
    assert len(titles(full.root)) == 13


def test_a_prompt_check_names_an_absent_memory(full: Home) -> None:
    assert losses.absent_memory(full) == ""
    save(full, lambda _: "")
    assert losses.absent_memory(full) == (
        "MEMORY.md is empty, and git has 12 entries of it. `memory review` brings them back"
    )
    (full.root / MEMORY).unlink()
    assert "is missing" in losses.absent_memory(full)


@pytest.mark.parametrize("edited", [False, True])
@pytest.mark.parametrize("kept", ["\n", "\r\n"])
def test_a_stale_buffer_drops_no_later_entry_at_any_size(
    full: Home, git: Git, add_entry: AddEntry, *, edited: bool, kept: str
) -> None:
    stale = (full.root / MEMORY).read_text()
    for title in ("Later", "Latest"):
        add_entry(title)
    mine = stale.replace("Fact 3", "Fact three") + "\nMine.\n" if edited else stale
    (full.root / MEMORY).write_text(mine, newline=kept)
    ((named,), _) = losses.uncommitted(full)
    assert "MEMORY.md was saved from an older version, and 2 of its 14 entries are gone" in named
    add_entry("New")
    wanted = ["Fact three" if edited and title == "Fact 3" else title for title in EVERY]
    assert sorted(titles(full.root)) == sorted([*wanted, "Later", "Latest", "New"])
    assert ("Mine." in git("show", f"HEAD:{MEMORY}")) == edited
    (loss,) = losses.waiting(full)
    assert len(loss.entries) == 2
    assert loss.reason.startswith("MEMORY.md was saved from an older version")


def test_a_stale_buffer_takes_back_no_change_and_restores_nothing_that_left(
    full: Home, now: datetime, add_entry: AddEntry
) -> None:
    stale = (full.root / MEMORY).read_text()
    with transaction(full, actor="test", message="m", now=now) as edits:
        memory = edits.read(MEMORY)
        entry = next(entry for entry in memory.entries() if entry.title == "Fact 5")
        edits.write(ARCHIVED, edits.text(ARCHIVED) + entry.raw)
        other = next(entry for entry in memory.entries() if entry.title == "Fact 6")
        memory = memory.without_entry(entry.id).with_entry_changed(other.changed(title="Fact six"))
        edits.write(MEMORY, memory)
    add_entry("Later")
    (full.root / MEMORY).write_text(stale)
    add_entry("New")
    wanted = ["Fact six" if title == "Fact 6" else title for title in EVERY if title != "Fact 5"]
    assert sorted(titles(full.root)) == sorted([*wanted, "Later", "New"])


def test_an_entry_that_is_deleted_while_later_ones_stay_is_not_asked_about(full: Home, add_entry: AddEntry) -> None:
    for title in ("Later", "Latest"):
        add_entry(title)
    save(full, lambda text: "".join(line for line in text.splitlines(keepends=True) if " Later" not in line))
    assert not losses.pending(full)
    add_entry("New")
    assert sorted(titles(full.root)) == sorted([*EVERY, "Latest", "New"])


def test_an_older_version_with_a_later_change_is_a_deletion_that_is_meant(
    full: Home, now: datetime, add_entry: AddEntry
) -> None:
    add_entry("Later")
    with transaction(full, actor="test", message="m", now=now) as edits:
        edits.write(MEMORY, edits.text(MEMORY).replace("Fact 3", "Fact three"))
    save(full, lambda text: "".join(line for line in text.splitlines(keepends=True) if " Later" not in line))
    add_entry("New")
    assert "Later" not in titles(full.root)
