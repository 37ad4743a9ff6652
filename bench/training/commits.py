"""Train the model that compares a report with a commit, from the development reports of real commits.

    python -m bench.training.commits --data DIR            write the features and the weights
    python -m bench.training.commits                       train again from the features that are there

*DIR* holds the repositories by name. Four sorts of pairs are compared: a true report with its commit, its false twin
with the same commit, the true report with other commits of that repository, and copies of the true report with one word
or number exchanged at random. Only the first are positive. The features hold numbers, and no text of a repository.

The weights are found by gradient descent with each sign fixed: what a commit has never counts against it. Both classes
weigh the same. The threshold lies just above the best false twin.
"""

import argparse
import json
import math
import random
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.evidence_data.commits import CommitReport, borrowed, reports
from bench.evidence_data.history import git
from distill.evidence.commit_fit import FEATURES, fit, read_report
from distill.evidence.commit_model import CommitModel
from distill.evidence.commit_view import CommitView, RepositoryWords, view_of
from distill.evidence.repository import Deadline, Repository
from distill.evidence.wording import ReportUnit, read_units

__all__ = ["FEATURES_FILE", "MODEL_FILE", "Example", "main", "read_examples", "trained"]

FEATURES_FILE = Path(__file__).parents[1] / "evidence_data" / "commit_features.json"
MODEL_FILE = Path(__file__).parents[2] / "distill" / "evidence" / "data" / "commit_model.json"
_SEED = 3
_EXCHANGED = 10
_OTHER_COMMITS = 8
_STEPS = 800
_RATE = 0.3
_DECAY = 0.005
#: Distance of the threshold from the probability of the best false twin.
_MARGIN = 0.035


@dataclass(frozen=True, slots=True)
class Example:
    """The features of one comparison without a veto. *sort* is true, twin, other or exchanged."""

    sort: str
    features: tuple[float, ...]


