"""Questions and their answers: what is found, for whom, in which order, and what happens when a part fails."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from agent_home.audience import Audience
from agent_home.home import Home
from recall.index.passage import LAYERS
from recall.index.sync import SyncReport
from recall.search import hybrid
from recall.search.hybrid import DUPLICATES, MAX_HITS, MODES, SearchResult, search
from recall.search.reranking import RankingWeights
from recall.settings import RecallSettings

if TYPE_CHECKING:
    from tests.recall.hashing_embedder import HashingEmbedder, Vectors

Update = Callable[[], SyncReport]
Say = Callable[..., Path]
Write = Callable[[str, str], Path]
Ask = Callable[..., SearchResult]
Sources = Callable[..., list[str]]

MEMORY = """\
# Memory

## Key Decisions

- **[KD-7F3A] 2026-11-20 Ship the index with its own SQLite** - stock builds cannot load extensions.
  Evidence: verified, commit 3f9c2e1d
"""


@pytest.fixture
def library(home: Home, say: Say, write: Write, update: Update) -> Home:
    """A home with something in every layer."""
    say("forecast", "昨天的预测缺口结论是什么?", "缺口主要来自三个推迟的项目", names=("Ada", "agent"))
    say("garden", "I planted tomatoes yesterday", "How are the tomatoes?", "They grow in max_row_count rows")
    write("MEMORY.md", MEMORY)
    write("Archive/MEMORY-2026-01.md", "## Lessons Learned\n\n- **[LL-0001] 2026-01-02 Backups** - test the restore.\n")
    write("Knowledge/ops/backup.md", "# Backup\n\nThe vault is written at two in the morning.\n")
    write("Projects/apollo/TECH.md", "# Tech\n\nApollo runs src/engine/core.py on version 1.24.3.\n")
    write("DailyActivity/2026-11-20.md", "# 2026-11-20\n\n## 14:05 Review (s-1a2b)\n\nThe vault was reviewed.\n")
    write("outputs/out-42.txt", "raw figures of the vault\n")
    update()
    return home


@pytest.mark.usefixtures("library")
class TestFinding:
    @pytest.mark.parametrize(
        ("query", "source"),
        [
            ("when is the vault written in the morning?", "Knowledge/ops/backup.md#L3"),
            ("why do we ship our own SQLite?", "MEMORY.md#KD-7F3A"),
            ("KD-7F3A", "MEMORY.md#KD-7F3A"),
            ("what was decided in commit 3f9c2e1?", "MEMORY.md#KD-7F3A"),
            ("restoring backups, what did we learn", "Archive/MEMORY-2026-01.md#LL-0001"),
            ("src/engine/core.py", "Projects/apollo/TECH.md#L3"),
            ("1.24.3", "Projects/apollo/TECH.md#L3"),
            ("apollo engine", "Projects/apollo/TECH.md#L3"),
            ("max_row_count", "garden#m3"),
            ("what did Ada plant?", "garden#m1"),
            ("缺口来自哪几个项目?", "forecast#m2"),
            ("推迟", "forecast#m2"),
            ("raw figures", "out-42#1"),
            ("review at 14:05", "DailyActivity/2026-11-20.md#L5"),
        ],
    )
    @pytest.mark.parametrize("mode", ["lexical", "hybrid"])
    def test_a_natural_question_finds_its_passage_first(
        self, sources: Sources, query: str, source: str, mode: str
    ) -> None:
        assert sources(query, mode=mode)[0] == source

    def test_layers_narrow_both_retrievers(self, ask: Ask) -> None:
        for mode in MODES:
            for layer in ("knowledge", "daily", "outputs"):
                hits = ask("the vault", mode=mode, layers=[layer]).hits
                assert {hit.layer for hit in hits} == {layer}

    def test_a_hit_has_its_place_time_and_speaker(self, ask: Ask) -> None:
        hit = ask("planted tomatoes").hits[0]
        assert (hit.source, hit.layer, hit.session, hit.name) == ("garden#m1", "sessions", "garden", "Ada")
        assert (hit.ts, hit.text) == ("2026-11-20T10:01:00", "I planted tomatoes yesterday")
        assert hit.path == "sessions/2026/11/garden.jsonl"
        assert hit.parts["lexical"] > 0.5

    def test_addresses_sessions_and_files_can_be_left_out(self, sources: Sources) -> None:
        assert "garden#m1" in sources("tomatoes")
        assert "garden#m1" not in sources("tomatoes", exclude=["garden#m1"])
        assert not [s for s in sources("tomatoes vault", exclude=["garden"]) if s.startswith("garden#")]
        assert "Knowledge/ops/backup.md#L3" not in sources("vault", exclude=["Knowledge/ops/backup.md"])

    def test_unknown_words_find_nothing_lexically(self, ask: Ask) -> None:
        assert ask("zyzzyva", mode="lexical").hits == ()

    def test_unknown_modes_and_layers_are_refused(self, ask: Ask) -> None:
        with pytest.raises(ValueError, match="mode is 'fuzzy'"):
            ask("x", mode="fuzzy")
        with pytest.raises(ValueError, match="unknown layer 'mail'"):
            ask("x", layers=["mail"])
        with pytest.raises(ValueError, match="k is -1"):
            ask("x", k=-1)


class TestAudience:
    @pytest.mark.parametrize("audience", [str(name) for name in Audience])
    @pytest.mark.parametrize("mode", MODES)
    def test_only_readable_files_are_found(self, library: Home, ask: Ask, audience: str, mode: str) -> None:
        hits = ask("vault tomatoes 缺口 backups sqlite apollo figures", audience=audience, mode=mode, k=100).hits
        assert hits
        assert all(library.may_read(hit.path, audience) for hit in hits)

    @pytest.mark.parametrize("layer", LAYERS)
    def test_each_layer_in_each_mode_shows_only_readable_files(self, library: Home, ask: Ask, layer: str) -> None:
        question = "vault tomatoes 缺口 backups sqlite apollo figures"
        for mode, duplicates in itertools.product(MODES, DUPLICATES):
            paths = {
                audience: {hit.source: hit.path for hit in ask(
                    question, layers=[layer], mode=mode, audience=str(audience), duplicates=duplicates
                ).hits}
                for audience in Audience
            }  # fmt: skip
            everything = paths.pop(Audience.owner)
            assert everything
            for audience, found in paths.items():
                assert found == {s: path for s, path in everything.items() if library.may_read(path, audience)}

    def test_an_unreadable_duplicate_is_not_named(self, say: Say, write: Write, update: Update, ask: Ask) -> None:
        text = "the vault of the old mill is opened every morning at nine"
        say("private", text)
        write("Knowledge/mill.md", f"{text}\n")
        update()
        for mode in MODES:
            (hit,) = ask("vault of the mill", mode=mode, audience="group", duplicates="collapse").hits
            assert (hit.source, hit.also) == ("Knowledge/mill.md#L1", ())
            assert ask("vault of the mill", mode=mode, duplicates="collapse").hits[0].also == ("private#m1",)

    def test_a_group_sees_knowledge_and_no_conversation(self, library: Home, ask: Ask) -> None:
        for mode in MODES:
            hits = ask("vault tomatoes backups", audience="group", mode=mode, k=100).hits
            assert {hit.layer for hit in hits} == {"knowledge"}

    def test_an_unknown_audience_sees_nothing(self, library: Home, ask: Ask) -> None:
        for mode in MODES:
            assert ask("vault tomatoes", audience="world", mode=mode).hits == ()

    def test_readable_hits_are_not_crowded_out(
        self, home: Home, say: Say, write: Write, update: Update, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Write hundreds of better private hits before the one that the group may read."""
        for number in range(20):
            say(f"s{number}", *["vault vault vault"] * 30)
        write("Knowledge/a.md", "somewhere in a longer text the vault is named once\n")
        update()
        monkeypatch.setattr(hybrid, "CANDIDATES", 20)
        found = search(home, "vault", settings=RecallSettings(), mode="lexical", audience="group")
        assert [hit.source for hit in found.hits] == ["Knowledge/a.md#L1"]


