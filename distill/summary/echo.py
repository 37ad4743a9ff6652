"""Recognise the statement of one turn in the sentences of the turn before it: the assistant repeats the user.

A repetition says no word that the user did not say, in the same sense, or names the same change of a value. A question
of the user states nothing that could be repeated.
"""

from __future__ import annotations

import re

from agent_home.store.transcript import Message
from guard.lazy_regex import lazy_regex

from ..grounding.extract import objections
from ..grounding.said_turn import SaidTurn
from ..statements.contradiction import are_same_change
from ..statements.sentences import is_question, prose_lines, split_sentences

__all__ = ["repeats"]

#: Longer turns are pasted texts, and only the first sentences of a turn are compared.
_MAX_CHARS, _MAX_SENTENCES = 2000, 12
_PROPOSES = lazy_regex(r"\blet['’]?s\b", re.IGNORECASE)


def repeats(text: str, said: Message) -> bool:
    """Return whether *text* says no more than a sentence of the turn *said*."""
    if len(said.content) > _MAX_CHARS:
        return False
    sentences = [part for line in prose_lines(said.content) for part in split_sentences(line.text)]
    for sentence in sentences[:_MAX_SENTENCES]:
        if is_question(sentence):
            continue
        turn = SaidTurn(role=said.role, name=said.name, ts=said.ts, content=sentence)
        if are_same_change(sentence, text) or not _other_words(text, turn):
            return True
    return False


def _other_words(text: str, turn: SaidTurn) -> list[str]:
    """Return why *text* is no extract of *turn*. The object of "let's ..." may become the subject."""
    reasons = list(objections(text, [turn]))
    moved = len(reasons) == 1 and reasons[0].startswith("order ") and _PROPOSES.search(turn.content)
    return [] if moved else reasons
