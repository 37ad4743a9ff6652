"""Print what memory keeps, each figure beside its baselines and beside an earlier version of the program.

    python -m bench.memory --data FOLDER [--only PART ...] [--most N] [--entries FILE] [--model COMMAND]
    python -m bench.memory --only acts --only turns [--sentences FILE ...]
    python -m bench.memory --only weeks [--weeks FOLDER]
    python -m bench.memory --only grounding [--grounding FILE ...]
    python -m bench.memory --only relations [--pairs FILE]
    python -m bench.memory --only changes

With ``--model``, the command reads the sessions of weeks and relations: it gets a prompt and prints an answer.
``bench.recorded.replay`` is a command that replays answers, or lets a person answer.

The sentences, pairs, restatements and weeks of ``bench/memory_data/heldout`` were written without knowledge of the
rules and the training data. They are measured where no file is named. The pairs have become training data since, so
their figures say nothing of new texts. The other parts read the evaluation data.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import get_args

from bench.measure.page import aligned
from distill.language_model.endpoint import Endpoint, EndpointSettings
from recall.embedding.embedder import Embedder, NoEmbedder, open_embedder
from recall.embedding.model import EmbeddingSettings

from .changed_minds import ChangeFate, count_changes, read_changes
from .citations import measure_citations
from .closed_homes import AskedModel, Told, Unread
from .ended_pairs import PairOutcome, confusions, count_outcomes, end_pairs, read_pairs
from .gold_memories import measure_gold_memories
from .speech_acts import LabelledSentence, measure_acts, measure_idle_turns, read_sentences
from .statements import measure_grounding, measure_relations
from .weeks import measure_week

__all__ = ["main"]

DATA = Path(__file__).parents[1] / "memory_data"
HELDOUT = DATA / "heldout"
_SETS = ("locomo", "realtalk", "beam100k")
#: Room for a person who answers, and for all sessions of a week on one day.
MODEL_SETTINGS = EndpointSettings(
    kind="command", timeout_s=7200.0, daily_tokens=10_000_000, session_tokens=1_000_000
)  # fmt: skip


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the parts that the options name, all by default. Return 2 when the evaluation data is absent."""
    parser = argparse.ArgumentParser(prog="python -m bench.memory", description="Measure what memory keeps.")
    parser.add_argument("--data", type=Path, default=Path("../shared/data"), help="folder of evaluation data")
    parser.add_argument("--only", action="append", choices=list(_PARTS), help="run this part; may be repeated")
    parser.add_argument("--most", type=int, default=0, help="conversations or people of a set, all by default")
    parser.add_argument("--entries", type=Path, help="write the entries of the weeks, or what became of pairs, here")
    parser.add_argument("--pairs", type=Path, default=HELDOUT / "pairs.jsonl", help="labelled pairs of relations")
    parser.add_argument("--model", metavar="COMMAND", help="let this language model read the sessions")
    parser.add_argument("--without-model", action="store_true", help="leave the embedding model out")
    parser.add_argument("--weeks", type=Path, default=HELDOUT / "weeks", help="folder of weeks, or of one week")
    parser.add_argument("--sentences", type=Path, action="append", help="file of sentences; may be repeated")
    parser.add_argument("--grounding", type=Path, action="append", help="file of restatements; may be repeated")
    options = parser.parse_args(arguments)
    embedder = None if options.without_model else open_embedder(EmbeddingSettings(), build_missing=True)
    if isinstance(embedder, NoEmbedder):
        print(f"no model: {embedder.reason}", file=sys.stderr)
    for name in options.only or _PARTS:
        print(f"\n# {name}\n", flush=True)
        _PARTS[name](options, embedder)
    return 0


def _said(options: argparse.Namespace, *names: str) -> list[LabelledSentence]:
    """Return the sentences of the files that the options name, or of the files *names*."""
    return [row for path in options.sentences or [DATA / name for name in names] for row in read_sentences(path)]


def _turns(options: argparse.Namespace, embedder: Embedder | NoEmbedder | None) -> None:
    said = _said(options, "speech.bare.en.jsonl", "speech.bare.zh.jsonl")
    found = measure_idle_turns(said if options.sentences else said[::4], embedder)
    rows = [
        [
            lang, kind, str(counts.worth), _share(counts.right, counts.worth), _share(counts.anywhere, counts.worth),
            str(counts.ordinary), _share(counts.entered, counts.ordinary),
        ]
        for (lang, kind), counts in sorted(found.items())
    ]  # fmt: skip
    head = ("language", "turn before", "worth keeping", "right section", "any section", "ordinary", "entered")
    print(aligned(head, rows))


