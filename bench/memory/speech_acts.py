"""Count the sentences that reach the section they belong in, each said in a session of its own.

A sentence that needs no turn before it is also said after turns that have nothing to do with it.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from agent_home.store.transcript import Message
from recall.embedding.embedder import Embedder, NoEmbedder

from ..training.idle_turns import IDLE_TURNS, idle_turn
from .closed_homes import closed_home

__all__ = ["PREFIXES", "ActCounts", "LabelledSentence", "measure_acts", "measure_idle_turns", "read_sentences"]

#: Section of each act. A finished thread and reported work have none of their own.
PREFIXES: Mapping[str, str] = {
    "preference": "SP", "decision": "KD", "lesson": "LL", "correction": "CO", "thread": "OT", "fact": "RC",
}  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelledSentence:
    """A labelled sentence with the turn before it. *keep* says whether it is worth keeping for months."""

    text: str
    role: str
    previous: str
    lang: str
    act: str
    keep: bool


@dataclass(slots=True, kw_only=True)
class ActCounts:
    """Counts of the sentences in one language said by one role.

    *right*: worth keeping and in the section of its act. *anywhere*: worth keeping and in any section. *ordinary*
    counts the sentences that are not worth keeping, *entered* those of them that became entries.
    """

    worth: int = 0
    right: int = 0
    anywhere: int = 0
    ordinary: int = 0
    entered: int = 0
    acts: Counter[tuple[str, str]] = field(default_factory=Counter)


def read_sentences(path: Path) -> list[LabelledSentence]:
    """Return the sentences of a file, in order."""
    return [LabelledSentence(**json.loads(line)) for line in path.read_text("utf-8").splitlines() if line.strip()]


def measure_acts(
    sentences: Sequence[LabelledSentence], embedder: Embedder | NoEmbedder | None
) -> dict[tuple[str, str], ActCounts]:
    """Say and close each sentence in a home of its own. Return counts by language and role."""
    found: dict[tuple[str, str], ActCounts] = {}
    keys = sorted({(sentence.lang, sentence.role) for sentence in sentences})
    for key in keys:
        group = [sentence for sentence in sentences if (sentence.lang, sentence.role) == key]
        counts = found[key] = ActCounts()
        for sentence in group:
            with closed_home(_messages(sentence), embedder) as closed:
                lines = [line.prefix for line in (*closed.entries, *closed.proposed) if _tells(line.sources)]
            _count(counts, sentence, lines)
    return found


def measure_idle_turns(
    sentences: Sequence[LabelledSentence], embedder: Embedder | NoEmbedder | None
) -> dict[tuple[str, str], ActCounts]:
    """Count the sentences without a turn before them, alone and after each kind of idle turn.

    Return counts by language and by the kind of the turn, ``alone`` for none.
    """
    whole = [sentence for sentence in sentences if sentence.role == "user" and not sentence.previous]
    found: dict[tuple[str, str], ActCounts] = {}
    for kind in ("alone", *IDLE_TURNS):
        said = [replace(one, previous="" if kind == "alone" else idle_turn(one.text, one.lang, kind)) for one in whole]
        found |= {(lang, kind): counts for (lang, _), counts in measure_acts(said, embedder).items()}
    return found


def _messages(sentence: LabelledSentence) -> list[Message]:
    other = "assistant" if sentence.role == "user" else "user"
    rows = [(other, sentence.previous)] if sentence.previous else []
    rows.append((sentence.role, sentence.text))
    return [
        Message(session="s", id=f"m{number}", ts=f"2026-11-20T14:{number:02d}:00", role=role, content=content)
        for number, (role, content) in enumerate(rows, 2 - len(rows))
    ]


def _tells(sources: Iterable[str]) -> bool:
    """Return whether an entry cites the sentence, which is message 1. A proposal cites nothing here."""
    listed = list(sources)
    return not listed or "s#m1" in listed


def _count(counts: ActCounts, sentence: LabelledSentence, prefixes: Sequence[str]) -> None:
    counts.acts[sentence.act, prefixes[0] if prefixes else "-"] += 1
    if not sentence.keep:
        counts.ordinary += 1
        counts.entered += bool(prefixes)
    elif sentence.act in PREFIXES:
        counts.worth += 1
        counts.right += PREFIXES[sentence.act] in prefixes
        counts.anywhere += bool(prefixes)
