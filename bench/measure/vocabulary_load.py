"""Cost of a real vocabulary in place of the estimator: file sizes, and the time of a new process's first count."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

__all__ = ["HEAD", "Loading", "measure_loading", "table_row", "tokenizers_json"]

ROOT = Path(__file__).resolve().parents[2]
WEIGHTS = ROOT / "agent_home" / "token_weights.py"
#: New processes for each way. The figure is their median.
_PROCESSES = 5
_TIMED = "import sys, time\nstart = time.perf_counter()\n{load}\nbetween = time.perf_counter()\n{rest}"
_REST = """text = open(sys.argv[2], encoding="utf-8").read()
start_count = time.perf_counter()
count(text)
print((between - start) * 1000, (time.perf_counter() - start_count) * 1000)
"""
#: Each snippet makes ``count``, and counts a short text once so that nothing is left to load.
_ESTIMATE = """from agent_home.tokens import count_tokens
count = lambda text: count_tokens(text, vocabulary=sys.argv[1])
count("a")"""
_TIKTOKEN = """import tiktoken
encoding = tiktoken.get_encoding(sys.argv[1] + "_base")
count = lambda text: len(encoding.encode(text, disallowed_special=()))
count("a")"""
_TOKENIZERS = """from tokenizers import Tokenizer
tokenizer = Tokenizer.from_file(sys.argv[1])
count = lambda text: len(tokenizer.encode(text, add_special_tokens=False).ids)
count("a")"""

HEAD = ("way", "file, MB", "compressed, MB", "load and first count, ms", "MB of text a second")


@dataclass(frozen=True, slots=True, kw_only=True)
class Loading:
    """Figures of one way to count tokens. *load_ms* excludes the start of Python."""

    way: str
    size_mb: float
    compressed_mb: float
    load_ms: float
    mb_per_s: float


def table_row(loading: Loading) -> list[str]:
    """Return the cells of *loading* under `HEAD`."""
    return [
        loading.way, f"{loading.size_mb:.2f}", f"{loading.compressed_mb:.2f}",
        f"{loading.load_ms:.0f}", f"{loading.mb_per_s:.1f}",
    ]  # fmt: skip


def measure_loading(ranks: Mapping[str, Path], sample: Path, folder: Path) -> list[Loading]:
    """Measure the estimator, tiktoken and tokenizers for each vocabulary.

    Args:
        ranks: tiktoken's file of each vocabulary, under the name by which its cache knows it.
        sample: UTF-8 text whose counting is timed.
        folder: where the files for tokenizers are written.
    """
    rows = []
    for name, file in ranks.items():
        os.environ["TIKTOKEN_CACHE_DIR"] = str(file.parent)
        rows.append(_measured(f"estimator, {name}", WEIGHTS, _ESTIMATE, name, sample))
        rows.append(_measured(f"tiktoken, {name}", file, _TIKTOKEN, name, sample))
        converted = folder / f"{name}.json"
        converted.write_text(json.dumps(tokenizers_json(name), ensure_ascii=False, separators=(",", ":")), "utf-8")
        _require_equal_counts(name, converted, sample)
        rows.append(_measured(f"tokenizers, {name}", converted, _TOKENIZERS, str(converted), sample))
    return rows


def _require_equal_counts(name: str, converted: Path, sample: Path) -> None:
    """Compare the converted vocabulary with the real one.

    Raises:
        SystemExit: they count the sample differently, so their times cannot be compared.
    """
    import tiktoken
    from tokenizers import Tokenizer

    text = sample.read_text("utf-8")
    real = len(tiktoken.get_encoding(f"{name}_base").encode(text, disallowed_special=()))
    ours = len(Tokenizer.from_file(str(converted)).encode(text, add_special_tokens=False).ids)
    if ours != real:
        raise SystemExit(f"the converted {name} counts {ours} tokens in {sample.name}, the real one {real}")


def tokenizers_json(name: str) -> dict[str, Any]:
    """Return the vocabulary *name* of tiktoken as a file of tokenizers, without special tokens.

    tiktoken reads the vocabulary from the folder that ``TIKTOKEN_CACHE_DIR`` names.
    """
    from tiktoken_ext import openai_public

    public = getattr(openai_public, f"{name}_base")()
    ranks: dict[bytes, int] = public["mergeable_ranks"]
    merges = [pair for token, rank in ranks.items() if (pair := _parts(ranks, token, rank))]
    pattern = {"type": "Split", "pattern": {"Regex": public["pat_str"]}, "behavior": "Removed", "invert": True}
    bytes_ = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": False, "use_regex": False}
    return {
        "version": "1.0",
        "added_tokens": [],
        "pre_tokenizer": {"type": "Sequence", "pretokenizers": [pattern, bytes_]},
        "model": {
            "type": "BPE",
            "ignore_merges": True,
            "vocab": {_spelled(token): rank for token, rank in ranks.items()},
            "merges": [[_spelled(part) for part in pair] for pair in merges],
        },
    }


def _parts(ranks: Mapping[bytes, int], token: bytes, rank: int) -> list[bytes]:
    """Return the two tokens that a merge joins to *token*, or nothing where no single merge makes it."""
    parts = [bytes([byte]) for byte in token]
    while len(parts) > 2:
        joined = [(ranks.get(parts[at] + parts[at + 1], rank), at) for at in range(len(parts) - 1)]
        lowest, at = min(joined)
        if lowest >= rank:
            return []
        parts[at : at + 2] = [parts[at] + parts[at + 1]]
    return parts if len(parts) == 2 else []


def _byte_alphabet() -> dict[int, str]:
    """Return the printable character that stands for each byte in files of tokenizers."""
    printable = [*range(ord("!"), ord("~") + 1), *range(ord("¡"), ord("¬") + 1), *range(ord("®"), ord("ÿ") + 1)]
    others = [byte for byte in range(256) if byte not in set(printable)]
    return {byte: chr(byte) for byte in printable} | {byte: chr(256 + at) for at, byte in enumerate(others)}


_ALPHABET = _byte_alphabet()


def _spelled(token: bytes) -> str:
    return "".join(_ALPHABET[byte] for byte in token)


def _measured(way: str, file: Path, load: str, argument: str, sample: Path) -> Loading:
    code = _TIMED.format(load=load, rest=_REST)
    times = [_timed([code, argument, str(sample)]) for _ in range(_PROCESSES)]
    data = file.read_bytes()
    return Loading(
        way=way,
        size_mb=len(data) / 1e6,
        compressed_mb=len(zlib.compress(data, 9)) / 1e6,
        load_ms=statistics.median(load_ms for load_ms, _ in times),
        mb_per_s=sample.stat().st_size / 1e3 / statistics.median(count_ms for _, count_ms in times),
    )


def _timed(arguments: Sequence[str]) -> tuple[float, float]:
    command = [sys.executable, "-c", *arguments]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    load_ms, count_ms = map(float, done.stdout.split())
    return load_ms, count_ms
