"""Measure how many true reports of real commits are verified, and how many of their false twins.

    python -m bench.evidence_data.commit_reports --data DIR             print the table
    python -m bench.evidence_data.commit_reports --data DIR --show      and every report that is judged wrongly
    python -m bench.evidence_data.commit_reports --data DIR --leave-one-out     by models that saw other repositories
    python -m bench.evidence_data.commit_reports --data DIR --model COMMAND     let a language model read what is left
    python -m bench.evidence_data.commit_reports --data DIR --reports FILE      judge the reports of a file

*DIR* holds the repositories by name, as clones or bare git directories. A repository that is not there is left out.
Every session ends with the commit that it reports, and lasts an hour on both sides of it.
"""

import argparse
import sys
import tempfile
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from unittest.mock import patch

from agent_home.creation import create
from agent_home.home import Home
from bench.evidence_data.commits import SETS, CommitReport, at_commit, borrowed, read_reports, reports
from bench.measure.page import markdown
from bench.training.commits import read_examples, trained
from distill.evidence import commit_side
from distill.evidence.checking import check_text
from distill.evidence.commit_reader import OpenReport, read_commits
from distill.evidence.status import Evidence, Window
from distill.language_model.endpoint import Endpoint, EndpointSettings

__all__ = ["JudgedReport", "judged_reports", "left_out_reports", "main", "table"]

