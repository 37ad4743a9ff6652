"""Terms: text to indexable text, and a query to an FTS5 expression.

FTS5 cuts and stems the Latin words itself (``porter unicode61``). This module adds what that tokenizer cannot do:

- Chinese, Japanese and Korean runs become overlapping pairs of characters. The last character also stands alone.
  So every character of the text begins exactly one token: a pair finds a two-character word, a prefix a single one.
- ``camelCase`` names get their parts appended. ``snake_case``, paths, versions and entry ids fall into parts by
  themselves and are found whole as a phrase.

Any text gives an expression that FTS5 accepts, or none. It has at most *limit* terms and obeys no FTS5 operator in the
user's words. ``VERSION`` changes whenever the same text would be indexed differently.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from guard.lazy_regex import lazy_regex

from .han import chinese_characters
from .irregular_forms import forms_of
from .normalise import normalise
from .word_tables import phrase_pattern, stop_words

__all__ = ["QUERY_CHARS", "TOKENIZER", "VERSION", "Query", "index_text", "parse_query", "words_of"]

VERSION = "1"
TOKENIZER = "porter unicode61 remove_diacritics 2"
#: Characters of a query that are read. The rest of a pasted log file adds nothing.
QUERY_CHARS = 20_000

_CJK = (
    "\u3005\u3007\u3040-\u309f\u30a0-\u30fa\u30fc-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff"
    "\U00020000-\U000323af"
)
_RUN = lazy_regex(f"[{_CJK}]+")
_HUMP = lazy_regex(r"[a-z][A-Z]|[A-Z]{2}[a-z]")
_CAMEL = lazy_regex(rf"\b\w*(?:{_HUMP.pattern})\w*")
_CAMEL_PART = lazy_regex(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_COMPOUND = lazy_regex(r"\w+(?:[-_./:@#+\\]+\w+)*")
_WORD = lazy_regex(r"[^\W_]+")
_ANY_WORD = lazy_regex(r"\w+")
_QUOTED = lazy_regex(r'"([^"]{2,200})"|“([^”]{2,200})”|「([^」]{2,200})」')
_HASH = lazy_regex(r"(?=[0-9a-f]*\d)(?=[0-9a-f]*[a-f])[0-9a-f]{7,40}")
#: Usual lengths of a shortened commit hash.
_SHORT_HASHES = (7, 8, 10, 12)

_LETTER = lazy_regex(r"[^\W\d_]")
#: A query about "my" plan is about the user's words, not about the answer.
_FIRST_PERSON = lazy_regex(r"\b(?:i|me|my|mine|myself|we|us|our|ours)\b|[我咱]|私|僕", re.IGNORECASE)
#: A query about the agent's own words.
_SECOND_PERSON = lazy_regex(
    r"\b(?:did|have|had) you\b|(?<!would )(?<!could )(?<!can )\byou(?:'ve| have| had)? "
    r"(?:said|told|gave|explain|mention|recommend|suggest|advise|propose)"
    r"|\byour (?:advice|answer|explanation|proposal|recommendation|reply|suggestion)"
    "|[你您](?:说|讲|建议|推荐|告诉|提到|回答|解释)",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """A query as FTS5 reads it. *match* is empty when there is nothing to look for."""

    match: str
    terms: tuple[str, ...] = ()
    first_person: bool = False
    #: Share of its letters that are Chinese.
    chinese: float = 0.0
    #: Share of its letters that are Japanese or Korean.
    cjk: float = 0.0

    @property
    def spellings(self) -> tuple[tuple[str, ...], ...]:
        return tuple(_spellings(term) for term in self.terms)


def index_text(text: str) -> str:
    """Return *text* as it is handed to FTS5.

    >>> index_text("数据库 fooBar")
    ' 数据 据库 库  fooBar foo Bar'
    """
    plain = normalise(text)
    paired = plain if plain.isascii() else _RUN.sub(lambda run: f" {' '.join(_pairs(run[0], tail=True))} ", plain)
    if not _HUMP.search(paired):  # most texts have no such name, and this search is quick
        return paired
    parts = [part for name in _CAMEL.findall(paired) for part in _CAMEL_PART.findall(name)]
    return f"{paired} {' '.join(parts)}"


def words_of(text: str) -> list[str]:
    """Return the words of *text* in order, in lower case and not stemmed, cut as the index cuts them.

    >>> words_of("Don't 数据库")
    ['don', 't', '数据', '据库', '库']
    """
    return _ANY_WORD.findall(index_text(text).casefold())


def parse_query(text: str, *, limit: int = 64) -> Query:
    """Return the FTS5 expression for *text*: any of its terms, at most *limit* of them.

    Stop words are left out unless nothing else is there. When there are too many terms, the most frequent ones are
    kept, then the earlier ones. The irregular forms of a word are looked for beside it.

    >>> parse_query('who fixed "the index" in KD-7F3A?').match
    '"the index" OR "fixed" OR "index" OR "KD 7F3A" OR "KD" OR "7F3A"'
    """
    plain = normalise(text[:QUERY_CHARS])
    found = [*_phrases(plain), *_terms(plain, stop=True)] or list(_terms(plain, stop=False))
    counts: dict[str, int] = {}
    spelling: dict[str, str] = {}
    for term in found:
        key = term.casefold()
        counts[key] = counts.get(key, 0) + 1
        spelling.setdefault(key, term)
    kept = list(counts)
    if len(kept) > limit:
        often = sorted(kept, key=lambda key: -counts[key])[:limit]
        kept = [key for key in kept if key in set(often)]
    terms = tuple(spelling[key] for key in kept)
    match = " OR ".join(dict.fromkeys(form for term in terms for form in _spellings(term)))
    first_person = _FIRST_PERSON.search(plain) is not None and _SECOND_PERSON.search(plain) is None
    share = _cjk_share(plain)
    chinese, cjk = (share, 0.0) if chinese_characters(plain) else (0.0, share)
    return Query(match=match, terms=terms, first_person=first_person, chinese=chinese, cjk=cjk)


def _spellings(term: str) -> tuple[str, ...]:
    return (term, *(f'"{form}"' for form in forms_of(term[1:-1])))


def _cjk_share(text: str) -> float:
    if text.isascii():
        return 0.0
    letters = len(_LETTER.findall(text))
    return sum(len(run) for run in _RUN.findall(text)) / letters if letters else 0.0


def _pairs(run: str, *, tail: bool) -> list[str]:
    if len(run) == 1:
        return [run]
    pairs = [run[i : i + 2] for i in range(len(run) - 1)]
    return [*pairs, run[-1]] if tail else pairs


def _phrases(text: str) -> Iterator[str]:
    """Yield the phrases in quotation marks. A single word is no phrase."""
    for match in _QUOTED.finditer(text):
        quoted = next(group for group in match.groups() if group)
        words = [word for segment in _runs_and_compounds(quoted) for word in _words_of_segment(segment)]
        if len(words) > 1:
            yield _phrase(words)


def _terms(text: str, *, stop: bool) -> Iterator[str]:
    for segment in _runs_and_compounds(text):
        if _RUN.match(segment):
            yield from _run_terms(segment, stop=stop)
        else:
            yield from _compound_terms(segment, stop=stop)


def _runs_and_compounds(text: str) -> Iterator[str]:
    """Yield runs of CJK characters and Latin words with their joined parts (``a/b.py``, ``KD-7F3A``), in order."""
    at = 0
    for run in _RUN.finditer(text):
        yield from _COMPOUND.findall(text, at, run.start())
        yield run[0]
        at = run.end()
    yield from _COMPOUND.findall(text, at)


def _words_of_segment(segment: str) -> list[str]:
    return _pairs(segment, tail=False) if _RUN.match(segment) else _WORD.findall(segment)


def _run_terms(run: str, *, stop: bool) -> Iterator[str]:
    covered = [False] * len(run)
    if stop:
        for match in phrase_pattern("query_stop_phrases").finditer(run):
            covered[match.start() : match.end()] = [True] * len(match[0])
    for i in range(len(run)):
        alone = (i == 0 or covered[i - 1]) and (i + 1 == len(run) or covered[i + 1])
        if alone and not covered[i]:
            yield f'"{run[i]}"*'
        if i + 1 < len(run) and not (covered[i] and covered[i + 1]):
            yield f'"{run[i : i + 2]}"'


def _compound_terms(segment: str, *, stop: bool) -> Iterator[str]:
    words = _WORD.findall(segment)
    if len(words) > 1:
        yield _phrase(words)
        words = [word for word in words if len(word) > 2 or (len(word) > 1 and word.isalpha())]
    for word in words:
        if stop and word.casefold() in stop_words("query"):
            continue
        yield f'"{word}"'
        yield from _name_parts(word, stop=stop)


def _name_parts(word: str, *, stop: bool) -> Iterator[str]:
    """Yield the parts of a camelCase name, or the shortened spellings of a commit hash."""
    if _CAMEL.fullmatch(word):
        parts = [part for part in _CAMEL_PART.findall(word) if len(part) > 1]
        yield from (f'"{part}"' for part in parts if not stop or part.casefold() not in stop_words("query"))
    elif _HASH.fullmatch(word):
        yield f'"{word}"*'
        yield from (f'"{word[:size]}"' for size in _SHORT_HASHES if size < len(word))


def _phrase(words: list[str]) -> str:
    return f'"{" ".join(words)}"'
