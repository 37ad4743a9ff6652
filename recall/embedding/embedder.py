"""Texts in, unit vectors out.

A text's vector depends on the text and the model alone. Every text runs by itself, unpadded, in a session of one
thread, and several texts run side by side. Quantised models scale their activations over a whole batch, so in a batch a
text's neighbours would change its vector, and a rebuilt index would differ from a synced one. One text a run is also
the quickest way on CPUs, because nothing is padded and no thread waits for another inside a product.

The default model reads no Chinese. A table of Chinese vectors in its space (:mod:`recall.embedding.chinese`) stands in
for it there. A mixed text's vector is the sum of the table's and the model's, by the shares of their words. A text
without Han characters has the model's vector, byte for byte.

The default model runs on onnxruntime and tokenizers directly. fastembed runs any other named model and knows its
pooling and its prefixes. For the default model it would give the same vectors at the same speed, but take seven times
as long to load (1.5 s of CPU time against .2 s, nearly all of it the import).

Finding the model's files is the business of :mod:`recall.embedding.model`.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from guard.inference.address_space import lacking
from guard.inference.runtime import onnx_session

from ..errors import ModelError
from .chinese import ChineseTable, chinese_share, shipped_table, without_chinese
from .library import text_embedding
from .model import DEFAULT_MODEL, MAX_TOKENS, EmbeddingSettings, ModelLocation, Progress, build, digest, locate

__all__ = ["Embedder", "NoEmbedder", "Vector", "distinguishes_meaning", "open_embedder"]

Vector = NDArray[np.float32]
#: Share of Chinese words from which on the others are read by the table alone. It knows the common ones.
_ALL_CHINESE = 0.8


class Embedder(Protocol):
    """A loaded model. Safe to use from several threads."""

    @property
    def name(self) -> str:
        """The model's name in the settings."""

    @property
    def fingerprint(self) -> str:
        """Names the model and its arithmetic: vectors of equal fingerprints can be compared, others cannot."""

    @property
    def dimension(self) -> int:
        """Length of a vector."""

    def embed(self, texts: Sequence[str]) -> Vector:
        """Return one unit vector a text, in order: (len(texts), dimension). Equal texts give equal vectors.

        A text longer than the model's limit (256 tokens for the default model) is read to that limit.

        Raises:
            ModelError: the runtime failed on a text.
        """

    def embed_query(self, text: str) -> Vector:
        """Return the unit vector of a question: (dimension,). Some models mark questions in their own way."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NoEmbedder:
    """There is no model to use now. *reason* is one line for the receipt and for ``memory doctor``."""

    reason: str
    location: ModelLocation


def open_embedder(
    settings: EmbeddingSettings,
    *,
    build_missing: bool,
    cache: Path | None = None,
    progress: Progress = lambda _line: None,
) -> Embedder | NoEmbedder:
    """Load the model that the settings name, or say why there is none. Never raises for a missing model.

    Args:
        settings: the ``[embedding]`` table.
        build_missing: whether a model whose weights are installed may be written into the cache first (some
            seconds). A search passes False: it must not wait. Nothing is ever downloaded here: that is what
            `memory model build` is for.
        cache: instead of the user's cache folder.
        progress: called with a line now and then while the model is made.
    """
    location = locate(settings, cache=cache)
    if not location.ready and build_missing and location.origin == "package":
        try:
            location = build(settings, cache=cache, progress=progress)
        except (ModelError, OSError) as error:
            return NoEmbedder(reason=str(error), location=location)
    if not location.ready:
        return NoEmbedder(reason=location.detail, location=location)
    try:
        if reason := lacking(location.onnx.stat().st_size if location.onnx else 0):
            return NoEmbedder(reason=reason, location=location)
        status = location.onnx.stat() if location.onnx else None
        return _load(settings, location, (status.st_mtime_ns, status.st_size) if status else None)
    except Exception as error:  # noqa: BLE001 - tokenizers raises bare Exception, onnxruntime children of it; the reason tells
        where = location.folder or settings.model
        reason = f"{where} cannot be loaded: {_one_line(error)}. Run `memory model build --verify`"
        return NoEmbedder(reason=reason, location=location)


def distinguishes_meaning(embedder: Embedder) -> bool:
    """Return whether the loaded model finds two sentences about one thing nearer to each other than to a third."""
    dog, puppy, tax = embedder.embed(
        ["A dog plays in the garden.", "A puppy runs on the lawn.", "The tax office closes."]
    )
    return bool(dog @ puppy > max(dog @ tax, puppy @ tax) and abs(float(dog @ dog) - 1) < 1e-3)


@lru_cache(maxsize=2)
def _load(settings: EmbeddingSettings, location: ModelLocation, _changed: tuple[int, int] | None) -> Embedder:
    """Load the model once a process, and again where its file has changed."""
    threads = settings.threads or _cores()
    if location.name == DEFAULT_MODEL and location.onnx is not None and location.folder is not None:
        table = shipped_table()
        encode = _reading_chinese(_sentence_encoder(location.folder, location.onnx), table)
        model = location.recipe or f"{location.name}:{digest(location)[:16]}"
        fingerprint = f"{model}:chinese:{table.digest[:12]}"
        return _ThreadedEmbedder(
            name=location.name, fingerprint=fingerprint, threads=threads, encode=encode, encode_query=encode
        )
    return _with_fastembed(location, threads)


class _ThreadedEmbedder:
    """An embedder from functions that encode one text, run on several threads."""

    def __init__(
        self,
        *,
        name: str,
        fingerprint: str,
        threads: int,
        encode: Callable[[str], Vector],
        encode_query: Callable[[str], Vector],
    ) -> None:
        self.name, self.fingerprint = name, fingerprint
        self._threads, self._encode, self._encode_query = threads, encode, encode_query
        self.dimension = len(encode("dimension"))

    def embed(self, texts: Sequence[str]) -> Vector:
        # Longest first, so that the threads end together. Equal texts are encoded once.
        distinct = sorted(set(texts), key=lambda text: (-len(text), text))
        pool = ThreadPoolExecutor(max_workers=self._threads, thread_name_prefix="embed")
        try:
            vectors = dict(zip(distinct, pool.map(self._passage, distinct), strict=True))
        finally:
            pool.shutdown(cancel_futures=True)
        if not texts:
            return np.zeros((0, self.dimension), np.float32)
        return np.stack([vectors[text] for text in texts])

    def embed_query(self, text: str) -> Vector:
        return self._run(self._encode_query, text)

    def _passage(self, text: str) -> Vector:
        return self._run(self._encode, text)

    def _run(self, encode: Callable[[str], Vector], text: str) -> Vector:
        try:
            vector = encode(text)
        except Exception as error:  # the libraries share no narrower exception
            message = f"{self.name} failed on a text of {len(text)} characters: {_one_line(error)}"
            raise ModelError(f"{message}. Run `memory model --verify`") from error
        return _unit(vector)


def _one_line(error: Exception) -> str:
    return f"{type(error).__name__}: {' '.join(str(error).split())[:200]}"


def _unit(vector: Vector) -> Vector:
    length = float(np.linalg.norm(vector))
    return (vector / np.float32(length)).astype(np.float32) if length > 0 else vector.astype(np.float32)


def _sentence_encoder(folder: Path, onnx: Path) -> Callable[[str], Vector]:
    """Return an encoder that averages the token vectors, as all-MiniLM-L6-v2 is pooled."""
    from tokenizers import Tokenizer

    session = onnx_session(onnx)
    names = [item.name for item in session.get_inputs()]
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.no_padding()
    tokenizer.enable_truncation(_longest(folder))

    def encode(text: str) -> Vector:
        ids = np.array([tokenizer.encode(text).ids], np.int64)
        feed = {"input_ids": ids, "attention_mask": np.ones_like(ids), "token_type_ids": np.zeros_like(ids)}
        tokens: NDArray[np.float32] = session.run(None, {name: feed[name] for name in names})[0]
        mean: Vector = tokens[0].mean(axis=0, dtype=np.float64).astype(np.float32)
        return mean

    return encode


def _reading_chinese(encode: Callable[[str], Vector], table: ChineseTable) -> Callable[[str], Vector]:
    """Return an encoder that reads Chinese words by *table* and all others by *encode*."""

    def encode_both(text: str) -> Vector:
        share = chinese_share(text)
        if share == 0:
            return encode(text)
        chinese = _unit(table.encode(text))
        if not chinese.any():
            return encode(text)
        if share >= _ALL_CHINESE:
            return chinese
        others = _unit(encode(without_chinese(text)))
        return np.asarray(np.float32(share) * chinese + np.float32(1 - share) * others, np.float32)

    return encode_both


def _longest(folder: Path) -> int:
    """Return the number of tokens that the model reads: its tokenizer's limit, at most the limit of its training."""
    stated = json.loads((folder / "tokenizer_config.json").read_bytes()).get("model_max_length")
    return min(stated, MAX_TOKENS) if isinstance(stated, int) and stated > 0 else MAX_TOKENS


def _cores() -> int:
    """Count the cores that this process may use. In a container that is often fewer than the machine has."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _with_fastembed(location: ModelLocation, threads: int) -> Embedder:
    """Load any other model, from its folder or from its download, with fastembed."""
    from loguru import logger

    logger.disable("fastembed")  # it logs what it then raises
    place: dict[str, Any] = {"cache_dir": str(location.folder), "local_files_only": True}
    if location.origin == "folder":
        place = {"specific_model_path": str(location.folder)}
    model = text_embedding()(location.name, threads=1, **place)
    return _ThreadedEmbedder(
        name=location.name,
        fingerprint=f"{location.name}:{digest(location)[:16]}",
        threads=threads,
        encode=lambda text: np.asarray(next(iter(model.embed([text]))), np.float32),
        encode_query=lambda text: np.asarray(next(iter(model.query_embed(text))), np.float32),
    )
