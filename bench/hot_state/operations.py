"""Time every operation of hot state in both stores, beside a bare client of Redis in the same run."""

from __future__ import annotations

import json
import os
import statistics
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

import redis

from agent_home.creation import create
from agent_home.home import Home
from agent_home.outputs.reading import find_output, output_content
from agent_home.outputs.store import store_output
from recall.hot_state import HotState
from recall.hot_state.home_key import ensure_key
from recall.hot_state.output_pointers import output_pointer, point_to
from recall.hot_state.shared_store import SharedStore
from recall.hot_state.store import HotValue, Kind
from recall.servers import REDIS_VARIABLE

__all__ = ["HEAD", "OUTPUTS_HEAD", "SIZES", "operation_rows", "output_rows", "percentiles", "using"]

HEAD = ("sessions", "values", "operation", "file", "Redis", "bare redis-py")
OUTPUTS_HEAD = ("of an output", "file", "Redis")
#: Sessions, and values of each: a session keeps at most 256.
SIZES = ((1, 256), (10, 256), (100, 100))
_LIFE_S = 86_400.0
_WARM_UP, _BATCHES = 20, 16


@contextmanager
def using(url: str) -> Iterator[None]:
    """Let hot state use the server at *url* in the block, or with an empty text none."""
    before = os.environ.pop(REDIS_VARIABLE, None)
    if url:
        os.environ[REDIS_VARIABLE] = url
    try:
        yield
    finally:
        os.environ.pop(REDIS_VARIABLE, None)
        if before is not None:
            os.environ[REDIS_VARIABLE] = before


def percentiles(work: Callable[[int], object], runs: int) -> str:
    """Return the median and the 95th percentile of the milliseconds that *work* takes. It gets the number of a run.

    Of a few batches of *runs*, the quietest counts, because other jobs of the machine take its cores for milliseconds.
    """
    for number in range(min(_WARM_UP, runs)):
        work(number)
    found = []
    for batch in range(_BATCHES):
        times = []
        for number in range(batch * runs, (batch + 1) * runs):
            began = time.perf_counter()
            work(number)
            times.append((time.perf_counter() - began) * 1e3)
        times.sort()
        found.append((times[int(runs * 0.95)], statistics.median(times)))
    high, middle = min(found)
    return f"{middle:.2f} / {high:.2f}"


def operation_rows(folder: Path, url: str, *, runs: int = 300) -> Iterator[Sequence[str]]:
    """Yield rows of :data:`HEAD`: p50 / p95 milliseconds of *runs* operations, in homes in *folder*."""
    for sessions, values in SIZES:
        columns = []
        for name, address in (("file", ""), ("redis", url)):
            home = create(folder / f"{name}-{sessions}", now=datetime.now(UTC)).home
            with using(address):
                _fill(home, sessions, values)
                columns.append(_timed(_operations(home, sessions, values), runs))
        bare = _timed(_bare(redis.Redis.from_url(url), sessions, values), runs)
        for operation in columns[0]:
            times = (columns[0][operation], columns[1][operation], bare.get(operation, "-"))
            yield (str(sessions), str(sessions * values), operation, *times)


def _timed(operations: Mapping[str, Callable[[int], object]], runs: int) -> dict[str, str]:
    return {name: percentiles(work, runs) for name, work in operations.items()}


def _fill(home: Home, sessions: int, values: int) -> None:
    """Fill sessions with values, half of them context and half of them results of tools."""
    store, now = SharedStore(home), time.time()
    for session in range(sessions):
        rows = []
        for number in range(values - 3):  # the operations set three more
            kind: Kind = "tool" if number % 2 else "context"
            text = json.dumps(_value(session, number))
            rows.append(
                HotValue(
                    session=f"s-{session}", kind=kind, name=f"n{number}", text=text, audience="owner", written=now,
                    ends=now + _LIFE_S,
                )
            )  # fmt: skip
        store.put(f"s-{session}", rows, now=now)


