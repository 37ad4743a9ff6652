"""Sentences of development conversations, labelled weakly by the memories and observations that cite their turns.

A sentence of the user in a turn that no memory cites, and with few words of the session's memories, is ordinary. One
that shares most of its words with a memory of its turn is worth keeping, in a section that the labels do not say. The
texts belong to others and stay out of the repository: only weights are learned from them.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

import numpy as np

from agent_home.store.transcript import Message
from bench.memory.closed_homes import read_messages
from distill.statements.sentences import is_question, prose_lines, split_sentences
from distill.statements.topics import content_terms

__all__ = ["WeakSentence", "load_weak_sentences"]

#: Most of the sentence's terms that memories of the session may hold if it is ordinary, and least share of them that
#: one memory of its turn holds if it is worth keeping.
_UNRELATED, _TOLD = 0.25, 0.6
_MIN_WORDS, _MAX_WORDS, _MIN_TERMS = 3, 45, 3
_MAX_ORDINARY, _MAX_KEPT = 1200, 500
_MAX_PREVIOUS_CHARS = 400

Terms = frozenset[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class WeakSentence:
    """A sentence of the user after the turn *previous*. *keep* says whether it is worth keeping."""

    text: str
    previous: str
    keep: bool


def load_weak_sentences(data: Path) -> list[WeakSentence]:
    """Return a fixed sample of the sentences of RealMem and LoCoMo in *data*, none where the folder has neither."""
    found: list[WeakSentence] = []
    for folder, suffix, notes in (
        ("realmem", ".transcript.jsonl.gz", ".memories.jsonl"), ("locomo", ".transcript.jsonl", ".observations.jsonl"),
    ):  # fmt: skip
        for path in sorted((data / folder).glob(f"*{suffix}")):
            found += _conversation(read_messages(path), path.with_name(path.name.removesuffix(suffix) + notes))
    order = np.random.default_rng(3).permutation(len(found))
    shuffled = [found[number] for number in order]
    ordinary = [row for row in shuffled if not row.keep][:_MAX_ORDINARY]
    return ordinary + [row for row in shuffled if row.keep][:_MAX_KEPT]


def _conversation(messages: Sequence[Message], notes: Path) -> Iterator[WeakSentence]:
    of_turn: dict[str, list[Terms]] = {}
    of_session: dict[str, set[str]] = {}
    for line in notes.read_text("utf-8").splitlines():
        row = json.loads(line)
        terms = _terms(row["text"])
        of_session.setdefault(row["session"], set()).update(terms)
        for source in row["sources"] if "sources" in row else [row["source"]]:
            of_turn.setdefault(source, []).append(terms)
    for session, group in groupby(messages, key=lambda message: message.session):
        for message, sentence, previous in _sentences(group):
            keep = _label(sentence, of_turn, message.source, of_session.get(session, set()))
            if keep is not None:
                yield WeakSentence(text=sentence, previous=previous, keep=keep)


def _sentences(messages: Iterator[Message]) -> Iterator[tuple[Message, str, str]]:
    latest = ""
    for message in messages:
        if message.role != "user":
            latest = message.content if message.role == "assistant" else latest
            continue
        for line in prose_lines(message.content):
            for sentence in split_sentences(line.text) if line.kind != "heading" else ():
                if _MIN_WORDS <= len(sentence.split()) <= _MAX_WORDS and not is_question(sentence):
                    yield message, sentence, latest[-_MAX_PREVIOUS_CHARS:]


def _label(sentence: str, of_turn: Mapping[str, Sequence[Terms]], source: str, session: set[str]) -> bool | None:
    """Return whether *sentence* is worth keeping, ``None`` where the memories do not say."""
    terms = _terms(sentence)
    if source not in of_turn:
        return False if len(terms & session) <= _UNRELATED * len(terms) else None
    told = max(len(terms & memory) for memory in of_turn[source]) / max(1, len(terms))
    return True if len(terms) >= _MIN_TERMS and told >= _TOLD else None


def _terms(text: str) -> Terms:
    """Return content words, cut to five letters so that forms of one word agree."""
    return frozenset(term.casefold()[:5] for term in content_terms(text))
