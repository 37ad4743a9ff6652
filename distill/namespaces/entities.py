"""Own the entities of a text: the names in it, and in Chinese, which marks no names, its pairs of characters.

Names are what :mod:`distill.statements` finds: capitalised names, acronyms, files, symbols and versions.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import islice

from recall.text.han import chinese_characters

from ..entries.withheld import without_placeholders
from ..statements.names import names_in, prose_of
from ..statements.sentences import prose_lines, split_sentences
from ..statements.standalone import split_speaker
from ..statements.statement_parser import parse_statement
from ..statements.topics import content_terms

__all__ = ["entities_in", "entity_weight", "shared_weight"]

#: Sentences of a text that are read, entities of it, and characters of one.
_MOST_SENTENCES, _MOST_ENTITIES, _MOST_CHARS = 200, 48, 80
#: Chinese words of two characters are told from others by nothing, so two pairs count as one name.
_PAIR_WEIGHT = 0.5


def entities_in(*texts: str) -> tuple[str, ...]:
    """Return the entities of *texts*, without their speakers, each once, in small letters and in their order.

    >>> entities_in("Ann: I prefer Flask to FastAPI, see app/main.py.")
    ('flask', 'fastapi', 'app/main.py')
    >>> entities_in("我对花生过敏")
    ('花生',)
    """
    sentences = (
        sentence
        for text in texts
        for line in prose_lines(without_placeholders(split_speaker(text)[1]))
        for sentence in split_sentences(line.text)
    )
    found: dict[str, None] = {}
    for sentence in islice(sentences, _MOST_SENTENCES):
        for entity in _of_sentence(sentence):
            if 1 < len(entity) <= _MOST_CHARS:
                found.setdefault(entity)
    return tuple(islice(found, _MOST_ENTITIES))


def entity_weight(entity: str) -> float:
    """Return how much of a name *entity* is: 1, or half of it for a pair of Chinese characters."""
    return _PAIR_WEIGHT if len(entity) == 2 and chinese_characters(entity) == 2 else 1.0


def shared_weight(entities: Iterable[str], rarity: Mapping[str, float] | None = None) -> float:
    """Return the weight of *entities* together, each times its *rarity* where that is given."""
    return sum(entity_weight(entity) * (1.0 if rarity is None else rarity.get(entity, 1.0)) for entity in entities)


def _of_sentence(sentence: str) -> Iterable[str]:
    said = parse_statement(sentence)
    places = [(name.start, name.name) for name in names_in(prose_of(sentence))]
    places += [(token.start, said.text[token.start : token.end]) for token in said.tokens if token.kind == "name"]
    yield from (name.strip("`'’\"").casefold() for _, name in sorted(places))
    if chinese_characters(sentence):
        yield from (term for term in content_terms(sentence) if len(term) == 2 and chinese_characters(term) == 2)
