"""Measure recall beside plain searches of the same texts for the same questions in one run.

    python -m bench.retrieval --data DIR [--sets locomo,realtalk,...] [--split choose|confirm] [--cached]
                              [--markdown] [--write-docs] [--json FILE]

For each development set a home is made in a temporary folder, filled, synced, and asked every question in each mode.
LifeBench has a home for each person. A question of RealMem is answered by what was said before it. The baselines search
all of it there, so they are shown for orders of magnitude only.
The baselines are those of :mod:`bench.measure.baselines`. Every mean has its bootstrap interval over questions (95 %, 2
000 draws, seeded). So have two differences, paired by question: hybrid minus the best baseline of that measure, and
hybrid minus the better of its two retrievers. Conversations are measured by turns and by sessions. The last table says
how much of LoCoMo's gold stands in an assembled prompt.

``--split`` asks only the questions on which constants were chosen, or only those that confirm them. The home holds the
whole set in both cases. ``--cached`` keeps vectors between runs in the user's cache. ``--write-docs`` puts the tables
into docs/benchmarks.md. Latencies are of one question after another in one process, the question's embedding included.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, TypeVar, get_args

import apsw

from agent_home.clock import now
from agent_home.creation import create
from agent_home.home import Home
from recall.embedding.embedder import Embedder, NoEmbedder, open_embedder
from recall.embedding.model import EmbeddingSettings
from recall.evaluation.metrics import EvalCase, Grain, Report, evaluate, measure, percentile
from recall.index.passage import session_of
from recall.index.sync import sync
from recall.settings import RecallSettings
from recall.text.terms import index_text

from .measure.baselines import Find, plain
from .measure.bootstrap import Bootstrap, Interval
from .measure.datasets import SETS, Half, HomeData, fill, homes_of
from .measure.packing import BUDGETS, Packing, packings, read_turns
from .measure.page import DOCS, aligned, markdown, put, stamp
from .measure.vector_cache import CachedEmbedder

__all__ = ["MEASURES", "SystemOutcome", "differences", "main", "measure_baselines", "measure_recall"]

#: Measures shown at each grain.
MEASURES: dict[Grain, tuple[str, ...]] = {
    "message": ("frac@5", "frac@10", "mrr@10", "ndcg@10"),
    "session": ("frac@5", "frac@10"),
    "file": ("any@5", "frac@5", "mrr@10", "ndcg@10"),
}
_NOUNS: dict[Grain, str] = {"message": "turns", "session": "sessions", "file": "files"}
_TITLES = {
    "locomo": "LoCoMo",
    "realtalk": "REALTALK",
    "beam100k": "BEAM-100K",
    "cmrc2018": "CMRC2018 (Chinese)",
    "scifact": "SciFact",
    "lifebench-zh": "LifeBench (Chinese)",
    "lifebench-en": "LifeBench (English)",
    "lifebench-cross": "LifeBench (English questions, Chinese texts)",
    "realmem": "RealMem",
}
#: The set whose gold turns are counted in assembled prompts.
_PACKED_SET = "locomo"
KS = (5, 10)
_HYBRID = "ours, hybrid"
#: Rows inserted one by one, each in its own transaction, as the baseline of batching.
_SINGLE_INSERTS = 500

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class SystemOutcome:
    """One system's values, question by question, by ``(grain, measure)``, and its milliseconds at the first grain."""

    p50: float
    p95: float
    values: dict[tuple[Grain, str], list[float]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class SetResult:
    """One measured set. *means* has the systems of *outcomes*, then the two differences. *packed* is by budget."""

    title: str
    about: str
    n: int
    outcomes: dict[str, SystemOutcome]
    means: dict[str, dict[tuple[Grain, str], Interval]]
    categories: dict[str, Any]
    packed: dict[str, dict[int, Interval]]
    spent: dict[str, dict[int, float]]
    degraded: tuple[str, ...]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the chosen sets. Return 0, or 1 when no set was there."""
    given = _options(arguments)
    opened = open_embedder(EmbeddingSettings(), build_missing=True, progress=_say)
    if isinstance(opened, NoEmbedder):
        _say(f"no vectors: {opened.reason}")
    embedder = opened if isinstance(opened, NoEmbedder) or not given.cached else CachedEmbedder(opened)
    results: dict[str, SetResult] = {}
    for name in given.sets:
        homes = homes_of(name, given.data)
        if not homes:
            _say(f"{given.data / name.partition('-')[0]} is absent; {name} is left out")
            continue
        asked = [
            (one, [q for half, some in one.halves.items() if given.split in {None, half} for q in some])
            for one in homes
        ]
        if not any(questions for _, questions in asked):
            _say(f"{name} has no question in the half {given.split!r}; it is left out")
            continue
        results[name] = _measure_set(name, given.data, embedder, [one for one in asked if one[1]])
        if isinstance(embedder, CachedEmbedder):
            embedder.save()
        print(_shown(results[name], as_markdown=given.markdown), end="\n\n" if given.markdown else "\n", flush=True)
    if given.json and results:
        given.json.write_text(json.dumps({n: _as_json(r) for n, r in results.items()}, indent=2) + "\n", "utf-8")
    if given.write_docs and results:
        head = stamp(" ".join(["python -m bench.retrieval --data DIR", *_flags(given)]))
        tables = "\n\n".join(_shown(result, as_markdown=True) for result in results.values())
        put(DOCS / "benchmarks.md", {"retrieval": f"{head}\n\n{tables}"})
    return 0 if results else 1


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="bench.retrieval", description="Recall beside plain ways to search.")
    parser.add_argument("--data", type=Path, required=True, help="folder with the development sets")
    parser.add_argument("--sets", default=",".join(SETS), help="which sets, with commas between")
    parser.add_argument("--split", choices=get_args(Half), help="only one half of the questions")
    parser.add_argument("--cached", action="store_true", help="keep vectors between runs in the user's cache")
    parser.add_argument("--markdown", action="store_true", help="print the tables as Markdown")
    parser.add_argument("--write-docs", action="store_true", help="put the tables into docs/benchmarks.md")
    parser.add_argument("--json", type=Path, help="write the figures there as well")
    given = parser.parse_args(arguments)
    given.sets = given.sets.split(",")
    for name in given.sets:
        if name not in SETS:
            parser.error(f"unknown set {name!r}; known are {', '.join(SETS)}")
    return given


def _flags(given: argparse.Namespace) -> list[str]:
    """Return the options that change the numbers, as they were given."""
    flags = [] if given.sets == list(SETS) else ["--sets", ",".join(given.sets)]
    return [*flags, *(["--split", given.split] if given.split else [])]


# -------------------------------------------------------------------------------------------------------- measuring


@dataclass(frozen=True, slots=True, kw_only=True)
class _HomeOutcomes:
    """The measurement of one home, and what was packed into prompts there."""

    texts: int
    rates: str
    outcomes: dict[str, SystemOutcome]
    reports: dict[Grain, Report]
    packed: dict[int, dict[str, Packing]]


def _measure_set(
    name: str, data: Path, embedder: Embedder | NoEmbedder, asked: Sequence[tuple[HomeData, Sequence[EvalCase]]]
) -> SetResult:
    measured = []
    for one, questions in asked:
        with tempfile.TemporaryDirectory(prefix="bench-retrieval-") as place:
            measured.append(_measure_home(name, data, one, Path(place), embedder, questions))
    outcomes = _joined([one.outcomes for one in measured])
    count = sum(len(questions) for _, questions in asked)
    draws = Bootstrap(count)
    means = {
        system: {key: draws.interval(values) for key, values in outcome.values.items()}
        for system, outcome in outcomes.items()
    }
    packed = measured[0].packed
    homes = f", {len(measured)} homes, the first:" if len(measured) > 1 else ";"
    return SetResult(
        title=_TITLES[name],
        about=f"{sum(one.texts for one in measured)} texts, {count} questions{homes} {measured[0].rates}",
        n=count,
        outcomes=outcomes,
        means=means | differences(outcomes, draws),
        categories=measured[0].reports[SETS[name][0]].as_json()["categories"] if len(measured) == 1 else {},
        packed=_packed_means(packed, draws),
        spent=_turned({budget: {s: p.tokens for s, p in by.items()} for budget, by in packed.items()}),
        degraded=tuple(dict.fromkeys(line for one in measured for line in _degraded(one.reports, one.packed))),
    )


def _measure_home(
    name: str,
    data: Path,
    one: HomeData,
    place: Path,
    embedder: Embedder | NoEmbedder,
    questions: Sequence[EvalCase],
) -> _HomeOutcomes:
    grains = SETS[name]
    home = create(place / "home", name="bench", now=now()).home
    texts = fill(home, one, say=_say)
    rates = _synced(home, texts, place, embedder)
    _say(f"{name}: {rates}")
    baselines = plain(texts, embedder, grains)
    settings = home.manifest.settings("recall", RecallSettings)
    reports = {
        grain: evaluate(home, questions, settings=settings, embedder=embedder, ks=KS, grain=grain, progress=_meter)
        for grain in grains
    }
    packed: dict[int, dict[str, Packing]] = {}
    if name == _PACKED_SET:
        real = None if isinstance(embedder, NoEmbedder) else embedder
        packed = packings(home, read_turns(data / name), questions, baselines["message"], real, _meter)
    return _HomeOutcomes(
        texts=len(texts),
        rates=rates,
        outcomes={**measure_baselines(baselines, questions), **measure_recall(reports)},
        reports=reports,
        packed=packed,
    )


def _joined(parts: Sequence[Mapping[str, SystemOutcome]]) -> dict[str, SystemOutcome]:
    """Return the values of all homes, one after another. Times are the mean of the homes' percentiles."""
    return {
        system: SystemOutcome(
            p50=sum(part[system].p50 for part in parts) / len(parts),
            p95=sum(part[system].p95 for part in parts) / len(parts),
            values={key: [v for part in parts for v in part[system].values[key]] for key in parts[0][system].values},
        )
        for system in parts[0]
    }


def _degraded(reports: Mapping[Grain, Report], packed: Mapping[int, Mapping[str, Packing]]) -> tuple[str, ...]:
    """Return each distinct degradation that occurred during the measurement."""
    found = [line for report in reports.values() for line in report.degraded]
    found += [line for by_system in packed.values() for one in by_system.values() for line in one.degraded]
    return tuple(dict.fromkeys(found))


def measure_baselines(
    baselines: Mapping[Grain, Mapping[str, Find]], questions: Sequence[EvalCase]
) -> dict[str, SystemOutcome]:
    """Ask each baseline every question. Its time is that of the first grain."""
    found: dict[str, SystemOutcome] = {}
    for grain, systems in baselines.items():
        for system, find in systems.items():
            times, rows = [], []
            for question in questions:
                start = time.perf_counter()
                answer = find(question.query)
                times.append((time.perf_counter() - start) * 1000)
                gold = question.expect if grain == "message" else tuple(map(session_of, question.expect))
                rows.append(measure(answer, gold, KS))
            outcome = found.setdefault(system, SystemOutcome(p50=percentile(times, 50), p95=percentile(times, 95)))
            outcome.values.update(_by_measure(grain, rows))
    return found


def measure_recall(reports: Mapping[Grain, Report]) -> dict[str, SystemOutcome]:
    """Return recall's outcome in each mode, hybrid last."""
    found: dict[str, SystemOutcome] = {}
    for grain, report in reports.items():
        for mode in ("lexical", "vector", "hybrid"):
            times = report.modes[mode].latency_ms
            rows = [measure(_list(asked.ranks[mode]), list(asked.ranks[mode]), KS) for asked in report.questions]
            outcome = found.setdefault(f"ours, {mode}", SystemOutcome(p50=times["p50"], p95=times["p95"]))
            outcome.values.update(_by_measure(grain, rows))
    return found


def differences(
    outcomes: Mapping[str, SystemOutcome], draws: Bootstrap
) -> dict[str, dict[tuple[Grain, str], Interval]]:
    """Return hybrid minus the best baseline, and minus the better of its retrievers.

    The best one is chosen for each measure.
    """
    hybrid = outcomes[_HYBRID]
    groups = {
        "hybrid - best baseline": [o for name, o in outcomes.items() if not name.startswith("ours")],
        "hybrid - better retriever": [o for name, o in outcomes.items() if name.startswith("ours") and name != _HYBRID],
    }
    return {
        name: {
            key: draws.difference(values, max((other.values[key] for other in others), key=sum))
            for key, values in hybrid.values.items()
        }
        for name, others in groups.items()
    }


def _list(ranks: Mapping[str, int | None]) -> list[str]:
    """Return the answer as far as it matters: the expected sources at their ranks, others between them."""
    answer = [f"\0{place}" for place in range(max((rank or 0 for rank in ranks.values()), default=0))]
    for source, rank in ranks.items():
        if rank is not None:
            answer[rank - 1] = source
    return answer


def _by_measure(grain: Grain, rows: Sequence[Mapping[str, float]]) -> dict[tuple[Grain, str], list[float]]:
    return {(grain, name): [row[name] for row in rows] for name in MEASURES[grain]}


def _packed_means(packed: Mapping[int, Mapping[str, Packing]], draws: Bootstrap) -> dict[str, dict[int, Interval]]:
    """Return means by system and budget, the difference of ours and the best baseline last."""
    means: dict[int, dict[str, Interval]] = {}
    for budget, by_system in packed.items():
        means[budget] = {system: draws.interval(one.shares) for system, one in by_system.items()}
        best = max((one.shares for system, one in by_system.items() if system != "ours"), key=sum)
        means[budget]["ours - best baseline"] = draws.difference(by_system["ours"].shares, best)
    return _turned(means)


def _turned(by_budget: Mapping[int, Mapping[str, T]]) -> dict[str, dict[int, T]]:
    systems = dict.fromkeys(system for by_system in by_budget.values() for system in by_system)
    return {system: {budget: by[system] for budget, by in by_budget.items()} for system in systems}


# --------------------------------------------------------------------------------------------------------- indexing


def _synced(home: Home, texts: Mapping[str, str], place: Path, embedder: Embedder | NoEmbedder) -> str:
    """Index words, then vectors. Return the speed of each, with single inserts beside the words."""
    settings = home.manifest.settings("recall", RecallSettings)
    made = embedder.made if isinstance(embedder, CachedEmbedder) else 0
    words = sync(home, settings, None)
    vectors = sync(home, settings, embedder, progress=_meter)
    single = _single_insert_rate(list(texts.values()), place / "single.db")
    line = (
        f"words {words.added / words.seconds:.0f} passages a second (FTS5, a transaction for each text: {single:.0f})"
    )
    every = not isinstance(embedder, CachedEmbedder) or embedder.made - made >= vectors.embedded
    if vectors.embedded and every:
        line += f", vectors {vectors.embedded / vectors.seconds:.0f} a second"
    return f"{words.passages} passages; {line}"


def _single_insert_rate(texts: Sequence[str], path: Path) -> float:
    """Return texts a second when each is inserted in its own transaction, with the same terms."""
    conn = apsw.Connection(str(path))
    conn.execute("CREATE VIRTUAL TABLE t USING fts5(body, tokenize='porter unicode61')")
    chosen = texts[:_SINGLE_INSERTS]
    start = time.perf_counter()
    for text in chosen:
        conn.execute("INSERT INTO t(body) VALUES(?)", (index_text(text),))
    conn.close()
    return len(chosen) / (time.perf_counter() - start)


# ---------------------------------------------------------------------------------------------------------- showing


def _shown(result: SetResult, *, as_markdown: bool) -> str:
    keys = list(next(iter(result.means.values())))
    head = ["", *(f"{_NOUNS[grain]} {name}" for grain, name in keys), "p50 ms", "p95 ms"]
    best = {key: round(max(result.means[system][key].mean for system in result.outcomes), 3) for key in keys}
    rows = []
    for system, means in result.means.items():
        signed = system not in result.outcomes
        cells = [
            _cell(means[key], signed=signed, bold=as_markdown and not signed and round(means[key].mean, 3) == best[key])
            for key in keys
        ]
        times = [] if signed else [f"{result.outcomes[system].p50:.1f}", f"{result.outcomes[system].p95:.1f}"]
        rows.append([system, *cells, *(times or ["", ""])])
    degraded = f" Degraded: {'; '.join(result.degraded)}." if result.degraded else ""
    title = f"**{result.title}**: {result.about}.{degraded}" if as_markdown else f"\n{result.title}: {result.about}."
    parts = [title, _table(head, rows, as_markdown=as_markdown)]
    if result.packed:
        parts += [_packed_title(result, as_markdown=as_markdown), _packed_table(result, as_markdown=as_markdown)]
    return ("\n\n" if as_markdown else "\n").join(parts)


def _packed_title(result: SetResult, *, as_markdown: bool) -> str:
    title = f"{result.title}, the question as first message"
    return f"{f'**{title}**' if as_markdown else title}: share of its gold turns that stand in the prompt."


def _packed_table(result: SetResult, *, as_markdown: bool) -> str:
    head = ["", *(text for budget in BUDGETS for text in (f"{budget} tokens of recall", "tokens used"))]
    rows = []
    for system, means in result.packed.items():
        spent = result.spent.get(system)
        cells = [(_cell(means[b], signed=spent is None), f"{spent[b]:.0f}" if spent else "") for b in BUDGETS]
        rows.append([system, *(text for pair in cells for text in pair)])
    return _table(head, rows, as_markdown=as_markdown)


def _table(head: Sequence[str], rows: Sequence[Sequence[str]], *, as_markdown: bool) -> str:
    return markdown(head, rows, align="l" + "r" * (len(head) - 1)) if as_markdown else aligned(head, rows)


def _cell(interval: Interval, *, signed: bool = False, bold: bool = False) -> str:
    mean, low, high = (_number(value, signed=signed) for value in (interval.mean, interval.low, interval.high))
    return f"{f'**{mean}**' if bold else mean} [{low}, {high}]"


def _number(value: float, *, signed: bool) -> str:
    """Return three decimal places without the leading 0.

    >>> _number(0.5, signed=False), _number(-0.0125, signed=True), _number(1.0, signed=False)
    ('.500', '-.013', '1.000')
    """
    text = f"{value:+.3f}" if signed else f"{value:.3f}"
    return text.replace("0.", ".", 1) if abs(value) < 0.9995 else text


def _as_json(result: SetResult) -> dict[str, Any]:
    systems: dict[str, dict[str, Any]] = {
        system: {f"{grain} {name}": asdict(interval) for (grain, name), interval in means.items()}
        for system, means in result.means.items()
    }
    for system, outcome in result.outcomes.items():
        systems[system] |= {"p50": outcome.p50, "p95": outcome.p95}
    packed = {
        system: {str(budget): asdict(interval) for budget, interval in means.items()}
        for system, means in result.packed.items()
    }
    return {
        "n": result.n,
        "about": result.about,
        "systems": systems,
        "packed": packed,
        "packed_tokens": result.spent,
        "categories": result.categories,
        "degraded": list(result.degraded),
    }


def _meter(what: str, done: int, total: int) -> None:
    if sys.stderr.isatty():
        print(f"\r{what}: {done} of {total}", end="" if done < total else "\n", file=sys.stderr, flush=True)


def _say(line: str) -> None:
    print(line, file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main())
