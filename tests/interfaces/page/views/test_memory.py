"""Memory is shown by section, newest first, with what became of each entry, now and at any commit."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta

import pytest

from agent_home.git.history import head
from agent_home.home import Home
from interfaces.api import AgentHome
from interfaces.page.views.memory import MemoryView, memory_view

ENTRIES = {
    "Key Decisions": "- **[KD-0001]** 2026-11-01 We keep one ledger.\n  Evidence: verified, commit 3f9c2e1\n",
    "Lessons Learned": "- **[LL-0001]** 2026-11-20 Ship on Tuesdays.\n- **[LL-0002]** 2026-11-10 Test the ledger.\n",
}
Write = Callable[[], Home]


@pytest.fixture
def written(home: Home) -> Home:
    """A home with entries that are not committed yet."""
    path = home.root / "MEMORY.md"
    text = path.read_text("utf-8")
    for title, lines in ENTRIES.items():
        text = text.replace(f"## {title}\n", f"## {title}\n\n{lines}")
    path.write_text(text, "utf-8")
    return home


def ids(view: MemoryView) -> list[str]:
    return [row.id for row in view.rows]


def test_entries_come_newest_first(written: Home, now: datetime) -> None:
    view = memory_view(written, now)
    assert ids(view) == ["LL-0001", "LL-0002", "KD-0001"]
    assert dict(view.sections) == {"Key Decisions": 1, "Lessons Learned": 2}
    assert list(view.sections) == ["Key Decisions", "Lessons Learned"]
    assert (view.total, view.page, view.pages, view.at) == (3, 1, 1, "")


def test_an_entry_has_its_age_and_evidence(written: Home, now: datetime) -> None:
    row = memory_view(written, now).rows[-1]
    assert (row.section, row.text, row.age_days, row.evidence) == (
        "Key Decisions", "We keep one ledger.", 20, "verified",
    )  # fmt: skip


def test_a_section_and_words_choose_entries(written: Home, now: datetime) -> None:
    assert ids(memory_view(written, now, section="Lessons Learned")) == ["LL-0001", "LL-0002"]
    assert ids(memory_view(written, now, words="LEDGER")) == ["LL-0002", "KD-0001"]
    assert ids(memory_view(written, now, words="the ledger")) == ["LL-0002"]
    assert ids(memory_view(written, now, section="none")) == []
    assert dict(memory_view(written, now, section="none").sections) == {"Key Decisions": 1, "Lessons Learned": 2}


def test_pages_have_as_many_rows_as_asked(written: Home, now: datetime) -> None:
    views = [memory_view(written, now, page=page, most=2) for page in (-3, 1, 2, 99)]
    assert [ids(view) for view in views] == [["LL-0001", "LL-0002"]] * 2 + [["KD-0001"]] * 2
    assert [(view.page, view.pages) for view in views] == [(1, 2), (1, 2), (2, 2), (2, 2)]


def test_references_are_counted_and_the_newest_is_the_last_use(written: Home, now: datetime) -> None:
    AgentHome(written).cite("KD-0001", now=now - timedelta(days=2))
    AgentHome(written).cite("KD-0001", now=now)
    rows = {row.id: (row.references, row.last_use) for row in memory_view(written, now).rows}
    assert (rows["KD-0001"], rows["LL-0001"]) == ((2, "2026-11-21"), (0, ""))


def test_a_commit_shows_what_was_then(home: Home, now: datetime) -> None:
    api = AgentHome(home)
    api.remember("The first fact is green.", now=now)
    then = head(home.root)
    api.remember("The second fact is blue.", now=now)
    view = memory_view(home, now, at=then[:12])
    assert [row.text for row in view.rows] == ["The first fact is green."]
    assert view.at == then
    then_day = datetime.fromisoformat(view.when).date()
    assert [row.age_days for row in view.rows] == [max(0, (then_day - now.date()).days)]
    assert not view.is_older
    assert memory_view(home, now, at="2001-01-01").is_older
    assert len(memory_view(home, now).rows) == 2


def test_an_entry_without_a_day_has_no_age(home: Home, now: datetime) -> None:
    path = home.root / "MEMORY.md"
    path.write_text(
        path.read_text().replace("## Key Decisions\n", "## Key Decisions\n\n- **[KD-0002]** 2026-99-99 X.\n")
    )
    assert [row.age_days for row in memory_view(home, now).rows] in ([None], [])
