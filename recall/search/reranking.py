"""Order passages: one sum of what speaks for each.

First the words. A word of the question counts by its rarity, once, at the nearest place where it stands: in the
passage, in the question that the turn answers, or in a turn close by. Then who speaks, what the whole session is
about, what the vectors say, and the days that the question names. What is archived has a part of its score taken off:
it stands below a living passage that answers as well. Every part is a number of about 0 to 1 that means
the same for every question, so that sums can be compared; the weights are settings.

What a vector leg did not return is taken to be as far away as the last that it did.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from ..index.context_window import Sheets
from ..settings import RecallSettings
from ..text.dates import Period, nearness

__all__ = ["DECIMALS", "Nearest", "QueryFeatures", "QueryTerm", "Ranking", "rank"]

Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]
#: Leading passages whose length says what kind of home this is.
_LEADING = 100
#: Decimals that are kept: what is equal but for the order of its additions stays equal.
DECIMALS = 9


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryTerm:
    """A word of the question: codes of each of its spellings, word by word; passages that have it; its rarity."""

    spellings: tuple[tuple[int, ...], ...]
    passages: int
    rarity: float


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryFeatures:
    """The question. *mean_words* is the mean length of the index's passages."""

    terms: tuple[QueryTerm, ...] = ()
    mean_words: float = 1.0
    first_person: bool = False
    cjk: float = 0.0
    periods: tuple[Period, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Nearest:
    """Cosines of what the vector leg found: of passages, of turns with their neighbours, and the best of each file."""

    passages: Mapping[int, float] = field(default_factory=dict)
    windows: Mapping[int, float] = field(default_factory=dict)
    files: Mapping[int, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranking:
    """The sum for each passage, and its parts, unweighted. *found* says which passages answer at all."""

    total: Floats
    found: Flags
    parts: dict[str, Floats]


def rank(
    sheets: Sheets, asked: QueryFeatures, groups: Mapping[int, float], nearest: Nearest | None, settings: RecallSettings
) -> Ranking:
    """Score every passage of *sheets*. *groups* has BM25 by file; without *nearest* the vectors have no say."""
    sessions = sheets.layers == "sessions"
    lexical, speaker = _words(sheets, sessions, asked, settings)
    parts: dict[str, Floats] = {}
    if asked.terms:
        parts = {"lexical": lexical, "speaker": speaker}
        parts["length"] = sessions * sheets.lengths / (sheets.lengths + settings.length_words)
    if groups:
        best = max(groups.values())
        parts["group"] = _looked_up(sheets.files, {file: score / best for file, score in groups.items()}, 0.0)
    if asked.first_person:
        parts["user"] = (sessions & sheets.users).astype(np.float64)
    if asked.periods:
        parts["date"] = nearness(sheets.days, asked.periods, settings.date_days)
    found = (lexical > 0) | (speaker > 0)
    weights = {
        "lexical": 1.0,
        "speaker": settings.speaker_weight,
        "group": settings.group_weight,
        "length": settings.length_weight,
        "user": settings.user_weight,
        "date": settings.date_weight,
    }
    total = np.zeros(len(sheets))
    for name, values in parts.items():
        total += weights[name] * values
    if nearest is not None:
        vectors = _vectors(sheets, sessions, nearest)
        found |= vectors.pop("returned") > 0
        total += _vector_sum(sheets, total, vectors, asked, settings)
        parts |= vectors
    archived = sheets.layers == "archive"
    if archived.any():
        parts["archive"] = -np.abs(total) * archived * (1 - settings.archive_weight)
        total += parts["archive"]
    return Ranking(total=np.round(total, DECIMALS), found=found, parts=parts)


def _words(sheets: Sheets, sessions: Flags, asked: QueryFeatures, settings: RecallSettings) -> tuple[Floats, Floats]:
    """The share of the question that each passage and its neighbours cover, and the share that names the speaker."""
    lexical, speaker = np.zeros(len(sheets)), np.zeros(len(sheets))
    norm = 1 - settings.length_norm + settings.length_norm * sheets.lengths / max(asked.mean_words, 1.0)
    steps = list(_steps(sheets, sessions, settings))
    whole = 0.0
    for term in asked.terms:
        said = _count(sheets.words, sheets.owners, len(sheets), term)
        headed = _count(sheets.heads, sheets.head_owners, len(sheets), term) > 0
        name = bool((headed & sessions).any())
        if name or term.passages:
            whole += term.rarity
        if name:
            speaker += term.rarity * (headed & sessions)
        times = said / norm + settings.heading_weight * (headed & ~sessions)
        own = times / (times + settings.saturation)
        best = own.copy()
        for here, there, weight in steps:
            best[here] = np.maximum(best[here], weight * own[there])
        # That a turn says a name tells whom it speaks to; who it is about, the speaker's own name tells better.
        lexical += term.rarity * (best * ~sessions if name else best)
    return (lexical / whole, speaker / whole) if whole else (lexical, speaker)


def _steps(
    sheets: Sheets, sessions: Flags, settings: RecallSettings
) -> Sequence[tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], Floats]]:
    """For each distance: passages, their neighbours at that distance, and what the neighbours' words count."""
    steps = []
    place = np.arange(len(sheets))
    for distance in range(1, settings.context_reach + 1):
        first, second = place[:-distance], place[distance:]
        joined = (sheets.files[first] == sheets.files[second]) & (
            sheets.ordinals[second] - sheets.ordinals[first] == distance
        )
        first, second = first[joined], second[joined]
        plain = np.full(len(first), settings.context_weight)
        answers = (sheets.asks & sessions)[first] if distance == 1 else np.zeros(len(first), np.bool_)
        steps.append((second, first, np.where(answers, settings.asked_weight, plain)))
        steps.append((first, second, plain))
    return steps


