"""Turn texts into PostgreSQL's vectors of words, and questions into its queries, by this project's own segmentation.

PostgreSQL's parser knows no Chinese word and no ``camelCase`` name. So it gets words that are cut and stemmed already
(``recall.text.terms``), each with its place, and never parses a text. The same text gives the same words as the index
of a home.

The words of a memory have the weight A. Words around it, which the memory does not say, have the last place and no
weight.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from threading import local
from typing import cast

import apsw

from ..text.term_hashes import Fts5Stemmer
from ..text.terms import index_text, parse_query
from ..text.word_tables import stop_words

__all__ = ["all_words", "context_words", "query_terms", "word_vector", "words_in"]

#: Words of a question that are looked for, the most frequent and then the first ones.
_MOST_TERMS = 32
#: Longest word that is kept, the last place of a word, and that of all words around a memory: PostgreSQL's last one.
_MOST_WORD_CHARS, _LAST_PLACE, _AROUND_PLACE = 200, 16_000, 16_383
#: Words around a memory.
_MOST_AROUND = 40
_OF_THREAD = local()


def word_vector(text: str, around: Sequence[str] = ()) -> str:
    """Return *text* as a literal of the type ``tsvector``, with the words *around* it.

    >>> word_vector("数据库 is fast", ["sqlite", "fast"])
    "'数据':1A '据库':2A '库':3A 'is':4A 'fast':5A 'sqlite':16383"
    """
    words = words_in(text)[:_LAST_PLACE]
    own = [f"{_quoted(word)}:{place}A" for place, word in enumerate(words, 1)]
    others = dict.fromkeys(around[:_MOST_AROUND])
    return " ".join([*own, *(f"{_quoted(word)}:{_AROUND_PLACE}" for word in others if word not in set(words))])


def context_words(*texts: str) -> list[str]:
    """Return the stems of the words of *texts* that say something, each once: those around a memory.

    >>> context_words("Which database do they deploy?")
    ['databas', 'deploi']
    """
    found = dict.fromkeys(word for text in texts for word in words_in(text))
    return [word for word in found if word not in _light_words()][:_MOST_AROUND]


def query_terms(question: str) -> tuple[list[str], list[str]]:
    """Return the terms of *question* as literals of the type ``tsquery``.

    A memory matches each by itself. The second list has the same terms for the words of a memory alone. The forms of an
    irregular verb are one term.

    >>> query_terms("Who chose the database?")
    (["('chose' | 'choos' | 'chosen')", "'databas'"], ["('chose':A | 'choos':A | 'chosen':A)", "'databas':A"])
    """
    spelled = parse_query(question, limit=_MOST_TERMS).spellings
    anywhere, own = dict[str, None](), dict[str, None]()
    for spellings in spelled:
        for found, weight in ((anywhere, ""), (own, "A")):
            forms = dict.fromkeys(filter(None, (_expression(spelling, weight) for spelling in spellings)))
            if forms:
                found.setdefault(f"({' | '.join(forms)})" if len(forms) > 1 else next(iter(forms)))
    return list(anywhere), list(own)


def all_words(text: str) -> str:
    """Return a literal of the type ``tsquery`` for memories that say all words of *text*, or an empty string.

    >>> all_words("It's fast")
    "'it':A & 's':A & 'fast':A"
    """
    return " & ".join(f"{_quoted(word)}:A" for word in dict.fromkeys(words_in(text)))


def words_in(text: str) -> Sequence[str]:
    """Return the stems of the words of *text* in order. A Chinese word of two characters is one of them."""
    return [word[:_MOST_WORD_CHARS] for word in _stemmer().stems(index_text(text))]


def _expression(spelling: str, weight: str) -> str:
    """Return a phrase of FTS5, in quotes and perhaps with a star, as PostgreSQL writes it for words of that weight."""
    phrase, star, _ = spelling.rpartition("*") if spelling.endswith("*") else (spelling, "", "")
    words = [_quoted(word[:_MOST_WORD_CHARS]) for word in _stemmer().stems(phrase.strip('"'))]
    if not words:
        return ""
    ends = [weight] * (len(words) - 1) + [f"*{weight}" if star else weight]
    marked = [f"{word}:{end}" if end else word for word, end in zip(words, ends, strict=True)]
    return marked[0] if len(marked) == 1 else f"({' <-> '.join(marked)})"


@cache
def _light_words() -> frozenset[str]:
    return frozenset(stem for word in stop_words("query") for stem in words_in(word))


def _quoted(word: str) -> str:
    plain = word.replace("\\", "\\\\").replace("'", "''")
    return f"'{plain}'"


def _stemmer() -> Fts5Stemmer:
    """Return this thread's stemmer: its tokenizer may not be used by two threads at once."""
    if not hasattr(_OF_THREAD, "stemmer"):
        _OF_THREAD.stemmer = Fts5Stemmer(apsw.Connection(":memory:"))
    return cast("Fts5Stemmer", _OF_THREAD.stemmer)
