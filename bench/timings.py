"""Measure how long a prompt takes, and where the time goes, beside the plain parts in the same run.

    python -m bench.timings --data DIR [--questions N] [--runs N] [--home DIR] [--turns-only] [--json]

Makes a home of all conversations in ``DIR/locomo``: their turns as transcripts, their observations as memory entries
and daily log. Questions are spread evenly over the conversations. No gold answer is read, because only time is
measured. ``--home`` keeps the home and uses it again.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import apsw

from agent_home.clock import parse_time
from agent_home.creation import create
from agent_home.documents.entry import SECTIONS, Entry, new_id
from agent_home.home import MEMORY, Home
from agent_home.lock import hold
from agent_home.store import transcript
from assembler.prompt import Request, assemble
from assembler.recalled.searcher import HomeSearcher
from interfaces.hosts import queue
from recall.embedding.embedder import Embedder, NoEmbedder, Vector, open_embedder
from recall.embedding.model import EmbeddingSettings
from recall.index.sync import sync
from recall.settings import RecallSettings

#: Smallest window of the 30K tier: the observations do not fit, so that layer 2 has work to do.
WINDOW = 128_000
_WARM_UP = 20
#: Seconds in which a service loads models and index.
_SERVICE_WARM_S = 5.0
#: Seconds in which a worker has begun, and between two looks at its queue.
_WORKER_STARTS_S = 0.3
_WORD = re.compile(r"\w+")


@dataclass(frozen=True, slots=True, kw_only=True)
class RunTimes:
    """Milliseconds of *n* runs of one thing."""

    what: str
    n: int
    p50: float
    p95: float
    largest: float


@dataclass(frozen=True, slots=True)
class _Timed:
    """An embedder that notes how long each question took."""

    inner: Embedder
    ms: list[float]

    @property
    def name(self) -> str:
        return self.inner.name

    @property
    def fingerprint(self) -> str:
        return self.inner.fingerprint

    @property
    def dimension(self) -> int:
        return self.inner.dimension

    def embed(self, texts: Sequence[str]) -> Vector:
        return self.inner.embed(texts)

    def embed_query(self, text: str) -> Vector:
        started = time.perf_counter()
        vector = self.inner.embed_query(text)
        self.ms.append(_since(started))
        return vector


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table and return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m bench.timings", description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="Folder of evaluation data.")
    parser.add_argument("--questions", type=int, default=200, help="Questions asked in one process.")
    parser.add_argument("--runs", type=int, default=15, help="Runs of each whole process.")
    parser.add_argument("--home", type=Path, help="Make the home here and keep it; one that is there is used again.")
    parser.add_argument("--turns-only", action="store_true", help="Leave the observations out: conversations alone.")
    parser.add_argument("--json", action="store_true", help="Print one JSON document.")
    options = parser.parse_args(arguments)
    if not (options.data / "locomo").is_dir():
        print(f"no folder locomo in {options.data}; timings are left out", file=sys.stderr)
        return 2
    opened = open_embedder(EmbeddingSettings(), build_missing=True)
    embedder = None if isinstance(opened, NoEmbedder) else opened
    if isinstance(opened, NoEmbedder):
        print(f"words alone, no vectors: {opened.reason}", file=sys.stderr)
    with tempfile.TemporaryDirectory() as folder:
        root = options.home or Path(folder) / "home"
        home, now = _home(root, options.data / "locomo", embedder, observations=not options.turns_only)
        questions = _questions(options.data / "locomo", options.questions + _WARM_UP)
        rows = [
            *_processes(home, now, questions[0], options.runs),
            *_in_process(home, now, questions, embedder),
            *_plain_parts(home, questions, embedder),
        ]
    if options.json:
        print(json.dumps([asdict(row) for row in rows], indent=2))
    else:
        _print_table(home, rows)
    return 0


def _home(root: Path, data: Path, embedder: Embedder | None, *, observations: bool) -> tuple[Home, datetime]:
    """Return the synced home and the time of its prompts, an hour after the last turn."""
    rows = [row for file in sorted(data.glob("*.transcript.jsonl")) for row in _jsonl(file)]
    last = max(parse_time(row["ts"]) for row in rows)
    if not (root / "agent.toml").exists():
        home = create(root, name="Timings", now=last).home
        _write_transcripts(home, rows)
        if observations:
            _write_observations(home, data, {row["session"]: row["ts"][:10] for row in reversed(rows)})
    home = Home(root)
    sync(home, home.manifest.settings("recall", RecallSettings), embedder)
    return home, last + timedelta(hours=1)


def _write_transcripts(home: Home, rows: Sequence[Mapping[str, str]]) -> None:
    sessions: dict[str, list[transcript.Message]] = defaultdict(list)
    for row in rows:
        sessions[row["session"]].append(transcript.Message(**row))
    for session, messages in sessions.items():
        transcript.append(home, session, messages, actor="bench")


def _write_observations(home: Home, data: Path, days: Mapping[str, str]) -> None:
    """Write observations as entries of MEMORY.md, newest first, and as daily logs.

    The gateway is bypassed. Screening a thousand texts is timed elsewhere, and no prompt waits for it.
    """
    rows = [row for file in sorted(data.glob("*.observations.jsonl")) for row in _jsonl(file)]
    rows.sort(key=lambda row: days[row["session"]], reverse=True)
    taken: set[str] = set()
    sections: dict[str, list[str]] = {rule.title: [] for rule in SECTIONS}
    daily: dict[str, list[str]] = defaultdict(list)
    for number, row in enumerate(rows):
        rule = SECTIONS[2 + number % 4] if number >= 20 else SECTIONS[number % 2]
        entry_id = new_id(rule.prefix, row["text"], taken)
        taken.add(entry_id)
        words = row["text"].split()
        title, body, day = " ".join(words[:6]), " ".join(words[6:]), days[row["session"]]
        entry = Entry(id=entry_id, date=day, title=title, body=body, fields={"Sources": row["source"]})
        sections[rule.title].append(entry.render())
        daily[day].append(f"- {row['text']}\n")
    text = "# Memory\n\n" + "".join(f"## {title}\n\n{''.join(found)}\n" for title, found in sections.items())
    (home.root / MEMORY).write_text(text, encoding="utf-8")
    for day, found in daily.items():
        (home.daily / f"{day}.md").write_text(f"# {day}\n\n{''.join(found)}", encoding="utf-8")


def _questions(data: Path, number: int) -> list[str]:
    """Return questions spread evenly over all conversations."""
    found = [str(row["query"]) for file in sorted(data.glob("*.queries.jsonl")) for row in _jsonl(file)]
    step = max(1, len(found) // number)
    return found[::step][:number]


def _processes(home: Home, now: datetime, question: str, runs: int) -> Iterator[RunTimes]:
    """Time whole processes in turns, so that other load on the machine affects all of them alike."""
    here = ["-c", "from interfaces.entry import main; main()"]
    at, when = ["--home", str(home.root)], ["--now", now.isoformat()]
    prompt = [*here, "prompt", *at, *when, "--json", "--window", str(WINDOW)]
    hook = ["--host", "claude-code", *at]
    ours = {
        "`memory prompt`": prompt,
        "`memory prompt --message`": [*prompt, "--message", question],
        "`memory search`": [*here, "search", question, *at, *when],
        "`memory hook session-start`": [*here, "hook", "session-start", *hook],
        "`memory hook stop`": [*here, "hook", "stop", *hook],
        "`memory hook session-end`": [*here, "hook", "session-end", *hook],
    }
    baselines = {
        "baseline: `python -c pass`": ["-c", "pass"],
        "baseline: `python`, import click and apsw": ["-c", "import click, apsw"],
        "baseline: `python`, import onnxruntime and tokenizers": ["-c", "import onnxruntime, tokenizers"],
    }
    alone = {"AGENT_HOME_SERVICE": "0"}
    with _service(home):
        commands = {
            **{f"process, with the service: {what}": (arguments, {}) for what, arguments in ours.items()},
            **{f"process, alone: {what}": (arguments, alone) for what, arguments in ours.items()},
            **{what: (arguments, {}) for what, arguments in baselines.items()},
        }
        found: dict[str, list[float]] = {what: [] for what in commands}
        for _ in range(runs):
            for what, (arguments, environment) in commands.items():
                found[what].append(_process_ms(arguments, environment))
                if "hook" in arguments:
                    _wait_for_worker(home)
    return (_timing(what, values) for what, values in found.items())


def _wait_for_worker(home: Home) -> None:
    """Wait until the worker that a hook started has ended, so that it takes no time of the next command."""
    time.sleep(_WORKER_STARTS_S)
    while queue.waits(home.root):
        time.sleep(_WORKER_STARTS_S)
    with hold(queue.folder(home.root) / "worker.lock"):
        pass


def _process_ms(arguments: Sequence[str], environment: Mapping[str, str]) -> float:
    event = json.dumps({"session_id": "bench", "cwd": "/", "prompt": "", "last_assistant_message": "Done."})
    started = time.perf_counter()
    subprocess.run(
        [sys.executable, *arguments], check=True, capture_output=True, input=event.encode(),
        env={**os.environ, **environment},
    )  # fmt: skip
    return _since(started)


@contextmanager
def _service(home: Home) -> Iterator[None]:
    """Run the service of *home*, warm, for the block."""
    command = [sys.executable, "-m", "interfaces.cli", "serve", "--home", str(home.root)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        try:
            assert process.stdout is not None
            process.stdout.readline()
            time.sleep(_SERVICE_WARM_S)
            yield
        finally:
            process.terminate()


def _in_process(home: Home, now: datetime, questions: Sequence[str], embedder: Embedder | None) -> Iterator[RunTimes]:
    """Time one warm process that asks every question once."""
    embed_ms: list[float] = []
    searcher = HomeSearcher(home, _Timed(embedder, embed_ms) if embedder is not None else None)
    found: dict[str, list[float]] = defaultdict(list)
    for number, question in enumerate(questions):
        del embed_ms[:]
        started, cpu_started = time.perf_counter(), time.process_time()
        load_ms = searcher.load_ms
        receipt = assemble(home, Request(now=now, message=question, window=WINDOW), searcher)
        total_ms, cpu_ms = _since(started), (time.process_time() - cpu_started) * 1000
        refreshed_ms = receipt.load_ms - load_ms
        if number < _WARM_UP:
            continue
        layers = {name: line.ms for name, line in receipt.layers.items()}
        found["warm: prompt with L1-L4"].append(total_ms)
        found["warm: the same, CPU time of all threads"].append(cpu_ms)  # the other figures depend on the load
        found["- notice changed files"].append(refreshed_ms - sum(embed_ms))
        found["- embed the question"].append(sum(embed_ms))
        for name, ms in layers.items():
            found[f"- {name}"].append(ms)
        found["- daily log, receipt, the rest"].append(total_ms - refreshed_ms - sum(layers.values()))
    for _ in range(len(questions) // 4):
        started = time.perf_counter()
        assemble(home, Request(now=now, window=WINDOW))
        found["warm: prompt without a message"].append(_since(started))
    return (_timing(what, values) for what, values in found.items())


def _plain_parts(home: Home, questions: Sequence[str], embedder: Embedder | None) -> Iterator[RunTimes]:
    """Time the parts without this system: joined files, an FTS5 table, the model alone."""
    paths = [home.path(item.file) for item in home.manifest.context]
    conn = apsw.Connection(":memory:")
    conn.execute("CREATE VIRTUAL TABLE turns USING fts5(text, tokenize = 'porter unicode61')")
    turns = [turn.message.content for file in transcript.sessions(home) for turn in transcript.read(file.path)]
    with conn:
        conn.executemany("INSERT INTO turns VALUES (?)", [(text,) for text in turns])

    def join(_: str) -> None:
        "\n".join(path.read_text(encoding="utf-8") for path in paths if path.exists())

    def fts(question: str) -> None:
        words = " OR ".join(f'"{word}"' for word in _WORD.findall(question))
        conn.execute("SELECT rowid FROM turns WHERE turns MATCH ? ORDER BY rank LIMIT 40", (words,)).fetchall()

    yield _timed("baseline: read and join the context files", join, questions)
    yield _timed(f"baseline: FTS5 over {len(turns)} turns, best 40", fts, questions)
    if embedder is not None:
        yield _timed("baseline: embed the question", embedder.embed_query, questions)


def _timed(what: str, function: Callable[[str], Any], questions: Sequence[str]) -> RunTimes:
    values = []
    for question in questions:
        started = time.perf_counter()
        function(question)
        values.append(_since(started))
    return _timing(what, values[_WARM_UP:])


def _timing(what: str, values: Sequence[float]) -> RunTimes:
    cuts = statistics.quantiles(values, n=20, method="inclusive") if len(values) > 1 else list(values) * 19
    return RunTimes(
        what=what, n=len(values), p50=round(cuts[9], 2), p95=round(cuts[18], 2), largest=round(max(values), 2)
    )


def _print_table(home: Home, rows: Sequence[RunTimes]) -> None:
    load = os.getloadavg()[0]
    print(f"{home.manifest.name}: window {WINDOW}, {os.cpu_count()} cores, load {load:.1f}; milliseconds\n")
    print("| what | n | p50 | p95 | max |")
    print("|---|---:|---:|---:|---:|")
    for row in rows:
        print(f"| {row.what} | {row.n} | {row.p50:.1f} | {row.p95:.1f} | {row.largest:.1f} |")


def _jsonl(file: Path) -> Iterator[dict[str, Any]]:
    with file.open(encoding="utf-8") as lines:
        for line in lines:
            yield json.loads(line)


def _since(started: float) -> float:
    """Return the milliseconds since *started*."""
    return (time.perf_counter() - started) * 1000


if __name__ == "__main__":
    sys.exit(main())
