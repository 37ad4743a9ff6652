"""Parsing loses no byte, and an edit changes only the blocks that it names."""

from __future__ import annotations

import re

import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from agent_home.creation import template_files
from agent_home.documents import document
from agent_home.documents.document import Document, parse
from agent_home.documents.entry import SECTIONS, Entry, SectionRule
from tests.strategies import documents, entries, markdown_texts, memories, wild_texts

HARD = (
    "", "\n", "\r", "\r\n", "\n\r", "a\rb\r\nc\n", "\ufeff# Memory\n", "a\x0cb\n",
    "a\u2028b\n# no heading\u2028# nor this\n", "\x00\n",
    "```\nnever closed\n# no heading\n", "~~~\n```\n~~~\n", "- a\n  - b\n    - c\n\n  d\n", "1. a\n2. b\n",
    "| a |\n|---|\n| b |\n",
    "---\nname: x\n---\n# H\n", "---\n\n# H\n\n---\n", "---\nnever closed\n", "Title\n=====\n\nSub\n---\n",
    "[a]: /x\n[b]: /y\ntext\n",
    "> - **[KD-7F3A] T**\n", "- \n-\n- x\n", "<!-- a\n\nb -->\n", "<div>\n\n</div>\n", "text\n- item\nlazy\n",
    "    code\n\n\n    code\n",
    "-\t- x\n\t\ty\n", "#\n##\n## ##\n", "\u3000\n\u3000x\n", "* a\n+ b\n- c\n", "a  \nb\\\nc", "- a\n\n\n\n- b\n\n\n",
)  # fmt: skip


def other_blocks(document: Document, *ids: str) -> list[str]:
    """Return the texts of all blocks except blank ones and the entries *ids*, without line ends."""
    return [b.raw.rstrip("\r\n") for b in document.blocks if b.kind != "blank" and not (b.entry and b.entry.id in ids)]


@pytest.mark.parametrize("text", HARD)
def test_a_hard_text_renders_byte_for_byte(text: str) -> None:
    assert parse(text).render() == text


@pytest.mark.parametrize(("path", "text"), [pair for pair in template_files() if pair[0].endswith(".md")])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_every_template_file_renders_byte_for_byte(path: str, text: str, end: str) -> None:
    text = text.replace("\n", end)
    document = parse(text)
    assert document.render() == text
    assert document.with_blocks(document.blocks) == document


_LINES_OF_ENTRIES = st.lists(
    st.sampled_from(
        (
            "- **[KD-7F3A] 2026-11-20 Use apsw** - it loads.", "- **[KD-7F3A]** 2026-11-20 Use a | b",
            "- **[x] no entry",
            "  Evidence: verified · Origin: user", "   more of it", "  a | b", "  | - |", "  --- | ---", "  ---",
            "  ===",
            "  - nested", "  1. nested", "  # heading", "  > quoted", "  ```", "  <b>", "      deep", "lazy", "", "  ",
            "\t", "\u3000", "  é", "  Zürich", "  [a]: /x", "## Heading", "- plain", "* * *", "\x00",
            "  a\x0cb", "  ~~~",
        )
    ),
    max_size=7,
)  # fmt: skip


@given(_LINES_OF_ENTRIES, st.sampled_from(("\n", "\r\n", "\r")), st.booleans())
@settings(max_examples=200)
def test_the_quick_way_to_read_an_entry_finds_what_the_parser_finds(lines: list[str], end: str, ended: bool) -> None:
    text = end.join(["- **[KD-7F3A] 2026-11-20 Use apsw** - it loads.", *lines]) + (end if ended else "")
    quick = document._part_blocks.__wrapped__(text)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(document, "_PLAIN_ENTRY", re.compile(r"(?!)"))
        assert quick == document._part_blocks.__wrapped__(text)


@given(wild_texts())
def test_any_text_renders_byte_for_byte(text: str) -> None:
    assert parse(text).render() == text


@given(markdown_texts())
def test_any_mixture_of_markdown_renders_byte_for_byte(text: str) -> None:
    document = parse(text)
    assert document.render() == text
    for entry in document.entries():
        assert entry.render() in text


@given(markdown_texts())
def test_blocks_are_whole_lines_with_their_line_numbers(text: str) -> None:
    at = 1
    blocks = parse(text).blocks
    for number, block in enumerate(blocks):
        assert block.line == at
        assert block.raw
        assert number == len(blocks) - 1 or block.raw.endswith(("\n", "\r"))
        at += block.raw.replace("\r\n", "\n").replace("\r", "\n").count("\n")


@pytest.mark.parametrize("text", HARD)
def test_a_hard_text_has_the_same_blocks_when_it_is_parsed_in_parts(text: str) -> None:
    assert parse(text) == _parsed_as_one(text)
    assert parse(f"# One\n{text}\n- **[KD-7F3A] T**\n{text}") == _parsed_as_one(
        f"# One\n{text}\n- **[KD-7F3A] T**\n{text}"
    )


