"""Measure what outputs by reference cost: time beside ``zstd``, memory of a stream, reading, and pruning."""

from __future__ import annotations

import json
import os
import random
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path

import zstandard

from agent_home import storage
from agent_home.checkpoints.pruning import prune
from agent_home.creation import create
from agent_home.home import Home
from agent_home.outputs.entry import StoredOutput, new_output_id, record_path
from agent_home.outputs.reading import output_stats
from agent_home.outputs.store import store_output
from recall.hot_state import hot_state

__all__ = ["HEAD", "cost_rows"]

HEAD = ("measure", "value", "baseline")
_MB = 1 << 20


def cost_rows(folder: Path, *, stream_mb: int = 1024, records: int = 100_000) -> Iterator[Sequence[str]]:
    """Yield rows of :data:`HEAD`. *stream_mb* are piped into ``memory log``, and *records* outputs are pruned."""
    home = create(folder / "home", now=datetime.now(UTC)).home
    yield _log_beside_zstd(home, folder)
    yield _stream(home, stream_mb)
    yield _summary_command(home)
    yield _context(home)
    yield from _pruning(folder, records)


def _log_lines(size: int) -> bytes:
    source = random.Random(7)  # noqa: S311 - data to measure on
    line = "2026-11-28T10:{:02d}:{:02d}.{:03d}Z INFO worker-{} compiled module src/harbour/crane_{}.c in {} ms\n"
    lines, length = [], 0
    while length < size:
        lines.append(line.format(*(source.randrange(most) for most in (60, 60, 1000, 8, 97, 300))))
        length += len(lines[-1])
    return "".join(lines).encode()[:size]


def _log_beside_zstd(home: Home, folder: Path) -> Sequence[str]:
    data = _log_lines(50 * _MB)
    (folder / "log.txt").write_bytes(data)

    def stored() -> None:
        store_output(home, _parts(folder / "log.txt"), now=datetime.now(UTC))

    def compressed() -> None:
        with (folder / "log.txt").open("rb") as source, (folder / "log.zst").open("wb") as target:
            zstandard.ZstdCompressor(level=9).copy_stream(source, target)
            target.flush()
            os.fsync(target.fileno())

    alone, ours = _seconds(compressed), _seconds(stored)
    return ("log of 50 MB, seconds", f"{ours:.1f}", f"zstd -9 alone {alone:.1f}")


def _stream(home: Home, size_mb: int) -> Sequence[str]:
    """Measure a pipe of *size_mb* into the command, and measure the most memory that it used."""
    block = _log_lines(_MB)
    command = [sys.executable, "-c", _MEASURED, "log", "--stdin", "--home", str(home.root)]
    began = time.perf_counter()
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        env={**os.environ, "AGENT_HOME_SERVICE": "0"},
    ) as process:  # fmt: skip
        assert process.stdin is not None
        for _ in range(size_mb):
            process.stdin.write(block)
        out, error = process.communicate()
    if process.returncode:
        raise RuntimeError(error.decode())
    peak = int(error.decode().rsplit("peak ", 1)[1])
    told = f"{time.perf_counter() - began:.0f} s, {peak / 1024:.0f} MB of memory"
    return (f"log --stdin of {size_mb} MB", told, f"allowed 200 MB; {out.decode().strip().splitlines()[0][:60]}")


#: The command, which tells its peak of memory in KB at the end. The kernel's other figure, ``ru_maxrss``, begins with
#: that of the process that starts it.
_MEASURED = """
import sys
from pathlib import Path
from interfaces.entry import main
try:
    main()
finally:
    status = Path("/proc/self/status").read_text()
    print("peak", status.partition("VmHWM:")[2].split()[0], file=sys.stderr)
"""


def _summary_command(home: Home) -> Sequence[str]:
    stored = store_output(home, [_log_lines(_MB)], now=datetime.now(UTC))
    command = [sys.executable, "-m", "interfaces.cli", "fetch", stored.id, "--summary-only", "--home", str(home.root)]
    environment = {**os.environ, "AGENT_HOME_SERVICE": "0"}
    fetch = partial(subprocess.run, command, check=True, capture_output=True, env=environment)
    nothing = partial(subprocess.run, [sys.executable, "-c", ""], check=True)
    times, bare = ([_seconds(work) for _ in range(30)] for work in (fetch, nothing))
    return ("fetch --summary-only, a process, p50 / p95 ms", _percentiles(times), f"python -c '' {_percentiles(bare)}")


def _context(home: Home) -> Sequence[str]:
    state = hot_state(home)
    state.set_context("s", {f"key{number}": f"value {number}" for number in range(50)})
    values = {"s": {f"key{number}": f"value {number}" for number in range(50)}}
    times = [_seconds(lambda: state.get_context("s")) for _ in range(500)]
    bare = [_seconds(lambda: json.loads(json.dumps(values["s"]))) for _ in range(500)]
    return ("context get, 50 values, in process, p50 / p95 ms", _percentiles(times), f"JSON alone {_percentiles(bare)}")


def _pruning(folder: Path, records: int) -> Iterator[Sequence[str]]:
    now = datetime.now(UTC)
    home = create(folder / "many", now=now).home
    pattern = store_output(home, [b"42 passed\n"], now=now, tool="pytest")
    for number in range(records):
        _copied(home, pattern, now - timedelta(minutes=number), number)
    began = time.perf_counter()
    list((home.root / "outputs").rglob("*.json"))
    walk = time.perf_counter() - began
    began = time.perf_counter()
    stats = output_stats(home)
    yield (f"stats over {stats.outputs} outputs, seconds", f"{time.perf_counter() - began:.1f}", f"a walk {walk:.1f}")
    began = time.perf_counter()
    planned = prune(home, now=now, keep_days=7, keep_entries=500, apply=False)
    yield (f"prune, {len(planned.ids)} due, dry", f"{time.perf_counter() - began:.1f}", f"a walk {walk:.1f}")
    began = time.perf_counter()
    done = prune(home, now=now, keep_days=7, keep_entries=500, apply=True)
    yield (f"prune --apply, {len(done.ids)} dropped", f"{time.perf_counter() - began:.1f}", f"a walk {walk:.1f}")


def _copied(home: Home, pattern: StoredOutput, moment: datetime, number: int) -> None:
    named = replace(pattern, id=new_output_id(moment, f"{number:08x}"), ts=moment.isoformat(timespec="seconds"))
    path = home.root / record_path(named.id)
    storage.make_folder(path.parent)
    path.write_bytes(named.render())


def _parts(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        while data := file.read(_MB):
            yield data


def _seconds(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def _percentiles(seconds: Sequence[float]) -> str:
    ordered = sorted(seconds)
    return f"{statistics.median(ordered) * 1e3:.2f} / {ordered[int(len(ordered) * 0.95)] * 1e3:.2f}"
