"""Train the weights of ``distill.reading.endings``: ``python -m bench.training.endings [--data DIR] [--check]``.

The labelled pairs are ours: ``bench/memory_data/endings.txt``, lines ``LABEL|ROLE|OLDER|NEWER`` with the labels R
(resolved), T (taken back), P (replaced), S (the same) and D (different), the files ``pairs.*.jsonl`` beside it, and the
development half of ``bench/promotion_data``. Every sentence is also paired with other older statements, which it does
not end, and so are ordinary sentences. With ``--data``, later sentences of real conversations that share much with an
earlier one are added. Almost none of them ends it, so they teach that talk about one topic is no ending. One model says
whether the older statement ends, and three say how.

The thresholds come from cross-validation over the older statements. ``--check`` prints those figures, and the figures
of each file of pairs by weights that were trained without it, and writes nothing.
"""

from __future__ import annotations

import argparse
import json
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bench.memory.closed_homes import read_messages
from bench.promotion_data import pairs as promotion_pairs
from distill.reading.classifier import read_sentence
from distill.reading.endings import FEATURES, HEADS, SUFFIXES, Head, pair_features
from distill.reading.masked_pairs import MaskedPairModel, hashed_grams, vector_part
from distill.reading.pair_terms import is_related, statement_terms
from distill.reading.trees import Trees
from distill.statements.sentences import is_question, split_sentences
from recall.embedding.embedder import NoEmbedder, open_embedder
from recall.embedding.model import EmbeddingSettings

from .boosting import boost
from .masked_pairs import fit_masked
from .relations import fit

__all__ = ["DATA", "HeadReport", "LabelledPair", "main", "read_ordinary", "read_pairs", "read_talk", "train"]

DATA = Path(__file__).parents[1] / "memory_data"
TARGET = Path(__file__).parents[2] / "distill" / "reading" / "endings.json"
FOLDS, SEED = 4, 7
#: Strength of the pull of every weight towards 0, of the model of ending and of the models of its kinds.
RIDGE, KIND_RIDGE = 60.0, 25.0
#: Weight of a pair with a sentence of another older statement, against a labelled pair.
CROSS_WEIGHT = 0.6
#: Other older statements that a sentence is compared with, and the most of them that are related and become pairs.
TRIED, CROSSED = 120, 4
#: Precision at which a kind of ending is certain, and at which it is worth a question. A thread that is resolved by
#: mistake is opened again more easily than a replaced statement.
CERTAIN: Mapping[Head, float] = {"replace": 0.91, "resolve": 0.89, "retract": 0.95}
LIKELY = 0.6
#: Least chances of both.
FLOOR, LIKELY_FLOOR = 0.5, 0.15
#: Most pairs of a conversation, and their weight. A few of them are endings.
_TALKED, _TALK_WEIGHT = 150, 0.5
#: Conversations of a set that are read, and their user turns.
_MOST_CONVERSATIONS, _MOST_TURNS = 8, 800
#: Acts of sentences that end nothing.
_ORDINARY = frozenset({"none", "fact", "thread", "preference", "lesson"})
_LABELS = {"R": "resolve", "T": "retract", "P": "replace"}
_RELATIONS = {"resolved": "R", "retracted": "T", "replaced": "P", "same": "S", "different": "D"}
_PROMOTION = {"contradiction": "P", "duplicate": "S", "refinement": "D", "unrelated": "D"}
Vectors = Callable[[Sequence[str]], NDArray[np.float32]]
Matrix = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelledPair:
    """An older statement, a newer sentence, who said it, and the label. A *made* one crosses others, *talk* is real."""

    label: str
    role: str
    older: str
    newer: str
    file: str = ""
    made: bool = False
    talk: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class HeadReport:
    """Figures on statements that the weights were not trained on, at the thresholds of a certain ending.

    *right* is the share of the endings found whose kind is right.
    """

    name: str
    pairs: int
    precision: float
    recall: float
    right: float


