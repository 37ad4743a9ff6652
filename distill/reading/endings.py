"""Judge whether a sentence ends an older statement: it replaces it, resolves a thread, or takes a claim back.

The judgement is one small model over the match of the two texts: shared words, names, numbers, neighbours of shared
words, which kinds of value differ (``statements.pairs.pair_features``), and the cosine of their vectors where a model
is installed. It also reads signs of the newer sentence (the verb of the thread in the past, negation, words of ending,
of open work and of withdrawal), and what the trained reader takes both for. No sign decides alone, because every
weight is learned from labelled pairs. A first set of weights says whether the older statement ends, the others in which
way. ``python -m bench.training.endings`` writes the weights beside this module.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib.resources import files
from itertools import pairwise
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from guard.lazy_regex import lazy_regex

from ..statements.contradiction import relation
from ..statements.life_changes import ends_life_fact
from ..statements.other_subject import names_other_thing, names_owned_thing, shares_only_name, shares_only_person
from ..statements.pairs import pair_features as relations
from ..statements.pairs.pair_model import (
    ENDS_THREAD,
    SAME_THING_VETOES,
    SHARES_TOO_LITTLE,
    TAKES_BACK,
    is_other_year,
    keeps_older,
    restates,
)
from ..statements.pairs.same_object import is_of_other_object
from ..statements.sentences import is_question, narrowed
from ..statements.value_exchange import exchanges_value
from .classifier import ACTS, act_chances
from .masked_pairs import MaskedPairModel, hashed_grams, vector_part
from .pair_terms import HAN_CHARACTER, MAX_CHARS, is_related, statement_terms, term_of, tokens_of
from .trees import Trees
from .vital_facts import leaves_health_out

__all__ = [
    "FEATURES",
    "HEADS",
    "SUFFIXES",
    "THRESHOLDS",
    "Ending",
    "EndingWeights",
    "Head",
    "VectorPair",
    "chance_of_ending",
    "is_kept",
    "judge_ending",
    "likeliest_kind",
    "load_weights",
    "pair_features",
    "shows_ending",
    "threshold_name",
    "weights_from",
]

#: How a statement ends.
Head = Literal["replace", "resolve", "retract"]
HEADS: tuple[Head, ...] = get_args(Head)
#: Names of the thresholds.
THRESHOLDS = ("end", "agreed", *HEADS)
_WEIGHTS, _ARRAYS = "endings.json", "endings.npz"
#: Endings of the names of weights: for pairs by their words alone, and for pairs with vectors.
SUFFIXES = ("", "+vector")
VectorPair = tuple[NDArray[np.float32], NDArray[np.float32]]
#: Characters that put the verb before them into the past.
_DONE_HAN = frozenset("了好完过掉到上齐妥")
#: How much likelier a kind of ending is because an open thread ends, and because anything else does.
_THREAD: Mapping[Head, float] = {"replace": 0.7, "resolve": 2.0, "retract": 0.7}
_OTHER: Mapping[Head, float] = {"replace": 1.2, "resolve": 0.6, "retract": 1.2}
#: Reasons that keep nothing from being replaced here, because the weights decide about them.
_NO_VETO = frozenset({"", ENDS_THREAD, SHARES_TOO_LITTLE, TAKES_BACK})
#: Chance from which on :data:`SAME_THING_VETOES` fall, which read few words.
_OVERRULES = 0.8
#: Chance of a replacement that names the old value and the new one.
_NAMED = 0.99
#: A request to forget what was said, and the least share of the words behind it that the forgotten statement has.
_FORGET = lazy_regex(
    r"\b(?:forget|ignore|disregard|delete|scratch)\b.{0,20}\b(?:told you|told|said|mentioned|wrote)\b"
    r"(?: about| regarding)?"
    r"|(?:请?忘[了掉]|别记|不要记)我?(?:刚才|之前)?[说讲]的?(?:关于)?|当我没说过?",
    re.IGNORECASE,
)
_LEAST_NAMED, _LEAST_NAMED_HAN = 0.5, 0.25
_CLAUSE_END = lazy_regex(r"[,;.!?。\uff0c\uff1b\uff01]")
#: Table of signs. ``name: pattern`` is a pattern of Latin words, ``name! pattern`` any other pattern.
_TABLE = "ending_signs.txt"
SIGNS = ("end", "drop", "open", "negated", "withdrawn", "speech", "future")
_REGULAR_PAST = lazy_regex(r"\b\w{2,}ed\b", re.IGNORECASE)
_PERFECT_HAN = lazy_regex(r"了[。!,~ ]*$|啦|咯")
#: Acts of the newer sentence and of the older statement that the reader's chances are features of.
_NEWER_ACTS, _OLDER_ACTS = ("done", "correction", "decision", "none"), ("thread", "fact")
_OWN_FEATURES = (
    "older_share", "newer_share", "shared", "unshared", "shared_name", "other_name", "question", "assistant", "length",
    "nothing_shared", "chinese", *SIGNS, "regular_past", "older_negated", "past", "irregular_past", "thread_verb_past",
    "thread_verb_past_zh", "perfect_zh", "begins_in_past", "negated_copy", "share_ended", "share_withdrawn",
    "open_ended", "short", "dropped", "other_before", "other_after", "other_around", "other_number", "verb_missing",
    "object_share", "last_word", "two_shared", *(f"newer_{act}" for act in _NEWER_ACTS),
    *(f"older_{act}" for act in _OLDER_ACTS),
)  # fmt: skip
#: Features of a pair, in the order of the weights. The last ones need vectors.
FEATURES: tuple[str, ...] = (
    *_OWN_FEATURES, *(f"pair: {name}" for name in relations.FEATURES), "cosine", "cosine_ended", "near", "cosine_value",
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Ending:
    """Judgement of a pair: the *chance* that the older statement ends, and the likeliest *kind* of ending.

    It is *certain* enough to act upon, or only *likely* enough to ask.
    """

    chance: float
    kind: Head = "resolve"
    certain: bool = False
    likely: bool = False


@dataclass(frozen=True, slots=True)
class EndingWeights:
    """Weights by head. *certain* and *likely* are the least chances at which a statement ends, by kind of ending.

    Those of ``end`` are for an open thread that is resolved, those of ``agreed`` for a replacement that the model of
    ``distill.statements.contradiction`` takes for one as well.

    The heads are ``end`` and :data:`HEADS`. A key is the head's name, with ``+vector`` for pairs with vectors. The
    last weight of a head is its constant. The keys of *masked* and *trees* are empty and ``+vector``. The chance of an
    ending is the mean of the head's and of the trees' log-odds.
    """

    weights: Mapping[str, NDArray[np.float64]]
    masked: Mapping[str, MaskedPairModel]
    trees: Mapping[str, Trees]
    certain: Mapping[str, float]
    likely: Mapping[str, float]

    def judge(
        self, older: str, newer: str, role: str, vectors: VectorPair | None = None, *, thread: bool = False
    ) -> Ending:  # fmt: skip
        """Judge a pair. See :func:`judge_ending`."""
        if not is_question(newer) and not thread and ends_life_fact(older, newer):
            return Ending(chance=_NAMED, kind="replace", certain=True, likely=True)
        if not _is_comparable(older, newer, thread=thread):
            return Ending(chance=0.0)
        if exchanges_value(older, newer):
            return Ending(chance=_NAMED, kind="replace", certain=True, likely=True)
        suffix = "" if vectors is None else "+vector"
        features = self._inputs(older, newer, role, vectors)
        chance = self._end_chance(features, suffix)
        kind = likeliest_kind([_chance(self._score(f"{head}{suffix}", features)) for head in HEADS], thread=thread)
        if _holds(older, newer, kind, chance, thread=thread):
            return Ending(chance=0.0, kind=kind)
        likely = certain = False
        if chance >= min(*self.likely.values(), *self.certain.values()):  # finding the name of the threshold is slow
            least = f"{threshold_name(older, newer, kind, thread=thread)}{suffix}"
            likely = chance >= self.likely[least]
            called_off = thread and kind == "resolve" and role == "user" and likely and _calls_off(older, newer)
            certain = (chance >= self.certain[least] or called_off) and not names_owned_thing(older, newer)
            certain = certain and (thread or not leaves_health_out(older, newer))
            certain = certain and not (kind == "replace" and is_of_other_object(older, newer))
        if role == "user" and _asks_to_forget(older, newer):
            return Ending(chance=max(chance, _NAMED), kind="retract", certain=True, likely=True)
        return Ending(chance=chance, kind=kind, certain=certain, likely=likely)

    def _inputs(self, older: str, newer: str, role: str, vectors: VectorPair | None) -> NDArray[np.float64]:
        """Return the features of a pair, behind them the scores of the models of masked words."""
        buckets = hashed_grams(older, newer, role)
        scores = [self.masked[""].score(buckets)]
        cosine = None
        if vectors is not None:
            cosine = float(vectors[0] @ vectors[1])
            scores.append(self.masked["+vector"].score(buckets, vector_part(*vectors)))
        return np.concatenate([pair_features(older, newer, role, cosine), scores])

    def chance(self, older: str, newer: str, role: str) -> float:
        """Return the chance of an ending by the words alone, without the rules. See :func:`chance_of_ending`."""
        return self._end_chance(self._inputs(older, newer, role, None), "")

    def _end_chance(self, features: NDArray[np.float64], suffix: str) -> float:
        return _chance((self._score(f"end{suffix}", features) + float(self.trees[suffix].score(features)[0])) / 2)

    def _score(self, key: str, features: NDArray[np.float64]) -> float:
        weights = self.weights[key]
        return float(features @ weights[:-1] + weights[-1])


def likeliest_kind(chances: Sequence[float], *, thread: bool) -> Head:
    """Return the likeliest of :data:`HEADS` by the *chances* of its models and by what ends, a thread or a fact."""
    prior = _THREAD if thread else _OTHER
    return max(HEADS, key=lambda head: chances[HEADS.index(head)] * prior[head])


def threshold_name(older: str, newer: str, kind: Head, *, thread: bool) -> str:
    """Return the name of the thresholds of a pair: one of :data:`THRESHOLDS`."""
    if kind == "replace" and relation(older, newer, lasting=False).kind == "replaced":
        return "agreed"
    return "end" if thread and kind == "resolve" else kind


def is_kept(older: str, newer: str, kind: Head, chance: float, *, thread: bool) -> bool:
    """Return whether a precise rule says that *older* stands, whatever the weights say."""
    return not _is_comparable(older, newer, thread=thread) or _holds(older, newer, kind, chance, thread=thread)


def _is_comparable(older: str, newer: str, *, thread: bool) -> bool:
    """Return whether *newer* tells something, and of the thing that *older* is about."""
    if is_question(newer) or not is_related(older, newer) or names_other_thing(older, newer):
        return False
    return thread or not (shares_only_name(older, newer) or shares_only_person(older, newer))


def _holds(older: str, newer: str, kind: Head, chance: float, *, thread: bool) -> bool:
    """Return whether *newer* gives the same values, or may not replace *older*."""
    return _restates(older, newer, kind, thread=thread) or (kind == "replace" and _is_vetoed(older, newer, chance))


def _restates(older: str, newer: str, kind: Head, *, thread: bool) -> bool:
    """Return whether *newer* tells of the same values as *older* without a change, or of the work of another year.

    A thread may end with its date, if a word says that it is done.
    """
    if kind == "retract":
        return False
    if kind == "resolve" and is_other_year(older, newer):
        return True
    if thread and kind == "resolve" and (_past_words(tokens_of(newer)) or _PERFECT_HAN.search(newer)):
        return False
    return restates(older, newer, _compared(older, newer))


def _asks_to_forget(older: str, newer: str) -> bool:
    """Return whether *newer* asks to forget what was said about a thing, and *older* is about all of that thing."""
    match = _FORGET.search(narrowed(newer[:MAX_CHARS]))
    if match is None:
        return False
    about = _CLAUSE_END.split(newer[match.end() : MAX_CHARS].lstrip(" ,:"))[0]
    words = [term for term in statement_terms(about) if len(term) > 1 or not HAN_CHARACTER.match(term)]
    # Some pairs of Chinese characters lie across two words.
    least = _LEAST_NAMED_HAN if HAN_CHARACTER.search(about) else _LEAST_NAMED
    known = statement_terms(older).keys()
    return bool(words) and sum(term in known for term in words) >= least * len(words)


def _calls_off(older: str, newer: str) -> bool:
    """Return whether the first clause of *newer* calls something off, and *older* has all its other words.

    What is denied, supposed or still to come calls nothing off.
    """
    clause = _CLAUSE_END.split(narrowed(newer[:MAX_CHARS]).strip())[0]
    rest, signs = _patterns()["drop"].subn(" ", clause)
    if signs != 1 or any(_patterns()[name].search(rest) for name in ("negated", "open", "future")):
        return False
    terms = statement_terms(rest)
    return (
        bool(terms) and terms.keys() <= statement_terms(older).keys() and not _compared(older, newer)["supposed newer"]
    )


def _is_vetoed(older: str, newer: str, chance: float) -> bool:
    reason = keeps_older(_compared(older, newer))
    return reason not in _NO_VETO and not (reason in SAME_THING_VETOES and chance >= _OVERRULES)


def _chance(score: float) -> float:
    return float(1 / (1 + np.exp(-np.clip(score, -30, 30))))


def judge_ending(
    older: str, newer: str, role: str, vectors: VectorPair | None = None, *, thread: bool = False
) -> Ending:  # fmt: skip
    """Judge whether the sentence *newer* ends the statement *older*. A question ends nothing.

    Args:
        older: the text of an entry.
        newer: one sentence, said later.
        role: who said it, ``user`` or ``assistant``.
        vectors: the unit vectors of the two, where there is a model.
        thread: the entry is an open thread, which is resolved rather than replaced.
    """
    return load_weights().judge(older, newer, role, vectors, thread=thread)


def chance_of_ending(older: str, newer: str, role: str) -> float:
    """Return the chance that *newer* ends *older*, by the weights for words and without a rule."""
    return load_weights().chance(older, newer, role)


@cache
def load_weights() -> EndingWeights:
    """Load the shipped weights."""
    with (files(__package__) / _ARRAYS).open("rb") as file, np.load(file) as stored:
        arrays = dict(stored)
    return weights_from(json.loads((files(__package__) / _WEIGHTS).read_text(encoding="utf-8")), arrays)


def weights_from(stored: Mapping[str, Any], arrays: Mapping[str, NDArray[np.generic]]) -> EndingWeights:
    """Make weights from the contents of the two files.

    Raises:
        ValueError: the files are for other features.
    """
    if tuple(stored["features"]) != FEATURES:
        raise ValueError(f"{_WEIGHTS} is for other features. Run python -m bench.training.endings")
    heads: Mapping[str, Any] = stored["heads"]
    return EndingWeights(
        weights={name: np.asarray(head["weights"], np.float64) for name, head in heads.items() if "weights" in head},
        masked={suffix: MaskedPairModel.from_arrays(arrays, f"masked{suffix}") for suffix in SUFFIXES},
        trees={suffix: Trees.from_arrays(arrays, f"trees{suffix}") for suffix in SUFFIXES},
        certain={name: float(head["certain"]) for name, head in heads.items() if "certain" in head},
        likely={name: float(head["likely"]) for name, head in heads.items() if "likely" in head},
    )


def shows_ending(sentence: str) -> bool:
    """Return whether *sentence* has a sign of an ending at all, so that it is worth comparing with older statements."""
    narrow = narrowed(sentence[:MAX_CHARS])
    if is_question(narrow):
        return False
    signs = ("end", "drop", "withdrawn", "negated")
    return any(_patterns()[sign].search(narrow) for sign in signs) or bool(_past_words(tokens_of(sentence)))


def pair_features(older: str, newer: str, role: str, cosine: float | None = None) -> NDArray[np.float64]:
    """Return the values of :data:`FEATURES` for a pair. Without *cosine* the last ones are left out."""
    values, found = _word_features(older, newer, role), _compared(older, newer)
    result = [*(values[name] for name in _OWN_FEATURES), *found.values]
    if cosine is not None:
        ended = max(values["end"], values["past"])
        changed = float(found["main one value"] > 0 or found["values"] > 0)
        result += [cosine, cosine * ended, 2 * max(cosine - 0.4, 0.0), cosine * changed]
    return np.array(result, np.float64)


@lru_cache(maxsize=256)
def _word_features(older: str, newer: str, role: str) -> Mapping[str, float]:
    """Return the values of the features that the words of a pair have. A pair is judged again with its vectors."""
    values = dict(_match_features(older, newer))
    values |= {"question": float(is_question(newer)), "assistant": float(role == "assistant")}
    values |= dict(_sign_features(older, newer, values["older_share"]))
    values |= dict(_neighbour_features(older, newer))
    said, was = act_chances(newer[:MAX_CHARS], role), act_chances(older[:MAX_CHARS], "user")
    values |= {f"newer_{act}": said[ACTS.index(act)] for act in _NEWER_ACTS}
    values |= {f"older_{act}": was[ACTS.index(act)] for act in _OLDER_ACTS}
    return values


@lru_cache(maxsize=1024)
def _compared(older: str, newer: str) -> relations.PairFeatures:
    return relations.compare(older, newer)


@cache
def _table() -> Mapping[str, Sequence[str]]:
    """Return the lines of the table of signs by name, names of plain patterns with a ``!`` behind them."""
    found: dict[str, list[str]] = {}
    for line in (files(__package__) / _TABLE).read_text(encoding="utf-8").splitlines():
        match = re.match(r"(?P<name>\w+)(?P<plain>!?):? (?P<value>.+)", line)
        if match and not line.startswith("#"):
            found.setdefault(match["name"] + match["plain"], []).append(match["value"])
    return found


@cache
def _patterns() -> Mapping[str, re.Pattern[str]]:
    """Return one pattern for each sign."""
    table = _table()
    return {
        name: re.compile(
            "|".join([rf"\b(?:{'|'.join(table.get(name, ()))})\b", *table.get(f"{name}!", ())]), re.IGNORECASE
        )
        for name in SIGNS
    }


@cache
def _irregular_past() -> frozenset[str]:
    """Return irregular past forms, which no ending shows."""
    return frozenset(word for line in _table()["past"] for word in line.split())


def _past_words(tokens: Sequence[str]) -> list[str]:
    lowered = (token.lower() for token in tokens)
    return [word for word in lowered if word in _irregular_past() or (word.endswith("ed") and len(word) > 3)]


def _match_features(older: str, newer: str) -> Iterator[tuple[str, float]]:
    old, new = statement_terms(older), statement_terms(newer)
    common = old.keys() & new.keys()
    shared, old_sum, new_sum = sum(min(old[k], new[k]) for k in common), sum(old.values()), sum(new.values())
    old_names = {term for term, weight in old.items() if weight > 1}
    new_names = {term for term, weight in new.items() if weight > 1}
    yield "older_share", shared / old_sum if old_sum else 0.0
    yield "newer_share", shared / new_sum if new_sum else 0.0
    yield "shared", min(shared, 4) / 4
    yield "unshared", min(new_sum - shared, 6) / 6
    yield "shared_name", float(bool(old_names & new_names))
    yield "other_name", float(bool(new_names - old_names) and bool(old_names - new_names))
    yield "length", min(len(newer), 200) / 200
    yield "nothing_shared", float(not common)
    yield "chinese", float(len(HAN_CHARACTER.findall(newer[:MAX_CHARS])) > 0.3 * len(newer[:MAX_CHARS]))
    yield "short", float(len(new) < 4)


def _sign_features(older: str, newer: str, share: float) -> Iterator[tuple[str, float]]:
    narrow, tokens = narrowed(newer[:MAX_CHARS]), tokens_of(newer)
    signs = {name: min(len(pattern.findall(narrow)), 2) / 2 for name, pattern in _patterns().items()}
    signs["future"] = float(signs["future"] > 0)
    yield from signs.items()
    old, old_words = statement_terms(older), {token.lower() for token in tokens_of(older)}
    past = _past_words(tokens)
    verb_past = any(term_of(word) in old and word not in old_words for word in past if term_of(word))
    han_past = any(first in old and second in _DONE_HAN for first, second in pairwise(tokens))
    perfect = float(_PERFECT_HAN.search(narrow) is not None)
    old_negated = float(_patterns()["negated"].search(narrowed(older[:MAX_CHARS])) is not None)
    ended = max(signs["end"], signs["drop"], float(bool(past)), perfect, float(han_past))
    yield "regular_past", min(len(_REGULAR_PAST.findall(narrow)), 2) / 2
    yield "older_negated", old_negated
    yield "past", float(bool(past))
    yield "irregular_past", float(any(word in _irregular_past() for word in past))
    yield "thread_verb_past", float(verb_past)
    yield "thread_verb_past_zh", float(han_past)
    yield "perfect_zh", perfect
    yield "begins_in_past", float(bool(tokens) and bool(_past_words(tokens[:1])))
    yield "negated_copy", share * float(signs["negated"] > 0 and not old_negated)
    yield "share_ended", share * ended
    yield "share_withdrawn", share * max(signs["withdrawn"], signs["speech"])
    yield "open_ended", signs["open"] * max(signs["end"], float(bool(past)), perfect)
    yield "dropped", signs["drop"] * (1 - signs["open"])


def _neighbour_features(older: str, newer: str) -> Iterator[tuple[str, float]]:
    """Yield whether shared words stand beside other words: the checkout test is not the login test."""
    old, new = ([term for token in tokens_of(text) if (term := term_of(token))] for text in (older, newer))
    old_set, new_set = set(old), set(new)
    before, after = False, False
    for term in old_set & new_set:
        for first, second in ((x, y) for x in _beside(old, term) for y in _beside(new, term)):
            before |= _differ(first[0], second[0], old_set, new_set)
            after |= _differ(first[1], second[1], old_set, new_set)
    numbers = [{term for term in terms if term[0].isdigit()} for terms in (old_set, new_set)]
    yield "other_before", float(before)
    yield "other_after", float(after)
    yield "other_around", float(before and after)
    yield "other_number", float(bool(numbers[0]) and bool(numbers[1] - numbers[0]))
    yield "verb_missing", float(bool(old) and old[0] not in new_set)
    yield "object_share", sum(term in new_set for term in old[1:]) / len(old[1:]) if old[1:] else 0.0
    yield "last_word", float(bool(old) and old[-1] in new_set)
    yield "two_shared", float(len(old_set & new_set) >= 2)


def _beside(terms: Sequence[str], term: str) -> list[tuple[str, str]]:
    """Return the terms before and after each place of *term*, empty at an edge. At most three places count."""
    places = [at for at, found in enumerate(terms) if found == term][:3]
    return [(terms[at - 1] if at else "", terms[at + 1] if at + 1 < len(terms) else "") for at in places]


def _differ(first: str, second: str, old: set[str], new: set[str]) -> bool:
    return bool(first) and bool(second) and first not in new and second not in old
