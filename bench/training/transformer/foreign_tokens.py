"""Teach the default model tokens of twelve languages, from parallel texts.

    python -m bench.training.transformer.foreign_tokens --model DIR --messages DIR --tldr DIR --out DIR [--minutes N]

The default model reads English: it cuts a word of another language into letters. This script adds tokens for the other
languages and makes the model put a text where it puts the English original:

1. Word pieces are learned from the foreign texts, and those that the model lacks join its vocabulary.
2. The vector of a new piece is the mean of the English pieces that translate it. How likely each is a translation is
   learned from the pairs by the EM algorithm of IBM's first alignment model (Brown et al. 1993).
3. All weights are trained so that a foreign text's vector has the direction of its original's.

Parallel texts: ``--messages`` is a folder of translated messages of programs (``/usr/share/locale`` on Debian), and
``--tldr`` a checkout of ``tldr-pages/tldr``. ``--model`` is the folder of the published weights. The result is a folder
with ``weights.safetensors`` and ``tokenizer.json``, the start of ``bench.training.transformer.passages``.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import time
from collections import defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file, save_file
from tokenizers import Tokenizer
from torch.nn import functional

from .network import batches, in_order, padded, sentence_vectors
from .parallel_texts import MOST_TOKENS, TranslatedPair, extended, message_pairs, tldr_pairs, translations

__all__ = ["main"]

#: Languages of other scripts, which the model has to learn from nothing, get more pairs.
_OTHER_SCRIPTS = frozenset({"ru", "zh", "ja", "ko"})
_PAIRS, _MORE = 22_000, 1.3
_WORDS = "embeddings.word_embeddings.weight"
_BATCH, _ENGLISH = 128, 16
_RATES = {_WORDS: 1.5e-3, "": 1.2e-4}
_TEMPERATURE = 0.05


def main(arguments: Sequence[str] | None = None) -> int:
    """Read the pairs, extend the vocabulary, train, and write the folder."""
    parser = argparse.ArgumentParser(prog="python -m bench.training.transformer.foreign_tokens", description="Train.")
    parser.add_argument("--model", type=Path, required=True, help="folder of the published weights")
    parser.add_argument("--messages", type=Path, help="folder of LANGUAGE/LC_MESSAGES/*.mo")
    parser.add_argument("--tldr", type=Path, help="checkout of tldr-pages/tldr")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--minutes", type=float, default=30.0, help="time of the last step")
    given = parser.parse_args(arguments)
    torch.manual_seed(0)
    chance = random.Random(0)  # noqa: S311
    found = [
        *(tldr_pairs(given.tldr) if given.tldr else ()),
        *(message_pairs(given.messages) if given.messages else ()),
    ]
    pairs, held = _divided(found, chance)
    print(f"{len(pairs)} pairs, {len(held)} to measure", file=sys.stderr)
    weights = {name: value.float() for name, value in load_file(given.model / "model.safetensors").items()}
    english = Tokenizer.from_file(str(given.model / "tokenizer.json"))
    english.no_padding()
    english.enable_truncation(MOST_TOKENS)
    tokens = extended(english, (pair.foreign for pair in pairs))
    trainer = _Trainer(weights, english, tokens, pairs, held)
    trainer.train(given.minutes * 60, chance)
    given.out.mkdir(parents=True, exist_ok=True)
    save_file({name: value.detach().contiguous() for name, value in trainer.weights.items()},
              given.out / "weights.safetensors")  # fmt: skip
    tokens.save(str(given.out / "tokenizer.json"))
    return 0


def _divided(
    pairs: Iterable[TranslatedPair], chance: random.Random
) -> tuple[list[TranslatedPair], list[TranslatedPair]]:
    """Return the pairs to train on, and 150 of the first source of each language to measure on."""
    by_language: dict[str, dict[str, TranslatedPair]] = defaultdict(dict)
    for pair in pairs:
        if 8 <= len(pair.english) <= 220 and 3 <= len(pair.foreign) <= 260 and " " in pair.english:
            by_language[pair.language].setdefault(pair.foreign, pair)
    chosen, held = [], []
    for language, found in sorted(by_language.items()):
        rows = list(found.values())
        apart = rows[: len(rows) // 20][:150]
        originals = {pair.english for pair in apart}
        held += apart
        rows = [pair for pair in rows[len(apart) :] if pair.english not in originals]
        chance.shuffle(rows)
        chosen += rows[: round(_PAIRS * (_MORE if language in _OTHER_SCRIPTS else 1))]
    return chosen, held


class _Trainer:
    """The weights under training, with the pairs in tokens and the vectors of their originals."""

    def __init__(
        self, weights: dict[str, Any], english: Tokenizer, tokens: Tokenizer, pairs: Sequence[TranslatedPair],
        held: Sequence[TranslatedPair],
    ) -> None:  # fmt: skip
        originals = {text: row for row, text in enumerate(dict.fromkeys(pair.english for pair in pairs))}
        self.foreign = [tokens.encode(pair.foreign).ids for pair in pairs]
        self.english = [tokens.encode(text).ids for text in originals]
        self.original = [originals[pair.english] for pair in pairs]
        rows = [english.encode(text).ids for text in originals]
        self.goal = functional.normalize(in_order(weights, rows), dim=-1)
        self.held = held
        self.held_rows = [tokens.encode(pair.foreign).ids for pair in held]
        self.held_goal = functional.normalize(
            in_order(weights, [english.encode(pair.english).ids for pair in held]), dim=-1
        )
        table = weights[_WORDS]
        grown = table.mean(0) + 0.01 * torch.randn(tokens.get_vocab_size(), table.shape[1])
        grown[: len(table)] = table
        for word, best, share in translations(self.foreign, [rows[place] for place in self.original], len(grown)):
            if word >= len(table):
                grown[word] = torch.tensor(share, dtype=torch.float32) @ table[best]
        self.weights = {name: value.clone().requires_grad_() for name, value in {**weights, _WORDS: grown}.items()
                        if value.is_floating_point() and not name.startswith("pooler")}  # fmt: skip

    def train(self, seconds: float, chance: random.Random) -> None:
        """Train for *seconds* or once over all pairs, and print how many held-out texts find their original."""
        rates = [
            {"params": [value], "lr": _RATES.get(name, _RATES[""]), "most": _RATES.get(name, _RATES[""])}
            for name, value in self.weights.items()
        ]
        optimiser = torch.optim.AdamW(rates, weight_decay=0.0, betas=(0.9, 0.98))
        order = batches([len(row) for row in self.foreign], _BATCH, chance)
        begun, self_found = time.monotonic(), self._found()
        print(f"before: {self_found}", file=sys.stderr)
        for step, places in enumerate(order):
            passed = max(step / len(order), (time.monotonic() - begun) / seconds)
            if passed >= 1:
                break
            for group in optimiser.param_groups:
                group["lr"] = group["most"] * min(1.0, (step + 1) / 60) * max(0.03, 1 - passed)
            own = chance.sample(range(len(self.english)), _ENGLISH)
            rows = [self.foreign[place] for place in places] + [self.english[place] for place in own]
            loss = self._loss(rows, [self.original[place] for place in places] + own)
            optimiser.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(list(self.weights.values()), 1.0)
            optimiser.step()
        print(f"after {step + 1} steps: {self._found()}", file=sys.stderr)

    def _loss(self, rows: list[list[int]], originals: list[int]) -> Any:
        """Return the distance from the originals, and how much nearer than to the batch's other originals it is."""
        with torch.autocast("cpu", dtype=torch.bfloat16):
            vectors = sentence_vectors(self.weights, padded(rows))
        vectors, goal = functional.normalize(vectors.float(), dim=-1), self.goal[originals]
        number = torch.tensor(originals)
        same = (number[:, None] == number[None]) & ~torch.eye(len(rows), dtype=torch.bool)
        likeness = (vectors @ goal.T / _TEMPERATURE).masked_fill(same, -1e4)
        near = functional.cross_entropy(likeness, torch.arange(len(rows)))
        return 4 * (1 - (vectors * goal).sum(1)).mean() + 0.5 * near

    def _found(self) -> str:
        vectors = functional.normalize(in_order(self.weights, self.held_rows), dim=-1)
        nearest = (vectors @ self.held_goal.T).argmax(1).tolist()
        hits: dict[str, list[bool]] = defaultdict(list)
        for pair, place in zip(self.held, nearest, strict=True):
            hits[pair.language].append(self.held[place].english == pair.english)
        return json.dumps({language: round(sum(row) / len(row), 2) for language, row in sorted(hits.items())})


if __name__ == "__main__":
    sys.exit(main())
