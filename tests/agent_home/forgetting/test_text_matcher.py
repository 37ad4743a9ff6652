"""A text is found in every spelling, replaced whole, and nothing else is touched."""

from __future__ import annotations

import json
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_home.forgetting.text_matcher import Phrase, _folded_ascii, _folded_pieces, fold, has_word_borders, readings

SPELLINGS = [
    "the Blue Heron flies",
    "the BLUE   heron flies",
    "the blue\n  heron flies",
    "the Blue\u00a0Heron flies",
    "the \uff22\uff4c\uff55\uff45 Heron flies",
    "the Bl\u200bue He\u00adron flies",
    json.dumps("the Blue\nHeron flies"),
    json.dumps(json.dumps({"text": "the Blue\tHeron flies"})),
    "the \\u0042lue\\u0020Heron flies",
    quote("the Blue Heron flies"),
]


@pytest.mark.parametrize("text", SPELLINGS)
def test_every_spelling_is_found_and_replaced(text: str) -> None:
    phrase = Phrase("blue heron")
    assert phrase.occurs_in(text)
    done = phrase.redact(text, "[X]")
    assert "[X]" in done
    assert not phrase.occurs_in(done)
    assert all(word not in fold(done) for word in ("blue", "heron"))
    assert done.startswith(text[:3])
    assert "flies" in done


@pytest.mark.parametrize("text", ["한글은 어렵다", "Ünïcödé naïve", "热鱼是密码", "ﬁne ﬂow", "Σίσυφος", "ｶﾞｷﾞ half"])
def test_other_scripts_are_found_however_they_are_composed(text: str) -> None:
    import unicodedata

    for form in ("NFC", "NFD", "NFKC", "NFKD"):
        said = f"before {unicodedata.normalize(form, text)} after"
        assert Phrase(text).redact(said, "[X]") == "before [X] after"


def test_json_stays_json_and_keeps_the_rest() -> None:
    line = json.dumps({"content": 'He said: "the code is Blue Heron", twice', "n": 1})
    done = json.loads(Phrase('code is "blue" heron').redact(line, "[X]"))
    assert done == json.loads(line)
    done = json.loads(Phrase('"the code is blue heron"').redact(line, "[X]"))
    assert done == {"content": "He said: [X], twice", "n": 1}


def test_a_text_cut_by_an_ellipsis_is_found() -> None:
    phrase = Phrase("the launch code word is Blue Heron")
    assert phrase.redact("Close: The launch code word… and more", "[X]") == "Close: [X]… and more"
    assert phrase.redact("the launch code wo... and", "[X]") == "[X]... and"
    assert not phrase.occurs_in("the lau… is another thing")


def test_an_identifier_is_found_alone_and_as_spelled() -> None:
    phrase = Phrase("X9", exact=True)
    assert phrase.redact("X9, [X9] x9 X9b AX9 X9-2", "_") == "_, [_] x9 X9b AX9 X9-2"


@pytest.mark.parametrize(
    ("said", "text", "done"),
    [
        ("X9", "工单X9已关，单号X9。X9b", "工单_已关，单号_。X9b"),
        ("ID", "IDый IDx ФID 5ID ID_ ID-組", "_ый IDx Ф_ 5ID ID_ ID-組"),
        ("林晓雯", "我和林晓雯的妈妈见過林晓雯說", "我和_的妈妈见過_說"),
        ("林晓雯X9", "找林晓雯X9吗 林晓雯X91", "找_吗 林晓雯X91"),
        ("佐藤さん", "昨日佐藤さんが来た", "昨日_が来た"),
        ("김민수", "김민수는 오늘 김민수와", "_는 오늘 _와"),
    ],
)
def test_an_identifier_may_stand_beside_another_script(said: str, text: str, done: str) -> None:
    phrase = Phrase(said, exact=True)
    assert phrase.redact(text, "_") == done
    assert json.loads(phrase.redact(json.dumps(text), "_")) == done


@pytest.mark.parametrize("before", ["我和", "我與", "「", "X", "\n"])
def test_a_chinese_name_is_found_beside_any_letter_and_in_escapes(before: str) -> None:
    text = f"{before}林晓雯說話的时候"
    for exact in (False, True):
        phrase = Phrase("林晓雯", exact)
        assert phrase.redact(text, "_") == f"{before}_說話的时候"
        escaped = json.dumps(json.dumps({"content": text}))
        assert "\\u6797" in escaped
        assert json.loads(json.loads(phrase.redact(escaped, "_"))) == {"content": f"{before}_說話的时候"}


def test_a_korean_text_does_not_end_inside_a_syllable() -> None:
    assert Phrase("이수").redact("이순신과 이수는", "_") == "이순신과 _는"


def test_punctuation_has_word_borders_and_cjk_letters_have_none() -> None:
    assert not any(map(has_word_borders, "林〇々さサｻー민\U00020000"))
    assert all(map(has_word_borders, "aéя9９。、（ -"))


def test_a_blank_phrase_occurs_nowhere() -> None:
    assert not Phrase("").occurs_in("anything")
    assert not Phrase(" \n").occurs_in("any thing")


@given(st.text(), st.text(min_size=1), st.text())
def test_an_inserted_text_is_found_and_redacted(before: str, said: str, after: str) -> None:
    phrase = Phrase(said)
    if not phrase.folded or "…" in said or phrase.occurs_in("[X]"):
        return
    text = f"{before} {said} {after}"
    assert phrase.occurs_in(text)
    done = phrase.redact(text, "[X]")
    assert "[X]" in done


@given(st.text(alphabet=st.characters(codec="utf-8")), st.text(min_size=4, alphabet="abc de"))
def test_the_quick_check_never_misses_an_occurrence(text: str, said: str) -> None:
    phrase = Phrase(said)
    if phrase.occurs_in(text):
        assert phrase.may_occur_in(text.encode())


@given(st.text(alphabet=st.characters(codec="ascii")) | st.text(alphabet="aB .\t\n\x0b\x1c\x1f\x00"))
def test_ascii_is_folded_word_by_word_as_letter_by_letter(text: str) -> None:
    starts, ends = range(len(text)), range(1, len(text) + 1)
    words = _folded_ascii(text, starts, ends)
    assert words == _folded_pieces(text, starts, ends)
    assert words[0].removesuffix(" ") == fold(text)


def test_the_number_of_readings_is_bounded() -> None:
    assert list(readings("plain")) == ["plain"]
    assert list(readings("a\\\\\\\\n")) == ["a\\\\\\\\n", "a\\\\n", "a\\n", "a\n"]
