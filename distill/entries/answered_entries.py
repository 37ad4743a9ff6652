"""Questions about entries that the assistant's turn tells and the user's answer may end.

"I don't drink any more" shares no word with "I like a peaty whisky". Where it answers "Perhaps a bottle of whisky?",
the words that the entry and this turn share say what it is about. The model of endings then reads the answer behind
these words. It reads such pairs well enough to ask a person, and no entry ends by them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from itertools import pairwise

from agent_home.documents.entry import Entry, superseded_by
from agent_home.store.transcript import Message
from guard.lazy_regex import lazy_regex

from ..reading.bare_corrections import read_bare_correction
from ..reading.endings import chance_of_ending
from ..reading.pair_terms import HAN_CHARACTER, is_related, statement_terms, term_of, tokens_of
from ..statements.operation import Operation
from ..statements.pairs.pair_features import compare
from ..statements.sentences import is_question, split_sentences
from ..statements.standalone import plain_turn, speaks_of_self, split_speaker
from ..statements.statement_parser import parse_statement
from .resolution import Saying
from .withheld import has_placeholder

__all__ = ["ask_about_answered"]

#: Entries that a change of mind may end. A thread is resolved, which other words tell.
_PREFIXES = frozenset({"KD", "RC", "SP"})
#: Sentences at the end of the assistant's turn, and at the start of the answer, that are read.
_TOLD, _ANSWERED, _MAX_CHARS = 2, 2, 300
#: A term of more entries tells none of them from the others.
_MOST_ENTRIES = 4
_OTHERS = lazy_regex(r"(?:he|she|they|you)\b|[他她你]", re.IGNORECASE)
#: Least chance with which a person is asked, and most questions of a closing.
_LEAST_CHANCE, _MOST_ASKED = 0.22, 2


def ask_about_answered(
    entries: Sequence[Entry],
    messages: Sequence[Message],
    named: Collection[str],
    tell: Callable[[Saying], str] = lambda saying: saying.text,
) -> list[Operation]:
    """Return unsure replacements of live *entries* by answers of the user. Entries that are *named* have one already.

    *tell* returns a sentence as a text that stands alone.
    """
    replaced = superseded_by(entries)
    live = {
        entry.id: split_speaker(entry.text)[1]
        for entry in entries
        if entry.prefix in _PREFIXES and not (entry.retired or entry.protected or entry.id in replaced)
    }
    found: dict[str, Operation] = {}
    for target, saying, chance in _answers(live, messages):
        if target not in named and target not in found and len(found) < _MOST_ASKED:
            found[target] = Operation(
                kind="supersede", target=target, sources=(saying.source,), text=tell(saying), unsure=True,
                reason=f"answered with probability {chance:.2f}",
            )  # fmt: skip
    return list(found.values())


def _answers(live: Mapping[str, str], messages: Sequence[Message]) -> Iterator[tuple[str, Saying, float]]:
    """Yield each entry that an answer may end, the answer, and the chance."""
    postings: dict[str, list[str]] = {}
    for entry_id, text in live.items():
        for term in statement_terms(text):
            postings.setdefault(term, []).append(entry_id)
    names: set[str] = set()
    for place, (turn, message) in enumerate(pairwise(messages), 1):
        names |= set(parse_statement(turn.content[:_MAX_CHARS]).names()) if turn.role == "user" else set()
        if (turn.role, message.role) != ("assistant", "user") or read_bare_correction(message.content):
            continue
        told = " ".join(split_sentences(plain_turn(turn.content))[-_TOLD:])
        answers = [text for text in split_sentences(plain_turn(message.content))[:_ANSWERED] if len(text) <= _MAX_CHARS]
        if len(told) > _MAX_CHARS or not answers:
            continue
        best = _told_entry(live, postings, told)
        topic = _topic(live[best], told) if best else ""
        for answer in answers if topic else ():
            if is_question(answer) or has_placeholder(answer) or _is_of_another(live[best], told, answer, names):
                continue
            chance = chance_of_ending(live[best], f"{topic}: {answer}", "user")
            if chance >= _LEAST_CHANCE and not compare(live[best], answer)["supposed newer"]:
                yield best, Saying(text=answer, source=message.source, role="user", place=place), chance


def _told_entry(live: Mapping[str, str], postings: Mapping[str, Sequence[str]], told: str) -> str:
    """Return the entry that shares most rare terms with *told*, or an empty string if two share as much."""
    shared: dict[str, float] = {}
    for term, weight in statement_terms(told).items():
        if len(term) > 1 and len(postings.get(term, ())) <= _MOST_ENTRIES:
            for entry_id in postings.get(term, ()):
                shared[entry_id] = shared.get(entry_id, 0.0) + weight
    ordered = sorted(shared, key=lambda entry_id: -shared[entry_id])
    if not ordered or (len(ordered) > 1 and shared[ordered[0]] == shared[ordered[1]]):
        return ""
    return ordered[0] if is_related(live[ordered[0]], told) else ""


def _topic(statement: str, told: str) -> str:
    """Return the words of *statement* that *told* says too, of a Chinese one the longest run."""
    if HAN_CHARACTER.search(statement):
        runs = (
            statement[at:end]
            for at in range(len(statement))
            for end in range(at + 2, min(len(statement), at + 8) + 1)
            if statement[at:end] in told
        )
        return max(runs, key=len, default="")
    known = statement_terms(told)
    return " ".join(token for token in tokens_of(statement) if term_of(token) in known)


def _is_of_another(statement: str, told: str, answer: str, names: Collection[str]) -> bool:
    """Return whether *answer* speaks of somebody else than the one who says it. *names* were said before."""
    found = compare(statement, answer)
    if found["kin differs"] or found["kin added"]:
        return True
    if speaks_of_self(answer):
        return False
    known = {*parse_statement(statement).keys, *parse_statement(told).keys}
    return _OTHERS.match(answer) is not None or not set(parse_statement(answer).names(names)) <= known
