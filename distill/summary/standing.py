"""Chances that an entry is understood alone, that it is worth keeping, and that it stands in the section of its kind.

``distill.summary.surroundings`` chose the words around the sentence before, so what still leans on its conversation
here has no noun nearby. Each chance is that of a linear model over the form of the entry, the reader's chances and the
place of the sentence in its conversation. The weights are a file beside this module, written by ``python -m
bench.training.standing`` from entries that judges read without their conversations.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from functools import cache, lru_cache
from importlib.resources import files
from itertools import pairwise
from math import exp, log, log1p
from typing import Literal

from guard.lazy_regex import lazy_regex

from ..reading.classifier import ACTS, Act, act_chances, is_chinese
from ..reading.labels import ItemKind
from ..statements.completeness import lacks_its_noun
from ..statements.dated_words import without_dates
from ..statements.sentences import is_question, split_sentences
from ..statements.standalone import plain_turn, split_speaker
from ..statements.topics import content_terms
from .leaning import leans

__all__ = ["LEAST_CHANCE", "Question", "kind_of_entry", "standing_chance", "standing_signs"]

#: What a chance tells: whether a reader understands the entry alone, keeps it, and would look for it in its section.
Question = Literal["alone", "kept", "section"]
#: Least chance to be kept of an entry.
LEAST_CHANCE = 0.35
#: Least chance of an entry that stays in the section of its kind. Any other one is told as a fact.
_LEAST_SECTION = 0.5
_WEIGHTS = "standing.json"
_MAX_CHARS = 800
#: Act of the reader for each kind of item. Any other kind is told as a fact.
_ACTS: Mapping[str, Act] = {
    "preference": "preference", "decision": "decision", "lesson": "lesson", "correction": "correction",
    "root_cause": "correction", "open_thread": "thread", "next_step": "thread",
}  # fmt: skip
#: A sentence behind fewer characters of its turn follows an answer or an interjection.
_CUT_CHARS = 40
_SHORT_WORDS, _LONG_WORDS = 8, 40
_WORD = lazy_regex(r"[a-z0-9']+|[\u4e00-\u9fff]")
_HAN = lazy_regex(r"[\u3400-\u9fff]")
_QUOTED = lazy_regex(r"[\"“]([^\"”]*)[\"”]")
_ASKED = lazy_regex(r"\basked\b|问“")
_ON = lazy_regex(r"\(on \"|就“")
_POINTS = lazy_regex(
    r"\b(?:it|they|them|that|this|he|she|his|her|those|these|one|there)\b|[他她它]|那个|这个|那", re.IGNORECASE
)
_SELF = lazy_regex(r"\b(?:i|my|we|our|i'm|i've)\b|我", re.IGNORECASE)
_OWNED = lazy_regex(r"\b(?:my|our) \w+|我[\u4e00-\u9fff]", re.IGNORECASE)
_NAME = lazy_regex(r"(?<=[a-z,] )[A-Z][a-z]+")
_NUMBER = lazy_regex(r"\d|[一二三四五六七八九十]")


def kind_of_entry(told: str, kind: ItemKind, content: str, previous: str) -> ItemKind | None:
    """Return the kind under which an item that is *told* so earns an entry, or ``None``.

    What is worth keeping but stands in the wrong section is a fact. See :func:`standing_chance` for the arguments.
    """
    misplaced = kind != "fact" and standing_chance("section", told, kind, content, previous) < _LEAST_SECTION
    if standing_chance("kept", told, kind, content, previous) < LEAST_CHANCE:
        return None
    return "fact" if misplaced else kind


def standing_chance(question: Question, told: str, kind: ItemKind, content: str, previous: str) -> float:
    """Return the chance that a reader of the entry answers *question* with yes.

    Args:
        question: see :data:`Question`.
        told: the words of the entry, with its speaker and the words that stand with it.
        kind: the kind of its item.
        content: the turn that says it.
        previous: the turn of the other speaker before it, or empty.
    """
    weights = _load_weights()[question]
    signs = _signs(told[:_MAX_CHARS], kind, content[:_MAX_CHARS], previous[-_MAX_CHARS:])
    score = sum(weights.get(name, 0.0) * value for name, value in signs.items())
    return 1 / (1 + exp(-max(-50.0, min(50.0, score))))


@lru_cache(maxsize=256)
def _signs(told: str, kind: ItemKind, content: str, previous: str) -> Mapping[str, float]:
    return standing_signs(told, kind, content, previous)


def standing_signs(told: str, kind: ItemKind, content: str, previous: str) -> dict[str, float]:
    """Return the signs of an entry by name. See :func:`standing_chance` for the arguments."""
    said = split_speaker(told[:_MAX_CHARS])[1]
    head, body = told[:_MAX_CHARS].removesuffix(said), without_dates(said)
    act: Act = _ACTS.get(kind, "fact")
    chances = dict(zip(ACTS, act_chances(body, "user"), strict=True))
    return {
        "bias": 1.0,
        f"kind {act}": 1.0,
        "own act": chances[act],
        "other act": max(chances[name] for name in ACTS if name not in {"fact", "none"}),
        "no act": chances["none"],
        "fact": chances["fact"],
        **_form(body),
        **_words_around(head, body),
        **_place(head, body, content[:_MAX_CHARS], previous[-_MAX_CHARS:]),
    }


def _form(body: str) -> dict[str, float]:
    """Return the signs of the words of the sentence."""
    words = len(_WORD.findall(body.casefold()))
    return {
        "chinese": float(is_chinese(body)),
        "leans": _odds(leans(body)),
        "length": log1p(words),
        "short": float(words < _SHORT_WORDS),
        "long": float(words > _LONG_WORDS),
        "terms": min(len(content_terms(body)), 10) / 10,
        "points": min(3, len(_POINTS.findall(body))) / 3,
        "starts pointing": float(_POINTS.match(body) is not None),
        "number": float(_NUMBER.search(body) is not None),
        "name": float(_NAME.search(body) is not None),
        "self": float(_SELF.search(body) is not None),
        "owned": float(_OWNED.search(body) is not None),
    }


def _words_around(head: str, body: str) -> dict[str, float]:
    """Return the signs of the words that stand with the sentence."""
    around = " ".join(_QUOTED.findall(head))
    return {
        "asked": float(_ASKED.search(head) is not None),
        "on": float(_ON.search(head) is not None),
        "terms around": min(len(content_terms(around)), 8) / 8,
        "points around": float(_POINTS.search(around) is not None),
        "leans, told": _odds(leans(f"{around} {body}" if around else body)),
        "no noun": float(lacks_its_noun(head + body)),
    }


def _place(head: str, body: str, content: str, previous: str) -> dict[str, float]:
    """Return the signs of the place of the sentence in its turn, and of the turn before it."""
    at = plain_turn(content).find(body[:12])
    asks = any(is_question(sentence) for sentence in split_sentences(plain_turn(previous))[-2:])
    return {
        "first": float(not previous),
        "after others": float(at > 0),
        "after a word": float(0 < at < _CUT_CHARS),
        "after a question": float(asks),
        "shares": min(10, len(_units(head + body) & _units(previous))) / 5,
    }


def _units(text: str) -> set[str]:
    """Return the terms of *text*, in Chinese every two characters."""
    pairs = {first + second for first, second in pairwise(text) if _HAN.match(first) and _HAN.match(second)}
    return {term.casefold()[:6] for term in content_terms(text)} | pairs


def _odds(chance: float) -> float:
    chance = min(0.999, max(0.001, chance))
    return log(chance / (1 - chance))


@cache
def _load_weights() -> Mapping[str, Mapping[str, float]]:
    stored: dict[str, dict[str, float]] = json.loads((files(__package__) / _WEIGHTS).read_text("utf-8"))
    return stored
