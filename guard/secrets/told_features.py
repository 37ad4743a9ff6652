"""Hashed features of a candidate for a told secret: its form, the signs beside it, and the words around it.

A word counts by its letters in threes, fours and fives in the whole window, and by its first letters with its side and
its distance from the candidate. So forms and compounds of a word in any language share features, and no list of words
is needed. A feature is the number of a bucket.
"""

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple
from zlib import crc32

from guard.secrets.told_candidates import Candidate, Kind, token_kind, tokens
from guard.secrets.value_model import chosen_word_likeness, password_likeness
from guard.text.canonical import folded

__all__ = [
    "CONTEXT_BUCKETS",
    "FORM_BUCKETS",
    "OTHER_SENTENCE",
    "ToldContext",
    "WordKeys",
    "context_buckets",
    "form_buckets",
    "group_of",
    "neighbour_buckets",
    "other_mask",
    "place_buckets",
    "window_of",
    "word_form",
    "word_keys",
    "zone_masks",
]

FORM_BUCKETS = 1 << 14
"""Buckets of the form and the place of a candidate. A power of two."""

CONTEXT_BUCKETS = 1 << 17
"""Buckets of the words around a candidate. A power of two."""

_MASK = CONTEXT_BUCKETS - 1
_FORM_MASK = FORM_BUCKETS - 1
_LEFT_CHARS, _RIGHT_CHARS = 150, 110
_LEFT_WORDS, _RIGHT_WORDS = 24, 20
OTHER_SENTENCE = 16
"""Words on either side up to which another sentence counts."""

_BREAK = re.compile(r"[.!?。！？…]+(?=\s|$|[\"'”»」』)])|[。！？\n]")
_CODE = re.compile(r"\(\)|\{|\};|==|//|::|->|`")
_LETTERS = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)*")
_SAME_KIND = re.compile(r"(.)\1+")
_DIGITS = re.compile(r"\D")

_GROUPS = {Kind.HYPHENATED: Kind.WORD}


class WordKeys(NamedTuple):
    """Hashes of a word, each smaller than ``CONTEXT_BUCKETS``: all its pieces, its first letters, the whole."""

    pieces: list[int]
    stems: list[int]
    whole: int


class ToldContext(NamedTuple):
    """The text around a candidate, cut to its neighbourhood.

    ``left`` and ``right`` hold ``(word, in the same sentence)``, the nearest first.
    """

    left: list[tuple[str, bool]]
    right: list[tuple[str, bool]]
    flags: list[str]


def group_of(kind: str) -> str:
    """Return the kind whose features a candidate of *kind* shares."""
    return _GROUPS.get(kind, kind)


# ------------------------------------------------------------------------------------------------------------- form


def form_buckets(value: str, kind: str) -> list[int]:
    """Return the buckets of the form of *value*: kinds of characters in order, length, letters, likeness to words."""
    group = group_of(kind)
    shape = "".join(map(_shape, value[:48]))
    runs = _SAME_KIND.sub(r"\1", shape)
    kinds = "".join(sorted({sign if sign in "dUL-_./:@ " else "s" for sign in shape}))
    found = [
        f"form{shape if len(shape) < 10 else runs[:14]}", f"runs{runs[:12]}", f"first{runs[:3]}", f"kinds{kinds}",
        f"length{min(len(value), 30)}", f"digits{min(shape.count('d'), 9)}",
        f"signs{min(sum(sign not in 'dUL' for sign in shape), 6)}",
    ]  # fmt: skip
    if kind == Kind.NUMBER:
        found += _number_form(value)
    else:
        likeness = max(-12, min(12, round(password_likeness(value))))
        found += [f"likeness{step}" for step in range(-12, likeness + 1, 2)]
        found += [f"sign{sign}" for sign in set(value) if not sign.isalnum()]
        found.append("ending" + value.rpartition(".")[2][-5:] if "." in value else "whole")
        if kind != Kind.MIXED:
            found += word_form(value)
    found = [group + feature for feature in found]
    if kind != Kind.NUMBER:
        framed, framed_shape = f"^{value.lower()[:24]}$", f"^{shape}$"
        found += ["letters" + framed[start : start + 3] for start in range(len(framed) - 2)]
        found += ["shape" + framed_shape[start : start + 4] for start in range(len(framed) - 3)]
    found.append("kind" + kind)
    return [crc32(feature.encode("utf-8", "replace")) & _FORM_MASK for feature in dict.fromkeys(found)]


