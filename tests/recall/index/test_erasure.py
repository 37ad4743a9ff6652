"""Tests of erasure: a text that the files lost is in no row, page or log of the index."""

from __future__ import annotations

import pytest

from agent_home.forgetting.redaction_target import RedactionTarget
from agent_home.forgetting.text_matcher import Phrase
from agent_home.home import Home
from recall.index.erasure import erase, occurrences
from recall.index.sqlite import schema
from recall.index.sync import sync
from recall.index.verify import verify
from recall.settings import RecallSettings

HERON = RedactionTarget((Phrase("blue heron"),))


def write(home: Home, text: str) -> None:
    (home.root / "Knowledge").mkdir(exist_ok=True)
    (home.root / "Knowledge/k.md").write_text(text)


@pytest.fixture
def indexed(home: Home) -> Home:
    """A home whose index says it."""
    body = "".join(f"\n\nParagraph {number} on budgets, {'words ' * 60}" for number in range(60))
    write(home, f"# Birds\n\nThe Blue Heron is the word.{body}\n")
    sync(home, RecallSettings(), None)
    return home


def test_rows_and_bytes_with_the_text_are_named(indexed: Home) -> None:
    found = list(occurrences(indexed, HERON))
    assert {file for file, _ in found} >= {".memory/index.db"}
    assert [what for _, what in found if what.startswith("Knowledge/k.md")] != []
    assert "deleted rows still in the database file" in {what for _, what in found}
    assert list(occurrences(indexed, RedactionTarget((Phrase("grey goose"),)))) == []


def test_erasure_leaves_no_row_page_or_log_with_the_text(indexed: Home) -> None:
    write(indexed, "# Birds\n")
    assert [what for _, what in occurrences(indexed, HERON)] != []
    assert erase(indexed, RecallSettings()) == []
    assert list(occurrences(indexed, HERON)) == []
    assert [path for path in indexed.index.parent.glob("index.db*") if b"heron" in path.read_bytes().lower()] == []
    assert verify(indexed, RecallSettings()).ok


def test_erasure_deletes_files_set_aside(indexed: Home) -> None:
    aside = indexed.index.with_name("index.db.corrupt-1")
    aside.write_bytes(b"\0Blue Heron\0")
    building = indexed.index.with_name("index.db.building")
    building.write_bytes(b"\0Blue Heron\0")
    erase(indexed, RecallSettings())
    assert not aside.exists()
    assert not building.exists()


def test_a_home_without_an_index_gets_none(home: Home) -> None:
    assert erase(home, RecallSettings()) == []
    assert not home.index.exists()
    assert list(occurrences(home, HERON)) == []


def test_a_reader_that_keeps_the_log_is_reported(indexed: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(schema, "BUSY_TIMEOUT_MS", 50)
    write(indexed, "# Birds\n")
    reader = schema.open_reader(indexed.index)
    assert reader is not None
    reader.execute("BEGIN")
    reader.execute("SELECT count(*) FROM passages").fetchall()
    (note,) = erase(indexed, RecallSettings())
    assert "another process reads the index" in note
    assert [what for _, what in occurrences(indexed, HERON)] != []
    reader.close()
    assert erase(indexed, RecallSettings()) == []
    assert list(occurrences(indexed, HERON)) == []
