"""Measure how well claims about work are verified, beside the rule of the earlier system.

    python -m bench.evidence                 print the tables, as Markdown
    python -m bench.evidence --show          and print every claim that was judged wrongly
    python -m bench.evidence --write-docs    and put them into docs/evidence.md

The corpus (``bench/evidence_data``) comes with its repositories. A true claim should be ``verified``. A claim that is
false, vague or undone later never should. Precision is the share of true claims among the verified ones. Recall is the
share of verified claims among the true ones that git can confirm.

The earlier system's rule is reimplemented from its description. A sentence with one of thirteen English verbs is
verified when any of its three longest words stands in any commit message of any branch, or one of the first two in a
file name or in the code. A timeout verifies as well. Its only answers are verified and not verified.
"""

import argparse
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from bench.evidence_data import HALVES, OWN, Half, LabelledClaim, LabelledRepository, claims, repositories
from bench.measure.page import DOCS, markdown, put, stamp
from distill.evidence.checking import check_text
from distill.evidence.status import Window

__all__ = ["FLOORS", "ClaimScore", "JudgedClaim", "judged_claims", "main", "score"]

CHECKOUT = Path(__file__).resolve().parent.parent
#: Precision of verified claims and recall of true checkable claims. A true claim is never contradicted.
FLOORS = (0.98, 0.80)
_HEAD = ("claims", "precision of verified", "recall of checkable true claims", "true claims contradicted")
#: Halves of the corpus as the tables name them.
_HALF_NAMES: dict[Half | None, str] = {"development": "development", "heldback": "held-out"}
_SLACK_S = 3600.0
_TIMEOUT_S = 20.0
_EARLIER_VERBS = re.compile(
    r"\b(?:implement|ship|built|creat|complet|fix|deploy|launch|refactor|migrat|rewrit|rewrote|delet|remov|replac)",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedClaim:
    """A claim and what was said of it: a state, or ``no claim`` where none was found in the sentence."""

    claim: LabelledClaim
    text: str
    said: str
    detail: str
    half: Half
    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimScore:
    """Counts over some claims."""

    verified: int
    verified_true: int
    checkable: int
    checkable_verified: int
    true_contradicted: int

    @property
    def precision(self) -> float:
        """Share of true claims among the verified ones, 1 when none is verified."""
        return self.verified_true / self.verified if self.verified else 1.0

    @property
    def recall(self) -> float:
        """Share of verified claims among the true ones that git can confirm, 1 when there is none."""
        return self.checkable_verified / self.checkable if self.checkable else 1.0


#: Maps a sentence, its repository and the session's time to a state and a detail.
Judge = Callable[[str, Path, Window], tuple[str, str]]


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the tables. Return 1 when a floor does not hold."""
    parser = argparse.ArgumentParser(prog="python -m bench.evidence", description="Judge labelled claims about work.")
    parser.add_argument("--data", help="ignored: the corpus comes with the program")
    parser.add_argument("--show", action="store_true", help="print every claim that is judged wrongly")
    parser.add_argument("--write-docs", action="store_true", help="put the tables into docs/evidence.md")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="evidence-") as folder:
        found = repositories(Path(folder), CHECKOUT)
        if OWN not in found:
            print(f"(this checkout does not hold the project's history: claims about `{OWN}` are left out)\n")
        ours = judged_claims(found, by_evidence)
        beside = {"the earlier system's rule": by_earlier_rule, "its word search on every claim": by_earlier_words}
        rules_judged = {"evidence": ours, **{name: judged_claims(found, judge) for name, judge in beside.items()}}
    rules, groups = _rules_table(rules_judged), _groups_table(ours)
    print(f"{rules}\n\n{groups}")
    if options.write_docs:
        put(
            DOCS / "evidence.md",
            {"rules": f"{stamp('python -m bench.evidence --write-docs')}\n\n{rules}", "groups": groups},
        )
    if options.show:
        _print_mistakes(ours)
    whole = score(ours)
    held = whole.precision >= FLOORS[0] and whole.recall >= FLOORS[1] and not whole.true_contradicted
    return 0 if held else 1


def judged_claims(found: Mapping[str, LabelledRepository], judge: Judge) -> list[JudgedClaim]:
    """Return every claim whose repository is there, with its verdict."""
    rows = []
    for half in HALVES:
        for claim in claims(half):
            if claim.repo not in found:
                continue
            place = found[claim.repo]
            text, start = place.filled(claim.text), time.perf_counter()
            said, detail = judge(text, place.built.root, _window(place, claim.session))
            seconds = time.perf_counter() - start
            rows.append(JudgedClaim(claim=claim, text=text, said=said, detail=detail, half=half, seconds=seconds))
    return rows


def score(rows: Iterable[JudgedClaim]) -> ClaimScore:
    """Count what was said of *rows*."""
    rows = list(rows)
    verified = [row for row in rows if row.said == "verified"]
    checkable = [row for row in rows if row.claim.label == "true" and row.claim.checkable]
    denied = [row for row in rows if row.claim.label in {"true", "undone"} and row.said == "contradicted"]
    return ClaimScore(
        verified=len(verified),
        verified_true=sum(row.claim.label == "true" for row in verified),
        checkable=len(checkable),
        checkable_verified=sum(row.said == "verified" for row in checkable),
        true_contradicted=len(denied),
    )


def by_evidence(text: str, root: Path, window: Window) -> tuple[str, str]:
    """Return this system's verdict on a claim."""
    said = check_text(text, "assistant", [root], window, timeout_s=_TIMEOUT_S)
    return (said.state, said.detail) if said else ("no claim", "")


def by_earlier_rule(text: str, root: Path, window: Window) -> tuple[str, str]:
    """Return the verdict of the earlier system's rule."""
    return by_earlier_words(text, root, window) if _EARLIER_VERBS.search(text) else ("no claim", "")


def by_earlier_words(text: str, root: Path, window: Window) -> tuple[str, str]:  # noqa: ARG001 - it knows no session
    """Return the verdict of the earlier system's word search on any sentence, with or without one of its verbs."""
    words = sorted(re.findall(r"[A-Za-z][A-Za-z0-9_]{2,}", text), key=len, reverse=True)[:3]
    questions = [["log", "--all", "--oneline", "-3", "-i", "-F", f"--grep={word}"] for word in words]
    questions += [["ls-files", f"*{word}*"] for word in words[:2]]
    questions += [["grep", "-l", "-i", "-F", "-e", word] for word in words[:2]]
    for question in questions:
        try:
            done = subprocess.run(["git", *question], cwd=root, capture_output=True, timeout=5, check=False)
        except subprocess.TimeoutExpired:
            return "verified", "no answer in time"
        if done.stdout.strip():
            return "verified", " ".join(question)
    return "unverified", ""


def _window(place: LabelledRepository, session: str) -> Window:
    times = place.sessions[session]
    since, until = (datetime.fromisoformat(text).timestamp() for text in (times.since, times.until))
    return Window(since=since - _SLACK_S, until=until + _SLACK_S)


def _rules_table(rules: Mapping[str, Sequence[JudgedClaim]]) -> str:
    """Return one row for each half and rule, then for all claims."""
    rows = []
    for half in (*HALVES, None):
        for name, judgements in rules.items():
            chosen = [row for row in judgements if half in {None, row.half}]
            ms = 1000 * sum(row.seconds for row in chosen) / max(len(chosen), 1)
            rows.append([_HALF_NAMES.get(half, "all"), name, str(len(chosen)), *_cells(score(chosen)), f"{ms:.0f}"])
    return markdown(["half", "rule", *_HEAD, "ms per claim"], rows, align="llrrrrr")


def _groups_table(judgements: Sequence[JudgedClaim]) -> str:
    """Return one row for each language, repository and kind."""
    groups: list[tuple[str, Callable[[JudgedClaim], str]]] = [
        ("language", lambda row: row.claim.lang), ("repository", lambda row: row.claim.repo),
        ("kind", lambda row: row.claim.kind),
    ]  # fmt: skip
    rows = []
    for title, key in groups:
        for value in sorted({key(row) for row in judgements}):
            chosen = [row for row in judgements if key(row) == value]
            rows.append([f"{title} {value}", str(len(chosen)), *_cells(score(chosen))])
    return markdown(["group", *_HEAD], rows, align="lrrrr")


def _cells(found: ClaimScore) -> list[str]:
    precision = _share(found.precision, found.verified_true, found.verified)
    recall = _share(found.recall, found.checkable_verified, found.checkable)
    return [precision, recall, str(found.true_contradicted)]


def _share(share: float, part: int, whole: int) -> str:
    """Return the share with its counts, or a dash when there is nothing to count."""
    return f"{share:.3f} ({part}/{whole})" if whole else "–"


def _print_mistakes(rows: Sequence[JudgedClaim]) -> None:
    print()
    for row in rows:
        claim, verified = row.claim, row.said == "verified"
        denied = row.said == "contradicted" and claim.label in {"true", "undone"}
        if denied or verified != (claim.label == "true" and claim.checkable):
            print(f"{claim.id} {claim.label}/{claim.checkable}: {row.said}, {row.detail}\n    {row.text}")


if __name__ == "__main__":
    sys.exit(main())
