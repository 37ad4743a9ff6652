"""Tell the clauses of a statement that a newer sentence replaces or ends from those that it does not touch.

The clause that shares most with the newer sentence is the one that it is about. Where two clauses share about as much,
or none shares anything, nobody can tell from the words, and the answer is not certain.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from guard.lazy_regex import lazy_regex

from .contradiction import named_change
from .dated_words import without_dates
from .life_changes import ends_life_fact
from .sentences import split_sentences
from .statement_parser import Token, parse_statement

__all__ = ["TouchedClauses", "ended_clauses", "replaced_clauses"]

_MAX_CHARS = 600
#: Where a sentence is cut. A comma inside a number is none.
_CUT = lazy_regex(
    r"(?:(?<!\d),|,(?!\d)|[;\uff0c\uff1b])\s*(?:(?:and|but|while)\s)?|\s(?:and|but|while)\s", re.IGNORECASE
)
#: First words of a clause that says nothing without its neighbour.
_DEPENDENT = lazy_regex(
    r"(?:because|so|if|when|which|who|since|until|unless|not)\b|因为|所以|如果|不是|而不是", re.IGNORECASE
)
_COUNTED = frozenset({"date", "day", "time", "number"})
#: Least weight of a clause that is kept, and of a task that stands alone.
_LEAST_KEPT, _LEAST_TASK = 1.0, 2.0
#: Least lead of the clause that is meant, and what the end of a fact adds to its clause.
_MARGIN, _ENDED_FACT = 1.0, 3.0


@dataclass(frozen=True, slots=True, kw_only=True)
class TouchedClauses:
    """The words of an older statement that are *gone*, and the ones *kept*, verbatim. Either may be empty.

    Unless it is *certain*, the words do not tell which clause is meant, and *kept* is empty.
    """

    gone: str
    kept: tuple[str, ...] = ()
    certain: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class _Clause:
    text: str
    tokens: tuple[Token, ...]
    #: What stands between this clause and the one before it in its sentence. The first has nothing.
    joint: str = ""


def replaced_clauses(older: str, newer: str) -> TouchedClauses:
    """Return which clauses of *older* the sentence *newer* replaces, and which ones must be kept.

    >>> replaced_clauses("I'm allergic to latex. My doctor is Dr Weiss.", "My doctor is now Dr Lang.").kept
    ("I'm allergic to latex.",)
    """
    clauses = _clauses(older)
    if len(clauses) < 2 or max(len(older), len(newer)) > _MAX_CHARS:
        return TouchedClauses(gone=older)
    now = parse_statement(without_dates(newer)).tokens
    own = named_change(without_dates(older))
    known = {token.key for token in (*now, *(own[0].tokens if own else ()))}
    open_ = [
        clause
        for clause in clauses
        if sum(token.weight for token in clause.tokens if token.key not in known) >= _LEAST_KEPT
    ]
    if not open_:
        return TouchedClauses(gone=older)
    said = [clause for clause in clauses if clause not in open_]
    scores = [_shared(clause, now) + _ENDED_FACT * ends_life_fact(clause.text, newer) for clause in open_]
    best = max(scores)
    meant = open_[scores.index(best)]
    if best and all(best - score >= _MARGIN for score in scores if score != best) and scores.count(best) == 1:
        return _parted(clauses, [clause for clause in open_ if clause is not meant])
    if not best and any(_shared(clause, now) for clause in said):
        return _parted(clauses, open_)  # it says again what it is about, and of the others nothing
    return TouchedClauses(gone=older, certain=False)


def ended_clauses(older: str, said: str) -> TouchedClauses:
    """Return which clauses of the task *older* the report *said* ends, and which ones stay open.

    >>> ended_clauses("send the invoice and renew the domain", "I sent the invoice").kept
    ('renew the domain',)
    """
    clauses = _clauses(older)
    if len(clauses) < 2 or max(len(older), len(said)) > _MAX_CHARS:
        return TouchedClauses(gone=older)
    now = parse_statement(without_dates(said)).tokens
    rest = [clause for clause in clauses if not _shared(clause, now)]
    own = [clause for clause in rest if _weight(clause) >= _LEAST_TASK]
    # "the certificate" in "renew the domain and the certificate" is no task without its verb.
    listed = any(clause not in own and clause.joint.strip(" ,;").isalpha() for clause in rest)
    if listed or len(rest) == len(clauses):
        return TouchedClauses(gone=older, certain=False)
    return _parted(clauses, own)


def _parted(clauses: Sequence[_Clause], kept: Sequence[_Clause]) -> TouchedClauses:
    """Return the clauses *kept* and the other ones as texts. Neighbours of one sentence stay together."""
    texts: tuple[list[str], list[str]] = ([], [])
    before = None
    for clause in clauses:
        stays = any(clause is other for other in kept)
        if texts[stays] and clause.joint and before == stays:
            texts[stays][-1] += clause.joint + clause.text
        else:
            texts[stays].append(clause.text)
        before = stays
    return TouchedClauses(gone=" ".join(texts[False]), kept=tuple(texts[True]))


def _clauses(text: str) -> list[_Clause]:
    """Cut *text* at sentences, commas and conjunctions. A clause that says nothing alone stays with its neighbour."""
    found: list[_Clause] = []
    for sentence in (part for line in text.splitlines() for part in split_sentences(line)):
        start, joint = 0, ""
        cuts = [*((match.start(), match.end()) for match in _CUT.finditer(sentence)), (len(sentence), len(sentence))]
        for end, after in cuts:
            part = sentence[start:end]
            tokens = parse_statement(without_dates(part)).tokens
            if not part.strip():
                continue
            leads = joint and (_DEPENDENT.match(found[-1].text) is not None or not found[-1].tokens)
            if found and (leads or not tokens or _DEPENDENT.match(part)):
                last = found.pop()
                part, tokens = f"{last.text}{joint or ' '}{part}", (*last.tokens, *tokens)
                joint = last.joint
            found.append(_Clause(text=part, tokens=tokens, joint=joint))
            start, joint = after, sentence[end:after]
    return found


def _shared(clause: _Clause, now: Sequence[Token]) -> float:
    """Return what a clause shares with a newer sentence: words, pairs of Chinese characters, and changed values."""
    known = {token.key for token in now if token.kind != "han"}
    words = sum(token.key in known for token in clause.tokens)
    kinds = {token.kind for token in clause.tokens if token.key not in known}
    changed = _COUNTED & kinds & {token.kind for token in now}
    return words + len(_pairs(clause.tokens) & _pairs(now)) + len(changed)


def _pairs(tokens: Sequence[Token]) -> set[str]:
    """Return the pairs of Chinese characters that stand side by side. A single one means little."""
    return {
        one.key + other.key
        for one, other in pairwise(tokens)
        if one.kind == other.kind == "han" and one.end == other.start
    }


def _weight(clause: _Clause) -> float:
    return sum(token.weight for token in clause.tokens)
