"""Parallel texts, and what is learned from them before a network is: tokens, and their likeliest translations."""

from __future__ import annotations

import gettext
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer
from tokenizers.models import WordPiece
from tokenizers.trainers import WordPieceTrainer

__all__ = ["LANGUAGES", "MOST_TOKENS", "TranslatedPair", "extended", "message_pairs", "tldr_pairs", "translations"]

LANGUAGES = ("de", "es", "fr", "it", "pt", "ru", "zh", "ja", "ko", "nl", "tr", "pl")
MOST_TOKENS = 48
_NEW_TOKENS, _LEARNED_TOKENS = 14_000, 23_000
_ALIGNED = 24
"""Different pieces of a text that are aligned."""
_ROUNDS, _TRANSLATIONS = 5, 8
_FORMATS = re.compile(r"%[-+ 0-9.*$]*[a-zA-Z]+|[_&](?=\w)")
_PLACES = re.compile(r"\{\{.*?\}\}")


class TranslatedPair(NamedTuple):
    """A text in a *language*, by its two letters, and its English original."""

    language: str
    english: str
    foreign: str


def message_pairs(folder: Path) -> Iterator[TranslatedPair]:
    """Yield the messages of programs in ``folder/LANGUAGE/LC_MESSAGES/*.mo`` that are longer than a word."""
    for path in sorted(folder.glob("*/LC_MESSAGES/*.mo")):
        language = path.parts[-3][:2]
        if language not in LANGUAGES or path.parts[-3] == "zh_HK":
            continue
        with path.open("rb") as file:
            try:
                catalogue: dict[Any, Any] = vars(gettext.GNUTranslations(file))["_catalog"]
            except (OSError, UnicodeDecodeError, ValueError):
                continue
        for key, value in catalogue.items():
            original = key[0] if isinstance(key, tuple) else key
            yield TranslatedPair(language, _plain(original.split("\x04")[-1]), _plain(str(value)))


def _plain(message: str) -> str:
    return " ".join(_FORMATS.sub("", message).split())


def tldr_pairs(folder: Path) -> Iterator[TranslatedPair]:
    """Yield descriptions of commands in a checkout of tldr-pages, by the commands, which are the same everywhere."""
    for path in sorted(folder.glob("pages.*/*/*.md")):
        original = folder / "pages" / path.parts[-2] / path.name
        language = path.parts[-3].removeprefix("pages.")[:2]
        if language in LANGUAGES and original.is_file():
            described = _descriptions(original.read_text("utf-8"))
            for command, text in _descriptions(path.read_text("utf-8")).items():
                if command in described:
                    yield TranslatedPair(language, described[command], text)


def _descriptions(page: str) -> dict[str, str]:
    """Return the description of each command of *page*, by the command without its placeholders."""
    found: dict[str, str] = {}
    described = ""
    for line in page.splitlines():
        if line.startswith("- "):
            described = line[2:].rstrip(":： ").replace("`", "")
        elif line.startswith("`") and described:
            found[_PLACES.sub("", line)] = described
            described = ""
    return found


def extended(english: Tokenizer, texts: Iterable[str]) -> Tokenizer:
    """Return the tokenizer *english* with word pieces that are frequent in *texts* behind its own."""
    learner = Tokenizer(WordPiece(unk_token="[UNK]"))  # noqa: S106
    learner.normalizer, learner.pre_tokenizer = english.normalizer, english.pre_tokenizer
    learner.train_from_iterator(
        texts,
        WordPieceTrainer(
            vocab_size=_LEARNED_TOKENS, min_frequency=4, special_tokens=["[UNK]"], limit_alphabet=6000,
            show_progress=False,
        ),
    )  # fmt: skip
    vocabulary = dict(english.get_vocab())
    learned = sorted(learner.get_vocab().items(), key=lambda item: item[1])
    for token in [token for token, _ in learned if token not in vocabulary][:_NEW_TOKENS]:
        vocabulary[token] = len(vocabulary)
    tokens = Tokenizer(WordPiece(vocabulary, unk_token="[UNK]", max_input_chars_per_word=100))  # noqa: S106
    tokens.normalizer, tokens.pre_tokenizer = english.normalizer, english.pre_tokenizer
    tokens.post_processor = english.post_processor
    tokens.enable_truncation(MOST_TOKENS)
    return tokens


def translations(foreign: Sequence[Sequence[int]], english: Sequence[Sequence[int]], size: int) -> Iterator[
    tuple[int, NDArray[np.int64], NDArray[np.float64]]
]:  # fmt: skip
    """Yield each token of *foreign* with its likeliest tokens of *english* and their shares.

    *size* is larger than every token number. Time and memory grow with the number of token pairs in the texts.
    """
    left, right, cells = [], [], []
    for row, (own, other) in enumerate(zip(foreign, english, strict=True)):
        words = list(dict.fromkeys(own[1:-1]))[:_ALIGNED]
        originals = list(dict.fromkeys(other[1:-1]))[:_ALIGNED]
        left.append(np.repeat(words, len(originals)))
        right.append(np.tile(originals, len(words)))
        cells.append(np.tile(np.arange(len(originals)) + row * _ALIGNED, len(words)))
    cell = np.concatenate(cells)
    keys, place = np.unique(np.concatenate(left).astype(np.int64) * size + np.concatenate(right), return_inverse=True)
    word, original = np.divmod(keys, size)
    share = np.full(len(keys), 0.1)
    for _ in range(_ROUNDS):
        part = share[place]
        part /= np.bincount(cell, part)[cell]
        count = np.bincount(place, part)
        share = count / np.bincount(word, count)[word]
    order = np.lexsort((-share, word))
    starts = np.flatnonzero(np.r_[True, np.diff(word[order]) > 0])
    for start, end in zip(starts, np.r_[starts[1:], len(order)], strict=True):
        best = order[start : min(end, start + _TRANSLATIONS)]
        yield int(word[best[0]]), original[best], share[best] / share[best].sum()
