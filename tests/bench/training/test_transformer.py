"""What is learned from parallel texts without a network, and the files of the guard's network."""

from __future__ import annotations

import gettext
from pathlib import Path

import numpy as np
import pytest
from tokenizers import Tokenizer
from tokenizers.models import WordPiece
from tokenizers.normalizers import BertNormalizer
from tokenizers.pre_tokenizers import BertPreTokenizer

from bench.training.transformer.export import packed
from bench.training.transformer.parallel_texts import TranslatedPair, extended, message_pairs, tldr_pairs, translations

PAGE = "# tar\n\n> {about}.\n\n- {first}:\n\n`tar cf {{{{{name}}}}}.tar`\n\n- {second}:\n\n`tar tf`\n"


def test_descriptions_are_paired_by_their_commands(tmp_path: Path) -> None:
    for folder, words in (
        ("pages", ("Archives", "Create an archive", "List the contents", "file")),
        ("pages.de", ("Archive", "Erstelle ein Archiv", "Zeige den Inhalt", "datei")),
    ):
        (tmp_path / folder / "common").mkdir(parents=True)
        about, first, second, name = words
        text = PAGE.format(about=about, first=first, second=second, name=name)
        (tmp_path / folder / "common" / "tar.md").write_text(text, "utf-8")
    assert list(tldr_pairs(tmp_path)) == [
        TranslatedPair("de", "Create an archive", "Erstelle ein Archiv"),
        TranslatedPair("de", "List the contents", "Zeige den Inhalt"),
    ]


def test_messages_lose_their_formats(tmp_path: Path) -> None:
    folder = tmp_path / "fr" / "LC_MESSAGES"
    folder.mkdir(parents=True)
    _write_catalogue(
        folder / "a.mo", {"": "Content-Type: text/plain; charset=UTF-8\n", "open %s now": "ouvrir %s vite"}
    )
    found = [pair for pair in message_pairs(tmp_path) if pair.english]
    assert found == [TranslatedPair("fr", "open now", "ouvrir vite")]


def _write_catalogue(path: Path, messages: dict[str, str]) -> None:
    """Write a GNU catalogue, whose format the standard library only reads."""
    keys = sorted(messages)
    originals = [key.encode() for key in keys]
    translated = [messages[key].encode() for key in keys]
    start = 28 + 16 * len(keys)
    places = []
    content = b""
    for text in originals + translated:
        places += [len(text), start + len(content)]
        content += text + b"\0"
    head = [0x950412DE, 0, len(keys), 28, 28 + 8 * len(keys), 0, 0]
    path.write_bytes(np.array(head + places, "<u4").tobytes() + content)
    with path.open("rb") as file:
        gettext.GNUTranslations(file)


def test_a_token_is_translated_by_what_stands_beside_it() -> None:
    def row(text: str, words: dict[str, int]) -> list[int]:
        return [0, *(words.setdefault(word, len(words) + 1) for word in text.split()), 0]

    english: dict[str, int] = {}
    german: dict[str, int] = {}
    texts = (("the house", "das haus"), ("the book", "das buch"), ("a book", "ein buch"), ("a house", "ein haus"))
    rows = [(row(left, english), row(right, german)) for left, right in texts * 3]
    found = translations([right for _, right in rows], [left for left, _ in rows], 100)
    best = {word: int(originals[0]) for word, originals, _ in found}
    pairs = {"das": "the", "haus": "house", "buch": "book", "ein": "a"}
    assert best == {german[own]: english[other] for own, other in pairs.items()}


def test_new_tokens_stand_behind_the_old_ones() -> None:
    vocabulary = {token: place for place, token in enumerate(["[UNK]", "h", "##a", "##u", "##s", "the"])}
    english = Tokenizer(WordPiece(vocabulary, unk_token="[UNK]"))
    english.normalizer, english.pre_tokenizer = BertNormalizer(), BertPreTokenizer()
    tokens = extended(english, ["haus und haus"] * 10)
    assert {token: place for token, place in tokens.get_vocab().items() if token in vocabulary} == vocabulary
    assert tokens.encode("haus").tokens == ["haus"]
    assert english.encode("haus").tokens == ["h", "##a", "##u", "##s"]


@pytest.mark.parametrize("width", [2, 8, 384])
def test_four_bits_keep_a_number_to_a_fifteenth_of_the_largest(width: int) -> None:
    table = np.random.default_rng(0).normal(size=(5, width)).astype(np.float32)
    levels, scales = packed(table)
    whole = np.concatenate([levels & 15, levels >> 4], axis=1).astype(np.float32) - 8
    largest = np.abs(table).max(axis=1, keepdims=True)
    assert np.all(np.abs(whole * scales[:, None] - table) <= largest / 13)