class TestBounds:
    def test_hits_are_bounded_and_each_address_comes_once(
        self, say: Say, update: Update, ask: Ask, many_turns: Callable[[int], Iterator[str]]
    ) -> None:
        say("s1", *many_turns(1200), "subject1 " * 400)
        update()
        for mode in MODES:
            hits = ask("subject1 turn speaks", k=10**9, mode=mode).hits
            assert len(hits) <= MAX_HITS
            assert len({hit.source for hit in hits}) == len(hits)
            assert len(ask("subject1 turn speaks", k=7, mode=mode).hits) == 7
            assert ask("subject1", k=0, mode=mode).hits == ()

    def test_equal_scores_are_ordered_by_address(self, write: Write, update: Update, sources: Sources) -> None:
        for name in ("d", "b", "c", "a"):
            write(f"Knowledge/{name}/note.md", "the very same words\n")
            update()
        for mode in MODES:
            assert sources("very same words", mode=mode) == [f"Knowledge/{n}/note.md#L1" for n in "abcd"]

    def test_the_best_part_stands_for_a_long_message(self, say: Say, update: Update, ask: Ask) -> None:
        say("s1", "\n\n".join(["Filler sentence about the weather. " * 20, "The falcon nests here. " * 3] * 3))
        update()
        hits = ask("falcon").hits
        assert [hit.source for hit in hits] == ["s1#m1"]
        assert "falcon" in hits[0].text


