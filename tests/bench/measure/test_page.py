"""Tables come out as they are meant, and only what stands between the markers of a page is replaced."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench.measure.page import aligned, markdown, put, stamp

PAGE = "before\n<!-- one: begin -->\nold\n<!-- one: end -->\nbetween\n<!-- two: begin -->\n<!-- two: end -->\nafter\n"


def test_a_markdown_table_has_a_rule_with_the_sides() -> None:
    assert markdown(["a", "b"], [["1", "2"]], align="lr") == "| a | b |\n|---|---:|\n| 1 | 2 |"


def test_columns_stand_under_each_other_in_a_terminal() -> None:
    assert aligned(["", "n"], [["short", "1"], ["longer one", "1000"]]) == (
        "               n\nshort          1\nlonger one  1000"
    )


def test_only_what_stands_between_the_markers_is_replaced(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(PAGE, "utf-8")
    put(page, {"one": "new", "two": "| x |"})
    assert page.read_text("utf-8") == (
        "before\n<!-- one: begin -->\nnew\n<!-- one: end -->\nbetween\n"
        "<!-- two: begin -->\n| x |\n<!-- two: end -->\nafter\n"
    )


def test_a_page_without_the_markers_is_left_as_it_is(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(PAGE, "utf-8")
    with pytest.raises(SystemExit, match=r"page\.md has no <!-- three: begin -->"):
        put(page, {"one": "new", "three": "lost"})
    assert page.read_text("utf-8") == PAGE


def test_a_run_is_named_by_its_command() -> None:
    assert "`python -m bench.x`" in stamp("python -m bench.x")
