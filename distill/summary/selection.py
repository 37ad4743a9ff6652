"""Selection of sentences without a cue as facts for the daily log, by their score and length.

A sentence scores higher when the speaker talks about themselves, gives a time, names somebody or something, uses many
terms or answers a question. It scores lower late in the conversation and when it repeats earlier sentences. With a
model, vectors measure repetition and nearness to the conversation's mean. Without one, words measure repetition.

Sentences are selected one by one until the log's share is full. They are verbatim and cite their turns. The selection
is deterministic. ``python -m bench.summary`` measures its quality.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from heapq import heapify, heappop, heappush

import numpy as np
from numpy.typing import NDArray

from agent_home.store.transcript import Message
from agent_home.tokens import count_tokens
from guard.lazy_regex import lazy_regex
from recall.embedding.embedder import Embedder
from recall.errors import ModelError
from recall.text.identity import identity_key

from ..reading.labels import parse_label
from ..statements.sentences import is_question, narrowed, prose_lines, shorten, split_sentences
from ..statements.topics import content_terms
from .daily_section import count_item_tokens, render_body
from .extraction import MAX_ITEM_CHARS, Item, Summary, spoken_messages

__all__ = ["add_facts", "is_courtesy"]

#: Facts with a cue (figures) come first. Those that earn no entry get at most ``max_items`` divided by this.
_CUED_DIVISOR = 3
#: Number of sentences, best by words, that are compared by vectors. The model embeds about a hundred a second.
_SHORTLIST = 240
#: Leading sentences of a turn that count as its answer. The rest of a long message is elaboration.
_ANSWER_SENTENCES = 6
#: Least room for facts in tokens, though never more than half of the conversation.
_MIN_ROOM_TOKENS = 60
_MAX_TERMS, _MAX_NAMES = 10, 2
#: Factor for each further line of one turn, so that the log covers many turns.
_SAME_TURN_FACTOR = 0.9
#: Exponent of a line's length in its value: 0 ignores the length, 1 divides by it.
_LENGTH_EXPONENT = 0.1

_OWN = lazy_regex(r"\b(?:I|we|my|our|me|us|mine|ours|myself)\b|[我咱]", re.IGNORECASE)
_WHEN = lazy_regex(
    r"\b(?:yesterday|today|tomorrow|tonight|last|next|ago|weekend|week|month|years?|since|recently|just|currently|soon|"
    r"(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day|January|February|March|April|May|June|July|August|September|October|"
    r"November|December)\b|昨[天晚]|今[天晚年]|明[天年]|去年|前[天年]|[上下]个?(?:周|月|季度)|最近|刚刚|刚才|以前|"
    r"(?:周|星期|礼拜)[一二三四五六日天]|\d{1,2}月",
    re.IGNORECASE,
)
_NAME = lazy_regex(r"(?<=[a-z,;] )[A-Z][a-z]+|\b[A-Z]{2,}\b")
#: What a converter writes for a picture of a turn.
_CAPTION = lazy_regex(r"\[(?:image|photo|picture|图片|照片)[:\uff1a][^\]]*\]$", re.IGNORECASE)
#: Reactions, courtesies and offers, which state no fact.
_MANNERS = lazy_regex(
    r"^(?:wow|who?ah?|woah|woohoo|yay|hey|hi|hello|oh|aw+|haha|lol|thanks|thank you|good to see|congrats|"
    r"congratulations|glad|great|cool|nice|"
    r"awesome|amazing|sounds|that sounds|sure|yeah|yep|哇|哈哈|嗯|恭喜|谢谢|太[好棒]了|好的|辛苦了)(?![\w'’])|"
    r"\b(?:let me know|feel free|happy to help|glad to help|hope (?:this|that|it) helps|I can help|I apologi[sz]e|"
    r"here(?:['’]s| is| are) (?:an?|the|some|your))\b|希望(?:能|对你)|随时(?:告诉|问)我|很高兴",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Weights:
    """Weights of the logistic score. Fitted on three conversations of LoCoMo, rounded, and confirmed on two others."""

    own: float = 0.6
    when: float = 0.6
    number: float = 0.2
    name: float = 0.4
    terms: float = 1.2
    answers: float = 1.0
    late: float = -1.0
    manners: float = -1.0
    central: float = 0.9
    repeated: float = -1.0
    repeated_words: float = -0.4
    bias: float = -1.1


_WEIGHTS = _Weights()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Sentence:
    """A candidate for the log. *turn* is the index of its spoken message, *score* the weighted sum by words alone."""

    item: Item
    turn: int
    score: float
    repeated: float
    tokens: int


def add_facts(
    summary: Summary, messages: Sequence[Message], *, share: float, max_items: int, embedder: Embedder | None = None
) -> Summary:
    """Add the best further sentences of *messages* to *summary* as facts, in the order of the conversation.

    The section's body gets at most *share* of the tokens of the spoken messages. Items with a cue stay even when they
    take more. A short conversation has room for two or three facts, unless *share* is 0. There are at most *max_items*
    facts. Without *embedder*, or when it fails, sentences are scored by words.
    """
    spoken = spoken_messages(messages)
    summary = replace(summary, items=_limit_facts(summary.items, max_items))
    facts = sum(item.kind == "fact" for item in summary.items)
    tokens = sum(count_tokens(message.content) for message in spoken)
    room = int(share * tokens) - count_tokens(render_body(_with_fact_heading(summary, spoken), {}, max_items))
    room = max(room, min(_MIN_ROOM_TOKENS, tokens // 2)) if share else 0
    if room <= 0 or facts >= max_items:
        return summary
    candidates = _find_candidates(spoken, summary.items)
    selected = _select(candidates, _scores(candidates, embedder), room, max_items - facts)
    place = {message.source: number for number, message in enumerate(messages)}
    # A correction cites the corrected turn first and its own turn last.
    merged = sorted((*summary.items, *selected), key=lambda item: place.get(_own_turn(item), 0))
    return replace(summary, items=tuple(merged))


def is_courtesy(sentence: str) -> bool:
    """Return whether *sentence* is a reaction, a courtesy or an offer, which states no fact."""
    return _MANNERS.search(sentence) is not None


def _own_turn(item: Item) -> str:
    return item.sources[-1] if item.kind == "correction" else item.sources[0]


def _limit_facts(items: Sequence[Item], most: int) -> tuple[Item, ...]:
    """Remove facts from *items* beyond the first *most*, and fewer of those that earn no entry."""
    facts = [item for item in items if item.kind == "fact"]
    passing = [item for item in facts if not (item.lasting or item.read or item.marked)]
    excess = {*facts[most:], *passing[most // _CUED_DIVISOR :]}
    return tuple(item for item in items if item not in excess)


def _with_fact_heading(summary: Summary, spoken: Sequence[Message]) -> Summary:
    """Add an empty fact to a *summary* without facts, so that its tokens include their heading."""
    if not spoken or any(item.kind == "fact" for item in summary.items):
        return summary
    return replace(summary, items=(*summary.items, Item(kind="fact", text="", sources=(), role="user")))


def _find_candidates(spoken: Sequence[Message], items: Sequence[Item]) -> list[_Sentence]:
    """Find the sentences that state something and are not in *items*, in order."""
    quoted: dict[str, str] = {}
    for item in items:
        for source in item.sources:
            quoted[source] = quoted.get(source, "") + "\n" + identity_key(f"{item.text} {item.replaces}")
    found, known = [], set[str]()
    speakers = {part for message in spoken for part in message.name.casefold().split()}
    after_question = False
    for turn, message in enumerate(spoken):
        sentences = [
            sentence
            for line in prose_lines(message.content)
            if line.kind != "heading"
            for sentence in _with_captions(line.text)
        ]
        fresh = set[str]()
        for number, sentence in enumerate(sentences):
            # Addressing a speaker, even by a short form of the name, adds no information.
            words = {
                word
                for word in map(str.casefold, content_terms(sentence))
                if not any(speaker.startswith(word) for speaker in speakers)
            }
            fresh |= words
            text = identity_key(sentence)
            if len(words) < 2 or len(text) < 4 or is_question(sentence) or narrowed(sentence).endswith(":"):
                continue
            label = parse_label(sentence)
            if (identity_key(label.rest) if label else text) in quoted.get(message.source, ""):
                continue
            place = turn / max(1, len(spoken) - 1)
            answers = after_question and number < _ANSWER_SENTENCES
            score = _score(sentence, words, answers=answers, place=place)
            item = Item(
                kind="fact", text=shorten(sentence, MAX_ITEM_CHARS), sources=(message.source,), role=message.role,
                ts=message.ts,
            )  # fmt: skip
            repeated = len(words & known) / len(words)
            found.append(
                _Sentence(item=item, turn=turn, score=score, repeated=repeated, tokens=count_item_tokens(item))
            )
        known |= fresh
        after_question = any(is_question(sentence) for sentence in sentences)
    return found


def _with_captions(line: str) -> list[str]:
    """Return the sentences of *line*, a caption of a picture together with the sentence before it.

    "Here's our latest work. [image: a painting of a palm tree]" says little without its caption.
    """
    sentences: list[str] = []
    for sentence in split_sentences(line):
        shown = f"{sentences[-1]} {sentence}" if sentences and _CAPTION.match(sentence) else ""
        if shown and shown in line and len(shown) <= MAX_ITEM_CHARS and not is_question(sentences[-1]):
            sentences[-1] = shown
        else:
            sentences.append(sentence)
    return sentences


def _score(sentence: str, words: set[str], *, answers: bool, place: float) -> float:
    """Score a sentence by its words. *place* is 0 for the first turn and 1 for the last."""
    weights = _WEIGHTS
    return (
        weights.bias
        + weights.own * bool(_OWN.search(sentence))
        + weights.when * bool(_WHEN.search(sentence))
        + weights.number * any(char.isdigit() for char in sentence)
        + weights.name * min(_MAX_NAMES, len(_NAME.findall(sentence)))
        + weights.terms * math.log1p(min(_MAX_TERMS, len(words)))
        + weights.answers * answers
        + weights.late * place
        + weights.manners * is_courtesy(sentence)
    )


def _scores(candidates: Sequence[_Sentence], embedder: Embedder | None) -> list[float]:
    """Score the shortlist by words and vectors, the other candidates, or all without a model, by words."""
    by_words = [sentence.score + _WEIGHTS.repeated_words * sentence.repeated for sentence in candidates]
    if embedder is None or not candidates:
        return by_words
    best = sorted(sorted(range(len(candidates)), key=lambda number: (-by_words[number], number))[:_SHORTLIST])
    try:
        vectors = embedder.embed([candidates[number].item.text for number in best])
    except ModelError:
        return by_words  # a closing must not fail with the model
    shortlist = [candidates[number] for number in best]
    by_vectors = _vector_scores([sentence.turn for sentence in shortlist], vectors)
    exact = {number: candidates[number].score + score for number, score in zip(best, by_vectors, strict=True)}
    lowest = min(exact.values()) if len(best) < len(candidates) else 0.0
    return [exact[number] if number in exact else min(lowest, score) for number, score in enumerate(by_words)]


def _vector_scores(turns: Sequence[int], vectors: NDArray[np.float32]) -> list[float]:
    """Score each sentence by its nearness to the mean of all, less its nearness to the nearest of an earlier turn."""
    mean = vectors.mean(axis=0)
    mean /= max(float(np.linalg.norm(mean)), 1e-9)
    order = np.asarray(turns)
    nearest = np.where(order[None, :] < order[:, None], vectors @ vectors.T, 0.0).max(axis=1)
    return list(map(float, _WEIGHTS.central * (vectors @ mean) + _WEIGHTS.repeated * nearest))


def _select(candidates: Sequence[_Sentence], scores: Sequence[float], room: int, most: int) -> list[Item]:
    """Select sentences greedily by value until *room* tokens or *most* items are used. No text is selected twice."""
    value = [
        1 / (1 + math.exp(-score)) / sentence.tokens**_LENGTH_EXPONENT
        for score, sentence in zip(scores, candidates, strict=True)
    ]
    texts: set[str] = set()
    selected: list[Item] = []
    # A selected line lowers the values of its turn alone, and all by one factor. So the best of each turn compete.
    waiting: dict[int, list[int]] = {}
    for number in sorted(range(len(candidates)), key=lambda number: (value[number], -number)):
        waiting.setdefault(candidates[number].turn, []).append(number)
    heads = [(-value[numbers[-1]], numbers[-1]) for numbers in waiting.values()]
    heapify(heads)
    lines_of_turn: Counter[int] = Counter()
    while heads and len(selected) < most:
        _, best = heappop(heads)
        turn, tokens = candidates[best].turn, candidates[best].tokens
        text = identity_key(candidates[best].item.text) if tokens <= room else ""
        if tokens <= room and text not in texts:
            texts.add(text)
            selected.append(candidates[best].item)
            room -= tokens
            lines_of_turn[turn] += 1
        waiting[turn].pop()
        if waiting[turn]:
            following = waiting[turn][-1]
            heappush(heads, (-value[following] * _SAME_TURN_FACTOR ** lines_of_turn[turn], following))
    return selected