_SLACK_S = 3600.0
_TIMEOUT_S = 20.0


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedReport:
    """A report, and what was said of its true and of its false form, with the seconds both took."""

    report: CommitReport
    said_of_true: str
    said_of_false: str
    detail: str
    seconds: float


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table. Return 1 when a false twin is verified or a true report contradicted."""
    parser = argparse.ArgumentParser(
        prog="python -m bench.evidence_data.commit_reports", description="Judge reports of commits."
    )
    parser.add_argument("--data", type=Path, required=True, help="folder with the repositories by name")
    parser.add_argument("--set", choices=SETS, action="append", help="only this set; may be repeated")
    parser.add_argument("--reports", type=Path, help="file of reports, instead of the sets")
    parser.add_argument("--show", action="store_true", help="print every report that is judged wrongly")
    parser.add_argument(
        "--leave-one-out", action="store_true", help="judge each repository by a model trained on the others"
    )
    parser.add_argument("--model", default="", help="command that reads a prompt and prints an answer")
    options = parser.parse_args(arguments)
    judge = partial(left_out_reports if options.leave_one_out else judged_reports, model=options.model)
    sets = {options.reports.stem: read_reports(options.reports)} if options.reports else {
        name: reports(name) for name in options.set or SETS
    }  # fmt: skip
    judged = {name: judge(found, options.data) for name, found in sets.items()}
    print(table(judged))
    if options.show:
        _print_mistakes(row for rows in judged.values() for row in rows)
    rows = [row for rows in judged.values() for row in rows]
    return int(any(row.said_of_false == "verified" or row.said_of_true == "contradicted" for row in rows))


def judged_reports(found: Sequence[CommitReport], data: Path, model: str = "") -> list[JudgedReport]:
    """Return the verdicts on reports whose repository is in *data*. The command *model* reads what rules leave open."""
    judged = []
    settings = EndpointSettings(kind="command", timeout_s=7200.0, daily_tokens=10**8, session_tokens=10**8)
    with tempfile.TemporaryDirectory(prefix="reports-") as folder:
        home = create(Path(folder) / "home", name="Assistant", now=datetime.now(UTC)).home
        endpoint = Endpoint(settings=settings, command=model) if model else None
        for name in dict.fromkeys(report.repo for report in found):
            if not (data / name).is_dir():
                continue
            root = borrowed(data / name, Path(folder) / name)
            judged += [_judged(report, root, home, endpoint) for report in found if report.repo == name]
    return judged


def left_out_reports(found: Sequence[CommitReport], data: Path, model: str = "") -> list[JudgedReport]:
    """Return the verdicts of models that were trained and given a threshold without the report's repository.

    The features are those of the last training, so the rules and tables of the code are not left out.
    """
    judged, examples = [], read_examples()
    for name in dict.fromkeys(report.repo for report in found):
        others = trained([example for example in examples if example.repo != name])
        with patch.object(commit_side, "shipped", return_value=others):
            judged += judged_reports([report for report in found if report.repo == name], data, model)
    return judged


def table(judged: Mapping[str, list[JudgedReport]]) -> str:
    """Return one row for each set, repository and language, as Markdown."""
    rows = []
    sets: list[tuple[str, list[JudgedReport]]] = list(judged.items())
    if len(sets) > 1:
        sets.append(("both", [row for verdicts in judged.values() for row in verdicts]))
    for name, verdicts in sets:
        groups = {"all": verdicts}
        groups |= {repo: [row for row in verdicts if row.report.repo == repo] for repo in _repos(verdicts)}
        groups |= {lang: [row for row in verdicts if row.report.lang == lang] for lang in ("en", "zh")}
        rows += [[name, group, *_cells(chosen)] for group, chosen in groups.items() if chosen]
    head = [
        "set",
        "group",
        "reports",
        "true verified",
        "true contradicted",
        "false verified",
        "false contradicted",
        "ms",
    ]
    return markdown(head, rows, align="llrrrrrr")


def _repos(rows: Iterable[JudgedReport]) -> list[str]:
    return list(dict.fromkeys(row.report.repo for row in rows))


def _cells(rows: Sequence[JudgedReport]) -> list[str]:
    count = len(rows)
    verified = sum(row.said_of_true == "verified" for row in rows)
    denied = sum(row.said_of_true == "contradicted" for row in rows)
    wrong = sum(row.said_of_false == "verified" for row in rows)
    refuted = sum(row.said_of_false == "contradicted" for row in rows)
    ms = 500 * sum(row.seconds for row in rows) / count
    return [str(count), f"{verified / count:.3f} ({verified})", str(denied), str(wrong), str(refuted), f"{ms:.0f}"]


def _judged(report: CommitReport, root: Path, home: Home, endpoint: Endpoint | None) -> JudgedReport:
    with at_commit(root, report.commit) as when:
        window = Window(since=when - _SLACK_S, until=when + _SLACK_S)
        start = time.perf_counter()
        said = [_evidence(text, root, window, home, endpoint) for text in (report.true, report.false)]
        seconds = time.perf_counter() - start
    states = [one.state if one else "no claim" for one in said]
    detail = said[0].detail if said[0] else ""
    return JudgedReport(report=report, said_of_true=states[0], said_of_false=states[1], detail=detail, seconds=seconds)


def _evidence(text: str, root: Path, window: Window, home: Home, endpoint: Endpoint | None) -> Evidence | None:
    """Return the evidence that the rules give for *text*, or that the model finds where they leave it open."""
    said = check_text(text, "assistant", [root], window, timeout_s=_TIMEOUT_S)
    if endpoint is None or (said is not None and said.state in {"verified", "contradicted"}):
        return said
    report = OpenReport(text=text, repositories=[root])
    reading = read_commits(home, [report], window, endpoint, datetime.now(UTC), timeout_s=_TIMEOUT_S)
    if reading.problem or reading.refused:
        print(f"{text[:60]}: {reading.problem or reading.refused[0]}", file=sys.stderr)
    return reading.evidence.get(0, said)


def _print_mistakes(rows: Iterable[JudgedReport]) -> None:
    for row in rows:
        if row.said_of_true != "verified":
            print(f"{row.report.id} true: {row.said_of_true}, {row.detail}\n    {row.report.true}")
        if row.said_of_false == "verified":
            print(f"{row.report.id} false: verified\n    {row.report.false}")


if __name__ == "__main__":
    sys.exit(main())
