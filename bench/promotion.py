"""Measure how well a newer entry is told to supersede an older one, to repeat it, or to be unrelated.

    python -m bench.promotion [--data DIR] [--show] [--write-docs]

The pairs (``bench/promotion_data``) are labelled by hand, in English and Chinese. The baseline is the cosine alone: the
newer entry supersedes the older one where both vectors are near enough, at the threshold that is best on the
development half. With ``--data``, observations of conversations are paired as well. A script changes a number, a name,
a day or the sense of each observation, and none of these may be united with the original.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from agent_home.documents.entry import Entry
from bench.measure.page import DOCS, markdown, put, stamp
from bench.promotion_data import HALVES, Half, Label, Pair, pairs
from distill.entries.consolidation import relate_entries
from distill.statements.contradiction import SAME_COSINE, SAME_WORDS, relation
from recall.embedding.embedder import Embedder, NoEmbedder, open_embedder
from recall.embedding.model import EmbeddingSettings

__all__ = ["FLOOR", "PairScore", "by_rules", "main", "score", "swaps"]

#: Precision of supersession on the held-back half.
FLOOR = 0.95
_WANTED: Mapping[Label, str] = {
    "contradiction": "replaced", "duplicate": "same", "refinement": "different", "unrelated": "different",
}  # fmt: skip
_LABELS: tuple[Label, ...] = ("contradiction", "duplicate", "refinement", "unrelated")
#: Conversations on whose observations the thresholds were chosen.
_CONVERSATIONS = (26, 30, 41)
_NEAR = 0.75
_DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")

#: The verdict on a pair: ``same``, ``replaced`` or ``different``.
Said = Sequence[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class PairScore:
    """Precision and recall of one answer over some pairs. Precision is 1 where the answer never occurs."""

    given: int
    right: int
    expected: int

    @property
    def precision(self) -> float:
        return self.right / self.given if self.given else 1.0

    @property
    def recall(self) -> float:
        return self.right / self.expected if self.expected else 1.0


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the tables.

    Return 1 when supersession on the held-back half is less precise than its floor, or a changed observation was
    united.
    """
    parser = argparse.ArgumentParser(
        prog="python -m bench.promotion", description="Judge pairs of labelled statements."
    )
    parser.add_argument("--data", type=Path, help="folder of evaluation data, for its observations")
    parser.add_argument("--show", action="store_true", help="print every pair of the development half judged wrongly")
    parser.add_argument("--write-docs", action="store_true", help="put the table into docs/promotion.md")
    options = parser.parse_args(arguments)
    embedder = open_embedder(EmbeddingSettings(), build_missing=True)
    if isinstance(embedder, NoEmbedder):
        print(f"no model: {embedder.reason}", file=sys.stderr)
        return 2
    found = {half: pairs(half) for half in HALVES}
    near = {half: _cosines(embedder, rows) for half, rows in found.items()}
    threshold = _best_threshold(found["development"], near["development"])
    table = _table(found, near, threshold)
    print(table)
    if options.write_docs:
        put(DOCS / "promotion.md", {"pairs": f"{stamp('python -m bench.promotion --write-docs')}\n\n{table}"})
    if options.show:
        _print_mistakes(found["development"], near["development"])
    united = _observations(options.data, embedder) if options.data else 0
    held = score(found["heldback"], by_rules(found["heldback"], near["heldback"]), "replaced")
    return int(held.precision < FLOOR or bool(united))


def by_rules(rows: Sequence[Pair], cosines: Sequence[float] | None) -> list[str]:
    """Return the rules' verdict on each pair, by words alone without *cosines*."""
    said: list[str] = []
    for place, pair in enumerate(rows):
        older = Entry(id=f"{pair.older_prefix}-0001", date="2026-11-01", title=pair.older, fields={"Sources": "a#1"})
        newer = Entry(id=f"{pair.newer_prefix}-0002", date="2026-11-08", title=pair.newer, fields={"Sources": "b#1"})
        said.append(relate_entries(older, newer, cosine=cosines[place] if cosines is not None else None).kind)
    return said


def score(rows: Sequence[Pair], said: Said, answer: str) -> PairScore:
    """Return how well *answer* was given."""
    expected = [_WANTED[pair.label] == answer for pair in rows]
    given = [one == answer for one in said]
    right = sum(a and b for a, b in zip(expected, given, strict=True))
    return PairScore(given=sum(given), right=right, expected=sum(expected))