def read_pairs(folder: Path = DATA) -> list[LabelledPair]:
    """Read the labelled pairs of all files."""
    found = []
    for line in (folder / "endings.txt").read_text(encoding="utf-8").splitlines():
        if line.strip():
            label, role, older, newer = line.split("|")
            found.append(LabelledPair(label=label, role=role, older=older, newer=newer, file="endings.txt"))
    for path in sorted(folder.glob("pairs.*.jsonl")):
        for row in map(json.loads, path.read_text(encoding="utf-8").splitlines()):
            label = _RELATIONS[row["relation"]]
            found.append(
                LabelledPair(label=label, role=row["role"], older=row["older"], newer=row["newer"], file=path.name)
            )
    found += [
        LabelledPair(label=_PROMOTION[pair.label], role="user", older=pair.older, newer=pair.newer, file="promotion")
        for pair in promotion_pairs("development")
    ]
    return found


def read_ordinary(most: int = 1500) -> list[LabelledPair]:
    """Read sentences of the reader's training data that end nothing, as pairs without an older statement."""
    found = [
        LabelledPair(label="D", role=row["role"], older="", newer=row["text"], made=True)
        for path in sorted(DATA.glob("speech.train.*.jsonl"))
        for row in map(json.loads, path.read_text(encoding="utf-8").splitlines())
        if row["act"] in _ORDINARY
    ]
    return random.Random(SEED).sample(found, min(most, len(found)))  # noqa: S311 - a reproducible sample, no secret


def read_talk(data: Path) -> list[LabelledPair]:
    """Return pairs of a sentence worth keeping and a related later one of real conversations, which end nothing."""
    rng = random.Random(SEED)  # noqa: S311 - a reproducible sample, no secret
    found = []
    for name in ("locomo", "realtalk", "beam100k", "lifebench", "realmem"):
        for path in sorted((data / name).glob("*.transcript.jsonl*"))[:_MOST_CONVERSATIONS]:
            turns = [turn for turn in read_messages(path) if turn.role == "user"][:_MOST_TURNS]
            said = [(turn.session, sentence) for turn in turns for sentence in split_sentences(turn.content[:2000])]
            said = [(session, text) for session, text in said if 12 <= len(text) <= 300 and not is_question(text)]
            kept = [(at, *row) for at, row in enumerate(said) if read_sentence(row[1]).enters]
            pairs = [
                LabelledPair(label="D", role="user", older=older, newer=newer, made=True, talk=True)
                for at, session, older in rng.sample(kept, min(len(kept), _TALKED))
                for newer in _nearest(older, [text for other, text in said[at + 1 :] if other != session], rng)
            ]
            found += rng.sample(pairs, min(len(pairs), _TALKED))
    return found


def _nearest(older: str, later: Sequence[str], rng: random.Random) -> list[str]:
    """Return the two of some *later* sentences that share most with *older*."""
    terms = statement_terms(older)
    some = rng.sample(later, min(len(later), 400))
    ranked = sorted(some, key=lambda text: -sum(terms.get(term, 0.0) for term in statement_terms(text)))
    return [text for text in ranked[:2] if is_related(older, text)]


