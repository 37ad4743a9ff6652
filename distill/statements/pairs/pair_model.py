"""Learned relation of two statements: two logistic models over ``pair_features``, and their vetoes.

The weights are a small file that ``python -m bench.training.relations`` writes from labelled pairs. The vetoes are
precise reasons why a newer statement replaces nothing, whatever the weights say.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from guard.lazy_regex import lazy_regex

from ..statement_parser import Statement, parse_statement
from ..time_keys import han_number
from .pair_features import FEATURES, MAX_CHARS, PairFeatures

__all__ = [
    "ENDS_THREAD",
    "SAME_THING_VETOES",
    "SHARES_TOO_LITTLE",
    "TAKES_BACK",
    "WEIGHTS_FILE",
    "PairScores",
    "are_apart",
    "is_change",
    "is_other_year",
    "keeps_older",
    "names_value",
    "restates",
    "score_pair",
]

#: Name of the file with the weights, in this package.
WEIGHTS_FILE = "data/relation_weights.json"
#: Reason of :func:`keeps_older` for a pair that is hardly one.
SHARES_TOO_LITTLE = "it shares too little"
#: Reasons of :func:`keeps_older` for a pair whose newer statement ends the older one in another way.
TAKES_BACK, ENDS_THREAD = "it takes a claim back", "it ends a thread"
#: Reasons by which the newer statement is about another thing. A model that reads more may overrule them.
SAME_THING_VETOES = frozenset({
    "it begins with another thing", "it tells of the opposite thing", "it tells of another person",
    "it names another value as gone", "it names the same value of another thing",
})  # fmt: skip
_YEAR = lazy_regex(r"\b(?:19|20)\d\d(?!\d)")
_HAN_NUMBER = lazy_regex(r"[一二三四五六七八九十]+")
#: Least share of the lighter statement's words in both. Statements without a common word are no candidates.
_LEAST_SHARE = 0.2
#: Most that one of two statements in other words may add to all that the other says, as a share of what both say.
_MOST_STYLE = 0.2
#: Least weight of what each says that the other does not, beside the value that is gone, that makes another thing.
_LEAST_ELSE = 0.6
#: Most that one of two statements in other words may say beyond the other.
_MOST_LEFT = 0.9


@dataclass(frozen=True, slots=True, kw_only=True)
class PairScores:
    """Probabilities that the newer statement has *replaced* the older one, and that both say the *same*."""

    replaced: float
    same: float


def score_pair(features: PairFeatures) -> PairScores:
    """Return the probabilities of both relations, without the vetoes."""
    weights = _weights()
    return PairScores(
        replaced=_probability(weights["replaced"], features.values), same=_probability(weights["same"], features.values)
    )


def is_change(features: PairFeatures) -> bool:
    """Return whether the newer statement says that something changes."""
    has = features.__getitem__
    return has("gone value is older") > 0.3 or any(has(f"{name} newer") for name in ("change", "now", "left", "turn"))


def restates(older: str, newer: str, features: PairFeatures) -> bool:
    """Return whether *newer* gives the dates, times or numbers of *older* without a word of change."""
    stands = not is_change(features) and not features["polarity differs"] and features["gone value is older"] <= 0.3
    return stands and _repeats_values(older, newer)


def _repeats_values(older: str, newer: str) -> bool:
    """Return whether *newer* has a date or a time and no other one than *older*, or else numbers in the same way."""
    for values in (_times, _numbers):
        was, now = values(parse_statement(older[:MAX_CHARS])), values(parse_statement(newer[:MAX_CHARS]))
        if now:
            return now <= was
    return False


def is_other_year(older: str, newer: str) -> bool:
    """Return whether both name years, and none that is the other's."""
    was, now = (set(_YEAR.findall(text[:MAX_CHARS])) for text in (older, newer))
    return bool(was and now and was.isdisjoint(now))


def _times(said: Statement) -> frozenset[str]:
    """Return the parts of dates, the days and the times of a statement."""
    dates = (token.key.removeprefix("date:").split("-") for token in said.tokens if token.kind == "date")
    names = ("year", "month", "day")
    parts = {f"{name}{part}" for date in dates for name, part in zip(names, date, strict=False) if part}
    return frozenset(parts | {token.key for token in said.tokens if token.kind in {"day", "time"}})


