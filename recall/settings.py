"""The ``[recall]`` table of ``agent.toml``: how passages are cut, found and ranked."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields

__all__ = ["RecallSettings"]


@dataclass(frozen=True, slots=True, kw_only=True)
class RecallSettings:
    """Every number that cutting and ranking use.

    Changing one of the first two makes the next sync cut the files anew; the others take effect at once.
    """

    #: Longest passage, in tokens as :func:`recall.index.passage.size` counts them; MiniLM reads no more than 256.
    passage_tokens: int = 180
    #: Turns on each side whose vectors make up a turn's window: answers stand two turns from their question.
    neighbours: int = 2

    #: Occurrences of a word at which it counts half of what any number can: short turns say a word once.
    saturation: float = 0.8
    #: How far a long passage's words count less, from 0 (not at all) to 1 (in proportion to its length).
    length_norm: float = 0.3
    #: What a word counts that stands in the heading of a document's passage, beside 1 for its text.
    heading_weight: float = 0.5
    #: What a word counts that stands only in a neighbouring passage, beside 1 for the passage itself.
    context_weight: float = 0.3
    #: Passages on each side that count as neighbours.
    context_reach: int = 3
    #: What a word counts that stands in the question which the turn follows: an answer seldom repeats it.
    asked_weight: float = 0.8

    # The weights of the sum. The words of a passage have weight 1: the share of the question that they cover, by how
    # rare each word is. docs/recall.md has the measured effect of each.
    #: Words that are the name of the turn's speaker.
    speaker_weight: float = 0.5
    #: BM25 of the whole file, divided by the best file's: a turn in a session about the matter is likelier to be meant.
    group_weight: float = 0.15
    #: Cosine of the passage's vector, or of the turn's with its neighbours, where passages are long.
    vector_weight: float = 1.2
    #: Cosine of the nearest passage of the same file, where passages are long.
    session_weight: float = 0.6
    #: Words of a passage at which the two weights above are halved: a short turn's vector says less than its words.
    vector_words: float = 30.0
    #: What is left of the vectors' weights for a question in Chinese, Japanese or Korean; 1 if the model reads them.
    cjk_vector_weight: float = 0.0
    #: Being said on a day that the question names.
    date_weight: float = 0.55
    #: Days after a named day at which that counts less by e.
    date_days: float = 7.0
    #: Being said by the user, when the question is in the first person and does not ask what the agent said.
    user_weight: float = 0.5
    #: Length of a turn: "Wow, great!" answers nothing.
    length_weight: float = 0.2
    #: Words of a turn at which it has half of that.
    length_words: float = 10.0
    #: What is left of the score of an archived passage: it went because nobody needed it.
    archive_weight: float = 0.95

    #: Passages by which each leg opens their surroundings to ranking.
    candidates: int = 100
    #: Nearest vectors that are asked for; all others count like the last of these.
    nearest: int = 300
    #: Vectors that are compared exactly after a first look at all of them, and one more for every 500 in the index.
    compared: int = 400
    #: Passages in which the words that decide where to look may stand together: the rarest words are taken first.
    postings: int = 20_000
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
        for name in (
            "passage_tokens",
            "candidates",
            "nearest",
            "compared",
            "postings",
            "groups",
            "question_terms",
            "embedding_batch",
        ):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} is {getattr(self, name)}, wanted at least 1")
        for name in ("neighbours", "context_reach", "fresh_embeddings"):
            if getattr(self, name) < 0:
                raise ValueError(f"{name} is {getattr(self, name)}, wanted at least 0")
        for field in fields(self):
            value = getattr(self, field.name)
            if isinstance(value, float) and not 0 <= value < math.inf:
                raise ValueError(f"{field.name} is {value}, wanted a number of at least 0")
        for name in ("saturation", "length_words", "date_days"):
            if getattr(self, name) <= 0:
                raise ValueError(f"{name} is {getattr(self, name)}, wanted more than 0")
        for name in ("length_norm", "archive_weight"):
            if getattr(self, name) > 1:
                raise ValueError(f"{name} is {getattr(self, name)}, wanted 0 to 1")