def train(
    pairs: Sequence[LabelledPair],
    vectors: Vectors | None,
    ordinary: Sequence[LabelledPair] = (),
    *,
    talk: Sequence[LabelledPair] = (),
    files: bool = False,
) -> tuple[dict[str, Any], dict[str, NDArray[np.generic]], list[HeadReport]]:
    """Train without vectors, and with them where *vectors* computes them.

    Returns:
        The contents of the two weight files, and the figures: cross-validated, and with *files* of each file left out.
    """
    rows = _judged([*pairs, *_crossed(pairs, ordinary), *talk])
    table = _PairTable(rows, vectors)
    heads: dict[str, Any] = {}
    arrays: dict[str, NDArray[np.generic]] = {}
    reports: list[HeadReport] = []
    for suffix in SUFFIXES if vectors else SUFFIXES[:1]:
        everything = np.ones(len(rows), np.bool_)
        inputs = table.inputs(suffix, everything)
        folds = _folds(rows)
        chances, kinds = np.zeros(len(rows)), np.zeros((len(HEADS), len(rows)))
        for fold in range(FOLDS):
            learn = np.array([fold not in found for found in folds])
            tested = np.array([found[0] == fold for found in folds])
            chances[tested], kinds[:, tested] = _fit_heads(rows, inputs, learn).apply(inputs[tested])
        certain, likely = _thresholds(rows, chances, kinds)
        reports.append(_report(f"cross-validated{suffix}", rows, chances, kinds, certain))
        for name in sorted({row.file for row in rows if row.file and not row.made}) if files else ():
            held = np.array([row.file == name for row in rows])
            theirs = {row.older for row in rows if row.file == name and not row.made}
            learn = ~held & np.array([row.older not in theirs for row in rows])
            without = table.inputs(suffix, learn)
            found = _fit_heads(rows, without, learn).apply(without[held])
            reports.append(_report(f"{name} left out{suffix}", [r for r in rows if r.file == name], *found, certain))
        fitted = _fit_heads(rows, inputs, everything)
        heads |= {f"{head}{suffix}": {"weights": _rounded(found)} for head, found in fitted.weights.items()}
        for head in ("end", *HEADS):
            heads[head + suffix] |= {"certain": round(certain[head], 3), "likely": round(likely[head], 3)}
        arrays |= fitted.trees.as_arrays(f"trees{suffix}") | table.masked(suffix).as_arrays(f"masked{suffix}")
    return {"features": list(FEATURES), "heads": heads}, arrays, reports


class _PairTable:
    """Features of pairs, and the scores of masked pairs by models that did not learn from them."""

    def __init__(self, rows: Sequence[LabelledPair], vectors: Vectors | None) -> None:
        self._rows = rows
        self._ended = np.array([float(row.label in _LABELS) for row in rows])
        self._importance = _importance(rows)
        self._buckets = [hashed_grams(row.older, row.newer, row.role) for row in rows]
        found = vectors([text for row in rows for text in (row.older, row.newer)]) if vectors else None
        self._parts = None if found is None else np.stack([vector_part(*found[at : at + 2]) for at in _pairs_of(rows)])
        cosines = [None if found is None else float(found[at] @ found[at + 1]) for at in _pairs_of(rows)]
        self._features = [
            np.stack(
                [pair_features(row.older, row.newer, row.role, cosine) for row, cosine in zip(rows, some, strict=True)]
            )
            for some in ([None] * len(rows), cosines)[: 1 if found is None else 2]
        ]

    def inputs(self, suffix: str, learn: NDArray[np.bool_]) -> Matrix:
        """Return the inputs of the heads. The scores of the rows to *learn* from are cross-validated."""
        place = SUFFIXES.index(suffix)
        scores = [self._scores(name, learn) for name in SUFFIXES[: place + 1]]
        return np.column_stack([self._features[place], *scores])

    def masked(self, suffix: str, learn: NDArray[np.bool_] | None = None) -> MaskedPairModel:
        """Fit the model of masked pairs on the rows to *learn* from, all by default."""
        chosen = np.flatnonzero(np.ones(len(self._rows), np.bool_) if learn is None else learn)
        parts = self._parts[chosen] if suffix and self._parts is not None else None
        return fit_masked([self._buckets[at] for at in chosen], parts, self._ended[chosen], self._importance[chosen])

    def _scores(self, suffix: str, learn: NDArray[np.bool_]) -> Matrix:
        folds = _folds(self._rows)
        result = np.zeros(len(self._rows))
        for fold in range(FOLDS):
            tested = learn & np.array([found[0] == fold for found in folds])
            self._apply(suffix, learn & np.array([fold not in found for found in folds]), tested, result)
        self._apply(suffix, learn, ~learn, result)
        return result

    def _apply(self, suffix: str, learn: NDArray[np.bool_], tested: NDArray[np.bool_], result: Matrix) -> None:
        if not tested.any():
            return
        model = self.masked(suffix, learn)
        for at in np.flatnonzero(tested):
            part = self._parts[at] if suffix and self._parts is not None else None
            result[at] = model.score(self._buckets[at], part)


