"""A merge of two memory files loses nothing, repeats nothing and has no conflict markers."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_home.documents.check import text_problems
from agent_home.documents.document import Document, parse
from agent_home.documents.document_merge import merge_texts
from agent_home.documents.entry import Entry, section_of
from agent_home.documents.entry_merge import conflicting_id, merged_entry
from agent_home.errors import DocumentInvalid
from tests.strategies import memories

MEMORY = """\
# Memory

Distilled from closed sessions.

## Standing Preferences

## Key Decisions

- **[KD-0001] 2026-11-01 Ship on Monday** - the team agreed.
  Sources: a#m1
- **[KD-0002] 2026-10-01 Use apsw**
  Sources: b#m1

## Lessons Learned
"""


def entry(text: str, entry_id: str) -> Entry:
    found = parse(text).entry(entry_id)
    assert found is not None, (entry_id, text)
    return found


def ids(text: str) -> list[str]:
    return [one.id for one in parse(text).entries()]


def added(text: str, entry_id: str, title: str, **fields: str) -> str:
    rule = section_of(entry_id[:2])
    assert rule is not None
    new = Entry(id=entry_id, date="2026-11-20", title=title, fields=fields)
    return parse(text).with_entry(rule.title, new).render()


def test_additions_of_both_sides_appear_once_with_the_newest_on_top() -> None:
    ours, theirs = added(MEMORY, "KD-0003", "Ours"), added(MEMORY, "KD-0004", "Theirs")
    ours, theirs = added(ours, "LL-0001", "Alike"), added(theirs, "LL-0001", "Alike")
    merged = merge_texts(MEMORY, ours, theirs, "MEMORY.md")
    assert ids(merged.text) == ["KD-0003", "KD-0004", "KD-0001", "KD-0002", "LL-0001"]
    assert merged.flagged == ()
    assert text_problems("MEMORY.md", merged.text) == []
    assert [section.title for section in parse(merged.text).sections()] == [
        "Standing Preferences", "Key Decisions", "Lessons Learned",
    ]  # fmt: skip


def test_a_removed_entry_is_gone_unless_the_other_side_changed_it() -> None:
    ours = parse(MEMORY).without_entries({"KD-0001", "KD-0002"}).render()
    theirs = MEMORY.replace("Sources: b#m1", "Sources: b#m1, c#m2")
    assert ids(merge_texts(MEMORY, ours, theirs, "MEMORY.md").text) == ["KD-0002"]
    assert ids(merge_texts(MEMORY, theirs, ours, "MEMORY.md").text) == ["KD-0002"]


def test_compatible_changes_of_one_entry_are_merged() -> None:
    ours = MEMORY.replace("Sources: a#m1", "Sources: a#m1, c#m9\n  Superseded-By: KD-0003")
    theirs = MEMORY.replace("Sources: a#m1", "Evidence: verified, commit 3f9c2e1\n  Sources: a#m1, d#m4")
    merged = merge_texts(MEMORY, ours, theirs, "MEMORY.md")
    assert dict(entry(merged.text, "KD-0001").fields) == {
        "Sources": "a#m1, c#m9, d#m4", "Superseded-By": "KD-0003", "Evidence": "verified, commit 3f9c2e1",
    }  # fmt: skip
    assert merged.flagged == ()
    assert len(ids(merged.text)) == 2


def test_an_entry_superseded_on_both_sides_names_both_newer_entries() -> None:
    ours = added(MEMORY.replace("Sources: b#m1", "Superseded-By: KD-0007"), "KD-0007", "Tuesday", Supersedes="KD-0002")
    theirs = added(MEMORY.replace("Sources: b#m1", "Superseded-By: KD-0008"), "KD-0008", "Friday", Supersedes="KD-0002")
    merged = merge_texts(MEMORY, ours, theirs, "MEMORY.md").text
    assert entry(merged, "KD-0002").fields["Superseded-By"] == "KD-0007, KD-0008"
    assert {"KD-0007", "KD-0008"} <= set(ids(merged))


def test_the_more_careful_evidence_and_the_less_trusted_origin_stay() -> None:
    base = Entry(id="RC-0001", title="done", fields={"Evidence": "unverified", "Origin": "user"})
    one = base.changed(fields={"Evidence": "verified, commit 3f9c2e1", "Origin": "agent"})
    other = base.changed(fields={"Evidence": "stale, was verified", "Origin": "tool"})
    merged = merged_entry(base, one, other)
    assert merged is not None
    assert dict(merged.fields) == {"Evidence": "stale, was verified", "Origin": "tool"}


def test_an_entry_worded_differently_is_kept_twice_and_flagged() -> None:
    ours = MEMORY.replace("Ship on Monday", "Ship on Tuesday")
    theirs = MEMORY.replace("Ship on Monday", "Ship on Friday")
    merged = merge_texts(MEMORY, ours, theirs, "MEMORY.md")
    (flagged,) = merged.flagged
    assert entry(merged.text, "KD-0001").title == "Ship on Tuesday"
    assert entry(merged.text, flagged).title == "Ship on Friday"
    assert conflicting_id(entry(merged.text, flagged)) == "KD-0001"
    assert text_problems("MEMORY.md", merged.text) == []
    for side in (ours, theirs):
        assert merge_texts(MEMORY, merged.text, side, "MEMORY.md").text == merged.text
    assert sorted(merge_texts(MEMORY, theirs, ours, "MEMORY.md").text) == sorted(merged.text)


def test_text_around_entries_and_new_sections_are_kept() -> None:
    ours = MEMORY.replace("Distilled from closed sessions.", "Distilled by hand.") + "\n## Ours\n\n- item\n"
    theirs = MEMORY + "\n## Theirs\n\nA paragraph.\n"
    text = merge_texts(MEMORY, ours, theirs, "MEMORY.md").text
    assert "Distilled by hand." in text
    assert "Distilled from closed" not in text
    assert "\n## Ours\n\n- item\n" in text
    assert text.endswith("\n## Theirs\n\nA paragraph.\n") or "\n## Theirs\n\nA paragraph.\n\n" in text


def test_a_removed_section_stays_when_the_other_side_added_to_it() -> None:
    ours = MEMORY.replace("\n## Lessons Learned\n", "")
    text = merge_texts(MEMORY, ours, added(MEMORY, "LL-0001", "New"), "MEMORY.md").text
    assert [one.id for one in parse(text).section_entries("Lessons Learned")] == ["LL-0001"]


def test_daily_logs_are_merged_by_section() -> None:
    first = "# 2026-11-20\n\n## 09:00 One (s-000001)\n\nSession: `a` messages 1-2, bytes 0-9\n\n- said\n"
    ours = first + "\n## 10:00 Two (s-000002)\n\nSession: `b` messages 1-2, bytes 0-9\n"
    theirs = first + "\n## 11:00 Three (s-000003)\n\nSession: `c` messages 1-2, bytes 0-9\n"
    path = "DailyActivity/2026-11-20.md"
    text = merge_texts(first, ours, theirs, path).text
    assert re.findall(r"\((s-\d+)\)", text) == ["s-000001", "s-000002", "s-000003"]
    assert merge_texts("", ours, theirs, path).text == text  # both machines created the file
    assert merge_texts(first, text, theirs, path).text == text


def test_a_session_closed_to_different_ends_is_kept_twice_and_flagged() -> None:
    head = "# 2026-11-20\n\n## 09:00 One (s-000001)\n\nSession: `a` messages 1-2, bytes 0-"
    path = "DailyActivity/2026-11-20.md"
    merged = merge_texts("", f"{head}9\n", f"{head}20\n", path)
    assert merged.flagged == ("s-000001",)
    assert (merged.text.count("bytes 0-9"), merged.text.count("bytes 0-20")) == (1, 1)
    assert "One, other version (s-000001)" in merged.text
    for side in (f"{head}9\n", f"{head}20\n"):
        assert merge_texts("", merged.text, side, path).text == merged.text


@pytest.mark.parametrize("broken", ["```\nnever closed\n", "<<<<<<< HEAD\n", "<!-- open\n"])
def test_a_file_with_a_broken_structure_is_not_merged(broken: str) -> None:
    ours = MEMORY.replace("## Key Decisions", f"{broken}\n## Key Decisions")
    with pytest.raises(DocumentInvalid, match="cannot be merged"):
        merge_texts(MEMORY, ours, added(MEMORY, "KD-0003", "New"), "MEMORY.md")


@st.composite
def versions(draw: st.DrawFn) -> tuple[str, str, str]:
    """Draw a memory and two edits of it with added, removed and changed entries."""
    base = draw(memories())
    return base, _edited(draw, base, "ours"), _edited(draw, base, "theirs")


def _edited(draw: st.DrawFn, text: str, side: str) -> str:
    document: Document = parse(text)
    there = ids(text)
    for entry_id in draw(st.lists(st.sampled_from(there), unique=True, max_size=4)) if there else ():
        how = draw(st.sampled_from(("out", "title", "sources", "alike")))
        one = document.entry(entry_id)
        assert one is not None
        if how == "out":
            document = document.without_entry(entry_id)
        elif how == "sources":
            document = document.with_entry_changed(one.changed(fields={**one.fields, "Sources": f"{side}#m1"}))
        else:
            word = side if how == "title" else "both"
            document = document.with_entry_changed(one.changed(title=f"{one.title} {word}"))
    for number in range(draw(st.integers(0, 3))):
        new = draw(st.sampled_from(("SP", "KD", "LL", "RC")))
        document = parse(
            added(document.render(), f"{new}-{side[:1].upper().replace('O', '0')}AA{number}", f"by {side}")
        )
    return document.render()


def facts(text: str) -> list[str]:
    """Return the contents of all entries, sorted and without the ids of conflicting versions."""
    return sorted(re.sub(r"\[[A-Z]{2}-.{4}\]", "", one.render()) for one in parse(text).entries())


@given(versions())
def test_a_merge_is_symmetric_and_idempotent(
    chosen: tuple[str, str, str],
) -> None:
    base, ours, theirs = chosen
    merged = merge_texts(base, ours, theirs, "MEMORY.md").text
    assert text_problems("MEMORY.md", merged) == []
    before = {one.id: one for one in parse(base).entries()}
    left, right = ({one.id: one for one in parse(text).entries()} for text in (ours, theirs))
    said = {one.title for one in parse(merged).entries()}
    for mine, yours in ((left, right), (right, left)):
        for entry_id, one in mine.items():
            gone = entry_id in before and entry_id not in yours and before[entry_id].raw == one.raw
            changed_there = entry_id in before and entry_id in yours and one.raw == before[entry_id].raw
            assert gone or changed_there or one.title in said or one.title == before[entry_id].title
    assert set(ids(merged)) >= (set(left) & set(right)) | (set(left) | set(right)) - set(before)
    assert facts(merge_texts(base, theirs, ours, "MEMORY.md").text) == facts(merged)
    for side in (base, ours, theirs, merged):
        assert merge_texts(base, merged, side, "MEMORY.md").text == merged


@pytest.mark.parametrize("path", ["KNOWLEDGE.md", "PROJECTS.md", "Projects/one/IMPROVEMENT.md"])
def test_lists_are_merged_item_by_item(path: str) -> None:
    base = "# Title\n\n## What worked\n\n- first\n- second\n"
    ours, theirs = base.replace("- second\n", "- second\n- ours\n"), base.replace("- first\n", "- first\n- theirs\n")
    merged = merge_texts(base, ours, theirs, path)
    assert merged.text == "# Title\n\n## What worked\n\n- first\n- theirs\n- second\n- ours\n"
    assert merge_texts(base, ours.replace("- first\n", ""), theirs, path).text.count("- ") == 3


def test_a_correction_counted_on_both_machines_has_the_days_of_both() -> None:
    base = Entry(id="CR-0001", title="Sort by risk.", detail="Wrong: by size\nOccurrences: 1 (2026-11-01)")
    one = base.changed(detail="Wrong: by size\nOccurrences: 2 (2026-11-01, 2026-11-05)")
    other = base.changed(detail="Wrong: by size\nOccurrences: 2 (2026-11-01, 2026-11-09)")
    merged = merged_entry(base, one, other)
    assert merged is not None
    assert merged.detail == "Wrong: by size\nOccurrences: 3 (2026-11-01, 2026-11-05, 2026-11-09)"
    assert merged_entry(base, merged, other) == merged


def test_an_entry_of_the_earlier_form_merges_with_its_new_form() -> None:
    raw = (
        "- **[KD-0001] 2026-11-01 Ship on Monday with the new parser,** - because the team agreed.\n"
        "  Sources: a#m1\n  Origin: user\n"
    )
    base = entry(f"## Key Decisions\n\n{raw}", "KD-0001")
    ours = base.changed(fields={**base.fields, "State": "resolved"})
    theirs = base.changed(fields={**base.fields, "Sources": "a#m1, b#m2"})
    merged = merged_entry(base, ours, theirs)
    assert merged is not None
    assert merged.render() == (
        "- **[KD-0001]** 2026-11-01 Ship on Monday with the new parser, because the team agreed.\n"
        "  Sources: a#m1, b#m2 · Origin: user · State: resolved\n"
    )
    assert merged_entry(base, theirs, ours) == merged
    assert merged_entry(base, base, ours) == ours