def _acts(options: argparse.Namespace, embedder: Embedder | NoEmbedder | None) -> None:
    found = measure_acts(_said(options, "heldout/speech.jsonl"), embedder)
    rows = [
        [
            f"{lang}, {role}", str(counts.worth), _share(counts.right, counts.worth),
            _share(counts.anywhere, counts.worth), _share(_facts(counts.acts), counts.worth), str(counts.ordinary),
            _share(counts.entered, counts.ordinary),
        ]
        for (lang, role), counts in found.items()
    ]  # fmt: skip
    head = ("said by", "worth keeping", "right section", "any section", "all to one section", "ordinary", "entered")
    print(aligned(head, rows))
    for (lang, role), counts in found.items():
        for act in sorted({act for act, _ in counts.acts}):
            line = ", ".join(f"{prefix} {number}" for (said, prefix), number in counts.acts.items() if said == act)
            print(f"  {lang}, {role}, {act}: {line}")


def _facts(acts: Mapping[tuple[str, str], int]) -> int:
    """Return how many sentences would be right if every one were entered as a fact."""
    return sum(number for (act, _), number in acts.items() if act == "fact")


def _weeks(options: argparse.Namespace, embedder: Embedder | NoEmbedder | None) -> None:
    rows, judged = [], list[dict[str, object]]()
    one = (options.weeks / "chat.jsonl").exists()
    for folder in [options.weeks] if one else sorted(path for path in options.weeks.iterdir() if path.is_dir()):
        model = AskedModel(settings=MODEL_SETTINGS, command=options.model) if options.model else None
        try:
            result, entries = measure_week(folder, embedder, model)
        except Unread as error:
            print(f"{folder.name}: {error}", file=sys.stderr)
            continue
        rows.append([
            folder.name, str(result.planted), _share(result.entered, result.planted),
            _share(result.personal_entered, result.personal), _share(result.right, result.planted),
            str(result.entries), _share(result.known, result.entries), f"{result.trapped}/{result.traps}",
            str(len(result.proposed)), str(len(result.dropped)), str(len(model.failures)) if model else "-",
        ])  # fmt: skip
        judged += [{"week": folder.name, **_as_row(entry)} for entry in entries]
        others = {"missed": result.missed, "proposed": result.proposed, "dropped": result.dropped}
        judged += [{"week": folder.name, name: line} for name, found in others.items() for line in found]
    head = (
        "week", "planted", "entered", "facts entered", "right at the end", "entries", "known", "traps entered",
        "proposed", "dropped", "unanswered",
    )  # fmt: skip
    print(aligned(head, rows))
    if options.entries:
        lines = (json.dumps(row, ensure_ascii=False) + "\n" for row in judged)
        options.entries.write_text("".join(lines), "utf-8")


def _as_row(entry: Told) -> dict[str, object]:
    return {"id": entry.id, "text": entry.text, "sources": entry.sources, "stands": entry.stands}


def _citations(options: argparse.Namespace, embedder: Embedder | NoEmbedder | None) -> None:
    rows = []
    for name in _SETS:
        if not (options.data / name).is_dir():
            print(f"no {name} in {options.data}; name the folder of evaluation data with --data", file=sys.stderr)
            continue
        counts = measure_citations(options.data / name, embedder, most=options.most)
        shares = (counts.memory, counts.log, counts.either, counts.lead)
        rows.append([
            name, str(counts.questions), *(_share(number, counts.questions) for number in shares),
            _share(counts.says, counts.answered), _share(counts.says, counts.sayable), str(counts.entries),
            _share(counts.prose, counts.entries),
        ])  # fmt: skip
    head = (
        "set",
        "questions",
        "MEMORY.md",
        "log",
        "either",
        "lead",
        "answer in the cited lines",
        "of those in whole turns",
        "entries",
        "assistant's alone",
    )
    print(aligned(head, rows))


