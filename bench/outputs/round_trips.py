"""Store random outputs of every kind, and count those that do not come back byte for byte."""

from __future__ import annotations

import random
import tempfile
from collections import Counter
from collections.abc import Callable, Mapping
from concurrent.futures import ProcessPoolExecutor
from datetime import UTC, datetime
from pathlib import Path

from agent_home.creation import create
from agent_home.home import Home
from agent_home.outputs.reading import output_chunk, output_content
from agent_home.outputs.store import store_output

__all__ = ["MOST_BYTES", "round_trips"]

MOST_BYTES = 5 << 20
_WORDS = ("compiled", "module", "crane", "test", "passed", "failed", "error", "cache", "worker", "request", "retry")
_HAN = "编译模块测试通过失败错误警告缓存工作请求响应超时重试队列批次导入导出完成的了在是"


def round_trips(number: int, *, processes: int = 2, seed: int = 1) -> Counter[str]:
    """Store *number* outputs, and return counts by kind: ``KIND``, ``KIND redacted`` and ``KIND different``."""
    parts = [(number // processes + (place < number % processes), seed + place) for place in range(processes)]
    with ProcessPoolExecutor(processes) as pool:
        return sum(pool.map(_stored, *zip(*parts, strict=True)), Counter[str]())


def _stored(number: int, seed: int) -> Counter[str]:
    source, found = random.Random(seed), Counter[str]()  # noqa: S311 - data to measure on
    with tempfile.TemporaryDirectory() as folder:
        home = create(Path(folder) / "home", now=datetime.now(UTC)).home
        for _ in range(number):
            kind = source.choice(list(_KINDS))
            content = _KINDS[kind](source, _size(source))
            found[kind] += 1
            found[f"{kind} different"] += not _comes_back(home, content, found, kind)
    return found


def _comes_back(home: Home, content: bytes, found: Counter[str], kind: str) -> bool:
    stored = store_output(home, [content], now=datetime.now(UTC))
    if stored.redacted:
        found[f"{kind} redacted"] += 1
        return True
    chunks = b"".join(output_chunk(home, stored, place) for place in range(max(1, len(stored.chunks))))
    return b"".join(output_content(home, stored)) == chunks == content


def _size(source: random.Random) -> int:
    """Return a size from 0 to :data:`MOST_BYTES`, with as many small ones as large ones by their logarithm."""
    return int(MOST_BYTES ** source.random()) - 1


def _lines(source: random.Random, size: int, end: str = "\n") -> bytes:
    lines, length = [], 0
    while length < size:
        line = " ".join(source.choices(_WORDS, k=source.randint(0, 14))) + end
        lines.append(line * source.randint(1, 40))
        length += len(lines[-1])
    return "".join(lines).encode()[:size]


def _mixed_up(source: random.Random, size: int) -> bytes:
    data = bytearray(_lines(source, size))
    for _ in range(min(len(data), 50)):
        data[source.randrange(len(data))] = source.randrange(128, 256)
    return bytes(data)


def _chinese(source: random.Random, size: int) -> bytes:
    text = "".join(source.choice(_HAN) if source.random() > 0.05 else "\n" for _ in range(min(size, 4000)))
    return (text.encode() * (size // max(1, len(text.encode())) + 1))[:size]


_KINDS: Mapping[str, Callable[[random.Random, int], bytes]] = {
    "random bytes": lambda source, size: source.randbytes(size),
    "lines": _lines,
    "CRLF": lambda source, size: _lines(source, size, "\r\n"),
    "lone CR": lambda source, size: _lines(source, size, "\r"),
    "one line": lambda source, size: _lines(source, size, " "),
    "invalid UTF-8": _mixed_up,
    "Chinese": _chinese,
}
