"""An accepted text is inserted at its place, and nothing else moves."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_home.documents.document import parse
from agent_home.documents.placement import as_entry, insert_text, replace_placeholder

PLACEHOLDER = "[quarantined q-1: injection/x]"
ENTRY = "- **[KD-7F3A] 2026-11-20 Use apsw**\n"


@pytest.mark.parametrize(
    ("before", "text", "after"),
    [
        (f"# A\n\n> {PLACEHOLDER}\n\nEnd.\n", "Text.", "# A\n\nText.\n\nEnd.\n"),
        (f"- one\n- {PLACEHOLDER}\n- two\n", "- text\n", "- one\n- text\n- two\n"),
        (f"# {PLACEHOLDER}\n\nEnd.\n", "Two\nlines", "# Two lines\n\nEnd.\n"),
        ("# A\n\n## S\n\nOld.\n\n\n## T\n", "New.\n", "# A\n\n## S\n\nOld.\n\nNew.\n\n\n\n## T\n"),
        ("# A\n\n## S\n", "New.", "# A\n\n## S\n\nNew.\n"),
        ("# A\n\n## S", "New.", "# A\n\n## S\n\nNew.\n"),
        ("# A\n", "New.", "# A\n\nNew.\n"),
        ("", "New.", "New.\n"),
    ],
)
def test_text_replaces_its_placeholder_or_ends_the_section_or_file(before: str, text: str, after: str) -> None:
    found = insert_text(parse(before), text, section="S", placeholder=PLACEHOLDER).render()
    assert [line for line in found.splitlines() if line] == [line for line in after.splitlines() if line]
    assert parse(found).render() == found


def test_an_entry_becomes_the_first_of_its_section() -> None:
    document = parse("# M\n\n## Key Decisions\n\n- **[KD-0001] old**\n\n## Recent Context\n")
    assert [e.id for e in insert_text(document, ENTRY).section_entries("Key Decisions")] == ["KD-7F3A", "KD-0001"]
    assert insert_text(document, ENTRY, section="Recent Context").section_entries("Recent Context")[0].id == "KD-7F3A"


def test_only_a_single_entry_is_parsed_as_one() -> None:
    assert as_entry(f"\n{ENTRY}\n") is not None
    assert as_entry(ENTRY + ENTRY.replace("7F3A", "0000")) is None
    assert as_entry(f"Text.\n\n{ENTRY}") is None
    assert as_entry("") is None


def test_replacing_a_placeholder_by_nothing_removes_its_block() -> None:
    assert replace_placeholder(parse(f"A.\n\n- {PLACEHOLDER}\n- b\n"), PLACEHOLDER, "").render() == "A.\n\n- b\n"


words = st.text(alphabet="ab 文.", min_size=1, max_size=12).filter(str.strip).map(str.strip)


@given(
    paragraphs=st.lists(words, max_size=6),
    text=words.map("new ".__add__),
    section=st.sampled_from(["S", "T", "missing", ""]),
)
def test_existing_blocks_keep_their_order(paragraphs: list[str], text: str, section: str) -> None:
    half = len(paragraphs) // 2
    parts = ["# A", "## S", *paragraphs[:half], "## T", *paragraphs[half:]]
    before = "\n\n".join(parts) + "\n"
    after = insert_text(parse(before), text, section=section).render()
    lines = [line for line in after.splitlines() if line]
    lines.remove(text)
    assert lines == [line for line in before.splitlines() if line]
