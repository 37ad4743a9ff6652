"""Find the passages of cited turns that an entry tells in its own words.

An entry adds to its turn what a reader needs, such as the speaker, the question and dates, and a model may reword it.
So the entry's text is not found in the turn. The passages are compared by their words instead, sentence by sentence.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from recall.text.stems import stem
from recall.text.terms import words_of
from recall.text.word_tables import stop_words

from .statements.dated_words import without_dates
from .statements.sentences import split_sentences
from .statements.standalone import split_speaker

__all__ = ["ToldPassages", "states", "told_passages"]

#: Share of the words of a sentence that the entry has.
_LEAST_SHARE = 0.5
#: Words of the entry that a sentence says alone, so that it belongs to the entry whatever else it says.
_LEAST_NEW = 2
#: Share of the words of the entry that its turns say. Below it, the entry is told in other words.
_LEAST_TOLD = 0.5

#: Words of a sentence that an entry repeats by purpose, and not because they are common ones.
_LEAST_QUOTED = 3
_MOST_FILLER = 2
#: Words for a speaker, which an entry adds.
_ROLES = frozenset({"user", "assistant", "\u7528\u6237", "\u52a9\u624b"})


@dataclass(frozen=True, slots=True, kw_only=True)
class ToldPassages:
    """The *passages* of each turn, as the turn says them. *unclear* is set if most of the entry is said in other words.

    A turn without a passage is left out. *quoted* are the passages, with their source, that the entry only quotes
    behind its speaker: a question, or what the statement refers to.
    """

    passages: Mapping[str, tuple[str, ...]]
    quoted: frozenset[tuple[str, str]] = frozenset()
    unclear: bool = False


def told_passages(texts: Sequence[str], turns: Mapping[str, str]) -> ToldPassages:
    """Return the sentences of *turns*, by source, that an entry tells. *texts* are the versions of the entry.

    >>> told_passages(["User: I like tea."], {"a#m1": "Hello there. I like tea. Bye now."}).passages
    {'a#m1': ('I like tea.',)}
    """
    wanted = _terms(*texts) - _terms(*(split_speaker(text)[0] for text in texts))
    sentences = [(source, sentence) for source, content in turns.items() for sentence in _sentences(content)]
    terms = [_terms(sentence) for _, sentence in sentences]
    whole = [_as_words(text) for text in texts]
    chosen = {at for at, said in enumerate(terms) if _tells(said, wanted) or _is_quoted(sentences[at][1], whole)}
    left = wanted.difference(*(terms[at] for at in chosen))
    while left:
        best = max(range(len(terms)), key=lambda at: (len(terms[at] & left), -at), default=-1)
        if best < 0 or len(terms[best] & left) < _LEAST_NEW:
            break
        chosen.add(best)
        left -= terms[best]
    found: dict[str, tuple[str, ...]] = {}
    for at in sorted(chosen):
        source, sentence = sentences[at]
        found[source] = (*found.get(source, ()), sentence)
    forms = [_terms(form) for text in texts for form in (text, split_speaker(text)[1])]
    is_clear = any(len(form & left) <= (1 - _LEAST_TOLD) * len(form) for form in forms)
    stated = [split_speaker(text)[1] for text in texts]
    core, lines = _terms(*stated), [_as_words(text) for text in stated]
    quoted = frozenset(
        sentences[at]
        for at in chosen
        if not _tells(terms[at], core)
        and len(terms[at] & core) < _LEAST_NEW
        and not _is_quoted(sentences[at][1], lines)
    )
    return ToldPassages(passages=found, quoted=quoted, unclear=not is_clear)


def states(text: str, sentence: str) -> bool:
    """Return whether the entry *text* states *sentence* itself, and does not only quote it behind its speaker.

    >>> states('Ana (asked: "Any allergies?"): Only kiwi.', "Only kiwi."), states("Ana: I ski.", "I like tea.")
    (True, False)
    """
    return _tells(_terms(sentence), _terms(split_speaker(text)[1]))


def _tells(said: Collection[str], wanted: set[str]) -> bool:
    shared = len(wanted.intersection(said))
    return shared >= _LEAST_SHARE * len(said) and shared >= min(_LEAST_NEW, max(len(said), 1))


def _is_quoted(sentence: str, texts: Sequence[str]) -> bool:
    """Return whether *texts*, as words between blanks, repeat *sentence*, though its words may all be common ones.

    They may leave out filler at its head.
    """
    words = words_of(sentence)
    starts = range(min(_MOST_FILLER, len(words) - _LEAST_QUOTED) + 1)
    return any(f" {' '.join(words[start:])} " in text for start in starts for text in texts)


def _as_words(text: str) -> str:
    return f" {' '.join(words_of(without_dates(text)))} "


def _sentences(content: str) -> Iterator[str]:
    for line in content.splitlines():
        yield from split_sentences(line)


def _terms(*texts: str) -> set[str]:
    """Return the stems of the words that say something. A date in brackets, which an entry adds, is left out."""
    common = stop_words("statement") | _ROLES
    words = (word for text in texts for word in words_of(without_dates(text)))
    return {stem(word) for word in words if word not in common and (len(word) > 1 or word.isdigit())}
