"""References to entries and restoration from the archive."""

from __future__ import annotations

import shutil
import subprocess
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import mkdtemp
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agent_home import storage
from agent_home.documents.check import problems
from agent_home.documents.document import parse
from agent_home.errors import NoSuchEntry
from agent_home.git.history import entry_history
from agent_home.home import Home
from agent_home.store import transcript
from agent_home.store.gateway import transaction
from agent_home.store.references import Reference, read
from distill.close import close
from distill.entries.citation import cite, restore
from distill.entries.decay import archive

from ..aged import archived_ids, keep, live_ids

if TYPE_CHECKING:
    from ..conftest import Talk

NOW = datetime(2026, 11, 21, 9, 0, tzinfo=UTC)
OLD = "2026-08-01"


def commits(home: Home) -> int:
    command = ["git", "-C", str(home.root), "rev-list", "--count", "HEAD"]
    return int(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def raw(home: Home, entry_id: str, file: str = "MEMORY.md") -> str:
    entry = parse(storage.read_text(home.root / file)).entry(entry_id)
    assert entry is not None
    return entry.raw


@pytest.fixture
def archived(home: Home) -> Home:
    """A home with LL-0001 in the archive and LL-0002 live."""
    keep(home, "LL-0001", OLD, body="正文 *with* `marks`", fields={"Sources": "a#m1", "Origin": "user"})
    keep(home, "LL-0002", "2026-11-01")
    archive(home, now=NOW, apply=True)
    return home


def test_citation_adds_one_ledger_line_and_one_commit(archived: Home) -> None:
    before = commits(archived)
    cited = cite(archived, ["[ll-0002]"], now=NOW, session="fc-1")
    assert (cited.ids, cited.restored) == (("LL-0002",), ())
    assert commits(archived) == before + 1
    assert list(read(archived)) == [Reference(ts="2026-11-21T09:00:00+00:00", id="LL-0002", by="cite", session="fc-1")]
    assert cite(archived, ["LL-0002"], now=NOW, session="fc-1").commit is None


def test_unknown_id_among_several_notes_none(archived: Home) -> None:
    before = commits(archived)
    with pytest.raises(NoSuchEntry, match="Did you mean"):
        cite(archived, ["LL-0002", "LL-0009"], now=NOW)
    assert (commits(archived), list(read(archived))) == (before, [])


def test_citing_an_archived_entry_restores_it_in_the_same_commit(archived: Home) -> None:
    text = raw(archived, "LL-0001", "Archive/MEMORY-2026-11.md")
    before = commits(archived)
    assert cite(archived, ["LL-0001", "LL-0002"], now=NOW).restored == ("LL-0001",)
    assert commits(archived) == before + 1
    assert raw(archived, "LL-0001") == text
    assert archived_ids(archived) == []
    assert problems(archived) == []
    assert archive(archived, now=NOW + timedelta(days=89)).candidates == ()
    actions = [event.action for event in entry_history(archived.root, "LL-0001")]
    assert actions == ["added", "archived", "restored"]


def test_restoring_is_exact_and_happens_once(archived: Home) -> None:
    text = raw(archived, "LL-0001", "Archive/MEMORY-2026-11.md")
    done = restore(archived, "ll-0001", now=NOW)
    assert (done.id, done.section, done.text) == ("LL-0001", "Lessons Learned", text)
    assert done.commit is not None
    assert raw(archived, "LL-0001") == text
    again = restore(archived, "LL-0001", now=NOW + timedelta(days=1))
    assert (again.commit, again.text) == (None, text)
    assert len(list(read(archived))) == 1
    assert archive(archived, now=NOW).candidates == ()
    with pytest.raises(NoSuchEntry):
        restore(archived, "LL-0009", now=NOW)


def test_restoring_removes_the_copy_of_an_unfinished_move(archived: Home) -> None:
    with transaction(archived, actor="test", message="Copy back", now=NOW) as edits:
        entry = edits.read("Archive/MEMORY-2026-11.md").entry("LL-0001")
        assert entry is not None
        edits.write("MEMORY.md", edits.read("MEMORY.md").with_entry("Lessons Learned", entry))
    assert restore(archived, "LL-0001", now=NOW).commit is not None
    assert (live_ids(archived), archived_ids(archived)) == (["LL-0001", "LL-0002"], [])
    assert list(read(archived)) == []


def close_with(home: Home, talk: Talk, *rows: tuple[str, str], first: int = 1) -> tuple[str, ...]:
    """Append *rows* to session fc-1 and close it. Return the restored ids."""
    transcript.append(home, "fc-1", talk(*rows, first=first), actor="test", now=NOW)
    return close(home, "fc-1", now=NOW).restored


def test_only_ids_quoted_by_the_agent_are_references(archived: Home, talk: Talk) -> None:
    close_with(
        archived, talk, ("user", "What about KD-0000 and LL-0001?"), ("tool", "LL-0001 says so"),
        ("assistant", "As [LL-0002] says, and RC-9999 never was."), ("assistant", "LL-0002 again."),
    )  # fmt: skip
    (reference,) = read(archived)
    assert (reference.id, reference.by, reference.session) == ("LL-0002", "transcript", "fc-1")
    assert datetime.fromisoformat(reference.ts).minute == 4  # the last turn that named it


def test_ids_in_injected_text_are_no_references(archived: Home, talk: Talk) -> None:
    injected = '<agent-home-recall layer="L2">\n- **[LL-0002] 2026-11-01 x**\n</agent-home-recall>'
    close_with(archived, talk, ("assistant", f"{injected}\nNothing to add."))
    assert list(read(archived)) == []


def test_closing_restores_archived_entries_that_the_agent_named(archived: Home, talk: Talk) -> None:
    before = commits(archived)
    assert close_with(archived, talk, ("assistant", "LL-0001 told us so.")) == ("LL-0001",)
    assert commits(archived) == before + 1
    assert live_ids(archived)[0] == "LL-0001"
    assert problems(archived) == []


def test_restating_an_archived_entry_restores_it(home: Home, talk: Talk) -> None:
    lesson = ("user", "Lesson: check the budget in the middle of the quarter.")
    transcript.append(home, "old", talk(lesson, session="old", day=OLD), actor="test", now=NOW)
    (entry,) = close(home, "old", now=NOW).entries
    archive(home, now=NOW, apply=True)
    assert archived_ids(home) == [entry.id]
    assert close_with(home, talk, lesson) == (entry.id,)
    assert (live_ids(home), archived_ids(home)) == ([entry.id], [])
    assert "old#m1, fc-1#m1" in raw(home, entry.id)
    assert [(reference.id, reference.by) for reference in read(home)] == [(entry.id, "pipeline")]


def test_closing_again_notes_no_reference_twice(archived: Home, talk: Talk) -> None:
    close_with(archived, talk, ("assistant", "LL-0002 says so."))
    close_with(archived, talk, ("user", "Good, thank you."), first=2)
    assert len(list(read(archived))) == 1


def test_reference_from_the_future_counts_as_of_now(archived: Home, talk: Talk) -> None:
    transcript.append(
        archived, "f", talk(("assistant", "LL-0002"), session="f", day="2031-01-01"), actor="test", now=NOW
    )
    close(archived, "f", now=NOW)
    (reference,) = read(archived)
    assert datetime.fromisoformat(reference.ts) == NOW


@settings(max_examples=20, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(
    title=st.text(alphabet=st.characters(exclude_categories=["Cs", "Cc", "Zl", "Zp"]), max_size=30),
    detail=st.lists(st.sampled_from(["  more", "  Sources: a#m1", "  更多", "  - nested", "\t`x`"]), max_size=3),
    end=st.sampled_from(["\n", "\r\n"]),
)
def test_any_entry_is_restored_byte_for_byte(home: Home, title: str, detail: list[str], end: str) -> None:
    # Each example has its own copy: a deleted ledger comes back, so references of another example cannot be removed.
    home = Home(Path(shutil.copytree(home.root, Path(mkdtemp(dir=home.root.parent)) / "home", symlinks=True)))
    lines = [f"- **[RC-7F3A] {OLD} {title.replace('*', '') or 'x'}**", *detail]
    text = end.join(lines) + end
    path = home.root / "MEMORY.md"
    path.write_bytes(f"# Memory\n\n## Recent Context\n\n{text}\n## Notes\n".encode())
    found = parse(storage.read_text(path)).entry("RC-7F3A")
    if found is None or problems(home):
        return
    archive(home, now=NOW, apply=True)
    assert live_ids(home) == []
    assert restore(home, "RC-7F3A", now=NOW).text == found.raw
    assert raw(home, "RC-7F3A") == found.raw
