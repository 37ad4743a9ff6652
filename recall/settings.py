"""The ``[recall]`` table of ``agent.toml``: how passages are cut, found and ranked."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["RecallSettings"]


@dataclass(frozen=True, slots=True, kw_only=True)
class RecallSettings:
    """Every number that cutting and ranking use.

    Changing one of the first three makes the next sync cut the files anew; the others take effect at once.
    """

    #: Longest passage, in tokens as :func:`recall.passage.size` counts them; MiniLM reads no more than 256.
    passage_tokens: int = 180
    #: Turns on each side that count as a turn's neighbours: answers stand two turns from their question.
    neighbours: int = 2
    #: Characters of each neighbour that are indexed with a turn; longer ones would drown its own words.
    neighbour_chars: int = 400

    #: BM25 weight of a passage's heading path, or of its speaker: questions name the person.
    heading_weight: float = 1.0
    #: BM25 weight of the neighbouring turns beside 1 for the passage's own words.
    context_weight: float = 0.3

    #: Weight in the sum of scores of the words of the passage; the other weights are relative to it.
    lexical_weight: float = 1.0
    #: Weight of the whole file's words: a turn in a session about the matter is likelier to be meant.
    group_weight: float = 0.3
    #: Weight of the passage's vector.
    vector_weight: float = 0.3
    #: Weight of the vector of a turn together with its neighbours.
    window_weight: float = 0.3

    #: Passages that each leg hands to the sum; below 200 the sum loses what only one leg ranks high.
    candidates: int = 300
    #: Files whose words are scored as a whole; the others get no such bonus.
    groups: int = 500
    #: Terms of a question that are looked up; a pasted page has no more to say in its rest.
    question_terms: int = 64

    #: How long the words may take before the search goes on without them, in milliseconds.
    lexical_deadline_ms: float = 1000.0
    #: How long the vectors may take, the first loading of the model included, in milliseconds.
    vector_deadline_ms: float = 3000.0

    #: How long a sync waits for another one, in seconds.
    sync_timeout_s: float = 60.0
    #: Passages that a search embeds in passing; the rest waits for `memory sync`.
    fresh_embeddings: int = 32
    #: Passages embedded between two writes: what a killed sync has to do again.
    embedding_batch: int = 128
    #: A longer file is not indexed, and reported, in bytes.
    max_file_bytes: int = 50_000_000

    def __post_init__(self) -> None:
        for name in ("passage_tokens", "candidates", "groups", "question_terms", "embedding_batch"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} is {getattr(self, name)}, wanted at least 1")
        for name in ("neighbours", "neighbour_chars", "fresh_embeddings"):
            if getattr(self, name) < 0:
                raise ValueError(f"{name} is {getattr(self, name)}, wanted at least 0")
