"""The order of passages: one sum of weighted parts for each.

The words come first. A word of the query counts by its rarity, once, at the nearest place where it stands: in the
passage, in the question that the turn answers, or in a turn close by. Then come the speaker, the whole session, the
vectors and the days that the query names. An archived passage loses a part of its score, so that it stands below a
living passage that answers as well. Every part is a number of about 0 to 1 that means the same for every query, so that
sums can be compared.

A vector that the retriever did not return counts as far away as the last one that it did.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..index.context_window import ContextWindows, WindowWords
from ..index.reader import Nearest
from ..settings import RecallSettings
from ..text.dates import Period, nearness
from .addressees import said_by_addressee

__all__ = ["DECIMALS", "QueryFeatures", "QueryTerm", "Ranking", "RankingWeights", "leading", "rank"]

Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]
#: Leading passages whose mean length sets the weight of the vectors.
_LEADING = 100
#: Share of a Chinese question that a passage's words may cover before its vectors lose weight. A passage that repeats
#: more of the question is known by its words: without this limit CMRC2018 loses 15 thousandths of mrr@10.
_COVERED = 0.15
#: Decimals of a score. Sums that differ only in the order of their additions stay equal.
DECIMALS = 9
_SETTINGS = RecallSettings()


@dataclass(frozen=True, slots=True, kw_only=True)
class RankingWeights:
    """Numbers of the ranking sum. The share of the query that a passage's words cover has weight 1.

    ``docs/recall.md`` has the measured effect of other values of each (``python -m bench.ablation``). Four fields
    come from the ``[recall]`` settings, because they depend on the home or on its embedding model.
    """

    #: Occurrences of a word at which it has half its full weight. Short turns say a word once: 1.6 loses up to 22
    #: thousandths of REALTALK's frac@5, 0.4 up to 25 of BEAM's.
    saturation: float = 0.8
    #: How far a long passage's words count less, from 0 (not at all) to 1 (in proportion to its length). 0 loses 37
    #: thousandths of BEAM's frac@5, 0.6 loses on every set of conversations.
    length_norm: float = 0.3
    #: Weight of a word in the heading of a document's passage, beside 1 in its text. 0 and 1 lose up to 8 thousandths
    #: of SciFact's nDCG@10.
    heading_weight: float = 0.5
    #: Weight of a word that stands only in a neighbouring passage, beside 1 in the passage itself. 0 loses up to 36
    #: thousandths of frac@5, 0.6 up to 39.
    context_weight: float = 0.3
    #: Passages on each side that count as neighbours. 0 loses 78 thousandths of LoCoMo's frac@5; a fourth gains
    #: nothing there and loses 27 on BEAM.
    context_reach: int = 3
    #: Weight of a word in the question that the turn follows: an answer seldom repeats it. 0.3 loses 22 thousandths
    #: of LoCoMo's frac@5; 1.0 loses 10 of REALTALK's.
    asked_weight: float = 0.8

    #: Words that are the name of the turn's speaker. 0 loses 45 thousandths of REALTALK's frac@5.
    speaker_weight: float = 0.5
    #: BM25 of the whole file, divided by the best file's. 0 loses up to 22 thousandths of frac@5, 0.3 loses 80 of
    #: BEAM's.
    group_weight: float = 0.15
    #: Cosine of the passage's vector, or of the turn's with its neighbours, where passages are long. 0 loses 30
    #: thousandths of LoCoMo's frac@5 and 110 of BEAM's.
    vector_weight: float = _SETTINGS.vector_weight
    #: Cosine of the nearest passage of the same file, where passages are long. 0 loses 28 thousandths of BEAM's
    #: frac@5.
    session_weight: float = 0.6
    #: Words of a passage at which the two weights above are halved: a short turn's vector says less than its words.
    #: 0 loses 45 thousandths of REALTALK's frac@5, 60 loses 52 of BEAM's.
    vector_words: float = 30.0
    #: Share of the vectors' weights that is left for a question in Chinese. 0 loses 60 thousandths of LifeBench's
    #: frac@10.
    chinese_vector_weight: float = _SETTINGS.chinese_vector_weight
    #: Share of the vectors' weights that is left for a question in Japanese or Korean.
    cjk_vector_weight: float = _SETTINGS.cjk_vector_weight
    #: Being counts on a day that the question names. 0 loses up to 28 thousandths of frac@5 on LoCoMo and REALTALK.
    date_weight: float = 0.55
    #: Days after a named day at which the date counts less by e. 3 and 14 differ by no more than noise.
    date_days: float = 7.0
    #: Being said by the user in words of the question, when it is in the first person and does not ask for the agent's
    #: words. 0 loses 146 thousandths of BEAM's frac@5.
    user_weight: float = 0.5
    #: Length of a turn: "Wow, great!" answers nothing. 0 loses up to 21 thousandths of frac@5, 0.4 loses 52 of BEAM's.
    length_weight: float = 0.2
    #: Words of a turn at which it has half of that. 20 loses 34 thousandths of BEAM's frac@5.
    length_words: float = 10.0
    #: Share of its score that an archived passage keeps.
    archive_weight: float = _SETTINGS.archive_weight

    @classmethod
    def of(cls, settings: RecallSettings) -> RankingWeights:
        """Return the default weights with those that *settings* name."""
        return cls(
            vector_weight=settings.vector_weight,
            chinese_vector_weight=settings.chinese_vector_weight,
            cjk_vector_weight=settings.cjk_vector_weight,
            archive_weight=settings.archive_weight,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryTerm:
    """A word of the query.

    *spellings* has the hashes of each of its spellings, word by word. *passages* is the number of passages that have
    it. *capitalised* says whether the query writes it like a name.
    """

    spellings: tuple[tuple[int, ...], ...]
    passages: int
    rarity: float
    capitalised: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryFeatures:
    """The query as the ranking reads it. *mean_words* is the mean length of the passages in the index."""

    terms: tuple[QueryTerm, ...] = ()
    mean_words: float = 1.0
    first_person: bool = False
    chinese: float = 0.0
    cjk: float = 0.0
    periods: tuple[Period, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranking:
    """The sum for each passage and its unweighted parts. *found* marks the passages that answer at all.

    *information* is the rarity of the query's words that the best passage has, in nats.
    """

    total: Floats
    found: Flags
    parts: dict[str, Floats]
    information: float = 0.0


def rank(
    windows: ContextWindows,
    query: QueryFeatures,
    groups: Mapping[int, float],
    nearest: Nearest | None,
    weights: RankingWeights,
) -> Ranking:
    """Score every passage of *window*.

    *groups* has BM25 by file. Without *nearest* the vectors have no weight.
    """
    sessions = windows.layers == "sessions"
    lexical, speaker, whole = _words(windows, sessions, query, weights)
    parts: dict[str, Floats] = {}
    if query.terms:
        parts = {"lexical": lexical, "speaker": speaker}
        parts["length"] = sessions * windows.lengths / (windows.lengths + weights.length_words)
    if groups:
        best = max(groups.values())
        parts["group"] = _looked_up(windows.files, {file: score / best for file, score in groups.items()}, 0.0)
    if query.first_person:
        parts["user"] = (sessions & windows.users & (lexical > 0)).astype(np.float64)
    if query.periods:
        parts["date"] = nearness(windows.days, query.periods, weights.date_days)
    found = (lexical > 0) | (speaker > 0)
    part_weights = {
        "lexical": 1.0,
        "speaker": weights.speaker_weight,
        "group": weights.group_weight,
        "length": weights.length_weight,
        "user": weights.user_weight,
        "date": weights.date_weight,
    }
    total = np.zeros(len(windows))
    for name, values in parts.items():
        total += part_weights[name] * values
    if nearest is not None:
        vectors = _vectors(windows, sessions, nearest)
        found |= vectors.pop("returned") > 0
        covered = float(lexical.max(initial=0.0))
        total += _vector_sum(windows, total, vectors, query, weights, covered)
        parts |= vectors
    archived = windows.layers == "archive"
    if archived.any():
        parts["archive"] = -np.abs(total) * archived * (1 - weights.archive_weight)
        total += parts["archive"]
    information = whole * float((lexical + speaker).max(initial=0.0))
    return Ranking(total=np.round(total, DECIMALS), found=found, parts=parts, information=information)


def _words(
    windows: ContextWindows, sessions: Flags, query: QueryFeatures, weights: RankingWeights
) -> tuple[Floats, Floats, float]:
    """Return the share of the query that each passage covers with its neighbours, and the share that is its speaker.

    The third value is the rarity of all of the query's words.
    """
    lexical, speaker = np.zeros(len(windows)), np.zeros(len(windows))
    norm = 1 - weights.length_norm + weights.length_norm * windows.lengths / max(query.mean_words, 1.0)
    steps = _steps(windows, sessions, weights)
    whole = 0.0
    for term in query.terms:
        counts = _count(windows.texts, term)
        headed = _count(windows.headings, term) > 0
        if term.capitalised and not (headed & sessions).any():
            headed |= said_by_addressee(windows, sessions, term)
        name = bool((headed & sessions).any())
        if name or term.passages:
            whole += term.rarity
        if name:
            speaker += term.rarity * (headed & sessions)
        times = counts / norm + weights.heading_weight * (headed & ~sessions)
        own = times / (times + weights.saturation)
        best = own.copy()
        for distance, earlier, later in steps:
            np.maximum(best[distance:], earlier * own[:-distance], out=best[distance:])
            np.maximum(best[:-distance], later * own[distance:], out=best[:-distance])
        # A name in the text is mostly the person spoken to. The speaker's own name shows better whom a turn is about.
        lexical += term.rarity * (best * ~sessions if name else best)
    return (lexical / whole, speaker / whole, whole) if whole else (lexical, speaker, 0.0)


def _steps(windows: ContextWindows, sessions: Flags, weights: RankingWeights) -> Sequence[tuple[int, Floats, Floats]]:
    """Return for each distance the weights of the words of the earlier neighbour and of the later one.

    Each has one item for the first passages, as many as have another one at that distance. It is zero for passages of
    two files.
    """
    steps = []
    for distance in range(1, min(weights.context_reach, len(windows) - 1) + 1):
        joined = (windows.files[:-distance] == windows.files[distance:]) & (
            windows.ordinals[distance:] - windows.ordinals[:-distance] == distance
        )
        later = weights.context_weight * joined
        earlier = later
        if distance == 1:
            earlier = np.where((windows.asks & sessions)[:-1], weights.asked_weight * joined, later)
        steps.append((distance, earlier, later))
    return steps


def _count(words: WindowWords, term: QueryTerm) -> Floats:
    """Count how often each passage has *term* in any spelling."""
    first, *others = term.spellings
    return sum((words.times(spelling) for spelling in others), words.times(first))


def _vectors(windows: ContextWindows, sessions: Flags, nearest: Nearest) -> dict[str, Floats]:
    """Return cosines by passage and by file. A passage that is no turn has no neighbours and is its own window."""
    passage, window = (_looked_up(windows.ids, found, np.nan) for found in (nearest.passages, nearest.windows))
    known, known_window = ~np.isnan(passage), ~np.isnan(window)
    passage = np.where(known, passage, _last(nearest.passages))
    window = np.where(known_window, window, _last(nearest.windows))
    return {
        "vector": np.where(sessions, window, passage),
        "session": _looked_up(windows.files, nearest.files, _last(nearest.passages)),
        "returned": (known | known_window).astype(np.float64),
    }


def _vector_sum(
    windows: ContextWindows,
    words: Floats,
    vectors: Mapping[str, Floats],
    query: QueryFeatures,
    weights: RankingWeights,
    covered: float,
) -> Floats:
    """Return the vectors' part of the sum.

    The longer the passages that lead so far, the larger the weight of the vectors. *covered* is the largest share of
    the query that the words of a passage cover.
    """
    if not len(windows):
        return np.zeros(0)
    chinese_weight = weights.chinese_vector_weight * (_COVERED / max(covered, _COVERED)) ** 2
    unread = query.chinese * (1 - chinese_weight) + query.cjk * (1 - weights.cjk_vector_weight)
    read = 1 - unread
    both = weights.vector_weight * vectors["vector"] + weights.session_weight * vectors["session"]
    lead = leading(words + read * both / 2, _LEADING)[:_LEADING]
    words_said = np.maximum(windows.lengths[lead], 1.0)
    long = float(np.mean(words_said / (words_said + weights.vector_words)))
    return np.asarray(read * long * both)


def leading(scores: Floats, count: int) -> npt.NDArray[np.int64]:
    """Return the places of the *count* largest scores and of those that equal the least of them, largest first.

    Equal scores stay in order.
    """
    if len(scores) <= count:
        return np.argsort(-scores, kind="stable")
    places = np.flatnonzero(scores >= -np.partition(-scores, count - 1)[count - 1])
    return places[np.argsort(-scores[places], kind="stable")]


def _looked_up(keys: npt.NDArray[np.int64], values: Mapping[int, float], other: float) -> Floats:
    """Return the value of each of *keys*, or *other* where it has none."""
    if not values:
        return np.full(len(keys), other)
    known = np.fromiter(values.keys(), np.int64, len(values))
    order = np.argsort(known)
    known, scores = known[order], np.fromiter(values.values(), np.float64, len(values))[order]
    place = np.minimum(np.searchsorted(known, keys), len(known) - 1)
    return np.where(known[place] == keys, scores[place], other)


def _last(scores: Mapping[int, float]) -> float:
    return min(scores.values(), default=0.0)
