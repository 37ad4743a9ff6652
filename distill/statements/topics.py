"""Topics of a conversation: the few terms that its messages share, without a model.

Words and identifiers in letters of any script, acronyms, quoted names and runs of Chinese characters are counted by the
number of messages they stand in. A Chinese phrase that is always part of a longer one gives way to it. The same
messages give the same terms.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Sequence
from functools import cache, lru_cache

from guard.lazy_regex import lazy_regex
from recall.text.han import HAN
from recall.text.word_tables import stop_words, word_table

from .sentences import prose_lines

__all__ = ["content_terms", "find_topics"]

#: Hiragana is left out with the Han characters, because it writes mostly words of grammar, without spaces.
_NO_WORDS = f"{HAN}\u3041-\u309f"
_WORD = lazy_regex(rf"[^\W\d_{_NO_WORDS}][^\W_{_NO_WORDS}]*(?:[_-][^\W_{_NO_WORDS}]+)*")
_HAN = lazy_regex(r"[\u4e00-\u9fff]+")
_QUOTED = lazy_regex(r"[«《「『“\"]([^«»《》「」『』“”\"\n]{2,24})[»》」』”\"]")
_URL = lazy_regex(r"(?<![A-Za-z0-9+.-])[A-Za-z][A-Za-z0-9+.-]{0,20}://\S+|\[image:[^\]]{0,2000}\]")


def find_topics(messages: Sequence[str], count: int, *, without: Collection[str] = ()) -> tuple[str, ...]:
    """Return up to *count* terms that at least two of *messages* share, the most shared first.

    Short talks need only one.

    Ties go to longer terms, then to the first in the alphabet. *without* are terms in lower case that say nothing here,
    such as the names of the speakers and their short forms.
    """
    spread: Counter[str] = Counter()
    spellings: dict[str, Counter[str]] = defaultdict(Counter)
    for text in messages:
        distinct = set()
        for term in content_terms(text):
            spellings[term.casefold()][term] += 1
            distinct.add(term.casefold())
        spread.update(distinct)
    needed = 2 if len(messages) > 4 else 1
    ranked = sorted(
        (t for t, number in spread.items() if number >= needed and not any(n.startswith(t) for n in without)),
        key=lambda term: (-_weight(term, spellings[term], spread[term]), -len(term), term),
    )
    chosen: list[str] = []
    for term in ranked:
        if len(chosen) < count and not any(_overlap(term, other) for other in chosen):
            chosen.append(term)
    return tuple(max(spellings[term], key=lambda form: (spellings[term][form], form)) for term in chosen)


def content_terms(text: str) -> list[str]:
    """Return the candidate terms of one message, repeated as often as they stand in it."""
    prose = _URL.sub(" ", "\n".join(line.text for line in prose_lines(text)))
    prose = unicodedata.normalize("NFC", prose)  # a letter and its accent are one character
    found = [match.group() for match in _WORD.finditer(prose) if _informative(match.group())]
    found += [name.strip() for name in _QUOTED.findall(prose) if 0 < len(name.split()) <= 4]
    for run in _HAN.findall(prose):
        found.extend(_phrases(run))
    return found


@lru_cache(maxsize=4096)
def _informative(word: str) -> bool:
    parts = [part for part in re.split(r"[_-]", word.casefold()) if part]
    return len(word) > 2 and not all(part in stop_words("topic") or len(part) < 2 for part in parts)


@cache
def _edge_characters() -> frozenset[str]:
    """Return the Chinese characters that a topic neither begins nor ends with."""
    return frozenset("".join(word_table("topic_edge_characters")))


def _phrases(run: str) -> Iterable[str]:
    """Yield phrases of two to four characters that neither begin nor end with a word of grammar."""
    for size in (2, 3, 4):
        for at in range(len(run) - size + 1):
            phrase = run[at : at + size]
            if not _edge_characters().intersection(phrase):
                yield phrase


def _weight(term: str, forms: Counter[str], spread: int) -> float:
    """Return the number of messages of a term, raised for names, acronyms, identifiers and longer Chinese phrases."""
    capital = all(form != form.lower() for form in forms)  # a script without case has none
    marked = "_" in term or "-" in term or any(form.isupper() and len(form) > 2 for form in forms)
    chinese = _HAN.search(term) is not None
    return spread * (1.0 + 0.3 * capital + 0.5 * marked + (0.25 * (len(term) - 2) if chinese else 0.0))


def _overlap(term: str, other: str) -> bool:
    """Return whether one term is part of the other, or two Chinese terms share two characters in a row."""
    if term in other or other in term:
        return True
    pairs = (term[at : at + 2] for at in range(len(term) - 1))
    return any(pair in other for pair in pairs if _HAN.fullmatch(pair))
