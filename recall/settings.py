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

    Attributes:
        passage_tokens: longest passage, in tokens of :func:`recall.index.passage.estimate_tokens`. MiniLM reads 256 at
            most. A change makes the next sync cut every file again.
        vector_weight: weight of the cosine of a passage's vector, or of a turn with its neighbours. Words have weight
            1. It depends on the embedding model: 1.2 was chosen for MiniLM.
        chinese_vector_weight: share of the vectors' weights for a question in Chinese. Set 0 for a model that does not
            read it.
        cjk_vector_weight: share of the vectors' weights for a question in Japanese or Korean. The default model does
            not read them. Set 1 for a model that does.
        archive_weight: share of its score that an archived passage keeps.
        lexical_deadline_ms: milliseconds after which the search goes on without the words.
        vector_deadline_ms: milliseconds after which the search goes on without the vectors. They include the first load
            of the model.
        sync_timeout_s: seconds that a sync waits for another one.
        fresh_embeddings: number of new passages that a search embeds itself. The rest waits for ``memory sync``.
        max_file_bytes: size in bytes above which a file is reported and not indexed.
    """

    passage_tokens: int = 180

    vector_weight: float = 1.2
    chinese_vector_weight: float = 1.0
    cjk_vector_weight: float = 0.0
    archive_weight: float = 0.95

    lexical_deadline_ms: float = 1000.0
    vector_deadline_ms: float = 3000.0

    sync_timeout_s: float = 60.0
    fresh_embeddings: int = 32
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
            raise ValueError(f"passage_tokens is {self.passage_tokens}. Write a number of at least 1")
        for field in fields(self):
            value = getattr(self, field.name)
            if not 0 <= value < math.inf:
                raise ValueError(f"{field.name} is {value}. Write a number of at least 0")
        if self.archive_weight > 1:
            raise ValueError(f"archive_weight is {self.archive_weight}. Write a number from 0 to 1")
