"""Train the model that says whether a commit is the work that a sentence reports.

    python -m bench.training.commits --data DIR    compare the reports with their commits, write the features, train
    python -m bench.training.commits               train on the features that are there

*DIR* holds the repositories by name. Four sorts of pairs are compared: a true report with its commit, its false twin
with the same commit, the true report with other commits of that repository, and copies of the true report with one
thing exchanged at random. Only the first are positive. The features hold numbers, and no text of a repository.

The model of single things learns what commits show of things that true reports name, and of the things that false
reports name instead. The model of reports reads doubts from models that did not see the report's repository. A weight
of the wrong sign is set to nothing: what a commit has never speaks against a report.

The threshold is chosen in the same way: reports are scored by models that did not see their repository, and it lies
above every false twin with a margin.
"""

import argparse
import json
import random
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from bench.evidence_data.commits import TRAINED, CommitReport, borrowed, reports
from bench.evidence_data.history import git
from distill.evidence.commit_fit import Fit, WorkReport, fit, read_report
from distill.evidence.commit_model import REPORT_FEATURES, CommitModel
from distill.evidence.commit_view import CommitView, RepositoryWords, view_of
from distill.evidence.repository import Deadline, Repository
from distill.evidence.unit_support import UNIT_FEATURES
from distill.evidence.wording import ReportUnit, read_units

__all__ = ["FEATURES_FILE", "MODEL_FILE", "Example", "main", "read_examples", "repositories", "trained"]

FEATURES_FILE = Path(__file__).parents[1] / "evidence_data" / "commit_features.json"
MODEL_FILE = Path(__file__).parents[2] / "distill" / "evidence" / "data" / "commit_model.json"
_SEED = 3
_EXCHANGED = 6
_OTHER_COMMITS = 4
#: Share of exchanged words that come from the commit's own lines.
_BESIDE = 0.3
_STEPS = 15
#: Penalty of large weights, of things and of reports.
_UNIT_DECAY = 3.0
_DECAY = 1.0
#: Weight of a pair in training. Pairs that no person wrote count less.
_PAIR_WEIGHTS = {"true": 1.0, "twin": 1.0, "other": 0.3, "exchanged": 0.3}
#: Groups of repositories that are left out in turn to score reports.
_FOLDS = 4
#: Distance of the threshold from the probability of the best false twin. Other repositories may have better twins.
_MARGIN = 0.25

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Example:
    """One comparison without a veto. *sort* is true, twin, other or exchanged, *altered* marks the wrong units."""

    sort: str
    repo: str
    fit: Fit
    altered: tuple[bool, ...]


