"""The development sets: what each holds, how it gets into a home, and the two halves of its questions.

Conversations (``*.transcript.jsonl``) go through the importer, documents (``documents.jsonl``) are written as files of
Knowledge. Every set has one home, except the years of phone items, where each person has one: the memory of an agent
holds the life of one person.
"""

from __future__ import annotations

import gzip
import json
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from agent_home.clock import now
from agent_home.home import Home
from agent_home.imports import import_chat
from recall.evaluation.metrics import EvalCase, Grain, read_cases

__all__ = ["SETS", "Half", "HomeData", "fill", "homes_of", "split_questions"]

#: Sets and the grains of their measurement. The first grain is that of the questions. What follows a hyphen is the
#: language of the set. *cross* asks English questions of Chinese texts.
SETS: dict[str, tuple[Grain, ...]] = {
    "locomo": ("message", "session"),
    "realtalk": ("message", "session"),
    "beam100k": ("message", "session"),
    "cmrc2018": ("file",),
    "scifact": ("file",),
    "lifebench-zh": ("message",),
    "lifebench-en": ("message",),
    "lifebench-cross": ("message",),
    "realmem": ("session",),
}
Half = Literal["choose", "confirm"]
#: Languages of the texts and of the questions.
_LANGUAGES = {"zh": ("zh", "zh"), "en": ("en", "en"), "cross": ("zh", "en")}


@dataclass(frozen=True, slots=True, kw_only=True)
class HomeData:
    """Texts and questions of one home of a set. *documents* may be absent."""

    transcripts: tuple[Path, ...]
    documents: Path
    halves: dict[Half, list[EvalCase]]


def homes_of(name: str, data: Path) -> list[HomeData]:
    """Return the homes of the set *name* in the folder *data*. A set that is absent has none."""
    base, _, kind = name.partition("-")
    folder = data / base
    documents = folder / "documents.jsonl"
    if kind:
        texts, questions = _LANGUAGES[kind]
        return [
            HomeData(
                transcripts=(path,),
                documents=documents,
                halves=_by_turns(
                    _asked(folder / path.name.replace(f".{texts}.transcript.jsonl.gz", f".{questions}.queries.jsonl"))
                ),
            )
            for path in sorted(folder.glob(f"*.{texts}.transcript.jsonl.gz"))
        ]
    if base == "realmem":
        files = [_with_times(path) for path in sorted(folder.glob("*.session-queries.jsonl"))]
        transcripts = tuple(sorted(folder.glob("*.transcript.jsonl.gz")))
        return [HomeData(transcripts=transcripts, documents=documents, halves=_by_files(files))] if files else []
    if not any(folder.glob("*queries.jsonl")):
        return []
    transcripts = tuple(sorted(folder.glob("*transcript.jsonl")))
    return [HomeData(transcripts=transcripts, documents=documents, halves=split_questions(folder))]


def fill(home: Home, data: HomeData, *, say: Callable[[str], None] = lambda _line: None) -> dict[str, str]:
    """Write the texts into the home. Return them whole by their source, for the baselines."""
    texts: dict[str, str] = {}
    with tempfile.TemporaryDirectory(prefix="bench-transcripts-") as place:
        paths = [_unpacked(path, Path(place)) for path in data.transcripts]
        for path in paths:
            for line in path.read_text("utf-8").splitlines():
                row = json.loads(line)
                texts[f"{row['session']}#{row['id']}"] = f"{row['name']}: {row['content']}"
        if paths:
            done = import_chat(home, paths, now=now())
            counts = f"{done.redacted} texts redacted, {len(done.quarantined)} quarantined"
            say(f"imported {done.messages} messages; {counts}")
    documents = data.documents
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
    return _by_files([_asked(path) for path in sorted(folder.glob("*queries.jsonl"))])


def _by_files(files: Sequence[list[EvalCase]]) -> dict[Half, list[EvalCase]]:
    if len(files) == 1:
        return _by_turns(files[0])
    chosen = -(-len(files) * 3 // 5)
    return {
        "choose": [q for file in files[:chosen] for q in file],
        "confirm": [q for file in files[chosen:] for q in file],
    }


def _by_turns(questions: Sequence[EvalCase]) -> dict[Half, list[EvalCase]]:
    return {"choose": list(questions[::2]), "confirm": list(questions[1::2])}


def _asked(path: Path) -> list[EvalCase]:
    return [question for question in read_cases(path) if question.expect]


def _with_times(path: Path) -> list[EvalCase]:
    """Read questions that are turns themselves: only what was said before them can answer."""
    times = [json.loads(line)["ts"] for line in path.read_text("utf-8").splitlines() if line.strip()]
    cases = zip(read_cases(path), times, strict=True)
    return [replace(question, before=ts) for question, ts in cases if question.expect]


def _unpacked(path: Path, place: Path) -> Path:
    if path.suffix != ".gz":
        return path
    target = place / path.stem
    target.write_bytes(gzip.decompress(path.read_bytes()))
    return target