def _pairs_of(rows: Sequence[LabelledPair]) -> range:
    """Return the place of the older text of each row among all texts."""
    return range(0, 2 * len(rows), 2)


def _importance(rows: Sequence[LabelledPair]) -> Matrix:
    return np.array([_TALK_WEIGHT if row.talk else CROSS_WEIGHT if row.made else 1.0 for row in rows])


def _crossed(pairs: Sequence[LabelledPair], ordinary: Sequence[LabelledPair]) -> Iterator[LabelledPair]:
    """Yield pairs of a sentence with related older statements that it was not written for."""
    rng = random.Random(SEED)  # noqa: S311 - a reproducible sample, no secret
    own: dict[str, set[str]] = {}
    for pair in pairs:
        own.setdefault(pair.newer, set()).add(pair.older)
    olders = {
        chinese: sorted({pair.older for pair in pairs if _is_chinese(pair.older) == chinese})
        for chinese in (True, False)
    }
    for pair in [*dict.fromkeys(pairs), *ordinary]:
        known = olders[_is_chinese(pair.newer)]
        found = 0
        for older in rng.sample(known, min(TRIED, len(known))):
            if found == CROSSED or any(older == other or is_related(older, other) for other in own.get(pair.newer, ())):
                continue  # it may well end a statement about the same thing
            if is_related(older, pair.newer):
                found += 1
                yield LabelledPair(
                    label="D", role=pair.role, older=older, newer=pair.newer, file=pair.file, made=True
                )  # fmt: skip


def _judged(rows: Sequence[LabelledPair]) -> list[LabelledPair]:
    """Return the rows that the product judges."""
    return [row for row in rows if is_related(row.older, row.newer) and not is_question(row.newer)]


def _folds(rows: Sequence[LabelledPair]) -> list[tuple[int, ...]]:
    """Return the fold that tests each row, and the one of the statement for which its sentence was written."""
    olders = sorted({row.older for row in rows})
    random.Random(SEED).shuffle(olders)  # noqa: S311 - a reproducible sample, no secret
    fold_of = {older: place % FOLDS for place, older in enumerate(olders)}
    home = {row.newer: fold_of[row.older] for row in rows if not row.made}
    return [(fold_of[row.older], *([home[row.newer]] if row.newer in home else [])) for row in rows]


@dataclass(frozen=True, slots=True)
class _Heads:
    """The linear *weights* by head, and the *trees* of the ending."""

    weights: Mapping[str, Matrix]
    trees: Trees

    def apply(self, inputs: Matrix) -> tuple[Matrix, Matrix]:
        """Return the chance of ending of each row of *inputs*, and those of each kind of ending."""

        def score(name: str) -> Matrix:
            found = self.weights[name]
            return np.asarray(inputs @ found[:-1] + found[-1])

        def chance(scores: Matrix) -> Matrix:
            return np.asarray(1 / (1 + np.exp(-np.clip(scores, -30, 30))))

        ended = chance((score("end") + self.trees.score(inputs)) / 2)
        return ended, np.array([chance(score(head)) for head in HEADS])


def _fit_heads(rows: Sequence[LabelledPair], inputs: Matrix, learn: NDArray[np.bool_]) -> _Heads:
    """Fit the models of ending on the rows to *learn* from, and the models of its kinds on those that end."""
    heads = np.array([_LABELS.get(row.label, "") for row in rows])
    importance = _importance(rows)[learn]
    ended = heads != ""
    wanted = ended[learn].astype(float)
    found = {"end": fit(inputs[learn], wanted, importance, ridge=RIDGE)}
    both = learn & ended
    share = {head: float((heads[both] == head).mean()) or 1.0 for head in HEADS}
    equal = np.array([1 / (len(HEADS) * share[head]) for head in heads[both]])  # each kind weighs the same
    for head in HEADS:
        found[head] = fit(inputs[both], (heads[both] == head).astype(float), equal, ridge=KIND_RIDGE)
    return _Heads(weights=found, trees=boost(inputs[learn], wanted, importance, seed=SEED))


