"""Test that a passage is found by its address, for those who may read it."""

from __future__ import annotations

from agent_home.home import Home
from recall.index.sync import sync
from recall.search.addressed import passage_at
from recall.settings import RecallSettings

ENTRY = "- **[RC-7F3A]** 2026-11-20 The zeppelin leaves at nine.\n  Origin: user\n"


def test_an_address_gives_its_passage_to_whoever_may_read_it(home: Home) -> None:
    (home.root / "MEMORY.md").write_text(f"# Memory\n\n## Recent Context\n\n{ENTRY}")
    sync(home, RecallSettings(), None)
    found = passage_at(home, "MEMORY.md#RC-7F3A")
    assert found is not None
    assert (found.text, found.layer, found.heading) == (ENTRY.strip(), "memory", "Recent Context")
    assert found.standing is not None
    assert passage_at(home, "MEMORY.md#RC-7F3A", audience="job") == found
    assert passage_at(home, "MEMORY.md#RC-7F3A", audience="group") is None
    assert passage_at(home, "MEMORY.md#RC-0000") is None


def test_without_an_index_there_is_no_passage(home: Home) -> None:
    assert passage_at(home, "MEMORY.md#RC-7F3A") is None
