"""The ``[recall]`` table of ``agent.toml``: the choices that depend on the home, its model or its machine.

Everything else that ranking and retrieval use is a constant beside the code that uses it, with the measurement that
chose it: see ``recall.search.reranking``, ``recall.search.retrievers`` and ``docs/recall.md``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from typing import ClassVar

__all__ = ["RecallSettings"]


@dataclass(frozen=True, slots=True, kw_only=True)
class RecallSettings:
    """Settings of the index and of a search.

    Changing ``passage_tokens`` makes the next sync cut every file again. The others take effect at once.
    """

    #: Longest passage, in tokens as :func:`recall.index.passage.estimate_tokens` counts them. MiniLM reads 256 at most.
    passage_tokens: int = 180

    #: Weight of the cosine of the passage's vector, or of the turn's with its neighbours, beside 1 for the words.
    #: It depends on the embedding model: 1.2 was chosen for MiniLM.
    vector_weight: float = 1.2
    #: Share of the vectors' weights that is left for a question in Chinese, Japanese or Korean. MiniLM does not read
    #: these scripts; 1 suits a model that does.
    cjk_vector_weight: float = 0.0
    #: Share of its score that an archived passage keeps.
    archive_weight: float = 0.95

    #: How long the words may take before the search goes on without them, in milliseconds.
    lexical_deadline_ms: float = 1000.0
    #: How long the vectors may take, including the first load of the model, in milliseconds.
    vector_deadline_ms: float = 3000.0

    #: How long a sync waits for another one, in seconds.
    sync_timeout_s: float = 60.0
    #: Passages that a search embeds on the way; the rest waits for `memory sync`.
    fresh_embeddings: int = 32
    #: A longer file is not indexed, and reported, in bytes.
    max_file_bytes: int = 50_000_000

    #: Former settings that are constants now. Naming one in ``agent.toml`` is an error that says so.
    RETIRED: ClassVar[frozenset[str]] = frozenset(
        {
            "asked_weight", "candidates", "compared", "context_reach", "context_weight", "date_days", "date_weight",
            "embedding_batch", "group_weight", "groups", "heading_weight", "length_norm", "length_weight",
            "length_words", "nearest", "neighbours", "postings", "question_terms", "saturation", "session_weight",
            "speaker_weight", "user_weight", "vector_words",
        }
    )  # fmt: skip

    def __post_init__(self) -> None:
        if self.passage_tokens < 1:
            raise ValueError(f"passage_tokens is {self.passage_tokens}, expected at least 1")
        for field in fields(self):
            value = getattr(self, field.name)
            if not 0 <= value < math.inf:
                raise ValueError(f"{field.name} is {value}, expected a number of at least 0")
        if self.archive_weight > 1:
            raise ValueError(f"archive_weight is {self.archive_weight}, expected 0 to 1")
