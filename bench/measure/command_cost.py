"""Measure the processor time of whole commands, in this checkout beside others.

    python -m bench.measure.command_cost [--beside NAME=DIR ...] [--runs N] [--write-docs]

Each DIR is a checkout with its own ``.venv`` (``git worktree add``, then ``make .venv/.ready`` there). Each checkout
makes a home of its own from the same conversations: 50 sessions of four messages, imported and closed. The commands
then take turns, checkout by checkout, and the smallest time of all runs counts, with the time of every process that the
command started. Other jobs disturb the smallest time least.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

from .page import DOCS, markdown, put, stamp

__all__ = ["Checkout", "main", "measure"]

_ROOT = Path(__file__).parents[2]
_TEXTS = _ROOT / "bench/memory_data/speech.chats.jsonl"
_NOW = datetime(2026, 11, 20, 9, 0, tzinfo=UTC)
_QUESTION = "What did we decide about the release on Friday?"
SESSIONS = 50


@dataclass(slots=True)
class Checkout:
    """One version of the program with the home that it made."""

    name: str
    code: Path
    folder: Path
    chats: int = 0
    spent: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))

    @property
    def home(self) -> Path:
        """Return the home of this version."""
        return self.folder / "home"

    @property
    def at_home(self) -> tuple[str, str]:
        """Return the option that names the home."""
        return "--home", str(self.home)

    def run(self, *words: str) -> float:
        """Run the command and return the seconds of processor time that it and all its processes took.

        Raises:
            SystemExit: the command failed.
        """
        command = [str(self.code / ".venv/bin/memory"), *words]
        # Bytecode is kept, as it is in an installed program, and machine state stays out of the user's folder.
        kept = {
            name: text for name, text in os.environ.items() if name not in {"PYTHONDONTWRITEBYTECODE", "AGENT_HOME"}
        }
        with (self.folder / "output").open("wb") as output:
            process = subprocess.Popen(
                command,
                cwd=self.folder,
                env=kept | {"XDG_STATE_HOME": str(self.folder / "state"), "OMP_NUM_THREADS": "1"},
                stdout=output,
                stderr=subprocess.STDOUT,
            )
            _, status, used = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode not in {0, 1}:
            said = (self.folder / "output").read_text("utf-8", "replace")[-2000:]
            raise SystemExit(f"{self.name}: {' '.join(words)} ended with {process.returncode}:\n{said}")
        return used.ru_utime + used.ru_stime

    def chat(self, messages: int, sessions: int = 1) -> Path:
        """Write new sessions of so many messages each."""
        rows: list[dict[str, str]] = []
        for _ in range(sessions):
            self.chats += 1
            started = _NOW - timedelta(days=10) + timedelta(minutes=20 * self.chats)
            rows += _session(f"chat-{self.chats:04d}", started, messages, self.chats)
        path = self.folder / "chat.jsonl"
        path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
        return path


def _session(session: str, started: datetime, messages: int, number: int) -> Iterator[dict[str, str]]:
    texts = [json.loads(line)["text"] for line in _TEXTS.read_text("utf-8").splitlines()]
    for at in range(messages):
        text = texts[(number * 7 + at) % len(texts)]
        if at == 0:
            text = f"Decision: {text}"
        yield {
            "session": session,
            "id": f"m{at}",
            "ts": (started + timedelta(seconds=20 * at)).isoformat(),
            "role": "assistant" if at % 2 else "user",
            "content": f"{text} ({number}.{at})",
        }


def _prepare(checkout: Checkout) -> None:
    checkout.folder.mkdir(parents=True)
    checkout.run("init", str(checkout.home), "--name", "Bench")
    checkout.run("import", "chat", str(checkout.chat(4, SESSIONS)), *checkout.at_home)
    checkout.run("close", "--all", *checkout.at_home)


def _at_home(*words: str) -> Callable[[Checkout], float]:
    return lambda checkout: checkout.run(*words, *checkout.at_home)


def _init(checkout: Checkout) -> float:
    return checkout.run("init", str(checkout.folder / f"new-{len(checkout.spent['memory init'])}"))


def _import(checkout: Checkout, messages: int) -> float:
    return checkout.run("import", "chat", str(checkout.chat(messages)), *checkout.at_home)


def _close(checkout: Checkout) -> float:
    checkout.run("import", "chat", str(checkout.chat(3)), *checkout.at_home)
    return checkout.run("close", f"chat-{checkout.chats:04d}", *checkout.at_home)


def _scan(checkout: Checkout) -> float:
    return checkout.run("guard", "scan", str(checkout.home / "MEMORY.md"), *checkout.at_home)


#: The commands by the names of their rows. Each changes the homes of all checkouts alike.
_COMMANDS: dict[str, Callable[[Checkout], float]] = {
    "memory --version": lambda checkout: checkout.run("--version"),
    "memory init": _init,
    "memory prompt": _at_home("prompt"),
    "memory prompt --message": _at_home("prompt", "--message", _QUESTION),
    "memory search": _at_home("search", _QUESTION),
    "memory sync, nothing new": _at_home("sync"),
    "memory review": _at_home("review", "list"),
    "memory check": _at_home("check"),
    "memory guard scan": _scan,
    "memory doctor": _at_home("doctor"),
    "memory close, 3 messages": _close,
    "memory import chat, 3 messages": lambda checkout: _import(checkout, 3),
    "memory import chat, 200 messages": lambda checkout: _import(checkout, 200),
}


def measure(checkouts: Sequence[Checkout], runs: int, only: Sequence[str] = ()) -> None:
    """Let the checkouts take turns at each command, after a run that warms up, and keep what each run took."""
    for checkout in checkouts:
        _prepare(checkout)
    for name, command in _COMMANDS.items():
        if only and not any(part in name for part in only):
            continue
        for run in range(runs + 1):
            for checkout in checkouts:
                spent = command(checkout)
                if run:
                    checkout.spent[name].append(spent)
        print(name, *(f"{min(checkout.spent[name]):.3f}" for checkout in checkouts), file=sys.stderr, flush=True)


def table(checkouts: Sequence[Checkout]) -> str:
    """Return a line for each command: the smallest time in each checkout, and this one's divided by each other's."""
    *others, here = checkouts
    lines = []
    for name in here.spent:
        least = [min(checkout.spent[name]) for checkout in checkouts]
        lines.append([name, *(f"{1000 * one:.0f}" for one in least), *(f"{least[-1] / one:.2f}" for one in least[:-1])])
    head = ["command", *(f"{one.name}, ms" for one in checkouts), *(f"now / {one.name}" for one in others)]
    return markdown(head, lines, align="l" + "r" * (2 * len(checkouts) - 1))


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table, and return 0."""
    parser = argparse.ArgumentParser(prog="python -m bench.measure.command_cost", description="What commands cost.")
    parser.add_argument("--beside", action="append", default=[], metavar="NAME=DIR", help="another checkout, or more")
    parser.add_argument("--runs", type=int, default=7, help="runs of each command")
    parser.add_argument("--only", action="append", default=[], help="part of a row's name; may be repeated")
    parser.add_argument("--folder", type=Path, help="folder on the disk to measure")
    parser.add_argument("--write-docs", action="store_true", help="put the table into docs/benchmarks.md")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        pairs = [tuple(one.partition("=")[::2]) for one in options.beside]
        checkouts = [
            Checkout(name=name, code=Path(code).resolve(), folder=Path(folder) / f"checkout-{at}")
            for at, (name, code) in enumerate([*pairs, ("now", str(_ROOT))])
        ]
        measure(checkouts, options.runs, options.only)
    text = f"{table(checkouts)}\n\n{stamp('python -m bench.measure.command_cost')}"
    print(text)
    if options.write_docs:
        put(DOCS / "benchmarks.md", {"command-cost": text})
    return 0


if __name__ == "__main__":
    sys.exit(main())
