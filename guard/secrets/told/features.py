"""Hashed features of a candidate for a told secret: its form, the signs beside it, and the words around it.

A word counts by its letters in threes, fours and fives in the whole window, and by its first letters with its side and
its distance from the candidate. So forms and compounds of a word in any language share features, and no list of words
is needed. A feature is the number of a bucket.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from operator import add
from typing import NamedTuple
from zlib import crc32

from guard.lazy_regex import lazy_regex
from guard.secrets.told.candidates import EASTERN, UNSPACED, Candidate, Kind, token_kind, tokens
from guard.secrets.value_model import chosen_word_likeness, password_likeness
from guard.text.canonical import folded
from guard.weight_table import feature_hashes

__all__ = [
    "CONTEXT_BUCKETS",
    "FARTHEST",
    "FORM_BUCKETS",
    "OTHER_SENTENCE",
    "TextWords",
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
FARTHEST = 6
"""Distance in words from which all words of the same sentence count alike."""

OTHER_SENTENCE = 16
"""Words on either side up to which another sentence counts."""

_IDEOGRAPHS = lazy_regex(r"[\u3040-\u30ff\u3400-\u9fff]+")
_RUN = lazy_regex(rf"{_IDEOGRAPHS.pattern}|[{UNSPACED}]|[\uac00-\ud7a3]+|[^\s{EASTERN}]+")

_BREAK = lazy_regex(r"[.!?。！？…]+(?=\s|$|[\"'”»」』)])|[。！？\n]")
_CODE = lazy_regex(r"\(\)|\{|\};|==|//|::|->|`")
_LETTERS = lazy_regex(r"[^\W\d_]+(?:['’][^\W\d_]+)*")
_SAME_KIND = lazy_regex(r"(.)\1+")
_DIGITS = lazy_regex(r"\D")

_GROUPS = {Kind.HYPHENATED: Kind.WORD}


class WordKeys(NamedTuple):
    """Hashes of a word, each smaller than ``CONTEXT_BUCKETS``: all its pieces, its first letters, the whole."""

    pieces: list[int]
    stems: list[int]
    whole: int


class ToldContext(NamedTuple):
    """The text around a candidate, cut to its neighbourhood.

    ``left`` and ``right`` hold words, the nearest first. The first ``same_left`` and ``same_right`` of them are in the
    same sentence.
    """

    left: list[str]
    right: list[str]
    same_left: int
    same_right: int
    flags: list[str]


def group_of(kind: str) -> str:
    """Return the kind whose features a candidate of *kind* shares."""
    return _GROUPS.get(kind, kind)


# ------------------------------------------------------------------------------------------------------------- form


def form_buckets(value: str, kind: str) -> list[int]:
    """Return the buckets of the form of *value*: kinds of characters in order, length, letters, likeness to words."""
    group = group_of(kind)
    shape = value[:48].translate(_SHAPES)
    found = [_form("kind" + kind), *_shape_buckets(shape, len(value), group)]
    if kind in {Kind.NUMBER, Kind.SHORT}:
        return found + _forms([group + part for part in _number_form(value)])
    framed = f"^{value.lower()[:24]}$"
    parts = ["letters" + gram for gram in {framed[start : start + 3] for start in range(len(framed) - 2)}]
    parts += [f"{group}sign{sign}" for sign in set(value) if not sign.isalnum()]
    parts.append(group + ("ending" + value.rpartition(".")[2][-5:] if "." in value else "whole"))
    if kind == Kind.GROUPS:
        parts += _group_form(value)
    elif kind != Kind.MIXED:
        parts += [group + part for part in word_form(value)]
    likeness = max(-12, min(12, round(password_likeness(value))))
    return [
        *found, *_shape_grams(shape, len(framed) - 3), *_likeness_buckets(likeness, group), *_forms(parts),
    ]  # fmt: skip


@lru_cache(maxsize=4096)
def _shape_buckets(shape: str, length: int, group: str) -> tuple[int, ...]:
    """Return the buckets of the *shape* as a whole. Many values share one."""
    runs = _SAME_KIND.sub(r"\1", shape)
    kinds = "".join(sorted({sign if sign in "dUL-_./:@ " else "s" for sign in shape}))
    found = (
        f"form{shape if len(shape) < 10 else runs[:14]}", f"runs{runs[:12]}", f"first{runs[:3]}", f"kinds{kinds}",
        f"length{min(length, 30)}", f"digits{min(shape.count('d'), 9)}",
        f"signs{min(sum(sign not in 'dUL' for sign in shape), 6)}",
    )  # fmt: skip
    return tuple(_forms([group + feature for feature in found]))


@lru_cache(maxsize=4096)
def _shape_grams(shape: str, count: int) -> tuple[int, ...]:
    framed = f"^{shape}$"
    return tuple(_form("shape" + gram) for gram in {framed[start : start + 4] for start in range(count)})


@lru_cache(maxsize=256)
def _likeness_buckets(likeness: int, group: str) -> tuple[int, ...]:
    return tuple(_form(f"{group}likeness{step}") for step in range(-12, likeness + 1, 2))


def _number_form(value: str) -> list[str]:
    digits = _DIGITS.sub("", value)
    return [
        f"zero{digits[:1] == '0'}", f"count{len(digits)}", "between" + "".join(sorted(set(value) - set(digits))),
        f"year{len(digits) == 4 and digits[:2] in {'19', '20'}}", f"round{len(digits) - len(digits.rstrip('0'))}",
        f"different{len(set(digits))}",
    ]  # fmt: skip


def _group_form(value: str) -> list[str]:
    groups = value.replace("-", " ").split(" ")
    sizes = set(map(len, groups))
    return [
        f"groups{min(len(groups), 8)}", f"even{len(sizes) == 1}", f"size{min(max(sizes), 9)}", f"space{' ' in value}",
        f"digits{value.replace('-', '').replace(' ', '').isdigit()}", f"upper{value.isupper()}lower{value.islower()}",
        f"mixed{sum(not group.isdigit() and not group.isalpha() for group in groups) * 3 // len(groups)}",
    ]  # fmt: skip


def word_form(value: str) -> list[str]:
    words = _LETTERS.findall(value)
    likeness = sum(map(chosen_word_likeness, words[:8])) / max(1, len(words[:8]))
    return [
        *(f"chosen{step}" for step in range(-6, min(7, int(likeness // 1) + 1))),
        f"words{min(len(words), 9)}", f"capitals{value[:1].isupper()}{value[1:] != value[1:].lower()}",
        f"ascii{value.isascii()}",
    ]  # fmt: skip


class _Shapes(dict[int, str]):
    """The kind of each character by its code point, for ``str.translate``. Signs are their own kind."""

    def __missing__(self, code: int) -> str:
        character = chr(code)
        kind = character
        if character.isdigit():
            kind = "d"
        elif character.isalpha():
            kind = "U" if character.isupper() else "L"
        self[code] = kind
        return kind


_SHAPES = _Shapes()


# ------------------------------------------------------------------------------------------------------------ place


class TextWords:
    """The words around the *candidates* of a text, each found once.

    A run is a part of the text between spaces or between two scripts. The words of run *n* begin at index
    ``_firsts[n]`` of the lists of places and names.
    """

    def __init__(self, text: str, candidates: Iterable[Candidate]) -> None:
        self.text = text
        self._starts: list[int] = []
        self._ends: list[int] = []
        self._firsts: list[int] = []
        self._places: list[int] = []
        self._names: list[str] = []
        for first, last in _neighbourhoods(text, candidates):
            for run in _RUN.finditer(text, first, last):
                start, end = run.span()
                self._starts.append(start)
                self._ends.append(end)
                self._firsts.append(len(self._places))
                word = run[0]
                if word.isascii() and word.isalpha():  # most runs, so this saves the call
                    self._places.append(start)
                    self._names.append(word.lower())
                else:
                    self._add_words(self._places, self._names, start, end)
        self._firsts.append(len(self._places))

    def between(self, start: int, end: int) -> tuple[list[int], list[str]]:
        """Return the places and the names of the words between *start* and *end*. A run may be cut at either."""
        first, last = bisect_right(self._ends, start), bisect_left(self._starts, end)
        places: list[int] = []
        names: list[str] = []
        if first < last and self._starts[first] < start:
            self._add_words(places, names, start, min(self._ends[first], end))
            first += 1
        is_cut = first < last and self._ends[last - 1] > end
        whole = slice(self._firsts[first], self._firsts[last - is_cut]) if first < last else slice(0)
        places += self._places[whole]
        names += self._names[whole]
        if is_cut:
            self._add_words(places, names, self._starts[last - 1], end)
        return places, names

    def _add_words(self, places: list[int], names: list[str], start: int, end: int) -> None:
        run, following = self.text[start:end], self.text[end : end + 1]
        if following and not _is_ideographic(following):
            following = ""
        if _IDEOGRAPHS.match(run):  # each is a word, and has the next one with it
            places += range(start, end)
            names += map(add, run, run[1:])
            names.append(run[-1] + following)
            return
        for place, name in _words_of_run(run, following):
            places.append(start + place)
            names.append(name)


def _neighbourhoods(text: str, candidates: Iterable[Candidate]) -> Iterator[tuple[int, int]]:
    """Yield the spans around *candidates*, which are in order, without overlap."""
    begin, stop = 0, -1
    for start, end, _ in candidates:
        first, last = max(0, start - _LEFT_CHARS), min(len(text), end + _RIGHT_CHARS)
        if first > stop:
            if stop >= 0:
                yield begin, stop
            begin = first
        stop = max(stop, last)
    if stop >= 0:
        yield begin, stop


def window_of(words: TextWords, candidate: Candidate) -> ToldContext:
    """Return the words and the marks around *candidate* in the text of *words*."""
    text, (start, end, _) = words.text, candidate
    begin, stop = max(0, start - _LEFT_CHARS), min(len(text), end + _RIGHT_CHARS)
    sentence_start, sentence_end = begin, stop
    first_break = last_break = False
    for found in _BREAK.finditer(text, begin, start):
        sentence_start, first_break = found.start() + 1, True
    if (following := _BREAK.search(text, end, stop)) is not None:
        sentence_end, last_break = following.start(), True
    places, names = words.between(begin, start)
    same_left = len(places) - bisect_left(places, sentence_start)
    if begin and places and text[begin - 1].isalnum() and text[begin].isalnum():
        del names[0]  # the rest of a word that began before
    left = names[: -_LEFT_WORDS - 1 : -1]
    places, names = words.between(end, stop)
    same_right, right = bisect_left(places, sentence_end), names[:_RIGHT_WORDS]
    mark = text[sentence_end : sentence_end + 1] if last_break else ""
    signs = [word[0] for word in (*left, *right)]
    flags = [f"count{min(len(signs) // 6, 7)}", f"mixed{min(4, signs.count('@'))}"]
    flags.append(f"numbers{min(4, signs.count('#'))}")
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
    return ToldContext(left, right, min(same_left, len(left)), min(same_right, len(right)), flags)


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


@lru_cache(maxsize=8192)
def _words_of_run(run: str, following: str) -> tuple[tuple[int, str], ...]:
    """Return the place and the name of each word of a *run* without spaces, before an ideograph or nothing."""
    return tuple((first, _word(run + following, first, last)) for first, last in tokens(run, 0, len(run)))


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
        yield from _place_pair(feature, group)


@lru_cache(maxsize=4096)
def _place_pair(feature: str, group: str) -> tuple[int, int]:
    return _form("place" + feature), _form("place" + group + feature)


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
    left = [whole[word] for word in window.left[:2]] + [1, 2]
    right = [whole[word] for word in window.right[:2]] + [3, 4]
    for number, (one, other) in enumerate(((left[0], left[1]), (left[0], right[0]), (right[0], right[1])), 1):
        yield (one * 0x9E3779B1 >> 7 ^ other * 0x85EBCA6B >> 3 ^ number * 0x3C6EF) & _MASK


def context_buckets(window: ToldContext, group: str) -> Iterator[int]:
    """Yield all buckets of the words around a candidate, as the training counts them."""
    keys = {word: word_keys(word) for word in (*window.left, *window.right)}
    for side, words, same in (("L", window.left, window.same_left), ("R", window.right, window.same_right)):
        for distance, word in enumerate(words, 1):
            if distance <= same:
                yield from keys[word].pieces
                for mask in zone_masks(side, min(distance, FARTHEST), group):
                    yield from (stem ^ mask for stem in keys[word].stems)
            elif distance <= OTHER_SENTENCE:
                yield from (stem ^ other_mask(side) for stem in keys[word].stems)
    yield from neighbour_buckets(window, {word: found.whole for word, found in keys.items()})


def _forms(features: Sequence[str]) -> list[int]:
    return [found & _FORM_MASK for found in feature_hashes(features)]


def _form(feature: str) -> int:
    return crc32(feature.encode("utf-8", "replace")) & _FORM_MASK