def swaps(text: str, speaker: str, other: str) -> Iterator[tuple[str, str]]:
    """Yield ``(what, text)`` with one particular of *text* changed: a number, a day, the sense, or the person."""
    number = re.search(r"\b\d+\b", text)
    if number:
        yield "number", f"{text[: number.start()]}{int(number.group()) + 1}{text[number.end() :]}"
    day = next((day for day in _DAYS if day in text), None)
    if day:
        yield "day", text.replace(day, _DAYS[(_DAYS.index(day) + 2) % 7])
    denied = re.sub(r"\b(is|was|are|were|has|had|will|can)\b", r"\1 not", text, count=1)
    if denied != text:
        yield "negation", denied
    if text.startswith(f"{speaker} ") and other:
        yield "name", f"{other}{text.removeprefix(speaker)}"


def _cosines(embedder: Embedder, rows: Sequence[Pair]) -> list[float]:
    older, newer = (embedder.embed([getattr(pair, side) for pair in rows]) for side in ("older", "newer"))
    return [float(one) for one in np.einsum("ij,ij->i", older, newer)]


def _by_cosine(cosines: Sequence[float], threshold: float) -> list[str]:
    return ["replaced" if cosine >= threshold else "different" for cosine in cosines]


def _best_threshold(rows: Sequence[Pair], cosines: Sequence[float]) -> float:
    """Return the cosine threshold for superseding with the best harmonic mean of precision and recall."""

    def quality(threshold: float) -> float:
        found = score(rows, _by_cosine(cosines, threshold), "replaced")
        return 2 * found.right / (found.given + found.expected)

    return max(sorted(set(cosines)), key=quality)


def _table(found: Mapping[Half, Sequence[Pair]], near: Mapping[Half, Sequence[float]], threshold: float) -> str:
    judges: dict[str, Callable[[Half], Said]] = {
        "rules, words alone": lambda half: by_rules(found[half], None),
        "rules, with the model": lambda half: by_rules(found[half], near[half]),
        f"cosine >= {threshold:.2f} alone": lambda half: _by_cosine(near[half], threshold),
    }
    head = ["half", "", *(f"superseded of {label}" for label in _LABELS), "precision", "recall", "united of duplicate",
            "united of others"]  # fmt: skip
    rows = []
    for half in HALVES:
        for name, judge in judges.items():
            said: Said = judge(half)
            whole, same = score(found[half], said, "replaced"), score(found[half], said, "same")
            rows.append([
                half, name, *(_share(found[half], said, label) for label in _LABELS), f"{whole.precision:.3f}",
                f"{whole.recall:.3f}", f"{same.right}/{same.expected}", str(same.given - same.right),
            ])  # fmt: skip
    return markdown(head, rows, align="llrrrrrrrr")


def _share(rows: Sequence[Pair], said: Said, label: Label) -> str:
    of_label = [one for pair, one in zip(rows, said, strict=True) if pair.label == label]
    return f"{of_label.count('replaced')}/{len(of_label)}"


def _print_mistakes(rows: Sequence[Pair], cosines: Sequence[float]) -> None:
    for pair, answer, cosine in zip(rows, by_rules(rows, cosines), cosines, strict=True):
        if answer != _WANTED[pair.label]:
            print(f"{pair.id} {answer} ({cosine:.2f}): {pair.older} / {pair.newer}")


def _observations(data: Path, embedder: Embedder) -> int:
    """Pair the observations of the development conversations. Count changed ones that were united with the original."""
    near = same = swapped = united = 0
    for number in _CONVERSATIONS:
        path = data / "locomo" / f"conv-{number}.observations.jsonl"
        if not path.exists():
            print(f"(no {path.name} there)")
            continue
        rows = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
        texts, names = [row["text"] for row in rows], sorted({row["speaker"] for row in rows})
        vectors = embedder.embed(texts)
        cosines = vectors @ vectors.T
        for i, j in zip(*np.nonzero(np.triu(cosines >= _NEAR, 1)), strict=True):
            near += 1
            same += relation(texts[i], texts[j], cosine=float(cosines[i, j]), lasting=False).kind == "same"
        for row in rows:
            other = next((name for name in names if name != row["speaker"]), "")
            for _, changed in swaps(row["text"], row["speaker"], other):
                swapped += 1
                united += relation(row["text"], changed, cosine=1.0, lasting=False).kind == "same"
    print(f"\nobservations: {near} pairs with a cosine of {_NEAR} or more, {same} united at {SAME_COSINE} and "
          f"{SAME_WORDS} of the words; {swapped} with one particular changed, {united} united")  # fmt: skip
    return united


if __name__ == "__main__":
    sys.exit(main())
