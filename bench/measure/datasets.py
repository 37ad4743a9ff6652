"""The development sets: what each holds, how it gets into a home, and the two halves of its questions.

Conversations (``*.transcript.jsonl``) go through the importer, documents (``documents.jsonl``) are written as files of
Knowledge. Every set has one home.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Literal

from agent_home.clock import now
from agent_home.home import Home
from agent_home.imports import import_chat
from recall.evaluation.metrics import EvalCase, Grain, read_cases

__all__ = ["SETS", "Half", "fill", "split_questions"]

#: Sets and the grains of their measurement. The first grain is that of the questions.
SETS: dict[str, tuple[Grain, ...]] = {
    "locomo": ("message", "session"),
    "realtalk": ("message", "session"),
    "beam100k": ("message", "session"),
    "cmrc2018": ("file",),
    "scifact": ("file",),
}
Half = Literal["choose", "confirm"]


def fill(home: Home, folder: Path, *, say: Callable[[str], None] = lambda _line: None) -> dict[str, str]:
    """Write the set into the home. Return its whole texts by their source, for the baselines."""
    texts: dict[str, str] = {}
    transcripts = sorted(folder.glob("*transcript.jsonl"))
    for path in transcripts:
        for line in path.read_text("utf-8").splitlines():
            row = json.loads(line)
            texts[f"{row['session']}#{row['id']}"] = f"{row['name']}: {row['content']}"
    if transcripts:
        done = import_chat(home, transcripts, now=now())
        say(f"imported {done.messages} messages; {done.redacted} texts redacted, {len(done.quarantined)} quarantined")
    documents = folder / "documents.jsonl"
    for line in documents.read_text("utf-8").splitlines() if documents.exists() else ():
        row = json.loads(line)
        path = home.root / row["path"]
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"# {row['title']}\n\n{row['text']}\n", "utf-8")
        texts[row["path"]] = f"{row['title']}\n{row['text']}"
    return texts


def split_questions(folder: Path) -> dict[Half, list[EvalCase]]:
    """Split the set's questions into two halves.

    Conversations are split into three of five and the rest, documents by every other question.
    """
    files = [[q for q in read_cases(path) if q.expect] for path in sorted(folder.glob("*queries.jsonl"))]
    if len(files) == 1:
        return {"choose": files[0][::2], "confirm": files[0][1::2]}
    chosen = -(-len(files) * 3 // 5)
    return {
        "choose": [q for file in files[:chosen] for q in file],
        "confirm": [q for file in files[chosen:] for q in file],
    }
