"""Chance that a sentence leans on the conversation around it, so that nobody understands it alone.

The chance is that of a linear model over the shape of the sentence and its hashed n-grams. Its weights are a file
beside this module, written by ``python -m bench.training.leaning`` from labelled sentences. Pronouns are a small part
of it: a short answer, a Chinese sentence without a subject, or "the letter" without its reason lean as well.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache, lru_cache
from importlib.resources import files

import numpy as np
from numpy.typing import NDArray

from guard.lazy_regex import lazy_regex

from ..reading.features import sentence_features
from ..statements.completeness import lacks_its_noun
from ..statements.sentences import is_question
from ..statements.standalone import is_elliptical, refers_back, speaks_of_self
from ..statements.topics import content_terms

__all__ = ["BUCKETS", "SHAPES", "leaning_row", "leans"]

#: Number of hash buckets of the n-grams.
BUCKETS = 1 << 12
_WEIGHTS = "leaning.npz"
_MAX_CHARS = 400
_LENGTHS = (3, 5, 8, 12, 18, 30)
_WORD = lazy_regex(r"[A-Za-z0-9][\w'.:/-]*|[\u3400-\u9fff]")
_HAN = lazy_regex(r"[\u3400-\u9fff]")
_PRONOUN = lazy_regex(r"\b(?:it|its|they|them|their|he|him|his|she|her|hers)\b|[他她它]", re.IGNORECASE)
_POINTING = lazy_regex(r"\b(?:that|those|this|these)\b|[那这]", re.IGNORECASE)
_DEFINITE = lazy_regex(r"\bthe\b", re.IGNORECASE)
_SECOND = lazy_regex(
    r"\b(?:as well|too|same|other|another|again|else|instead|ones?|there|both|either)\b|[也还再又另]|同样",
    re.IGNORECASE,
)
_OWNED = lazy_regex(r"\b(?:my|our|an?)\s+\w+", re.IGNORECASE)
_FIRST_AT_HEAD = lazy_regex(r"(?:I|my|we|our|I'm|we're|I've|we've)\b|[我咱俺]", re.IGNORECASE)
_NAME = lazy_regex(r"(?<=[\w,;:\"'’(/&-] )(?!I\b)[A-Z][\w'’-]+")
_DIGIT = lazy_regex(r"\d|[一二三四五六七八九十两]")
#: Names of the features of the shape, in the order of their weights.
SHAPES = (
    "bias", "chinese", "no noun", "length", *(f"over {count}" for count in _LENGTHS),
    *(f"over {count}, Chinese" for count in _LENGTHS), "of self", "starts with self", "Chinese, not of self", "pronoun",
    "starts with a pronoun", "pointing", "definite", "starts definite", "second", "owned", "name", "number", "terms",
    "few terms", "refers back", "after a question", "after a turn", "elliptical", "elliptical answer", "shares a term",
)  # fmt: skip


@lru_cache(maxsize=4096)
def leans(text: str, previous: str = "") -> float:
    """Return the chance that *text*, which may be some sentences, is not understood without the turn before it."""
    weights = _load_weights()
    columns, values = leaning_row(text, previous)
    return float(1 / (1 + np.exp(-(weights[columns] @ values))))


def leaning_row(text: str, previous: str) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """Return the columns of the weights that *text* touches, with its values there. A column may repeat."""
    shape = _shape(text[:_MAX_CHARS], previous[-_MAX_CHARS:])
    features = sentence_features(text[:_MAX_CHARS])
    columns = np.concatenate([np.arange(len(SHAPES)), len(SHAPES) + features.buckets % BUCKETS])
    values = np.concatenate([np.asarray([shape.get(name, 0.0) for name in SHAPES], np.float32), features.values])
    return columns, values.astype(np.float32)


def _shape(text: str, previous: str) -> Mapping[str, float]:
    words, chinese = len(_WORD.findall(text)), _HAN.search(text) is not None
    terms = {term.casefold()[:5] for term in content_terms(text)}
    pronoun, own, asked = _PRONOUN.search(text), speaks_of_self(text), is_question(previous)
    elliptical = is_elliptical(text, user=True)
    return {
        "bias": 1.0,
        "chinese": float(chinese),
        "no noun": float(lacks_its_noun(text)),
        "length": float(np.log1p(words)) / (3.0 if chinese else 2.5),
        **{f"over {count}, Chinese" if chinese else f"over {count}": float(words > count) for count in _LENGTHS},
        "of self": float(own),
        "starts with self": float(_FIRST_AT_HEAD.match(text) is not None),
        "Chinese, not of self": float(chinese and not own),
        "pronoun": float(pronoun is not None),
        "starts with a pronoun": float(pronoun is not None and pronoun.start() < 4),
        "pointing": float(_POINTING.search(text) is not None),
        "definite": min(2, len(_DEFINITE.findall(text))) / 2,
        "starts definite": float(_DEFINITE.match(text) is not None),
        "second": float(_SECOND.search(text) is not None),
        "owned": float(_OWNED.search(text) is not None),
        "name": float(_NAME.search(text) is not None),
        "number": float(_DIGIT.search(text) is not None),
        "terms": min(8, len(terms)) / 8,
        "few terms": float(len(terms) < 2),
        "refers back": float(refers_back(text)),
        "after a question": float(asked),
        "after a turn": float(bool(previous)),
        "elliptical": float(elliptical),
        "elliptical answer": float(elliptical and asked),
        "shares a term": float(bool(terms & {term.casefold()[:5] for term in content_terms(previous)})),
    }


@cache
def _load_weights() -> NDArray[np.float32]:
    with (files(__package__) / _WEIGHTS).open("rb") as file, np.load(file) as stored:
        return np.asarray(stored["weights"], np.float32) * float(stored["scale"])
