"""Plain words and phrases told as secrets: "the wifi password is lighthouse", «unser Losungssatz: Nebel küsst Laterne».

Such a value looks like any word, so only passages that may tell one are examined (``guard.secrets.told.passages``). A
candidate is a word or a run of words. This module finds the candidates and their features, to which the names of
credentials nearby belong (``credential_names.toml``, table *plain*). ``guard.secrets.told.model`` judges them: whether
the sentence tells a value, and which of its words are the value.
"""

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from functools import cache, lru_cache
from itertools import islice, pairwise
from typing import NamedTuple
from zlib import crc32

from guard.lazy_regex import lazy_regex
from guard.secrets.pattern import Re2Pattern, compile_pattern
from guard.secrets.told.candidates import Kind, token_kind, tokens
from guard.secrets.told.features import CONTEXT_BUCKETS, FORM_BUCKETS, word_form, word_keys
from guard.secrets.told.passages import PassageModel, passage_model
from guard.secrets.told.rules import vocabulary
from guard.text.canonical import TextVariant

__all__ = [
    "PlainCandidate",
    "PlainRegion",
    "RegionWord",
    "bag_buckets",
    "plain_candidates",
    "plain_regions",
    "word_bag",
]

_MASK = CONTEXT_BUCKETS - 1
_FORM_MASK = FORM_BUCKETS - 1

_MOST_TOKENS = 90
"""Words of a region that are examined."""

_MOST_WORDS, _MOST_ENDS = 8, 4
"""Words of a phrase, and ends of a clause at which a phrase may end."""

_MOST_RUN = 12
"""Characters of a word in a script without spaces."""

_SENTENCE = lazy_regex(r"[.!?。！？…]+(?=\s|$|[\"'”»」』)])|[。！？\n]")
_CLAUSE = lazy_regex(r"[,;:.!?()\[\]{}«»„“”\"、。，：；！？「」『』（）\n=|/]|\s[-–—>]+\s|->")
_WORD = lazy_regex(r"[^\W\d_]+(?:[-'’][^\W\d_]+)*")
_JOINED_BEFORE = lazy_regex(r"[\d_@#$%&+~^]$|[^\W_][.!?*]$")
_JOINED_AFTER = lazy_regex(r"[\d_@#$%&+~^]|[.!?*'’-][^\W_]")
_UNSPACED = "\u0e00-\u0eff\u3040-\u30ff\u3400-\u9fff"
_RUN = lazy_regex(rf"[{_UNSPACED}]{{2,}}")
_STARTS = lazy_regex(r"(?<=[是为為成叫用写填設设输打说就答はがをもにとで])")
_ENDS = lazy_regex(r"です|でした|だ|って|という|にして|に|と|で|を|も|が|は|了|就|的|吧|也|能|进|來|来")
_KOREAN_END = lazy_regex(
    r"(?<=[가-힣]{2})(?:이라고|라고|입니다|이에요|예요|이래|이야|으로|로|야|래|을|를|은|는|이|가|에|면|랑|만)$"
)


class PlainRegion(NamedTuple):
    """A part of a text that may tell a secret: its words, and the places of the names of credentials in it."""

    text: str
    start: int
    end: int
    names: Sequence[tuple[int, int]]
    words: list["RegionWord"]


class RegionWord(NamedTuple):
    """A word of a region: its span, what it counts as, and the number of its sentence."""

    start: int
    end: int
    name: str
    sentence: int


def plain_regions(variant: TextVariant, passages: PassageModel | None = None) -> Iterator[PlainRegion]:
    """Yield the parts of *variant* that may tell a plain secret, in order and without overlap.

    *passages* finds them. Without it, the bundled model does.
    """
    text = variant.text
    spans = (passages or passage_model()).passages(text)
    names = [span for (span,) in _names().matches(variant)] if spans else []
    for start, end in spans:
        inside = [name for name in names if start <= name[0] < end]
        yield PlainRegion(text, start, end, inside, _region_words(text, start, end))


@cache
def _names() -> Re2Pattern:
    return compile_pattern("told-word", f"(?i){'|'.join(vocabulary()['plain']['names'])}")


def _region_words(text: str, start: int, end: int) -> list[RegionWord]:
    breaks = [found.start() for found in _SENTENCE.finditer(text, start, end)]
    return [
        RegionWord(first, last, _word_name(text, first, last), bisect_left(breaks, first))
        for first, last in islice(tokens(text, start, end), _MOST_TOKENS)
    ]


