"""Choice of the entries of ``MEMORY.md`` that stand beside the turns in a prompt.

An ending often shares no word with the entry that it ends ("It's benign!" ends "waiting for the biopsy result"). So
all entries stand in the prompt of a small memory. Of a larger one, most are those that share rare words with the turns.
The next ones lie near a turn by their vectors, and the newest ones fill the rest.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass

import numpy as np

from agent_home import storage
from agent_home.documents.document import parse
from agent_home.documents.entry import Entry
from agent_home.home import MEMORY, Home
from agent_home.tokens import count_tokens
from recall.embedding.embedder import Embedder, Vector
from recall.errors import ModelError
from recall.text.stems import stem

from ..statements.sentences import prose_lines, split_sentences
from ..statements.topics import content_terms

__all__ = ["EntryIndex", "PromptEntry", "index_entries"]

#: Most entries beside the turns, and how many of them may be there for their words alone.
_MOST_ENTRIES, _MOST_BY_WORDS = 32, 20
#: Most entries that are there for their vectors, and the least cosine with a sentence of a turn.
_MOST_NEAR, _LEAST_COSINE = 8, 0.25
#: Most sentences of the turns that get a vector, and their length.
_MAX_SENTENCES, _MAX_CHARS = 120, 300
#: Tokens of the mark-up of an entry in the prompt.
_MARKUP_TOKENS = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptEntry:
    """An entry as the prompt shows it. *own*: the assistant stated it itself."""

    id: str
    text: str
    own: bool


@dataclass(frozen=True, slots=True)
class EntryIndex:
    """The live entries in the order of the file, with their words and, where there is a model, their vectors."""

    entries: Sequence[Entry]
    words: Sequence[frozenset[str]]
    vectors: Vector | None = None
    embedder: Embedder | None = None

    def related(self, turns: Sequence[str], max_tokens: int) -> list[PromptEntry]:
        """Return the entries for a prompt with *turns*, within *max_tokens*, in the order of the file."""
        chosen: dict[int, PromptEntry] = {}
        for place in dict.fromkeys(self._ranked(turns)):
            entry = self.entries[place]
            text = " ".join(f"{entry.date} {entry.text}".split())
            cost = count_tokens(text) + _MARKUP_TOKENS
            if cost <= max_tokens and len(chosen) < _MOST_ENTRIES:
                own = entry.fields.get("Origin") == "agent"
                chosen[place] = PromptEntry(id=entry.id, text=text, own=own)
                max_tokens -= cost
        return [chosen[place] for place in sorted(chosen)]

    def _ranked(self, turns: Sequence[str]) -> Iterator[int]:
        """Yield the places of entries, those first that matter most. A place may come twice."""
        said = _words("\n".join(turns))
        often: dict[str, int] = {}
        for words in self.words:
            for word in words:
                often[word] = often.get(word, 0) + 1
        shared = [sum(1 / often[word] for word in words & said) for words in self.words]
        newest = sorted(
            range(len(self.entries)),
            key=lambda place: (self.entries[place].prefix == "OT", self.entries[place].date, -place), reverse=True,
        )  # fmt: skip
        by_words = sorted((place for place in newest if shared[place] > 0), key=lambda place: -shared[place])
        yield from by_words[:_MOST_BY_WORDS]
        if len(self.entries) > _MOST_ENTRIES:
            yield from self._near(turns, frozenset(by_words[:_MOST_BY_WORDS]))
        yield from by_words
        yield from newest

    def _near(self, turns: Sequence[str], chosen: frozenset[int]) -> Sequence[int]:
        """Return the places of other entries whose vectors lie near a sentence of *turns*, the nearest first."""
        sentences = [
            sentence[:_MAX_CHARS]
            for turn in turns
            for line in prose_lines(turn)
            for sentence in split_sentences(line.text)
        ][-_MAX_SENTENCES:]
        if self.vectors is None or self.embedder is None or not sentences:
            return []
        try:
            nearness = (self.vectors @ self.embedder.embed(sentences).T).max(axis=1)
        except ModelError:
            return []  # words alone choose
        order = [int(place) for place in np.argsort(-nearness, kind="stable")]
        return [place for place in order if place not in chosen and nearness[place] >= _LEAST_COSINE][:_MOST_NEAR]


def index_entries(home: Home, embedder: Embedder | None = None) -> EntryIndex:
    """Read the live entries of ``MEMORY.md``. Only where they are many, *embedder* makes vectors."""
    found = parse(storage.read_text(home.root / MEMORY)).entries()
    entries = [entry for entry in found if not (entry.retired or entry.fields.get("Superseded-By"))]
    vectors = None
    if embedder is not None and len(entries) > _MOST_ENTRIES:
        with suppress(ModelError):
            vectors = embedder.embed([entry.text for entry in entries])
    return EntryIndex(entries, [_words(entry.text) for entry in entries], vectors, embedder)


def _words(text: str) -> frozenset[str]:
    return frozenset(stem(term) if term.isascii() else term for term in content_terms(text))
