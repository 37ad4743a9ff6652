"""Train the network that reads suspicious passages, and write its files into ``guard/inference/weights``.

    python -m bench.training.transformer.passages --base DIR [--data DIR] [--corpora DIR]
        [--held NAME ...] [--scores FILE] [--windows FILE] [--out DIR]

The texts are those of :mod:`bench.training.instructions`, each cut into windows of two sentences. The linear model,
which reads them first, is trained seven times without a seventh of the sources, and each window keeps the score of the
model that has not seen its source. Windows that the linear model finds harmless are never read again, so hardly any is
trained on. An attack counts by its most suspicious window: first by the linear score, after each pass by the network's.

``--base`` is the folder of :mod:`bench.training.transformer.foreign_tokens`. ``--held`` names sources that are not
trained on. On them the threshold is chosen, and its rise with the number of sentences was. ``--scores`` writes their
scores to a file. ``--state`` keeps the weights, and ``--join`` takes the mean of several, which finds more.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import math
import random
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors.torch import load_file, save_file
from tokenizers import Tokenizer
from torch.nn import functional

from guard.inference.passage_network import FOLDER, MAX_TOKENS, PassageNetwork
from guard.injection.classifier import LinearSuspicion, rise, windows
from guard.injection.features import sentences
from guard.text.canonical import text_variants

from ..instructions import MEASURED_ONLY, InstructionText, LinearModel, all_texts, as_bags, eight_bits
from ..instructions import train as train_linear
from .export import write_files, write_numbers
from .network import WIDTH, batches, padded, sentence_vectors

__all__ = ["ReadText", "main", "out_of_fold"]

#: Sources that are left out together when the linear model is trained for the scores of their windows.
_FOLDS = ("abv", "cdw", "efx", "ghyp", "ijz", "kluq", "o")
GATE = -1.5
_SHARE = 0.3
_RISE = 1.5
#: Share of the held-out harmless texts above the threshold: of our authors', which look like attacks, and of corpora.
_HARMLESS_HELD_BACK = {True: 0.0105, False: 0.005}
_HARDLY_SUSPICIOUS, _SAMPLED = -2.2, 0.06
_READ, _CANDIDATES = 60, 6
_BATCH, _DROPOUT, _RATE, _HEAD_RATE, _DECAY = 32, 0.1, 1e-4, 5e-4, 0.85
_WORDS = "embeddings.word_embeddings.weight"
_WORDS_RATE = 2e-4
_SMOOTHED = 0.02
_WITH_NEIGHBOUR = 0.4


@dataclass(slots=True)
class ReadText:
    """A text with its windows and their scores by a linear model that has not seen its source."""

    source: str
    label: int
    kind: str
    lang: str
    sentences: int
    windows: list[tuple[str, float]]
    text: str = ""
    best: int = field(default=0, repr=False)


def main(arguments: Sequence[str] | None = None) -> int:
    """Train, measure on the held-out sources, and write the files."""
    parser = argparse.ArgumentParser(prog="python -m bench.training.transformer.passages", description="Train.")
    parser.add_argument("--base", type=Path, required=True)
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--corpora", type=Path)
    parser.add_argument("--held", nargs="*", default=["author l", "author u", "author q"])
    parser.add_argument("--windows", type=Path, help="keep the windows of the texts here, and read them if they are")
    parser.add_argument("--scores", type=Path, help="write the scores of the held-out sources")
    parser.add_argument("--state", type=Path, help="keep the weights before they are rounded")
    parser.add_argument("--join", type=Path, nargs="*", help="train nothing: use the mean of these weights")
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--out", type=Path, default=FOLDER)
    given = parser.parse_args(arguments)
    torch.manual_seed(0)
    texts = _texts(given.windows, given.data, given.corpora)
    held = [text for text in texts if _is_held(text, given.held)]
    rest = [text for text in texts if not _is_held(text, given.held) and text.source not in MEASURED_ONLY]
    print(f"{len(rest)} texts to train on, {len(held)} held out", file=sys.stderr)
    weights = {
        name: value.float().requires_grad_() for name, value in load_file(given.base / "weights.safetensors").items()
    }
    weights |= {
        "head.weight": (torch.randn(WIDTH, 1) * 0.02).requires_grad_(),
        "head.bias": torch.zeros(1).requires_grad_(),
    }
    for name in weights if given.join else ():
        weights[name] = sum(load_file(path)[name] for path in given.join) / len(given.join)
    tokens = Tokenizer.from_file(str(given.base / "tokenizer.json"))
    tokens.no_padding()
    tokens.enable_truncation(MAX_TOKENS)
    network = _PassageTraining(weights, tokens)
    if not given.join:
        network.train(rest, given.epochs)
    if given.state:
        save_file({name: value.detach().contiguous() for name, value in network.weights.items()}, given.state)
    write_files(network.weights, tokens, given.out)
    scored = _shipped_scores(held, given.out)
    threshold = _threshold(held, scored)
    numbers = {"gate": GATE, "share": _SHARE, "threshold": threshold, "rise": _RISE}
    write_numbers(numbers, given.out)
    if given.scores:
        rows = [asdict(text) | {"score": float(score)} for text, score in zip(held, scored, strict=True)]
        given.scores.write_text(json.dumps(rows, ensure_ascii=False), "utf-8")
    for line in _report(held, scored, threshold):
        print(line)
    return 0


# -------------------------------------------------------------------------------------------------------------- texts


def _texts(kept: Path | None, data: Path, corpora: Path | None) -> list[ReadText]:
    if kept is None or not kept.exists():
        texts = list(out_of_fold(all_texts(data, corpora)))
        if kept is None:
            return texts
        kept.write_text("".join(json.dumps(asdict(text), ensure_ascii=False) + "\n" for text in texts), "utf-8")
    return [ReadText(**json.loads(line)) for line in kept.read_text("utf-8").split("\n") if line]


def out_of_fold(rows: Sequence[InstructionText]) -> Iterator[ReadText]:
    """Yield the texts with the scores of their windows, by linear models that have not seen their source."""
    bags = as_bags(rows)
    corpora = sorted({bag.row.source for bag in bags if not bag.row.source.startswith("author ")})
    for number, authors in enumerate(_FOLDS):
        apart = {f"author {author}" for author in authors} | set(corpora[number :: len(_FOLDS)])
        model = train_linear([bag for bag in bags if bag.row.source not in apart | MEASURED_ONLY])
        for bag in bags:
            if bag.row.source in apart and (text := _cut(bag.row, _quick(model))):
                yield text


def _quick(model: LinearModel) -> LinearSuspicion:
    scale, levels = eight_bits(model)
    return LinearSuspicion(levels, scale, model.bias, untrusted=0, trusted=0)


def _cut(row: InstructionText, model: LinearSuspicion) -> ReadText | None:
    variants = text_variants(row.text)
    variant = variants[min(1, len(variants) - 1)]
    parts = list(sentences(variant.lowered))
    found = [
        (variant.text[span.start : span.end].strip(), round(span.score, 3))
        for span in windows(model.passages(parts[:_READ]))
    ]
    return ReadText(row.source, row.label, row.kind, row.lang, len(parts), found, row.text) if found else None


def _is_held(text: ReadText, names: Iterable[str]) -> bool:
    """Return whether *text* is not trained on: one of the named sources, and every third harmless text of a corpus."""
    if text.source in names:
        return True
    corpus = not text.label and not text.source.startswith(("author ", "phrases"))
    return corpus and hashlib.sha256(text.text.encode()).digest()[0] % 3 == 0


# ----------------------------------------------------------------------------------------------------------- training


@dataclass(frozen=True, slots=True)
class _Sample:
    passage: str
    label: float
    weight: float


class _PassageTraining:
    """The weights under training, and the tokens of each passage."""

    def __init__(self, weights: dict[str, Any], tokens: Tokenizer) -> None:
        self.weights, self._tokenizer = weights, tokens
        self._rows: dict[str, list[int]] = {}

    def row(self, passage: str) -> list[int]:
        if passage not in self._rows:
            self._rows[passage] = self._tokenizer.encode(passage).ids
        return self._rows[passage]

    def logits(self, rows: Sequence[list[int]], dropout: float = 0.0) -> Any:
        with torch.autocast("cpu", dtype=torch.bfloat16):
            vectors = sentence_vectors(self.weights, padded(rows), dropout=dropout)
        return (vectors.float() @ self.weights["head.weight"] + self.weights["head.bias"]).squeeze(-1)

    def scores(self, passages: Sequence[str]) -> NDArray[np.float64]:
        """Return the logit of each passage."""
        found = np.zeros(len(passages))
        places = sorted(range(len(passages)), key=lambda place: len(self.row(passages[place])))
        with torch.no_grad():
            for start in range(0, len(places), 64):
                part = places[start : start + 64]
                found[part] = self.logits([self.row(passages[place]) for place in part]).numpy()
        return found

    def best(self, texts: Sequence[ReadText]) -> NDArray[np.float64]:
        """Return the highest joint score of the windows of each text, and remember which window has it."""
        flat = [(text, place) for text in texts for place in _candidates(text)]
        logits = self.scores([text.windows[place][0] for text, place in flat])
        best: dict[int, float] = {}
        for (text, place), logit in zip(flat, logits, strict=True):
            joint = logit + _SHARE * text.windows[place][1]
            if joint > best.get(id(text), -math.inf):
                best[id(text)], text.best = joint, place
        return np.array([best.get(id(text), -99.0) for text in texts])

    def train(self, texts: Sequence[ReadText], epochs: int) -> None:
        """Fit the weights to *texts*, and choose each text's windows again after each pass."""
        chance = random.Random(0)  # noqa: S311
        optimiser = torch.optim.AdamW(list(_rates(self.weights)), weight_decay=0.01)
        for text in texts:
            text.best = max(range(len(text.windows)), key=lambda place: text.windows[place][1])
        shares = Counter((text.source, text.label) for text in texts)
        step, begun, total = 0, time.monotonic(), 0
        for epoch in range(epochs):
            examples = _with_neighbours(list(_examples(texts, shares, chance)), chance)
            order = batches([len(self.row(example.passage)) for example in examples], _BATCH, chance)
            total = total or len(order) * epochs
            for number, places in enumerate(order):
                for group in optimiser.param_groups:
                    group["lr"] = group["most"] * min(1.0, (step + 1) / (0.06 * total)) * max(0.02, 1 - step / total)
                loss = self._loss([examples[place] for place in places])
                optimiser.zero_grad()
                loss.backward()
                torch.nn.utils.clip_grad_norm_([value for value in self.weights.values() if value.requires_grad], 1.0)
                optimiser.step()
                step += 1
                if number % 100 == 0:
                    passed = time.monotonic() - begun
                    said = f"pass {epoch + 1}, {number} of {len(order)}, {float(loss.detach()):.3f}, {passed:.0f} s"
                    print(said, file=sys.stderr)
            if epoch + 1 < epochs:
                self.best([text for text in texts if text.label and len(text.windows) > 1])

    def _loss(self, examples: Sequence[_Sample]) -> Any:
        logits = self.logits([self.row(example.passage) for example in examples], _DROPOUT)
        labels = torch.tensor([example.label for example in examples]) * (1 - _SMOOTHED) + _SMOOTHED / 2
        weight = torch.tensor([example.weight for example in examples])
        losses = functional.binary_cross_entropy_with_logits(logits, labels, reduction="none")
        return (losses * weight).sum() / weight.sum()


