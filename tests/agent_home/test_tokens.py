"""Tests of token counts: close to two real vocabularies, and with the promises that the assembler needs."""

import base64
import json
import random
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_home import token_weights
from agent_home.tokens import DEFAULT, VOCABULARIES, count_tokens, pretokenize

SAMPLES = Path(__file__).resolve().parents[2] / "bench" / "token_samples"
# What real vocabularies counted, written by `python -m bench.tokens --write-docs`.
REAL = json.loads((SAMPLES / "counts.json").read_text("utf-8"))
LANGUAGES = ["English", "Chinese", "Japanese", "Korean", "Python", "Markdown", "JSON"]

# Any text, lone surrogates too, and text rich in what decides the cuts: blanks, line ends, signs, apostrophes, scripts.
ANY = st.text(max_size=60) | st.text(st.characters(), max_size=20)
DENSE = st.text("ab T's'_-.,)=#\"|0129\t\r\n\n\n  é中文のカ한국я😀\ud800\u2028\u00a0²", max_size=60)
TEXT = (
    ANY
    | DENSE
    | st.lists(st.sampled_from(["word", " the", "\n", "\r\n", "  ", ".", "。", "){", "--", "'s"])).map("".join)
)
VOCABULARY = st.sampled_from(VOCABULARIES)


@pytest.mark.parametrize("vocabulary", VOCABULARIES)
@pytest.mark.parametrize("language", LANGUAGES)
def test_each_language_is_within_ten_per_cent_and_never_five_under(language: str, vocabulary: str) -> None:
    real = estimate = 0
    for name, counts in REAL.items():
        if counts["language"] == language:
            real += counts[vocabulary]
            estimate += count_tokens((SAMPLES / name).read_text("utf-8"), vocabulary=vocabulary)
    assert real > 700
    assert 0.95 * real <= estimate <= 1.10 * real


@pytest.mark.parametrize("vocabulary", VOCABULARIES)
@pytest.mark.parametrize("name", sorted(REAL))
def test_each_sample_alone_is_within_ten_per_cent(name: str, vocabulary: str) -> None:
    estimate = count_tokens((SAMPLES / name).read_text("utf-8"), vocabulary=vocabulary)
    assert estimate == pytest.approx(REAL[name][vocabulary], rel=0.10)


def test_every_sample_has_its_real_count() -> None:
    assert {path.name for path in SAMPLES.iterdir() if path.is_file()} == {*REAL, "counts.json"}


@pytest.mark.parametrize(
    ("text", "real"),
    [
        # Real counts of cl100k; 70 syllables are not one long word.
        ("가" * 70, 70),
        ("한국어는교착어이며어순은주어목적어서술어이다", 30),
        ("人工智能正在改变我们的工作方式", 13),
        ("東京都港区六本木で打ち合わせがあります", 20),
        ("MEAGS 的 forecast gap 是 -12 %,三笔大单 slip", 17),
        ("Совещание перенесли на четверг", 13),
        ("def load_settings(path: Path, *, strict: bool = True) -> dict[str, Any]:", 20),
        ('{"id":"evt_00001","duration_ms":12.5,"tags":["beta","mobile"],"error":null}', 25),
    ],
)
def test_short_texts_of_many_kinds_have_a_small_error(text: str, real: int) -> None:
    assert real - 2 <= count_tokens(text) <= 1.15 * real + 2


def test_random_letters_and_digits_are_not_counted_as_words() -> None:
    rows = random.Random(1)  # noqa: S311 - test data
    blob = base64.b64encode(rows.randbytes(3000)).decode()
    # 4 000 characters of base64 are about 2 800 tokens in every vocabulary looked at, 6 000 of hexadecimal about 3 400.
    assert 2500 < count_tokens(blob) < 3200
    assert 3100 < count_tokens(rows.randbytes(3000).hex()) < 3800


def test_the_default_vocabulary_counts_more_for_chinese_japanese_and_korean() -> None:
    for language in ("chinese", "japanese", "korean"):
        text = (SAMPLES / f"{language}_prose.txt").read_text("utf-8")
        assert count_tokens(text) == max(count_tokens(text, vocabulary=name) for name in VOCABULARIES)
    assert DEFAULT == "cl100k"


def test_an_error_for_an_unknown_vocabulary_names_the_known_ones() -> None:
    with pytest.raises(ValueError, match=r"unknown vocabulary 'gpt2'\. Known vocabularies are cl100k, o200k"):
        count_tokens("text", vocabulary="gpt2")


@given(TEXT)
def test_the_pieces_joined_are_the_text(text: str) -> None:
    assert "".join(pretokenize(text)) == text


@given(TEXT, VOCABULARY)
def test_only_the_empty_text_has_no_tokens(text: str, vocabulary: str) -> None:
    count = count_tokens(text, vocabulary=vocabulary)
    assert count == count_tokens(text, vocabulary=vocabulary)
    assert (count == 0) == (text == "")


@given(TEXT, TEXT, st.sampled_from(["\n", "\r\n", "\n\n", "\r"]), VOCABULARY)
def test_splitting_at_a_line_end_never_saves_tokens(first: str, second: str, end: str, vocabulary: str) -> None:
    alone = count_tokens(first + end, vocabulary=vocabulary)
    together = count_tokens(first + end + second, vocabulary=vocabulary)
    assert alone <= together <= alone + count_tokens(second, vocabulary=vocabulary)


@given(st.integers(1, 200), st.integers(1, 200), st.sampled_from(["", ".", "。", " ", "\t", "=" * 64]), VOCABULARY)
def test_splitting_a_long_run_of_line_ends_never_saves_tokens(
    before: int, after: int, start: str, vocabulary: str
) -> None:
    first, second = start + "\n" * before, "\n" * after + " \n"
    alone = count_tokens(first, vocabulary=vocabulary)
    together = count_tokens(first + second, vocabulary=vocabulary)
    assert alone <= together <= alone + count_tokens(second, vocabulary=vocabulary)


@given(TEXT, TEXT, VOCABULARY)
def test_appending_lowers_the_count_by_no_more_than_the_last_piece(first: str, second: str, vocabulary: str) -> None:
    settled = "".join(pretokenize(first)[:-1])
    assert count_tokens(settled, vocabulary=vocabulary) <= count_tokens(first + second, vocabulary=vocabulary)


def test_the_tables_stay_small_and_their_shares_are_shares() -> None:
    sizes: dict[str, int] = defaultdict(int)
    for vocabulary, (packed, shares, margin) in token_weights.VOCABULARIES.items():
        sizes[vocabulary] = len(packed)
        assert all(0 <= share <= 1100 for share in shares.values())
        assert 1000 <= margin <= 1030
    assert max(sizes.values()) < 66_000


def test_importing_does_not_unpack_a_table() -> None:
    code = "import sys, agent_home.tokens as t; print(t._costs.cache_info().currsize, 'tiktoken' in sys.modules)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.split() == ["0", "False"]
