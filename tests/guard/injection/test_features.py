"""Sentences, words and neighbours become the numbers of buckets, in every writing."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from guard.injection.features import BUCKETS, context_buckets, sentences, word_buckets


def test_a_text_is_cut_at_the_ends_of_sentences_and_lines() -> None:
    found = [sentence.tokens for sentence in sentences("read this. then: go on\nstop。完了")]
    assert found == [["read", "this", "."], ["then", ":", "go", "on"], ["stop", "。"], ["完", "了"]]


def test_a_sentence_with_its_quotation_mark_is_one() -> None:
    assert [sentence.tokens for sentence in sentences('"go on." then stop')] == [
        ['"', "go", "on", ".", '"'],
        ["then", "stop"],
    ]


def test_a_long_sentence_is_cut_into_parts_that_cover_its_words() -> None:
    text = " ".join(f"word{chr(97 + n % 26)}" * (n % 3 + 1) for n in range(100))
    parts = list(sentences(text))
    assert [token for part in parts for token in part.tokens] == text.split()
    assert max(len(part.tokens) for part in parts) == 64


def test_a_word_that_is_only_repeated_counts_once() -> None:
    assert [sentence.tokens for sentence in sentences("word " * 20)] == [["word"]]


@pytest.mark.parametrize(("one", "other"), [("instructions", "instruction"), ("anweisungen", "anweisung")])
def test_forms_of_a_word_share_most_buckets(one: str, other: str) -> None:
    first, second = set(word_buckets(one)[0]), set(word_buckets(other)[0])
    assert len(first & second) > len(second) / 2


def test_two_words_share_a_bucket_whatever_stands_between_them() -> None:
    near, far = (
        set(context_buckets([word_buckets(word)[1] for word in text.split()]))
        for text in ("assistants must forward", "assistants of any kind must forward")
    )
    pair = set(context_buckets([word_buckets(word)[1] for word in ("assistants", "forward")]))
    assert pair & near
    assert pair & far


def test_quotation_marks_of_all_kinds_are_one_word() -> None:
    assert word_buckets("„") == word_buckets('"') != word_buckets("(")


def test_neighbours_count_in_their_order() -> None:
    keys = [word_buckets(word)[1] for word in ("ignore", "the", "rules")]
    forwards, backwards = set(context_buckets(keys)), set(context_buckets(keys[::-1]))
    assert len(forwards & backwards) < len(forwards) / 2  # only what has the start of the sentence in it
    assert context_buckets([]) == []


@given(st.text(max_size=200))
def test_any_text_has_buckets_in_range_and_spans_in_order(text: str) -> None:
    end = 0
    for sentence in sentences(text):
        assert end <= sentence.start < sentence.end <= len(text)
        end = sentence.end
        words = [word_buckets(token) for token in sentence.tokens]
        buckets = [bucket for own, _ in words for bucket in own] + context_buckets([keys for _, keys in words])
        assert all(0 <= bucket < BUCKETS for bucket in buckets)
