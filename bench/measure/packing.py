"""Measure how many gold turns stand in the prompt among what recall puts there within a number of tokens.

The question is a first message. :func:`assembler.prompt.assemble` assembles the prompt as for a model, with that many
tokens for past conversations. A gold turn counts when its whole text stands anywhere in the prompt, white space aside.

The baselines pack their hits best first, one line for each turn with its address and speaker, and skip what no longer
fits. They pay for no headings and no fence, so they have a little more room than the prompt.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path

from agent_home.clock import parse_time
from agent_home.home import Home
from agent_home.tokens import count_tokens
from assembler.prompt import Request, assemble
from assembler.recalled.searcher import HomeSearcher
from recall.embedding.embedder import Embedder
from recall.evaluation.metrics import EvalCase

from .baselines import Find

__all__ = ["BUDGETS", "Line", "Packing", "SourceTurn", "pack", "packings", "read_turns", "share"]

#: Budgets in tokens of recall.
BUDGETS = (1000, 2000)
#: No deadline: a late layer would measure the machine.
_PATIENCE_MS = 60_000.0

#: A turn as the baselines render it for a prompt, and its tokens.
Line = tuple[str, int]
Meter = Callable[[str, int, int], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceTurn:
    """A turn as the set has it."""

    source: str
    ts: str
    name: str
    content: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Packing:
    """For each question the share of its gold turns, and the mean of the tokens that were spent."""

    shares: tuple[float, ...]
    tokens: float
    degraded: tuple[str, ...] = ()


def packings(
    home: Home,
    turns: Mapping[str, SourceTurn],
    questions: Sequence[EvalCase],
    plain: Mapping[str, Find],
    embedder: Embedder | None,
    progress: Meter,
) -> dict[int, dict[str, Packing]]:
    """Return for each budget what the prompt holds, under ``ours``, and what each baseline would hold."""
    last = max((turn.ts for turn in turns.values() if turn.ts), key=parse_time)
    now = parse_time(last) + timedelta(hours=1)
    found: dict[int, dict[str, Packing]] = {budget: {} for budget in BUDGETS}
    lines = {turn.source: _line(turn) for turn in turns.values()}
    for name, find in plain.items():
        answers = [[lines[source] for source in find(question.query)] for question in questions]
        for budget in BUDGETS:
            found[budget][name] = _packed(answers, turns, questions, budget)
    for budget in BUDGETS:
        found[budget]["ours"] = _assembled(home, turns, questions, budget, embedder, now, progress)
    return found


def read_turns(folder: Path) -> dict[str, SourceTurn]:
    """Return the turns of every transcript of a set by their address."""
    turns: dict[str, SourceTurn] = {}
    for path in sorted(folder.glob("*transcript.jsonl")):
        for line in path.read_text("utf-8").splitlines():
            row = json.loads(line)
            source = f"{row['session']}#{row['id']}"
            turns[source] = SourceTurn(source=source, ts=row["ts"], name=row["name"], content=row["content"])
    return turns


def share(text: str, gold: Sequence[SourceTurn]) -> float:
    """Return the share of *gold* whose whole content stands in *text*, white space aside."""
    flat = " ".join(text.split())
    return sum(" ".join(turn.content.split()) in flat for turn in gold) / len(gold)


def pack(lines: Sequence[Line], budget: int) -> tuple[str, int]:
    """Return as many of *lines*, best first, as *budget* tokens hold, and the tokens spent."""
    room, kept = budget, []
    for text, cost in lines:
        if cost <= room:
            room -= cost
            kept.append(text)
    return "".join(kept), budget - room


def _line(turn: SourceTurn) -> Line:
    text = f"- [{turn.source}] {turn.name}: {turn.content}\n"
    return text, count_tokens(text)


def _packed(
    answers: Sequence[Sequence[Line]], turns: Mapping[str, SourceTurn], questions: Sequence[EvalCase], budget: int
) -> Packing:
    shares, spent = [], []
    for question, lines in zip(questions, answers, strict=True):
        text, tokens = pack(lines, budget)
        shares.append(share(text, _gold(turns, question)))
        spent.append(tokens)
    return Packing(shares=tuple(shares), tokens=sum(spent) / len(spent))


def _assembled(
    home: Home,
    turns: Mapping[str, SourceTurn],
    questions: Sequence[EvalCase],
    budget: int,
    embedder: Embedder | None,
    now: datetime,
    progress: Meter,
) -> Packing:
    patience = dict.fromkeys(("selective_ms", "sessions_ms", "knowledge_ms"), _PATIENCE_MS)
    changed = {"pool_tokens": budget, **patience}
    tables = {**home.manifest.tables, "assembler": {**home.manifest.tables.get("assembler", {}), **changed}}
    home = Home(home.root, replace(home.manifest, tables=tables))
    searcher = HomeSearcher(home, embedder)
    shares, spent = [], []
    degraded: dict[str, None] = {}
    for number, question in enumerate(questions, 1):
        receipt = assemble(home, Request(now=now, message=question.query), searcher)
        shares.append(share(receipt.text, _gold(turns, question)))
        spent.append(receipt.layers["L3"].tokens)
        degraded |= dict.fromkeys(receipt.layers["L3"].degraded)
        progress(f"prompts of {budget} tokens", number, len(questions))
    return Packing(shares=tuple(shares), tokens=sum(spent) / len(spent), degraded=tuple(degraded))


def _gold(turns: Mapping[str, SourceTurn], question: EvalCase) -> list[SourceTurn]:
    return [turns[source] for source in dict.fromkeys(question.expect)]
