"""Turn texts into PostgreSQL's vectors of words, and questions into its queries, by this project's own segmentation.

PostgreSQL's parser knows no Chinese word and no ``camelCase`` name. So it gets words that are cut and stemmed already
(``recall.text.terms``), each with its place, and never parses a text. The same text gives the same words as the index
of a home.
"""

from __future__ import annotations

from collections.abc import Sequence
from threading import local
from typing import cast

import apsw

from ..text.term_hashes import Fts5Stemmer
from ..text.terms import index_text, parse_query

__all__ = ["all_words", "query_terms", "word_vector", "words_in"]

#: Words of a question that are looked for, the most frequent and then the first ones.
_MOST_TERMS = 32
#: Longest word that is kept, and the last place that PostgreSQL can note.
_MOST_WORD_CHARS, _LAST_PLACE = 200, 16_383
_OF_THREAD = local()


def word_vector(text: str) -> str:
    """Return *text* as a literal of the type ``tsvector``.

    >>> word_vector("数据库 is fast")
    "'数据':1 '据库':2 '库':3 'is':4 'fast':5"
    """
    words = words_in(text)[:_LAST_PLACE]
    return " ".join(f"{_quoted(word)}:{place}" for place, word in enumerate(words, 1))


def query_terms(question: str) -> list[str]:
    """Return the terms of *question* as literals of the type ``tsquery``. A memory matches each by itself.

    The forms of an irregular verb are one term.

    >>> query_terms("Who chose the database?")
    ["('chose' | 'choos' | 'chosen')", "'databas'"]
    """
    found = []
    for spellings in parse_query(question, limit=_MOST_TERMS).spellings:
        forms = dict.fromkeys(filter(None, map(_expression, spellings)))
        if forms:
            found.append(f"({' | '.join(forms)})" if len(forms) > 1 else next(iter(forms)))
    return list(dict.fromkeys(found))


def all_words(text: str) -> str:
    """Return a literal of the type ``tsquery`` for texts that have all words of *text*, or an empty string.

    >>> all_words("It's fast")
    "'it' & 's' & 'fast'"
    """
    return " & ".join(map(_quoted, dict.fromkeys(words_in(text))))


def words_in(text: str) -> Sequence[str]:
    """Return the stems of the words of *text* in order. A Chinese word of two characters is one of them."""
    return [word[:_MOST_WORD_CHARS] for word in _stemmer().stems(index_text(text))]


def _expression(spelling: str) -> str:
    """Return a phrase of FTS5, in quotes and perhaps with a star, as PostgreSQL writes it."""
    phrase, star, _ = spelling.rpartition("*") if spelling.endswith("*") else (spelling, "", "")
    words = [_quoted(word[:_MOST_WORD_CHARS]) for word in _stemmer().stems(phrase.strip('"'))]
    if not words:
        return ""
    if star:
        words[-1] += ":*"
    return words[0] if len(words) == 1 else f"({' <-> '.join(words)})"


def _quoted(word: str) -> str:
    plain = word.replace("\\", "\\\\").replace("'", "''")
    return f"'{plain}'"


def _stemmer() -> Fts5Stemmer:
    """Return this thread's stemmer: its tokenizer may not be used by two threads at once."""
    if not hasattr(_OF_THREAD, "stemmer"):
        _OF_THREAD.stemmer = Fts5Stemmer(apsw.Connection(":memory:"))
    return cast("Fts5Stemmer", _OF_THREAD.stemmer)
