"""Train the weights of ``distill.reading.endings``: ``python -m bench.training.endings [--data DIR] [--check]``.

The labelled pairs are ours: ``bench/memory_data/endings.txt``, lines ``LABEL|ROLE|OLDER|NEWER`` with the labels R
(resolved), T (taken back), P (replaced), S (the same) and D (different), the files ``pairs.*.jsonl`` beside it and
``heldout/pairs.jsonl``, and the development half of ``bench/promotion_data``. Every sentence is also paired with other
older statements, which it does not end, and so are ordinary sentences. With ``--data``, later sentences of real
conversations that share much with an earlier one are added. Almost none of them ends it, so they teach that talk about
one topic is no ending. One model says
whether the older statement ends, and three say how.

The thresholds come from leaving out one file of pairs at a time: its pairs are judged by weights that were trained
without it, under the vetoes of the product, and a threshold is the least one at which the pairs of all files reach
:data:`CERTAIN`. ``--check`` prints the figures and writes nothing.
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
from distill.reading.endings import (
    FEATURES,
    HEADS,
    SUFFIXES,
    THRESHOLDS,
    Head,
    is_kept,
    likeliest_kind,
    pair_features,
    threshold_name,
)
from distill.reading.masked_pairs import MaskedPairModel, hashed_grams, vector_part
from distill.reading.pair_terms import is_related, statement_terms
from distill.reading.trees import Trees
from distill.statements.other_subject import names_owned_thing
from distill.statements.sentences import is_question, split_sentences
from recall.embedding.embedder import NoEmbedder, open_embedder
from recall.embedding.model import EmbeddingSettings

from .boosting import boost
from .masked_pairs import fit_masked
from .relations import fit

__all__ = [
    "CEILING",
    "DATA",
    "HeadReport",
    "LabelledPair",
    "LeftOutPair",
    "choose_thresholds",
    "left_out_pair",
    "main",
    "read_ordinary",
    "read_pairs",
    "read_talk",
    "train",
]

DATA = Path(__file__).parents[1] / "memory_data"
TARGET = Path(__file__).parents[2] / "distill" / "reading" / "endings.json"
FOLDS, SEED = 4, 7
#: Strength of the pull of every weight towards 0, of the model of ending and of the models of its kinds.
RIDGE, KIND_RIDGE = 60.0, 25.0
#: Weight of a pair with a sentence of another older statement, against a labelled pair.
CROSS_WEIGHT = 0.6
#: Other older statements that a sentence is compared with, and the most of them that are related and become pairs.
TRIED, CROSSED = 120, 4
#: Precision at which an ending is certain, and at which it is worth a question.
CERTAIN, LIKELY = 0.97, 0.6
#: Least chances of both, and the greatest threshold of a kind that is never so precise.
FLOOR, LIKELY_FLOOR, CEILING = 0.5, 0.15, 0.999
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
        found += _read_file(path, path.name)
    found += [
        LabelledPair(label=_PROMOTION[pair.label], role="user", older=pair.older, newer=pair.newer, file="promotion")
        for pair in promotion_pairs("development")
    ]
    return found + _read_file(folder / "heldout" / "pairs.jsonl", "heldout")


def _read_file(path: Path, name: str) -> list[LabelledPair]:
    return [
        LabelledPair(
            label=_RELATIONS[row["relation"]], role=row["role"], older=row["older"], newer=row["newer"], file=name
        )
        for row in map(json.loads, path.read_text(encoding="utf-8").splitlines())
    ]


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
) -> tuple[dict[str, Any], dict[str, NDArray[np.generic]], list[HeadReport]]:
    """Train without vectors, and with them where *vectors* computes them.

    Returns:
        The contents of the two weight files, and the figures of each file left out, and of all files together.
    """
    rows = _judged([*pairs, *_crossed(pairs, ordinary), *talk])
    table = _PairTable(rows, vectors)
    heads: dict[str, Any] = {}
    arrays: dict[str, NDArray[np.generic]] = {}
    reports: list[HeadReport] = []
    for suffix in SUFFIXES if vectors else SUFFIXES[:1]:
        left_out = list(_left_out(rows, table, suffix))
        certain, likely = choose_thresholds(left_out)
        for name in (*sorted({pair.file for pair in left_out}), ""):
            some = [pair for pair in left_out if name in {"", pair.file}]
            reports.append(_report(f"{name or 'all files'} left out{suffix}", some, certain))
        everything = np.ones(len(rows), np.bool_)
        fitted = _fit_heads(rows, table.inputs(suffix, everything), everything)
        heads |= {f"{head}{suffix}": {"weights": _rounded(found)} for head, found in fitted.weights.items()}
        for name in THRESHOLDS:
            found = heads.setdefault(name + suffix, {})
            found |= {"certain": round(certain[name], 3), "likely": round(likely[name], 3)}
        arrays |= fitted.trees.as_arrays(f"trees{suffix}") | table.masked(suffix).as_arrays(f"masked{suffix}")
    return {"features": list(FEATURES), "heads": heads}, arrays, reports


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftOutPair:
    """The chance of a pair by weights that were trained without its *file*. *threshold* names what it must reach.

    *wanted* is the kind in which the older statement ends, or nothing. A pair that a rule vetoes has no chance.
    """

    file: str
    threshold: str
    kind: Head
    wanted: str
    chance: float


def _left_out(rows: Sequence[LabelledPair], table: _PairTable, suffix: str) -> Iterator[LeftOutPair]:
    """Leave out each file of pairs in turn, and yield the chances of its own pairs."""
    for name in sorted({row.file for row in rows if row.file and not row.made}):
        held = np.array([row.file == name for row in rows])
        theirs = {row.older for row in rows if row.file == name and not row.made}
        learn = ~held & np.array([row.older not in theirs for row in rows])
        asked = held & np.array([not row.made for row in rows])
        if not any(row.label in _LABELS for row, chosen in zip(rows, learn, strict=True) if chosen):
            continue  # a sample of one file
        chances, kinds = _fit_heads(rows, found := table.inputs(suffix, learn), learn).apply(found[asked])
        for place, at in enumerate(np.flatnonzero(asked)):
            yield left_out_pair(rows[int(at)], float(chances[place]), [float(chance) for chance in kinds[:, place]])


def left_out_pair(row: LabelledPair, chance: float, kinds: Sequence[float]) -> LeftOutPair:
    """Return a pair as the product judges it, by its *chance* of ending and those of the *kinds* of ending."""
    thread = read_sentence(row.older).likeliest == "thread"
    kind = likeliest_kind(kinds, thread=thread)
    kept = is_kept(row.older, row.newer, kind, chance, thread=thread) or names_owned_thing(row.older, row.newer)
    return LeftOutPair(
        file=row.file, threshold=threshold_name(row.older, row.newer, kind, thread=thread), kind=kind,
        wanted=_LABELS.get(row.label, ""), chance=0.0 if kept else chance,
    )  # fmt: skip


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


def choose_thresholds(pairs: Sequence[LeftOutPair]) -> tuple[dict[str, float], dict[str, float]]:
    """Return the least chances at which an ending is certain, and likely, by the name of the threshold."""
    certain: dict[str, float] = {}
    likely: dict[str, float] = {}
    for name in THRESHOLDS:
        some = [pair for pair in pairs if pair.threshold == name]
        chances, ended = np.array([pair.chance for pair in some]), np.array([bool(pair.wanted) for pair in some])
        certain[name] = min(CEILING, max(FLOOR, _threshold(chances, ended, CERTAIN)))
        likely[name] = min(certain[name], max(LIKELY_FLOOR, _threshold(chances, ended, LIKELY)))
    return certain, likely


def _report(name: str, pairs: Sequence[LeftOutPair], certain: Mapping[str, float]) -> HeadReport:
    passed = [pair for pair in pairs if pair.chance >= certain[pair.threshold]]
    right = [pair for pair in passed if pair.wanted]
    return HeadReport(
        name=name, pairs=len(pairs), precision=len(right) / max(1, len(passed)),
        recall=len(right) / max(1, sum(bool(pair.wanted) for pair in pairs)),
        right=sum(pair.wanted == pair.kind for pair in right) / max(1, len(right)),
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
    parser.add_argument("--check", action="store_true", help="print the figures, write nothing")
    parser.add_argument("--data", type=Path, help="folder of evaluation data, for its conversations")
    options = parser.parse_args(arguments)
    talk = read_talk(options.data) if options.data else []
    stored, arrays, reports = train(read_pairs(), _model_vectors(), read_ordinary(), talk=talk)
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
