"""Two small trained models of single words: does a word look like a password, and does it describe one.

``password_likeness`` tells values that people and programs choose as secrets ("Trellis-0417-mango", "x9Kd!fLm2") from
words, names in code and versions. ``chosen_word_likeness`` judges plain words after "the password is": a thing that one
can choose ("sunflower") or a description ("expired"). Both are linear in hashed pieces of the word, in any language
with an alphabet. ``bench.training.secret_values`` makes the weights.
"""

import base64
import json
from collections.abc import Sequence
from functools import cache, lru_cache
from pathlib import Path

from guard.weight_table import WeightTable, feature_hashes

__all__ = ["BUCKETS", "chosen_word_likeness", "ending_pieces", "password_likeness", "value_pieces"]

BUCKETS = 4096
"""Number of weights. Pieces that share a bucket share its weight."""

_LONGEST = 64
"""Characters of a word that are examined."""


@lru_cache(maxsize=8192)
def password_likeness(word: str) -> float:
    """Return the log odds that *word* is a password or a key and not a word of a text."""
    return _score("value", value_pieces(word))


@lru_cache(maxsize=8192)
def chosen_word_likeness(word: str) -> float:
    """Return the log odds that the plain *word* was chosen as a password and does not describe one."""
    return _score("word", ending_pieces(word))


def value_pieces(word: str) -> list[int]:
    """Return the buckets of *word*: three letters in a row, shapes of characters, kinds of characters, length."""
    word = word[:_LONGEST]
    framed = f"^{word.lower()}$"
    letters = _buckets(["t" + framed[start : start + 3] for start in range(len(framed) - 2)])
    return [*letters, *_shape_pieces(word.translate(_SHAPES), len(letters))]


@lru_cache(maxsize=4096)
def _shape_pieces(shape: str, count: int) -> tuple[int, ...]:
    """Return the buckets of the *shape* of a word: *count* parts in a row, and the whole. Many words share one."""
    framed = f"^{shape}$"
    runs = "".join(kind for kind, before in zip(shape, " " + shape, strict=False) if kind != before)
    found = [f"s{framed[start : start + 4]}" for start in range(count)]
    found += [
        f"r{runs[:12]}",
        "k" + "".join(sorted(set(shape))),
        f"l{min(len(shape), 40) // 2}",
        f"d{shape.count('d')}",
    ]
    return tuple(_buckets(found))


def ending_pieces(word: str) -> list[int]:
    """Return the buckets of a plain *word*: its letters in threes and fours, its endings, its capitals, its length."""
    word = word[:_LONGEST]
    framed = f"^{word.lower()}$"
    found = [f"{size}{framed[start : start + size]}" for size in (3, 4) for start in range(len(framed) - size + 1)]
    found += [f"e{size}{framed[-size - 1 :]}" for size in (2, 3, 4, 5)]
    found += ["whole" + framed, "c" + word[:1].translate(_SHAPES), f"l{min(len(word), 14)}"]
    return _buckets(found)


def _score(name: str, pieces: Sequence[int]) -> float:
    weights, scale, bias = _model(name)
    return bias + scale * weights.total(pieces)


@cache
def _model(name: str) -> tuple[WeightTable, float, float]:
    """Return the weights of a model, their unit and the bias. The first call reads the file."""
    stored = json.loads(Path(__file__).with_name("value_model.json").read_text("utf-8"))[name]
    return WeightTable(base64.b85decode(stored["weights"])), stored["scale"], stored["bias"]


def _buckets(pieces: Sequence[str]) -> list[int]:
    return [found % BUCKETS for found in feature_hashes(pieces)]


class _ValueShapes(dict[int, str]):
    """The kind of each character by its code point, for ``str.translate``."""

    def __missing__(self, code: int) -> str:
        character = chr(code)
        if character.isdigit():
            kind = "d"
        elif character.isalpha():
            kind = "U" if character.isupper() else "L"
        else:
            kind = character if character in "-_./:%@(" else "s"
        self[code] = kind
        return kind


_SHAPES = _ValueShapes()
