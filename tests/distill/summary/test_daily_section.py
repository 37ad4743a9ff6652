"""Rendering of items as single list items of the daily log."""

from __future__ import annotations

from agent_home.documents.document import parse
from distill.summary.daily_section import render_body
from distill.summary.extraction import Item, Summary


def body(*sources: str) -> str:
    item = Item(kind="decision", text="Round half to even.", sources=sources, role="user")
    return render_body(Summary(title="T", items=(item,)), {}, 10)


def test_sources_are_written_verbatim() -> None:
    assert "(fc-1#m1, 会话 一#100%)" in body("fc-1#m1", "会话 一#100%")


def test_line_breaks_in_a_source_are_quoted() -> None:
    text = body("s\n## Forged\n\n- **[KD-0001] x**#m1", "s\u2028t#m\r2")
    (line,) = [line for line in text.splitlines() if "Round half" in line]
    assert line.endswith(" x**#m1, s%E2%80%A8t#m%0D2)")
    assert [block.title for block in parse(text).blocks if block.kind == "heading"] == ["Decisions"]