@dataclass
class _TrainingSource:
    """One repository: the views of its reported commits, and its words with HEAD at each."""

    words: dict[str, RepositoryWords]
    views: dict[str, CommitView]
    vocabulary: list[str]
    terms: list[str]


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the features when the repositories are given, then the weights."""
    parser = argparse.ArgumentParser(prog="python -m bench.training.commits", description="Train the commit model.")
    parser.add_argument("--data", type=Path, help="folder with the repositories by name")
    options = parser.parse_args(arguments)
    if options.data:
        rows = [_row(example) for example in _examples(options.data)]
        text = ",\n".join(json.dumps(row, separators=(",", ":")) for row in rows)
        FEATURES_FILE.write_text(f"[\n{text}\n]\n", encoding="utf-8")
    model = trained(read_examples())
    found = {
        "units": dict(zip(UNIT_FEATURES, model.unit_weights, strict=True)),
        "unit_bias": model.unit_bias,
        "features": dict(zip(REPORT_FEATURES, model.weights, strict=True)),
        "bias": model.bias,
        "threshold": model.threshold,
    }
    MODEL_FILE.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    print(json.dumps(found, indent=1))
    return 0


def read_examples() -> list[Example]:
    """Return the examples that were written last."""
    found = []
    for sort, repo, features, units in json.loads(FEATURES_FILE.read_text(encoding="utf-8")):
        compared = Fit(
            features=tuple(features),
            units=tuple(tuple((at, value) for at, value in row) for _, _, row in units),
            rarities=tuple(rarity for _, rarity, _ in units),
        )
        found.append(Example(sort, repo, compared, tuple(bool(altered) for altered, _, _ in units)))
    return found


def repositories(examples: Sequence[Example]) -> list[str]:
    """Return the names of the repositories of *examples*, in their order."""
    return list(dict.fromkeys(example.repo for example in examples))


def trained(examples: Sequence[Example]) -> CommitModel:
    """Return the model of *examples*, with a threshold above the false twins of repositories that were left out."""
    whole = _fitted(examples)
    scores = list(_left_out_scores(examples))
    twins = sorted((score for example, score in scores if example.sort == "twin"), reverse=True) or [0.5]
    return replace(whole, threshold=round(min(twins[0] + _MARGIN, 0.995), 4))


def _left_out_scores(examples: Sequence[Example]) -> Iterator[tuple[Example, float]]:
    """Yield the examples with the probabilities that models without their repositories give them."""
    names = repositories(examples)
    for fold in (names[start::_FOLDS] for start in range(_FOLDS)):
        model = _fitted([example for example in examples if example.repo not in fold])
        for example in examples:
            if example.repo in fold:
                yield example, model.probability(example.fit)


def _fitted(examples: Sequence[Example]) -> CommitModel:
    """Return the model of *examples* without a threshold."""
    names, rows, kept = repositories(examples), list[tuple[float, ...]](), list[Example]()
    for fold in (names[start::_FOLDS] for start in range(_FOLDS)):
        units = _of_units([example for example in examples if example.repo not in fold])
        chosen = [example for example in examples if example.repo in fold]
        rows += [units.report_features(example.fit) for example in chosen]
        kept += chosen
    labels = np.array([float(example.sort == "true") for example in kept])
    pairs = np.array([_PAIR_WEIGHTS[example.sort] for example in kept])
    values = np.array(rows)
    means, scales = values.mean(axis=0), values.std(axis=0) + 1e-9
    used = list(range(len(REPORT_FEATURES)))
    while True:
        weights, bias = _logistic((values[:, used] - means[used]) / scales[used], labels, pairs, _DECAY)
        wrong = [at for at, weight in zip(used, weights, strict=True) if weight * _sign(REPORT_FEATURES[at]) < 0]
        if not wrong:
            break
        used = [at for at in used if at not in wrong]
    raw = np.zeros(len(REPORT_FEATURES))
    raw[used] = weights / scales[used]
    units = _of_units(examples)
    return replace(
        units,
        weights=tuple(round(float(weight), 4) for weight in raw),
        bias=round(float(bias - raw @ means), 4),
    )


def _of_units(examples: Sequence[Example]) -> CommitModel:
    """Return a model that judges single things, and no reports."""
    rows, labels, pairs = list[Sequence[tuple[int, float]]](), list[float](), list[float]()
    for example in examples:
        if example.sort == "other":
            continue
        for unit, altered in zip(example.fit.units, example.altered, strict=True):
            if altered or example.sort == "true":
                rows.append(unit)
                labels.append(float(altered))
                pairs.append(_PAIR_WEIGHTS[example.sort])
    values = np.zeros((len(rows), len(UNIT_FEATURES)))
    for index, row in enumerate(rows):
        for at, value in row:
            values[index, at] = value
    weights, bias = _logistic(values, np.array(labels), np.array(pairs), _UNIT_DECAY)
    return CommitModel(
        unit_weights=tuple(round(float(weight), 3) for weight in weights),
        unit_bias=round(float(bias), 3),
        weights=(0.0,) * len(REPORT_FEATURES),
        bias=0.0,
        threshold=1.0,
    )


def _logistic(values: Array, labels: Array, pairs: Array, decay: float) -> tuple[Array, float]:
    """Return the weights and the bias of a logistic model, by Newton's method with a quadratic penalty."""
    rows = np.hstack([values, np.ones((len(values), 1))])
    found = np.zeros(rows.shape[1])
    penalty = np.full(rows.shape[1], decay)
    penalty[-1] = 1e-6
    for _ in range(_STEPS):
        chance = 1 / (1 + np.exp(-np.clip(rows @ found, -30, 30)))
        slope = rows.T @ (pairs * (chance - labels)) + penalty * found
        bend = (rows * (pairs * chance * (1 - chance))[:, None]).T @ rows + np.diag(penalty)
        found = found - np.linalg.solve(bend, slope)
    return found[:-1], float(found[-1])