@given(markdown_texts())
@example("[a]:\n- **[KD-7F3A] T**\n")
@example("- a\n- **[KD-7F3A] T** | b\n|---|---|\n")
@example("- x\n\n    - **[KD-7F3A] T**\n\n- **[KD-7F3B] T**\n\n\n## H\n\n    code\n")
def test_a_text_has_the_same_blocks_when_it_is_parsed_in_parts(text: str) -> None:
    assert parse(text) == _parsed_as_one(text)


@given(documents())
def test_a_document_has_the_same_blocks_when_it_is_parsed_in_parts(document_and_rule: tuple[str, SectionRule]) -> None:
    assert parse(document_and_rule[0]) == _parsed_as_one(document_and_rule[0])


def _parsed_as_one(text: str) -> Document:
    """Parse *text* without dividing it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(document, "_FENCE_OR_HTML", re.compile(""))
        return document.parse.__wrapped__(text)


@given(memories())
def test_every_entry_of_a_memory_is_parsed(text: str) -> None:
    document = parse(text)
    assert [section.title for section in document.sections()] == [rule.title for rule in SECTIONS]
    assert sum(len(document.section_entries(rule.title)) for rule in SECTIONS) == text.count("\n- **[")
    for rule in SECTIONS:
        assert all(entry.prefix == rule.prefix for entry in document.section_entries(rule.title))


@given(documents(), entries())
def test_an_added_entry_is_first_in_its_section_and_nothing_else_changes(
    document_and_rule: tuple[str, SectionRule], entry: Entry
) -> None:
    text, rule = document_and_rule
    document = parse(text)
    assume(document.section(rule.title) is not None and document.entry(entry.id) is None)
    had_entries = bool(document.section_entries(rule.title))
    added = document.with_entry(rule.title, entry)
    assert added == parse(added.render())
    assert other_blocks(added, entry.id) == other_blocks(document)
    assert added.section_entries(rule.title)[0].render() == entry.render()
    if had_entries:  # an empty section gains one blank line on each side of its first entry
        assert added.without_entry(entry.id).render() == text


@given(markdown_texts(), entries())
def test_a_missing_section_is_added_at_the_end(text: str, entry: Entry) -> None:
    document = parse(text)
    assume(document.section("Brand New") is None)
    assume(parse(text + "\n\n# probe\n").blocks[-1].kind == "heading")  # no block at the end contains added text
    added = document.with_entry("Brand New", entry)
    assert added.render().startswith(text)
    assert [found.render() for found in added.section_entries("Brand New")] == [entry.render()]
    assert other_blocks(added, entry.id)[:-1] == other_blocks(document, entry.id)


@given(documents(), entries())
def test_a_changed_entry_changes_only_its_own_block(
    document_and_rule: tuple[str, SectionRule], replacement: Entry
) -> None:
    document = parse(document_and_rule[0])
    found = list(document.entries())
    assume(found)
    old = found[len(found) // 2]
    assume([entry.id for entry in found].count(old.id) == 1)
    changed = document.with_entry_changed(replacement.changed(id=old.id))
    assert other_blocks(changed, old.id) == other_blocks(document, old.id)
    assert changed.entry(old.id).render() == replacement.changed(id=old.id).render()  # type: ignore[union-attr]
    assert changed == parse(changed.render())


@given(documents())
def test_removing_an_entry_removes_nothing_else(document_and_rule: tuple[str, SectionRule]) -> None:
    document = parse(document_and_rule[0])
    ids = [entry.id for entry in document.entries()]
    assume(ids)
    gone = ids[len(ids) // 2]
    assume(ids.count(gone) == 1)
    rest = document.without_entry(gone)
    assert rest.entry(gone) is None
    assert other_blocks(rest) == other_blocks(document, gone)


@given(markdown_texts())
def test_text_is_added_at_the_end_and_nothing_else_changes(text: str) -> None:
    added = parse(text).with_text_at_end("## New section\n\nwords\n")
    assert added.render().startswith(text)
    assert added.render().endswith("## New section\n\nwords\n")
    if parse(text + "\n\n# probe\n").blocks[-1].kind == "heading":
        assert added.section("New section") is not None
        assert other_blocks(added)[:-2] == other_blocks(parse(text))


@example("- a\n- **[KD-7F3A] T**\n\n      deep\n")
@example("- **[KD-7F3A]**\n\u3000")
@example("- x\n\n  ```\n  y\n  ```\ntext after a closed fence is no part of the item\n")
@given(markdown_texts())
def test_editing_never_joins_two_blocks(text: str) -> None:
    document = parse(text)
    for entry_id in {entry.id for entry in document.entries()}:
        count = sum(entry.id == entry_id for entry in document.entries())
        assert len(other_blocks(document.without_entry(entry_id))) == len(other_blocks(document)) - 1
        assert sum(entry.id == entry_id for entry in document.without_entry(entry_id).entries()) == count - 1


def test_headings_in_code_comments_and_quotes_are_ignored() -> None:
    text = "## A\n\n```\n## B\n```\n\n<!--\n## C\n-->\n\n> ## D\n\n    ## E\n"
    assert [section.title for section in parse(text).sections()] == ["A"]


def test_a_section_ends_at_the_next_heading_of_its_level_or_above() -> None:
    document = parse("## A\n\ntext\n\n### inner\n\n## B\n\n# C\n\n## D\n")
    spans = [
        (s.title, s.line, document.blocks[s.end].title if s.end < len(document.blocks) else "")
        for s in document.sections()
    ]
    assert spans == [("A", 1, "B"), ("B", 7, "C"), ("D", 11, "")]


def test_sections_are_found_in_any_case_and_in_both_heading_styles() -> None:
    document = parse("KEY decisions\n---\n\n- **[KD-7F3A] T**\n\n##   open THREADS ##\n")
    assert document.section("Key Decisions") is not None
    assert document.section("Open Threads") is not None
    assert [entry.id for entry in document.section_entries("key decisions")] == ["KD-7F3A"]


def test_a_thematic_break_on_the_first_line_hides_no_section() -> None:
    document = parse("---\n\n## Key Decisions\n\n- **[KD-7F3A] T**\n\n---\n")
    assert document.entry("KD-7F3A") is not None
    assert parse("---\n## Key Decisions\n- **[KD-7F3A] T**\n---\n").entry("KD-7F3A") is not None


@pytest.mark.parametrize("space", ["\u3000", "\x0c", "\xa0"])
def test_a_line_of_any_white_space_is_blank_wherever_it_stands(space: str) -> None:
    for text in (space, f"{space}\n\nwords\n", f"words\n\n{space}\n\nwords\n", f"- item\n{space}"):
        assert {block.kind for block in parse(text).blocks if not block.raw.strip()} == {"blank"}


def test_front_matter_is_one_block() -> None:
    blocks = parse("---\ntitle: x\n# a comment\n---\n# H\n").blocks
    assert [(block.kind, block.line) for block in blocks] == [("front", 1), ("heading", 5)]


def test_an_entry_keeps_its_detail_and_a_lazy_continuation_line() -> None:
    document = parse("## K\n\n- **[KD-7F3A] T** - b\n  detail\nlazy line\n\n  second paragraph\n- **[KD-7F3B] U**\n")
    assert [entry.id for entry in document.entries()] == ["KD-7F3A", "KD-7F3B"]
    assert document.entry("KD-7F3A").detail == "detail\nlazy line\nsecond paragraph"  # type: ignore[union-attr]


def test_editing_an_unknown_entry_raises_a_key_error() -> None:
    document = parse("## K\n")
    with pytest.raises(KeyError):
        document.without_entry("KD-7F3A")
    with pytest.raises(KeyError):
        document.with_entry_changed(Entry(id="KD-7F3A", title="T"))


@given(st.lists(entries(), min_size=1, max_size=5, unique_by=lambda entry: entry.id))
def test_added_entries_are_newest_first(found: list[Entry]) -> None:
    document = parse("# Memory\n\n## Notes\n\n## Other\n")
    for entry in found:
        document = document.with_entry("Notes", entry)
    assert [entry.id for entry in document.section_entries("Notes")] == [entry.id for entry in reversed(found)]
    assert document.section_entries("Other") == []


@given(
    documents() | markdown_texts().map(lambda text: (text, SECTIONS[0])),
    st.lists(st.tuples(st.sampled_from([*(rule.title for rule in SECTIONS[:3]), "Brand New"]), entries()), max_size=6),
    entries(),
)
def test_one_edit_of_many_entries_equals_many_edits(
    document_and_rule: tuple[str, SectionRule], added: list[tuple[str, Entry]], replacement: Entry
) -> None:
    document = parse(document_and_rule[0])
    changed = [replacement.changed(id=entry.id) for entry in document.entries()][:3]
    expected = document
    for entry in changed:
        expected = expected.with_entry_changed(entry)
    for title, entry in added:
        expected = expected.with_entry(title, entry)
    assert document.with_entries(added, changed) == expected


def test_one_edit_of_an_unknown_entry_raises_a_key_error() -> None:
    with pytest.raises(KeyError):
        parse("## K\n").with_entries([], [Entry(id="KD-7F3A", title="T")])


@given(documents().map(lambda made: made[0]) | memories(), st.integers(0, 255))
def test_one_removal_of_many_entries_equals_many_removals(text: str, chosen: int) -> None:
    document = parse(text)
    ids = {entry.id for place, entry in enumerate(document.entries()) if chosen >> place % 8 & 1}
    left = document.without_entries(ids)
    assert [e.raw.rstrip() for e in left.entries()] == [e.raw.rstrip() for e in document.entries() if e.id not in ids]
    others = [block.raw for block in document.blocks if block.entry is None and block.kind != "blank"]
    assert [block.raw for block in left.blocks if block.entry is None and block.kind != "blank"] == others