def _value(session: int, number: int) -> dict[str, object]:
    return {"task": f"Fixing test {number} of the harbour crane", "session": session, "files": ["a.py", "b.py"]}


def _operations(home: Home, sessions: int, values: int) -> dict[str, Callable[[int], object]]:
    state = HotState(home)
    context = {"task": "Fixing test_auth", "tries": 2}
    return {
        "set_value": lambda n: state.set_value(f"s-{n % sessions}", "task", f"Fixing test_auth, try {n}"),
        "set_context": lambda n: state.set_context(f"s-{n % sessions}", context),
        "get_context": lambda n: state.get_context(f"s-{n % sessions}"),
        "set_tool_results": lambda n: state.set_tool_results(f"s-{n % sessions}", "pytest", {"failed": n}),
        "get_tool_results": lambda n: state.get_tool_results(
            f"s-{n % sessions}", f"n{2 * (n % (values // 2 - 1)) + 1}"
        ),
        "what a prompt reads": lambda n: state.items_of([f"s-{n % sessions}", ""]),
    }


def _bare(client: redis.Redis, sessions: int, values: int) -> dict[str, Callable[[int], object]]:
    """Return the same in few lines, without guard, limits, own ends or signatures."""
    for session in range(sessions):
        for number in range(0, values, 2):
            client.hset(f"bare:{session}", f"n{number}", json.dumps(_value(session, number)))

    def set_context(number: int) -> None:
        client.hset(f"bare:{number % sessions}", mapping={"task": '"Fixing test_auth"', "tries": "2"})
        client.expire(f"bare:{number % sessions}", 3600)

    def get_context(number: int) -> object:
        found = client.hgetall(f"bare:{number % sessions}")
        return {name: json.loads(text) for name, text in found.items()}

    return {
        "set_context": set_context,
        "get_context": get_context,
        "set_tool_results": lambda n: client.set(f"bare:{n % sessions}:t", json.dumps({"failed": n}), ex=1800),
        "get_tool_results": lambda n: client.get(f"bare:{n % sessions}:t"),
    }


def output_rows(folder: Path, url: str, *, runs: int = 300) -> Iterator[Sequence[str]]:
    """Yield rows of :data:`OUTPUTS_HEAD`: what an output says, from its file and from Redis."""
    home = create(folder / "outputs", now=datetime.now(UTC)).home
    small = store_output(home, [b"8 passed, 1 failed (test_total)\n"], now=datetime.now(UTC), tool="pytest")
    lines = b"".join(b"step %d: compiled the harbour crane module\n" % number for number in range(600))
    large = store_output(home, [lines], now=datetime.now(UTC), tool="make")
    client = redis.Redis.from_url(url)
    with using(url):
        key = ensure_key(home)
        for one in (small, large):
            point_to(home, one)
            client.set(f"bare:{one.id}", key.sealed(b"output", b"".join(output_content(home, one))))
        for what, one in (("summary, small", small), ("summary, 8 000 tokens", large)):
            kept = percentiles(lambda _n, one=one: find_output(home, one.id).summary, runs)  # type: ignore[misc]
            yield (what, kept, percentiles(lambda _n, one=one: output_pointer(home, one.id), runs))  # type: ignore[misc]
        for what, one in (("content, small", small), ("content, 8 000 tokens", large)):
            kept = percentiles(lambda _n, one=one: _content(home, one.id), runs)  # type: ignore[misc]
            cached = percentiles(lambda _n, one=one: _cached(home, client, one.id), runs)  # type: ignore[misc]
            yield (what, kept, cached)


def _content(home: Home, name: str) -> bytes:
    return b"".join(output_content(home, find_output(home, name)))


def _cached(home: Home, client: redis.Redis, name: str) -> bytes | None:
    """Read a content as a cache would: with a look at the record, because no output may be shown that is gone."""
    find_output(home, name)
    data = client.get(f"bare:{name}")
    return ensure_key(home).opened(b"output", data) if isinstance(data, bytes) else None
