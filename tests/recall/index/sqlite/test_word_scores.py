"""Tests of scores from memory: they are those of FTS5, to the last digit."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path

import apsw
import pytest

from agent_home.home import Home
from recall.index.sqlite import passage_table, schema
from recall.index.sqlite.passage_table import load_table
from recall.index.sqlite.reader import SqliteReader
from recall.index.sqlite.word_scores import ResidentWords
from recall.index.sync import SyncReport
from recall.search.hybrid import SearchResult
from recall.search.retrievers import Scope, retrieve_by_words
from recall.text.term_hashes import Fts5Stemmer
from recall.text.terms import parse_query

Say = Callable[..., Path]
Write = Callable[[str, str], Path]
Update = Callable[[], SyncReport]
Ask = Callable[..., SearchResult]
QUERIES = (
    "falcon", "old falcon tower", '"falcon tower"', "Caroline's falcon", "tower absent", "the", "KD-7F3A", "数据 库",
    "turn turn turns", "getUserName in max_row_count",
)  # fmt: skip


@pytest.fixture
def library(home: Home, say: Say, write: Write, update: Update) -> Home:
    say("long", *(f"turn {n}: the old falcon tower {'falcon ' * (n % 4)}" for n in range(60)))
    say("other", "Where is Caroline's falcon?", "In the falcon tower", names=("Caroline", "agent"))
    say("chinese", "数据库在哪里?", "getUserName reads the max_row_count")
    write("Knowledge/birds.md", "# Falcon tower\n\nfalcon\n\n# Tower\n\nfalcon falcon tower KD-7F3A\n")
    write("Projects/plan.md", "# Plan\n\nBuild the tower of the falcon.\n")
    update()
    return home


@pytest.fixture
def conn(library: Home) -> Iterator[apsw.Connection]:
    conn = schema.open_reader(library.index)
    assert conn is not None
    yield conn
    conn.close()


@pytest.mark.parametrize("limit", [3, 100])
@pytest.mark.parametrize("query", QUERIES)
def test_scores_are_those_of_fts5(library: Home, conn: apsw.Connection, query: str, limit: int) -> None:
    table, parsed = load_table(conn), parse_query(query)
    some = json.dumps([file for (file,) in schema.rows(conn, "SELECT id FROM files WHERE id % 2")])
    for scope in (Scope(), Scope(layers=(1, 4)), Scope(files=some)):
        stored = retrieve_by_words(SqliteReader(conn, library.index), parsed, scope, limit, 60_000)
        resident = retrieve_by_words(SqliteReader(conn, library.index, table), parsed, scope, limit, 60_000)
        assert {**asdict(resident), "ms": 0} == {**asdict(stored), "ms": 0}
        assert list(resident.passages) == list(stored.passages)


def test_prefixes_and_queries_without_words_are_left_to_fts5(conn: apsw.Connection) -> None:
    table, stemmer = load_table(conn), Fts5Stemmer(conn)
    assert ResidentWords.of(table, ['"falcon"', '"数"*'], stemmer) is None
    assert ResidentWords.of(table, ['"..."'], stemmer) is None
    assert ResidentWords.of(None, ['"falcon"'], stemmer) is None
    assert ResidentWords.of(table, ['"falcon"'], stemmer) is not None


@pytest.mark.parametrize("options", [{}, {"unit": "session"}, {"duplicates": "collapse"}, {"layers": ["sessions"]}])
def test_a_search_from_memory_gives_the_same_hits(
    library: Home,
    say: Say,
    update: Update,
    ask: Ask,
    options: dict[str, object],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def hits() -> list[object]:
        return [ask(query, **options).hits for query in QUERIES]

    stored = hits()
    monkeypatch.setattr(passage_table, "_SEARCHES_BEFORE", 0)
    monkeypatch.setattr(passage_table, "_start", lambda read: read())
    assert hits() == stored
    say("other", "A falcon tower was built", "Caroline liked it")
    update()
    changed = hits()
    assert changed != stored
    monkeypatch.setattr(passage_table, "_CACHE", type(passage_table._CACHE)())
    monkeypatch.setattr(passage_table, "_SEARCHES_BEFORE", 10**9)
    assert hits() == changed
    assert library.index.exists()