def _count(words: npt.NDArray[np.uint32], owners: npt.NDArray[np.int64], size: int, term: QueryTerm) -> Floats:
    """How often each passage has *term* in any spelling."""
    total = np.zeros(size)
    for spelling in term.spellings:
        places = np.flatnonzero(words == spelling[0])
        for step, code in enumerate(spelling[1:], 1):
            places = places[places + step < len(words)]
            places = places[(words[places + step] == code) & (owners[places + step] == owners[places])]
        if len(places):
            total += np.bincount(owners[places], minlength=size)
    return total


def _vectors(sheets: Sheets, sessions: Flags, nearest: Nearest) -> dict[str, Floats]:
    """Cosines by passage and by file. What is no turn has no neighbours and is its own window."""
    passage = _looked_up(sheets.ids, nearest.passages, _last(nearest.passages))
    window = _looked_up(sheets.ids, nearest.windows, _last(nearest.windows))
    returned = np.isin(sheets.ids, [*nearest.passages, *nearest.windows])
    return {
        "vector": np.where(sessions, window, passage),
        "session": _looked_up(sheets.files, nearest.files, _last(nearest.passages)),
        "returned": returned.astype(np.float64),
    }


def _vector_sum(
    sheets: Sheets, words: Floats, vectors: Mapping[str, Floats], asked: QueryFeatures, settings: RecallSettings
) -> Floats:
    """The vectors' part of the sum. The longer the passages that lead so far, the more the vectors have to say."""
    if not len(sheets):
        return np.zeros(0)
    shown = 1 - asked.cjk * (1 - settings.cjk_vector_weight)
    both = settings.vector_weight * vectors["vector"] + settings.session_weight * vectors["session"]
    lead = np.argsort(-(words + shown * both / 2), kind="stable")[:_LEADING]
    words_said = np.maximum(sheets.lengths[lead], 1.0)
    long = float(np.mean(words_said / (words_said + settings.vector_words)))
    return np.asarray(shown * long * both)


def _looked_up(keys: npt.NDArray[np.int64], values: Mapping[int, float], other: float) -> Floats:
    """The value of each of *keys*, *other* where it has none."""
    if not values:
        return np.full(len(keys), other)
    known = np.fromiter(values.keys(), np.int64, len(values))
    order = np.argsort(known)
    known, scores = known[order], np.fromiter(values.values(), np.float64, len(values))[order]
    place = np.minimum(np.searchsorted(known, keys), len(known) - 1)
    return np.where(known[place] == keys, scores[place], other)


def _last(scores: Mapping[int, float]) -> float:
    return min(scores.values(), default=0.0)
