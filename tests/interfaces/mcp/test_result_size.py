"""Test that long results are cut between entries and lose nothing."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from interfaces.mcp.result_size import fit_rows, json_tokens, text_parts

ENTRY = "- **[KD-7F3A]** 2026-11-20 Ship the index with its own SQLite.\n"


@settings(max_examples=60)
@given(st.text(max_size=400), st.integers(1, 60))
def test_parts_join_to_the_text(text: str, most_tokens: int) -> None:
    assert "".join(text_parts(text, most_tokens)) == text


def test_a_part_ends_between_entries() -> None:
    parts = text_parts(ENTRY * 50, 200)
    assert len(parts) > 1
    assert all(part.startswith("- **[") and part.endswith("\n") for part in parts)
    assert all(json_tokens(part) <= 220 for part in parts)


def test_a_line_without_a_border_is_cut_all_the_same() -> None:
    parts = text_parts("x" * 50_000, 500)
    assert len(parts) > 1
    assert max(map(json_tokens, parts)) <= 520


def test_an_empty_text_is_one_part() -> None:
    assert text_parts("") == [""]


def test_rows_are_kept_from_the_first_on() -> None:
    rows = [{"text": ENTRY, "at": number} for number in range(50)]
    answer = {"hits": rows, "ms": 1}
    kept = fit_rows(answer, "hits", 500)
    assert 0 < len(kept["hits"]) < 50
    assert kept["hits"] == rows[: len(kept["hits"])]
    assert json_tokens(kept) <= 500
    assert fit_rows(answer, "hits", 100_000) == answer


def test_a_single_row_that_is_too_long_keeps_its_beginning() -> None:
    kept = fit_rows({"hits": [{"text": ENTRY * 100}, {"text": "next"}]}, "hits", 300)
    (row,) = kept["hits"]
    assert row["text"].startswith(ENTRY)
    assert row["text"].endswith("\n[the rest is left out]")
    assert json_tokens(kept) <= 300
