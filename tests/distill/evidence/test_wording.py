"""A report's names, numbers, words and Chinese terms are read, and light words are left out."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from distill.evidence.wording import opposites, read_units, stems_of


@pytest.mark.parametrize(
    ("text", "units"),
    [
        ("Pinned typed-ast 1.3.4.", [("word", "pinned"), ("word", "typed-ast"), ("number", "1.3.4")]),
        ("在 src/cli.py 里加了 `run_all`。", [("path", "src/cli.py"), ("symbol", "run_all")]),
        ("The JSONResponse is there now.", [("proper", "JSONResponse")]),
        ("分页器", [("term", "分页器")]),
        ("Committed as 3f9c2e1 on 2026-03-02.", []),
        ("It is done now.", []),
    ],
)
def test_units_are_read_in_order(text: str, units: list[tuple[str, str]]) -> None:
    assert [(unit.kind, unit.text) for unit in read_units(text)] == units


def test_a_chinese_term_has_the_english_words_of_its_concept() -> None:
    (unit,) = read_units("分页器")
    assert stems_of("pager") in unit.mates


def test_opposites_hold_both_ways() -> None:
    assert "option" in opposites()["requir"]
    assert "requir" in opposites()["option"]


@given(st.text(max_size=300))
def test_any_text_is_read_and_units_stand_in_it(text: str) -> None:
    for unit in read_units(text):
        assert 0 <= unit.start < unit.end <= len(text)
