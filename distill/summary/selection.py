"""Lines for the daily log from what no cue marks: the sentences of a conversation that say the most for their room.

A sentence counts more when the speaker tells of their own, when it says when, names somebody or something, holds many
terms, or answers a question; less towards the end, where talks thank and part, and when it says what was said before.
With a model, nearness to what the conversation is about and repetition are measured on vectors, else on words. Lines
are chosen one by one by worth and length until the log's share is full. Nothing is reworded and every line points at
its turn; the same messages give the same lines. ``python -m bench.summary`` measures it.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from agent_home.store.transcript import Message
from agent_home.tokens import count_tokens
from recall.embedding.embedder import Embedder
from recall.errors import ModelError

from ..statements.sentences import is_question, narrowed, prose_lines, shorten, split_sentences
from ..statements.topics import content_terms
from .cues import parse_label
from .daily_section import count_item_tokens, render_body
from .extraction import MAX_ITEM_CHARS, Item, Summary, normalised, spoken_messages

__all__ = ["add_facts"]

#: Facts that cues mark (figures) stand in the log before anything is selected, this part of ``max_items`` of them.
_CUED_FACTS = 3
#: So many sentences are compared by vectors, the best by words: the model reads some hundred a second.
_SHORTLIST = 240
#: Sentences of a turn that may be its answer; what follows in a long message is elaboration.
_ANSWER_SENTENCES = 6
#: Tokens that facts may take in a talk whose share is smaller, though never more than half of what was said.
_LEAST_ROOM = 60
_MAX_TERMS, _MAX_NAMES = 10, 2
#: What each further line of one turn is worth beside the one before: a log tells of many turns rather than of one.
_SAME_TURN = 0.3
#: How far a line's length counts against its worth: 0 not at all, 1 in proportion.
_LENGTH = 0.4

_OWN = re.compile(r"\b(?:I|we|my|our|me|us|mine|ours|myself)\b|[我咱]", re.IGNORECASE)
_WHEN = re.compile(
    r"\b(?:yesterday|today|tomorrow|tonight|last|next|ago|weekend|week|month|years?|since|recently|just|currently|soon|"
    r"(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day|January|February|March|April|May|June|July|August|September|October|"
    r"November|December)\b|昨[天晚]|今[天晚年]|明[天年]|去年|前[天年]|[上下]个?(?:周|月|季度)|最近|刚刚|刚才|以前|"
    r"(?:周|星期|礼拜)[一二三四五六日天]|\d{1,2}月",
    re.IGNORECASE,
)
_NAME = re.compile(r"(?<=[a-z,;] )[A-Z][a-z]+|\b[A-Z]{2,}\b")
#: Manners of speaking, reactions and offers: they tell of nobody.
_MANNERS = re.compile(
    r"^(?:wow|who?ah?|woah|woohoo|yay|hey|hi|hello|oh|aw+|haha|lol|thanks|congrats|congratulations|glad|great|cool|nice|"
    r"awesome|amazing|sounds|that sounds|sure|yeah|yep|哇|哈哈|嗯|恭喜|谢谢|太[好棒]了|好的|辛苦了)(?![\w'’])|"
    r"\b(?:let me know|feel free|happy to help|glad to help|hope (?:this|that|it) helps|I can help|I apologi[sz]e|"
    r"here(?:['’]s| is| are) (?:an?|the|some|your))\b|希望(?:能|对你)|随时(?:告诉|问)我|很高兴",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Weights:
    """Of the logistic sum. Fitted on three conversations of LoCoMo, rounded, and confirmed on two others."""

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
    """A sentence that could stand in the log: *turn* counts the spoken messages, *worth* is the sum by words alone."""

    item: Item
    turn: int
    worth: float
    repeated: float
    tokens: int


def add_facts(
    summary: Summary, messages: Sequence[Message], *, share: float, max_items: int, embedder: Embedder | None = None
) -> Summary:
    """*summary* with the best further sentences of *messages* as facts, in the order of the conversation.

    The section's body then has at most *share* of the tokens of what was said. What cues marked stays even when it
    takes more; a short talk has room for two or three facts in any case, unless *share* is 0; and facts are never more
    than *max_items*. Without *embedder*, or when it fails, words decide.
    """
    said = spoken_messages(messages)
    summary = replace(summary, items=_cued(summary.items, max_items // _CUED_FACTS))
    facts = sum(item.kind == "fact" for item in summary.items)
    tokens = sum(count_tokens(message.content) for message in said)
    room = int(share * tokens) - count_tokens(render_body(_headed(summary, said), {}, max_items))
    room = max(room, min(_LEAST_ROOM, tokens // 2)) if share else 0
    if room <= 0 or facts >= max_items:
        return summary
    found = _sentences(said, summary.items)
    chosen = _chosen(found, _worths(found, embedder), room, max_items - facts)
    place = {message.source: number for number, message in enumerate(messages)}
    # A correction cites what it corrects first: its own turn is the last that it names.
    merged = sorted((*summary.items, *chosen), key=lambda item: place.get(_own_turn(item), 0))
    return replace(summary, items=tuple(merged))


def _own_turn(item: Item) -> str:
    return item.sources[-1] if item.kind == "correction" else item.sources[0]


def _cued(items: Sequence[Item], limit: int) -> tuple[Item, ...]:
    """*items* with the first *limit* facts only."""
    facts = [item for item in items if item.kind == "fact"][limit:]
    return tuple(item for item in items if item not in facts)


def _headed(summary: Summary, said: Sequence[Message]) -> Summary:
    """*summary* with a fact where it has none: the heading takes room too. One of no length, as far as that goes."""
    if not said or any(item.kind == "fact" for item in summary.items):
        return summary
    return replace(summary, items=(*summary.items, Item(kind="fact", text="", sources=(), role="user")))


def _sentences(said: Sequence[Message], items: Sequence[Item]) -> list[_Sentence]:
    """The sentences that state something and are not in *items*, in order."""
    quoted: dict[str, str] = {}
    for item in items:
        for source in item.sources:
            quoted[source] = quoted.get(source, "") + "\n" + normalised(f"{item.text} {item.replaces}")
    found, known = [], set[str]()
    speakers = {part for message in said for part in message.name.casefold().split()}
    asked = False
    for turn, message in enumerate(said):
        sentences = [
            sentence
            for line in prose_lines(message.content)
            if line.kind != "heading"
            for sentence in split_sentences(line.text)
        ]
        fresh = set[str]()
        for number, sentence in enumerate(sentences):
            # A name called out is no news, and may be shortened.
            words = {
                word
                for word in map(str.casefold, content_terms(sentence))
                if not any(speaker.startswith(word) for speaker in speakers)
            }
            fresh |= words
            text = normalised(sentence)
            if len(words) < 2 or len(text) < 4 or is_question(sentence) or narrowed(sentence).endswith(":"):
                continue
            label = parse_label(sentence)
            if (normalised(label.rest) if label else text) in quoted.get(message.source, ""):
                continue
            place = turn / max(1, len(said) - 1)
            worth = _worth(sentence, words, answers=asked and number < _ANSWER_SENTENCES, place=place)
            item = Item(
                kind="fact", text=shorten(sentence, MAX_ITEM_CHARS), sources=(message.source,), role=message.role,
                ts=message.ts,
            )  # fmt: skip
            repeated = len(words & known) / len(words)
            found.append(
                _Sentence(item=item, turn=turn, worth=worth, repeated=repeated, tokens=count_item_tokens(item))
            )
        known |= fresh
        asked = any(is_question(sentence) for sentence in sentences)
    return found


def _worth(sentence: str, words: set[str], *, answers: bool, place: float) -> float:
    """What the words of a sentence say for it; *place* from 0, the first turn, to 1, the last."""
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
        + weights.manners * bool(_MANNERS.search(sentence))
    )


def _worths(found: Sequence[_Sentence], embedder: Embedder | None) -> list[float]:
    """Each sentence's worth; what is not on the shortlist, or all where there is no model, by words."""
    worths = [sentence.worth + _WEIGHTS.repeated_words * sentence.repeated for sentence in found]
    if embedder is None or not found:
        return worths
    best = sorted(sorted(range(len(found)), key=lambda number: (-worths[number], number))[:_SHORTLIST])
    try:
        vectors = embedder.embed([found[number].item.text for number in best])
    except ModelError:
        return worths  # by words: the log must not wait for a model
    listed = [found[number] for number in best]
    scores = _by_vectors([sentence.turn for sentence in listed], vectors)
    exact = {number: found[number].worth + score for number, score in zip(best, scores, strict=True)}
    low = min(exact.values()) if len(best) < len(found) else 0.0
    return [exact[number] if number in exact else min(low, worth) for number, worth in enumerate(worths)]