@dataclass
class _TrainingSource:
    """One repository: the views of its reported commits, and its words with HEAD at each."""

    words: dict[str, RepositoryWords]
    views: dict[str, CommitView]
    vocabulary: list[str]


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the features when the repositories are given, then the weights."""
    parser = argparse.ArgumentParser(prog="python -m bench.training.commits", description="Train the commit model.")
    parser.add_argument("--data", type=Path, help="folder with the repositories by name")
    options = parser.parse_args(arguments)
    if options.data:
        rows = [[example.sort, *example.features] for example in _examples(options.data)]
        text = ",\n".join(json.dumps(row) for row in rows)
        FEATURES_FILE.write_text(f"[\n{text}\n]\n", encoding="utf-8")
    model = trained(read_examples())
    found = {
        "features": FEATURES, "weights": model.weights, "bias": model.bias, "threshold": model.threshold,
    }  # fmt: skip
    MODEL_FILE.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    print(json.dumps(found, indent=1))
    return 0


def read_examples() -> list[Example]:
    """Return the examples that were written last."""
    rows = json.loads(FEATURES_FILE.read_text(encoding="utf-8"))
    return [Example(row[0], tuple(row[1:])) for row in rows]


def trained(examples: Sequence[Example], steps: int = _STEPS) -> CommitModel:
    """Return the model of *examples*."""
    labels = [example.sort == "true" for example in examples]
    means, scales = _moments([example.features for example in examples])
    rows = [
        [(value - mean) / scale for value, mean, scale in zip(example.features, means, scales, strict=True)]
        for example in examples
    ]
    share = {True: 0.5 / max(sum(labels), 1), False: 0.5 / max(len(labels) - sum(labels), 1)}
    weights, bias = [0.0] * len(FEATURES), 0.0
    for _ in range(steps):
        slopes, slope = [0.0] * len(FEATURES), 0.0
        for row, label in zip(rows, labels, strict=True):
            score = bias + sum(weight * value for weight, value in zip(weights, row, strict=True))
            error = (1 / (1 + math.exp(-max(-30.0, min(30.0, score)))) - label) * share[label]
            slope += error
            for index, value in enumerate(row):
                slopes[index] += error * value
        bias -= _RATE * slope
        weights = [
            _signed(name, weight - _RATE * (one + _DECAY * weight))
            for name, weight, one in zip(FEATURES, weights, slopes, strict=True)
        ]
    raw = tuple(round(weight / scale, 4) for weight, scale in zip(weights, scales, strict=True))
    base = round(bias - sum(weight * mean for weight, mean in zip(raw, means, strict=True)), 4)
    model = CommitModel(weights=raw, bias=base, threshold=1.0)
    best = max((model.probability(example.features) for example in examples if example.sort == "twin"), default=0.5)
    return CommitModel(weights=raw, bias=base, threshold=round(best + _MARGIN, 3))


def _signed(name: str, weight: float) -> float:
    return min(weight, 0.0) if name.startswith("lacking") else max(weight, 0.0)


def _moments(rows: Sequence[Sequence[float]]) -> tuple[list[float], list[float]]:
    means = [sum(column) / len(rows) for column in zip(*rows, strict=True)]
    spread = [
        math.sqrt(sum((value - mean) ** 2 for value in column) / len(rows)) or 1.0
        for column, mean in zip(zip(*rows, strict=True), means, strict=True)
    ]
    return means, spread


def _examples(data: Path) -> Iterator[Example]:
    found = reports("development")
    chance = random.Random(_SEED)  # noqa: S311 - reproducible, nothing secret
    with tempfile.TemporaryDirectory(prefix="training-") as folder:
        names = [name for name in dict.fromkeys(report.repo for report in found) if (data / name).is_dir()]
        sources = {name: _source(data / name, Path(folder) / name, found) for name in names}
        for report in found:
            if report.repo in sources:
                yield from _compared(report, sources, found, chance)


def _source(path: Path, root: Path, found: Sequence[CommitReport]) -> _TrainingSource:
    borrowed(path, root)
    repository = Repository(root, Deadline(600))
    views, words = {}, {}
    for commit in dict.fromkeys(report.commit for report in found if report.repo == path.name):
        full = git(path, "rev-parse", commit)
        git(root, "update-ref", "refs/heads/main", full)
        info = repository.commit(full)
        views[commit] = view_of(info, repository.patches([full]).get(full, "")[:200_000])
        at_head = Repository(root, Deadline(600))  # it remembers the paths at HEAD
        subjects = at_head.subjects(3000)
        words[commit] = RepositoryWords.of(subjects.splitlines(), at_head.paths()[:5000])
    git(root, "update-ref", "refs/heads/main", git(path, "rev-parse", "HEAD"))
    subjects = repository.subjects(3000)
    vocabulary = [word for word in subjects.replace("`", " ").split() if word.isidentifier() and len(word) > 3]
    return _TrainingSource(words, views, vocabulary)


def _compared(
    report: CommitReport, sources: dict[str, _TrainingSource], found: Sequence[CommitReport], chance: random.Random
) -> Iterator[Example]:
    source = sources[report.repo]
    others = sorted({other.commit for other in found if other.repo == report.repo} - {report.commit})
    pairs = [("true", report.true, report.commit), ("twin", report.false, report.commit)]
    pairs += [("other", report.true, commit) for commit in chance.sample(others, min(_OTHER_COMMITS, len(others)))]
    for _ in range(_EXCHANGED):
        text = _exchanged(report.true, source.views[report.commit], source, sources, chance)
        if text:
            pairs.append(("exchanged", text, report.commit))
    for sort, text, commit in pairs:
        parsed = read_report(text)
        result = fit(parsed, source.views[commit], source.words[commit]) if parsed else None
        if result and not result.veto:
            yield Example(sort, result.features)


def _exchanged(
    text: str, view: CommitView, source: _TrainingSource, sources: dict[str, _TrainingSource], chance: random.Random
) -> str:
    """Return *text* with one word or number exchanged, or an empty string when the new word may be as true."""
    units = [unit for unit in read_units(text) if unit.kind in {"word", "proper", "symbol", "number"}]
    if not units:
        return ""
    unit = chance.choice(units)
    if unit.kind == "number":
        head, dot, last = unit.text.rpartition(".")
        digits = "".join(one for one in last if one.isdigit())
        return _with(text, unit, f"{head}{dot}{int(digits) + chance.randint(1, 3)}")
    other = source if chance.random() < 0.6 else chance.choice(list(sources.values()))
    word = chance.choice(other.vocabulary)
    read = read_units(word)
    if not read or read[0].own == unit.own or set(read[0].own) & (view.message | view.path_words):
        return ""
    return _with(text, unit, word)


def _with(text: str, unit: ReportUnit, word: str) -> str:
    old = text[unit.start : unit.end]
    new = old.replace(unit.text, word) if unit.text in old else word
    return text[: unit.start] + new + text[unit.end :]


if __name__ == "__main__":
    sys.exit(main())