def _word_name(text: str, start: int, end: int) -> str:
    core = text[start:end]
    if end - start == 1 and "\u3040" <= core <= "\u9fff":
        return core + text[end] if end < len(text) and "\u3040" <= text[end] <= "\u9fff" else core
    kind = token_kind(core)
    if kind == Kind.NUMBER:
        return f"#{min(end - start, 9)}"
    return core.lower() if kind in {Kind.WORD, Kind.HYPHENATED} else "@" + kind


# ------------------------------------------------------------------------------------------------------- candidates


def _candidates(region: PlainRegion) -> Iterator[tuple[int, int]]:
    """Yield the spans of words and phrases that may be a value, each once."""
    text, seen = region.text, set[tuple[int, int]]()
    for first, last in _clauses(text, region.start, region.end):
        words = [match.span() for match in _WORD.finditer(text, first, last)]
        for span in (*_words_of(text, words), *_phrases_of(text, words)):
            if span not in seen:
                seen.add(span)
                yield span
    for run in _RUN.finditer(text, region.start, region.end):
        for span in _eastern_parts(text, *run.span()):
            if span not in seen:
                seen.add(span)
                yield span


def _clauses(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    edges = [start, *(edge for found in _CLAUSE.finditer(text, start, end) for edge in found.span()), end]
    for first, last in pairwise(edges):
        if last - first > 1:
            yield first, last


def _words_of(text: str, words: Sequence[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    for first, last in words:
        if last - first >= 2 and not "\u0e00" <= text[first] <= "\u9fff":
            if last - first >= 3 or "\uac00" <= text[first] <= "\ud7a3":
                yield first, last
            if "\uac00" <= text[first] <= "\ud7a3" and (ending := _KOREAN_END.search(text[first:last])) is not None:
                yield first, first + ending.start()


def _phrases_of(text: str, words: Sequence[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Yield runs of words with single spaces between them that end at or near the end of the clause."""
    for last in range(len(words) - 1, max(0, len(words) - 1 - _MOST_ENDS), -1):
        for first in range(last - 1, max(-1, last - _MOST_WORDS), -1):
            if text[words[first][1] : words[first + 1][0]] != " ":
                break
            yield words[first][0], words[last][1]


def _eastern_parts(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Yield parts of a run without spaces, from a particle or another script to another one."""
    changes = [index for index in range(start + 1, end) if _script(text[index - 1]) != _script(text[index])]
    starts = {start, *changes, *(found.start() for found in _STARTS.finditer(text, start, end))}
    ends = {end, *changes, *(found.start() for found in _ENDS.finditer(text, start, end))}
    for first in sorted(starts):
        for last in sorted(ends):
            if 2 <= last - first <= _MOST_RUN:
                yield first, last


def _script(character: str) -> int:
    return 0 if character <= "\u309f" else 1 if character <= "\u30ff" else 2


# --------------------------------------------------------------------------------------------------------- features


class PlainCandidate(NamedTuple):
    """A word or a phrase that may be a value: its span, its words in the region, and its buckets.

    ``form`` holds the buckets of its form and its place, ``context`` those of the words right beside it.
    """

    start: int
    end: int
    first: int
    upto: int
    form: list[int]
    context: list[int]


def plain_candidates(region: PlainRegion) -> Iterator[PlainCandidate]:
    """Yield the words and the phrases in *region* that may be a value."""
    words = region.words
    starts = [word.start for word in words]
    for start, end in _candidates(region):
        first, upto = bisect_left(starts, start), bisect_left(starts, end)
        if (
            upto <= first
            or _is_part(region.text, start, end)
            or any(start <= name[0] and name[1] <= end for name in region.names)
        ):
            continue
        value = region.text[start:end]
        form = [*_value_form(value), *map(_form, _place(region, start, end, first, upto))]
        yield PlainCandidate(start, end, first, upto, form, list(_context(words, first, upto, phrase=" " in value)))


def _is_part(text: str, start: int, end: int) -> bool:
    """Return whether ``text[start:end]`` is a part of a word with digits or signs in it."""
    before, after = text[max(0, start - 2) : start], text[end : end + 2]
    return _JOINED_BEFORE.search(before) is not None or _JOINED_AFTER.match(after) is not None


def bag_buckets(words: Sequence[RegionWord], candidate: PlainCandidate) -> Iterator[int]:
    """Yield the buckets of all words of a region that are not in *candidate*, wherever they stand."""
    sentence = words[candidate.first].sentence
    for index, word in enumerate(words):
        if not candidate.first <= index < candidate.upto:
            yield from word_bag(word.name, same=word.sentence == sentence)


def _context(words: Sequence[RegionWord], first: int, upto: int, *, phrase: bool) -> Iterator[int]:
    """Yield the buckets of the words beside the candidate ``words[first:upto]``."""
    sentence, kind = words[first].sentence, "p" if phrase else "w"
    left = [word.name for word in reversed(words[max(0, first - 4) : first]) if word.sentence == sentence]
    right = [word.name for word in words[upto : upto + 3] if word.sentence == sentence]
    for side, names in (("L", left), ("R", right)):
        for distance, name in enumerate(names, 1):
            place = side + ("1", "2", "3", "3")[distance - 1]
            keys = word_keys(name).stems
            yield from (key ^ _zone(place) for key in keys)
            if distance == 1:
                yield from (key ^ _zone(place + kind) for key in keys)
    beside = [*left[:2], "^", "^"][:2] + [*right[:2], "$", "$"][:2]
    for number, (one, other) in enumerate(((0, 1), (0, 2), (2, 3))):
        yield crc32(f"{number}{beside[one]} {beside[other]}".encode("utf-8", "replace")) & _MASK


@lru_cache(maxsize=8192)
def word_bag(name: str, *, same: bool) -> tuple[int, ...]:
    """Return the buckets of a word of the same sentence as a candidate, or of another one."""
    keys = word_keys(name)
    return tuple(keys.pieces) if same else tuple(stem ^ _zone("other") for stem in keys.stems)


@lru_cache(maxsize=8192)
def _value_form(value: str) -> tuple[int, ...]:
    words = _WORD.findall(value)
    kind = "p" if len(words) > 1 else "w"
    shape = ("U" if value[:1].isupper() else "L") + ("U" if value[1:] != value[1:].lower() else "L")
    framed = f"^{value.lower()[:24]}$"
    found = [
        *word_form(value), "kind" + kind, f"shape{shape}", f"length{min(len(value), 24)}",
        *("self" + word.lower() for word in words[:8]), "first" + framed[1:5], "last" + framed[-5:],
        f"script{_writing(value)}",
    ]  # fmt: skip
    found += ["letters" + framed[start : start + 3] for start in range(len(framed) - 2)]
    return tuple(_form(kind + feature) for feature in dict.fromkeys(found))


def _writing(value: str) -> str:
    first = value[:1]
    if first < "\u0250":
        return "a" if value.isascii() else "l"
    if first < "\u0530":
        return "c"
    return "k" if "\uac00" <= first <= "\ud7a3" else "j" if "\u3040" <= first <= "\u30ff" else "e"


def _place(region: PlainRegion, start: int, end: int, first: int, upto: int) -> Iterator[str]:
    """Yield what the place of a candidate says: signs beside it, its distance from the name, its sentence."""
    text, words, sentence = region.text, region.words, region.words[first].sentence
    before = text[words[first - 1].end if first else region.start : start]
    after = text[end : words[upto].start if upto < len(words) else region.end]
    left, right = _sign(before, "^"), _sign(after[::-1], "$")
    near, same, foreign, eastern = "none", False, _writing(text[start:end])[0], text[start] > "\u0e00"
    if region.names:
        nearest = min(region.names, key=lambda name: max(start - name[1], name[0] - end))
        side = "a" if nearest[0] < start else "b"
        between = bisect_left(words, nearest[1], key=lambda word: word.start)
        between = first - between if side == "a" else bisect_left(words, nearest[0], key=lambda word: word.start) - upto
        near = side + str(min(max(between, 0), 4) if between < 5 else 6 if between < 9 else 9)
        same = any(word.sentence == sentence for word in words if word.start <= nearest[0] < word.end)
        eastern = text[nearest[0]] > "\u0e00"
        foreign += _writing(text[nearest[0] : nearest[1]])
    kind = ("p" if " " in text[start:end] else "w") + ("e" if eastern else "")
    rest = sum(word.sentence == sentence for word in words[upto : upto + 9])
    ahead = sum(word.sentence == sentence for word in words[max(0, first - 9) : first])
    for feature in (
        "l" + left, "r" + right, "b" + left + right, "n" + near + str(same), "f" + foreign,
        f"rest{rest}", f"ahead{ahead}", f"n{near}{left}{right}", f"n{near}rest{min(rest, 2)}",
    ):  # fmt: skip
        yield "place" + feature
        yield "place" + kind + feature


def _sign(between: str, none: str) -> str:
    """Return up to two signs between a candidate and its neighbour, the nearest last."""
    signs = "".join(character for character in between if not character.isspace() and not character.isalnum())
    return signs[-2:] or ("_" if between.strip(" ") == "" and between else "n" if between else none)


@lru_cache(maxsize=64)
def _zone(name: str) -> int:
    return crc32(b"plain" + name.encode()) & _MASK


@lru_cache(maxsize=16384)
def _form(feature: str) -> int:
    return crc32(feature.encode("utf-8", "replace")) & _FORM_MASK