def _number_form(value: str) -> list[str]:
    digits = _DIGITS.sub("", value)
    return [
        f"zero{digits[:1] == '0'}", f"count{len(digits)}", "between" + "".join(sorted(set(value) - set(digits))),
        f"year{len(digits) == 4 and digits[:2] in {'19', '20'}}", f"round{len(digits) - len(digits.rstrip('0'))}",
        f"different{len(set(digits))}",
    ]  # fmt: skip


def word_form(value: str) -> list[str]:
    words = _LETTERS.findall(value)
    likeness = sum(map(chosen_word_likeness, words[:8])) / max(1, len(words[:8]))
    return [
        *(f"chosen{step}" for step in range(-6, min(7, int(likeness // 1) + 1))),
        f"words{min(len(words), 9)}", f"capitals{value[:1].isupper()}{value[1:] != value[1:].lower()}",
        f"ascii{value.isascii()}",
    ]  # fmt: skip


def _shape(character: str) -> str:
    if character.isdigit():
        return "d"
    if character.isalpha():
        return "U" if character.isupper() else "L"
    return character


# ------------------------------------------------------------------------------------------------------------ place


def window_of(text: str, candidate: Candidate) -> ToldContext:
    """Return the words and the marks around *candidate* in *text*."""
    start, end, _ = candidate
    begin, stop = max(0, start - _LEFT_CHARS), min(len(text), end + _RIGHT_CHARS)
    sentence_start, sentence_end = begin, stop
    first_break = last_break = False
    for found in _BREAK.finditer(text, begin, start):
        sentence_start, first_break = found.start() + 1, True
    if (following := _BREAK.search(text, end, stop)) is not None:
        sentence_end, last_break = following.start(), True
    left = [(_word(text, *span), span[0] >= sentence_start) for span in tokens(text, begin, start)]
    if begin and left and text[begin - 1].isalnum() and text[begin].isalnum():
        del left[0]
    left = left[: -_LEFT_WORDS - 1 : -1]
    right = [(_word(text, *span), span[0] < sentence_end) for span in tokens(text, end, stop)][:_RIGHT_WORDS]
    mark = text[sentence_end : sentence_end + 1] if last_break else ""
    count = len(left) + len(right)
    flags = [f"count{min(count // 6, 7)}", f"mixed{min(4, sum(word[0] == '@' for word, _ in (*left, *right)))}"]
    flags.append(f"numbers{min(4, sum(word[0] == '#' for word, _ in (*left, *right)))}")
    flags += [
        name
        for name, holds in (
            ("alone", _line_rest(text, begin, start, end, stop) < 4), ("last", sentence_end - end <= 2),
            ("first", start - sentence_start <= 2), ("asked", mark in {"?", "？"}), ("called", mark == "!"),
            ("ends", len(text) - end <= 2), ("begins", start <= 2), ("several", first_break or last_break),
            ("colon", text.find(":", sentence_start, start) >= 0), ("code", _CODE.search(text, begin, stop)),
        )
        if holds
    ]  # fmt: skip
    return ToldContext(left, right, flags)


def _line_rest(text: str, begin: int, start: int, end: int, stop: int) -> int:
    """Return how many characters the line has beside the candidate, as far as the window goes."""
    before = text.rfind("\n", begin, start) + 1 or begin
    after = text.find("\n", end, stop)
    return start - before + (stop if after < 0 else after) - end


@lru_cache(maxsize=8192)
def _word_name(core: str) -> str:
    kind = token_kind(core)
    if kind == Kind.NUMBER:
        return f"#{min(len(core), 9)}"
    return core.lower() if kind in {Kind.WORD, Kind.HYPHENATED} else "@" + kind


def _word(text: str, start: int, end: int) -> str:
    """Return the name of a word: its letters, or its kind. An ideograph has the next one with it."""
    core = text[start:end]
    if len(core) == 1 and _is_ideographic(core) and end < len(text) and _is_ideographic(text[end]):
        return core + text[end]
    return _word_name(core)


def _is_ideographic(character: str) -> bool:
    return "\u3040" <= character <= "\u9fff"


def place_buckets(text: str, candidate: Candidate, window: ToldContext) -> Iterator[int]:
    """Yield the buckets of the signs right beside *candidate*, and of its place in the sentence."""
    start, end, kind = candidate
    group = group_of(kind)
    before, after = text[start - 1 : start] or "^", text[end : end + 1] or "$"
    left = text[max(0, start - 3) : start].strip()[-2:] or ("^" if start < 3 else "_")
    right = text[end : end + 3].strip()[:2] or ("$" if end + 3 >= len(text) else "_")
    for feature in (
        "b" + before, "a" + after, "left" + left, "right" + right, "l" + left[-1:], "r" + right[:1],
        "both" + left[-1:] + right[:1], *window.flags,
    ):  # fmt: skip
        yield _form("place" + feature)
        yield _form("place" + group + feature)


# ---------------------------------------------------------------------------------------------------------- context


def word_keys(word: str) -> WordKeys:
    """Return the hashes of *word*, which is in lower case."""
    word = folded(word)
    if len(word) <= 2 and word and _is_ideographic(word[0]):
        pieces = [crc32(part.encode()) & _MASK for part in dict.fromkeys((word[0], word))]
        return WordKeys(pieces, pieces, pieces[-1])
    data = f"<{word[:14]}>".encode("utf-16-le", "surrogatepass")
    whole = crc32(data + b"w") & _MASK
    pieces = [
        crc32(data[first : first + 2 * size]) & _MASK
        for size in (3, 4, 5)
        for first in range(0, len(data) - 2 * size + 1, 2)
    ]
    stems = [crc32(data[: 2 * size] + b"s") & _MASK for size in (4, 5, 6) if len(data) > 2 * size]
    return WordKeys([whole, *pieces], [whole, *stems], whole)


@lru_cache(maxsize=512)
def zone_masks(side: str, distance: int, group: str) -> tuple[int, ...]:
    """Return what is mixed into the stems of a word of the same sentence on a *side*, at a *distance* of 1 to 6."""
    near = ("1", "2", "3", "3", "3", "6")[distance - 1]
    nearer = ("1", "2", "2", "6", "6", "6")[distance - 1]
    return tuple(_zone(name) for name in (side + near, side + group + "g" + nearer, "bag" + group))


def other_mask(side: str) -> int:
    """Return what is mixed into the stems of a word of another sentence on a *side*."""
    return _zone("other" + side)


@lru_cache(maxsize=64)
def _zone(name: str) -> int:
    return crc32(b"zone" + name.encode()) & _MASK


def neighbour_buckets(window: ToldContext, whole: dict[str, int]) -> Iterator[int]:
    """Yield the buckets of two words together: both before, one on either side, both after. *whole* has their keys."""
    left = [whole[word] for word, _ in window.left[:2]] + [1, 2]
    right = [whole[word] for word, _ in window.right[:2]] + [3, 4]
    for number, (one, other) in enumerate(((left[0], left[1]), (left[0], right[0]), (right[0], right[1])), 1):
        yield (one * 0x9E3779B1 >> 7 ^ other * 0x85EBCA6B >> 3 ^ number * 0x3C6EF) & _MASK


def context_buckets(window: ToldContext, group: str) -> Iterator[int]:
    """Yield all buckets of the words around a candidate, as the training counts them."""
    keys = {word: word_keys(word) for word, _ in (*window.left, *window.right)}
    for side, words in (("L", window.left), ("R", window.right)):
        for distance, (word, same) in enumerate(words, 1):
            if same:
                yield from keys[word].pieces
                for mask in zone_masks(side, min(distance, 6), group):
                    yield from (stem ^ mask for stem in keys[word].stems)
            elif distance <= OTHER_SENTENCE:
                yield from (stem ^ other_mask(side) for stem in keys[word].stems)
    yield from neighbour_buckets(window, {word: found.whole for word, found in keys.items()})


def _form(feature: str) -> int:
    return crc32(feature.encode("utf-8", "replace")) & _FORM_MASK