def _numbers(said: Statement) -> frozenset[str]:
    plain = (token.key.removeprefix("number:") for token in said.tokens if token.kind == "number")
    return frozenset(_HAN_NUMBER.sub(lambda found: str(han_number(found.group())), number) for number in plain)


def names_value(features: PairFeatures) -> bool:
    """Return whether the statements differ by a value of one kind, or one denies what the other says."""
    names = ("values", "polarity differs", "opposites", "gone value is older", "main one value")
    return any(features[name] > 0.3 for name in names)


def keeps_older(features: PairFeatures) -> str:
    """Return why the newer statement cannot replace the older one, or nothing."""
    return next((reason for holds, reason in _vetoes(features) if holds), "")


def _vetoes(features: PairFeatures) -> Iterator[tuple[bool, str]]:
    """Yield each veto: whether it holds, and its reason."""
    has = features.__getitem__
    changing = any(has(f"{name} newer") for name in ("change", "now", "left", "turn"))
    dated = bool(has("change newer") or has("now newer"))
    gone = has("gone value is older") > 0.3
    turned = has("polarity differs") > 0
    stands = not gone and not turned
    others = has("both said else") >= _LEAST_ELSE and (has("values") or has("main value added"))
    yield has("share of lighter") < _LEAST_SHARE, SHARES_TOO_LITTLE
    yield bool(has("asked newer")), "it asks"
    yield bool(has("story newer") or (has("supposed newer") and not changing)), "it supposes"
    valued = has("values") or has("main value added") or has("gone value is older")
    yield bool(has("mistaken newer") and (turned or not valued)), TAKES_BACK
    yield bool(has("open older") and not has("open newer") and not valued), ENDS_THREAD
    yield bool(has("told newer") and not changing), "it tells of one event"
    yield bool(has("nothing left of newer") and stands), "it says nothing new"
    yield bool(has("event newer") and not dated), "it tells of one day"
    yield bool(has("added newer") and stands and not has("change newer")), "it adds"
    repeats = has("nothing left of older") and not has("aside and fresh")
    yield bool(repeats and stands), "it repeats all of the older one"
    yield bool(has("heads differ") and gone and not changing), "it names the same value of another thing"
    added = has("kin added") and has("heads differ") and not changing
    yield bool(has("kin differs") or added), "it tells of another person"
    begins = has("heads differ") and not has("opposites") and not changing
    yield bool(begins and stands), "it begins with another thing"
    yield bool(others), "it names the same value of another thing"
    yield bool(has("another value gone")), "it names another value as gone"
    yield bool(has("opposite thing")), "it tells of the opposite thing"
    yield bool(has("label changed") and not has("change newer")), "it counts another one"


def are_apart(features: PairFeatures) -> bool:
    """Return whether the statements cannot say the same: one asks, adds or ends what the other does not."""
    has = features.__getitem__
    differs = any(
        has(f"{name} newer") != has(f"{name} older") for name in ("asked", "supposed", "added", "open", "mistaken")
    )
    ends = has("gone value is older") > 0.3 and has("left newer") and not has("left older")
    covered = has("nothing left of newer") or has("nothing left of older")
    adds = covered and has("only newer") + has("only older") > _MOST_STYLE * has("shared weight")
    return bool(differs or ends or adds or max(has("plain only newer"), has("plain only older")) > _MOST_LEFT)


def _probability(weights: tuple[float, ...], values: tuple[float, ...]) -> float:
    total = weights[-1] + sum(weight * value for weight, value in zip(weights, values, strict=False))
    return 1 / (1 + math.exp(-max(-30.0, min(30.0, total))))


@cache
def _weights() -> Mapping[str, tuple[float, ...]]:
    """Read the weights of each model in the order of the features, the constant last."""
    read = json.loads(files(__package__).joinpath(WEIGHTS_FILE).read_text("utf-8"))
    return {
        name: (*(float(read[name].get(feature, 0.0)) for feature in FEATURES), float(read[name]["constant"]))
        for name in ("replaced", "same")
    }
