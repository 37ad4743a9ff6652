"""Measure how much of what mattered in a conversation stands in the daily log, in a quarter of its tokens.

    python -m bench.summary --data FOLDER [--write-docs]

People wrote down what is worth knowing of each LoCoMo conversation, with the turns that say it. The measures are the
share of those turns that a log cites, and the share of an observation's terms in the lines that cite its turn, because
"Hey!" cites a turn as well. Each line pays for its text and its citation, and this system also for topics and headings.

The baselines have the same room: random choice (mean of 20 seeds), the first lines, the first sentence of every turn in
order, and TextRank (sentences as nodes, shared words over the logarithms of their lengths as edges, PageRank). "No
citation" repeats the first two with whole turns that pay for their text alone.

Then every line of every log of all development conversations is checked. Its turns exist, and they hold all its
numbers, dates, names, paths and quotations. Weights were chosen on conversations 26, 30 and 41.
"""

from __future__ import annotations

import argparse
import json
import math
import random
import re
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from agent_home.store.transcript import Message
from agent_home.tokens import count_tokens
from bench.measure.page import DOCS, markdown, put, stamp
from distill.grounding.extract import unsaid
from distill.grounding.said_turn import SaidTurn
from distill.settings import DistillSettings
from distill.statements.sentences import prose_lines, split_sentences
from distill.statements.topics import content_terms
from distill.summary.daily_section import count_item_tokens, render_body
from distill.summary.extraction import Item, Summary, summarise
from distill.summary.selection import add_facts
from recall.embedding.embedder import Embedder, NoEmbedder, open_embedder
from recall.embedding.model import EmbeddingSettings

__all__ = [
    "FLOOR",
    "SHARE",
    "Counts",
    "Gold",
    "SummaryLine",
    "faults",
    "gold_of",
    "holds",
    "main",
    "read",
    "shares",
    "text_rank",
]

SHARE = 0.25
#: Floor, as a multiple of random choice.
FLOOR = 1.3
SEEDS = 20
_DAMPING, _ROUNDS = 0.85, 50
_CHOSEN_ON = ("conv-26", "conv-30", "conv-41")
_OURS, _WORDS = "daily log", "daily log, words alone"
_RANDOM = ("random lines", "random turns, no citation")
_OTHERS = ("first lines", "first turns, no citation", "TextRank")
#: It cites many turns and tells little of them: most turns open with a greeting or a reaction.
_OPENINGS = "first sentence of every turn"
_SETS = ("locomo", "realtalk", "beam100k")


@dataclass(frozen=True, slots=True, kw_only=True)
class SummaryLine:
    """A line that a method may choose: its turn's address and what it costs."""

    source: str
    text: str
    tokens: int


#: By a turn's address the terms of each observation about it.
Gold = Mapping[str, Sequence[set[str]]]


@dataclass(slots=True, kw_only=True)
class Counts:
    """Gold turns and observations, what each method has of them, and tokens of this system's logs and of what was said.

    *cited* counts turns, *told* sums over observations the share of their terms.
    """

    turns: int = 0
    observations: int = 0
    tokens: int = 0
    said: int = 0
    cited: dict[str, float] = field(default_factory=dict)
    told: dict[str, float] = field(default_factory=dict)

    def add(self, name: str, choices: Sequence[Sequence[SummaryLine]], gold: Gold) -> None:
        """Count what *choices* hold, on average: a random method has several."""
        for chosen in choices:
            texts: dict[str, set[str]] = {}
            for line in chosen:
                texts.setdefault(line.source, set()).update(_terms(line.text))
            mine = texts.keys() & gold.keys()
            told = sum(len(held & texts[turn]) / max(len(held), 1) for turn in mine for held in gold[turn])
            self.cited[name] = self.cited.get(name, 0.0) + len(mine) / len(choices)
            self.told[name] = self.told.get(name, 0.0) + told / len(choices)

    def join(self, other: Counts) -> None:
        """Count what *other* counted."""
        self.turns, self.observations = self.turns + other.turns, self.observations + other.observations
        self.tokens, self.said = self.tokens + other.tokens, self.said + other.said
        for mine, theirs in ((self.cited, other.cited), (self.told, other.told)):
            for name, number in theirs.items():
                mine[name] = mine.get(name, 0.0) + number

    def share(self, name: str) -> float:
        """Return the share of the gold turns that the method cites."""
        return self.cited[name] / self.turns

    def words(self, name: str) -> float:
        """Return the mean share of an observation's terms in the method's lines about its turn."""
        return self.told[name] / self.observations


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the tables. Return 1 when a floor does not hold or a line is not grounded in its turns."""
    parser = argparse.ArgumentParser(prog="python -m bench.summary", description="Measure what the daily log holds.")
    parser.add_argument("--data", type=Path, default=Path("../shared/data"), help="folder of evaluation data")
    parser.add_argument("--write-docs", action="store_true", help="put the tables into docs/summaries.md")
    options = parser.parse_args(arguments)
    folder = options.data / "locomo"
    if not folder.is_dir():
        print(f"no conversations in {folder}; name the folder of evaluation data with --data", file=sys.stderr)
        return 2
    opened = open_embedder(EmbeddingSettings(), build_missing=True)
    embedder = None if isinstance(opened, NoEmbedder) else opened
    if isinstance(opened, NoEmbedder):
        print(f"no model, words alone: {opened.reason}", file=sys.stderr)
    rows = {
        path.name.partition(".")[0]: shares(read(path), gold_of(path), embedder)
        for path in sorted(folder.glob("*.transcript.jsonl"))
    }
    coverage = _coverage_table(rows)
    print(coverage, flush=True)
    checks, wrong = _checks(options.data, embedder)
    print(f"\n{checks}")
    for problem in wrong[:20]:
        print(problem, file=sys.stderr)
    if options.write_docs:
        command = stamp("python -m bench.summary --write-docs")
        put(DOCS / "summaries.md", {"coverage": f"{command}\n\n{coverage}", "checks": checks})
    return 0 if not wrong and all(map(holds, _groups(rows).values())) else 1


def read(path: Path) -> dict[str, list[Message]]:
    """Return the conversation's sessions, in order."""
    found: dict[str, list[Message]] = {}
    for text in path.read_text("utf-8").splitlines():
        row = json.loads(text)
        known = {key: row.get(key, "") for key in ("session", "id", "ts", "role", "name", "content")}
        found.setdefault(row["session"], []).append(Message(**known))
    return found


