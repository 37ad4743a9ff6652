"""Both stores of an index give the same answers, and each is a function of the files."""

from __future__ import annotations

import threading
import uuid
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agent_home.home import Home
from recall.index.reader import IndexUnreadable
from recall.index.store import index_store
from recall.index.store_choice import choose_namespace
from recall.index.sync import ensure_fresh, sync
from recall.index.verify import verify
from recall.search.addressed import passage_at
from recall.search.hybrid import Hit, search
from recall.search.standing import ended_entries
from recall.search.turns import turns_around
from recall.servers import DATABASE_VARIABLE
from recall.settings import RecallSettings
from tests.recall.hashing_embedder import HashingEmbedder

Say = Callable[..., Path]
Write = Callable[[str, str], Path]
SETTINGS = RecallSettings()
MEMORY = """# Memory

## Key Decisions

- **[KD-7F3A]** 2026-11-20 Ship the index with its own SQLite.
  Supersedes: KD-2M0Q
- **[KD-2M0Q]** 2026-11-01 Use the index of the system.
- **[KD-5A1B]** 2026-11-05 Keep the old tower for the falcons.
  State: resolved
"""
QUERIES = (
    "falcon", "Where is Caroline's falcon?", '"falcon tower"', "old index of the system", "数据库在哪里", "数",
    "getUserName max_row_count", "what did I say on 20 November 2026?", "KD-2M0Q", "the", "absentword", "naïve café",
)  # fmt: skip
OPTIONS: Sequence[dict[str, object]] = (
    {}, {"unit": "session"}, {"duplicates": "collapse"}, {"layers": ["sessions"]}, {"audience": "group"},
    {"mode": "lexical"}, {"mode": "vector"}, {"before": "2026-11-20T10:20:00"}, {"exclude": ["long"]},
)  # fmt: skip


@pytest.fixture
def library(home: Home, say: Say, write: Write) -> Home:
    write("MEMORY.md", MEMORY)
    say("long", *(f"turn {n}: the old falcon tower {'falcon ' * (n % 4)}" for n in range(70)))
    say("other", "Where is Caroline's falcon?", "In the falcon tower", names=("Caroline", "agent"))
    say("chinese", "数据库在哪里?", "getUserName reads the max_row_count", "a naive cafe", "odd \x00 byte")
    write("Knowledge/birds.md", "# Falcon tower\n\nfalcon\n\n# Tower\n\nfalcon falcon tower KD-7F3A\n")
    write("Projects/plan.md", "# Plan\n\nBuild the tower of the falcon.\n")
    return home


@pytest.fixture
def in_database(database_url: str, monkeypatch: pytest.MonkeyPatch) -> Callable[[Home], str]:
    """Let the index of a home be in a namespace of its own."""

    def choose(home: Home) -> str:
        monkeypatch.setenv(DATABASE_VARIABLE, database_url)
        namespace = uuid.uuid4().hex
        home.machine.mkdir(parents=True, exist_ok=True)
        choose_namespace(home, namespace)
        return namespace

    return choose


def found(home: Home, query: str, **options: object) -> list[tuple[object, ...]]:
    result = search(home, query, settings=SETTINGS, embedder=HashingEmbedder(), **options)  # type: ignore[arg-type]
    assert result.degraded == ()
    return [_plain(hit) for hit in result.hits]


def _plain(hit: Hit) -> tuple[object, ...]:
    return (
        hit.source,
        round(hit.score, 6),
        hit.text.replace("\x00", "\ufffd"),
        hit.ts,
        hit.path,
        hit.also,
        hit.standing,
    )


def test_a_search_gives_the_same_hits(library: Home, in_database: Callable[[Home], str]) -> None:
    def answers(options: dict[str, object]) -> dict[str, list[tuple[object, ...]]]:
        return {query: found(library, query, **options) for query in QUERIES}

    sync(library, SETTINGS, HashingEmbedder())
    of_file = [answers(options) for options in OPTIONS]
    in_database(library)
    sync(library, SETTINGS, HashingEmbedder())
    for options, expected in zip(OPTIONS, of_file, strict=True):
        assert answers(options) == expected, options
        assert any(expected.values())


def test_turns_addresses_and_entries_are_the_same(library: Home, in_database: Callable[[Home], str]) -> None:
    def answers() -> list[object]:
        around = turns_around(library, ["long#m40", "other#m1", "nowhere#m1"])
        assert around.problem == ""
        at = [passage_at(library, source) for source in ("long#m3", "MEMORY.md#KD-2M0Q", "nowhere")]
        return [around.turns, at, ended_entries(library)]

    sync(library, SETTINGS, HashingEmbedder())
    of_file = answers()
    in_database(library)
    sync(library, SETTINGS, HashingEmbedder())
    assert answers() == of_file


