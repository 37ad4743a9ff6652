"""Gold counts when all of it stands in the prompt, and raw search spends no more tokens than the prompt may."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from bench.prompt_gold import DEFAULT, GoldShares, conversations, main, make_home, measure_gold, pooled


@pytest.fixture
def shares(data: Path, tmp_path: Path, embedder: Any) -> dict[int, GoldShares]:
    (conversation,) = conversations(data / "locomo")[:1]
    home = make_home(tmp_path / "home", conversation, embedder)
    assert make_home(tmp_path / "home", conversation, embedder).root == home.root
    return measure_gold(home, conversation, embedder, budgets=(2000, DEFAULT))


def test_short_conversations_stand_in_the_prompt_as_a_whole(shares: dict[int, GoldShares]) -> None:
    assert [one.n for one in shares.values()] == [2, 2]
    assert all(one.prompt == one.raw_whole == 1.0 for one in shares.values())
    assert all(0 < one.recalled < one.tokens <= 50_000 for one in shares.values())
    assert shares[2000].gap == 0.0


def test_conversations_are_split_and_questions_without_gold_in_them_left_out(data: Path) -> None:
    every = conversations(data / "locomo")
    halves = [conversations(data / "locomo", half=half) for half in ("choose", "confirm")]
    assert [c.name for half in halves for c in half] == [c.name for c in every] == ["a", "b"]
    assert [len(c.questions) for c in every] == [2, 1]


def test_several_conversations_are_pooled_by_question(shares: dict[int, GoldShares]) -> None:
    one = shares[2000]
    none = GoldShares(n=6, prompt=0.0, raw=1.0, raw_whole=1.0, tokens=0.0, recalled=0.0, ms=0.0)
    assert pooled([{2000: one}, {2000: none}])[2000].prompt == 0.25
    assert pooled([]) == {}


def test_an_absent_set_is_left_out(tmp_path: Path) -> None:
    assert main(["--data", str(tmp_path), "--sets", "locomo"]) == 1