def gold_of(path: Path) -> Gold:
    """Return the turns that people's observations cite, each with the terms of these observations."""
    observations = path.with_name(path.name.replace(".transcript.", ".observations."))
    found: dict[str, list[set[str]]] = {}
    for line in observations.read_text("utf-8").splitlines():
        row = json.loads(line)
        found.setdefault(row["source"], []).append(_terms(row["text"]) - _terms(row["speaker"]))
    return found


def shares(sessions: Mapping[str, Sequence[Message]], gold: Gold, embedder: Embedder | None) -> Counts:
    """Return the gold that the lines of each method hold, and the tokens of this system's logs."""
    counts = Counts(turns=len(gold), observations=sum(map(len, gold.values())))
    for messages in sessions.values():
        said = sum(count_tokens(message.content) for message in messages)
        log = _log(messages, embedder)
        counts.tokens += count_tokens(render_body(log, {}, DistillSettings().max_items))
        counts.said += said
        counts.add(_OURS, [_lines_of(log)], gold)
        counts.add(_WORDS, [_lines_of(_log(messages, None))], gold)
        for name, found in _baselines(messages, int(SHARE * said)):
            counts.add(name, found, gold)
    return counts


def holds(counts: Counts) -> bool:
    """Return whether the floors hold.

    In a quarter of the tokens, the log cites 1.3 times what the better random choice does and more than every other
    method. Its lines hold more of the observations' terms than any of them.
    """
    ours = counts.share(_OURS)
    return (
        ours >= FLOOR * max(counts.share(name) for name in _RANDOM)
        and ours > max(counts.share(name) for name in _OTHERS)
        and counts.words(_OURS) > max(counts.words(name) for name in (*_RANDOM, *_OTHERS, _OPENINGS))
        and counts.tokens <= SHARE * counts.said
    )


def text_rank(sentences: Sequence[str]) -> list[float]:
    """Return the score of each sentence. All scores are equal where no two sentences share a word."""
    words = [set(re.findall(r"\w+", sentence.casefold())) for sentence in sentences]
    near = np.zeros((len(words), len(words)))
    for one, mine in enumerate(words):
        for other in range(one):
            lengths = math.log(max(len(mine), 1)) + math.log(max(len(words[other]), 1))
            if lengths > 0:
                near[one, other] = near[other, one] = len(mine & words[other]) / lengths
    total = near.sum(axis=0)
    steps = near / np.where(total > 0, total, 1.0)
    scores = np.ones(len(words))
    for _ in range(_ROUNDS):
        scores = 1 - _DAMPING + _DAMPING * steps @ scores
    return [float(score) for score in scores]


def _log(messages: Sequence[Message], embedder: Embedder | None) -> Summary:
    settings = DistillSettings(log_share=SHARE)
    found = summarise(messages, max_topics=settings.max_topics)
    return add_facts(found, messages, share=SHARE, max_items=settings.max_items, embedder=embedder)


def _lines_of(summary: Summary) -> list[SummaryLine]:
    return [SummaryLine(source=source, text=item.text, tokens=0) for item in summary.items for source in item.sources]


def _terms(text: str) -> set[str]:
    """Return content words, cut to five letters so that forms of one word agree."""
    return {term.casefold()[:5] for term in content_terms(text)}


