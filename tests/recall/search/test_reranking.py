"""Each part of the score changes the order: with weight 0 the order differs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from agent_home.home import Home
from recall.index.sync import SyncReport, sync
from recall.search.hybrid import search
from recall.search.reranking import RankingWeights
from recall.settings import RecallSettings

if TYPE_CHECKING:
    from tests.recall.hashing_embedder import HashingEmbedder

Say = Callable[..., Path]
Write = Callable[[str, str], Path]
Update = Callable[[], SyncReport]
FILLER = ("rain", "wind", "snow", "sun", "fog", "hail", "frost")
NOW = datetime(2026, 11, 21, 9, tzinfo=UTC)


@pytest.fixture
def first(home: Home, update: Update) -> Callable[..., str]:
    """The address of the best hit for a question, by words alone, under settings that are changed by name."""

    def find(query: str, now: datetime | None = None, **changes: float) -> str:
        update()
        weights = replace(RankingWeights(), **changes)  # type: ignore[arg-type]
        hits = search(home, query, settings=RecallSettings(), mode="lexical", now=now, weights=weights).hits
        return hits[0].source if hits else ""

    return find


First = Callable[..., str]


def test_a_turn_of_the_named_speaker_is_preferred(say: Say, first: First) -> None:
    say("a", "I planted tomatoes.", *FILLER, names=("Ben", "Ben"))
    say("b", "I planted tomatoes.", *FILLER, names=("Ada", "Ben"))
    assert first("what has Ada planted?") == "b#m1"
    assert first("what has Ada planted?", speaker_weight=0.0, group_weight=0.0) == "a#m1"


def test_speaking_to_somebody_is_not_speaking_about_oneself(say: Say, first: First) -> None:
    say("a", "I am going to the opera tonight.", "Ada, enjoy the opera!", names=("Ada", "Ben"))
    assert first("where is Ada going, the opera?") == "a#m1"


def test_an_answer_is_found_by_the_words_of_its_question(say: Say, first: First) -> None:
    say("a", *FILLER, "Where do falcons nest?", "Up in the old tower of the church, every spring.")
    say("b", *FILLER, "Falcons are birds of prey.", "Up in the old tower of the church, every spring.")

    def place(**changes: float) -> bool:
        return first("falcons nest tower", **changes) == "a#m9"

    assert place(asked_weight=1.0)
    assert not place(asked_weight=0.0, context_weight=0.0)


def test_words_of_neighbouring_turns_count_within_the_reach(say: Say, first: First) -> None:
    say("a", "falcon", "so", "yes", "the tower is old")
    say("b", "heron", "so", "yes", "the tower is old and high above the town")
    assert first("falcon tower old", length_weight=0.0) == "a#m4"
    assert (
        first("falcon tower old", length_weight=0.0, context_reach=2, group_weight=0.0) != "a#m4"
        or first("falcon tower old high", context_reach=2, group_weight=0.0) == "b#m4"
    )


def test_a_short_turn_comes_after_a_long_one(say: Say, first: First) -> None:
    say("a", "Tomatoes!", *FILLER)
    say("b", "The tomatoes by the south wall want water in the evening, not at noon when the sun burns.", *FILLER)
    assert first("tomatoes", length_weight=2.0) == "b#m1"
    assert first("tomatoes", length_weight=0.0) == "a#m1"


def test_a_question_in_the_first_person_is_about_the_user(say: Say, first: First) -> None:
    say("a", *FILLER, "The budget is nine hundred.", *FILLER, names=("user", "assistant"))
    say("b", *FILLER, "yes", "The budget is nine hundred.", *FILLER[1:], names=("user", "assistant"))
    assert first("what is the budget?") == "a#m8"
    assert first("what is my budget?") == "b#m9"
    assert first("what is my budget?", user_weight=0.0) == "a#m8"
    assert first("what budget did you recommend to me?") == first("你建议我的 budget 是什么?") == "a#m8"


def test_a_named_day_is_evidence(say: Say, write: Write, first: First) -> None:
    write("DailyActivity/2026-03-09.md", "## Review\n\nThe vault was looked at again.\n")
    write("DailyActivity/2026-11-20.md", "## Review\n\nThe vault was looked at again.\n")
    assert first("what about the vault in March 2026?") == "DailyActivity/2026-03-09.md#L3"
    assert first("the vault yesterday", now=NOW) == "DailyActivity/2026-11-20.md#L3"
    assert first("the vault", now=NOW) == "DailyActivity/2026-03-09.md#L3"
    assert first("the vault yesterday", now=NOW, date_weight=0.0) == "DailyActivity/2026-03-09.md#L3"


def test_a_named_day_hides_nothing(write: Write, first: First) -> None:
    write("DailyActivity/2026-03-09.md", "## Review\n\nThe vault was looked at again.\n")
    write("DailyActivity/2026-11-20.md", "## Other\n\nNothing of that kind.\n")
    assert first("what about the vault on 20 November 2026?") == "DailyActivity/2026-03-09.md#L3"


def test_rare_words_count_more_than_common_ones(say: Say, first: First) -> None:
    say("a", *("the report is ready" for _ in range(20)), "the falcon is back")
    assert first("report falcon") == "a#m21"


def test_irregular_forms_count_as_the_word(say: Say, first: First) -> None:
    say("a", "Rome is large.", *FILLER, "We went to Rome in the spring.")
    assert first("when did you go to Rome?") == "a#m9"


def test_a_heading_counts_for_its_section(write: Write, first: First) -> None:
    write("Knowledge/a.md", "# Notes\n\n## Cars\n\nKeep the oil warm.\n")
    write("Knowledge/b.md", "# Notes\n\n## Falcons\n\nKeep the oil warm.\n")
    assert first("falcons oil") == "Knowledge/b.md#L5"


def test_an_archived_passage_is_found_below_a_living_one(write: Write, first: First) -> None:
    entry = "- **[{}] 2026-01-02 Vault** - the vault is opened at nine.\n"
    write("Archive/MEMORY-2026-01.md", "## Lessons Learned\n\n" + entry.format("LL-0001"))
    write("MEMORY.md", "# Memory\n\n## Lessons Learned\n\n" + entry.format("LL-0002"))
    assert first("when is the vault opened?") == "MEMORY.md#LL-0002"
    assert first("when is the vault opened?", archive_weight=1.0) == "Archive/MEMORY-2026-01.md#LL-0001"
    write("MEMORY.md", "# Memory\n\n## Lessons Learned\n\n- **[LL-0002] 2026-01-02 Vault** - it is closed today.\n")
    assert first("when is the vault opened?") == "Archive/MEMORY-2026-01.md#LL-0001"


def test_a_phrase_is_found_word_by_word_in_order(write: Write, first: First) -> None:
    write("Knowledge/a.md", "The row count of max is not what was meant.\n")
    write("Knowledge/b.md", "The field max_row_count is what was meant.\n")
    assert first("max_row_count") == "Knowledge/b.md#L1"


def test_vectors_have_no_weight_in_scripts_that_the_model_does_not_read(
    home: Home, write: Write, embedder: HashingEmbedder
) -> None:
    write("Knowledge/a.md", "輸出の税率が下がり、企業は助かる。\n")
    write("Knowledge/b.md", "税率の表。\n")
    settings = RecallSettings()
    sync(home, settings, embedder)

    def scores(changed: RecallSettings) -> list[float]:
        return [hit.score for hit in search(home, "税率の表", settings=changed, embedder=embedder).hits]

    words = [hit.score for hit in search(home, "税率の表", settings=settings, mode="lexical").hits]
    assert scores(settings)[: len(words)] == words
    assert scores(replace(settings, cjk_vector_weight=1.0))[0] > words[0]


def test_vectors_have_their_weight_in_chinese_unless_a_setting_takes_it(
    home: Home, write: Write, embedder: HashingEmbedder
) -> None:
    write("Knowledge/b.md", "税率表格。\n")
    settings = RecallSettings()
    sync(home, settings, embedder)
    words = search(home, "税率表格", settings=settings, mode="lexical").hits[0].score
    assert search(home, "税率表格", settings=settings, embedder=embedder).hits[0].score > words
    unread = replace(settings, chinese_vector_weight=0.0)
    assert search(home, "税率表格", settings=unread, embedder=embedder).hits[0].score == words


def test_scores_of_different_questions_can_be_compared(home: Home, say: Say, update: Update) -> None:
    say("a", "The falcon nests in the tower.", *FILLER)
    update()

    def best(query: str) -> float:
        return search(home, query, settings=RecallSettings(), mode="lexical").hits[0].parts["lexical"]

    assert best("falcon tower nests") > best("falcon of the rain in a snow of fog and frost")
