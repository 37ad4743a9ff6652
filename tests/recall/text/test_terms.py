"""Text to terms, judged by FTS5 itself: what is put in must be found again."""

from __future__ import annotations

import apsw
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from recall.text.terms import TOKENIZER, index_text, parse_query


def found(text: str, query: str) -> bool:
    """Return whether FTS5 finds *text* by *query*."""
    conn = apsw.Connection(":memory:")
    conn.execute(f"CREATE VIRTUAL TABLE t USING fts5(body, content='', tokenize='{TOKENIZER}')")
    conn.execute("INSERT INTO t(rowid, body) VALUES(1, ?)", (index_text(text),))
    match = parse_query(query).match
    return bool(match) and bool(conn.execute("SELECT 1 FROM t WHERE t MATCH ?", (match,)).fetchall())


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("We moved the painting to the hall", "where were the paintings moved?"),
        ("季度预测的缺口主要来自三个项目", "缺口"),
        ("季度预测的缺口主要来自三个项目", "预测缺口是什么?"),
        ("出口税率下降", "税"),
        ("已经缴税", "税是什么"),
        ("请用数据库", "库"),
        ("目的地是北京", "目的"),
        ("会議は東京で開かれます", "東京"),
        ("データベースを作る", "データベース"),
        ("데이터베이스를 설계했다", "데이터베이스"),
        ("全角ＡＢＣ文字", "ABC"),
        ("see getUserName for it", "getUserName"),
        ("see getUserName for it", "user name"),
        ("the field max_row_count is new", "max_row_count"),
        ("the field max_row_count is new", "row"),
        ("edit src/recall/index.py there", "src/recall/index.py"),
        ("edit src/recall/index.py there", "index.py"),
        ("upgraded to 1.24.3 today", "1.24.3"),
        ("as decided in KD-7F3A", "KD-7F3A"),
        ("as decided in [KD-7F3A]", "7f3a"),
        ("fixed by 3f9c2e1d00aa44bb", "3f9c2e1"),
        ("fixed by 3f9c2e1", "3f9c2e1d00aa44bb66cc88dd00ee22ff44aa66bb"),
        ("na\u200bïve approach", "naive"),
        ("Café Zürich", "cafe zurich"),
        ("who is it", "who is it?"),
    ],
)
def test_is_found(text: str, query: str) -> None:
    assert found(text, query)


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("upgraded to 1.24.3 today", "1.2.3"),
        ("出口税率", "进口"),
        ("what is this about", "what is the forecast"),
        ("这是什么", "结论是什么"),
    ],
)
def test_is_not_found(text: str, query: str) -> None:
    assert not found(text, query)


def test_a_version_is_found_as_a_whole_only() -> None:
    assert parse_query("1.2.3").terms == ('"1 2 3"',)


def test_quoted_words_are_a_phrase_beside_their_words() -> None:
    assert parse_query('"budget review" please').terms[:3] == ('"budget review"', '"budget"', '"review"')


def test_a_quoted_run_of_characters_is_a_phrase_that_its_text_holds() -> None:
    assert parse_query("「预测缺口」").terms[0] == '"预测 测缺 缺口"'


def test_stop_words_are_used_when_there_is_nothing_else() -> None:
    assert parse_query("what is it").terms == ('"what"', '"is"', '"it"')
    assert parse_query("什么").terms == ('"什么"',)


def test_operators_of_fts5_are_words() -> None:
    assert parse_query("NEAR(budget) AND body:gap* OR -x").terms == (
        '"NEAR"', '"budget"', '"body gap"', '"body"', '"gap"', '"x"',
    )  # fmt: skip


def test_a_long_query_keeps_its_most_frequent_terms() -> None:
    text = " ".join(f"word{n}" for n in range(500)) + " forecast forecast"
    terms = parse_query(text, limit=10).terms
    assert len(terms) == 10
    assert '"forecast"' in terms


def test_a_hundred_kilobytes_give_a_bounded_query() -> None:
    assert len(parse_query("数据库x " * 20_000).terms) <= 64
    assert len(parse_query("".join(chr(0x4E00 + n % 9000) for n in range(100_000))).terms) == 64


ODD = st.text(
    alphabet=st.one_of(
        st.sampled_from("\"*():^-+{}[]\\/.,;?!@#$%&|~`'\x00\ufeff\u200d\ud800\udfff😀🏳️数据库是的カなé AaZz09_\n\t"),
        st.characters(),
    ),
    max_size=80,
)


@given(ODD, ODD)
@example('"', "x")
@example("AND", "x")
@example("_", "_")
@example("\u0301", "\u0301")
def test_every_query_is_accepted_by_fts5(query: str, text: str) -> None:
    found(text.encode("utf-8", "replace").decode(), query)


@given(st.text(alphabet="数据库预测缺口的是 abc", min_size=1, max_size=30))
def test_a_text_finds_itself(text: str) -> None:
    if any(not character.isspace() for character in text):
        assert found(text, text)
