"""Train the model that tells another value of one object from another object, and write its weights.

    python -m bench.training.pairs.same_object [--check]

The pairs are made from our own sentences with an object and a value (``bench/memory_data/objects.txt``), with and
without words such as "from now on". Labelled pairs of one shape (``pairs.development.jsonl`` and
``pairs.fourth.jsonl``) are added. ``--check`` prints what folds say that the training did not see, and writes nothing.
A fold leaves out whole sentences with all of their objects and values.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import permutations
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from bench.training.relations import fit
from distill.statements import pairs as pair_package
from distill.statements.pairs.same_object import WEIGHTS_FILE, have_one_shape, shape_features

__all__ = ["ObjectPair", "labelled_pairs", "main", "sentence_pairs", "train"]

_DATA = Path(__file__).parents[2] / "memory_data"
_LABELLED = ("pairs.development.jsonl", "pairs.fourth.jsonl")
_WEIGHTS = Path(pair_package.__file__).parent / WEIGHTS_FILE
#: Pairs of each kind that one sentence gives, and the weight of a labelled pair beside them.
_EACH, _LABELLED_WEIGHT = 6, 1.0
_RIDGE, _FOLDS, _LEAST_WEIGHT = 2.0, 8, 0.02
#: Features of fewer sentences are left out.
_LEAST_SENTENCES = 2
_CHANCES = (0.5, 0.7, 0.8, 0.9, 0.95)
#: Words around a newer sentence that say that it holds from now on. They tell nothing about its object.
_FROM_NOW_ON = {
    "en": (
        "{}", "{}", "{}", "From now on, {}", "{} from now on", "{} now", "{} instead", "Actually, {}",
        "Change of plan: {}", "{} again", "Starting today {}",
    ),
    "de": ("{}", "{}", "Ab jetzt: {}", "{} ab jetzt", "{}, ab sofort", "Neu: {}", "{} jetzt"),
    "fr": ("{}", "{}", "Désormais, {}", "{} à partir de maintenant", "{} maintenant"),
    "es": ("{}", "{}", "A partir de ahora, {}", "{} ahora"),
    "zh": ("{}", "{}", "以后{}", "从现在起{}", "现在{}", "{}了"),
}  # fmt: skip

Matrix = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class ObjectPair:
    """Two statements, whether they are about the *same* object, and the *sentence* that they were made from."""

    older: str
    newer: str
    same: bool
    lang: str
    sentence: str
    weight: float = 1.0


def main(arguments: Sequence[str] | None = None) -> int:
    """Train and write, or report with ``--check``."""
    parser = argparse.ArgumentParser(
        prog="python -m bench.training.pairs.same_object", description="Train on own sentences."
    )
    parser.add_argument("--check", action="store_true", help="report on folds, write nothing")
    rows = [*sentence_pairs(), *labelled_pairs()]
    if parser.parse_args(arguments).check:
        _report(rows)
        return 0
    weights = {name: weight for name, weight in train(rows).items() if abs(weight) >= _LEAST_WEIGHT}
    _WEIGHTS.write_text(json.dumps(weights, indent=1, ensure_ascii=False, sort_keys=True) + "\n", "utf-8")
    print(f"{len(rows)} pairs; wrote {_WEIGHTS.name} with {len(weights)} weights")
    return 0


def sentence_pairs() -> list[ObjectPair]:
    """Return the pairs made from the sentences, as many of one object as of two."""
    lines = (_DATA / "objects.txt").read_text("utf-8").splitlines()
    return [pair for line in lines if line and not line.startswith("#") for pair in _pairs_of(line)]


def labelled_pairs() -> list[ObjectPair]:
    """Return the labelled pairs of one shape. A pair that says the same tells nothing and is left out."""
    rows = [json.loads(line) for name in _LABELLED for line in (_DATA / name).read_text("utf-8").splitlines()]
    return [
        ObjectPair(
            older=row["older"], newer=row["newer"], same=row["relation"] == "replaced", lang=row["lang"],
            sentence=row["older"], weight=_LABELLED_WEIGHT,
        )
        for row in rows
        if row["relation"] in {"replaced", "different"} and have_one_shape(row["older"], row["newer"])
    ]  # fmt: skip


def train(rows: Sequence[ObjectPair]) -> dict[str, float]:
    """Return the weight of each feature that several sentences have, and the constant."""
    found = [shape_features(row.older, row.newer) for row in rows]
    seen: dict[str, set[str]] = {}
    for row, names in zip(rows, found, strict=True):
        for name in names:
            seen.setdefault(name, set()).add(row.sentence)
    common = sorted(name for name, sentences in seen.items() if len(sentences) >= _LEAST_SENTENCES)
    features = np.array([[float(name in own) for name in common] for own in found])
    wanted = np.array([float(row.same) for row in rows])
    weights = fit(features, wanted, np.array([row.weight for row in rows]), ridge=_RIDGE)
    return {name: round(float(weight), 3) for name, weight in zip((*common, "constant"), weights, strict=True)}


def _pairs_of(line: str) -> Iterator[ObjectPair]:
    """Yield pairs of the sentence of *line*: one object with two values, two objects with one value, and with two."""
    lang, sentence, objects, values = (part.strip() for part in line.split("|"))
    things, states = ([word.strip() for word in part.split(",")] for part in (objects, values))
    generator = random.Random(line)  # noqa: S311 - a fixed choice, no secret
    kinds = {
        "value": [((o, v), (o, w)) for o in things for v, w in permutations(states, 2)],
        "object": [((o, v), (p, v)) for o, p in permutations(things, 2) for v in states],
        "both": [((o, v), (p, w)) for o, p in permutations(things, 2) for v, w in permutations(states, 2)],
    }
    for kind, count in (("value", 2 * _EACH), ("object", _EACH), ("both", _EACH)):
        for was, now in generator.sample(kinds[kind], min(count, len(kinds[kind]))):
            older, newer = (_filled(sentence, *pair) for pair in (was, now))
            around = generator.choice(_FROM_NOW_ON[lang])
            newer = around.format(newer if around.startswith("{}") else _lowered(newer, lang))
            end = "。" if lang == "zh" else "."
            same = kind == "value"
            yield ObjectPair(older=older + end, newer=newer + end, same=same, lang=lang, sentence=sentence)


def _filled(sentence: str, thing: str, state: str) -> str:
    text = sentence.replace("{o}", thing).replace("{v}", state)
    return text[0].upper() + text[1:]


def _lowered(text: str, lang: str) -> str:
    """Return *text* as it stands behind other words. German nouns and names keep their capital."""
    first = text.split(maxsplit=1)[0]
    return text if lang == "zh" or first == "I" else text[0].lower() + text[1:]


def _report(rows: Sequence[ObjectPair]) -> None:
    """Print precision and recall of *same* at several chances, for made and for labelled pairs."""
    sentences = sorted({row.sentence for row in rows})
    random.Random(0).shuffle(sentences)  # noqa: S311 - a fixed choice, no secret
    fold_of = {sentence: number % _FOLDS for number, sentence in enumerate(sentences)}
    scores = np.zeros(len(rows))
    for fold in range(_FOLDS):
        weights = train([row for row in rows if fold_of[row.sentence] != fold])
        for number, row in enumerate(rows):
            if fold_of[row.sentence] == fold:
                total = weights["constant"] + sum(weights.get(n, 0.0) for n in shape_features(row.older, row.newer))
                scores[number] = 1 / (1 + np.exp(-total))
    wanted = np.array([row.same for row in rows])
    made = np.array(["{" in row.sentence for row in rows])
    for lang in ("en", "de", "fr", "es", "zh"):
        spoken = np.array([row.lang == lang for row in rows])
        for name, own in (("made", made & spoken), ("labelled", ~made & spoken)):
            for chance in _CHANCES if own.any() else ():
                given = own & (scores >= chance)
                right = (given & wanted).sum()
                print(
                    f"{lang} {name}, {own.sum()} pairs, chance {chance}: precision {right / max(1, given.sum()):.3f}, "
                    f"recall {right / max(1, (own & wanted).sum()):.3f}"
                )


if __name__ == "__main__":
    sys.exit(main())
