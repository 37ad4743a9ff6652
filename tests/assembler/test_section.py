"""Test that units of a section are kept or dropped whole, with a notice of every cut."""

from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_home.tokens import count_tokens
from assembler.section import Cut, PromptSection, cut_section, defused, make_section, select_units

COUNT = partial(count_tokens, vocabulary="cl100k")


def section(text: str, cut: Cut = "newest-first") -> PromptSection:
    return make_section("NOTES", text, cut, COUNT)


def kept(found: PromptSection) -> list[str]:
    return [unit.text.strip() for unit in found.units if not unit.heading]


def test_a_whole_section_is_the_file() -> None:
    text = "# Title\n\nFirst.\n\n\n## Two\n\n- a\n- b\n\n```\n# no heading\n\n\ncode\n```\n"
    assert section(text).text == text


def test_line_ends_stay_as_they_are() -> None:
    text = "# Title\r\n\r\nFirst.\r\n\r\n- a\r\n- b\r\n"
    assert section(text).text == text


def test_a_file_without_a_title_gets_its_name() -> None:
    assert section("Only prose.\n").text == "# NOTES\n\nOnly prose.\n"
    assert section("## Two\n\nOnly prose").text == "# NOTES\n\n## Two\n\nOnly prose\n"


@pytest.mark.parametrize(
    "text", ["", "\n\n", "# Title\n", "# Title\n\n## Empty\n", "<!-- a\n\nb -->\n", "---\na: 1\n---\n"]
)
def test_a_file_without_content_gives_no_units(text: str) -> None:
    assert section(text).units == ()
    assert section(text).text == ""


def test_comments_front_matter_and_empty_headings_are_left_out() -> None:
    text = "---\na: 1\n---\n# Title\n\n<!-- hidden -->\n\n## Empty\n\n## Full\n\nShown.\n"
    assert section(text).text == "# Title\n\n## Full\n\nShown.\n"


def test_text_between_two_comments_is_no_comment() -> None:
    assert "visible" in section("# T\n\n<!-- a --> visible <!-- b -->\n").text
    assert "hidden" not in section("# T\n\n<!-- hidden --> <!-- too -->\n\nVisible.\n").text


def test_newest_first_keeps_the_top_of_a_text_and_oldest_first_its_end() -> None:
    text = "# T\n\n" + "".join(f"Paragraph {n} {'word ' * 20}\n\n" for n in range(10))
    top = cut_section(section(text, "newest-first"), 120, COUNT, hint="see T")
    end = cut_section(section(text, "oldest-first"), 120, COUNT, hint="see T")
    assert kept(top)[0].startswith("Paragraph 0")
    assert kept(end)[-1].startswith("Paragraph 9")
    assert top.text.endswith(f"\n[{len(top.dropped)} parts cut: see T]\n")
    assert len(top.dropped) + len(kept(top)) == 10


def test_oldest_first_drops_entries_by_date_and_not_by_position() -> None:
    dates = ["2026-01-03", "2026-01-09", "2026-01-01", "2026-01-05"]
    text = "# M\n\n## Key Decisions\n\n" + "".join(
        f"- **[KD-000{n}] {date} Title {n}** - {'word ' * 20}\n" for n, date in enumerate(dates)
    )
    cut = cut_section(section(text, "oldest-first"), 130, COUNT, hint="x")
    assert [unit.date for unit in cut.units if unit.entry_id] == ["2026-01-09", "2026-01-05"]


def test_an_entry_that_does_not_fit_is_skipped_for_a_smaller_one() -> None:
    text = f"# M\n\n- **[KD-0001] 2026-01-03 Giant** - {'word ' * 500}\n- **[KD-0002] 2026-01-02 Small** - fits.\n"
    cut = cut_section(section(text, "oldest-first"), 100, COUNT, hint="x")
    assert [unit.entry_id for unit in cut.units if unit.entry_id] == ["KD-0002"]
    assert [unit.entry_id for unit in cut.dropped] == ["KD-0001"]


def test_a_heading_is_dropped_with_its_last_unit() -> None:
    text = f"# T\n\n## Gone\n\n{'word ' * 300}\n\n## Stays\n\nShort.\n"
    cut = cut_section(section(text), 60, COUNT, hint="x")
    assert "## Gone" not in cut.text
    assert "## Stays" in cut.text


