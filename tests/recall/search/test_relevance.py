"""Tests of the floor of relevance: a message without content finds nothing that is worth showing."""

from __future__ import annotations

import pytest

from agent_home.home import Home
from agent_home.store.transcript import Message, append
from recall.index.sync import sync
from recall.search.hybrid import search
from recall.search.relevance import MatchStrength, is_relevant
from recall.settings import RecallSettings


@pytest.fixture
def talkative(home: Home) -> Home:
    """A home with a conversation of 240 turns, a third of which say yes."""
    said = [f"yes, item {n} is fine" if n % 3 else f"the walnut crate {n} went to pier seven" for n in range(239)]
    turns = [*said, "the heron statue stands in the orangery"]
    messages = [Message(session="s", id=f"m{n}", content=text) for n, text in enumerate(turns)]
    append(home, "s", messages, actor="test")
    sync(home, RecallSettings(), None)
    return home


@pytest.mark.parametrize(("query", "relevant"), [("yes", False), ("👍", False), ("where is the heron statue?", True)])
def test_a_message_without_content_is_not_relevant(talkative: Home, query: str, relevant: bool) -> None:
    assert search(talkative, query, settings=RecallSettings(), mode="lexical").relevant is relevant


def test_the_hits_of_a_search_stay(talkative: Home) -> None:
    assert search(talkative, "yes", settings=RecallSettings(), mode="lexical").hits


def test_a_near_vector_or_rare_words_are_enough() -> None:
    assert is_relevant(MatchStrength(information=0.0, cosine=0.5, passages=1000))
    assert is_relevant(MatchStrength(information=3.1, cosine=None, passages=1000))
    assert not is_relevant(MatchStrength(information=3.1, cosine=0.2, passages=1000))


def test_short_words_of_chinese_share_more_by_chance() -> None:
    assert not is_relevant(MatchStrength(information=3.1, cosine=None, passages=1000, cjk=True))
    assert is_relevant(MatchStrength(information=5.0, cosine=None, passages=1000, cjk=True))


@pytest.mark.parametrize(("query", "relevant"), [("收到，谢谢", False), ("锣鼓经常用的节奏型称为什么？", True)])
def test_a_chinese_message_without_content_is_not_relevant(home: Home, query: str, relevant: bool) -> None:
    said = [f"收到，第{n}箱货已经送到码头，谢谢" for n in range(239)]
    turns = [*said, "锣鼓经常用的节奏型称为锣鼓点"]
    messages = [Message(session="s", id=f"m{n}", content=text) for n, text in enumerate(turns)]
    append(home, "s", messages, actor="test")
    sync(home, RecallSettings(), None)
    assert search(home, query, settings=RecallSettings(), mode="lexical").relevant is relevant


def test_a_named_day_has_no_floor_and_a_small_index_a_lower_one() -> None:
    assert is_relevant(MatchStrength(information=0.0, cosine=0.1, passages=1000, dated=True))
    assert is_relevant(MatchStrength(information=0.0, cosine=0.45, passages=99))
    assert not is_relevant(MatchStrength(information=0.0, cosine=0.1, passages=99))
    assert is_relevant(MatchStrength(information=0.0, cosine=None, passages=99))