def _thresholds(
    rows: Sequence[LabelledPair], chances: Matrix, kinds: Matrix
) -> tuple[dict[str, float], dict[str, float]]:
    """Return the least chances at which each kind of ending is certain, and likely.

    Those of ``end`` are for statements that are threads, because some sentence resolves them.
    """
    ended = np.array([row.label in _LABELS for row in rows])
    guessed = np.array(HEADS)[kinds.argmax(axis=0)]
    threads = {row.older for row in rows if row.label == "R"}
    open_ones = np.array([row.older in threads for row in rows])
    certain: dict[str, float] = {}
    likely: dict[str, float] = {}
    for name, own, target in (
        *((head, guessed == head, CERTAIN[head]) for head in HEADS), ("end", open_ones, CERTAIN["resolve"]),
    ):  # fmt: skip
        certain[name] = max(FLOOR, _threshold(chances[own], ended[own], target))
        likely[name] = min(certain[name], max(LIKELY_FLOOR, _threshold(chances[own], ended[own], LIKELY)))
    return certain, likely


def _report(
    name: str, rows: Sequence[LabelledPair], chances: Matrix, kinds: Matrix, certain: Mapping[str, float]
) -> HeadReport:  # fmt: skip
    heads = np.array([_LABELS.get(row.label, "") for row in rows])
    guessed = np.array(HEADS)[kinds.argmax(axis=0)]
    ended = heads != ""
    passed = chances >= np.array([certain[head] for head in np.array(HEADS)[kinds.argmax(axis=0)]])
    right = passed & ended
    return HeadReport(
        name=name, pairs=sum(not row.made for row in rows),
        precision=float(ended[passed].mean()) if passed.any() else 0.0, recall=float(passed[ended].mean()),
        right=float((guessed == heads)[right].mean()) if right.any() else 0.0,
    )  # fmt: skip


def _threshold(chances: Matrix, wanted: NDArray[np.bool_], precision: float) -> float:
    """Return the least threshold at which the chances reach *precision*, above any chance where none does."""
    order = np.argsort(-chances, kind="stable")
    reached = np.cumsum(wanted[order]) / np.arange(1, len(order) + 1) >= precision
    places = np.flatnonzero(reached)
    return float(chances[order[places[-1]]]) if len(places) else 1.01


def _rounded(values: Matrix) -> list[float]:
    return [round(float(value), 4) for value in values]


def _is_chinese(text: str) -> bool:
    return any("\u3400" <= character <= "\u9fff" for character in text)


def _model_vectors() -> Vectors:
    """Return a function that embeds texts with the installed model, which a table helps to read Chinese."""
    embedder = open_embedder(EmbeddingSettings(), build_missing=True)
    if isinstance(embedder, NoEmbedder):
        raise SystemExit(f"no embedding model: {embedder.reason}")
    return embedder.embed


def main(arguments: Sequence[str] | None = None) -> None:
    """Train, print the figures, and write the weights."""
    parser = argparse.ArgumentParser(prog="python -m bench.training.endings", description=__doc__)
    parser.add_argument("--check", action="store_true", help="leave out each file in turn as well, write nothing")
    parser.add_argument("--data", type=Path, help="folder of evaluation data, for its conversations")
    options = parser.parse_args(arguments)
    talk = read_talk(options.data) if options.data else []
    stored, arrays, reports = train(read_pairs(), _model_vectors(), read_ordinary(), talk=talk, files=options.check)
    print(f"{len(talk)} pairs of conversations")
    for report in reports:
        print(
            f"{report.name}: {report.pairs} pairs, precision {report.precision:.3f}, recall {report.recall:.3f}, "
            f"kind right {report.right:.3f}"
        )
    if not options.check:
        TARGET.write_text(json.dumps(stored, indent=None, separators=(",", ":")) + "\n", encoding="utf-8")
        np.savez_compressed(TARGET.with_suffix(".npz"), allow_pickle=False, **arrays)


if __name__ == "__main__":
    main()