def test_a_long_paragraph_is_cut_between_its_lines_only() -> None:
    lines = [f"Line {n} of a long paragraph that goes on and on without a blank line." for n in range(60)]
    cut = cut_section(section("# T\n\n" + "\n".join(lines) + "\n\n"), 150, COUNT, hint="x")
    assert 3 < len(kept(cut)) < 60
    assert kept(cut) == lines[: len(kept(cut))]


@pytest.mark.parametrize("ending", ["\n", "\r\n", "\r"])
def test_lines_are_parts_with_every_line_ending(ending: str) -> None:
    lines = [f"Line {n} of a long paragraph that goes on and on without a blank line." for n in range(60)]
    whole = section("# T\n\n" + ending.join(lines) + ending * 3)
    assert kept(whole) == lines


def test_code_and_tables_are_never_cut_inside() -> None:
    table = "| a | b |\n| - | - |\n" + "".join(f"| {n} | {'cell ' * 5}|\n" for n in range(60))
    code = "```\n" + "x = 1\n" * 300 + "```\n"
    for block in (table, code):
        cut = cut_section(section(f"# T\n\n{block}\nAfter.\n"), 100, COUNT, hint="x")
        assert kept(cut) == ["After."]


def test_a_section_without_room_for_any_unit_is_a_notice_if_that_fits() -> None:
    whole = section("# T\n\n" + "word " * 300 + "\n")
    assert cut_section(whole, 30, COUNT, hint="see T").text == "[1 parts cut: see T]\n"
    nothing = cut_section(whole, 2, COUNT, hint="see T")
    assert (nothing.text, nothing.tokens, len(nothing.dropped)) == ("", 0, 1)


def test_the_cut_selection_of_a_section_keeps_its_own_headings() -> None:
    text = "# T\n\n## A\n\n- a\n\n## B\n\n" + "".join(f"- b{n} {'word ' * 10}\n" for n in range(9)) + "\n## C\n\n- c\n"
    chosen = select_units(section(text), lambda unit: unit.section in {"B", "C"})
    assert "## A" not in chosen.text
    cut = cut_section(chosen, 60, COUNT, hint="x")
    assert cut.text.startswith("# T\n\n## B\n\n- b0")
    assert cut.tokens <= 60


@pytest.mark.parametrize(
    "text", ["</agent-home>", "<agent-home-recall layer='L3'>", "< / AGENT-HOME >", "<agent-home>"]
)
def test_no_text_can_open_or_close_a_fence(text: str) -> None:
    assert "<" not in defused(text)
    assert defused(text).startswith("‹")
    assert defused("a < b, <b>, <agent>") == "a < b, <b>, <agent>"


blocks = st.sampled_from(
    ["Prose. ", "- item\n", "中文内容。\n\n", "## Head\n\n", "# Top\n", "```\nx\n\n```\n", "\n", "\r\n", "    code\n",
     "- **[KD-7F3A] 2026-01-01 Title** - body\n", "> quote\n", "| a |\n| - |\n| b |\n", "<!-- c -->\n", "* * *\n",
     "word " * 90 + "\n", "Long line\n" * 40, "</agent-home>\n"]
)  # fmt: skip


@given(text=st.lists(blocks, max_size=25).map("".join), tokens=st.integers(0, 600), oldest=st.booleans())
def test_a_cut_stays_in_its_tokens_and_keeps_whole_units_in_file_order(text: str, tokens: int, oldest: bool) -> None:
    whole = section(text, "oldest-first" if oldest else "newest-first")
    cut = cut_section(whole, tokens, COUNT, hint="see NOTES.md")
    assert COUNT(cut.text) <= cut.tokens <= max(tokens, 0)
    texts = [unit.text for unit in whole.units]
    at = -1
    for unit in cut.units:
        at = texts.index(unit.text, at + 1)
    contents = [unit for unit in whole.units if not unit.heading]
    assert len(contents) == len(cut.dropped) + len([unit for unit in cut.units if not unit.heading])
    assert all(cut.units[heading].heading for unit in cut.units for heading in unit.headings)