def _gold_memories(options: argparse.Namespace, embedder: Embedder | NoEmbedder | None) -> None:
    folder = options.data / "realmem"
    if not folder.is_dir():
        print(f"no realmem in {options.data}; name the folder of evaluation data with --data", file=sys.stderr)
        return
    counts = measure_gold_memories(folder, embedder, most=options.most)
    rows = [
        ["memory and log", _share(counts.cited, counts.memories), _share(counts.told, counts.memories)],
        ["lead, same tokens", _share(counts.lead_cited, counts.memories), _share(counts.lead_told, counts.memories)],
    ]
    print(aligned((f"{counts.memories} memories", "turn cited", "told"), rows))


def _relations(options: argparse.Namespace, embedder: Embedder | NoEmbedder | None) -> None:
    found = measure_relations(options.pairs)
    rows = [
        [lang, str(counts.gold), _share(counts.right, counts.found), _share(counts.right, counts.gold)]
        for lang, counts in found.items()
    ]
    print(aligned(("pairs", "replaced", "precision", "recall"), rows))
    for lang, counts in found.items():
        print(f"  {lang}: " + ", ".join(f"{a} as {b} {number}" for (a, b), number in sorted(counts.confused.items())))
    endpoint = None
    if options.model:
        endpoint = Endpoint(settings=MODEL_SETTINGS, command=options.model)
    outcomes = list(end_pairs(read_pairs(options.pairs), embedder, endpoint=endpoint))
    counted = count_outcomes(outcomes)
    table = [
        [lang, name, str(counts.gold), str(counts.found), _share(counts.right, counts.found),
         _share(counts.right, counts.gold), str(counts.asked), _share(counts.asked_right, counts.asked),
         _share(counts.asked_right, counts.gold)]
        for (lang, name), counts in counted.items()
    ]  # fmt: skip
    print(f"\nEntries of closed homes, read {'by the model' if options.model else 'without a language model'}:\n")
    head = ("pairs", "ending", "gold", "found", "precision", "recall", "or proposed", "precision", "recall")
    print(aligned(head, table))
    confused = sorted(confusions(outcomes).items())
    print("  " + ", ".join(f"{relation} as {fate} {number}" for (relation, fate), number in confused))
    if options.entries:
        lines = (json.dumps(_as_outcome(outcome), ensure_ascii=False) + "\n" for outcome in outcomes)
        options.entries.write_text("".join(lines), "utf-8")


def _changes(_options: argparse.Namespace, embedder: Embedder | NoEmbedder | None) -> None:
    counts = count_changes(read_changes(DATA / "changes.jsonl"), embedder)
    fates: Sequence[ChangeFate] = get_args(ChangeFate)
    groups = sorted({key[:3] for key in counts}, key=lambda group: (group[0], not group[2], group[1]))
    rows = [
        [half, kind, "ends" if ends else "stands", *(str(counts[half, kind, ends, fate]) for fate in fates)]
        for half, kind, ends in groups
    ]  # fmt: skip
    print(aligned(("half", "change", "entry", *fates), rows))


def _as_outcome(outcome: PairOutcome) -> dict[str, object]:
    pair = outcome.pair
    row: dict[str, object] = {"older": pair.older, "newer": pair.newer, "relation": pair.relation, "lang": pair.lang}
    return {**row, "said": outcome.said, "fate": outcome.fate, "proposed": outcome.proposed, "text": outcome.text}


def _grounding(options: argparse.Namespace, _embedder: Embedder | NoEmbedder | None) -> None:
    found = [
        (f"{path.stem}, {lang}", counts)
        for path in options.grounding or [HELDOUT / "grounding.jsonl"]
        for lang, counts in measure_grounding(path).items()
    ]
    rows = [
        [
            name, str(counts.good), _share(counts.accepted, counts.good), str(counts.altered),
            _share(counts.rejected, counts.altered), ", ".join(f"{kind} {n}" for kind, n in counts.missed.items() if n),
        ]
        for name, counts in found
    ]  # fmt: skip
    print(aligned(("lines", "good", "accepted", "altered", "rejected", "let through"), rows))


def _share(part: int, whole: int) -> str:
    return f"{part / whole:.3f}" if whole else "-"


_PARTS: Mapping[str, Callable[[argparse.Namespace, Embedder | NoEmbedder | None], None]] = {
    "acts": _acts,
    "turns": _turns,
    "weeks": _weeks,
    "relations": _relations,
    "changes": _changes,
    "grounding": _grounding,
    "citations": _citations,
    "gold-memories": _gold_memories,
}

if __name__ == "__main__":
    sys.exit(main())
