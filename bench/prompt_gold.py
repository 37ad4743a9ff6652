"""Measure whether all gold turns of a question stand in the whole prompt, beside raw search with the same tokens.

    python -m bench.prompt_gold --data DIR [--sets locomo,realtalk,beam100k] [--split choose|confirm] [--every N]
                                [--homes FOLDER] [--json FILE]

Each conversation has a home of its own. Its sessions are imported, closed and indexed as a user would do it. Every
question is then the first message of a prompt, one hour after the last turn. A question counts when the whole text of
every gold turn stands in the prompt, white space aside.

Raw search packs the turns that `memory search` finds, best first, each whole with its address and speaker, into the
same number of tokens. It pays neither for the agent's files nor for headings and fences. ``by default`` is a window of
200 000 tokens. There raw search gets as many tokens as the prompt spent on that question, and in a further column the
whole budget.

``--homes`` keeps the homes between runs. ``choose`` asks the first three conversations of a set, which constants were
chosen on, and ``confirm`` the others.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import get_args

from agent_home.clock import parse_time
from agent_home.creation import create
from agent_home.home import Home
from agent_home.imports import import_chat
from agent_home.tokens import count_tokens
from assembler.prompt import Request, assemble
from assembler.recalled.searcher import HomeSearcher
from assembler.receipt import Receipt
from distill.close import close_all
from recall.embedding.embedder import Embedder, NoEmbedder, open_embedder
from recall.embedding.model import EmbeddingSettings
from recall.evaluation.metrics import EvalCase, read_cases
from recall.index.sync import sync
from recall.search.hybrid import MAX_HITS, search
from recall.settings import RecallSettings

from .measure.datasets import Half
from .measure.packing import Line, SourceTurn, pack
from .measure.page import aligned
from .measure.vector_cache import CachedEmbedder

__all__ = [
    "BUDGETS",
    "DEFAULT",
    "Conversation",
    "GoldShares",
    "conversations",
    "main",
    "make_home",
    "measure_gold",
    "pooled",
]

#: Budgets in tokens of the whole prompt. 0 is the default of a window of 200 000 tokens.
DEFAULT = 0
BUDGETS = (2000, 4000, 8000, DEFAULT)
SETS = ("locomo", "realtalk", "beam100k")
_WINDOW = 200_000
#: No deadline: a late layer would measure the machine.
_PATIENCE_MS = 60_000.0
#: Conversations of a set on which constants were chosen, of every five.
_CHOSEN = 3

Progress = Callable[[str, int, int], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversation:
    """A conversation of a set with its turns by address and its questions that have gold."""

    name: str
    transcript: Path
    turns: Mapping[str, SourceTurn]
    questions: tuple[EvalCase, ...]

    @property
    def now(self) -> datetime:
        """Return the time at which the questions are asked."""
        return parse_time(max((turn.ts for turn in self.turns.values()), key=parse_time)) + timedelta(hours=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class GoldShares:
    """Shares of *n* questions with all gold in the prompt and in raw search, and the mean tokens of the prompt.

    *recalled* is the mean of the tokens of layers 3 and 4, and *ms* of the time of all layers. *raw_whole* gives raw
    search the whole budget, also where the prompt used less.
    """

    n: int
    prompt: float
    raw: float
    raw_whole: float
    tokens: float
    recalled: float
    ms: float

    @property
    def gap(self) -> float:
        """Return how far the prompt is under raw search."""
        return self.raw - self.prompt


def conversations(folder: Path, *, half: Half | None = None, every: int = 1) -> list[Conversation]:
    """Read the conversations of the set in *folder* that have questions, each with every *every*-th one."""
    transcripts = sorted(folder.glob("*.transcript.jsonl"))
    chosen = -(-len(transcripts) * _CHOSEN // 5)
    part = {"choose": transcripts[:chosen], "confirm": transcripts[chosen:]}.get(half or "", transcripts)
    found = []
    for path in part:
        turns = _turns(path)
        cases = read_cases(path.with_name(path.name.replace(".transcript.", ".queries.")))
        asked = [case for case in cases if case.expect and all(source in turns for source in case.expect)][::every]
        name = path.name.removesuffix(".transcript.jsonl")
        if asked:
            found.append(Conversation(name=name, transcript=path, turns=turns, questions=tuple(asked)))
    return found


def make_home(folder: Path, conversation: Conversation, embedder: Embedder | None) -> Home:
    """Make a home in *folder* with all sessions imported, closed and indexed, or open the one that is there."""
    if (folder / "agent.toml").exists():
        return Home(folder)
    home = create(folder, name="bench", now=conversation.now).home
    import_chat(home, [conversation.transcript], now=conversation.now)
    close_all(home, now=conversation.now)
    sync(home, home.manifest.settings("recall", RecallSettings), embedder)
    return home


def measure_gold(
    home: Home,
    conversation: Conversation,
    embedder: Embedder | None,
    *,
    budgets: Sequence[int] = BUDGETS,
    progress: Progress | None = None,
) -> dict[int, GoldShares]:
    """Ask every question of *conversation* at each budget. Return the shares by budget."""
    home = _patient(home)
    searcher = HomeSearcher(home, embedder)
    lines = {turn.source: _line(turn) for turn in conversation.turns.values()}
    outcomes: dict[int, list[_Outcome]] = {budget: [] for budget in budgets}
    for number, question in enumerate(conversation.questions, 1):
        hits = _raw_hits(home, question.query, embedder, conversation.now)
        raw = [lines[source] for source in hits if source in lines]  # not what a host wrapped into a turn
        gold = [" ".join(conversation.turns[source].content.split()) for source in dict.fromkeys(question.expect)]
        for budget in budgets:
            used = 0 if budget == DEFAULT else _WINDOW - 2 * budget
            request = Request(now=conversation.now, message=question.query, window=_WINDOW, used=used)
            outcomes[budget].append(_outcome(assemble(home, request, searcher), raw, gold, budget))
        if progress:
            progress(conversation.name, number, len(conversation.questions))
    return {budget: _mean(found) for budget, found in outcomes.items()}


def pooled(parts: Sequence[Mapping[int, GoldShares]]) -> dict[int, GoldShares]:
    """Return the mean over all questions of several conversations, by budget."""
    return {budget: _pooled([part[budget] for part in parts if part[budget].n]) for budget in parts[0]} if parts else {}


@dataclass(frozen=True, slots=True)
class _Outcome:
    """One question at one budget."""

    prompt: bool
    raw: bool
    raw_whole: bool
    tokens: int
    recalled: int
    ms: float


def _outcome(receipt: Receipt, raw: Sequence[Line], gold: Sequence[str], budget: int) -> _Outcome:
    packed, _ = pack(raw, budget or receipt.tokens)
    whole, _ = pack(raw, receipt.budget)
    return _Outcome(
        prompt=_has_all(receipt.text, gold),
        raw=_has_all(packed, gold),
        raw_whole=_has_all(whole, gold),
        tokens=receipt.tokens,
        recalled=sum(receipt.layers[layer].tokens for layer in ("L3", "L4")),
        ms=sum(line.ms for line in receipt.layers.values()),
    )


def _has_all(text: str, gold: Sequence[str]) -> bool:
    flat = " ".join(text.split())
    return all(content in flat for content in gold)


def _mean(found: Sequence[_Outcome]) -> GoldShares:
    n = len(found)
    return GoldShares(
        n=n,
        prompt=sum(one.prompt for one in found) / n,
        raw=sum(one.raw for one in found) / n,
        raw_whole=sum(one.raw_whole for one in found) / n,
        tokens=sum(one.tokens for one in found) / n,
        recalled=sum(one.recalled for one in found) / n,
        ms=sum(one.ms for one in found) / n,
    )


def _pooled(parts: Sequence[GoldShares]) -> GoldShares:
    n = sum(part.n for part in parts)
    means = {
        name: sum(getattr(part, name) * part.n for part in parts) / n
        for name in ("prompt", "raw", "raw_whole", "tokens", "recalled", "ms")
    }
    return GoldShares(n=n, **means)


def _raw_hits(home: Home, query: str, embedder: Embedder | None, now: datetime) -> list[str]:
    found = search(
        home,
        query,
        settings=home.manifest.settings("recall", RecallSettings),
        embedder=embedder,
        mode="hybrid" if embedder is not None else "lexical",
        k=MAX_HITS,
        layers=("sessions",),
        deadline_ms=_PATIENCE_MS,
        now=now,
    )
    return [hit.source for hit in found.hits]


def _patient(home: Home) -> Home:
    patience = dict.fromkeys(("selective_ms", "sessions_ms", "knowledge_ms"), _PATIENCE_MS)
    tables = {**home.manifest.tables, "assembler": {**home.manifest.tables.get("assembler", {}), **patience}}
    return Home(home.root, replace(home.manifest, tables=tables))


def _turns(path: Path) -> dict[str, SourceTurn]:
    turns = {}
    for line in path.read_text("utf-8").splitlines():
        row = json.loads(line)
        source = f"{row['session']}#{row['id']}"
        turns[source] = SourceTurn(source=source, ts=row["ts"], name=row["name"], content=row["content"])
    return turns


def _line(turn: SourceTurn) -> Line:
    text = f"- [{turn.source}] {turn.name}: {turn.content}\n"
    return text, count_tokens(text)


# ---------------------------------------------------------------------------------------------------------- command


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure the chosen sets. Return 0, or 1 when no set was there."""
    given = _options(arguments)
    opened = open_embedder(EmbeddingSettings(), build_missing=True, progress=_say)
    embedder = None if isinstance(opened, NoEmbedder) else CachedEmbedder(opened)
    results: dict[str, dict[int, GoldShares]] = {}
    with tempfile.TemporaryDirectory(prefix="bench-prompt-gold-") as temporary:
        for name in given.sets:
            found = conversations(given.data / name, half=given.split, every=given.every)
            if not found:
                _say(f"{given.data / name} is absent. {name} is left out")
                continue
            parts = []
            for conversation in found:
                home = make_home((given.homes or Path(temporary)) / conversation.name, conversation, embedder)
                parts.append(measure_gold(home, conversation, embedder, budgets=given.budgets, progress=_meter))
            results[name] = pooled(parts)
            print(_table(name, results[name]), flush=True)
    if given.json and results:
        rows = {name: {budget: asdict(one) for budget, one in by.items()} for name, by in results.items()}
        given.json.write_text(json.dumps(rows, indent=2) + "\n", "utf-8")
    return 0 if results else 1


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="bench.prompt_gold", description="Gold turns in the whole prompt.")
    parser.add_argument("--data", type=Path, required=True, help="folder with the development sets")
    parser.add_argument("--sets", type=lambda text: text.split(","), default=list(SETS), help="sets, with commas")
    parser.add_argument("--split", choices=get_args(Half), help="only one part of the conversations")
    parser.add_argument("--every", type=int, default=1, metavar="N", help="ask only every N-th question")
    parser.add_argument("--homes", type=Path, metavar="FOLDER", help="keep the homes there between runs")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures there as well")
    parser.add_argument("--budgets", type=lambda text: [int(part) for part in text.split(",")], default=list(BUDGETS))
    return parser.parse_args(arguments)


def _table(name: str, shares: Mapping[int, GoldShares]) -> str:
    head = [name, "n", "prompt", "raw search", "under", "raw, whole budget", "tokens", "recalled", "ms"]
    rows = [
        [
            "by default" if budget == DEFAULT else str(budget), str(one.n), f"{one.prompt:.3f}", f"{one.raw:.3f}",
            f"{one.gap:+.3f}", f"{one.raw_whole:.3f}", f"{one.tokens:.0f}", f"{one.recalled:.0f}", f"{one.ms:.0f}",
        ]
        for budget, one in shares.items()
    ]  # fmt: skip
    return f"\n{aligned(head, rows)}"


def _meter(what: str, done: int, total: int) -> None:
    if sys.stderr.isatty():
        print(f"\r{what}: {done} of {total}", end="" if done < total else "\n", file=sys.stderr, flush=True)


def _say(line: str) -> None:
    print(line, file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main())