class TestDegradation:
    def test_a_slow_model_does_not_lose_the_lexical_hits(
        self, library: Home, ask: Ask, embedder: HashingEmbedder
    ) -> None:
        answered, finished = threading.Event(), threading.Event()
        quick = embedder.embed_query

        def slow(text: str) -> Vectors:
            answered.wait(30)
            finished.set()
            return quick(text)

        embedder.embed_query = slow  # type: ignore[method-assign]
        result = ask("tomatoes", deadline_ms=50)
        assert not finished.is_set()  # the answer did not wait for the model
        answered.set()
        assert result.hits[0].source.startswith("garden#")
        assert "vector" not in result.hits[0].parts
        assert result.degraded == ("the vector retriever was not done within 50 ms. Its hits are missing",)

    def test_a_slow_lexical_retriever_does_not_lose_the_vector_hits(
        self,
        say: Say,
        update: Update,
        home: Home,
        embedder: HashingEmbedder,
        many_turns: Callable[[int], Iterator[str]],
    ) -> None:
        say("s1", *many_turns(800))
        update()
        hasty = RecallSettings(lexical_deadline_ms=0.0)
        result = search(home, "turn speaks of subject1", settings=hasty, embedder=embedder)
        assert result.degraded == ("the lexical retriever was not done within 0 ms. Its hits are missing",)
        assert result.hits
        assert "lexical" not in result.hits[0].parts

    def test_a_model_that_fails_is_named_and_the_words_are_used(
        self, library: Home, ask: Ask, embedder: HashingEmbedder
    ) -> None:
        def broken(text: str) -> Vectors:
            raise RuntimeError(f"cannot embed {len(text)} characters")

        embedder.embed_query = broken  # type: ignore[method-assign]
        result = ask("tomatoes")
        assert result.hits
        assert result.degraded == ("the vector retriever failed: cannot embed 8 characters. Its hits are missing",)

    def test_without_a_model_words_alone_are_searched(self, library: Home, ask: Ask) -> None:
        result = ask("tomatoes", embedder=None)
        assert result.hits
        assert result.degraded == ("search uses words only: no embedding model. See `memory model`",)
        assert ask("tomatoes", embedder=None, mode="lexical").degraded == ()
        assert ask("tomatoes", embedder=None, mode="vector").hits == ()

    def test_without_an_index_there_are_no_hits_and_a_remedy(self, home: Home, ask: Ask) -> None:
        result = ask("anything")
        assert (result.hits, result.degraded) == ((), ("there is no index yet. Run `memory sync`",))
        assert not home.index.exists()

    def test_a_damaged_index_is_reported_and_not_raised(self, library: Home, ask: Ask) -> None:
        library.index.write_bytes(b"no database " * 1000)
        result = ask("tomatoes")
        assert result.hits == ()
        assert "Run `memory sync`" in result.degraded[0]

    def test_each_retriever_reports_its_time(self, library: Home, ask: Ask) -> None:
        result = ask("tomatoes")
        assert set(result.retriever_ms) == {"lexical", "vector"}
        assert 0 < max(result.retriever_ms.values()) <= result.ms


class TestRanking:
    def test_a_turn_is_found_by_its_neighbours_words(self, say: Say, update: Update, sources: Sources) -> None:
        say("s1", "Where do falcons nest?", "In the old tower, every spring.")
        say("s2", "Something else altogether.", "In the cellar, every autumn.")
        update()
        assert sources("where do falcons nest", mode="lexical")[:2] == ["s1#m1", "s1#m2"]

    def test_a_turn_of_the_right_session_comes_before_an_equal_one(
        self, say: Say, update: Update, home: Home, settings: RecallSettings
    ) -> None:
        filler = ["rain", "wind", "snow", "sun", "fog"]
        say("a-other", "the answer is blue", *filler, "nothing more")
        say("b-right", "the answer is blue", *filler, "falcon falcon falcon")
        update()

        def first(weight: float) -> str:
            weights = replace(RankingWeights(), group_weight=weight)
            hits = search(home, "answer blue falcon", settings=settings, mode="lexical", weights=weights).hits
            return next(hit.source for hit in hits if hit.source.endswith("#m1"))

        assert first(0.0) == "a-other#m1"
        assert first(0.3) == "b-right#m1"

    def test_both_retrievers_together_find_what_one_alone_misses(
        self, write: Write, update: Update, ask: Ask, embedder: HashingEmbedder
    ) -> None:
        write("Knowledge/a.md", "# Falcons\n\nfalcon nest\n")
        write("Knowledge/b.md", "# Cars\n\nautomobile engine\n")
        update()
        plain = embedder.embed_query
        embedder.embed_query = lambda text: plain(text.replace("vehicle", "automobile"))  # type: ignore[method-assign]
        assert ask("vehicle", mode="lexical").hits == ()
        assert ask("vehicle", mode="hybrid").hits[0].source == "Knowledge/b.md#L3"


ODD_QUERIES = st.one_of(
    st.text(max_size=60),
    st.text(alphabet='"*():^-+{}[]\\ \x00\ud800\udfff😀的是什么AND OR NOT NEAR/', max_size=60),
    st.sampled_from(["", " ", "的", "the", "???", '"', "body:x", "NEAR(a b, 2)", "a* OR", "\ud800", "x" * 100_000]),
)


@hypothesis_settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60, deadline=None)
@given(query=ODD_QUERIES, mode=st.sampled_from(MODES))
def test_an_odd_question_gives_hits_or_none(library: Home, ask: Ask, query: str, mode: str) -> None:
    result = ask(query, mode=mode, k=5)
    assert len(result.hits) <= 5
    assert result.degraded == ()
