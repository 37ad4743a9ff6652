"""Places in turns where a word of a line is said: the same word, another form of it, or a word that means the same.

A name must be the same. Another word may share its stem or most of its letters ("allergic" and "allergy"), or stand
in one group of ``restatement_synonyms``. Chinese is matched by the longest common run of characters, because nothing
here cuts it into words.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache

from recall.text.stems import stem
from recall.text.word_tables import stop_words, table_lines, word_table

from .marked_clauses import MarkedText

__all__ = ["Place", "SaidWords", "is_light", "is_light_han", "light_phrase_length"]

#: Number of the text and place in it.
Place = tuple[int, int]

#: Least common beginning of two forms of one word, as letters and as a share of the longer form.
_PREFIX_CHARS = 4
_PREFIX_SHARE = 0.6
#: Most letters behind the common beginning: the ending of a form.
_ENDING_CHARS = 4
#: Most places that are kept for one word.
_MOST_PLACES = 24


@dataclass(frozen=True, slots=True, kw_only=True)
class SaidWords:
    """The words of *texts*, indexed by their forms, and the Chinese of each text."""

    texts: tuple[MarkedText, ...]
    forms: Mapping[str, tuple[Place, ...]]
    stems: Mapping[str, tuple[Place, ...]]
    first: Mapping[str, tuple[str, ...]]

    @classmethod
    def of(cls, texts: Sequence[MarkedText]) -> SaidWords:
        """Index the words of *texts*."""
        forms: dict[str, list[Place]] = defaultdict(list)
        stems: dict[str, list[Place]] = defaultdict(list)
        for number, text in enumerate(texts):
            for word in text.words:
                if not word.text[0].isascii() and not word.text[0].isalpha():
                    continue
                for form in _forms(word.text):
                    forms[form].append((number, word.start))
                stems[_stem(word.text)].append((number, word.start))
        first: dict[str, list[str]] = defaultdict(list)
        for form in forms:
            first[form[:_PREFIX_CHARS]].append(form)
        return cls(
            texts=tuple(texts),
            forms={form: tuple(places) for form, places in forms.items()},
            stems={key: tuple(places) for key, places in stems.items()},
            first={key: tuple(values) for key, values in first.items()},
        )

    def places(self, word: str, *, name: bool = False) -> tuple[Place, ...]:
        """Return where *word* is said, or a word that means the same. A *name* has no other forms."""
        found = [place for form in _forms(word) for place in self.forms.get(form, ())]
        if not found:
            found = list(self.stems.get(_stem(word), ()))
        if not found:
            found = [place for other in _synonyms(word) for place in self.forms.get(other, ())]
        if not found and not name:
            found = [
                place
                for form in self.first.get(word[:_PREFIX_CHARS], ())
                if _is_form(word, form)
                for place in self.forms[form]
            ]
        return tuple(dict.fromkeys(found))[:_MOST_PLACES]

    def han_places(self, run: str, at: int) -> tuple[int, tuple[Place, ...]]:
        """Return the length of the longest part of *run* from *at* that is said, and its places."""
        best, places = 0, list[Place]()
        for number, text in enumerate(self.texts):
            length = best if best and run[at : at + best] in text.text else 0
            while at + length < len(run) and run[at : at + length + 1] in text.text:
                length += 1
            if length > best:
                best, places = length, []
            if length and length == best:
                places += [(number, place) for place in _all_places(text.text, run[at : at + length])]
        return best, tuple(places[:_MOST_PLACES])

    def han_synonym(self, run: str, at: int) -> tuple[int, tuple[Place, ...]]:
        """Return the length and places of a phrase of *run* from *at* whose synonym is said."""
        for length in range(min(4, len(run) - at), 0, -1):
            others = _synonyms(run[at : at + length])
            places = [
                (number, place)
                for number, text in enumerate(self.texts)
                for other in others
                for place in _all_places(text.text, other)
            ]
            if places:
                return length, tuple(places[:_MOST_PLACES])
        return 0, ()


def is_light(word: str) -> bool:
    """Return whether an English word adds nothing of its own to a restatement."""
    plain = word.casefold()
    base = plain.removesuffix("'s").removesuffix("'")
    table = _light_words()
    return plain in table or base in table or len(base) <= 1


def light_phrase_length(run: str, at: int) -> int:
    """Return the length of the longest light Chinese phrase in *run* from *at*, or 0."""
    phrases = _light_phrases()
    return next((length for length in range(min(4, len(run) - at), 0, -1) if run[at : at + length] in phrases), 0)


def is_light_han(run: str) -> bool:
    """Return whether *run* is made of light Chinese phrases."""
    at = 0
    while at < len(run):
        length = light_phrase_length(run, at)
        if not length:
            return False
        at += length
    return True


@cache
def _light_words() -> frozenset[str]:
    return stop_words("statement") | word_table("restatement_light_words") | word_table("negations")


@cache
def _light_phrases() -> frozenset[str]:
    return word_table("restatement_light_phrases")


@cache
def _groups() -> Mapping[str, frozenset[str]]:
    """Map each word to the words of its groups. English words are known by their stems as well."""
    found: dict[str, set[str]] = defaultdict(set)
    for line in table_lines("restatement_synonyms"):
        words = line.split()
        for word in words:
            found[word].update(words)
            found[_stem(word)].update(words)
    return {word: frozenset(others) for word, others in found.items()}


def _synonyms(word: str) -> Iterable[str]:
    groups = _groups()
    plain = word.casefold().removesuffix("'s")
    return sorted((groups.get(plain, frozenset()) | groups.get(_stem(plain), frozenset())) - {plain})


@lru_cache(maxsize=8192)
def _forms(word: str) -> tuple[str, ...]:
    plain = word.casefold()
    return tuple(dict.fromkeys((plain, plain.removesuffix("'s").removesuffix("'"))))


@lru_cache(maxsize=8192)
def _stem(word: str) -> str:
    plain = word.casefold().removesuffix("'s").removesuffix("'")
    return stem(plain) if plain.isascii() else plain


def _is_form(word: str, other: str) -> bool:
    length = max(len(word), len(other))
    common = 0
    while common < min(len(word), len(other)) and word[common] == other[common]:
        common += 1
    return (
        common >= _PREFIX_CHARS
        and common >= _PREFIX_SHARE * length
        and max(len(word), len(other)) - common <= _ENDING_CHARS
        and word[-1].isalpha()
    )


def _all_places(text: str, part: str) -> Iterator[int]:
    at = text.find(part)
    count = 0
    while at >= 0 and count < _MOST_PLACES:
        yield at
        count += 1
        at = text.find(part, at + 1)
