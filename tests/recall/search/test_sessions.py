"""Conversations are ranked as wholes: by their best turns, by who speaks in them, and by their age."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import pytest

from recall.index.sync import SyncReport
from recall.search.hybrid import SearchResult
from recall.search.sessions import rank_sessions

Say = Callable[..., Path]


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    source: str
    score: float
    layer: str = "sessions"
    ts: str = "2026-11-20T10:00:00"

    @property
    def path(self) -> str:
        return self.source.partition("#")[0]


def order(*hits: Found, speakers: dict[str, str] | None = None, moment: str = "") -> list[str]:
    best_first = sorted(hits, key=lambda hit: -hit.score)
    ranked = rank_sessions(best_first, speakers or {}, datetime.fromisoformat(moment) if moment else None)
    return [hit.source for hit, _score in ranked]


def test_a_session_is_one_hit_with_its_best_passage() -> None:
    assert order(Found(source="a#1", score=0.4), Found(source="a#2", score=0.9), Found(source="b#1", score=0.7)) == [
        "a#2",
        "b#1",
    ]


def test_several_good_passages_outweigh_a_slightly_better_one() -> None:
    many = [Found(source=f"many#{n}", score=0.98) for n in range(3)]
    assert order(Found(source="one#1", score=1.0), *many)[0] == "many#0"


def test_a_much_better_passage_outweighs_any_number() -> None:
    many = [Found(source=f"many#{n}", score=0.6) for n in range(30)]
    assert order(Found(source="one#1", score=1.0), *many)[0] == "one#1"


def test_the_people_of_the_leading_sessions_stand_higher() -> None:
    hits = [Found(source=f"{name}#1", score=score) for name, score in (("a", 1.0), ("b", 0.8), ("c", 0.75))]
    assert order(*hits) == ["a#1", "b#1", "c#1"]
    assert order(*hits, speakers={"a": "Ada", "b": "Ben", "c": "Ada"}) == ["a#1", "c#1", "b#1"]


def test_a_recent_session_stands_higher() -> None:
    old, recent = Found(source="old#1", score=0.8, ts="2026-05-01T10:00:00"), Found(source="recent#1", score=0.75)
    assert order(old, recent) == ["old#1", "recent#1"]
    assert order(old, recent, moment="2026-11-21T10:00:00") == ["recent#1", "old#1"]


def test_the_conversation_that_is_going_on_stands_last() -> None:
    now, before = Found(source="now#1", score=1.0), Found(source="before#1", score=0.3, ts="2026-11-19T10:00:00")
    assert order(now, before, moment="2026-11-20T10:01:00") == ["before#1", "now#1"]


@pytest.mark.parametrize("moment", ["2026-11-21T10:00:00", "2026-11-21T10:00:00+08:00"])
@pytest.mark.parametrize("ts", ["", "yesterday", "2026-11-20T10:00:00", "2026-11-20T10:00:00Z"])
def test_any_time_can_be_ranked(ts: str, moment: str) -> None:
    assert order(Found(source="a#1", score=1.0, ts=ts), moment=moment) == ["a#1"]


def test_nothing_found_gives_no_sessions() -> None:
    assert order() == []


def test_a_search_by_session_names_each_conversation_once(
    say: Say, update: Callable[[], SyncReport], ask: Callable[..., SearchResult]
) -> None:
    say("busy", *["falcon falcon falcon"] * 40)
    say("quiet", "a falcon among many other words that nobody asked for", "and an answer")
    update()
    assert [hit.session for hit in ask("falcon", k=5, unit="session").hits] == ["busy", "quiet"]
    assert len(ask("falcon", k=1, unit="session").hits) == 1


def test_a_search_by_session_prefers_the_same_people(
    say: Say, update: Callable[[], SyncReport], ask: Callable[..., SearchResult]
) -> None:
    say("first", "the red falcon nests in the old tower", names=("Ada", "Cleo"))
    say("other", "the falcon nests somewhere near", names=("Bob", "Dan"))
    say("second", "the falcon flew away in the morning", names=("Ada", "Cleo"))
    update()
    found = [hit.session for hit in ask("red falcon tower", unit="session", mode="lexical").hits]
    assert found[0] == "first"
    assert found.index("second") < found.index("other")
