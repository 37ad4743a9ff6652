"""Two small trained models of single words: does a word look like a password, and does it describe one.

``password_likeness`` tells values that people and programs choose as secrets ("Trellis-0417-mango", "x9Kd!fLm2") from
words, names in code and versions. ``chosen_word_likeness`` judges plain words after "the password is": a thing that one
can choose ("sunflower") or a description ("expired"). Both are linear in hashed pieces of the word, in any language
with an alphabet. ``bench.training.secret_values`` makes the weights.
"""

import base64
import json
from collections.abc import Iterator
from functools import cache
from importlib import resources
from zlib import crc32

__all__ = ["BUCKETS", "chosen_word_likeness", "ending_pieces", "password_likeness", "value_pieces"]

BUCKETS = 4096
"""Number of weights. Pieces that share a bucket share its weight."""

_LONGEST = 64
"""Characters of a word that are examined."""


def password_likeness(word: str) -> float:
    """Return the log odds that *word* is a password or a key and not a word of a text."""
    return _score("value", value_pieces(word))


def chosen_word_likeness(word: str) -> float:
    """Return the log odds that the plain *word* was chosen as a password and does not describe one."""
    return _score("word", ending_pieces(word))


def value_pieces(word: str) -> Iterator[int]:
    """Yield the buckets of *word*: three letters in a row, shapes of characters, kinds of characters, length."""
    word = word[:_LONGEST]
    shape = "".join(map(_shape, word))
    framed, framed_shape = f"^{word.lower()}$", f"^{shape}$"
    for start in range(len(framed) - 2):
        yield _bucket("t" + framed[start : start + 3])
        yield _bucket("s" + framed_shape[start : start + 4])
    runs = "".join(kind for kind, before in zip(shape, " " + shape, strict=False) if kind != before)
    yield _bucket("r" + runs[:12])
    yield _bucket("k" + "".join(sorted(set(shape))))
    yield _bucket(f"l{min(len(word), 40) // 2}")
    yield _bucket(f"d{sum(kind == 'd' for kind in shape)}")


def ending_pieces(word: str) -> Iterator[int]:
    """Yield the buckets of a plain *word*: its letters in threes and fours, its endings, its capitals, its length."""
    word = word[:_LONGEST]
    framed = f"^{word.lower()}$"
    for size in (3, 4):
        for start in range(len(framed) - size + 1):
            yield _bucket(f"{size}" + framed[start : start + size])
    for size in (2, 3, 4, 5):
        yield _bucket(f"e{size}" + framed[-size - 1 :])
    yield _bucket("whole" + framed)
    yield _bucket("c" + _shape(word[0]) if word else "c")
    yield _bucket(f"l{min(len(word), 14)}")


def _score(name: str, pieces: Iterator[int]) -> float:
    weights, scale, bias = _model(name)
    return bias + scale * sum(weights[piece] for piece in pieces)


@cache
def _model(name: str) -> tuple[tuple[int, ...], float, float]:
    """Return the weights of a model, their unit and the bias. The first call reads the file."""
    stored = json.loads(resources.files("guard.secrets").joinpath("value_model.json").read_text("utf-8"))[name]
    raw = base64.b85decode(stored["weights"])
    return tuple(byte - 256 if byte > 127 else byte for byte in raw), stored["scale"], stored["bias"]


def _bucket(piece: str) -> int:
    return crc32(piece.encode("utf-8", "replace")) % BUCKETS


def _shape(character: str) -> str:
    if character.isdigit():
        return "d"
    if character.isalpha():
        return "U" if character.isupper() else "L"
    return character if character in "-_./:%@(" else "s"