def _sign(name: str) -> float:
    """Return 1 for a feature that speaks for a report, -1 for one against it."""
    return -1.0 if name.startswith("lacking") or name.endswith(("doubt", "risk")) else 1.0


def _row(example: Example) -> list[object]:
    units = zip(example.altered, example.fit.rarities, example.fit.units, strict=True)
    return [example.sort, example.repo, example.fit.features, [[int(one), rarity, row] for one, rarity, row in units]]


def _examples(data: Path) -> Iterator[Example]:
    found = [report for name in TRAINED for report in reports(name)]
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
    said = (unit for report in found if report.repo == path.name for unit in read_units(report.true))
    return _TrainingSource(words, views, vocabulary, [unit.text for unit in said if unit.kind in {"term", "unknown"}])


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
    said = read_report(report.true)
    for sort, text, commit in pairs:
        parsed = read_report(text)
        result = fit(parsed, source.views[commit], source.words[commit]) if parsed else None
        if parsed and result and not result.veto:
            yield Example(sort, report.repo, result, _altered(parsed, said))


def _altered(report: WorkReport, said: WorkReport | None) -> tuple[bool, ...]:
    """Return which things *report* names that the true report does not."""
    left = [(unit.kind, unit.text) for unit in said.units] if said else []
    found = []
    for unit in report.units:
        found.append((unit.kind, unit.text) not in left)
        if not found[-1]:
            left.remove((unit.kind, unit.text))
    return tuple(found)


def _exchanged(
    text: str, view: CommitView, source: _TrainingSource, sources: dict[str, _TrainingSource], chance: random.Random
) -> str:
    """Return *text* with one thing exchanged, or an empty string when the new one may be as true."""
    units = [unit for unit in read_units(text) if unit.kind != "path"]
    if not units:
        return ""
    unit = chance.choice(units)
    if unit.kind == "number":
        head, dot, last = unit.text.rpartition(".")
        digits = "".join(one for one in last if one.isdigit())
        return _with(text, unit, f"{head}{dot}{int(digits) + chance.randint(1, 3)}")
    if unit.kind == "count":
        return _with(text, unit, chance.choice("两三四五六" if unit.text >= "\u4e00" else ["four", "five", "seventh"]))
    other = source if chance.random() < 0.6 else chance.choice(list(sources.values()))
    beside = sorted((view.words | view.path_words) - view.message) if chance.random() < _BESIDE else []
    chinese = unit.kind in {"term", "unknown"}
    pool = other.terms if chinese else beside or other.vocabulary
    word = chance.choice(pool) if pool else ""
    read = read_units(word)
    same = not read or (read[0].own == unit.own and read[0].mates == unit.mates)
    if same or set(read[0].own) & view.message or any(set(mate) <= view.message for mate in read[0].mates):
        return ""
    return _with(text, unit, word)


def _with(text: str, unit: ReportUnit, word: str) -> str:
    old = text[unit.start : unit.end]
    new = old.replace(unit.text, word) if unit.text in old else word
    return text[: unit.start] + new + text[unit.end :]


if __name__ == "__main__":
    sys.exit(main())
