"""A BERT sentence encoder in PyTorch, as a function of its weights, which are named as in the published file."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch.nn import functional

__all__ = ["HEADS", "LAYERS", "WIDTH", "PaddedBatch", "batches", "in_order", "padded", "sentence_vectors"]

Weights = dict[str, Any]

LAYERS, HEADS, WIDTH = 6, 12, 384
_EPSILON = 1e-12
_SORTED_BATCHES = 40
"""Batches whose texts are sorted by length together, so that little is padded."""


@dataclass(frozen=True, slots=True)
class PaddedBatch:
    """Token numbers (texts, tokens), and which of them are no padding."""

    tokens: Any
    mask: Any


def sentence_vectors(weights: Weights, batch: PaddedBatch, *, dropout: float = 0.0) -> Any:
    """Return the mean of the last layer's tokens: (texts, 384). *dropout* above zero is for training."""
    hidden = weights["embeddings.word_embeddings.weight"][batch.tokens]
    hidden = hidden + weights["embeddings.token_type_embeddings.weight"][0]
    hidden = hidden + weights["embeddings.position_embeddings.weight"][: batch.tokens.shape[1]]
    hidden = _normal(weights, "embeddings.LayerNorm", hidden)
    mask = batch.mask[:, None, None, :]
    for layer in range(LAYERS):
        hidden = _layer(weights, f"encoder.layer.{layer}", hidden, mask, dropout)
    counted = batch.mask[..., None].float()
    return (hidden.float() * counted).sum(1) / counted.sum(1)


def _layer(weights: Weights, name: str, hidden: Any, mask: Any, dropout: float) -> Any:
    texts, length, _ = hidden.shape
    query, key, value = (
        _linear(weights, f"{name}.attention.self.{part}", hidden)
        .view(texts, length, HEADS, WIDTH // HEADS)
        .transpose(1, 2)
        for part in ("query", "key", "value")
    )
    mixed = functional.scaled_dot_product_attention(query, key, value, attn_mask=mask, dropout_p=dropout)
    mixed = _linear(weights, f"{name}.attention.output.dense", mixed.transpose(1, 2).reshape(texts, length, WIDTH))
    hidden = _normal(weights, f"{name}.attention.output.LayerNorm", hidden + _dropped(mixed, dropout))
    inner = functional.gelu(_linear(weights, f"{name}.intermediate.dense", hidden))
    inner = _linear(weights, f"{name}.output.dense", inner)
    return _normal(weights, f"{name}.output.LayerNorm", hidden + _dropped(inner, dropout))


def _dropped(value: Any, dropout: float) -> Any:
    return functional.dropout(value, dropout) if dropout else value


def _linear(weights: Weights, name: str, value: Any) -> Any:
    return functional.linear(value, weights[f"{name}.weight"], weights[f"{name}.bias"])


def _normal(weights: Weights, name: str, value: Any) -> Any:
    return functional.layer_norm(value, (WIDTH,), weights[f"{name}.weight"], weights[f"{name}.bias"], _EPSILON)


def padded(rows: Sequence[Sequence[int]]) -> PaddedBatch:
    """Return *rows* of token numbers side by side."""
    tokens = torch.zeros(len(rows), max(map(len, rows)), dtype=torch.long)
    mask = torch.zeros(tokens.shape, dtype=torch.bool)
    for place, row in enumerate(rows):
        tokens[place, : len(row)] = torch.tensor(row)
        mask[place, : len(row)] = True
    return PaddedBatch(tokens, mask)


def batches(lengths: Sequence[int], size: int, chance: random.Random) -> list[list[int]]:
    """Return the places of texts of these *lengths* in a random order, with texts of like length in one batch."""
    places = list(range(len(lengths)))
    chance.shuffle(places)
    found: list[list[int]] = []
    for start in range(0, len(places), size * _SORTED_BATCHES):
        part = sorted(places[start : start + size * _SORTED_BATCHES], key=lengths.__getitem__)
        found += _cut(part, size)
    chance.shuffle(found)
    return found


def in_order(weights: Weights, rows: Sequence[Sequence[int]], size: int = 128) -> Any:
    """Return the sentence vectors of *rows*, in their order, without training: (rows, 384)."""
    vectors = torch.zeros(len(rows), WIDTH)
    places = sorted(range(len(rows)), key=lambda place: len(rows[place]))
    with torch.no_grad(), torch.autocast("cpu", dtype=torch.bfloat16):
        for part in _cut(places, size):
            vectors[part] = sentence_vectors(weights, padded([rows[place] for place in part])).float()
    return vectors


def _cut(places: Iterable[int], size: int) -> Iterator[list[int]]:
    row = list(places)
    return (row[start : start + size] for start in range(0, len(row), size))