def _with_neighbours(examples: list[_Sample], chance: random.Random) -> list[_Sample]:
    """Return *examples*, some with a harmless sentence of another text before or behind them.

    An order stands among sentences about something else, often in another language.
    """
    plain = [example.passage for example in examples if not example.label and len(example.passage) < 160]
    found = []
    for example in examples:
        if len(example.passage) < 200 and chance.random() < _WITH_NEIGHBOUR:
            parts = [example.passage, chance.choice(plain)]
            chance.shuffle(parts)
            found.append(_Sample(" ".join(parts), example.label, example.weight))
        else:
            found.append(example)
    return found


def _rates(weights: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the weights with their learning rates, which fall toward the input."""
    for name, value in weights.items():
        rate = _RATE
        if name.startswith("head."):
            rate = _HEAD_RATE
        elif name == _WORDS:
            rate = _WORDS_RATE
        elif name.startswith("encoder.layer."):
            rate *= _DECAY ** (5 - int(name.split(".")[2]))
        yield {"params": [value], "lr": rate, "most": rate}


def _examples(texts: Sequence[ReadText], shares: Counter[tuple[str, int]], chance: random.Random) -> Iterator[_Sample]:
    """Yield one window of each attack, and of each harmless text the most suspicious one and another."""
    for text in texts:
        weight = 1.0
        if text.source == "phrases":
            weight = 0.3
        elif not text.source.startswith("author "):
            weight = min(0.5, (90.0 if text.label else 150.0) / shares[text.source, text.label])
        passage, score = text.windows[text.best]
        if text.label:
            yield _Sample(passage, 1.0, weight)
        elif score > _HARDLY_SUSPICIOUS or chance.random() < _SAMPLED:
            yield _Sample(passage, 0.0, weight)
        others = [window for window in text.windows if window[1] > _HARDLY_SUSPICIOUS and window[0] != passage]
        if not text.label and others:
            yield _Sample(chance.choice(others)[0], 0.0, weight / 2)


def _candidates(text: ReadText) -> list[int]:
    """Return the places of the windows that pass the gate, the most suspicious first, at most six."""
    places = sorted(range(len(text.windows)), key=lambda place: -text.windows[place][1])
    return [place for place in places[:_CANDIDATES] if text.windows[place][1] >= GATE]


# ---------------------------------------------------------------------------------------------------------- measuring


def _shipped_scores(texts: Sequence[ReadText], folder: Path) -> NDArray[np.float64]:
    """Return the highest joint score of the windows of each text, by the files in *folder*."""
    network = PassageNetwork(folder)
    found = []
    for text in texts:
        places = _candidates(text)
        joint = [network.score(text.windows[place][0]) + _SHARE * text.windows[place][1] for place in places]
        found.append(max(joint, default=-99.0))
    return np.array(found)


def _threshold(texts: Sequence[ReadText], scores: NDArray[np.float64]) -> float:
    """Return the lowest score that few enough harmless texts reach: of our authors, and of the corpora."""
    by_kind: dict[bool, list[float]] = {True: [], False: []}
    for text, score in zip(texts, scores, strict=True):
        if not text.label:
            by_kind[text.source.startswith("author ")].append(float(score) - _RISE * rise(text.sentences))
    return round(max(_exceeded_by(by_kind[own], share) for own, share in _HARMLESS_HELD_BACK.items()) + 0.01, 2)


def _exceeded_by(scores: list[float], share: float) -> float:
    """Return the score that at most this *share* of *scores* exceeds."""
    return sorted(scores, reverse=True)[int(share * len(scores))]


def _report(texts: Sequence[ReadText], scores: NDArray[np.float64], threshold: float) -> Iterator[str]:
    held: dict[tuple[str, str], list[bool]] = {}
    for text, score in zip(texts, scores, strict=True):
        names = (text.lang, "all") if text.label else (text.source,)
        for name in names:
            group = held.setdefault(("attacks" if text.label else "harmless", name), [])
            group.append(score - _RISE * rise(text.sentences) >= threshold)
    for (kind, name), hits in sorted(held.items()):
        yield f"{kind} {name}: {sum(hits)} of {len(hits)} ({sum(hits) / len(hits):.3f})"


if __name__ == "__main__":
    sys.exit(main())
