"""Gold counts when its whole text stands in the prompt, and no baseline spends more than its tokens."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from agent_home.tokens import count_tokens
from bench.measure.packing import SourceTurn, pack, share


def turn(content: str, source: str = "s#1") -> SourceTurn:
    return SourceTurn(source=source, ts="2026-05-01T10:00:00", name="Owl", content=content)


def test_a_turn_counts_wherever_its_whole_text_stands() -> None:
    gold = [turn("The lamp\n\nis broken."), turn("The hall is dark.")]
    assert share("- Owl: The lamp\n  is broken.\n", gold) == 0.5
    assert share("The hall is dark. The lamp is broken.", gold) == 1.0
    assert share("The lamp is ...", gold) == 0.0


def test_what_does_not_fit_is_passed_over_and_the_next_is_tried() -> None:
    lines = [("a\n", 5), ("long\n", 50), ("b\n", 4)]
    assert pack(lines, 10) == ("a\nb\n", 9)
    assert pack(lines, 3) == ("", 0)


@given(st.lists(st.text(max_size=60), max_size=12), st.integers(0, 120))
def test_no_more_tokens_are_spent_than_there_are(contents: list[str], budget: int) -> None:
    lines = [(f"- {content}\n", count_tokens(f"- {content}\n")) for content in contents]
    text, spent = pack(lines, budget)
    assert spent <= budget
    assert count_tokens(text) <= spent
