"""Forms of an English word that no stemmer brings together: *went* and *gone* belong to *go*, *children* to *child*.

Queries look for them beside the word that was typed ("when did she go" is answered by "I went"). The index does not
store them.
"""

from __future__ import annotations

from functools import cache

from .word_tables import table_lines

__all__ = ["forms_of"]


def forms_of(word: str) -> tuple[str, ...]:
    """Return the other irregular forms of *word*, whatever its capitals. Most words have none.

    >>> forms_of("Went"), forms_of("painting")
    (('go', 'gone', 'goes'), ())
    """
    folded = word.casefold()
    return tuple(form for form in _families().get(folded, ()) if form != folded)


@cache
def _families() -> dict[str, tuple[str, ...]]:
    families = (tuple(line.split()) for line in table_lines("irregular_forms"))
    return {word: family for family in families for word in family}