def _by_vectors(turns: Sequence[int], vectors: NDArray[np.float32]) -> list[float]:
    """For each sentence: nearness to the mean of all, less nearness to the nearest of an earlier turn."""
    mean = vectors.mean(axis=0)
    mean /= max(float(np.linalg.norm(mean)), 1e-9)
    order = np.asarray(turns)
    near = np.where(order[None, :] < order[:, None], vectors @ vectors.T, 0.0).max(axis=1)
    return list(map(float, _WEIGHTS.central * (vectors @ mean) + _WEIGHTS.repeated * near))


def _chosen(found: Sequence[_Sentence], worths: Sequence[float], room: int, most: int) -> list[Item]:
    """The best sentences for their length that fit into *room* tokens, at most *most*; the same text once."""
    value = [
        1 / (1 + math.exp(-worth)) / sentence.tokens**_LENGTH for worth, sentence in zip(worths, found, strict=True)
    ]
    of_turn: Counter[int] = Counter()
    texts: set[str] = set()
    chosen: list[Item] = []
    left = set(range(len(found)))
    while left and len(chosen) < most:
        left = {number for number in left if found[number].tokens <= room}
        if not left:
            break
        best = max(left, key=lambda number: (value[number] * _SAME_TURN ** of_turn[found[number].turn], -number))
        left.remove(best)
        text = normalised(found[best].item.text)
        if text in texts:
            continue
        texts.add(text)
        chosen.append(found[best].item)
        room -= found[best].tokens
        of_turn[found[best].turn] += 1
    return chosen
