"""Stems of English words by the Porter algorithm, the algorithm of the index.

FTS5 stems what is indexed itself, in C inside SQLite: 172 000 words a second on one core, where the library used here
does 10 000. The two agree on all but 161 of the 179 429 different words in the development sets, because FTS5 follows
a later revision for words such as *technology* and *possibly*. ``tests/recall/text/test_stems.py`` compares them.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, lru_cache
from threading import Lock
from typing import cast

from .irregular_forms import forms_of

__all__ = ["stem"]

#: Words of at most so many letters are their own stem, as in FTS5.
_SHORT = 2


@lru_cache(maxsize=65_536)
def stem(word: str) -> str:
    """Return *word* without its ending, in lower case. An irregular form has the stem of its family.

    >>> stem("deployed"), stem("policies") == stem("policy"), stem("chose") == stem("choose")
    ('deploi', True, True)
    """
    plain = min((word.casefold(), *forms_of(word)))
    if len(plain) <= _SHORT:
        return plain
    with _LOCK:  # a stemmer holds the word that it works on
        return _porter()(plain)


_LOCK = Lock()


@cache
def _porter() -> Callable[[str], str]:
    import snowballstemmer

    return cast("Callable[[str], str]", snowballstemmer.stemmer("porter").stemWord)