edit = st.tuples(
    st.sampled_from(("Knowledge/a.md", "Knowledge/b.md", "Projects/c.md")),
    st.lists(st.sampled_from(("falcon tower", "the old tower", "数据库", "gone", "max_row_count = 3")), max_size=4),
)


@settings(max_examples=4, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(edits=st.lists(edit, min_size=1, max_size=5))
def test_after_any_edits_both_indexes_are_those_of_the_files(
    home: Home, in_database: Callable[[Home], str], edits: list[tuple[str, list[str]]]
) -> None:
    in_database(home)
    for path, paragraphs in edits:
        place = home.root / path
        place.parent.mkdir(exist_ok=True)
        if paragraphs:
            place.write_text("# Notes\n\n" + "\n\n".join(paragraphs) + "\n", "utf-8")
        else:
            place.unlink(missing_ok=True)
        sync(home, SETTINGS, HashingEmbedder())
    assert verify(home, SETTINGS).differences == ()
    of_database = {query: found(home, query) for query in QUERIES}
    choose_namespace(home, "")
    sync(home, SETTINGS, HashingEmbedder())
    assert {query: found(home, query) for query in QUERIES} == of_database


@pytest.mark.parametrize("source", ["s\x00#m1", "\ud800#m1"])
def test_an_address_that_no_store_can_hold_is_at_no_place(
    home: Home, in_database: Callable[[Home], str], source: str
) -> None:
    for _ in range(2):
        sync(home, SETTINGS, HashingEmbedder())
        assert passage_at(home, source) is None
        assert turns_around(home, [source]).turns == {}
        in_database(home)


def test_two_namespaces_never_see_each_other(library: Home, tmp_path: Path, in_database: Callable[[Home], str]) -> None:
    in_database(library)
    sync(library, SETTINGS, HashingEmbedder())
    other = Home(tmp_path / "other")
    other.machine.mkdir(parents=True)
    (other.root / "agent.toml").write_bytes((library.root / "agent.toml").read_bytes())
    (other.root / "Knowledge").mkdir()
    (other.root / "Knowledge" / "a.md").write_text("# Birds\n\nA falcon of its own.\n", "utf-8")
    in_database(other)
    sync(other, SETTINGS, HashingEmbedder())
    assert {hit[4] for query in QUERIES for hit in found(other, query)} == {"Knowledge/a.md"}
    assert "Knowledge/a.md" not in {hit[4] for query in QUERIES for hit in found(library, query)}


def test_a_search_reads_one_state_while_the_index_is_built_anew(
    library: Home, in_database: Callable[[Home], str]
) -> None:
    in_database(library)
    sync(library, SETTINGS, HashingEmbedder())
    with index_store(library).reading() as reader:
        assert reader is not None
        before = reader.totals()
        rebuilding = threading.Thread(target=lambda: _change_and_rebuild(library))
        rebuilding.start()
        rebuilding.join(60)
        assert not rebuilding.is_alive()
        assert reader.totals() == before
        assert len(reader.texts([1, 2, 3])) == 3
    assert "Knowledge/birds.md" in {hit[4] for hit in found(library, "kestrel")}


def test_a_search_does_not_mix_the_passages_of_two_generations(
    library: Home, in_database: Callable[[Home], str]
) -> None:
    in_database(library)
    sync(library, SETTINGS, HashingEmbedder())
    store = index_store(library)
    with store.reading(), store.reading_again() as again:
        assert again is not None
    with store.reading():
        _change_and_rebuild(library)
        with pytest.raises(IndexUnreadable, match="built anew"), store.reading_again():
            pass


def _change_and_rebuild(home: Home) -> None:
    from recall.index.sync import reindex

    (home.root / "Knowledge" / "birds.md").write_text("# Kestrel\n\nA kestrel.\n", "utf-8")
    reindex(home, SETTINGS, HashingEmbedder())


def test_a_server_that_does_not_answer_costs_the_passages_alone(
    library: Home, tmp_path: Path, in_database: Callable[[Home], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    in_database(library)
    monkeypatch.setenv(DATABASE_VARIABLE, f"postgresql://nobody:hunter2@/none?host={tmp_path}")
    assert "does not answer" in ensure_fresh(library, SETTINGS, None).degraded[0]
    result = search(library, "falcon", settings=SETTINGS, embedder=HashingEmbedder())
    assert result.hits == ()
    assert any("does not answer" in note for note in result.degraded)
    assert not any("hunter2" in note for note in result.degraded)
    assert "does not answer" in turns_around(library, ["long#m1"]).problem
    assert ended_entries(library) == ()


def test_a_copied_home_has_its_index_in_a_file_again(
    library: Home, tmp_path: Path, in_database: Callable[[Home], str]
) -> None:
    import shutil

    in_database(library)
    sync(library, SETTINGS, None)
    shutil.copytree(library.root, tmp_path / "copy")
    copy = Home(tmp_path / "copy")
    ensure_fresh(copy, SETTINGS, None)
    assert copy.index.exists()
    assert not library.index.exists()