def _baselines(messages: Sequence[Message], room: int) -> Iterable[tuple[str, list[list[SummaryLine]]]]:
    """Return the choice of each other method, once for each seed."""
    sentences = [_line(message, text) for message in messages for text in _sentences(message)]
    turns = [SummaryLine(source=m.source, text=m.content, tokens=count_tokens(m.content)) for m in messages]
    firsts = list({line.source: line for line in reversed(sentences)}.values())[::-1]
    ranks = text_rank([line.text for line in sentences])
    ranked = [line for _, _, line in sorted((-rank, n, sentences[n]) for n, rank in enumerate(ranks))]
    for name, units in zip(_RANDOM, (sentences, turns), strict=True):
        yield name, [_fitting(_shuffled(units, seed), room) for seed in range(SEEDS)]
    for name, units in zip((*_OTHERS, _OPENINGS), (sentences, turns, ranked, firsts), strict=True):
        yield name, [_fitting(units, room)]


def _line(message: Message, text: str) -> SummaryLine:
    item = Item(kind="fact", text=text, sources=(message.source,), role=message.role)
    return SummaryLine(source=message.source, text=text, tokens=count_item_tokens(item))


def _sentences(message: Message) -> list[str]:
    return [sentence for line in prose_lines(message.content) for sentence in split_sentences(line.text)]


def _shuffled(units: Sequence[SummaryLine], seed: int) -> list[SummaryLine]:
    return random.Random(seed).sample(units, len(units))  # noqa: S311 - a baseline, not a secret


def _fitting(units: Iterable[SummaryLine], room: int) -> list[SummaryLine]:
    """Return those *units*, in their order, that still fit."""
    chosen = []
    for unit in units:
        if unit.tokens <= room:
            room -= unit.tokens
            chosen.append(unit)
    return chosen


def _groups(rows: Mapping[str, Counts]) -> dict[str, Counts]:
    """Group the conversations: those on which weights were chosen, the others, and all."""
    chosen = [counts for name, counts in rows.items() if name in _CHOSEN_ON]
    others = [counts for name, counts in rows.items() if name not in _CHOSEN_ON]
    groups = {"chosen on": chosen, "confirmed on": others, "all": [*chosen, *others]}
    return {name: _sum(group) for name, group in groups.items() if group}


def _sum(group: Sequence[Counts]) -> Counts:
    total = Counts()
    for counts in group:
        total.join(counts)
    return total


def _coverage_table(rows: Mapping[str, Counts]) -> str:
    """Return one row a method and one column a conversation or group: turns cited, and terms held."""
    every = {**rows, **_groups(rows)}
    body = [["gold turns", *(str(counts.turns) for counts in every.values())]]
    body.append(["log / said", *(f"{counts.tokens / counts.said:.3f}" for counts in every.values())])
    body += [
        [name, *(f"{counts.share(name):.3f} ({counts.words(name):.3f})" for counts in every.values())]
        for name in (_OURS, _WORDS, *_RANDOM, *_OTHERS, _OPENINGS)
    ]
    times = (counts.share(_OURS) / max(counts.share(name) for name in _RANDOM) for counts in every.values())
    body.append(["times random", *(f"{factor:.2f}" for factor in times)])
    return markdown(["turns cited (terms told)", *every], body, align="l" + "r" * len(every))


def _checks(data: Path, embedder: Embedder | None) -> tuple[str, list[str]]:
    """Return the table of checks over all sets, and a message for each line of a log that failed one."""
    body, wrong = [], list[str]()
    for name in _SETS:
        paths = sorted((data / name).glob("*.transcript.jsonl"))
        number, bad, start, sessions = 0, 0, time.perf_counter(), 0
        for path in paths:
            for messages in read(path).values():
                found = list(faults(messages, _log(messages, embedder)))
                number += len(found)
                bad += sum(bool(fault) for fault in found)
                wrong += [fault for fault in found if fault]
                sessions += 1
        each = (time.perf_counter() - start) / max(sessions, 1)
        body.append([name, str(len(paths)), str(sessions), str(number), str(bad), f"{each:.2f}"])
    head = ("set", "conversations", "sessions", "lines", "lines with something that their turns lack", "s a session")
    return markdown(head, body, align="lrrrrr"), wrong


def faults(messages: Sequence[Message], summary: Summary) -> list[str]:
    """Return for each line of *summary* its fault, or an empty string."""
    turns = {message.source: message for message in messages}
    return [_fault(item, turns) for item in summary.items]


def _fault(item: Item, turns: Mapping[str, Message]) -> str:
    absent = [source for source in item.sources if source not in turns]
    if absent or not item.sources:
        return f"cites {', '.join(absent) or 'nothing'}, which does not exist: {item.text}"
    cited = [turns[source] for source in item.sources]
    said = [SaidTurn(role=turn.role, name=turn.name, ts=turn.ts, content=turn.content) for turn in cited]
    lacking = unsaid(f"{item.text} {item.replaces}", said)
    return f"{', '.join(lacking)} not in {', '.join(item.sources)}: {item.text}" if lacking else ""


if __name__ == "__main__":
    sys.exit(main())
